//! The packets of a stream that a node keeps, by their numbers, and the gaps between them: packets for nobody below the node.

use std::collections::VecDeque;

use crate::message::Packet;

/// Numbers without a hole between them, each part of a gap or the number of a packet.
#[derive(Debug, Default)]
pub(super) struct Slots {
    start: u64,
    slots: VecDeque<Slot>,
}

#[derive(Debug)]
pub(super) struct Slot {
    /// Behind its last number.
    pub(super) end: u64,
    /// Nothing in a gap.
    pub(super) packet: Option<Packet>,
    /// Joins below this node of which the parent had heard when it sent this, or left it out.
    pub(super) joins: u64,
}

impl Slots {
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The number behind the last one.
    pub(super) fn next(&self) -> u64 {
        self.slots.back().map_or(self.start, |slot| slot.end)
    }

    /// How many packets and gaps there are.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn contains(&self, sequence: u64) -> bool {
        (self.start..self.next()).contains(&sequence)
    }

    /// What there is at a number.
    pub(super) fn get(&self, sequence: u64) -> Option<&Slot> {
        self.slots.get(self.find(sequence)?)
    }

    pub(super) fn push(&mut self, packet: Packet, joins: u64) {
        self.slots.push_back(Slot { end: self.next() + 1, packet: Some(packet), joins });
    }

    /// What comes before this number, and is not here, is for nobody below this node.
    pub(super) fn push_gap(&mut self, end: u64, joins: u64) {
        match self.slots.back_mut() {
            Some(last) if last.packet.is_none() && last.joins == joins => last.end = end,
            _ => self.slots.push_back(Slot { end, packet: None, joins }),
        }
    }

    /// Puts a packet in the place of what there is at its number, and gives back that.
    pub(super) fn replace(&mut self, sequence: u64, packet: Packet, joins: u64) -> Option<Packet> {
        let at = self.find(sequence)?;
        let first = at.checked_sub(1).map_or(self.start, |before| self.slots[before].end);
        let old = std::mem::replace(&mut self.slots[at], Slot { end: sequence + 1, packet: Some(packet), joins });
        if sequence + 1 < old.end {
            self.slots.insert(at + 1, Slot { end: old.end, packet: None, joins: old.joins });
        }
        if first < sequence {
            self.slots.insert(at, Slot { end: sequence, packet: None, joins: old.joins });
        }
        old.packet
    }

    /// Drops the first packet or gap before a number: one packet, if it was one.
    pub(super) fn pop_before(&mut self, until: u64) -> Option<Option<Packet>> {
        let first = self.slots.front().filter(|_| self.start < until)?;
        if first.end > until {
            // Part of a gap: a packet has one number.
            self.start = until;
            return None;
        }
        self.start = first.end;
        self.slots.pop_front().map(|slot| slot.packet)
    }

    /// Drops everything; the next number is this one.
    pub(super) fn begin_at(&mut self, start: u64) {
        self.slots.clear();
        self.start = start;
    }

    fn find(&self, sequence: u64) -> Option<usize> {
        if !self.contains(sequence) {
            return None;
        }
        let offset = (sequence - self.start) as usize;
        if self.slots.get(offset).is_some_and(|slot| slot.end == sequence + 1) {
            // There is no gap before it, or gaps of one number.
            return Some(offset);
        }
        Some(self.slots.partition_point(|slot| slot.end <= sequence))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::StreamId;

    fn packet(number: u64) -> Packet {
        Packet::Close(StreamId(number as u32))
    }

    fn number(packet: &Packet) -> u64 {
        let Packet::Close(stream) = packet else { panic!("is no packet of this test: {packet:?}") };
        stream.0.into()
    }

    #[derive(Debug, Clone)]
    enum Step {
        Push,
        Gap(u64),
        Replace(u64),
        Drop(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Push),
            (1u64..5).prop_map(Step::Gap),
            (0u64..40).prop_map(Step::Replace),
            (0u64..40).prop_map(Step::Drop),
        ]
    }

    proptest! {
        #[test]
        fn packets_are_found_by_their_numbers_whatever_gaps_are_between_them(steps in prop::collection::vec(step(), 0..40)) {
            let mut slots = Slots::default();
            // What each number has been, from 0 on.
            let (mut model, mut start): (Vec<bool>, u64) = (Vec::new(), 0);
            for step in steps {
                match step {
                    Step::Push => {
                        slots.push(packet(model.len() as u64), 0);
                        model.push(true);
                    }
                    Step::Gap(length) => {
                        slots.push_gap(model.len() as u64 + length, 0);
                        (0..length).for_each(|_| model.push(false));
                    }
                    Step::Replace(at) if (start..model.len() as u64).contains(&at) => {
                        let old = slots.replace(at, packet(at), 1);
                        prop_assert_eq!(old.is_some(), model[at as usize]);
                        model[at as usize] = true;
                    }
                    Step::Replace(_) => {}
                    Step::Drop(until) => {
                        while slots.pop_before(until).is_some() {}
                        start = start.max(until.min(model.len() as u64));
                    }
                }
                prop_assert_eq!((slots.start(), slots.next()), (start, model.len() as u64));
                for at in start..slots.next() {
                    let slot = slots.get(at).unwrap();
                    prop_assert!(slot.end > at);
                    prop_assert_eq!(slot.packet.as_ref().map(number), model[at as usize].then_some(at));
                }
                prop_assert!(slots.get(slots.next()).is_none());
            }
        }
    }
}
