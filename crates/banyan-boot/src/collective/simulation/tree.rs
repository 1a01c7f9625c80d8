//! A whole session in one process: nodes, members, and wires that deliver in every order that links allow.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use banyan_link::Frame;
use banyan_ranks::RankSet;

use super::{chance::Chance, script::ScriptedCall};
use crate::{
    collective::{
        Absent, CallOutcome, Caller, CollectiveError, Collectives, Own, PIPELINE, Subtree, To, bundle::BUNDLE,
        early_at_most, reduction_piece, stands_alone,
    },
    message::{CHUNK, ENTER, FAILED},
};

/// One way of a link. Control frames may overtake data frames.
type SimulatedWire = VecDeque<Frame>;

/// The two ways between something and its parent.
#[derive(Debug, Default)]
struct Link {
    up: SimulatedWire,
    down: SimulatedWire,
}

#[derive(Clone, Copy, Debug)]
enum SimulatedChild {
    Node(usize),
    Member(usize),
}

struct SimulatedNode {
    machine: Collectives,
    /// Members below it.
    ranks: RankSet,
    /// It does nothing.
    is_frozen: bool,
    parent: Option<usize>,
    /// Which child of its parent it is.
    place: usize,
    children: Vec<SimulatedChild>,
    link: Link,
}

/// A member and what it does.
pub(super) struct SimulatedMember {
    caller: Caller,
    parent: usize,
    place: usize,
    link: Link,
    /// Calls that are left, from the last to the first.
    script: Vec<Own>,
    /// Exits after so many actions.
    pub(super) exits_after: Option<usize>,
    /// It does not enter this collective yet.
    pub(super) is_away_from: Option<usize>,
    /// How often it may ask who has not entered.
    pub(super) asks: usize,
    /// What it was told: about which collective, and who is missing.
    pub(super) answers: Vec<(usize, Absent)>,
    /// Collectives it has entered.
    pub(super) entered: usize,
    /// Those of which its node knows.
    known: usize,
    pub(super) results: Vec<Result<CallOutcome, CollectiveError>>,
    pub(super) state: SimulatedState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SimulatedState {
    Calling,
    /// It has called all and got all, or an error.
    Finished,
    /// Its last frames may be on their way.
    Exited,
    /// Its node knows.
    Gone,
}

/// The session.
pub(super) struct Tree {
    nodes: Vec<SimulatedNode>,
    pub(super) members: Vec<SimulatedMember>,
    /// Reasons by number, as members were told.
    pub(super) reasons: BTreeMap<u32, String>,
    /// Members exit as soon as they have finished.
    pub(super) leave: bool,
    /// Time goes on although things could happen.
    pub(super) is_slow: bool,
    now: Instant,
    /// How many collectives nodes knew each member to have entered when somebody first asked about one.
    known_when_asked: BTreeMap<usize, Vec<usize>>,
}

impl Tree {
    /// A tree of any shape.
    pub(super) fn random(size: usize, chance: &mut Chance) -> Self {
        let count = 1 + chance.below(5);
        let parents: Vec<Option<usize>> = (0..count).map(|node| (node > 0).then(|| chance.below(node))).collect();
        let homes: Vec<usize> = (0..size).map(|_| chance.below(count)).collect();
        let mut children: Vec<Vec<SimulatedChild>> = vec![Vec::new(); count];
        let mut all: Vec<(usize, SimulatedChild)> =
            homes.iter().enumerate().map(|(rank, home)| (*home, SimulatedChild::Member(rank))).collect();
        all.extend((1..count).map(|node| (parents[node].unwrap(), SimulatedChild::Node(node))));
        // Children are in no particular order.
        while !all.is_empty() {
            let (parent, child) = all.swap_remove(chance.below(all.len()));
            children[parent].push(child);
        }
        let mut ranks: Vec<Vec<u32>> = vec![Vec::new(); count];
        for (rank, home) in homes.iter().enumerate() {
            let mut node = Some(*home);
            while let Some(at) = node {
                ranks[at].push(rank as u32);
                node = parents[at];
            }
        }
        let place =
            |parent: usize, which: &dyn Fn(&SimulatedChild) -> bool| children[parent].iter().position(which).unwrap();
        let nodes = (0..count).map(|node| {
            let below = |child: &SimulatedChild| match child {
                SimulatedChild::Member(rank) => Subtree::Member(*rank as u32),
                SimulatedChild::Node(node) => Subtree::Agent(ranks[*node].iter().copied().collect()),
            };
            let sets: Vec<Subtree> = children[node].iter().map(below).collect();
            let machine = if node == 0 { Collectives::root(sets) } else { Collectives::inner(sets, size as u32) };
            let parent = parents[node];
            let place = parent
                .map_or(0, |parent| place(parent, &|child| matches!(child, SimulatedChild::Node(n) if *n == node)));
            let (ranks, children) = (ranks[node].iter().copied().collect(), children[node].clone());
            SimulatedNode { machine, ranks, is_frozen: false, parent, place, children, link: Link::default() }
        });
        let members = homes.iter().enumerate().map(|(rank, home)| SimulatedMember {
            caller: Caller::new(rank as u32, size as u32),
            parent: *home,
            place: place(*home, &|child| matches!(child, SimulatedChild::Member(r) if *r == rank)),
            link: Link::default(),
            script: Vec::new(),
            exits_after: None,
            is_away_from: None,
            asks: 0,
            answers: Vec::new(),
            entered: 0,
            known: 0,
            results: Vec::new(),
            state: SimulatedState::Calling,
        });
        let (nodes, members) = (nodes.collect(), members.collect());
        let (reasons, known_when_asked) = (BTreeMap::new(), BTreeMap::new());
        Self { nodes, members, reasons, leave: false, is_slow: false, now: Instant::now(), known_when_asked }
    }

