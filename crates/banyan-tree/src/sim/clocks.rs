//! The clocks of simulated nodes, and whether what nodes are told of each other's clocks is true.
//!
//! Each host has a clock that is up to an hour off and up to 98 millionths too fast or too slow, which changes. Most members
//! run on their agent's host, and most agents on hosts of their own. Nodes compare clocks as they do under a driver.

use std::time::Duration;

use banyan_clock::Estimate;

use super::happening::Happening;
use super::model::Broken;
use super::network::{EndIndex, WireId};
use super::world::{BACKLOG, Inhabitant, JITTER, LATENCY, World};
use crate::clocks::{ClockId, Clocks, NodeClock};
use crate::ids::{LinkId, NodeId, Time};
use crate::message::{Ancestor, Message};
use crate::node::Chance;

/// How far clocks are off at most, in nanoseconds.
const AHEAD: i64 = 3_600_000_000_000;
/// How many nanoseconds they gain or lose in a second at most; two of them together stay below what is assumed of clocks.
const GAIN: f64 = 98_000.0;
/// By how much that changes in a second at most: less than is assumed, for two clocks that both do.
const BEND: f64 = 9.0;
/// One of so many members has a clock of its own, and one of so many agents has that of its parent.
const EXCEPTIONS: usize = 4;

/// Where things go wrong one of so many words about clocks is lost. Anywhere one of so many takes longer by up to so much.
const LOST: usize = 12;
const DETOUR: usize = 4;
const LONGEST_DETOUR: Duration = Duration::from_millis(20);

/// Words about clocks that are on their way, and the luck they have.
#[derive(Debug)]
pub(super) struct ClockWords {
    chance: Chance,
    words: Vec<Option<ClockWord>>,
    free: Vec<usize>,
}

impl ClockWords {
    pub(super) fn new(seed: u64) -> ClockWords {
        ClockWords { chance: Chance::new(!seed), words: Vec::new(), free: Vec::new() }
    }
}

/// A word about clocks, and where it goes.
#[derive(Debug)]
struct ClockWord {
    wire: WireId,
    end: EndIndex,
    message: Message,
}

/// The clock of a host.
#[derive(Debug, Clone, Copy)]
pub(super) struct HostClock {
    host: u32,
    ahead: i64,
    gain: f64,
    bend: f64,
}

impl HostClock {
    /// That of the host on which a node runs.
    pub(super) fn of(seed: u64, node: NodeId, rank: Option<u32>, ancestry: &[Ancestor]) -> HostClock {
        let host = host_of(seed, node, rank.is_some(), ancestry);
        let mut chance = Chance::new(!seed ^ u64::from(host) << 32);
        let mut part = || chance.below(2_001) as f64 / 1_000.0 - 1.0;
        let (ahead, gain, bend) = (part(), part(), part());
        HostClock { host, ahead: (AHEAD as f64 * ahead) as i64, gain: GAIN * gain, bend: BEND * bend }
    }

    /// What it shows, in nanoseconds.
    fn shows(&self, now: Time) -> i64 {
        let seconds = now.0 as f64 * 1e-9;
        // The rate stays within its limits for the twenty minutes that no simulation lasts.
        let gained = self.gain * seconds + self.bend * seconds * seconds / 2.0;
        now.0.cast_signed() + self.ahead + gained as i64
    }

    fn id(&self) -> ClockId {
        ClockId { boot: [1; 16], namespace: u64::from(self.host) }
    }
}

/// The node by which its host is called: itself, or the first above it on the same one.
fn host_of(seed: u64, node: NodeId, is_member: bool, ancestry: &[Ancestor]) -> u32 {
    let is_exception = Chance::new(seed ^ u64::from(node.0) << 32).one_in(EXCEPTIONS);
    match ancestry {
        [parent, above @ ..] if is_member != is_exception => host_of(seed, parent.itself.node, false, above),
        _ => node.0,
    }
}

impl Inhabitant {
    /// What a node that has just been started knows of clocks.
    pub(super) fn fresh_clocks(node: NodeId, rank: Option<u32>, host_clock: &HostClock) -> Clocks {
        match node {
            NodeId::ROOT => Clocks::front_end(host_clock.id()),
            _ => Clocks::below(host_clock.id(), rank.is_none()),
        }
    }
}

impl World<'_, '_> {
    /// What the clock of a node's host shows.
    fn stamp(&self, node: usize) -> i64 {
        self.nodes[node].host_clock.shows(self.now)
    }

    /// A node follows to another parent, and asks it if it is time.
    pub(super) fn keep_clocks(&mut self, node: usize) {
        let (now, stamp) = (self.time_of(node), self.stamp(node));
        let Inhabitant { node: of, clocks, .. } = &mut self.nodes[node];
        if clocks.parent() != of.parent_link() {
            clocks.follow(of.parent_link(), true, now);
        }
        // Its program always wants to know.
        clocks.want();
        if clocks.is_due(now)
            && let Some((link, question)) = clocks.ask(now, stamp)
        {
            let clock = clocks.own();
            self.say_of_clocks(node, link, Message::ClockAsked { question, clock });
        }
        if let Some(at) = self.nodes[node].clocks.deadline().filter(|_| !self.nodes[node].compares) {
            self.nodes[node].compares = true;
            let at = Time(at.0.saturating_sub(self.nodes[node].clock.as_nanos() as u64)).max(self.now);
            self.agenda.add(at, Happening::Compare(node));
        }
    }

