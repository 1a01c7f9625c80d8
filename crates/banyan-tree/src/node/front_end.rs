//! What only the front-end knows: who is adrift, who is lost, and whom each stream waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use banyan_boot::RankSet;

use super::clocks::ClockInquiry;
use super::figures::Inquiry;
use super::ledger::Ledger;
use super::role::NodeRole;
use super::{Node, Report};
use crate::ids::{Level, NodeId, StreamId, Time};
use crate::message::{Gone, NodeInfo, Opening, Packet, Resume};

#[derive(Debug, Default)]
pub(super) struct FrontEnd {
    adrift: BTreeMap<NodeId, Adrift>,
    /// Nodes that were waited for in vain.
    given_up: BTreeSet<NodeId>,
    /// Agents that are there, or may come back.
    agents: BTreeSet<NodeId>,
    /// Members that are there, or may come back.
    present: RankSet,
    /// Whether streams have not been told of that since it changed.
    is_changed: bool,
    /// Whether someone who was adrift has come back or was given up, so that packets kept for it may go.
    has_settled: bool,
    next_stream: u32,
    pub(super) inquiry: Inquiry,
    pub(super) clock_inquiry: ClockInquiry,
}

/// A node without a parent.
#[derive(Debug)]
struct Adrift {
    until: Time,
    resumes: Vec<Resume>,
}

impl Adrift {
    /// Remembers the lower of what is known of each stream.
    fn lower(&mut self, resumes: Vec<Resume>) {
        for resume in resumes {
            match self.resumes.iter_mut().find(|known| known.stream == resume.stream) {
                Some(known) => known.received = known.received.min(resume.received),
                None => self.resumes.push(resume),
            }
        }
    }
}

impl FrontEnd {
    pub(super) fn deadline(&self) -> Option<Time> {
        self.adrift.values().map(|adrift| adrift.until).min()
    }

    /// The first packet of a stream that someone who may come back has not taken.
    pub(super) fn needed_by_adrift(&self, stream: StreamId) -> Option<u64> {
        let resumes = self.adrift.values().flat_map(|adrift| &adrift.resumes);
        resumes.filter(|resume| resume.stream == stream).map(|resume| resume.received).min()
    }

    /// Who may come back and has not taken this packet.
    pub(super) fn adrift_before(&self, stream: StreamId, sequence: u64) -> impl Iterator<Item = NodeId> {
        let is_before = move |resume: &Resume| resume.stream == stream && resume.received <= sequence;
        self.adrift.iter().filter(move |(_, adrift)| adrift.resumes.iter().any(is_before)).map(|(node, _)| *node)
    }

    /// How far those below a node that is adrift are at least.
    pub(super) fn resumes_of(&self, node: NodeId) -> Option<Vec<Resume>> {
        self.adrift.get(&node).map(|adrift| adrift.resumes.clone())
    }

    /// Whether a node has no parent, and may find one.
    pub(super) fn is_adrift(&self, node: NodeId) -> bool {
        self.adrift.contains_key(&node)
    }

    /// Whether a node was given up.
    pub(super) fn has_given_up(&self, node: NodeId) -> bool {
        self.given_up.contains(&node)
    }

    /// Whether a node is adrift, or was given up.
    pub(super) fn misses(&self, node: NodeId) -> bool {
        self.adrift.contains_key(&node) || self.given_up.contains(&node)
    }

    pub(super) fn new_stream(&mut self) -> StreamId {
        self.next_stream += 1;
        StreamId(self.next_stream)
    }
}

