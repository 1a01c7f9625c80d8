//! Children that come, go, and tell of those below them.

use std::collections::HashSet;

use super::{Action, EARLY_STREAMS, Node, Report};
use crate::ids::{LinkId, NodeId, StreamId, Time};
use crate::message::{Attach, Gone, Message, Place, Resume};
use crate::run::Run;

impl Node {
    pub(super) fn childs_message(&mut self, link: LinkId, message: Message, now: Time) {
        if let Message::Attach(attach) = message {
            return self.attach(link, attach, now);
        }
        let Some(child) = self.below.node_of(link) else {
            // It is not a child any more, or never was.
            return self.actions.push_back(Action::Close(link));
        };
        self.note_early(link, &message);
        match message {
            Message::Placed { places, resumes } => self.placed(link, places, resumes, now),
            Message::Gone(gone) => self.gone(gone, now),
            Message::Run(run) => {
                if let Err(cause) = self.run(link, run) {
                    self.report(Report::Violation { child, cause });
                    self.actions.push_back(Action::Close(link));
                    self.child_closed(link, false, now);
                }
            }
            Message::Participate { stream, next } => self.participate(link, stream, next),
            Message::Withdraw(stream) => self.withdraw(link, stream),
            Message::Hurry(stream) => self.hurry(stream),
            Message::Received { stream, until } => self.received_until(link, stream, until),
            Message::Resend { stream, from } => self.resend(link, stream, from),
            // A child says nothing else; one that does is of a newer version, whose words we may ignore.
            _ => {}
        }
    }

    /// Remembers a child that speaks of a stream this node has not heard of: it will be asked again.
    fn note_early(&mut self, link: LinkId, message: &Message) {
        let (Message::Participate { stream, .. } | Message::Run(Run { stream, .. })) = message else { return };
        let bound = EARLY_STREAMS * (1 + self.below.degree());
        if *stream > self.last_opened && self.early_children.len() < bound {
            self.early_children.insert((*stream, link));
        }
    }

    /// Someone wants to be a child.
    fn attach(&mut self, link: LinkId, attach: Attach, now: Time) {
        let place = attach.place;
        if self.below.epoch(place.node).is_some_and(|known| known > place.epoch) {
            // It has asked someone else since.
            return self.actions.push_back(Action::Close(link));
        }
        if let Some(others) = self.refuses(&attach) {
            self.send(link, Message::Refuse(others));
            return self.actions.push_back(Action::Close(link));
        }
        if let Some(old) = self.below.link_of(place.node).filter(|old| *old != link) {
            self.actions.push_back(Action::Close(old));
            self.forget_upwards(old);
            self.forget_downwards(old);
        }
        self.below.link(place.node, link);
        self.send(link, Message::Welcome(self.childrens_ancestry()));
        let places: Vec<Place> =
            std::iter::once(Place { parent: self.id, ..place }).chain(attach.below.iter().copied()).collect();
        self.placed(link, places, attach.resumes, now);
    }

    /// Those to ask instead, if this node does not take the child.
    fn refuses(&self, attach: &Attach) -> Option<Vec<crate::message::Candidate>> {
        if self.rank.is_some() || self.ascent.is_orphan() || attach.place.level <= self.ascent.level() {
            return Some(Vec::new());
        }
        let is_known = self.below.link_of(attach.place.node).is_some();
        let is_full = self.below.degree() >= self.options.capacity && !is_known && !attach.is_urgent;
        is_full.then(|| self.least_busy_children())
    }

    /// A node with all below it is below this node now, over this link.
    fn placed(&mut self, link: LinkId, places: Vec<Place>, resumes: Vec<Resume>, now: Time) {
        let Some(first) = places.first().copied() else { return };
        let is_outdated = self.below.epoch(first.node).is_some_and(|known| known > first.epoch);
        // Its parent may have moved on while this was on its way; then its parent has told of it by another way.
        let is_elsewhere = first.parent != self.id && self.below.link_towards(first.parent) != Some(link);
        if is_outdated || is_elsewhere {
            return;
        }
        for place in &places {
            self.below.place(*place);
        }
        // Whoever was below it, or below one that came along, and is not any more has gone; the report of that may have
        // been lost on its way.
        let listed: HashSet<NodeId> = places.iter().map(|place| place.node).collect();
        let mut missing = self.below.subtree(first.node);
        missing.retain(|known| !listed.contains(&known.node));
        self.is_below_changed = true;
        self.welcome_back(&places);
        self.send_up(Message::Placed { places, resumes: resumes.clone() });
        for place in missing {
            self.gone(Gone { node: place.node, epoch: place.epoch, is_certain: false, resumes: Vec::new() }, now);
        }
        self.resume_downwards(link, &resumes);
        self.expect();
    }

    /// A node is not below this one any more.
    fn gone(&mut self, gone: Gone, now: Time) {
        if self.below.epoch(gone.node).is_none_or(|known| known > gone.epoch) {
            return;
        }
        if self.root.is_some() {
            self.adrift(gone, now);
        } else {
            self.below.remove(gone.node);
            self.is_below_changed = true;
            self.send_up(Message::Gone(gone));
        }
    }

    /// The link of a child has ended, or the child itself.
    pub(super) fn child_closed(&mut self, link: LinkId, is_certain: bool, now: Time) {
        let Some(node) = self.below.node_of(link) else { return };
        let Some(epoch) = self.below.epoch(node) else { return };
        let received = |id: StreamId, log: &super::log::Log| {
            log.received_by(link).map(|received| Resume { stream: id, next: received, received })
        };
        let control = received(StreamId::CONTROL, &self.control);
        let others = self.streams.iter().filter_map(|(id, stream)| received(*id, &stream.log));
        let resumes = control.into_iter().chain(others).collect();
        // First what it has sent goes on its way, then the news that there will be no more, and only then is anything
        // dropped that it, or someone below it, may ask for again.
        self.forget_upwards(link);
        self.gone(Gone { node, epoch, is_certain, resumes }, now);
        self.forget_downwards(link);
    }

    fn forget_upwards(&mut self, link: LinkId) {
        self.early_children.retain(|(_, early)| *early != link);
        self.below.unlink_child(link);
        for id in self.stream_ids() {
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.gathering.withdraw(link);
            }
            self.pump_up(id);
            self.tell_participation(id);
        }
    }

    fn forget_downwards(&mut self, link: LinkId) {
        for id in self.stream_ids() {
            if let Some(log) = self.log_mut(id) {
                log.remove_child(link);
            }
            self.pump_down(id);
        }
    }
}
