//! What the user of the demo sees: beautiful in a terminal, plain in a pipe, one object for programs.

use std::fmt::Write as _;
use std::time::Duration;

use banyan_boot::RankSet;
use banyan_stack::{Frame, Report, StackTree, TextOptions, text};
use banyan_tree::NodeId;
use serde_json::{Value, json};

use crate::paint::{Paint, Style};

use super::acts::{Grown, Healed, Hung, Reduced, Tree};
use super::member;

/// What was done, as commands.
const COMMANDS: [(&str, &str); 6] = [
    ("banyan topo draw 4x16", "the tree you saw"),
    ("banyan stack --match YOUR_JOB", "what all processes of a job do; --mpi, --slurm, -w"),
    ("banyan bench tree --quick --shape 4x16", "waves a second, round trips, recovery"),
    ("banyan sim --faults 12 --members-fail", "a tree in which everything fails that can"),
    ("banyan run -n 4 -- hostname", "any command everywhere; -w HOSTS"),
    ("banyan --help", "all the rest"),
];

/// Whose functions are shown.
const MODULE: &str = "demo::member::";

pub(super) struct Story {
    paint: Paint,
    acts: u32,
}

impl Story {
    pub(super) fn new(color: bool) -> Story {
        Story { paint: Paint(color), acts: 0 }
    }

    fn heading(&mut self, text: &str) -> String {
        self.acts += 1;
        format!(
            "\n{} {}\n\n",
            self.paint.text(Style::Good, format!("{}.", self.acts)),
            self.paint.text(Style::Title, text)
        )
    }

    pub(super) fn opening(&self) -> String {
        "Banyan grows a tree of processes and lets one program talk to all of them as if they were one.\n".into()
    }

    pub(super) fn grown(&mut self, grown: &Grown) -> String {
        let agents = grown.tree.keys().filter(|node| **node != NodeId::ROOT).count();
        let title =
            format!("{} processes below {agents} agents, started and joined in {}", grown.members, shown(grown.took));
        self.heading(&title) + &self.tree(&grown.tree, &RankSet::new())
    }

    pub(super) fn hung(&mut self, hung: &Hung) -> String {
        let suspects = match &hung.suspects {
            Ok(suspects) => suspects,
            Err(why) => return self.unseen(why),
        };
        let title = format!("They run a job, and it hangs. All their stacks as one, in {}", shown(hung.took));
        let mut story = self.heading(&title);
        let options = TextOptions::default().color(self.paint.0).times(true);
        for line in text(&of_the_job(&hung.report), options).lines() {
            let _ = writeln!(story, "{}", if line.is_empty() { String::new() } else { format!("   {line}") });
        }
        let who = self.paint.text(Style::Warning, format!("rank {suspects}"));
        let _ = writeln!(story, "\n   The one to look at is {who}: everybody else waits for it.");
        story
    }

    fn unseen(&mut self, why: &str) -> String {
        let told = self.paint.text(Style::Warning, "The system does not permit to look into processes");
        self.heading("They run a job, and it hangs. Their stacks cannot be seen here")
            + &format!("   {told}: {why}\n   Where it does, this act names the rank that all others wait for.\n")
    }

    pub(super) fn reduced(&mut self, reduced: &Reduced) -> String {
        let rate = grouped((reduced.waves as f64 / reduced.took.as_secs_f64()) as u64);
        let mut story =
            self.heading(&format!("All send what they have, and the agents reduce it: {rate} waves a second"));
        let last = &reduced.last;
        let _ = writeln!(story, "   sum(cells), avg(residual), max(residual)");
        let _ = writeln!(
            story,
            "   wave {} of ranks {}: {} cells, residual {:.4} on average, {:.4} at worst (rank {})",
            grouped(reduced.waves),
            reduced.members,
            grouped(last.cells),
            last.mean,
            last.worst,
            last.who,
        );
        story
    }

    pub(super) fn healed(&mut self, healed: &Healed) -> String {
        let mut story = self.heading(&format!("Meanwhile an agent is killed: kill -9 {}", healed.agent));
        let _ = writeln!(
            story,
            "   ranks {} lost their agent and found others:\n",
            self.paint.text(Style::Warning, &healed.orphans)
        );
        story += &self.tree(&healed.tree, &healed.orphans);
        let count = &healed.count;
        let sign = if count.emitted == count.delivered { "=" } else { "≠" };
        let (style, verdict) = if count.is_whole() {
            (Style::Good, "none lost, none twice, everyone in each".to_owned())
        } else {
            (Style::Bad, format!("{} of them not as they should be, please report this", grouped(count.wrong)))
        };
        let _ = writeln!(
            story,
            "\n   {} waves, {verdict}; the longest pause was {}\n   {}",
            grouped(count.waves),
            shown(healed.pause),
            self.paint.text(
                style,
                format!("{} records emitted {sign} {} delivered", grouped(count.emitted), grouped(count.delivered))
            ),
        );
        story
    }