impl Node {
    /// A node has lost its parent.
    pub(super) fn adrift(&mut self, gone: Gone, now: Time) {
        let until = now.after(self.options.adrift);
        self.report(Report::Adrift(gone.node));
        // What is certain is the end of this process alone: whoever is below an agent looks for another parent.
        let is_member = self.below.get(gone.node).is_some_and(|place| place.rank.is_some());
        if gone.is_certain && !is_member {
            self.lose_agent(gone.node);
        }
        if gone.is_certain && is_member {
            self.lose(gone.node);
            self.below.remove(gone.node);
        } else if let Some(front_end) = self.role.front_end_mut() {
            let adrift = front_end.adrift.entry(gone.node).or_insert(Adrift { until, resumes: Vec::new() });
            adrift.lower(gone.resumes);
            self.lose_ended();
        }
        self.expect();
    }

    /// A stream is opened while some of its members are adrift: they need it from its beginning.
    pub(super) fn keep_for_adrift(&mut self, opening: &Opening) {
        let Node { role: NodeRole::FrontEnd(front_end), below, .. } = self else { return };
        for (node, adrift) in &mut front_end.adrift {
            if !below.members_below(*node).is_disjoint(&opening.members) {
                adrift.resumes.push(Resume { stream: opening.stream, next: 0, received: 0 });
            }
        }
    }

    /// These nodes have a parent, and those below them are there as well.
    pub(super) fn welcome_back(&mut self, places: &[NodeInfo], is_move: bool) {
        let Some(first) = places.first() else { return };
        let Some(front_end) = self.role.front_end_mut() else { return };
        for place in places {
            front_end.has_settled |= front_end.adrift.remove(&place.node).is_some();
            front_end.given_up.remove(&place.node);
        }
        let members: RankSet = places.iter().filter_map(|place| place.rank).collect();
        let joined = members.difference(&front_end.present);
        if !joined.is_empty() {
            front_end.present = front_end.present.union(&joined);
            front_end.is_changed = true;
        }
        self.note_holders(places);
        self.note_agents(places);
        if is_move {
            self.report(Report::Moved { node: first.node, parent: first.parent });
        }
        if !joined.is_empty() {
            self.report(Report::Joined(joined));
        }
    }

    /// Agents among these that are new, or were lost.
    fn note_agents(&mut self, places: &[NodeInfo]) {
        let is_agent = |place: &&NodeInfo| place.rank.is_none() && place.level != Level::LOWEST;
        for agent in places.iter().filter(is_agent) {
            if self.role.front_end_mut().is_some_and(|front_end| front_end.agents.insert(agent.node)) {
                self.report(Report::AgentJoined(agent.node));
            }
        }
    }

    /// Goes on without those who have been adrift for too long.
    pub(super) fn give_up_lost(&mut self, now: Time) {
        let Some(front_end) = self.role.front_end_mut() else { return };
        let late: Vec<NodeId> =
            front_end.adrift.iter().filter(|(_, adrift)| adrift.until <= now).map(|(node, _)| *node).collect();
        if late.is_empty() {
            return;
        }
        for node in late {
            self.lose(node);
        }
        self.expect();
    }

    /// Nobody drove this node for so long: whoever is adrift and came meanwhile was not answered.
    pub fn was_away(&mut self, time: Duration) {
        if let Some(front_end) = self.role.front_end_mut() {
            front_end.adrift.values_mut().for_each(|adrift| adrift.until = adrift.until.after(time));
        }
    }

    /// The members at and below this node are not waited for any more.
    pub(super) fn lose(&mut self, node: NodeId) {
        let below = self.below.subtree(node);
        let members: RankSet = below.iter().filter_map(|place| place.rank).collect();
        // Agents below it that live have found others by now.
        for agent in below.iter().filter(|place| place.rank.is_none()) {
            self.lose_agent(agent.node);
        }
        let Some(front_end) = self.role.front_end_mut() else { return };
        front_end.has_settled |= front_end.adrift.remove(&node).is_some();
        front_end.given_up.insert(node);
        let members = members.intersection(&front_end.present);
        if !members.is_empty() {
            front_end.present = front_end.present.difference(&members);
            front_end.is_changed = true;
            self.report(Report::Lost(members));
        }
    }

