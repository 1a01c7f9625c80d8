//! What the user sees of a copy: how far it is, what went wrong, and in the end how it went.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use banyan_boot::{HostSet, LaunchError, Problem, ProblemKind};
use serde_json::{Value, json};

use super::size::size;
use super::skips::Skips;
use crate::alike::folded;
use crate::arrival;
use crate::failure::{Failure, warn};
use crate::hosts::Missing;
use crate::output::{self, Stdout};
use crate::progress::Progress;
use crate::screen::harmless;
use crate::speech::{complain, note};
use crate::status::{MEMBER_FAILED, NOT_PERMITTED, TIME_LIMIT, UNREACHABLE};

/// Letters of the bar.
const BAR: usize = 24;

/// Problems that are told of one host; the others are like them.
const TOLD: usize = 3;

/// Problems that wait to be told at most.
const UNTOLD: usize = 1024;

/// Standard output, the bar, and what is known so far.
pub(super) struct Tell {
    json: bool,
    /// Whether what has come of large files is kept.
    partial: bool,
    out: BufWriter<Stdout>,
    bar: Progress,
    begin: Instant,
    hosts: usize,
    missing: Missing,
    /// How many things went wrong, by host.
    failed: BTreeMap<String, usize>,
    /// What went wrong and was not told yet: those with one cause are told together.
    untold: Vec<Problem>,
    /// What was skipped, in which directory, and on which hosts.
    skips: BTreeMap<(PathBuf, Skips), Vec<String>>,
    /// Something went wrong on this machine.
    failed_here: bool,
    /// The system of some host, or this one, does not permit something.
    forbidden: bool,
    lost: bool,
    timed_out: bool,
    /// The exit status that a signal deserves.
    interrupted: Option<u8>,
    moved: Amount,
}

/// Bytes that were copied, and bytes that need not be.
#[derive(Clone, Copy, Default)]
pub(super) struct Amount {
    pub(super) delivered: u64,
    pub(super) had: u64,
}

impl Amount {
    pub(super) fn add(&mut self, other: Amount) {
        self.delivered = self.delivered.saturating_add(other.delivered);
        self.had = self.had.saturating_add(other.had);
    }
}

impl Tell {
    pub(super) fn new(json: bool, partial: bool, begin: Instant) -> Tell {
        Tell {
            json,
            partial,
            out: output::stdout_of_work(),
            bar: Progress::start(),
            begin,
            hosts: 0,
            missing: Missing::default(),
            failed: BTreeMap::new(),
            untold: Vec::new(),
            skips: BTreeMap::new(),
            failed_here: false,
            forbidden: false,
            lost: false,
            timed_out: false,
            interrupted: None,
            moved: Amount::default(),
        }
    }

    /// The session is there, without some hosts.
    pub(super) fn begun(&mut self, hosts: usize, missing: Missing) {
        self.hosts = hosts;
        self.missing = missing;
    }

    /// There is no session.
    pub(super) fn not_launched(&mut self, error: &LaunchError, status: u8) -> Result<(), Failure> {
        let problems: &[Problem] = match error {
            LaunchError::Problems { problems, .. } | LaunchError::TooSlow { problems, .. } => problems,
            _ => &[],
        };
        if !self.json {
            return Ok(());
        }
        self.object(&json!({
            "event": "summary",
            "hosts": 0,
            "error": error.to_string(),
            "problems": problems.iter().map(problem_json).collect::<Vec<_>>(),
            "timed_out": status == TIME_LIMIT,
            "exit_status": status,
        }))
    }

    pub(super) fn is_json(&self) -> bool {
        self.json
    }

    pub(super) fn hosts(&self) -> usize {
        self.hosts
    }

    /// How far it is: bytes that were done, of how many if that is known.
    pub(super) fn progress(&mut self, done: u64, all: Option<u64>) {
        let rate = done as f64 / self.begin.elapsed().as_secs_f64().max(1e-3);
        self.bar.tell(|| {
            let text = match all {
                Some(all) => bar(done, all, rate),
                None => format!("{} came, {}/s", size(done), size(rate as u64)),
            };
            arrival::missing().map_or(text.clone(), |missing| format!("{text}; {missing}"))
        });
    }

