//! Reports as records: what hosts send each other.
//!
//! The tree is a list of nodes in the order of [`StackTree::steps`]: a node is called from the last one before it that has
//! a smaller depth. Whose stacks come through a node follows from where stacks end, so only that is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use banyan_ndr::Record;
use banyan_ranks::RankSet;

use super::{Process, Report, Unread};
use crate::frame::{Frame, MAX_FRAMES};
use crate::tree::{StackNode, StackTree, Threads};

/// Ranks that a report from elsewhere may have: a few bytes can name billions, which nobody has, and which would take
/// hours to go through.
const MAX_RANKS: u64 = 1 << 24;

/// A record that is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a report of stacks: {0}; the sender is broken")]
pub struct Malformed(&'static str);

/// A [`Report`] as it is sent. Made by `From`, and read by `TryFrom`, which checks it.
#[derive(Debug, Clone, PartialEq, Record)]
#[record(rename = "stacks")]
#[non_exhaustive]
pub struct ReportRecord {
    /// All ranks, those without any stack too.
    pub ranks: Vec<RankRange>,
    /// The merged stacks.
    pub nodes: Vec<NodeRecord>,
    /// The processes they are of, and those that could not be read.
    pub processes: Vec<ProcessRecord>,
    /// Fewer samples were taken than were asked for.
    pub cut_short: bool,
}

/// Ranks in a row.
#[derive(Debug, Clone, Copy, PartialEq, Record)]
#[record(rename = "ranks")]
pub struct RankRange {
    /// The lowest.
    pub first: u32,
    /// The highest.
    pub last: u32,
}

/// A step of stacks.
#[derive(Debug, Clone, PartialEq, Record)]
#[record(rename = "node")]
#[non_exhaustive]
pub struct NodeRecord {
    /// How many steps lead to it.
    pub depth: u32,
    /// The function, as [`Frame`] has it.
    pub function: String,
    /// Its file.
    pub module: String,
    /// Its line.
    pub line: Option<String>,
    /// The ranks with a stack that ends here.
    pub here: Vec<RankRange>,
    /// With which of their threads, if threads were asked for.
    pub threads_here: Vec<ThreadRecord>,
}

/// Threads of one number.
#[derive(Debug, Clone, PartialEq, Record)]
#[record(rename = "thread")]
#[non_exhaustive]
pub struct ThreadRecord {
    /// The number.
    pub thread: u32,
    /// The ranks they are of.
    pub ranks: Vec<RankRange>,
}

/// A [`Process`].
#[derive(Debug, Clone, PartialEq, Record)]
#[record(rename = "process")]
#[non_exhaustive]
pub struct ProcessRecord {
    /// Its host.
    pub host: String,
    /// Its number there.
    pub pid: u32,
    /// Its rank.
    pub rank: u32,
    /// Its command line.
    pub command: String,
    /// Stacks that were read of it.
    pub stacks: u64,
    /// The longest time a thread of it was stopped.
    #[record(unit = "ns")]
    pub stopped: u64,
    /// Why it was not read.
    pub unread: Option<Unread>,
    /// What else its user should know.
    pub note: Option<String>,
}

impl From<&Report> for ReportRecord {
    fn from(report: &Report) -> ReportRecord {
        ReportRecord {
            ranks: ranges(report.tree.ranks()),
            nodes: report.tree.steps().iter().map(node).collect(),
            processes: report.processes.iter().map(|((host, pid), process)| record_of(host, *pid, process)).collect(),
            cut_short: report.cut_short,
        }
    }
}

impl TryFrom<ReportRecord> for Report {
    type Error = Malformed;

    fn try_from(record: ReportRecord) -> Result<Report, Malformed> {
        let ReportRecord { ranks, nodes, processes, cut_short } = record;
        let processes: BTreeMap<_, _> = processes.into_iter().map(process_of).collect();
        Ok(Report { tree: tree(&ranks, nodes)?, processes, cut_short })
    }
}

fn ranges(ranks: &RankSet) -> Vec<RankRange> {
    ranks.ranges().map(|range| RankRange { first: *range.start(), last: *range.end() }).collect()
}

fn node(node: &StackNode<'_>) -> NodeRecord {
    let Frame { function, module, line } = node.frame;
    let threads_here = node.threads_here.iter().map(|(thread, ranks)| ThreadRecord { thread, ranks: ranges(ranks) });
    NodeRecord {
        depth: node.depth as u32,
        function: function.as_ref().into(),
        module: module.as_ref().into(),
        line: line.as_deref().map(Into::into),
        here: ranges(node.here),
        threads_here: threads_here.collect(),
    }
}

fn record_of(host: &str, pid: u32, process: &Process) -> ProcessRecord {
    let Process { rank, command, stacks, stopped, unread, note } = process.clone();
    let stopped = u64::try_from(stopped.as_nanos()).unwrap_or(u64::MAX);
    ProcessRecord { host: host.into(), pid, rank, command, stacks, stopped, unread, note }
}

fn process_of(record: ProcessRecord) -> ((String, u32), Process) {
    let ProcessRecord { host, pid, rank, command, stacks, stopped, unread, note } = record;
    ((host, pid), Process { rank, command, stacks, stopped: Duration::from_nanos(stopped), unread, note })
}

fn tree(ranks: &[RankRange], nodes: Vec<NodeRecord>) -> Result<StackTree, Malformed> {
    let mut tree = StackTree::new();
    tree.add(&set(ranks)?, &[]);
    // From the outermost function to the one in hand.
    let mut stack: Vec<Frame> = Vec::new();
    for NodeRecord { depth, function, module, line, here, threads_here } in nodes {
        let depth = depth as usize;
        if depth > stack.len() {
            return Err(Malformed("a node does not stand behind its parent"));
        }
        if depth >= MAX_FRAMES {
            return Err(Malformed("a stack is too deep"));
        }
        stack.truncate(depth);
        stack.push(Frame { function: function.into(), module: module.into(), line: line.map(Into::into) });
        let here = set(&here)?;
        if !here.is_empty() {
            tree.add(&here, &stack);
        }
        let mut threads = Threads::default();
        for ThreadRecord { thread, ranks } in &threads_here {
            threads.add(*thread, &set(ranks)?);
        }
        if threads.count() > 0 {
            tree.add_threads(&threads, &stack);
        }
    }
    match tree.ranks().len() {
        0..=MAX_RANKS => Ok(tree),
        _ => Err(Malformed("it has too many ranks")),
    }
}

fn set(ranges: &[RankRange]) -> Result<RankSet, Malformed> {
    let mut ranks = RankSet::new();
    for RankRange { first, last } in ranges {
        if first > last || u64::from(last - first) >= MAX_RANKS {
            return Err(Malformed("a range of ranks is empty or too long"));
        }
        ranks.insert_range(*first..=*last);
    }
    match ranks.len() {
        0..=MAX_RANKS => Ok(ranks),
        _ => Err(Malformed("a set has too many ranks")),
    }
}
