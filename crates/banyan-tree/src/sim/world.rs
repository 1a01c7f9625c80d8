//! The world of a simulation: nodes, wires, time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::RankSet;
use banyan_link::LinkOptions;

use super::clocks::{ClockWords, HostClock};
use super::crowding::Crowding;
use super::happening::{Agenda, Happening};
use super::model::{Broken, Model};
use super::network::{EndIndex, SILENCE, Wire, WireArrival, WireId, link_options};
use super::programs::BATCH;
use super::reduction::{REDUCE, SUMS};
use super::sum::{AT_ROOT, BELOW_ROOT, FAILING, HOPS, MISPLACED, SIFT, SIFT_FAILING, SIFTED_MOST, SUM, Sums};
use super::{Outcome, Plan, traffic};
use crate::clocks::Clocks;
use crate::format_book::FormatBook;
use crate::ids::{Level, LinkId, NodeId, StreamId, Time};
use crate::message::{Ancestor, Ancestry, Candidate, NodeInfo};
use crate::node::{Action, Chance, Delivery, LinkFigures, Node, NodeOptions, Report};
use crate::stream_options::{StreamOptions, Where};
use crate::synchronisation::Synchronisation;
use crate::wire::AddressBook;

/// How long a message takes, and how much longer it may take.
pub(super) const LATENCY: Duration = Duration::from_micros(100);
pub(super) const JITTER: Duration = Duration::from_micros(400);
/// How long a dial into nowhere takes to fail.
const DIAL: Duration = Duration::from_secs(5);
/// Once nothing goes wrong any more, everything is done within this time.
const PATIENCE: Duration = Duration::from_secs(120);
/// Once nothing goes wrong any more, nodes find out who is silent, and the front-end gives up who does not come back, within
/// this time.
const DETECTION: Duration = Duration::from_secs(2 * SILENCE.as_secs() + NodeOptions::ADRIFT.as_secs());
/// From then on each wave comes within this time after the one before it, beside what the front-end and a timeout take.
const NEXT_WAVE: Duration = Duration::from_secs(1);
/// A process that was stopped and goes on hears its links within this time, one after the other.
pub(super) const BACKLOG: Duration = Duration::from_millis(5);
/// Members that join do so within this time, and inner nodes that were killed start again.
pub(super) const JOINS_WITHIN: Duration = Duration::from_millis(60);
/// Bytes of a number, and of what an exact sum of floats is on its way.
const NUMBER: usize = 8;
const EXACT: usize = 512;
/// A run counts for 64 bytes beside its numbers, which are at most a third of the whole.
const RUN_SHARE: usize = 3;
/// Bytes that a node may keep for a stream beside its packets, and that each packet takes beside its bodies.
const LOGS: usize = 8 * 1024;
const PACKET: usize = 256;
/// Children that are told of as candidates, as nodes do it themselves.
const NAMED: usize = 8;

/// A node and what the world knows of it.
pub(super) struct Inhabitant {
    pub(super) node: Node,
    pub(super) rank: Option<u32>,
    pub(super) is_alive: bool,
    /// Whether its host lost power, so that nobody is told of its end.
    pub(super) is_off: bool,
    pub(super) stopped_until: Time,
    /// By how many times it is slower than others, and until when.
    pub(super) slow: (u32, Time),
    /// How far what it measures waits by is ahead.
    pub(super) clock: Duration,
    /// What stamps are taken from.
    pub(super) host_clock: HostClock,
    pub(super) clocks: Clocks,
    /// Whether it is planned that it looks whether to compare clocks.
    pub(super) compares: bool,
    /// Wires it has an end of, by its own names for them.
    pub(super) wires: BTreeMap<LinkId, (WireId, EndIndex)>,
    /// Links that may have something to send.
    pub(super) touched: Vec<LinkId>,
    /// Where others are, as far as it has heard.
    pub(super) book: AddressBook,
    /// The earliest wake that is planned.
    wake_at: Option<Time>,
    /// What it was started with.
    pub(super) origin: (Level, Ancestry),
    /// How often it was started again.
    pub(super) life: u32,
    pub(super) crowding: Crowding,
}

impl Inhabitant {
    pub(super) fn new(seed: u64, node: Node, rank: Option<u32>, level: Level, ancestry: Ancestry) -> Inhabitant {
        let book = traffic::book(node.id(), rank, &ancestry);
        let host_clock = HostClock::of(seed, node.id(), rank, &ancestry);
        let clocks = Inhabitant::fresh_clocks(node.id(), rank, &host_clock);
        Inhabitant {
            node,
            rank,
            is_alive: true,
            is_off: false,
            stopped_until: Time(0),
            slow: (1, Time(0)),
            clock: Duration::ZERO,
            host_clock,
            clocks,
            compares: false,
            wires: BTreeMap::new(),
            touched: Vec::new(),
            book,
            wake_at: None,
            origin: (level, ancestry),
            life: 0,
            crowding: Crowding::default(),
        }
    }