    /// Gives every member its calls.
    pub(super) fn set_script(&mut self, script: &[ScriptedCall]) {
        for (rank, member) in self.members.iter_mut().enumerate() {
            member.script = script.iter().rev().map(|step| step.own(rank)).collect();
        }
    }

    /// Makes a member call something else at a step.
    pub(super) fn replace(&mut self, rank: usize, step: usize, own: Own) {
        let script = &mut self.members[rank].script;
        let at = script.len() - 1 - step;
        script[at] = own;
    }

    /// Lets things happen, in any order, until nothing can happen any more.
    pub(super) fn run(&mut self, chance: &mut Chance) {
        let events = 2 * self.nodes.len() + 4 * self.members.len();
        loop {
            let first = chance.below(events);
            let happened = (first..first + events).any(|event| self.happen(event % events, chance));
            let passes = !happened || self.is_slow && chance.one_in(20);
            let has_passed = passes && self.pass_time();
            if !happened && !has_passed {
                return;
            }
            self.check_memory();
        }
    }

    /// Lets the time be over that some node waits for; false if none does.
    fn pass_time(&mut self) -> bool {
        let awake = |tree: &Tree| (0..tree.nodes.len()).filter(|node| !tree.nodes[*node].is_frozen).collect::<Vec<_>>();
        let nodes = awake(self);
        let Some(now) = nodes.iter().filter_map(|node| self.nodes[*node].machine.question_timeout()).min() else {
            return false;
        };
        self.now = self.now.max(now);
        for at in nodes {
            let mut out = Vec::new();
            let SimulatedNode { machine, children, .. } = &mut self.nodes[at];
            let host_of = |child: usize| match children[child] {
                SimulatedChild::Node(node) => format!("h{node}"),
                SimulatedChild::Member(_) => panic!("members are not asked"),
            };
            machine.questions_due(self.now, &host_of, &mut out);
            self.send(at, out);
        }
        true
    }

    /// Some node below the root does nothing from now on; gives its number and the members below it.
    pub(super) fn freeze_one(&mut self, chance: &mut Chance) -> Option<(usize, RankSet)> {
        let below = self.nodes.len().checked_sub(1).filter(|below| *below > 0)?;
        let node = 1 + chance.below(below);
        self.nodes[node].is_frozen = true;
        Some((node, self.nodes[node].ranks.clone()))
    }

    /// All nodes go on.
    pub(super) fn thaw(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.is_frozen = false);
    }

