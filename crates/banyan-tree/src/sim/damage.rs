//! What goes wrong in the world of a simulation: who dies, is stopped or cut off, and starts again.

use std::time::Duration;

use banyan_boot::RankSet;

use super::faults::Fault;
use super::happening::Happening;
use super::model::Broken;
use super::network::{EndIndex, SILENCE, WireId};
use super::world::{Cut, Delay, Inhabitant, JOINS_WITHIN, World, options};
use crate::ids::{NodeId, Time};
use crate::node::Node;
use crate::synchronisation::Synchronisation;

/// Of the last bytes that come from a process that has died, fewer than these.
const LONGEST_PART: usize = 200;

/// Nodes below one that is stalled that are killed, at most.
const MOST_DEATHS: usize = 2;

impl World<'_, '_> {
    /// Something goes wrong.
    pub(super) fn fault(&mut self, fault: Fault) -> Result<(), Broken> {
        let now = self.now;
        (self.trace)(&|| format!("{now} fault: {fault:?}"));
        match fault {
            Fault::Kill(node) => self.kill(node),
            Fault::PowerOff(node) => self.power_off(node),
            Fault::Stop(node, long) => {
                self.nodes[node].stopped_until = self.nodes[node].stopped_until.max(now.after(long));
                self.watch_silence(node);
            }
            Fault::Stall(node, long) => {
                self.kill_some_below(node, long);
                return self.fault(Fault::Stop(node, long));
            }
            Fault::CutOneWay(from, to, long) => {
                self.cuts.push(Cut { from: Some(from), to: Some(to), until: now.after(long) });
                self.watch_silence(from);
            }
            Fault::Isolate(node, long) => {
                self.cuts.push(Cut { from: Some(node), to: None, until: now.after(long) });
                self.cuts.push(Cut { from: None, to: Some(node), until: now.after(long) });
                self.watch_silence(node);
            }
            Fault::Slow(node, factor, long) => self.nodes[node].slow = (factor, now.after(long)),
            Fault::Delay(from, to, longer, long) => {
                self.delays.push(Delay { from, to, longer, until: now.after(long) })
            }
            Fault::ClockJump(node, long) => {
                self.nodes[node].clock += long;
                return self.wake(node);
            }
        }
        Ok(())
    }

    /// Some of those below a node are killed within this time.
    fn kill_some_below(&mut self, node: usize, within: Duration) {
        let mut below: Vec<usize> = self.nodes[node].node.nodes().iter().map(|place| place.node.0 as usize).collect();
        below.sort_unstable();
        for _ in 0..MOST_DEATHS.min(below.len()) {
            let victim = below[self.chance.below(below.len())];
            let at = self.now.after(self.chance.up_to(within));
            self.last_fault = self.last_fault.max(at);
            self.agenda.add(at, Happening::Fault(Fault::Kill(victim)));
        }
    }

    fn kill(&mut self, node: usize) {
        let was_alive = self.nodes[node].is_alive;
        self.die(node);
        if was_alive && self.starts_again(node) {
            let at = self.now.after(self.chance.up_to(JOINS_WITHIN));
            self.last_fault = self.last_fault.max(at);
            self.agenda.add(at, Happening::Restart(node));
        }
        self.close_wires(node);
    }

    /// The system closes what a process has left open.
    fn close_wires(&mut self, node: usize) {
        for (wire, end) in std::mem::take(&mut self.nodes[node].wires).into_values() {
            self.lose_some(wire, 1 - end);
            self.abandon(wire, end);
            self.put_close_back(wire, end);
            self.plan_silence(wire);
        }
    }

    fn power_off(&mut self, node: usize) {
        self.die(node);
        self.nodes[node].is_off = true;
        for (wire, end) in self.nodes[node].wires.clone().into_values() {
            self.lose_some(wire, 1 - end);
            self.plan_silence(wire);
        }
    }

    fn die(&mut self, node: usize) {
        self.nodes[node].is_alive = false;
        self.died.extend(self.nodes[node].rank);
    }

    /// Starts a node again, as another process: an agent has another id then, a member is the same member.
    pub(super) fn restart(&mut self, node: usize) {
        let (level, ancestry) = self.nodes[node].origin.clone();
        let transformations = self.transformations.clone();
        let Some(rank) = self.nodes[node].rank else {
            let id = NodeId(self.nodes.len() as u32);
            let fresh = Node::below(id, None, level, ancestry.clone(), options(self.plan), transformations);
            self.nodes.push(Inhabitant::new(self.plan.seed, fresh, None, level, ancestry));
            return self.plan_wake(id.0 as usize);
        };
        let fresh = self.successor(node, rank);
        self.past.push(std::mem::replace(&mut self.nodes[node], fresh).node);
        self.plan_wake(node);
        self.agenda.add(self.now, Happening::Program(node));
    }

