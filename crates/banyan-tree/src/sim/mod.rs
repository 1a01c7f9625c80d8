//! Whole trees in one process, from a seed: virtual time, and everything that can go wrong between machines.
//!
//! The nodes are the real ones, and so are both ends of their links; only sockets, clocks and programs are played. While a simulation runs, and at its end, it is
//! checked against a model: every wave exactly once, in order, the sum of exactly those who are in it, with everyone who
//! was never given up; every packet once and in order; memory and numbers of children within their bounds; the true offset of clocks within the
//! bounds of what nodes think of it; and no standstill: once nothing goes wrong any more, one wave follows the other as soon as everyone had the time to find out what has
//! happened. The same seed gives the same run on every machine.
//!
//! ```
//! use banyan_tree::sim::{FaultPlan, Plan, simulate};
//!
//! let plan = Plan::default().shape(vec![4, 4]).seed(7).waves(20);
//! let outcome = simulate(&plan, &mut |_| {})?;
//! assert_eq!(outcome.waves, 20);
//! # Ok::<(), banyan_tree::sim::Failure>(())
//! ```

mod clocks;
mod crowding;
mod damage;
mod faults;
mod happening;
mod model;
mod network;
mod programs;
mod progress;
mod records;
mod reduction;
mod sum;
mod traffic;
mod world;

use std::time::Duration;

pub use faults::{Fault, FaultPlan};
pub use model::Broken;

use world::World;

use crate::synchronisation::Synchronisation;

/// What to simulate.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// Children of the front-end, children of each of these, and so on; the last are members.
    pub shape: Vec<usize>,
    /// Everything that is left to chance follows from this.
    pub seed: u64,
    /// Waves of each stream.
    pub waves: u64,
    /// Packets that the front-end sends on each stream.
    pub packets: u64,
    /// Streams; the first has all members, others have some.
    pub streams: usize,
    /// How the streams are synchronised, one after the other; all streams behind these wait for everyone.
    pub synchronisations: Vec<Synchronisation>,
    /// Whether the first stream is reduced by the filters that users have: a sum of integers, and an exact one of floats.
    pub reduces: bool,
    /// Whether the filters of streams without waves make none or several records of some.
    pub sifts: bool,
    /// Whether the filter of the last stream fails in some waves, at all nodes or only below the front-end.
    pub has_failing_filter: bool,
    /// Whether the last stream is closed half way, and another opened in its place.
    pub reopens: bool,
    /// Whether every second packet has a part for each member.
    pub scatters: bool,
    /// Whether every third packet is for some members only.
    pub chooses: bool,
    /// Whether a member contributes to a wave only when it has got the packet with its number, and the front-end sends few
    /// packets before the first of them is answered.
    pub answers: bool,
    /// Bytes of each packet, or of each member's part of it.
    pub packet_bytes: usize,
    /// Packets that the front-end may be ahead of the slowest member, and bytes of them.
    pub ahead_packets: usize,
    /// See [`ahead_packets`](Self::ahead_packets).
    pub ahead_bytes: usize,
    /// Whether small frames between nodes of one host go through memory that they share.
    pub shares_memory: bool,
    /// Members that join when the streams are open.
    pub joining: usize,
    /// Whether nodes that were killed are started again.
    pub restarts: bool,
    /// Whether another process takes the place of each member that is given up, which may live and come back.
    pub successors: bool,
    /// How long a member may hold a wave up, if there is a limit.
    pub unanswered: Option<Duration>,
    /// What goes wrong.
    pub faults: FaultPlan,
    /// Waves that a member may be ahead of the front-end.
    pub window_waves: u64,
    /// Bytes that a node may be ahead of its parent on a stream without waves.
    pub window_bytes: usize,
    /// Children that a node takes, unless there is nobody else.
    pub capacity: usize,
    /// The front-end takes what has come only once in this time.
    pub front_end_pause: Duration,
    /// Members contribute to one wave of each stream in this time, all at about the same moment; otherwise as fast as they may.
    pub pace: Option<Duration>,
}

banyan_ndr::setters!(Plan {
    shape: Vec<usize>,
    seed: u64,
    waves: u64,
    packets: u64,
    streams: usize,
    synchronisations: Vec<Synchronisation>,
    reduces: bool,
    sifts: bool,
    has_failing_filter: bool,
    reopens: bool,
    scatters: bool,
    chooses: bool,
    answers: bool,
    packet_bytes: usize,
    ahead_packets: usize,
    ahead_bytes: usize,
    shares_memory: bool,
    joining: usize,
    restarts: bool,
    successors: bool,
    unanswered: impl Into<Option<Duration>>,
    faults: FaultPlan,
    window_waves: u64,
    window_bytes: usize,
    capacity: usize,
    front_end_pause: Duration,
    pace: impl Into<Option<Duration>>,
});

/// So many that no stream of a simulation fills them, unless it is asked for fewer.
pub const WINDOW_BYTES: usize = 4 << 20;

/// As short as packets can be.
pub const PACKET_BYTES: usize = 8;

