//! The clocks of simulated nodes, and whether what nodes are told of each other's clocks is true.
//!
//! Each host has a clock that is up to an hour off and up to 98 millionths too fast or too slow, which changes. Most members
//! run on their agent's host, and most agents on hosts of their own. Nodes compare clocks as they do under a driver.

use crate::clocks::{ClockId, Clocks, NodeClock};
use crate::ids::{LinkId, NodeId, Time};
use crate::message::{Ancestor, Message};
use crate::node::Chance;
use banyan_clock::Estimate;

use super::model::Broken;
use super::network::{EndIndex, WireId};
use super::world::{Inhabitant, World};

/// How far clocks are off at most, in nanoseconds.
const AHEAD: i64 = 3_600_000_000_000;
/// How many nanoseconds they gain or lose in a second at most; two of them together stay below what is assumed of clocks.
const GAIN: f64 = 98_000.0;
/// By how much that changes in a second at most: less than is assumed, for two clocks that both do.
const BEND: f64 = 9.0;
/// One of so many members has a clock of its own, and one of so many agents has that of its parent.
const EXCEPTIONS: usize = 4;

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
            self.say_of_clocks(node, link, &Message::ClockAsked { question, clock });
        }
    }

    /// A child asks, or the parent says something of clocks.
    pub(super) fn hear_of_clocks(&mut self, wire: WireId, end: EndIndex, message: &Message) -> Result<(), Broken> {
        let [node, from] = [self.wires[wire].nodes[end], self.wires[wire].nodes[1 - end]];
        let (Some(link), now, stamp) = (self.wires[wire].names[end], self.time_of(node), self.stamp(node)) else {
            return Ok(());
        };
        match message {
            Message::ClockAsked { question, .. } if self.nodes[node].node.is_child(link) => {
                let answer = self.nodes[node].clocks.answer(*question, stamp, stamp);
                self.say_of_clocks(node, link, &Message::ClockTold(Box::new(answer)));
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
        let message = Message::ClockTold(Box::new(news));
        children.into_iter().for_each(|child| self.say_of_clocks(node, child, &message));
    }

    fn say_of_clocks(&mut self, node: usize, link: LinkId, message: &Message) {
        self.outcome.messages += 1;
        self.send(node, link, message);
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
