//! Members whose processes are stopped (SIGSTOP): nobody waits for them for ever.
//!
//! Nobody can tell by its silence a member that computes from one that is stopped; its system can. So a node in which a wave
//! stands still has the processes of those looked at that the wave waits for: its driver looks at those of its own children,
//! and agents below it are asked to do the same, since one whose members are all stopped knows of no wave that waits. The same
//! goes for members that are so far behind in taking packets that the front-end has to wait soon. Who is found to be stopped, and
//! again half of the time later without having run meanwhile, is given up as if it had ended. When it goes on it finds its link
//! closed, and comes back as any other that was given up. One that computes is waited for.

use super::log::Log;
use super::{Action, Node, NodeOptions};
use crate::ids::{LinkId, StreamId, Time, WaveNumber};
use crate::message::Message;

impl Node {
    /// Has those looked at that others wait for, if it is time.
    pub(super) fn look_for_stopped(&mut self, now: Time) {
        let Some(watch) = self.stopped.as_mut().filter(|watch| watch.next() <= now) else { return };
        let options = &self.options;
        let control =
            options.is_far_behind(&self.control).then(|| (StreamId::CONTROL, WaveNumber(self.control.start())));
        let others = self.streams.iter().filter_map(|(id, stream)| {
            // What was asked for may be little here and much at the front-end.
            let is_behind = || options.is_far_behind(&stream.log) || stream.received_asked > stream.log.start();
            let behind = || is_behind().then(|| WaveNumber(stream.log.start()));
            Some((*id, stream.stands_still_at().or_else(behind)?))
        });
        for (id, at) in watch.look(control.into_iter().chain(others), now) {
            if self.streams.get(&id).and_then(|stream| stream.stands_still_at()) == Some(at) {
                self.examine(id, at);
            } else {
                let behind: Vec<LinkId> = self.log_mut(id).map(|log| log.slowest().collect()).unwrap_or_default();
                // Agents that are behind look for themselves.
                behind.into_iter().for_each(|link| _ = self.examine_member(link));
            }
        }
    }

    /// Has those looked at that have not contributed to this wave, which others have.
    pub(super) fn examine(&mut self, id: StreamId, wave: WaveNumber) {
        let Some(stream) = self.streams.get(&id) else { return };
        let missing: Vec<LinkId> = stream.gathering.waits_for_before(wave.after(1)).collect();
        for link in missing {
            if !self.examine_member(link) {
                self.send(link, Message::Examine { stream: id, wave });
            }
        }
    }

    /// Has a child looked at; false if it is no member.
    fn examine_member(&mut self, link: LinkId) -> bool {
        let place = self.below.node_of(link).and_then(|child| self.below.get(child));
        let is_member = place.is_some_and(|place| place.rank.is_some());
        self.actions.extend(is_member.then_some(Action::Examine(link)));
        is_member
    }

    /// What was found of the process of a child: if it is stopped, how long it has run so far, in whatever unit.
    pub fn examined(&mut self, link: LinkId, stopped: Option<u64>, now: Time) {
        let (Some(run), Some(patience)) = (stopped, self.options.stopped) else {
            self.halted.remove(&link);
            return;
        };
        let (known, since) = self.halted.get_or_insert_with(link, || (run, now));
        // What was found long ago was another stop.
        if *known != run || since.after(patience * 2) < now {
            (*known, *since) = (run, now);
        }
        // Half of it less a part: the first question may have been on its way for longer.
        if since.after(patience / 8 * 3) <= now {
            self.give_up(link, now);
        }
    }
}

impl NodeOptions {
    /// Whether so much was not taken that the front-end has to wait soon.
    fn is_far_behind(&self, log: &Log) -> bool {
        log.len() > self.ahead_packets / 2 || log.bytes() > self.ahead_bytes / 2
    }
}