    /// Bytes of streams without waves.
    fn record_bytes(&self) -> usize {
        let openings = self.node.streams().filter(|opening| !opening.options.synchronisation.has_waves());
        let counters = openings.filter_map(|opening| self.node.stream_counters(opening.stream));
        counters.map(|counters| counters.gathered_bytes).sum()
    }
}

/// Nothing passes from one node to another; `None` is everyone.
pub(super) struct Cut {
    pub(super) from: Option<usize>,
    pub(super) to: Option<usize>,
    pub(super) until: Time,
}

/// What one node sends to another takes longer.
pub(super) struct Delay {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) longer: Duration,
    pub(super) until: Time,
}

pub(super) struct World<'p, 't> {
    pub(super) plan: &'p Plan,
    pub(super) chance: Chance,
    pub(super) now: Time,
    pub(super) agenda: Agenda,
    pub(super) nodes: Vec<Inhabitant>,
    pub(super) wires: Vec<Wire>,
    pub(super) clock_words: ClockWords,
    pub(super) link_options: LinkOptions,
    /// For links, which do not look at it.
    pub(super) begin: Instant,
    /// The formats of everything that is sent.
    pub(super) formats: FormatBook,
    pub(super) cuts: Vec<Cut>,
    pub(super) delays: Vec<Delay>,
    pub(super) model: Model,
    /// What nodes can do with waves.
    pub(super) transformations: Arc<Sums>,
    pub(super) streams: Vec<(StreamId, RankSet)>,
    pub(super) packets_sent: Vec<u64>,
    /// Streams that were closed, with their members.
    closed: Vec<(StreamId, RankSet)>,
    /// Agents above members of a stream whose filters lose their state, when it was opened at the beginning.
    holders: BTreeSet<(StreamId, NodeId)>,
    /// Nodes that have dialled the front-end.
    callers: BTreeSet<NodeId>,
    /// Members that join later.
    joining: Vec<usize>,
    pub(super) died: RankSet,
    /// How many processes have been each member after its first.
    pub(super) lives: BTreeMap<u32, u32>,
    /// Processes that were started again.
    pub(super) past: Vec<Node>,
    /// Records without waves that went down with a wire or a node, of each stream.
    pub(super) lost_records: BTreeMap<StreamId, u64>,
    /// When the last fault began, and when all are over.
    pub(super) last_fault: Time,
    pub(super) all_over: Time,
    /// When something of each stream was last delivered, or it was opened.
    pub(super) delivered_at: BTreeMap<StreamId, Time>,
    pub(super) outcome: Outcome,
    pub(super) trace: &'t mut dyn FnMut(&dyn Fn() -> String),
}

