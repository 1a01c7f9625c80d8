//! Members whose processes are stopped (SIGSTOP): a wave that others have contributed to does not wait for them for ever.
//!
//! Nobody can tell by its silence a member that computes from one that is stopped; its system can. So a node in which a wave
//! stands still has the processes of those looked at that the wave waits for: its driver looks at those of its own children,
//! and agents below it are asked to do the same, since one whose members are all stopped knows of no wave that waits. Who is
//! found to be stopped, and again half of the time later without having contributed meanwhile, is given up as if it had ended. When
//! it goes on it finds its link closed, and comes back as any other that was given up. One that computes is waited for.

use super::{Action, Node};
use crate::ids::{LinkId, NodeId, StreamId, Time, Wave};
use crate::message::Message;

impl Node {
    /// Has those looked at that waves wait for, if it is time.
    pub(super) fn look_for_stopped(&mut self, now: Time) {
        if self.stopped.as_ref().is_none_or(|watch| watch.next() > now) {
            return;
        }
        let waiting = self.streams.iter().filter_map(|(id, stream)| Some((*id, stream.stands_still_at()?)));
        let overdue = self.stopped.as_mut().map(|watch| watch.look(waiting, now));
        for (stream, wave) in overdue.into_iter().flatten() {
            self.examine(stream, wave);
        }
    }

    /// Has those looked at that have not contributed to this wave, which others have.
    pub(super) fn examine(&mut self, id: StreamId, wave: Wave) {
        let Some(stream) = self.streams.get(&id) else { return };
        let missing: Vec<LinkId> = stream.gathering.waits_for_before(wave.after(1)).collect();
        for link in missing {
            let child: Option<NodeId> = self.below.node_of(link);
            match child.and_then(|child| self.below.get(child)).map(|place| place.rank) {
                Some(Some(_)) => self.actions.push_back(Action::Examine { link, stream: id, wave }),
                Some(None) => self.send(link, Message::Examine { stream: id, wave }),
                None => {}
            }
        }
    }

    /// Whether the process of a child is stopped, as was asked because of this wave.
    pub fn examined(&mut self, link: LinkId, id: StreamId, wave: Wave, is_stopped: bool, now: Time) {
        let (Some(stream), Some(patience)) = (self.streams.get_mut(&id), self.options.stopped) else { return };
        if !is_stopped || stream.gathering.has_from(link, wave) {
            stream.stopped.remove(&link);
            return;
        }
        let (known, since) = stream.stopped.get_or_insert_with(link, || (wave, now));
        if *known != wave {
            (*known, *since) = (wave, now);
        }
        if since.after(patience / 2) <= now {
            self.give_up(link, now);
        }
    }
}
