//! A report for a terminal or a page: who does the same, and the tree of all stacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use banyan_ranks::RankSet;

use super::{Branch, branches, counted, cut, harmless, quantity};
use crate::frame::Frame;
use crate::report::{HostPid, Process, Report};
use crate::tree::{Class, StackNode, Threads, direct};

/// Ranks of a line are cut behind so many letters.
const RANKS_WIDTH: usize = 24;

/// The column that says how many has at least so many letters.
const COUNTS_WIDTH: usize = 6;

/// Functions that say what a class does.
const TELLING: usize = 3;

/// Processes of one kind that are named one by one.
const NAMED: usize = 4;

/// Stacks of a class of which the innermost functions are named.
const STACKS: usize = 4;

/// How a report is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextOptions {
    /// With the colours of terminals.
    pub color: bool,
    /// With the times for which processes were stopped.
    pub times: bool,
}

banyan_ndr::setters!(TextOptions { color: bool, times: bool });

/// The report as text.
pub fn text(report: &Report, options: TextOptions) -> String {
    let (classes, threads) = (report.tree.classes(), report.tree.threads());
    let counts = quantity(report.tree.ranks().len(), threads.count()).len().max(COUNTS_WIDTH);
    let mut out = Writer { text: String::new(), color: options.color, counts };
    out.heading(report, &classes, threads.count(), options.times);
    out.classes(report, &classes, &threads);
    out.tree(report);
    out.unread(report);
    out.notes(report);
    out.text
}

struct Writer {
    text: String,
    color: bool,
    /// Letters of the column that says how many.
    counts: usize,
}

