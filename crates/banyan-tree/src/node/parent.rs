//! What a node and its parent say to each other about each other.

use std::sync::Arc;

use super::ascent::State;
use super::newcomer::Standing;
use super::records::Records;
use super::{Action, NAMED, Node};
use crate::ids::{Epoch, LinkId, NodeId, StreamId, Time};
use crate::message::{Ancestor, Ancestry, Attach, Candidate, Message, NodeInfo, Resume};

impl Node {
    /// Lets those go that have had their time, and dials the next candidate if it is time.
    pub(super) fn seek(&mut self, now: Time) {
        while let Some(link) = self.ascent.late(now) {
            self.actions.push_back(Action::Close(link));
        }
        let link = self.new_link();
        if let Some(to) = self.ascent.dial(now, link) {
            self.actions.push_back(Action::Dial { link, to });
        }
    }

    /// One that was dialled is there.
    pub(super) fn ask(&mut self, link: LinkId, now: Time) {
        let Some(others) = self.ascent.linked(link, now) else { return };
        others.into_iter().for_each(|other| self.actions.push_back(Action::LetGo(other)));
        self.send_attach(link);
    }

    fn send_attach(&mut self, link: LinkId) {
        // The epoch is of this very request, so that whoever hears of two knows which was the later.
        self.epoch = Epoch(self.epoch.0 + 1);
        let State::Asking { candidate, .. } = self.ascent.state() else { return };
        self.is_below_changed = false;
        self.joins.ask();
        self.streams.values_mut().for_each(|stream| stream.log.told_new_parent());
        let attach = Attach {
            place: self.place(candidate.node),
            is_urgent: self.ascent.is_urgent(),
            is_new: self.role.is_arriving(),
            below: self.below.everyone(),
            resumes: self.resumes(),
        };
        self.send(link, Message::Attach(attach));
    }

    fn place(&self, parent: NodeId) -> NodeInfo {
        NodeInfo { node: self.id, parent, epoch: self.epoch, level: self.ascent.level(), rank: self.role.rank() }
    }

    /// How far this node and all below it are.
    fn resumes(&self) -> Vec<Resume> {
        let control = Resume {
            stream: StreamId::CONTROL,
            next: self.control.next(),
            received: self.control.received_by_children().unwrap_or(self.control.next()),
        };
        // Who takes no part in a stream is not behind in it.
        let taking_part = self.streams.iter().filter(|(_, stream)| self.takes_part(stream));
        let others = taking_part.map(|(id, stream)| match self.received(stream) {
            // It is older than this member, which was not told where it begins.
            _ if stream.standing == Standing::Awaiting && !stream.log.is_started() => Resume::now(*id),
            // All below have just come.
            Resume::NOW => Resume::now(*id),
            received => Resume { stream: *id, next: stream.log.next(), received },
        });
        std::iter::once(control).chain(others).collect()
    }

    pub(super) fn parents_message(&mut self, link: LinkId, message: Message, now: Time) {
        match message {
            Message::Packet { stream, sequence, packet } => self.packet(stream, sequence, packet),
            Message::Acknowledge { stream, until } => self.acknowledge(stream, until),
            message => self.parents_rare_message(link, message, now),
        }
    }