    /// Does one thing, if it can be done now.
    fn happen(&mut self, event: usize, chance: &mut Chance) -> bool {
        let (nodes, members) = (self.nodes.len(), self.members.len());
        match event {
            _ if event < nodes => {
                if self.nodes[event].parent.is_some_and(|parent| self.nodes[parent].is_frozen) {
                    return false;
                }
                let frame = take(&mut self.nodes[event].link.up, chance);
                let (parent, place) = (self.nodes[event].parent, self.nodes[event].place);
                frame.is_some_and(|frame| self.node_takes(parent.unwrap(), Some(place), frame))
            }
            _ if event < 2 * nodes => {
                let node = event - nodes;
                if self.nodes[node].is_frozen {
                    return false;
                }
                take(&mut self.nodes[node].link.down, chance).is_some_and(|frame| self.node_takes(node, None, frame))
            }
            _ => {
                let (rank, what) = ((event - 2 * nodes) % members, (event - 2 * nodes) / members);
                match what {
                    0 => self.member_sends(rank, chance),
                    1 => self.member_takes(rank, chance),
                    2 => self.ask(rank),
                    _ => self.act(rank),
                }
            }
        }
    }

    fn node_takes(&mut self, node: usize, from: Option<usize>, frame: Frame) -> bool {
        let now = self.now;
        let mut out = Vec::new();
        let machine = &mut self.nodes[node].machine;
        let taken = match from {
            Some(child) => machine.from_child(child, frame, now, &mut out),
            None => machine.from_parent(frame, now, &mut out),
        };
        taken.unwrap();
        self.send(node, out);
        true
    }

    fn send(&mut self, node: usize, out: Vec<(To, Frame)>) {
        for (to, frame) in out {
            let but = match to {
                To::Parent => {
                    self.nodes[node].link.up.push_back(frame);
                    continue;
                }
                To::Child(child) => {
                    self.send_down(node, child, frame);
                    continue;
                }
                To::AllChildren => None,
                To::AllChildrenBut(child) => Some(child),
            };
            for child in (0..self.nodes[node].children.len()).filter(|child| Some(*child) != but) {
                self.send_down(node, child, frame.clone());
            }
        }
    }

    fn send_down(&mut self, node: usize, child: usize, frame: Frame) {
        match self.nodes[node].children[child] {
            SimulatedChild::Node(node) => self.nodes[node].link.down.push_back(frame),
            SimulatedChild::Member(rank) => self.members[rank].link.down.push_back(frame),
        }
    }

    fn member_sends(&mut self, rank: usize, chance: &mut Chance) -> bool {
        let member = &mut self.members[rank];
        if self.nodes[member.parent].is_frozen {
            return false;
        }
        if let Some(frame) = take_from_member(&mut member.link.up, chance) {
            let (parent, place) = (member.parent, member.place);
            member.known += usize::from(frame.kind == ENTER);
            return self.node_takes(parent, Some(place), frame);
        }
        if member.state != SimulatedState::Exited {
            return false;
        }
        member.state = SimulatedState::Gone;
        let parent = member.parent;
        let mut out = Vec::new();
        let why = format!("member {rank} on host h{parent} exited with status 1");
        self.nodes[parent].machine.member_gone(rank as u32, why, &mut out);
        self.send(parent, out);
        true
    }

    fn member_takes(&mut self, rank: usize, chance: &mut Chance) -> bool {
        let member = &mut self.members[rank];
        let Some(frame) = take_for_member(&mut member.link.down, chance) else { return false };
        if frame.kind == FAILED {
            let reason = String::from_utf8(frame.payload.to_vec()).unwrap();
            let told = self.reasons.entry(frame.sequence).or_insert_with(|| reason.clone());
            assert_eq!(*told, reason, "one number, one reason");
        }
        if matches!(member.state, SimulatedState::Exited | SimulatedState::Gone) {
            return true;
        }
        if let Err(error) = member.caller.handle(frame) {
            member.fail(error);
        }
        if let Some(absent) = member.caller.take_absent() {
            let number = member.caller.number().unwrap() as usize;
            member.answers.push((number, absent.clone()));
            self.check_answer(number, &absent);
        }
        true
    }

    /// A member that waits asks for whom.
    fn ask(&mut self, rank: usize) -> bool {
        let member = &mut self.members[rank];
        if member.asks == 0 || !member.waits() {
            return false;
        }
        member.asks -= 1;
        let Some(question) = member.caller.ask() else { return false };
        member.link.up.push_back(question);
        let known = || self.members.iter().map(|member| member.known).collect();
        let number = self.members[rank].entered - 1;
        self.known_when_asked.entry(number).or_insert_with(known);
        true
    }