impl Writer {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// The text in a colour: `1` is bold, `33` yellow, `2` faint.
    fn paint(&self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn heading(&mut self, report: &Report, classes: &[Class<'_>], threads: u64, times: bool) {
        let hosts: std::collections::BTreeSet<&str> =
            report.processes.keys().map(|(host, _)| host.as_str()).filter(|host| !host.is_empty()).collect();
        let there: RankSet = there(report).map(|process| process.rank).collect();
        let classes = classes.iter().filter(|class| class.ranks.iter().any(|rank| there.contains(rank))).count();
        let mut heading = counted(self::there(report).count() as u64, "process", "processes");
        if !hosts.is_empty() {
            let _ = write!(heading, " on {}", counted(hosts.len() as u64, "host", "hosts"));
        }
        let stacks: u64 = report.processes.values().map(|process| process.stacks).sum();
        let read = report.processes.values().filter(|process| process.stacks > 0).count();
        if threads > 0 {
            let _ = write!(heading, ", {}", counted(threads, "thread", "threads"));
        }
        if stacks != (read as u64).max(threads) {
            let _ = write!(heading, ", {}", counted(stacks, "stack", "stacks"));
        }
        let _ = write!(heading, ", {}", counted(classes as u64, "class", "classes"));
        if times && !report.longest_stop().is_zero() {
            let [median, most] = [report.median_stop(), report.longest_stop()].map(|time| time.as_secs_f64() * 1e3);
            let _ = write!(heading, "; stopped for {median:.2} ms in the median, {most:.2} ms at most");
        }
        let heading = self.paint("1", &heading);
        self.line(&heading);
    }

    /// A line for each class: how many, who, and what they do.
    fn classes(&mut self, report: &Report, classes: &[Class<'_>], threads: &Threads) {
        self.line("");
        let width = classes.iter().map(|class| shown(&class.ranks).chars().count()).max().unwrap_or(0);
        let total = report.tree.ranks().len();
        let steps = report.tree.steps();
        for class in classes {
            let ranks = shown(&class.ranks);
            let count = class.ranks.len();
            let code = if count * super::ODD_SHARE <= total { "1;33" } else { "1" };
            let padding = " ".repeat(width - ranks.chars().count());
            let quantity = quantity(count, threads.count_of(&class.ranks));
            let who = self.paint(code, &format!("{quantity:>0$}  {ranks}", self.counts));
            let line = format!("{who}{padding}  {}{}", doing(&steps, class), self.process_of(report, &class.ranks));
            self.line(&line);
        }
    }

    /// Where to attach a debugger, if there is one process.
    fn process_of(&self, report: &Report, ranks: &RankSet) -> String {
        if ranks.len() != 1 || report.tree.ranks().len() == 1 {
            return String::new();
        }
        let place = report.processes.iter().find(|(_, process)| Some(process.rank) == ranks.first());
        place.map_or_else(String::new, |(place, _)| self.paint("2", &format!("  ({})", spelled(place))))
    }

    fn tree(&mut self, report: &Report) {
        let all = branches(&report.tree);
        if all.is_empty() {
            return;
        }
        self.line("");
        let width = widest(&all);
        for branch in &all {
            self.branch(branch, width, "", "");
        }
    }

    /// `lead` stands before the first line of a branch, `body` before the others.
    fn branch(&mut self, branch: &Branch<'_>, width: usize, lead: &str, body: &str) {
        let last = branch.frames.len() - 1;
        for (at, frame) in branch.frames.iter().enumerate() {
            let name = harmless(&frame.to_string());
            let name = match (branch.is_odd, at == last && !branch.here.is_empty()) {
                (true, _) => self.paint("33", &name),
                (false, true) => self.paint("1", &name),
                (false, false) => name,
            };
            if at > 0 {
                self.line(&format!("{:width$}  {body}{name}", "", width = self.counts + 2 + width));
                continue;
            }
            let ranks = shown(&branch.ranks);
            let padding = " ".repeat(width - ranks.chars().count());
            let code = if branch.is_odd { "1;33" } else { "1" };
            let quantity = quantity(branch.ranks.len(), branch.threads);
            let who = self.paint(code, &format!("{quantity:>0$}  {ranks}", self.counts));
            self.line(&format!("{who}{padding}  {lead}{name}"));
        }
        for (at, child) in branch.children.iter().enumerate() {
            let is_last = at + 1 == branch.children.len();
            let (mark, below) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            self.branch(child, width, &format!("{body}{mark}"), &format!("{body}{below}"));
        }
    }

    /// Processes that were not read, those with the same reason together.
    fn unread(&mut self, report: &Report) {
        let mut reasons: BTreeMap<String, Vec<(&HostPid, &Process)>> = BTreeMap::new();
        for (place, process, unread) in report.unread() {
            let facts = unread.facts.as_ref().map(|facts| format!("\n         {facts}")).unwrap_or_default();
            reasons.entry(format!("{}{facts}", unread.why)).or_default().push((place, process));
        }
        if !reasons.is_empty() {
            self.line("");
            let heading = self.paint("1", "not read:");
            self.line(&heading);
        }
        for (why, processes) in reasons {
            let ranks: RankSet = processes.iter().map(|(_, process)| process.rank).collect();
            let mut named: Vec<String> = processes.iter().take(NAMED).map(|(place, _)| spelled(place)).collect();
            if processes.len() > NAMED {
                named.push("…".into());
            }
            let who = self.paint("1;33", &format!("{:6}  {}", processes.len(), shown(&ranks)));
            let mut lines = why.lines().map(harmless);
            self.line(&format!("{who}  ({}): {}", named.join(", "), lines.next().unwrap_or_default()));
            lines.for_each(|line| self.line(&line));
        }
    }

    fn notes(&mut self, report: &Report) {
        let mut notes: BTreeMap<&str, RankSet> = BTreeMap::new();
        for process in report.processes.values() {
            if let Some(note) = &process.note {
                notes.entry(note).or_default().insert(process.rank);
            }
        }
        for (note, ranks) in notes {
            self.line("");
            self.line(&format!("{}: {}", shown(&ranks), harmless(note)));
        }
    }
}

/// Processes that are, or were, there; others have only been asked for.
fn there(report: &Report) -> impl Iterator<Item = &Process> {
    report.processes.values().filter(|process| process.is_there())
}

fn shown(ranks: &RankSet) -> String {
    cut(&ranks.to_string(), RANKS_WIDTH)
}

fn spelled((host, pid): &HostPid) -> String {
    if host.is_empty() { format!("pid {pid}") } else { format!("{} pid {pid}", harmless(host)) }
}

/// What a class does: where its stack parts from those of others, and where it ends; or the innermost function of each of
/// its stacks.
fn doing(steps: &[StackNode<'_>], class: &Class<'_>) -> String {
    let name = |frame: &&Frame| harmless(&frame.to_string());
    match &class.stacks[..] {
        [] => "not read".into(),
        [stack] => {
            let innermost = stack.len().saturating_sub(TELLING);
            let own = shared_depth(steps, stack, class.ranks.len()).min(stack.len().saturating_sub(1));
            let telling = if own == 0 { &stack[innermost..] } else { &stack[own..] };
            match telling {
                [first, second, _, .., last] => format!("{} → {} → … → {}", name(first), name(second), name(last)),
                short => short.iter().map(name).collect::<Vec<_>>().join(" → "),
            }
        }
        stacks => {
            let mut telling: Vec<String> =
                stacks.iter().filter_map(|stack| stack.last()).take(STACKS).map(name).collect();
            if stacks.len() > STACKS {
                telling.push("…".into());
            }
            format!("{} stacks: {}", stacks.len(), telling.join(", "))
        }
    }
}

/// How many steps of a stack more ranks take than these.
fn shared_depth(steps: &[StackNode<'_>], stack: &[&Frame], ranks: u64) -> usize {
    let (mut from, mut end) = (0, steps.len());
    for (depth, frame) in stack.iter().enumerate() {
        match direct(steps, from, end).find(|at| steps[*at].frame == *frame) {
            Some(at) if steps[at].ranks.len() > ranks => (from, end) = (at + 1, steps[at].end),
            _ => return depth,
        }
    }
    stack.len()
}

fn widest(branches: &[Branch<'_>]) -> usize {
    let widths = branches.iter().map(|branch| shown(&branch.ranks).chars().count().max(widest(&branch.children)));
    widths.max().unwrap_or(0)
}