    /// A node that has a new parent looks whether it is time to ask it.
    pub(super) fn compare(&mut self, node: usize) {
        self.nodes[node].compares = false;
        if self.nodes[node].is_alive && self.delayed(node).is_none() {
            self.keep_clocks(node);
        }
    }

    /// Puts a word about clocks on its way. These ways are worse than others: words overtake each other, take longer in one
    /// direction, and are lost. So what else happens in a simulation does not depend on them.
    fn say_of_clocks(&mut self, node: usize, link: LinkId, message: Message) {
        let Some(&(wire, end)) = self.nodes[node].wires.get(&link) else { return };
        let to = self.wires[wire].nodes[1 - end];
        let slowness = self.slowness(node).max(self.slowness(to));
        let longer = self.delay(node, to);
        let ClockWords { chance, words, free } = &mut self.clock_words;
        if self.plan.faults.count > 0 && chance.one_in(LOST) {
            return;
        }
        let detour = if chance.one_in(DETOUR) { chance.up_to(LONGEST_DETOUR) } else { Duration::ZERO };
        let way = (LATENCY + chance.up_to(JITTER)) * slowness + longer + detour;
        let word = ClockWord { wire, end: 1 - end, message };
        let at = match free.pop() {
            Some(at) => {
                words[at] = Some(word);
                at
            }
            None => {
                words.push(Some(word));
                words.len() - 1
            }
        };
        self.agenda.add(self.now.after(way), Happening::Clock(at));
    }

    /// A word about clocks arrives.
    pub(super) fn clock_word(&mut self, at: usize) -> Result<(), Broken> {
        let Some(ClockWord { wire, end, .. }) = &self.clock_words.words[at] else { return Ok(()) };
        let [node, from] = [self.wires[*wire].nodes[*end], self.wires[*wire].nodes[1 - end]];
        let is_there = self.wires[*wire].is_open[*end] && self.nodes[node].is_alive;
        if let Some(until) = self.delayed(node).filter(|_| is_there) {
            let after = self.clock_words.chance.up_to(BACKLOG);
            self.agenda.add(until.after(after), Happening::Clock(at));
            return Ok(());
        }
        self.clock_words.free.push(at);
        match self.clock_words.words[at].take() {
            Some(word) if is_there && self.cut_until(from, node).is_none() => self.hear_of_clocks(&word),
            _ => Ok(()),
        }
    }

    /// A child asks, or the parent says something of clocks.
    fn hear_of_clocks(&mut self, word: &ClockWord) -> Result<(), Broken> {
        let [node, from] = [self.wires[word.wire].nodes[word.end], self.wires[word.wire].nodes[1 - word.end]];
        let (now, stamp) = (self.time_of(node), self.stamp(node));
        let Some(link) = self.wires[word.wire].names[word.end] else { return Ok(()) };
        match &word.message {
            Message::ClockAsked { question, .. } if self.nodes[node].node.is_child(link) => {
                let answer = self.nodes[node].clocks.answer(*question, stamp, stamp);
                self.say_of_clocks(node, link, Message::ClockTold(Box::new(answer)));
            }
            Message::ClockTold(answer) if self.nodes[node].clocks.parent() == Some(link) => {
                // What it knew until now held until now.
                self.check_clock(node, None)?;
                if self.nodes[node].clocks.told(answer, stamp, now).is_some() {
                    return Err(Broken::Step { node });
                }
                self.check_clock(node, Some(from))?;
                self.outcome.clocks += 1;
                self.tell_clock(node);
                self.keep_clocks(node);
            }
            // The child was let go, or the parent is another one by now.
            _ => {}
        }
        Ok(())
    }

    fn tell_clock(&mut self, node: usize) {
        let Inhabitant { node: of, clocks, wires, .. } = &mut self.nodes[node];
        let Some(news) = clocks.news() else { return };
        let children: Vec<LinkId> = wires.keys().copied().filter(|link| of.is_child(*link)).collect();
        for child in children {
            self.say_of_clocks(node, child, Message::ClockTold(Box::new(news)));
        }
    }

    /// Whether the front-end's clock, and that of the parent, stand as a node thinks.
    fn check_clock(&self, node: usize, parent: Option<usize>) -> Result<(), Broken> {
        let known = self.known_clocks(node);
        self.check_estimate(node, 0, known.front_end)?;
        match parent {
            Some(parent) if known.is_same => self.check_estimate(node, parent, Some(Estimate::own(self.stamp(node)))),
            Some(parent) => self.check_estimate(node, parent, known.of_parent),
            None => Ok(()),
        }
    }

    fn check_estimate(&self, node: usize, of: usize, estimate: Option<Estimate>) -> Result<(), Broken> {
        let Some(known) = estimate else { return Ok(()) };
        let ahead = self.stamp(of) - self.stamp(node);
        if (known.low..=known.high).contains(&ahead) {
            return Ok(());
        }
        Err(Broken::Clock { node, of, ahead, low: known.low, high: known.high })
    }

    fn known_clocks(&self, node: usize) -> NodeClock {
        self.nodes[node].clocks.known(NodeId(node as u32), self.stamp(node))
    }

    /// At the end: what nodes knew and have not been told anew still holds.
    pub(super) fn check_clocks(&mut self) -> Result<(), Broken> {
        let alive: Vec<usize> = (0..self.nodes.len()).filter(|node| self.nodes[*node].is_alive).collect();
        for node in alive {
            self.check_clock(node, None)?;
            let bound = self.known_clocks(node).front_end.map(|clock| clock.bound());
            self.outcome.clock_bound = self.outcome.clock_bound.max(bound.unwrap_or(i64::MAX));
        }
        Ok(())
    }
}
