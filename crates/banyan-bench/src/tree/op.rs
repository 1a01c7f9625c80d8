//! What is measured, with its unit, what Banyan promises and what MRNet was measured at.

use std::fmt;
use std::str::FromStr;

/// What a tree does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// From nothing until every member has said hello.
    Instantiate,
    /// An integer to every member, and the sum of their answers.
    RoundTrip,
    /// Members send integers as fast as they are taken.
    Waves,
    /// Members send arrays of a megabyte of doubles, which are added element by element.
    ArraySum,
    /// Arrays of a megabyte to every member.
    Broadcast,
    /// From an agent's being killed until waves flow again.
    Recovery,
    /// What an inner process holds while waves of integers flow.
    Memory,
}

/// A word that names no operation.
#[derive(Debug, thiserror::Error)]
#[error("{0}: no such operation; there are instantiate, round_trip, waves, array_sum, broadcast, recovery and memory")]
pub struct UnknownOp(String);

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// At most so many times what the floor takes.
    TimesFloor(f64),
}

impl Op {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Op; 7] =
        [Op::Instantiate, Op::RoundTrip, Op::Waves, Op::ArraySum, Op::Broadcast, Op::Recovery, Op::Memory];

    /// Its name in rows and options.
    pub fn name(self) -> &'static str {
        match self {
            Op::Instantiate => "instantiate",
            Op::RoundTrip => "round_trip",
            Op::Waves => "waves",
            Op::ArraySum => "array_sum",
            Op::Broadcast => "broadcast",
            Op::Recovery => "recovery",
            Op::Memory => "memory",
        }
    }

    /// What its figures count.
    pub fn unit(self) -> &'static str {
        match self {
            Op::Instantiate | Op::Recovery => "ms",
            Op::RoundTrip => "µs",
            Op::Waves => "waves/s",
            Op::ArraySum | Op::Broadcast => "GB/s",
            Op::Memory => "MB",
        }
    }

    /// For people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Op::Instantiate => "starting the tree, until every member has said hello",
            Op::RoundTrip => "an integer to all members and the sum of their answers, median",
            Op::Waves => "pipelined waves of one integer, summed",
            Op::ArraySum => "1 MB arrays of doubles summed element by element, all members together",
            Op::Broadcast => "1 MB arrays to all members, all members together",
            Op::Recovery => "an agent killed: the longest pause between pipelined waves, none of which is lost",
            Op::Memory => "what the largest inner process holds, with the text it shares with others",
        }
    }

    pub(super) fn target(self, shape: &str) -> Option<Target> {
        Some(match (self, shape) {
            (Op::Instantiate, "4x16") => Target::AtMost(120.0),
            (Op::Instantiate, "16x16") => Target::AtMost(500.0),
            (Op::RoundTrip, _) => Target::TimesFloor(1.5),
            (Op::Waves, "4x16") => Target::AtLeast(100_000.0),
            (Op::ArraySum, "4x16") => Target::AtLeast(3.0),
            (Op::Broadcast, "4x16" | "8x8" | "1x64") => Target::AtLeast(4.0),
            (Op::Recovery, _) => Target::AtMost(100.0),
            (Op::Memory, "1x64") => Target::AtMost(10.0),
            _ => return None,
        })
    }

    /// What MRNet did on a machine of this kind (two processors, Linux), in the same unit. Quoted, not measured here.
    pub(super) fn mrnet(self, shape: &str) -> Option<&'static str> {
        Some(match (self, shape) {
            (Op::Instantiate, "1x16") => "42-46",
            (Op::Instantiate, "1x64") => "260-303",
            (Op::Instantiate, "4x16") => "361",
            (Op::Instantiate, "16x16") => "2100",
            (Op::RoundTrip, "1x16") => "1070-1280",
            (Op::RoundTrip, "1x64") => "6300-7500",
            (Op::RoundTrip, "4x16") => "8000",
            (Op::RoundTrip, "16x16") => "50000",
            (Op::Waves, "1x16") => "5200-8300",
            (Op::Waves, "1x64") => "920-1160",
            (Op::Waves, "4x16") => "1090",
            (Op::Waves, "16x16") => "350-480",
            (Op::ArraySum, "4x16") => "0.296",
            (Op::Broadcast, "4x16") => "2.25",
            (Op::Recovery, "4x16") => "sums stay wrong",
            (Op::Memory, _) => "14-20",
            _ => return None,
        })
    }
}

impl Target {
    /// Whether it is met by Banyan's figure beside the floor's.
    pub(super) fn is_met(self, banyan: f64, floor: Option<f64>) -> bool {
        match self {
            Target::AtMost(most) => banyan <= most,
            Target::AtLeast(least) => banyan >= least,
            Target::TimesFloor(times) => floor.is_some_and(|floor| banyan <= times * floor),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::AtMost(most) => write!(f, "≤ {most}"),
            Target::AtLeast(least) => write!(f, "≥ {least}"),
            Target::TimesFloor(times) => write!(f, "≤ {times} x floor"),
        }
    }
}

impl FromStr for Op {
    type Err = UnknownOp;

    fn from_str(text: &str) -> Result<Op, UnknownOp> {
        Op::ALL.into_iter().find(|op| op.name() == text).ok_or_else(|| UnknownOp(text.into()))
    }
}
