//! Members that are there and do not contribute: where there is a limit to that, the front-end gives them up.
//!
//! The front-end looks at its streams now and then. If a wave to which someone has contributed stays the next one from look to
//! look, it names those who are missing in it, and the nodes right above these, which know who has contributed and who has not,
//! close the links of those who have not. The rest is as when a member has ended, and one that has only computed for too long
//! comes back as any other that was given up. Looks count, not time: a front-end that was elsewhere has not looked.
//!
//! An agent keeps what its children have sent for a wave until all of them have, so the front-end may know of nothing that
//! waits. So agents look, too, twice as often, and send on what they have of a wave that waits; who comes later goes on alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use banyan_boot::RankSet;

use super::stream::NodeStream;
use super::{Action, Node};
use crate::ids::{LinkId, NodeId, StreamId, Time, WaveNumber};
use crate::message::Message;

/// Looks in the time that a member may take: that time is kept to a quarter.
const LOOKS: u32 = 4;

/// The waves that waited when a node last looked, and how often they have waited.
#[derive(Debug)]
pub(super) struct Watch {
    every: Duration,
    next: Time,
    waiting: BTreeMap<StreamId, (WaveNumber, u32)>,
}

impl Watch {
    pub(super) fn new(patience: Duration) -> Watch {
        Watch { every: patience / LOOKS, next: Time(0), waiting: BTreeMap::new() }
    }

    /// When to look next.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// These waves wait; those that have done so for too long.
    pub(super) fn look(
        &mut self,
        waiting: impl Iterator<Item = (StreamId, WaveNumber)>,
        now: Time,
    ) -> Vec<(StreamId, WaveNumber)> {
        self.next = now.after(self.every);
        let before = std::mem::take(&mut self.waiting);
        let mut overdue = Vec::new();
        for (stream, wave) in waiting {
            let looks = before.get(&stream).filter(|(before, _)| *before == wave).map_or(0, |(_, looks)| looks + 1);
            if looks > 0 && looks.is_multiple_of(LOOKS) {
                overdue.push((stream, wave));
            }
            self.waiting.insert(stream, (wave, looks));
        }
        overdue
    }
}

impl Node {
    /// When to look again whether members answer.
    pub(super) fn look_at(&self) -> Option<Time> {
        let is_idle = self.streams.is_empty() && self.control.len() == 0;
        [&self.watch, &self.stopped].into_iter().flatten().filter(|_| !is_idle).map(Watch::next).min()
    }

    /// Goes on without those who have not contributed for too long: the front-end gives them up.
    pub(super) fn look_for_unanswered(&mut self, now: Time) {
        let Some(watch) = self.watch.as_mut().filter(|watch| watch.next <= now) else { return };
        let waiting = self.streams.iter().filter_map(|(id, stream)| Some((*id, stream.stands_still_at()?)));
        for (stream, wave) in watch.look(waiting, now) {
            if self.role.is_front_end() {
                let members = Arc::new(self.missing(stream));
                self.overdue(stream, wave, &members, now);
            } else {
                self.go_on_without(stream, wave);
            }
        }
    }

    /// What has come of this wave goes on.
    fn go_on_without(&mut self, id: StreamId, wave: WaveNumber) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.gathering.force(wave.after(1));
            self.pump_up(id);
        }
    }

    /// Those of these members who have not contributed to this wave are not waited for any more.
    pub(super) fn overdue(&mut self, id: StreamId, wave: WaveNumber, members: &Arc<RankSet>, now: Time) {
        let children: Vec<(NodeId, LinkId)> = self.below.links().collect();
        for (child, link) in children {
            let Some(stream) = self.streams.get(&id) else { return };
            let has_contributed = stream.gathering.has_from(link, wave);
            let is_concerned = !self.below.members(link).is_disjoint(members);
            match self.below.get(child).and_then(|place| place.rank) {
                _ if !is_concerned => {}
                Some(_) if has_contributed => {}
                Some(_) => self.give_up(link, now),
                None => self.send(link, Message::Overdue { stream: id, wave, members: Arc::clone(members) }),
            }
        }
    }

    /// A member that is there is not waited for any more: the rest is as when it has ended.
    pub(super) fn give_up(&mut self, link: LinkId, now: Time) {
        self.actions.push_back(Action::Close(link));
        self.child_closed(link, true, now);
    }
}

impl NodeStream {
    /// The wave that is next, if something of it is there and waits for others. At the front-end members may wait for the
    /// program, as long as that has not taken the waves before.
    pub(super) fn stands_still_at(&self) -> Option<WaveNumber> {
        if self.patience.is_some() {
            return None;
        }
        match &self.ledger {
            Some(ledger) if ledger.waiting() > 0 => None,
            Some(ledger) => (ledger.has_begun() || self.gathering.has_begun()).then(|| ledger.next()),
            None => self.gathering.has_begun().then(|| self.gathering.out()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_is_overdue_when_it_has_waited_for_as_many_looks_as_there_are_in_the_time() {
        let mut watch = Watch::new(Duration::from_nanos(40));
        let stream = StreamId(1);
        let mut look = |wave: Option<u64>, now| {
            let overdue = watch.look(wave.into_iter().map(|wave| (stream, WaveNumber(wave))), Time(now));
            assert_eq!(watch.next, Time(now + 10));
            overdue.len()
        };
        // The front-end was away before the second look, which is one look all the same.
        let found: Vec<usize> = [0, 100, 110, 120, 130].map(|now| look(Some(3), now)).to_vec();
        assert_eq!(found, [0, 0, 0, 0, 1]);
        assert_eq!([140, 150, 160].map(|now| look(Some(4), now)), [0; 3], "another wave has all the time");
        assert_eq!(look(None, 170), 0);
        assert_eq!([180, 190, 200, 210, 220].map(|now| look(Some(4), now)), [0, 0, 0, 0, 1]);
    }
}