    /// Whoever has not entered is named, and whoever was known to have is not.
    fn check_answer(&self, number: usize, absent: &Absent) {
        let known = &self.known_when_asked[&number];
        assert!(absent.not_entered.iter().all(|rank| known[rank as usize] <= number), "{absent} of {known:?}");
        for (rank, member) in (0..).zip(&self.members) {
            let is_named = absent.not_entered.contains(rank) || absent.unknown.contains(rank);
            assert!(is_named || member.entered > number, "member {rank} has not entered {number}: {absent}");
        }
    }

    /// A member does the next thing that it can do by itself.
    fn act(&mut self, rank: usize) -> bool {
        let leave = self.leave;
        let member = &mut self.members[rank];
        if member.state == SimulatedState::Finished && leave {
            member.state = SimulatedState::Exited;
            return true;
        }
        if member.state != SimulatedState::Calling {
            return false;
        }
        if member.exits_after == Some(0) {
            member.state = SimulatedState::Exited;
            return true;
        }
        let acted = member.act();
        if acted && let Some(left) = &mut member.exits_after {
            *left -= 1;
        }
        acted
    }

    fn check_memory(&self) {
        let size = self.members.len();
        for node in &self.nodes {
            let pieces = node.children.len() * PIPELINE * reduction_piece(size as u32);
            let bound = pieces + early_at_most(size) + BUNDLE;
            assert!(node.machine.held() <= bound, "a node holds at most a few pieces of each child, and bundles");
        }
        assert!(self.members.iter().all(|member| member.caller.held() <= early_at_most(size)));
    }

    /// What the root says about those who wait.
    pub(super) fn waiting(&self) -> String {
        self.nodes[0].machine.waiting().iter().map(|waiting| format!("{waiting}\n")).collect()
    }
}

impl SimulatedMember {
    /// Whether it is in a collective.
    pub(super) fn waits(&self) -> bool {
        self.state == SimulatedState::Calling && self.caller.number().is_some()
    }

    fn act(&mut self) -> bool {
        if let Some(frame) = self.caller.next_chunk(CHUNK) {
            self.link.up.push_back(frame);
            return true;
        }
        if let Some(outcome) = self.caller.take_result() {
            self.results.push(Ok(outcome));
            if self.script.is_empty() {
                self.state = SimulatedState::Finished;
            }
            return true;
        }
        if self.entered > self.results.len() {
            return false;
        }
        if self.is_away_from == Some(self.entered) {
            return false;
        }
        let Some(own) = self.script.pop() else {
            self.state = SimulatedState::Finished;
            return true;
        };
        match self.caller.begin(own) {
            Ok(frame) => {
                self.entered += 1;
                self.link.up.push_back(frame);
            }
            Err(error) => self.fail(error),
        }
        true
    }

    fn fail(&mut self, error: CollectiveError) {
        assert!(matches!(error, CollectiveError::Failed(_)), "{error}");
        self.results.push(Err(error));
        self.state = SimulatedState::Finished;
    }
}

/// The next frame from a member: also the first that went through shared memory, before those that took the link.
fn take_from_member(wire: &mut SimulatedWire, chance: &mut Chance) -> Option<Frame> {
    let alone = wire.iter().position(stands_alone).filter(|_| chance.one_in(2));
    alone.and_then(|alone| wire.remove(alone)).or_else(|| take(wire, chance))
}

/// The next frame for a member: also any that went through shared memory, where it has two rings.
fn take_for_member(wire: &mut SimulatedWire, chance: &mut Chance) -> Option<Frame> {
    let alone: Vec<usize> = (0..wire.len()).filter(|at| stands_alone(&wire[*at])).collect();
    if alone.is_empty() || chance.one_in(2) {
        return take(wire, chance);
    }
    wire.remove(alone[chance.below(alone.len())])
}

/// The next frame of a wire: the first, or the first control frame.
fn take(wire: &mut SimulatedWire, chance: &mut Chance) -> Option<Frame> {
    let control = wire.iter().position(|frame| frame.kind.is_control()).filter(|_| chance.one_in(2));
    wire.remove(control.unwrap_or(0))
}
