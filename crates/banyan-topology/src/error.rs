//! What can be wrong with a topology: where, what, and what to write instead.

use std::fmt;

pub use banyan_hosts::Position;
use banyan_hosts::Problem as HostProblem;

use super::limits::{MAX_DEPTH, MAX_NODES, MAX_TEXT_BYTES};

/// Nodes of a cycle that are named.
const NAMED: usize = 8;

/// Characters of a wrong text that an error shows.
const SHOWN: usize = 40;

/// Why there is no topology.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct TopologyError {
    /// Where in the text, if there is one.
    pub at: Option<Position>,
    /// What is wrong.
    pub problem: TopologyProblem,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{at}: {}", self.problem),
            None => write!(f, "{}", self.problem),
        }
    }
}

impl From<TopologyProblem> for TopologyError {
    fn from(problem: TopologyProblem) -> TopologyError {
        TopologyError { at: None, problem }
    }
}

impl TopologyProblem {
    /// The problem at the byte `offset` of `text`.
    pub(super) fn within(self, text: &str, offset: usize) -> TopologyError {
        TopologyError { at: Some(position(text, offset)), problem: self }
    }
}

/// The line and the character of a byte.
pub(super) fn position(text: &str, offset: usize) -> Position {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
        column: 1 + before[line_start..].chars().count(),
    }
}

/// What is wrong with a topology, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TopologyProblem {
    /// A specification of no known kind.
    #[error(
        "{0:?} is not a topology; write 4x16, flat:64, fanout:16:1000, depth:2:1000, knomial:3:64, binomial:64 or hosts:16:8"
    )]
    UnknownSpec(String),
    /// A number of a specification is not one, or too small for what it means.
    #[error("{text:?} is not a {what}, which is a number of at least {least}; write for example {example}")]
    BadNumber {
        /// What stands there.
        text: String,
        /// What the number means.
        what: &'static str,
        /// The smallest that makes sense.
        least: u32,
        /// A specification that is right.
        example: &'static str,
    },
    /// A specification that is made for hosts, and has none.
    #[error(
        "hosts:… hangs members under the agents of their hosts, and no host is given; name hosts, or write for example 4x16"
    )]
    NeedsHosts,
    /// No member.
    #[error("there is no member; a topology has a front-end and at least one member below it")]
    Empty,
    /// More nodes than [`MAX_NODES`].
    #[error("more than {MAX_NODES} nodes; is a count right?")]
    TooManyNodes,
    /// More levels than [`MAX_DEPTH`].
    #[error("more than {MAX_DEPTH} levels below the front-end; give the agents more children each")]
    TooDeep,
    /// More text than [`MAX_TEXT_BYTES`].
    #[error("longer than {MAX_TEXT_BYTES} bytes; is it a topology?")]
    TooMuchText,
    /// A line that begins with something else than a role.
    #[error(
        "{0:?} is not a role; a line is front-end, agent or member, then a count, then `on` and hosts, as in: agents 2 on node[1-4]"
    )]
    UnknownRole(String),
    /// Something that has no place behind a role.
    #[error(
        "{0:?} is not understood here; behind the role stand a count, then `on` and hosts, as in: agents 2 on node[1-4]"
    )]
    UnexpectedWord(String),
    /// A count that is none.
    #[error("{0:?} is not a count of nodes; write a number of at least 1")]
    BadCount(String),
    /// `on` without hosts.
    #[error("`on` without hosts; write them behind it, as in: agents on node[1-4]")]
    MissingHosts,
    /// Hosts that make no set.
    #[error("{0}")]
    Hosts(HostProblem),
    /// An operator in a set of hosts.
    #[error("`{0}` in the hosts of a topology; write the hosts that are meant, without operators")]
    HostOperator(char),
    /// A host that is not one of those given.
    #[error("host {0:?} is not one of the given hosts; add it to them, or place the node elsewhere")]
    UnknownHost(String),
    /// A tab before a line.
    #[error("a tab before the line, whose width is not known; indent with spaces")]
    Tab,
    /// A line indented like none of those it could belong to.
    #[error("the line is indented by {found} spaces, and none above it that it could stand beside is; use {suggested}")]
    Indentation {
        /// How far it is.
        found: usize,
        /// How far the nearest line is that it could stand beside.
        suggested: usize,
    },
    /// The first line is not the front-end.
    #[error("a topology begins with its front-end; write `front-end` on a line of its own before this one")]
    NoFrontEnd,
    /// A second root.
    #[error("a second tree; a topology has one front-end, and everything else is indented below it")]
    SecondRoot,
    /// A front-end below something.
    #[error("a front-end below another node; only the first line is one, write agent")]
    FrontEndBelow,
    /// A member with something below it.
    #[error("a node below a member, which has none; write agent in line {line} instead of member")]
    BelowMember {
        /// The line of the member.
        line: usize,
    },
    /// An agent without anything below it.
    #[error("an agent without members below it has nothing to do; indent members below it, or write member")]
    IdleAgent,
    /// Not `host:index`.
    #[error("{0:?} is not a process; write host:index, as in node1:0")]
    BadProcess(String),
    /// Something else where an arrow must stand.
    #[error("expected `=>` behind {parent}, found {found}; write: {parent} => child:0 child:1 ;")]
    MissingArrow {
        /// The process before.
        parent: String,
        /// What stands there.
        found: String,
    },
    /// An arrow without a process before it.
    #[error("`{0}` without a process before it; write: parent:0 => child:0 child:1 ;")]
    MissingParent(&'static str),
    /// An arrow without a process behind it.
    #[error("{0} => leads nowhere; write its children behind the arrow, or leave the line out")]
    MissingChildren(String),
    /// A statement that does not end.
    #[error("the children of {0} do not end; write ; behind the last of them")]
    MissingSemicolon(String),
    /// A process that is its own ancestor.
    #[error("{} is a cycle; a tree has none: remove one of these edges", cycle(.0))]
    Cycle(Vec<String>),
    /// A process below two others.
    #[error("{node} has two parents, {first} (line {line}) and {second}; leave it below one of them")]
    TwoParents {
        /// The process.
        node: String,
        /// The parent it has.
        first: String,
        /// Where that was said.
        line: usize,
        /// The other.
        second: String,
    },
    /// The same edge twice.
    #[error("{parent} => {child} stands already in line {line}; remove one of the two")]
    DuplicateEdge {
        /// The upper process.
        parent: String,
        /// The lower process.
        child: String,
        /// Where it was said first.
        line: usize,
    },
    /// A process that the root does not reach.
    #[error("{node} cannot be reached from the front-end {root}; write it as a child of some process")]
    Unreachable {
        /// The topmost process of the part that hangs in the air.
        node: String,
        /// The root.
        root: String,
    },
}