    /// An agent has ended, or is not waited for any more.
    fn lose_agent(&mut self, node: NodeId) {
        if self.role.front_end_mut().is_some_and(|front_end| front_end.agents.remove(&node)) {
            self.report(Report::AgentLost(node));
        }
        self.tell_lost_state(node);
    }

    /// Tells every stream whom to wait for, if anyone has come or was given up, and drops packets that only someone adrift
    /// needed. A node that only moves costs nothing here.
    pub(super) fn expect(&mut self) {
        let Some(front_end) = self.role.front_end_mut() else { return };
        let is_changed = std::mem::take(&mut front_end.is_changed);
        let has_settled = std::mem::take(&mut front_end.has_settled);
        if is_changed {
            let present = front_end.present.clone();
            let mut with_newcomers = Vec::new();
            for (id, stream) in self.streams.iter_mut() {
                let present = stream.opening.members.intersection(&present);
                let Some(ledger) = &mut stream.ledger else { continue };
                ledger.set_present(&present, stream.log.len());
                if stream.log.next() == 0 && ledger.has_nothing() {
                    // Nothing was sent either way: they are in time.
                    ledger.expect_newcomers();
                }
                with_newcomers.extend(ledger.has_newcomers().then_some(*id));
            }
            // So that they contribute to waves that are not over.
            with_newcomers.into_iter().for_each(|id| self.tell_whole(id));
        }
        if is_changed || has_settled {
            self.stream_ids().into_iter().for_each(|id| self.pump_down(id));
        }
    }

    /// At the front-end, before something is sent on a stream: members that have come since the last time are waited for
    /// from the wave on that is next now, which they hear of first.
    pub(super) fn await_newcomers(&mut self, id: StreamId, packet: &Packet) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(ledger) = stream.ledger.as_mut().filter(|ledger| ledger.has_newcomers()) else { return };
        let members = match packet {
            Packet::Chosen(chosen) => &chosen.members,
            _ => &stream.opening.members,
        };
        if ledger.expect_newcomers_among(members) {
            self.tell_whole(id);
        }
    }

    /// Tells newcomers which waves are whole. They are not acknowledged: the program may not have taken them, and others
    /// would get further ahead of it with everyone who comes.
    fn tell_whole(&mut self, id: StreamId) {
        let next = self.streams.get(&id).and_then(|stream| stream.ledger.as_ref()).map(Ledger::next);
        next.into_iter().for_each(|next| self.begin(id, next));
    }

    /// At the front-end: these members begin with what is sent next on some streams. Those that were heard of before, and
    /// whose parent did not answer them or died at once, were not sent what they were waited for in.
    pub(super) fn note_beginners(&mut self, members: &RankSet, resumes: &[Resume]) {
        if !self.role.is_front_end() {
            return;
        }
        for resume in resumes.iter().filter(|resume| resume.received == Resume::NOW) {
            let Some(stream) = self.streams.get_mut(&resume.stream).filter(|stream| stream.log.next() > 0) else {
                continue;
            };
            if let Some(ledger) = &mut stream.ledger {
                ledger.begin_again(members, stream.log.len());
            }
        }
    }

    /// At the front-end: another process is these members now.
    pub(super) fn replaced(&mut self, members: &RankSet) {
        let Some(front_end) = self.role.front_end_mut() else { return };
        let members = members.intersection(&front_end.present);
        if members.is_empty() {
            return;
        }
        front_end.present = front_end.present.difference(&members);
        front_end.is_changed = true;
        self.report(Report::Lost(members));
        self.expect();
    }

    /// At the front-end: whether any of these members is there, or may come back.
    pub fn has_any(&self, members: &RankSet) -> bool {
        self.role.front_end().is_some_and(|front_end| !front_end.present.is_disjoint(members))
    }

    /// At the front-end: the members that are there, or may come back.
    pub fn members(&self) -> RankSet {
        self.role.front_end().map(|front_end| front_end.present.clone()).unwrap_or_default()
    }
}
