//! What goes wrong in a simulation, and when.

use std::time::Duration;

use super::network::SILENCE;
use super::programs::LONG_REST;
use crate::ids::Time;
use crate::node::Chance;

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A process is killed: its links are closed by its system.
    Kill(usize),
    /// A host loses power: nobody is told.
    PowerOff(usize),
    /// A process is stopped for some time.
    Stop(usize, Duration),
    /// An inner node is stopped for some time, and some of those below it are killed meanwhile.
    Stall(usize, Duration),
    /// Nothing comes from one node to another for some time.
    CutOneWay(usize, usize, Duration),
    /// Nothing passes between a node and everyone else for some time.
    Isolate(usize, Duration),
    /// A node's clock jumps forward: all its waits seem over.
    ClockJump(usize, Duration),
    /// A node takes so many times as long for everything, for some time.
    Slow(usize, u32, Duration),
    /// What one node sends to another takes so much longer, for some time.
    Delay(usize, usize, Duration, Duration),
}

/// How much goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultPlan {
    /// How many faults there are.
    pub count: usize,
    /// They happen between the start and this time.
    pub within: Duration,
    /// Whether members are hit too, or only inner nodes.
    pub hits_members: bool,
    /// Whether nodes only die, or are also stopped, cut off and so on.
    pub only_deaths: bool,
    /// Whether nodes and links are also slow, unless nodes only die.
    pub slows: bool,
    /// Whether inner nodes are also stopped while some of those below them die, unless nodes only die.
    pub stalls: bool,
}

banyan_ndr::setters!(FaultPlan {
    count: usize,
    within: Duration,
    hits_members: bool,
    only_deaths: bool,
    slows: bool,
    stalls: bool,
});

/// A slow node takes at most so many times as long: for a message a twentieth of a second, and its program rests for up to half
/// a minute.
const SLOWEST: usize = 100;

/// A slow link takes at most so much longer: less than the silence after which it is given up.
const LONGEST_DELAY: Duration = Duration::from_secs(2);

impl Fault {
    /// How long it lasts.
    pub(super) fn lasts(&self) -> Duration {
        match *self {
            Fault::Kill(_) | Fault::PowerOff(_) | Fault::ClockJump(..) => Duration::ZERO,
            Fault::Stop(_, long) | Fault::Stall(_, long) => long,
            Fault::CutOneWay(_, _, long) | Fault::Isolate(_, long) => long,
            // A program that is slow may have begun to rest just before the end.
            Fault::Slow(_, factor, long) => long + LONG_REST * factor,
            Fault::Delay(_, _, longer, long) => long + longer,
        }
    }
}

impl FaultPlan {
    /// Nothing goes wrong.
    pub const NONE: FaultPlan = FaultPlan {
        count: 0,
        within: Duration::ZERO,
        hits_members: false,
        only_deaths: true,
        slows: false,
        stalls: false,
    };

    /// The faults of a seed, in the order of time. Node 0 is the front-end, which does not fail; inner nodes come next.
    pub(super) fn draw(&self, inner: usize, nodes: usize, chance: &mut Chance) -> Vec<(Time, Fault)> {
        let victims = if self.hits_members { nodes } else { inner };
        if victims == 0 {
            return Vec::new();
        }
        let mut faults: Vec<(Time, Fault)> = Vec::new();
        let mut at = Time(0).after(chance.up_to(self.within));
        while faults.len() < self.count {
            // Faults come in bursts: one right after the other, while the tree is healing.
            if chance.one_in(2) {
                at = Time(0).after(chance.up_to(self.within));
            }
            let victim = 1 + chance.below(victims);
            faults.push((at, self.fault(victim, inner, nodes, chance)));
            at = at.after(chance.up_to(Duration::from_millis(20)));
        }
        faults.sort_by_key(|(at, _)| *at);
        faults
    }

    fn fault(&self, victim: usize, inner: usize, nodes: usize, chance: &mut Chance) -> Fault {
        // Mostly shorter than the front-end waits for someone, but not always.
        let longest = if chance.one_in(4) { 25 } else { 6 };
        let long = chance.up_to(Duration::from_secs(longest));
        if self.stalls && !self.only_deaths && chance.one_in(2) {
            // So long that those around it go on without it, before it is back or about then.
            return Fault::Stall(1 + chance.below(inner), SILENCE + chance.up_to(2 * SILENCE));
        }
        let kinds = if self.slows { 11 } else { 7 };
        match chance.below(if self.only_deaths { 2 } else { kinds }) {
            0 => Fault::Kill(victim),
            1 => Fault::PowerOff(victim),
            2 | 3 => Fault::Stop(victim, long),
            4 => Fault::CutOneWay(victim, chance.below(nodes + 1), long),
            5 => Fault::Isolate(victim, long),
            6 => Fault::ClockJump(victim, long),
            7 | 8 => Fault::Slow(victim, 2 + chance.below(SLOWEST) as u32, long),
            _ => Fault::Delay(victim, chance.below(nodes + 1), chance.up_to(LONGEST_DELAY), long),
        }
    }
}
