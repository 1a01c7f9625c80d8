//! What happens in a round, from its seed: the same seed always makes the same plan.

use std::fmt;
use std::time::Duration;

/// When processes are disturbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Phase {
    /// While agents and members are being started.
    Launch,
    /// While waves flow.
    Waves,
    /// While the network ends.
    End,
    /// While waves flow, and it is the front-end itself.
    FrontEnd,
}

impl Phase {
    /// The phase of this name, as `cargo xtask chaos --phase` has it.
    pub(crate) fn named(name: &str) -> Option<Phase> {
        [Phase::Launch, Phase::Waves, Phase::End, Phase::FrontEnd].into_iter().find(|phase| phase.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Phase::Launch => "launch",
            Phase::Waves => "waves",
            Phase::End => "end",
            Phase::FrontEnd => "front-end",
        }
    }
}

/// Which process of an agent's or a member's is disturbed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Role {
    /// The process of an agent that is a node of the tree.
    Worker,
    /// The process of an agent that starts members and watches over the worker.
    Keeper,
    /// A member.
    Member,
}

/// What is done to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Disturbance {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Terminate,
    /// SIGSTOP, and SIGCONT after this time.
    Stop(Duration),
}

/// One process is disturbed once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// Before this wave is asked for; in a launch or at an end, when so many milliseconds have passed.
    pub(crate) at: u64,
    pub(crate) role: Role,
    /// Which of those that there are, modulo their number.
    pub(crate) which: usize,
    pub(crate) disturbance: Disturbance,
}

/// A round.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) phase: Phase,
    pub(crate) shape: &'static str,
    /// Links over TCP alone, or Unix sockets and shared memory.
    pub(crate) only_tcp: bool,
    pub(crate) faults: Vec<Fault>,
}

/// At most 32 members, each of which has a bit of a sum.
const SHAPES: [&str; 6] = ["1x6", "2x4", "4x4", "2x2x2", "2x3x2", "3x2x4"];

/// Waves in which faults happen.
pub(crate) const DISTURBED_WAVES: u64 = 60;

impl Plan {
    /// The plan of a seed, for one phase or for whichever the seed says.
    pub(crate) fn new(seed: u64, phase: Option<Phase>) -> Plan {
        let mut chance = Chance(mix(seed));
        let drawn = match chance.below(8) {
            0 => Phase::Launch,
            1 => Phase::End,
            2 => Phase::FrontEnd,
            _ => Phase::Waves,
        };
        let phase = phase.unwrap_or(drawn);
        let shape = SHAPES[chance.below(SHAPES.len() as u64) as usize];
        let only_tcp = chance.below(3) == 0;
        let mut faults: Vec<Fault> = (0..=chance.below(5)).map(|_| chance.fault()).collect();
        faults.sort_by_key(|fault| fault.at);
        Plan { seed, phase, shape, only_tcp, faults }
    }

    /// The command that repeats it.
    pub(crate) fn again(&self) -> String {
        format!("cargo xtask chaos --rounds 1 --seed {} --phase {}", self.seed, self.phase.name())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let links = if self.only_tcp { "TCP" } else { "Unix sockets and shared memory" };
        write!(f, "seed {}: {:?} of {} over {links};", self.seed, self.phase, self.shape)?;
        for Fault { at, role, which, disturbance } in &self.faults {
            write!(f, " at {at} {disturbance:?} {role:?} {which};")?;
        }
        Ok(())
    }
}

fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Numbers that look random and follow from the seed (SplitMix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0) % limit
    }

    fn fault(&mut self) -> Fault {
        let role = [Role::Worker, Role::Worker, Role::Keeper, Role::Member][self.below(4) as usize];
        let disturbance = match self.below(4) {
            0 => Disturbance::Kill,
            1 => Disturbance::Terminate,
            _ => Disturbance::Stop(Duration::from_millis(50 + self.below(6_000))),
        };
        // Often several at the same time.
        let at = self.below(6) * (DISTURBED_WAVES / 6);
        Fault { at, role, which: self.below(1 << 16) as usize, disturbance }
    }
}
