//! Reports as JSON, for programs.
//!
//! The tree is a list of nodes, each behind its parent, since stacks are deeper than readers of JSON like to nest.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Process, Report, Unread};
use crate::tree::{StackNode, StackTree};

impl Report {
    /// The report for programs; `docs/command-stack.md` says what is in it.
    pub fn to_json(&self) -> Value {
        let classes = self.tree.classes().into_iter().map(|class| {
            let stacks: Vec<Vec<String>> =
                class.stacks.iter().map(|stack| stack.iter().map(ToString::to_string).collect()).collect();
            json!({ "ranks": class.ranks.to_string(), "count": class.ranks.len(), "stacks": stacks })
        });
        let classes: Vec<Value> = classes.collect();
        json!({
            "ranks": self.tree.ranks().to_string(),
            "count": self.tree.ranks().len(),
            "median_stop_us": micros(self.median_stop()),
            "longest_stop_us": micros(self.longest_stop()),
            "classes": classes,
            "tree": nodes(&self.tree),
            "processes": self.processes.iter().map(process).collect::<Vec<_>>(),
            "cut_short": self.cut_short,
        })
    }
}

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}

fn nodes(tree: &StackTree) -> Vec<Value> {
    // The numbers of the steps from the outermost to the one in hand.
    let mut path: Vec<usize> = Vec::new();
    let node = |(number, step): (usize, StackNode<'_>)| {
        path.truncate(step.depth);
        let mut entry = json!({
            "parent": path.last(),
            "function": &*step.frame.function,
            "module": &*step.frame.module,
            "ranks": step.ranks.to_string(),
            "count": step.ranks.len(),
            "here": step.here.to_string(),
        });
        if let Some(line) = &step.frame.line {
            entry["line"] = json!(&**line);
        }
        if step.threads.count() > 0 {
            let here = step.threads_here.iter();
            let here = here.map(|(thread, ranks)| json!({ "thread": thread, "ranks": ranks.to_string() }));
            entry["threads"] = json!(step.threads.count());
            entry["threads_here"] = here.collect();
        }
        path.push(number);
        entry
    };
    tree.steps().into_iter().enumerate().map(node).collect()
}

fn process((place, process): (&super::HostPid, &Process)) -> Value {
    let (host, pid) = place;
    let mut entry = json!({
        "rank": process.rank,
        "host": host,
        "pid": pid,
        "command": process.command,
        "stacks": process.stacks,
        "stopped_us": micros(process.stopped),
    });
    if let Some(note) = &process.note {
        entry["note"] = json!(note);
    }
    if let Some(Unread { kind, why, facts }) = &process.unread {
        let mut unread = json!({ "kind": kind.word(), "why": why });
        if let Some(facts) = facts {
            unread["name"] = json!(facts.name);
            unread["state"] = json!(facts.state.word());
            unread["waits_in"] = json!(facts.waits_in);
            unread["system_call"] = json!(facts.system_call);
        }
        entry["unread"] = unread;
    }
    entry
}