impl TopologyProblem {
    /// A word for programs.
    pub fn kind(&self) -> &'static str {
        use TopologyProblem as P;
        match self {
            P::UnknownSpec(_) | P::BadNumber { .. } | P::NeedsHosts => "specification",
            P::Empty => "empty",
            P::TooManyNodes => "too many nodes",
            P::TooDeep => "too deep",
            P::TooMuchText => "too long",
            P::UnknownHost(_) => "unknown host",
            P::Hosts(_) | P::HostOperator(_) | P::MissingHosts => "hosts",
            P::Cycle(_) => "cycle",
            P::TwoParents { .. } => "two parents",
            P::DuplicateEdge { .. } => "duplicate edge",
            P::Unreachable { .. } | P::SecondRoot => "unreachable",
            P::IdleAgent | P::BelowMember { .. } | P::FrontEndBelow | P::NoFrontEnd => "role",
            _ => "syntax",
        }
    }
}

/// `a:0 => b:0 => a:0`, with dots for what is too much.
fn cycle(nodes: &[String]) -> String {
    let mut shown: Vec<&str> = nodes.iter().take(NAMED).map(String::as_str).collect();
    if nodes.len() > NAMED {
        shown.push("…");
    }
    shown.extend(nodes.first().map(String::as_str));
    shown.join(" => ")
}

/// As much of a wrong text as is worth showing.
pub(super) fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(SHOWN).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