    /// The next process that is the same member.
    fn successor(&mut self, node: usize, rank: u32) -> Inhabitant {
        let (level, ancestry) = self.nodes[node].origin.clone();
        let life = self.lives.entry(rank).or_default();
        *life += 1;
        let id = self.nodes[node].node.id();
        let fresh =
            Node::below(id, Some(rank), level, ancestry.clone(), options(self.plan), self.transformations.clone());
        let mut fresh = Inhabitant::new(self.plan.seed, fresh.in_life(*life), Some(rank), level, ancestry);
        fresh.life = *life;
        self.model.begins_again(rank);
        fresh
    }

    /// Members were given up: others are invited to take their places, although the first may live.
    pub(super) fn invite_successors(&mut self, lost: &RankSet) {
        if !self.plan.successors || !self.are_told_apart() {
            return;
        }
        // One that was lost because another came is there.
        let lost = lost.difference(&self.nodes[0].node.members());
        for node in 0..self.nodes.len() {
            if self.nodes[node].rank.is_some_and(|rank| lost.contains(rank)) && self.is_current(node) {
                let at = self.now.after(self.chance.up_to(JOINS_WITHIN));
                self.last_fault = self.last_fault.max(at);
                self.agenda.add(at, Happening::Succeed(node));
            }
        }
    }

    /// Another process takes a member's place, beside the one that may be there.
    pub(super) fn succeed(&mut self, node: usize) {
        let Some(rank) = self.nodes[node].rank.filter(|_| self.is_current(node)) else { return };
        let fresh = self.successor(node, rank);
        self.nodes.push(fresh);
        let at = self.nodes.len() - 1;
        self.plan_wake(at);
        self.agenda.add(self.now, Happening::Program(at));
    }

    /// A process ends, because another is what it was.
    pub(super) fn leave(&mut self, node: usize) {
        self.nodes[node].is_alive = false;
        self.close_wires(node);
    }

    /// Whether no other process has taken the place of this one.
    pub(super) fn is_current(&self, node: usize) -> bool {
        let life = self.nodes[node].rank.and_then(|rank| self.lives.get(&rank)).copied();
        self.nodes[node].life == life.unwrap_or_default()
    }

    /// Whether a node that was killed starts again. What a member contributes to intervals cannot be told from what the
    /// process before it did.
    fn starts_again(&self, node: usize) -> bool {
        self.plan.restarts && (self.nodes[node].rank.is_none() || self.are_told_apart())
    }

    fn are_told_apart(&self) -> bool {
        !self.plan.synchronisations.iter().any(|kind| matches!(kind, Synchronisation::Interval(_)))
    }

    /// Of what is on its way to an end, the last part may never come.
    fn lose_some(&mut self, wire: WireId, end: EndIndex) {
        let keep = self.chance.below(self.wires[wire].arriving[end].len() + 1);
        // Also in the middle of a frame.
        let bytes = self.chance.one_in(2).then(|| self.chance.below(LONGEST_PART));
        self.wires[wire].lose(end, keep, bytes);
    }

    fn watch_silence(&mut self, node: usize) {
        for (wire, _) in self.nodes[node].wires.clone().into_values() {
            self.plan_silence(wire);
        }
    }

    fn plan_silence(&mut self, wire: WireId) {
        for end in 0..2 {
            let at = self.now.after(SILENCE + self.chance.up_to(SILENCE));
            self.agenda.add(at, Happening::Silence(wire, end));
        }
    }

    /// By how many times a node takes longer.
    pub(super) fn slowness(&self, node: usize) -> u32 {
        let (factor, until) = self.nodes[node].slow;
        if until > self.now { factor } else { 1 }
    }

    /// How much longer a message from one node to another takes, beside what it takes in any case.
    pub(super) fn delay(&mut self, from: usize, to: usize) -> Duration {
        let now = self.now;
        self.delays.retain(|delay| delay.until > now);
        let concerned = self.delays.iter().filter(|delay| delay.from == from && delay.to == to);
        concerned.map(|delay| delay.longer).sum()
    }

    /// Until when nothing passes from one node to another.
    pub(super) fn cut_until(&mut self, from: usize, to: usize) -> Option<Time> {
        let now = self.now;
        self.cuts.retain(|cut| cut.until > now);
        let concerns = |cut: &&Cut| cut.from.is_none_or(|node| node == from) && cut.to.is_none_or(|node| node == to);
        self.cuts.iter().filter(concerns).map(|cut| cut.until).max()
    }
}