    pub(super) fn add(&mut self, amount: Amount) {
        self.moved.add(amount);
    }

    /// Something went wrong at a host.
    pub(super) fn problem(&mut self, problem: &Problem) -> Result<(), Failure> {
        if Missing::is_told_by(problem) {
            self.missing.note(problem);
            return if self.json { self.object(&problem_json(problem)) } else { Ok(()) };
        }
        match problem.kind {
            ProblemKind::NotPermitted => self.forbidden = true,
            ProblemKind::NotStarted | ProblemKind::Staging | ProblemKind::NoSpace => {}
            _ => self.lost = true,
        }
        let times = self.failed.entry(problem.host.clone()).or_default();
        *times += 1;
        if *times > TOLD {
            return Ok(());
        }
        if self.json {
            return self.object(&problem_json(problem));
        }
        self.untold.push(problem.clone());
        if self.untold.len() < UNTOLD { Ok(()) } else { self.tell_problems() }
    }

    /// Tells what went wrong since the last time, once for all hosts with the same cause.
    pub(super) fn tell_problems(&mut self) -> Result<(), Failure> {
        for text in folded(&std::mem::take(&mut self.untold)) {
            // Part of it was said by the host.
            self.complain(&harmless(text.as_bytes()))?;
        }
        Ok(())
    }

    /// Something was skipped in a directory, on a host or here.
    pub(super) fn skipped(&mut self, host: Option<&str>, source: &Path, skips: Skips) -> Result<(), Failure> {
        if self.json {
            let mut object = skips.to_json();
            object["event"] = "skipped".into();
            object["host"] = host.into();
            object["source"] = source.to_string_lossy().into();
            return self.object(&object);
        }
        match host {
            None => warn(skips.describe(source)),
            Some(host) => self.skips.entry((source.to_owned(), skips)).or_default().push(host.to_owned()),
        }
        Ok(())
    }

    /// Tells what hosts have skipped, once for all that have skipped the same.
    pub(super) fn tell_skips(&mut self) {
        for ((source, skips), hosts) in std::mem::take(&mut self.skips) {
            let hosts = HostSet::from_names(hosts).map(|hosts| hosts.to_string()).unwrap_or_default();
            warn(format_args!("{hosts}: {}", skips.describe(&source)));
        }
    }

    /// Something cannot be read or written on this machine.
    pub(super) fn failed_here(&mut self, kind: ProblemKind, cause: &str, remedy: &str) -> Result<(), Failure> {
        self.failed_here = true;
        self.forbidden |= kind == ProblemKind::NotPermitted;
        if self.json {
            return self.object(&problem_here(kind, cause, remedy));
        }
        self.complain(&format!("{cause}; {remedy}"))
    }

    /// The same with what came from a host, of which something is missing now.
    pub(super) fn not_stored(
        &mut self,
        host: &str,
        kind: ProblemKind,
        cause: &str,
        remedy: &str,
    ) -> Result<(), Failure> {
        *self.failed.entry(host.to_owned()).or_default() += 1;
        self.failed_here(kind, cause, remedy)
    }

    /// The bar goes, and comes again if there is still much to do: other lines are to stand alone.
    fn clear(&mut self) {
        self.bar = Progress::start();
    }

    /// Says why not everything was copied.
    fn complain(&mut self, why: &str) -> Result<(), Failure> {
        self.clear();
        self.out.flush()?;
        complain(why);
        Ok(())
    }