impl<'p, 't> World<'p, 't> {
    pub(super) fn new(plan: &'p Plan, trace: &'t mut dyn FnMut(&dyn Fn() -> String)) -> World<'p, 't> {
        let (inner, members) = plan.size();
        let outcome = Outcome {
            members,
            inner,
            waves: 0,
            messages: 0,
            moves: 0,
            lost: 0,
            late: 0,
            dropped: 0,
            filtered: 0,
            degree: 0,
            held: 0,
            clocks: 0,
            clock_bound: 0,
            time: Duration::ZERO,
        };
        let model = Model::default();
        let transformations = Arc::new(Sums(model.reductions()));
        let formats = model.formats();
        let mut world = World {
            plan,
            chance: Chance::new(plan.seed),
            now: Time(0),
            agenda: Agenda::default(),
            nodes: grow(plan, &transformations),
            wires: Vec::new(),
            clock_words: ClockWords::new(plan.seed),
            link_options: link_options(),
            begin: Instant::now(),
            formats,
            cuts: Vec::new(),
            delays: Vec::new(),
            model,
            transformations,
            streams: Vec::new(),
            packets_sent: vec![0; plan.streams],
            closed: Vec::new(),
            holders: BTreeSet::new(),
            callers: BTreeSet::new(),
            joining: Vec::new(),
            died: RankSet::new(),
            lives: BTreeMap::new(),
            past: Vec::new(),
            lost_records: BTreeMap::new(),
            last_fault: Time(0),
            all_over: Time(0),
            delivered_at: BTreeMap::new(),
            outcome,
            trace,
        };
        for _ in 0..plan.joining.min(members / 2) {
            let member = 1 + inner + world.chance.below(members);
            if !world.joining.contains(&member) {
                world.joining.push(member);
                world.nodes[member].is_alive = false;
                world.model.joins(world.nodes[member].rank.unwrap_or_default());
            }
        }
        for node in 0..world.nodes.len() {
            if world.nodes[node].is_alive {
                world.plan_wake(node);
            }
        }
        world
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Runs until everything is done.
    pub(super) fn run(&mut self) -> Result<Outcome, Broken> {
        self.grow_up()?;
        self.open_streams()?;
        let (inner, members) = self.plan.size();
        for (at, fault) in self.plan.faults.draw(inner, inner + members, &mut self.chance) {
            let at = Time(self.now.0 + at.0);
            self.last_fault = at;
            self.all_over = self.all_over.max(at.after(fault.lasts()));
            self.agenda.add(at, Happening::Fault(fault));
        }
        for member in self.joining.clone() {
            let at = self.now.after(self.chance.up_to(JOINS_WITHIN));
            self.last_fault = self.last_fault.max(at);
            self.agenda.add(at, Happening::Join(member));
        }
        while !self.is_done() {
            self.steps()?;
            self.check_liveness()?;
            if self.now > self.last_fault.after(PATIENCE) {
                return Err(Broken::Stuck(self.progress()));
            }
        }
        self.check_end()?;
        self.outcome.time = Duration::from_nanos(self.now.0);
        let counters = self.nodes[0].node.counters();
        self.outcome.late = counters.late;
        let come = counters.records.delivered + counters.records.filtered;
        self.outcome.dropped = counters.records.seen.saturating_sub(come);
        self.outcome.filtered = counters.records.filtered;
        Ok(self.outcome.clone())
    }

    /// Once everyone had the time to find out what has happened, one wave follows the other.
    fn check_liveness(&self) -> Result<(), Broken> {
        let alive = self.alive();
        let is_over = self.all_over.max(self.last_fault);
        for (stream, members) in &self.streams {
            let slack = match self.model.kind(*stream) {
                Synchronisation::Lossy => continue,
                // Each level waits for less than the one above it.
                Synchronisation::Timeout(time) => *time * 4,
                Synchronisation::All | Synchronisation::Interval(_) | Synchronisation::None => Duration::ZERO,
            };
            let alive = members.intersection(&alive);
            if alive.is_empty() || self.is_stream_done(*stream, &alive) {
                continue;
            }
            let before = self.delivered_at.get(stream).copied().unwrap_or_default();
            let since = before.max(is_over.after(DETECTION));
            if self.now > since.after(NEXT_WAVE + 2 * self.plan.front_end_pause + slack) {
                let waited = Duration::from_nanos(self.now.0 - before.max(is_over).0);
                let (stream, wave) = (*stream, self.model.next(*stream));
                return Err(Broken::Late { stream, wave, waited, progress: self.progress() });
            }
        }
        Ok(())
    }

    /// Where members keep pace, all of them are in every wave once everyone had the time to find out what has happened.
    pub(super) fn check_nobody_is_late(&self, delivery: &Delivery) -> Result<(), Broken> {
        let Synchronisation::Timeout(time) = *self.model.kind(delivery.stream) else { return Ok(()) };
        let settled = self.all_over.max(self.last_fault).after(DETECTION + NEXT_WAVE);
        // Who falls behind is back a timeout and a round trip later; the wave before may have begun up to four timeouts ago.
        if self.plan.pace.is_none() || self.now < settled.after(time * 5) {
            return Ok(());
        }
        let of_stream = self.streams.iter().find(|(stream, _)| *stream == delivery.stream);
        let expected = of_stream.map(|(_, members)| members.intersection(&self.alive())).unwrap_or_default();
        let missing = expected.difference(&delivery.members);
        match missing.is_empty() {
            true => Ok(()),
            false => Err(Broken::Missing { stream: delivery.stream, wave: delivery.first, missing }),
        }
    }

    /// Lets the tree grow until every member is there.
    fn grow_up(&mut self) -> Result<(), Broken> {
        let (_, members) = self.plan.size();
        while self.nodes[0].node.members().len() < (members - self.joining.len()) as u64 {
            self.step()?;
            if self.now > Time(0).after(PATIENCE) {
                return Err(Broken::Stuck("the tree does not grow".into()));
            }
        }
        Ok(())
    }

    fn open_streams(&mut self) -> Result<(), Broken> {
        let (_, members) = self.plan.size();
        for at in 0..self.plan.streams {
            let all = 0..members as u32;
            let set: RankSet = match at {
                0 => all.collect(),
                _ => all.filter(|_| self.chance.one_in(3)).collect(),
            };
            if set.is_empty() {
                continue;
            }
            let stream = self.open(at, &set)?;
            if self.model.is_failing(stream) {
                self.holders.extend(self.agents_above(&set).into_iter().map(|agent| (stream, agent)));
            }
            self.streams.push((stream, set));
        }
        for node in (0..self.nodes.len()).filter(|node| *node == 0 || self.nodes[*node].rank.is_some()) {
            self.agenda.add(self.now, Happening::Program(node));
        }
        self.act(0)
    }

    /// The agents above some members who are there.
    fn agents_above(&self, members: &RankSet) -> BTreeSet<NodeId> {
        let places: BTreeMap<NodeId, NodeInfo> =
            self.nodes[0].node.nodes().into_iter().map(|place| (place.node, place)).collect();
        let is_member = |place: &&NodeInfo| place.rank.is_some_and(|rank| members.contains(rank));
        let parent = |place: &NodeInfo| places.get(&place.parent).copied();
        let members = places.values().filter(is_member);
        members.flat_map(|place| std::iter::successors(parent(place), parent)).map(|agent| agent.node).collect()
    }

    fn open(&mut self, at: usize, members: &RankSet) -> Result<StreamId, Broken> {
        let kind = self.plan.synchronisations.get(at).cloned().unwrap_or_default();
        let is_failing = self.plan.has_failing_filter && at + 1 == self.plan.streams;
        let is_reduced = at == 0 && self.plan.reduces && !is_failing && is_of_waves(&kind);
        let is_sifted = self.plan.sifts && !kind.has_waves();
        let (filter, parameters) = match (is_failing, is_reduced, is_sifted) {
            (true, _, true) => (SIFT_FAILING, ""),
            (_, _, true) => (SIFT, ""),
            (true, _, _) => (FAILING, ""),
            (_, true, _) => (REDUCE, SUMS),
            _ => (SUM, ""),
        };
        // The first stream is as plain as can be; the others have filters in both directions, others at each place.
        let mut options = StreamOptions::filter(filter, parameters).synchronised(kind.clone());
        if at > 0 {
            options = options.up_at(Where::Root, filter, AT_ROOT).up_at(Where::Agents, filter, BELOW_ROOT);
            options = options.down(HOPS, if is_failing { FAILING } else { "" });
        }
        let opened = self.nodes[0].node.open(Arc::new(members.clone()), options);
        let stream = opened.map_err(|error| Broken::Stuck(error.to_string()))?;
        let depth = self.plan.shape.len() as u64;
        let fewest = if self.plan.faults.count == 0 { depth } else { 1 };
        let hops = if at > 0 { fewest..=depth } else { 0..=0 };
        self.model.opened(stream, kind, is_failing, hops);
        self.delivered_at.insert(stream, self.now);
        if is_reduced {
            self.model.is_reduced_as_users_do(stream);
        }
        if is_sifted {
            self.model.is_sifted(stream);
        }
        Ok(stream)
    }

    /// Closes the last stream when half of its waves have come, and opens another in its place.
    pub(super) fn reopen(&mut self) -> Result<(), Broken> {
        let at = self.streams.len() - 1;
        let (stream, members) = self.streams[at].clone();
        if !self.plan.reopens || !self.closed.is_empty() || self.model.progress(stream) < self.plan.waves / 2 {
            return Ok(());
        }
        self.nodes[0].node.close(stream);
        self.closed.push((stream, members.clone()));
        self.packets_sent[at] = 0;
        self.streams[at].0 = self.open(at, &members)?;
        Ok(())
    }

    /// So many steps that looking whether it is over costs little beside them.
    fn steps(&mut self) -> Result<(), Broken> {
        (0..=self.nodes.len()).try_for_each(|_| self.step())
    }

    fn step(&mut self) -> Result<(), Broken> {
        let Some((at, happening)) = self.agenda.next() else {
            return Err(Broken::Stuck(self.progress()));
        };
        self.now = self.now.max(at);
        match happening {
            Happening::Arrival(wire, end) => self.arrival(wire, end),
            Happening::Dialled(wire) => self.dialled(wire),
            Happening::Refused(wire) => self.end_closes(wire, 0),
            Happening::Writable(wire, end) | Happening::Rung(wire, end) => self.look(wire, end, happening),
            Happening::Silence(wire, end) => self.silence(wire, end),
            Happening::Wake(node) => self.wake(node),
            Happening::Compare(node) => {
                self.compare(node);
                Ok(())
            }
            Happening::Clock(word) => self.clock_word(word),
            Happening::Program(node) => match self.delayed(node) {
                Some(until) => {
                    self.agenda.add(until, happening);
                    Ok(())
                }
                None if self.nodes[node].is_alive => self.program(node),
                None => Ok(()),
            },
            Happening::Fault(fault) => self.fault(fault),
            Happening::Join(member) => {
                self.nodes[member].is_alive = true;
                self.plan_wake(member);
                self.agenda.add(self.now, Happening::Program(member));
                Ok(())
            }
            Happening::Restart(node) => {
                self.restart(node);
                Ok(())
            }
            Happening::Succeed(node) => {
                self.succeed(node);
                Ok(())
            }
        }
    }

    /// Does what a node wants done.
    pub(super) fn act(&mut self, node: usize) -> Result<(), Broken> {
        self.keep_clocks(node);
        loop {
            while let Some(action) = self.nodes[node].node.action() {
                self.carry_out(node, action)?;
            }
            if !self.flush(node) {
                break;
            }
        }
        self.watch_degree(node)?;
        self.watch_memory(node)?;
        self.plan_wake(node);
        if node == 0 && self.plan.front_end_pause.is_zero() && !self.streams.is_empty() {
            let streams: Vec<StreamId> = self.streams.iter().map(|(stream, _)| *stream).collect();
            let before = self.outcome.waves;
            self.take_waves(&streams)?;
            if self.outcome.waves != before {
                return self.act(0);
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, node: usize, action: Action) -> Result<(), Broken> {
        match action {
            Action::Dial { link, to } => self.dial(node, link, to),
            Action::Send { link, message } => {
                self.outcome.messages += 1;
                self.note_question(node, link, &message)?;
                self.note_newcomer(&message);
                self.send(node, link, &message);
            }
            Action::Close(link) => self.close(node, link),
            Action::LetGo(link) => self.let_go(node, link),
            Action::Examine(link) => {
                let (stopped, now) = (self.run_time_if_stopped(node, link), self.time_of(node));
                self.nodes[node].node.examined(link, stopped, now);
            }
            Action::Report(report) => self.reported(node, report)?,
            Action::Drain(link) => self.drain(node, link),
            Action::Count(question) => self.nodes[node].node.answer(question, LinkFigures::default()),
            Action::CountClocks(_) => {}
        }
        Ok(())
    }

    fn reported(&mut self, node: usize, report: Report) -> Result<(), Broken> {
        let now = self.now;
        (self.trace)(&|| format!("{now} {node}: {report:?}"));
        match report {
            Report::Lost(members) => {
                self.outcome.lost += members.len();
                self.model.lost(&members);
                self.invite_successors(&members);
            }
            Report::Moved { .. } => self.outcome.moves += 1,
            Report::Skipped { stream, packets } => {
                if let Some(rank) = self.nodes[node].rank.filter(|_| self.is_current(node)) {
                    self.model.skipped(stream, rank, packets)?;
                }
            }
            Report::StateLost { stream, node: lost, .. } => {
                // One that lives may be given up and come back.
                let is_wrong = self.nodes[lost.0 as usize].is_alive || self.model.is_state_lost(stream, lost);
                let is_wrong = is_wrong && self.plan.faults.only_deaths;
                self.model.state_lost(stream, lost, is_wrong)?;
            }
            Report::Violation { child, cause, .. } => return Err(Broken::Stuck(format!("{child} {cause}"))),
            Report::FieldsMissing { stream, members, .. } => self.model.fields_missing(stream, members)?,
            Report::Uncombined { cause, .. } if cause == MISPLACED => return Err(Broken::Stuck(cause)),
            // Its program ends.
            Report::Succeeded => self.leave(node),
            Report::Joined(_) | Report::Adrift(_) | Report::Over | Report::Uncombined { .. } => {}
            Report::AgentJoined(_) | Report::AgentLost(_) | Report::Dropped(_) => {}
            Report::Late { .. } | Report::WavesMissed { .. } => {}
        }
        Ok(())
    }

    fn dial(&mut self, from: usize, link: LinkId, id: NodeId) {
        let to = id.0 as usize;
        self.note_dial(from, to);
        let wire = self.wires.len();
        self.wires.push(Wire::new(from, to, link));
        self.callers.extend((to == 0).then(|| self.nodes[from].node.id()));
        self.nodes[from].wires.insert(link, (wire, 0));
        self.make_end(wire, 0);
        if self.nodes[from].book.get(id).is_none() {
            // Nobody has said where that is.
            return self.agenda.add(self.now, Happening::Refused(wire));
        }
        let now = self.now;
        (self.trace)(&|| format!("{now} {from} dials {to}"));
        let is_cut = self.cut_until(from, to).or(self.cut_until(to, from)).is_some();
        let (is_off, is_dead) = (self.nodes[to].is_off, !self.nodes[to].is_alive);
        let latency = self.way(from, to);
        let (after, happening) = match (is_cut || is_off, is_dead) {
            (true, _) => (DIAL, Happening::Refused(wire)),
            (false, true) => (latency, Happening::Refused(wire)),
            (false, false) => (latency, Happening::Dialled(wire)),
        };
        self.agenda.add(self.now.after(after), happening);
    }

    fn dialled(&mut self, wire: WireId) -> Result<(), Broken> {
        let [from, to] = self.wires[wire].nodes;
        let name = self.wires[wire].names[0];
        if !self.nodes[to].is_alive {
            self.agenda.add(self.now, Happening::Refused(wire));
            return Ok(());
        }
        if let Some(until) = self.delayed(to) {
            self.agenda.add(until, Happening::Dialled(wire));
            return Ok(());
        }
        let accepted = self.nodes[to].node.accepted();
        self.wires[wire].names[1] = Some(accepted);
        self.nodes[to].wires.insert(accepted, (wire, 1));
        self.make_end(wire, 1);
        self.touch(to, accepted);
        self.act(to)?;
        match name.filter(|_| self.wires[wire].is_open[0] && self.nodes[from].is_alive) {
            Some(name) => {
                self.touch(from, name);
                self.act(from)
            }
            None => {
                self.put_close_back(wire, 0);
                Ok(())
            }
        }
    }

    fn arrival(&mut self, wire: WireId, end: EndIndex) -> Result<(), Broken> {
        let node = self.wires[wire].nodes[end];
        let Some((at, _)) = self.wires[wire].arriving[end].front() else { return Ok(()) };
        if *at > self.now {
            let at = *at;
            self.agenda.add(at, Happening::Arrival(wire, end));
            return Ok(());
        }
        if !self.wires[wire].is_open[end] || !self.nodes[node].is_alive {
            self.abandon(wire, end);
            return Ok(());
        }
        let from = self.wires[wire].nodes[1 - end];
        let not_accepted = self.wires[wire].names[end].is_none().then(|| self.now.after(self.latency()));
        if let Some(until) = self.cut_until(from, node).or(not_accepted) {
            let at = until.after(self.latency());
            self.agenda.add(at, Happening::Arrival(wire, end));
            return Ok(());
        }
        if let Some(until) = self.delayed(node) {
            let at = until.after(self.chance.up_to(BACKLOG));
            self.agenda.add(at, Happening::Arrival(wire, end));
            return Ok(());
        }
        match self.wires[wire].take(end) {
            Some(WireArrival::Bytes(bytes)) => {
                self.take_bytes(wire, end, &bytes)?;
                self.act(node)
            }
            Some(WireArrival::Closed) => {
                if let Some(own) = &mut self.wires[wire].ends[end] {
                    own.connection.end_of_input();
                }
                self.take(wire, end)
            }
            None => Ok(()),
        }
    }

    /// An end learns that the wire is closed.
    pub(super) fn end_closes(&mut self, wire: WireId, end: EndIndex) -> Result<(), Broken> {
        let node = self.wires[wire].nodes[end];
        if !self.wires[wire].is_open[end] || !self.nodes[node].is_alive {
            return Ok(());
        }
        let is_closing = self.wires[wire].ends[end].as_ref().is_some_and(|own| own.protocol.is_closing());
        self.abandon(wire, end);
        let now = self.time_of(node);
        if let Some(link) = self.wires[wire].names[end] {
            self.nodes[node].wires.remove(&link);
            let is_over = self.is_known_to_have_ended(wire, 1 - end);
            let inhabitant = &mut self.nodes[node].node;
            if is_over && inhabitant.is_child(link) {
                inhabitant.ended(link, now);
            } else if !is_closing {
                inhabitant.closed(link, now);
            }
        }
        self.act(node)
    }

    /// Whether the system tells that the process at this end has ended: it does of processes of its own host. Every other wire
    /// is within one.
    fn is_known_to_have_ended(&self, wire: WireId, end: EndIndex) -> bool {
        let process = &self.nodes[self.wires[wire].nodes[end]];
        Wire::is_local(wire) && !process.is_alive && !process.is_off
    }

    /// An end looks whether it still hears the other.
    fn silence(&mut self, wire: WireId, end: EndIndex) -> Result<(), Broken> {
        let (node, other) = (self.wires[wire].nodes[end], self.wires[wire].nodes[1 - end]);
        if let Some(until) = self.delayed(node) {
            // It hears everything that has waited for it before it looks again.
            self.agenda.add(until.after(BACKLOG + LATENCY + JITTER), Happening::Silence(wire, end));
            return Ok(());
        }
        let is_silent = self.cut_until(other, node).is_some()
            || self.delayed(other).is_some()
            || self.nodes[other].is_off
            || !self.wires[wire].is_open[1 - end];
        if is_silent && self.wires[wire].is_open[end] {
            self.put_close_back(wire, end);
            return self.end_closes(wire, end);
        }
        Ok(())
    }

    /// The other end hears of it, if anything can be heard there.
    pub(super) fn put_close_back(&mut self, wire: WireId, end: EndIndex) {
        let at = self.now.after(self.latency());
        self.put(wire, 1 - end, at, WireArrival::Closed);
    }

    pub(super) fn wake(&mut self, node: usize) -> Result<(), Broken> {
        if !self.nodes[node].is_alive {
            return Ok(());
        }
        if let Some(until) = self.delayed(node) {
            self.agenda.add(until, Happening::Wake(node));
            return Ok(());
        }
        self.nodes[node].wake_at = None;
        let now = self.time_of(node);
        self.nodes[node].node.wake(now);
        self.act(node)
    }

    pub(super) fn plan_wake(&mut self, node: usize) {
        let inhabitant = &mut self.nodes[node];
        let Some(deadline) = inhabitant.node.deadline() else { return };
        let at = Time(deadline.0.saturating_sub(inhabitant.clock.as_nanos() as u64)).max(self.now);
        if inhabitant.wake_at.is_none_or(|planned| at < planned) {
            inhabitant.wake_at = Some(at);
            self.agenda.add(at, Happening::Wake(node));
        }
    }

    /// Until when a node does nothing, because it is stopped.
    pub(super) fn delayed(&self, node: usize) -> Option<Time> {
        Some(self.nodes[node].stopped_until).filter(|until| *until > self.now && self.nodes[node].is_alive)
    }

    /// What tells the times apart that the process at the other end of a link was stopped, if it is.
    fn run_time_if_stopped(&self, node: usize, link: LinkId) -> Option<u64> {
        let (wire, end) = self.nodes[node].wires.get(&link)?;
        self.delayed(self.wires[*wire].nodes[1 - end]).map(|until| until.0)
    }

    pub(super) fn latency(&mut self) -> Duration {
        LATENCY + self.chance.up_to(JITTER)
    }

    /// How long a message takes from one node to another now.
    pub(super) fn way(&mut self, from: usize, to: usize) -> Duration {
        let slowness = self.slowness(from).max(self.slowness(to));
        self.latency() * slowness + self.delay(from, to)
    }

    pub(super) fn time_of(&self, node: usize) -> Time {
        self.now.after(self.nodes[node].clock)
    }

    /// A node keeps at most a window of its own and what each member below it sent by itself; it gathers at most a window
    /// of each child, or two when it is about to hear of an acknowledgement. The front-end has at most a window of records
    /// without waves of each node that was ever its child; that is so much more that it is a bound of its own.
    fn watch_memory(&mut self, node: usize) -> Result<(), Broken> {
        let counters = self.nodes[node].node.counters();
        let bytes = counters.kept_bytes + counters.gathered_bytes + counters.log_bytes;
        self.outcome.held = self.outcome.held.max(bytes);
        let Plan { streams, synchronisations, window_waves, window_bytes, .. } = self.plan;
        let without_waves = synchronisations.iter().take(*streams).filter(|kind| !kind.has_waves()).count();
        let body = if self.plan.reduces { EXACT } else { NUMBER };
        let window = *window_waves as usize * body * (streams - without_waves);
        let (_, members) = self.plan.size();
        let records = self.nodes[node].record_bytes();
        let Plan { packet_bytes, ahead_packets, ahead_bytes, .. } = self.plan;
        let parts = if self.plan.scatters { members } else { 1 };
        let packet = packet_bytes * parts + PACKET;
        // What is ahead, and as much again that was taken and not heard of.
        let logs = LOGS + (ahead_packets * packet).min(2 * ahead_bytes + packet);
        let callers = if node == 0 { self.callers.len() } else { 0 };
        // Of streams without waves that lose nothing a member keeps a window, and the front-end one of each process.
        let lives =
            if node == 0 { RUN_SHARE * self.nodes.iter().filter(|node| node.rank.is_some()).count() } else { 0 };
        let unconfirmed = (window_bytes + NUMBER * BATCH) * without_waves;
        // What filters make of a record, each with the record's number.
        let growth = if self.plan.sifts { 2 * SIFTED_MOST } else { 1 };
        let bounds = [
            (records, growth * (window_bytes / RUN_SHARE + NUMBER * BATCH) * callers.max(lives) * without_waves),
            (bytes - records, window * (1 + members + 2 * counters.children) + logs * streams + unconfirmed),
        ];
        match bounds.into_iter().find(|(bytes, allowed)| bytes > allowed) {
            Some((bytes, allowed)) => Err(Broken::Memory { node, bytes, allowed }),
            None => Ok(()),
        }
    }

    /// Whether all waves and packets have come that can come.
    fn is_done(&self) -> bool {
        let alive = self.alive();
        let is_past = self.now > self.last_fault;
        is_past
            && alive.is_subset(&self.nodes[0].node.members())
            && self.streams.iter().all(|(stream, members)| {
                let anyone = !members.is_disjoint(&alive);
                !anyone || self.is_stream_done(*stream, &members.intersection(&alive))
            })
            && self.holders.iter().all(|(stream, agent)| {
                self.nodes[agent.0 as usize].is_alive
                    || self.closed.iter().any(|(closed, _)| closed == stream)
                    || self.model.is_state_lost(*stream, *agent)
            })
            && self.streams.iter().all(|(stream, members)| {
                let steady = members.intersection(&alive).difference(self.model.joining());
                steady.iter().all(|rank| self.model.has_packets(*stream, rank, self.plan.packets))
            })
    }

    /// Whether everything has come of a stream that can come. Without waves, what was on its way in a fault may be lost.
    fn is_stream_done(&self, stream: StreamId, alive: &RankSet) -> bool {
        match self.model.kind(stream) {
            Synchronisation::None | Synchronisation::Lossy => {
                alive.iter().all(|member| self.has_sent_all(stream, member))
            }
            _ => self.model.next(stream).0 >= self.plan.waves,
        }
    }

    pub(super) fn alive(&self) -> RankSet {
        self.nodes.iter().filter(|node| node.is_alive).filter_map(|node| node.rank).collect()
    }

    fn check_end(&mut self) -> Result<(), Broken> {
        for (stream, members) in self.streams.iter().chain(&self.closed) {
            self.model.check_contributors(*stream, members, &self.died)?;
        }
        self.check_records()?;
        self.check_clocks()?;
        self.model.check_fields()?;
        let counters = self.nodes[0].node.counters();
        self.model.check_timeouts(counters.overdue)?;
        if counters.conflicts > 0 {
            return Err(Broken::Conflicts(counters.conflicts));
        }
        let wronged = self.model.all_lost().difference(&self.died);
        if self.plan.faults.only_deaths && !wronged.is_empty() {
            return Err(Broken::GivenUp(wronged));
        }
        Ok(())
    }
}

pub(super) fn options(plan: &Plan) -> NodeOptions {
    NodeOptions {
        capacity: plan.shape.iter().map(|children| 2 * children).fold(plan.capacity, usize::max),
        window_waves: plan.window_waves,
        window_bytes: plan.window_bytes,
        ahead_packets: plan.ahead_packets,
        ahead_bytes: plan.ahead_bytes,
        unanswered: plan.unanswered,
        seed: plan.seed,
        ..NodeOptions::default()
    }
}

/// Whether a stream has a wave for each number, and every member contributes to each.
fn is_of_waves(kind: &Synchronisation) -> bool {
    matches!(kind, Synchronisation::All | Synchronisation::Timeout(_))
}

/// The nodes of a plan: the front-end, then level by level.
fn grow(plan: &Plan, transformations: &Arc<Sums>) -> Vec<Inhabitant> {
    let options = options(plan);
    let front_end = Node::front_end(options.clone(), transformations.clone());
    let mut nodes = vec![Inhabitant::new(plan.seed, front_end, None, Level(0), Ancestry::default())];
    // The ancestry that the children of each node of the level have.
    let mut parents: Vec<(usize, Ancestry)> = vec![(0, Ancestry::default())];
    let mut rank = 0;
    for (level, children) in plan.shape.iter().enumerate() {
        let is_last = level + 1 == plan.shape.len();
        let first = nodes.len();
        let mut next = Vec::new();
        for (at, (parent, above)) in parents.iter().enumerate() {
            let of_parent = first + at * children;
            let named = (of_parent..of_parent + children).take(if is_last { 0 } else { NAMED });
            let candidate =
                |node: usize, level: usize| Candidate { node: NodeId(node as u32), level: Level(level as u16) };
            let own = Ancestor {
                itself: candidate(*parent, level),
                children: named.map(|node| candidate(node, level + 1)).collect(),
            };
            let ancestry: Ancestry = std::iter::once(own).chain(above.iter().cloned()).collect();
            for child in 0..*children {
                let id = NodeId((of_parent + child) as u32);
                let own_rank = is_last.then_some(rank);
                rank += u32::from(is_last);
                let level = Level(level as u16 + 1);
                let node = Node::below(id, own_rank, level, ancestry.clone(), options.clone(), transformations.clone());
                nodes.push(Inhabitant::new(plan.seed, node, own_rank, level, ancestry.clone()));
                next.push((of_parent + child, ancestry.clone()));
            }
        }
        parents = next;
    }
    nodes
}
