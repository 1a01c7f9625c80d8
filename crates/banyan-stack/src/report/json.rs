//! Reports as JSON, both ways: for programs, and for hosts to send each other.
//!
//! The tree is a list of nodes, each behind its parent, since stacks are deeper than readers of JSON like to nest.

use std::time::Duration;

use banyan_ranks::RankSet;
use serde_json::{Map, Value, json};

use super::{Kind, Process, Report, Unread};
use crate::frame::{Frame, MAX_FRAMES};
use crate::process::{Facts, State};
use crate::tree::{StackNode, StackTree, Threads};

/// Ranks that a report from elsewhere may have: a few bytes can name billions, which nobody has, and which would take
/// hours to go through.
const MAX_RANKS: u64 = 1 << 24;

/// A text that is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is no report of stacks: {0}; the sender is of another version, or broken")]
pub struct Malformed(String);

impl Report {
    /// The report for programs; `docs/command-stack.md` says what is in it.
    pub fn to_json(&self) -> Value {
        let classes = self.tree.classes().into_iter().map(|class| {
            let stacks: Vec<Vec<String>> =
                class.stacks.iter().map(|stack| stack.iter().map(ToString::to_string).collect()).collect();
            json!({ "ranks": class.ranks.to_string(), "count": class.ranks.len(), "stacks": stacks })
        });
        let classes: Vec<Value> = classes.collect();
        let mut report = self.to_short_json();
        report["count"] = json!(self.tree.ranks().len());
        report["median_stop_us"] = json!(micros(self.median_stop()));
        report["longest_stop_us"] = json!(micros(self.longest_stop()));
        report["classes"] = json!(classes);
        report
    }

    /// The report without what can be found out again from the rest: what hosts send each other.
    pub fn to_short_json(&self) -> Value {
        json!({
            "ranks": self.tree.ranks().to_string(),
            "tree": nodes(&self.tree),
            "processes": self.processes.iter().map(process).collect::<Vec<_>>(),
            "cut_short": self.cut_short,
        })
    }

    /// The report of another host, long or short.
    ///
    /// # Errors
    ///
    /// [`Malformed`] says what is wrong.
    pub fn from_json(text: &[u8]) -> Result<Report, Malformed> {
        let value: Value = serde_json::from_slice(text).map_err(|error| Malformed(error.to_string()))?;
        let mut report = Report { tree: tree(&value)?, ..Report::default() };
        report.cut_short = value["cut_short"].as_bool().unwrap_or(false);
        for entry in list(&value, "processes")? {
            let host = string(entry, "host")?.to_owned();
            report.processes.insert((host, number(entry, "pid")?), read_process(entry)?);
        }
        Ok(report)
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

fn tree(value: &Value) -> Result<StackTree, Malformed> {
    let mut tree = StackTree::new();
    tree.add(&ranks(value, "ranks")?, &[]);
    // What leads to each node, as the number of its parent, and its depth.
    let mut above: Vec<(Option<usize>, usize, Frame)> = Vec::new();
    for entry in list(value, "tree")? {
        let parent = entry["parent"].as_u64().map(|parent| parent as usize);
        let depth = match parent {
            None => 0,
            Some(parent) => above.get(parent).ok_or_else(|| Malformed("a node stands before its parent".into()))?.1 + 1,
        };
        if depth >= MAX_FRAMES {
            return Err(Malformed(format!("a stack has more than {MAX_FRAMES} frames")));
        }
        let line = entry["line"].as_str().map(Into::into);
        let (function, module) = (string(entry, "function")?.into(), string(entry, "module")?.into());
        above.push((parent, depth, Frame { function, module, line }));
        let here = ranks(entry, "here")?;
        if !here.is_empty() {
            tree.add(&here, &path(&above));
        }
        let threads = threads(entry)?;
        if threads.count() > 0 {
            tree.add_threads(&threads, &path(&above));
        }
    }
    if tree.ranks().len() > MAX_RANKS {
        return Err(Malformed(format!("it has more than {MAX_RANKS} ranks")));
    }
    Ok(tree)
}

/// The threads that end at a node.
fn threads(entry: &Value) -> Result<Threads, Malformed> {
    let mut threads = Threads::default();
    for part in entry["threads_here"].as_array().into_iter().flatten() {
        threads.add(number(part, "thread")?, &ranks(part, "ranks")?);
    }
    Ok(threads)
}

/// The frames down to the last node.
fn path(above: &[(Option<usize>, usize, Frame)]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut at = above.len().checked_sub(1);
    while let Some((parent, _, frame)) = at.and_then(|at| above.get(at)) {
        frames.push(frame.clone());
        at = *parent;
    }
    frames.reverse();
    frames
}

fn read_process(entry: &Value) -> Result<Process, Malformed> {
    let stopped = entry["stopped_us"].as_f64().unwrap_or(0.0).clamp(0.0, 1e12);
    let unread = match entry.get("unread") {
        None => None,
        Some(unread) => Some(read_unread(unread)?),
    };
    Ok(Process {
        rank: number(entry, "rank")?,
        command: string(entry, "command")?.into(),
        stacks: entry["stacks"].as_u64().unwrap_or(0),
        stopped: Duration::from_secs_f64(stopped / 1e6),
        unread,
        note: entry["note"].as_str().map(Into::into),
    })
}

fn read_unread(entry: &Value) -> Result<Unread, Malformed> {
    let kind = string(entry, "kind")?;
    let facts = entry["name"].as_str().map(|name| Facts {
        name: name.into(),
        state: State::from_word(entry["state"].as_str().unwrap_or_default()),
        waits_in: entry["waits_in"].as_str().map(Into::into),
        system_call: entry["system_call"].as_u64().and_then(|number| u32::try_from(number).ok()),
    });
    Ok(Unread {
        kind: Kind::ALL.iter().find(|(_, word)| *word == kind).map_or(Kind::Other, |(kind, _)| *kind),
        why: string(entry, "why")?.into(),
        facts,
    })
}

fn missing(name: &str) -> Malformed {
    Malformed(format!("there is no {name} where there should be"))
}

fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], Malformed> {
    value.as_object().map(Map::len).ok_or_else(|| missing("object"))?;
    value[name].as_array().map(Vec::as_slice).ok_or_else(|| missing(name))
}

fn string<'a>(value: &'a Value, name: &str) -> Result<&'a str, Malformed> {
    value[name].as_str().ok_or_else(|| missing(name))
}

fn number(value: &Value, name: &str) -> Result<u32, Malformed> {
    value[name].as_u64().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| missing(name))
}

fn ranks(value: &Value, name: &str) -> Result<RankSet, Malformed> {
    let set: RankSet = string(value, name)?.parse().map_err(|error| Malformed(format!("{name}: {error}")))?;
    if set.len() > MAX_RANKS { Err(Malformed(format!("{name}: more than {MAX_RANKS} ranks"))) } else { Ok(set) }
}
