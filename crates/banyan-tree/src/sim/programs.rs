//! What the programs of a simulation do: members contribute to waves, the front-end sends packets, both take what comes.

use std::sync::Arc;
use std::time::Duration;

use banyan_boot::RankSet;

use super::happening::Happening;
use super::model::{Broken, contribution};
use super::reduction;
use super::sum::{NUMBER, bodies, format, padded};
use super::world::World;
use crate::ids::{StreamId, Time, WaveNumber};
use crate::message::Message;
use crate::node::SendError;
use crate::synchronisation::Synchronisation;

/// A program rests for at most so long.
const REST: Duration = Duration::from_millis(2);
/// … unless it could do nothing.
pub(super) const LONG_REST: Duration = Duration::from_millis(250);
/// Waves a member contributes to at once, at most.
pub(super) const BATCH: usize = 4;
/// Where members answer, packets that the front-end sends before the first of them is answered.
const QUESTIONS: u64 = 3;
/// The tag of packets with a part for each member.
const SCATTERED: u32 = 1;
/// The next contribution to a stream of intervals is to one of so many.
const INTERVALS: usize = 4;

impl World<'_, '_> {
    /// A node's program goes on.
    pub(super) fn program(&mut self, node: usize) -> Result<(), Broken> {
        let did_something = if node == 0 { self.front_end()? } else { self.member(node)? };
        let pause = if node == 0 { self.plan.front_end_pause } else { Duration::ZERO };
        let rest = self.chance.up_to(if did_something { REST } else { LONG_REST });
        let at = match self.plan.pace.filter(|_| node > 0) {
            Some(pace) => self.next_beat(pace),
            None => self.now.after(pause + rest * self.slowness(node)),
        };
        self.agenda.add(at, Happening::Program(node));
        self.act(node)
    }

    /// When members that keep pace go on: not all of them in the same moment.
    fn next_beat(&mut self, pace: Duration) -> Time {
        let beat = pace.as_nanos() as u64;
        Time((self.now.0 / beat + 1) * beat).after(self.chance.up_to(pace / 4))
    }

    fn front_end(&mut self) -> Result<bool, Broken> {
        let streams = self.streams.clone();
        let mut did_something = false;
        for (at, (stream, members)) in streams.iter().enumerate() {
            let sent = self.packets_sent[at];
            let is_its_turn = !self.answers(*stream) || sent < self.model.next(*stream).0 + QUESTIONS;
            if sent < self.plan.packets && is_its_turn {
                match self.send_packet(*stream, members, self.packets_sent[at]) {
                    Ok(()) => {
                        self.packets_sent[at] += 1;
                        did_something = true;
                    }
                    Err(SendError::Full) => {}
                    Err(error) => return Err(Broken::Stuck(error.to_string())),
                }
            }
        }
        self.take_waves(&streams.iter().map(|(stream, _)| *stream).collect::<Vec<_>>())?;
        self.reopen()?;
        Ok(did_something)
    }

    /// Sends a number to all or some, or with each member's rank in the upper half.
    fn send_packet(&mut self, stream: StreamId, members: &RankSet, number: u64) -> Result<(), SendError> {
        let mut body = number.to_le_bytes().to_vec();
        body.resize(self.plan.packet_bytes.max(NUMBER), 0);
        if self.plan.chooses && number % 3 == 2 {
            let chosen = Arc::new(self.choose(members));
            self.nodes[0].node.send_to(stream, Arc::clone(&chosen), 0, format(), body.into())?;
            self.model.chosen(stream, number, chosen);
            return Ok(());
        }
        if self.plan.scatters && number % 2 == 1 {
            let parts = members.iter().map(|rank| number | u64::from(rank) << 32);
            let bodies = padded(parts, self.plan.packet_bytes).map_err(|_| SendError::NoStream(stream))?;
            return self.nodes[0].node.scatter(stream, SCATTERED, bodies);
        }
        self.nodes[0].node.multicast(stream, 0, format(), body.into())
    }

    /// One of some members, some that are side by side, or one in a few.
    fn choose(&mut self, members: &RankSet) -> RankSet {
        let all: Vec<u32> = members.iter().collect();
        let first = self.chance.below(all.len());
        let count = match self.chance.below(3) {
            0 => 1,
            1 => 1 + self.chance.below(all.len() - first),
            _ => {
                let few = 1 + self.chance.below(4);
                let some: RankSet = all.iter().copied().filter(|_| self.chance.one_in(few)).collect();
                return if some.is_empty() { members.clone() } else { some };
            }
        };
        all[first..first + count].iter().copied().collect()
    }

