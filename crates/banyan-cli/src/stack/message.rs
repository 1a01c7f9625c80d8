//! What front-end and members of `banyan stack` say to each other: JSON in records of one field.

use std::time::Duration;

use banyan_ndr::Record;
use banyan_stack::{Choice, Found, MpiJob, SamplerOptions, Target, machine, pattern};
use serde_json::{Value, json};

/// Asks for the processes of a host: a choice.
pub(super) const FIND: u32 = 1;
/// Asks for the stacks of processes: an order.
pub(super) const TAKE: u32 = 2;

/// The only record.
#[derive(Record)]
pub(super) struct Text {
    pub(super) text: String,
}

/// What a member is to do: whose stacks to take, and how.
pub(super) struct Order {
    /// The host, as the front-end calls it.
    pub(super) host: String,
    pub(super) targets: Vec<Target>,
    pub(super) options: SamplerOptions,
}

/// A choice as text.
pub(super) fn choice_text(choice: &Choice) -> String {
    match choice {
        Choice::Pids(pids) => json!({ "pids": pids }),
        Choice::Matching(regex) => json!({ "match": regex.as_str() }),
        Choice::SlurmJob(job) => json!({ "slurm": job }),
        Choice::MpiJob(MpiJob { launcher, machine, home }) => {
            json!({ "mpi": { "launcher": launcher, "machine": machine, "home": home } })
        }
        _ => Value::Null,
    }
    .to_string()
}

/// The choice of a text.
pub(super) fn choice(text: &str) -> Option<Choice> {
    let value: Value = serde_json::from_str(text).ok()?;
    let (kind, what) = value.as_object()?.iter().next()?;
    match kind.as_str() {
        "pids" => Some(Choice::Pids(what.as_array()?.iter().filter_map(number).collect())),
        "match" => pattern(what.as_str()?).ok(),
        "slurm" => Some(Choice::SlurmJob(what.as_str()?.into())),
        "mpi" => Some(Choice::MpiJob(MpiJob {
            launcher: number(&what["launcher"])?,
            machine: what["machine"].as_str()?.into(),
            home: what["home"].as_str().map(Into::into),
        })),
        _ => None,
    }
}

/// What a host has found.
pub(super) struct Answer {
    /// The machine it is on: hosts may share one, and its processes.
    pub(super) machine: String,
    pub(super) found: Vec<Found>,
}

impl Answer {
    pub(super) fn new(found: Vec<Found>) -> Answer {
        Answer { machine: machine(), found }
    }

    pub(super) fn text(&self) -> String {
        let one = |it: &Found| {
            let Found { pid, rank, command, on_this_host, .. } = it;
            json!({ "pid": pid, "rank": rank, "command": command, "on_this_host": on_this_host })
        };
        let found: Vec<Value> = self.found.iter().map(one).collect();
        json!({ "machine": self.machine, "found": found }).to_string()
    }

    pub(super) fn parse(text: &str) -> Option<Answer> {
        let value: Value = serde_json::from_str(text).ok()?;
        let one = |it: &Value| {
            Some(Found {
                pid: number(&it["pid"])?,
                rank: number(&it["rank"]),
                command: it["command"].as_str()?.into(),
                on_this_host: it["on_this_host"].as_bool()?,
            })
        };
        let found = value["found"].as_array()?.iter().map(one).collect::<Option<Vec<Found>>>()?;
        Some(Answer { machine: value["machine"].as_str()?.into(), found })
    }
}

impl Order {
    pub(super) fn text(&self) -> String {
        let SamplerOptions { threads, lines, python, all_frames, samples, every, patience, limit, within } =
            self.options;
        let targets: Vec<Value> =
            self.targets.iter().map(|it| json!({ "pid": it.pid, "rank": it.rank, "command": it.command })).collect();
        let [every, patience] = [every, patience].map(|time| time.as_micros() as u64);
        let [limit, within] = [limit, within].map(|time| time.map(|time| time.as_micros() as u64));
        json!({
            "host": self.host, "targets": targets, "threads": threads, "lines": lines, "python": python,
            "all_frames": all_frames, "samples": samples, "every_us": every, "patience_us": patience, "limit_us": limit,
            "within_us": within,
        })
        .to_string()
    }

    pub(super) fn parse(text: &str) -> Option<Order> {
        let value: Value = serde_json::from_str(text).ok()?;
        let target = |it: &Value| {
            Some(Target {
                pid: number(&it["pid"])?,
                rank: number(&it["rank"])?,
                command: it["command"].as_str()?.into(),
            })
        };
        let options = SamplerOptions {
            threads: value["threads"].as_bool()?,
            lines: value["lines"].as_bool()?,
            python: value["python"].as_bool()?,
            all_frames: value["all_frames"].as_bool()?,
            samples: number(&value["samples"])?,
            every: Duration::from_micros(value["every_us"].as_u64()?),
            patience: Duration::from_micros(value["patience_us"].as_u64()?),
            limit: value["limit_us"].as_u64().map(Duration::from_micros),
            within: value["within_us"].as_u64().map(Duration::from_micros),
        };
        let targets = value["targets"].as_array()?.iter().map(target).collect::<Option<Vec<Target>>>()?;
        Some(Order { host: value["host"].as_str()?.into(), targets, options })
    }
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}