    pub(super) fn closing(&mut self, left: usize) -> String {
        let title = match left {
            0 => "The end: no process is left".to_owned(),
            left => format!("{left} processes are left, which must not be: please report this"),
        };
        let mut story = self.heading(&title);
        for (command, what) in COMMANDS {
            let _ = writeln!(
                story,
                "   {}{}  {what}",
                self.paint.text(Style::Label, command),
                " ".repeat(40 - command.len())
            );
        }
        story
    }

    /// The front-end, its agents, and the ranks below each; some of them stand out.
    fn tree(&self, tree: &Tree, marked: &RankSet) -> String {
        let mut story = String::from("   this program\n");
        let last = tree.keys().next_back();
        for (node, ranks) in tree {
            let branch = if Some(node) == last { "└─" } else { "├─" };
            let name = if *node == NodeId::ROOT { "itself".to_owned() } else { format!("agent {}", node.0) };
            let old = ranks.difference(marked).to_string();
            let new = ranks.intersection(marked).to_string();
            let comma = if old.is_empty() || new.is_empty() { "" } else { " and " };
            let new = if new.is_empty() { new } else { self.paint.text(Style::Warning, &new) };
            let _ = writeln!(story, "   {branch} {name:<8} ranks {old}{comma}{new}");
        }
        story
    }
}

/// The report with the functions of the job only, by their short names: how a process begins and how it waits is not
/// the user's. What is around its first function is inlined by some builds, and not by others.
fn of_the_job(report: &Report) -> Report {
    let mut tree = StackTree::new();
    for (stack, ranks, _) in report.tree.stacks() {
        let functions = stack.into_iter().filter_map(short);
        tree.add(ranks, &functions.skip_while(|frame| *frame.function != *member::FIRST).collect::<Vec<Frame>>());
    }
    let mut report = report.clone();
    report.tree = tree;
    report
}

fn short(frame: &Frame) -> Option<Frame> {
    let name = frame.function.split_once(MODULE)?.1;
    Some(Frame { function: name.into(), ..frame.clone() })
}

/// The whole story for programs.
pub(super) fn json(grown: &Grown, hung: &Hung, reduced: &Reduced, healed: &Healed, left: usize) -> Value {
    let tree = |tree: &Tree| -> Value {
        tree.iter().map(|(node, ranks)| json!({ "node": node.0, "ranks": ranks.to_string() })).collect()
    };
    json!({
        "demo": "tree",
        "grown": { "members": grown.members, "ms": milliseconds(grown.took), "tree": tree(&grown.tree) },
        "hung": {
            "ranks": hung.suspects.as_ref().ok().map(ToString::to_string),
            "unread": hung.suspects.as_ref().err(),
            "ms": milliseconds(hung.took),
            "stacks": hung.report.to_json(),
        },
        "reduced": {
            "waves": reduced.waves,
            "ms": milliseconds(reduced.took),
            "last": {
                "ranks": reduced.members.to_string(),
                "cells": reduced.last.cells,
                "mean": reduced.last.mean,
                "worst": reduced.last.worst,
                "who": reduced.last.who,
            },
        },
        "healed": {
            "killed": healed.agent,
            "orphans": healed.orphans.to_string(),
            "tree": tree(&healed.tree),
            "waves": healed.count.waves,
            "wrong": healed.count.wrong,
            "emitted": healed.count.emitted,
            "delivered": healed.count.delivered,
            "pause_ms": milliseconds(healed.pause),
        },
        "left": left,
    })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn shown(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{:.0} ms", milliseconds(time)),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

/// A number with its thousands apart.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::count::WaveTally;
    use super::*;

    #[test]
    fn that_nothing_was_lost_is_only_said_when_it_was_counted() {
        let told = |count| {
            let (orphans, tree) = (RankSet::new(), Tree::new());
            Story::new(false).healed(&Healed { agent: 7, orphans, tree, count, pause: Duration::ZERO })
        };
        assert!(told(WaveTally::new(64, 0)).contains("0 waves, none lost, none twice, everyone in each;"));
        let missing = told(WaveTally::new(64, 1));
        assert!(!missing.contains("none lost") && missing.contains("please report this"), "{missing}");
    }
}