/// Packets that the front-end may be ahead, unless another number is chosen, and so many bytes that these come first.
pub const AHEAD_PACKETS: usize = 16;
/// See [`AHEAD_PACKETS`].
pub const AHEAD_BYTES: usize = 4 << 20;

impl Default for Plan {
    fn default() -> Plan {
        Plan {
            shape: vec![4, 16],
            seed: 0,
            waves: 50,
            packets: 10,
            streams: 1,
            synchronisations: Vec::new(),
            reduces: false,
            sifts: false,
            has_failing_filter: false,
            reopens: false,
            scatters: false,
            chooses: false,
            answers: false,
            packet_bytes: PACKET_BYTES,
            ahead_packets: AHEAD_PACKETS,
            ahead_bytes: AHEAD_BYTES,
            shares_memory: false,
            joining: 0,
            restarts: false,
            successors: false,
            unanswered: None,
            faults: FaultPlan::NONE,
            window_waves: 64,
            window_bytes: WINDOW_BYTES,
            capacity: 32,
            front_end_pause: Duration::ZERO,
            pace: None,
        }
    }
}

impl Plan {
    /// The command that runs this again.
    pub fn command(&self) -> String {
        let shape = self.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        let FaultPlan { count, within, hits_members, only_deaths, slows, stalls } = self.faults;
        let unanswered = self.unanswered.unwrap_or_default().as_millis();
        let within = within.as_millis();
        let Plan { seed, waves, packets, streams, window_waves, .. } = self;
        let synchronisations = self.synchronisations.iter().map(|kind| format!(" --synchronisation '{kind}'"));
        let synchronisations: String = synchronisations.collect();
        let flags = [
            (hits_members, " --members-fail".into()),
            (only_deaths, " --only-deaths".into()),
            (self.reduces, " --reduce".into()),
            (self.sifts, " --sift".into()),
            (slows, " --slow".into()),
            (stalls, " --stall".into()),
            (unanswered > 0, format!(" --unanswered {unanswered}")),
            (self.has_failing_filter, " --failing-filter".into()),
            (self.reopens, " --reopen".into()),
            (self.restarts, " --restart".into()),
            (self.successors, " --successors".into()),
            (self.scatters, " --scatter".into()),
            (self.chooses, " --choose".into()),
            (self.answers, " --answer".into()),
            (self.packet_bytes != PACKET_BYTES, format!(" --packet-bytes {}", self.packet_bytes)),
            (self.ahead_packets != AHEAD_PACKETS, format!(" --ahead-packets {}", self.ahead_packets)),
            (self.ahead_bytes != AHEAD_BYTES, format!(" --ahead-bytes {}", self.ahead_bytes)),
            (self.shares_memory, " --shared-memory".into()),
            (self.joining > 0, format!(" --joining {}", self.joining)),
            (self.window_bytes != WINDOW_BYTES, format!(" --window-bytes {}", self.window_bytes)),
            (self.pace.is_some(), format!(" --pace {}", self.pace.unwrap_or_default().as_millis())),
            (!self.front_end_pause.is_zero(), format!(" --pause {}", self.front_end_pause.as_millis())),
        ];
        let flags: String = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.as_str()).collect();
        format!(
            "banyan sim --shape {shape} --seed {seed} --waves {waves} --packets {packets} --streams {streams} \
             --window {window_waves} --faults {count} --within {within}{flags}{synchronisations}"
        )
    }

    /// Inner nodes and members.
    pub fn size(&self) -> (usize, usize) {
        let mut level = 1;
        let mut all = 0;
        for children in &self.shape {
            level *= children;
            all += level;
        }
        (all - level, level)
    }
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// Members there were.
    pub members: usize,
    /// Inner nodes there were.
    pub inner: usize,
    /// Waves delivered, of all streams, and records of those without waves.
    pub waves: u64,
    /// Messages between nodes.
    pub messages: u64,
    /// How often a node found another parent.
    pub moves: u64,
    /// Members that were given up.
    pub lost: u64,
    /// Contributions that came twice or too late.
    pub late: u64,
    /// Records of streams without waves that did not come, as far as the front-end knows.
    pub dropped: u64,
    /// Records of streams without waves of which filters made nothing.
    pub filtered: u64,
    /// The most children a node had.
    pub degree: usize,
    /// The most bytes a node held.
    pub held: usize,
    /// How often a node was told of clocks.
    pub clocks: u64,
    /// At the end, the greatest bound of what nodes knew of the front-end's clock, in nanoseconds.
    pub clock_bound: i64,
    /// Virtual time.
    pub time: Duration,
}

/// A rule was broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("seed {seed}, at {at:?}: {broken}")]
#[non_exhaustive]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// When.
    pub at: Duration,
    /// Which rule.
    pub broken: Broken,
}

/// Runs a simulation; `trace` gets a line for everything that happens.
///
/// # Errors
/// If a rule was broken.
pub fn simulate(plan: &Plan, trace: &mut dyn FnMut(&dyn Fn() -> String)) -> Result<Outcome, Failure> {
    let mut world = World::new(plan, trace);
    world.run().map_err(|broken| Failure { seed: plan.seed, at: Duration::from_nanos(world.now().0), broken })
}
