//! Topologies in a word: `4x16`, `fanout:16:1000`, `knomial:3:64`, …

use std::fmt;
use std::str::FromStr;

use banyan_hosts::HostSet;

use super::error::excerpt;
use super::{Topology, TopologyError, TopologyProblem, balanced};

/// How a topology is made. Numbers of members are exact: what is counted is what answers.
///
/// | written | is |
/// | --- | --- |
/// | `4x16`, `8x8x8`, `8^3` | level widths: 4 agents with 16 members each; two levels of 8 agents, the lower with 8 members each |
/// | `flat:64`, `64` | all members below the front-end |
/// | `fanout:16:1000` | balanced, no node with more than 16 children, as few levels as that allows |
/// | `depth:3:1000` | balanced, 3 levels, with as few children a node as that allows |
/// | `knomial:3:64`, `binomial:64` | k-nomial (binomial is k = 2); the leaves are the members |
/// | `hosts:16:8` | 8 members on each host under its agent; agents in a tree of fan-out 16 |
/// | `hosts:16:2800:700` | the same, with as many agents on a host as needed for 700 members each |
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spec {
    /// Children of each node, level by level; the last are members.
    Widths(Vec<u32>),
    /// Balanced, within a fan-out.
    FanOut {
        /// Children of a node at most; at least 2.
        fan_out: u32,
        /// How many members.
        members: u32,
    },
    /// Balanced, with so many levels.
    Depth {
        /// Levels below the front-end.
        depth: u32,
        /// How many members.
        members: u32,
    },
    /// The k-nomial tree with so many leaves.
    KNomial {
        /// At least 2.
        k: u32,
        /// How many members.
        members: u32,
    },
    /// Members under the agents of their hosts; see [`Topology::of_hosts`].
    Hosts {
        /// Agents below a node at most.
        fan_out: u32,
        /// Members of each host.
        members: u32,
        /// Members of an agent at most; without it each host has one agent.
        per_agent: Option<u32>,
    },
}