    #[cold]
    fn parents_rare_message(&mut self, link: LinkId, message: Message, now: Time) {
        match message {
            Message::Welcome(ancestry) => self.welcomed(link, ancestry),
            Message::Refuse(others) => {
                self.actions.push_back(Action::Close(link));
                if self.ascent.closed(link, now) {
                    self.ascent.named(others);
                    self.seek(now);
                } else {
                    // It was the parent, and is none any more.
                    self.orphaned(now);
                }
            }
            Message::Count(question) => self.pass_question(question),
            Message::CountClocks(question) => self.pass_clock_question(question),
            Message::Ancestry(ancestry) => {
                self.ascent.set_ancestry(&ancestry);
                self.tell_ancestry();
            }
            Message::Listed(opening) => self.listed(&opening),
            Message::Succeeded(succession) => self.succeeded(&succession, now),
            Message::Skipped { stream, until } => self.skipped(stream, until),
            Message::Gap { stream, from, until } => self.gap(stream, from, until),
            Message::JoinsHeard(joins) => self.joins.hear(joins),
            Message::Begin { stream, next } => self.begin(stream, next),
            Message::WantReceipt(stream) => self.ask_received(stream),
            Message::Again(stream) => self.resume_upwards(stream),
            Message::Overdue { stream, wave, members } => self.overdue(stream, wave, &members, now),
            Message::Examine { stream, wave } => self.examine(stream, wave),
            Message::Confirm { stream, until } => self.confirmed(stream, &until),
            Message::Taken { stream, bytes } => self.taken(stream, bytes),
            // A parent says nothing else; one that does is of a newer version, whose words we may ignore.
            _ => {}
        }
    }

    fn welcomed(&mut self, link: LinkId, ancestry: Ancestry) {
        let State::Asking { candidate, .. } = self.ascent.state() else { return };
        self.ascent.attached(link, candidate.node, &ancestry);
        self.listed.clear();
        self.tell_ancestry();
        self.joins.begin(self.is_below_changed);
        if std::mem::take(&mut self.is_below_changed) {
            // Children have come or gone while the parent made up its mind.
            let places = std::iter::once(self.place(candidate.node)).chain(self.below.everyone()).collect();
            self.send_up(Message::Placed { places, resumes: self.resumes(), is_new: false });
        }
        self.tell_ended();
        for id in self.stream_ids() {
            if let Some(log) = self.log_mut(id) {
                log.forget_asking();
            }
            self.tell_received(id);
            self.resume_upwards(id);
            self.pump(id);
        }
    }

    /// There is no parent any more.
    pub(super) fn orphaned(&mut self, now: Time) {
        self.ascent.orphan(now);
        for stream in self.streams.values_mut() {
            stream.is_participating = false;
            stream.records.as_mut().into_iter().for_each(Records::reset);
        }
        self.seek(now);
    }

    /// When the children are let go, because there has been no parent for too long.
    pub(super) fn release_at(&self) -> Option<Time> {
        let is_stranded = self.ascent.is_orphan() && self.below.degree() > 0;
        is_stranded.then(|| self.ascent.orphaned().after(self.options.orphan))
    }

    /// Lets the children look for someone better.
    pub(super) fn release_children(&mut self, now: Time) {
        let links: Vec<LinkId> = self.below.links().map(|(_, link)| link).collect();
        for link in links {
            self.actions.push_back(Action::Close(link));
            self.child_closed(link, false, now);
        }
    }

    fn tell_ancestry(&mut self) {
        let links: Vec<LinkId> = self.below.links().map(|(_, link)| link).collect();
        let ancestry = self.childrens_ancestry();
        for link in links {
            self.send(link, Message::Ancestry(Arc::clone(&ancestry)));
        }
    }

    /// The ancestry of a child: this node with some of its children, then this node's own.
    pub(super) fn childrens_ancestry(&self) -> Ancestry {
        let own = Ancestor { itself: self.itself(), children: self.least_busy_children() };
        std::iter::once(own).chain(self.ascent.ancestry().iter().cloned()).collect()
    }

    /// Some of the children that could be parents, those with the fewest children first.
    pub(super) fn least_busy_children(&self) -> Vec<Candidate> {
        let places = self.below.links().filter_map(|(node, _)| self.below.get(node));
        let mut agents: Vec<NodeInfo> = places.filter(|place| place.rank.is_none()).collect();
        agents.sort_by_key(|place| self.below.degree_of(place.node));
        agents.iter().take(NAMED).map(|place| Candidate { node: place.node, level: place.level }).collect()
    }
}