    /// What comes of it if the same is started again.
    fn again(&self) -> &'static str {
        if self.partial {
            "start it again to go on where it stopped"
        } else {
            "start it again: what is complete is skipped (half of a large file is kept with --partial only)"
        }
    }

    /// The user wants no more of it.
    pub(super) fn interrupted(&mut self, status: u8) -> Result<(), Failure> {
        self.interrupted = Some(status);
        if self.json {
            return Ok(());
        }
        self.complain(&format!("interrupted; {}", self.again()))
    }

    pub(super) fn timed_out(&mut self) {
        self.timed_out = true;
    }

    pub(super) fn session_lost(&mut self) {
        self.lost = true;
    }

    /// A host has not sent everything when the copy ended.
    pub(super) fn unfinished(&mut self, host: &str) {
        self.failed.entry(host.to_owned()).or_default();
    }

    pub(super) fn has_failed(&self, host: &str) -> bool {
        self.failed.contains_key(host)
    }

    /// Hosts that could not be reached.
    pub(super) fn missing(&self) -> &Missing {
        &self.missing
    }

    /// A line of results.
    pub(super) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.clear();
        writeln!(self.out, "{}", harmless(line.as_bytes()))?;
        Ok(self.out.flush()?)
    }

    /// A result for programs.
    pub(super) fn object(&mut self, object: &Value) -> Result<(), Failure> {
        writeln!(self.out, "{object}")?;
        Ok(self.out.flush()?)
    }

    /// How it went, and the exit status.
    pub(super) fn end(mut self) -> Result<u8, Failure> {
        self.tell_problems()?;
        let status = match () {
            () if self.forbidden => NOT_PERMITTED,
            () if self.timed_out => TIME_LIMIT,
            () if self.lost || self.missing.are_needed() => UNREACHABLE,
            () if self.failed_here || !self.failed.is_empty() => MEMBER_FAILED,
            () => 0,
        };
        let status = self.interrupted.unwrap_or(status);
        let seconds = self.begin.elapsed().as_secs_f64();
        if self.json {
            let summary = json!({
                "event": "summary",
                "hosts": self.hosts,
                "failed_hosts": self.failed.keys().collect::<Vec<_>>(),
                "left_out": self.missing.problems().iter().map(problem_json).collect::<Vec<_>>(),
                "delivered_bytes": self.moved.delivered,
                "had_bytes": self.moved.had,
                "timed_out": self.timed_out,
                "interrupted": self.interrupted.is_some(),
                "seconds": seconds,
                "exit_status": status,
            });
            self.object(&summary)?;
            return Ok(status);
        }
        self.clear();
        self.missing.tell();
        if self.timed_out {
            self.complain(&format!("the time limit has passed (--timeout sets it); {}", self.again()))?;
        }
        let rate = (self.moved.delivered as f64 / seconds.max(1e-3)) as u64;
        let delivered = size(self.moved.delivered);
        note(format_args!("{delivered} were delivered in {seconds:.3} s, {}/s in total", size(rate)));
        Ok(status)
    }
}

/// A line with a bar.
fn bar(done: u64, all: u64, rate: f64) -> String {
    let part = if all == 0 { 1.0 } else { (done as f64 / all as f64).min(1.0) };
    let full = (part * BAR as f64) as usize;
    let (full, empty) = ("#".repeat(full), "-".repeat(BAR - full));
    format!("[{full}{empty}] {:3.0} %  {} of {}  {}/s", part * 100.0, size(done), size(all), size(rate as u64))
}

/// A problem of this machine, like those of hosts.
fn problem_here(kind: ProblemKind, cause: &str, remedy: &str) -> Value {
    let mut object = problem_json(&Problem::new("", kind, cause, remedy));
    object["host"] = Value::Null;
    object
}

fn problem_json(problem: &Problem) -> Value {
    json!({
        "event": "problem",
        "host": problem.host,
        "kind": format!("{:?}", problem.kind),
        "cause": problem.cause,
        "remedy": problem.remedy,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_of_this_machine_has_the_fields_of_those_of_hosts() {
        let expected = json!({
            "event": "problem", "host": null, "kind": "Staging", "cause": "it is full", "remedy": "look with: df",
        });
        assert_eq!(problem_here(ProblemKind::Staging, "it is full", "look with: df"), expected);
    }

    #[test]
    fn a_bar_is_as_long_as_the_part_that_is_done() {
        assert_eq!(bar(500, 1000, 2e6), "[############------------]  50 %  500 B of 1.0 kB  2.0 MB/s");
        assert!(bar(0, 0, 0.0).starts_with("[########################] 100 %"));
        assert!(bar(9, 3, 0.0).contains("100 %"), "what grew while it was read is not more than all");
    }
}