/// A number with its meaning and the smallest value that makes sense.
type Bounded = (u32, &'static str, u32);

impl Spec {
    /// The topology, on no particular hosts.
    pub fn build(&self) -> Result<Topology, TopologyError> {
        if let Some((number, what, least)) = self.numbers().into_iter().find(|(number, _, least)| number < least) {
            let example = self.example();
            return Err(TopologyProblem::BadNumber { text: number.to_string(), what, least, example }.into());
        }
        Ok(match self {
            Spec::Widths(widths) => balanced::of_widths(widths),
            Spec::FanOut { fan_out, members } => balanced::of_fan_out(*fan_out, *members),
            Spec::Depth { depth, members } => balanced::of_depth(*depth, *members),
            Spec::KNomial { k, members } => balanced::of_k_nomial(*k, *members),
            Spec::Hosts { .. } => Err(TopologyProblem::NeedsHosts),
        }?)
    }

    /// The topology, laid over hosts; see [`Topology::on_hosts`].
    pub fn build_on(&self, hosts: &HostSet) -> Result<Topology, TopologyError> {
        let Spec::Hosts { fan_out, members, per_agent } = self else { return Ok(self.build()?.on_hosts(hosts)) };
        if hosts.is_empty() {
            return Err(TopologyProblem::NeedsHosts.into());
        }
        let distribution: Vec<(&str, u32)> = hosts.iter().map(|host| (host, *members)).collect();
        Topology::of_hosts(&distribution, *fan_out, per_agent.unwrap_or(*members))
    }

    fn numbers(&self) -> Vec<Bounded> {
        const MEMBERS: &str = "number of members";
        match self {
            Spec::Widths(widths) => widths.iter().map(|width| (*width, "width of a level", 1)).collect(),
            Spec::FanOut { fan_out, members } => vec![(*fan_out, "fan-out", 2), (*members, MEMBERS, 1)],
            Spec::Depth { depth, members } => vec![(*depth, "depth", 1), (*members, MEMBERS, 1)],
            Spec::KNomial { k, members } => vec![(*k, "k", 2), (*members, MEMBERS, 1)],
            Spec::Hosts { fan_out, members, per_agent } => {
                let per_agent = per_agent.map(|per_agent| (per_agent, "number of members of an agent", 1));
                let numbers = [Some((*fan_out, "fan-out", 1)), Some((*members, MEMBERS, 1)), per_agent];
                numbers.into_iter().flatten().collect()
            }
        }
    }

    fn example(&self) -> &'static str {
        match self {
            Spec::Widths(_) => "4x16",
            Spec::FanOut { .. } => "fanout:16:1000",
            Spec::Depth { .. } => "depth:2:1000",
            Spec::KNomial { .. } => "knomial:3:64",
            Spec::Hosts { .. } => "hosts:16:8",
        }
    }

    /// The specification of a kind with these numbers, if it takes as many.
    fn of_kind(kind: &str, numbers: &[u32]) -> Option<Spec> {
        Some(match (kind, numbers) {
            ("flat", [members]) => Spec::Widths(vec![*members]),
            ("fanout", [fan_out, members]) => Spec::FanOut { fan_out: *fan_out, members: *members },
            ("depth", [depth, members]) => Spec::Depth { depth: *depth, members: *members },
            ("knomial", [k, members]) => Spec::KNomial { k: *k, members: *members },
            ("binomial", [members]) => Spec::KNomial { k: 2, members: *members },
            ("hosts", [fan_out, members, rest @ ..]) if rest.len() < 2 => {
                Spec::Hosts { fan_out: *fan_out, members: *members, per_agent: rest.first().copied() }
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::Widths(widths) => match widths[..] {
                [members] => write!(f, "flat:{members}"),
                _ => f.write_str(&widths.iter().map(u32::to_string).collect::<Vec<_>>().join("x")),
            },
            Spec::FanOut { fan_out, members } => write!(f, "fanout:{fan_out}:{members}"),
            Spec::Depth { depth, members } => write!(f, "depth:{depth}:{members}"),
            Spec::KNomial { k: 2, members } => write!(f, "binomial:{members}"),
            Spec::KNomial { k, members } => write!(f, "knomial:{k}:{members}"),
            Spec::Hosts { fan_out, members, per_agent: None } => write!(f, "hosts:{fan_out}:{members}"),
            Spec::Hosts { fan_out, members, per_agent: Some(at_most) } => {
                write!(f, "hosts:{fan_out}:{members}:{at_most}")
            }
        }
    }
}

impl FromStr for Spec {
    type Err = TopologyError;

    fn from_str(text: &str) -> Result<Spec, TopologyError> {
        let unknown = || TopologyProblem::UnknownSpec(excerpt(text)).within(text, 0);
        let spec = match text.split_once(':') {
            Some((kind, numbers)) => {
                let start = kind.len() + 1;
                Spec::of_kind(kind, &split(text, start, numbers, ':')?).ok_or_else(unknown)?
            }
            None if !text.starts_with(|first: char| first.is_ascii_digit()) => return Err(unknown()),
            None => match text.split_once('^') {
                None => Spec::Widths(split(text, 0, text, 'x')?),
                Some((width, levels)) => {
                    let (width, levels_at) = (number(text, 0, width)?, width.len() + 1);
                    let levels = number(text, levels_at, levels)?;
                    if levels > super::MAX_DEPTH {
                        return Err(TopologyProblem::TooDeep.within(text, levels_at));
                    }
                    Spec::Widths(vec![width; levels as usize])
                }
            },
        };
        spec.check(text)?;
        Ok(spec)
    }
}

impl Spec {
    /// Refuses numbers that are too small, at their place in the text.
    fn check(&self, text: &str) -> Result<(), TopologyError> {
        let numbers = self.numbers();
        if numbers.is_empty() {
            return Err(TopologyProblem::Empty.within(text, 0));
        }
        match numbers.into_iter().find(|(number, _, least)| number < least) {
            None => Ok(()),
            Some((number, what, least)) => {
                let problem =
                    TopologyProblem::BadNumber { text: number.to_string(), what, least, example: self.example() };
                Err(problem.within(text, 0))
            }
        }
    }
}

/// The numbers between separators, at `offset` in `text`.
fn split(text: &str, mut offset: usize, numbers: &str, separator: char) -> Result<Vec<u32>, TopologyError> {
    let mut found = Vec::new();
    for digits in numbers.split(separator) {
        found.push(number(text, offset, digits)?);
        offset += digits.len() + 1;
        if found.len() > super::MAX_DEPTH as usize {
            return Err(TopologyProblem::TooDeep.within(text, offset - 1));
        }
    }
    Ok(found)
}

fn number(text: &str, offset: usize, digits: &str) -> Result<u32, TopologyError> {
    // A sign is no part of a count, though `parse` takes one.
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_plain);
    number.ok_or_else(|| {
        let text_there = excerpt(digits);
        TopologyProblem::BadNumber { text: text_there, what: "count", least: 1, example: "4x16 or fanout:16:1000" }
            .within(text, offset)
    })
}