    pub(super) fn take_waves(&mut self, streams: &[StreamId]) -> Result<(), Broken> {
        for stream in streams {
            while let Some(delivery) = self.nodes[0].node.take_waves(*stream) {
                self.model.delivered(&delivery)?;
                self.check_nobody_is_late(&delivery)?;
                (self.trace)(&|| {
                    let last = delivery.first.0 + u64::from(delivery.count) - 1;
                    format!("delivered {} {}-{last} of {}", delivery.stream, delivery.first.0, delivery.members)
                });
                self.outcome.waves += u64::from(delivery.count);
                self.delivered_at.insert(*stream, self.now);
            }
            self.note_come(*stream)?;
        }
        Ok(())
    }

    fn member(&mut self, at: usize) -> Result<bool, Broken> {
        let Some(rank) = self.nodes[at].rank else { return Ok(false) };
        let mut did_something = false;
        let streams: Vec<StreamId> = self.nodes[at].node.streams().map(|opening| opening.stream).collect();
        for stream in streams {
            self.take_packets(at, rank, stream)?;
            let count = if self.plan.pace.is_some() { 1 } else { 1 + self.chance.below(BATCH) as u64 };
            let Some(next) = self.nodes[at].node.next_wave(stream) else { continue };
            if matches!(self.model.kind(stream), Synchronisation::Interval(_)) {
                did_something |= self.contribute_at(at, rank, stream, next);
                continue;
            }
            let first = self.first_number(stream, self.nodes[at].life);
            let until = (next.0 + count).min(first.0 + self.plan.waves).min(self.allowed(stream, rank));
            if next.0 >= until {
                continue;
            }
            let numbers = (next.0..until).map(|wave| contribution(stream, rank, WaveNumber(wave)));
            let made = if self.model.is_reduced(stream) { reduction::bodies(numbers) } else { bodies(numbers) };
            let Ok(bodies) = made else { continue };
            if self.nodes[at].node.contribute(stream, bodies).is_ok() {
                did_something = true;
                (next.0..until).for_each(|wave| self.model.contributed(stream, rank, wave));
            }
        }
        Ok(did_something)
    }

    /// The first wave that a member may not contribute to yet: where members answer, there is one for each packet.
    fn allowed(&self, stream: StreamId, rank: u32) -> u64 {
        if self.answers(stream) { self.model.packets(stream, rank) } else { u64::MAX }
    }

    /// Whether members contribute to the waves of a stream only when they have got the packet with its number.
    fn answers(&self, stream: StreamId) -> bool {
        self.plan.answers && matches!(self.model.kind(stream), Synchronisation::All | Synchronisation::Timeout(_))
    }

    /// Contributes to one of the next intervals; all do to the last one.
    fn contribute_at(&mut self, at: usize, rank: u32, stream: StreamId, next: WaveNumber) -> bool {
        let wave = (next.0 + self.chance.below(INTERVALS) as u64).min(self.plan.waves - 1);
        let Ok(body) = bodies(std::iter::once(contribution(stream, rank, WaveNumber(wave)))) else { return false };
        if next.0 >= self.plan.waves {
            return false;
        }
        let contributed = self.nodes[at].node.contribute_at(stream, WaveNumber(wave), body);
        if contributed.is_ok() {
            self.model.contributed(stream, rank, wave);
        }
        contributed.is_ok()
    }

    /// A member whose first parent has died before it had told of everything is as one that has just come: where a stream is
    /// open, it begins with what is sent next.
    pub(super) fn note_newcomer(&mut self, message: &Message) {
        if let Message::Attach(attach) = message
            && let (true, false, Some(rank)) = (attach.is_new, self.streams.is_empty(), attach.place.rank)
        {
            self.model.joins(rank);
        }
    }

    fn take_packets(&mut self, at: usize, rank: u32, stream: StreamId) -> Result<(), Broken> {
        while let Some(received) = self.nodes[at].node.take_packet(stream) {
            // What the node said of it comes first: packets before it may be missing.
            self.act(at)?;
            if !self.is_current(at) {
                // Another process is this member.
                continue;
            }
            let Ok((_, body)) = &received.record else {
                self.model.failed_packet(stream, rank)?;
                continue;
            };
            let rank_sent = if received.tag == SCATTERED { u64::from(rank) << 32 } else { 0 };
            let number = super::sum::number(body) ^ rank_sent;
            self.model.packet(stream, rank, number)?;
        }
        Ok(())
    }
}
