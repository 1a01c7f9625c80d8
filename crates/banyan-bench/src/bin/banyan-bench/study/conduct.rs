//! A study from its first run to its report, or from where it was; and what it would be.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use banyan_bench::study::{Results, Run, shell};
use serde_json::json;

use super::directory::{Directory, finished};
use super::estimate::{estimate, told};
use super::execute::{Ended, Runner, nodes, program};
use super::interruption::Interruption;
use super::plan::Plan;
use super::schedule::{Planned, Schedule};
use super::shown;
use banyan_cli::failure::{Failure, Outcome, cause, warn};
use banyan_cli::progress::Progress;
use banyan_cli::screen::{harmless, harmless_text};
use banyan_cli::{output, speech, status};

/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Does what is left of a study.
pub(super) fn run(plan: &Plan, schedule: &Schedule, path: &Path, retry: bool, json: bool) -> Outcome {
    if schedule.wants_nodes() && nodes().is_none() {
        return Err(Failure::usage("{nodes} in the plan stands for the nodes of a job; start it with --submit slurm"));
    }
    let interruption = Interruption::watch().map_err(|error| Failure::system("signals", &error))?;
    let directory = Directory::open(path, plan, schedule)?;
    let runner = Runner::new(plan.deadline, &directory, &interruption)?;
    // What is done once more stays among what is over until it is: an interruption finds it there.
    let mut over = finished(path, schedule)?;
    let left = left(schedule, &over, retry);
    let teller = Teller { json, count: schedule.runs.len(), is_deaf: Cell::new(false) };
    let mut done = teller.count - left.len();
    teller.begin(plan, path, done);
    if !left.is_empty() {
        warn_of_another_place(&over, &runner);
    }
    let mut signal = None;
    for planned in left {
        signal = interruption.came();
        if signal.is_some() {
            break;
        }
        match one(planned, (done + 1, teller.count), &runner)? {
            Ended::Over(run) => {
                directory.keep(&run)?;
                done += 1;
                teller.run(planned, &run, done);
                over.insert(planned.number, *run);
            }
            Ended::Interrupted(number) => {
                signal = Some(number);
                break;
            }
        }
    }
    let runs: Vec<Run> = over.into_values().collect();
    let results = directory.publish(plan, teller.count, &runs)?;
    teller.end(&results, path);
    if let Some(signal) = signal {
        warn(format_args!("interrupted with {done} of {} runs done; the same command goes on", teller.count));
        return Ok(ExitCode::from((SIGNALLED + signal) as u8));
    }
    Ok(if results.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(status::MEMBER_FAILED) })
}

/// The runs that are to be done: those that are not over, and if wanted those that failed.
fn left<'a>(schedule: &'a Schedule, over: &BTreeMap<u32, Run>, retry: bool) -> Vec<&'a Planned> {
    let is_left = |planned: &&Planned| match over.get(&planned.number) {
        Some(run) => retry && run.error().is_some(),
        None => true,
    };
    schedule.runs.iter().filter(is_left).collect()
}

/// One run, with a line about it on a terminal: the how-manieth of how many.
fn one(planned: &Planned, (place, count): (usize, usize), runner: &Runner<'_>) -> Result<Ended, Failure> {
    let is_watched = std::io::stderr().is_terminal() && !speech::is_quiet();
    let mut progress = Progress::start();
    let mut tick = |took: Duration| {
        let seconds = took.as_secs();
        let what = harmless(planned.told().as_bytes());
        progress.tell(|| format!("{place} of {count}, {seconds} s: {what}"));
    };
    runner.run(planned, is_watched.then_some(&mut tick))
}

/// Runs of two machines or two builds in one study are hard to explain afterwards.
fn warn_of_another_place(over: &BTreeMap<u32, Run>, runner: &Runner<'_>) {
    let here = runner.environment();
    if let Some(run) = over.values().find(|run| !run.environment.is_same_place(&here)) {
        warn(format_args!(
            "run {} was made by another build, from another checkout or on another machine; the report will say so; for a \
             study of this one name another directory with --into",
            run.run
        ));
    }
}

/// What is told while a study runs.
struct Teller {
    json: bool,
    count: usize,
    /// Standard output takes nothing any more, and it was said.
    is_deaf: Cell<bool>,
}

impl Teller {
    /// A line on standard output: an event for programs, or a text for people who want to hear how it goes. A terminal
    /// that is gone or a disk that is full is no reason to end a study.
    fn say(&self, event: serde_json::Value, text: &str) {
        let line = if self.json { event.to_string() } else { harmless_text(text) };
        if line.is_empty() || self.is_deaf.get() {
            return;
        }
        let mut out = output::stdout_of_work();
        if let Err(error) = writeln!(out, "{line}").and_then(|()| out.flush()) {
            self.is_deaf.set(true);
            warn(format_args!("standard output cannot be written ({}); the study goes on", cause(&error)));
        }
    }

    fn begin(&self, plan: &Plan, path: &Path, done: usize) {
        let there = if done == 0 { String::new() } else { format!(", {done} of them are there already") };
        let text = format!("study {}: {} into {}{there}", plan.name, runs(self.count), shown(path));
        let event =
            json!({ "event": "begin", "study": plan.name, "directory": shown(path), "runs": self.count, "done": done });
        self.say(event, if speech::is_quiet() { "" } else { &text });
    }

    fn run(&self, planned: &Planned, run: &Run, done: usize) {
        let (count, number, repetition) = (self.count, planned.number, planned.repetition);
        let what = format!("{done} of {count}: run {number}, {}, repetition {repetition}", planned.told());
        let ended = match run.error() {
            None => format!("{:.1} s", run.seconds),
            Some(error) => format!("failed: {error}"),
        };
        let text = format!("{what}: {ended}");
        let event = json!({
            "event": "run", "run": run.run, "done": done, "runs": self.count, "bench": run.bench, "repetition": run.repetition,
            "parameters": run.parameters, "seconds": run.seconds, "error": run.error(), "command": run.command,
        });
        self.say(event, if speech::is_quiet() { "" } else { &text });
    }

    fn end(&self, results: &Results, path: &Path) {
        let failed = match results.failed.len() {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let text = format!(
            "{} of {} runs{failed}, {} figures: {}",
            results.runs,
            self.count,
            results.figures.len(),
            shown(&path.join("report.html"))
        );
        let event = json!({
            "event": "end", "study": results.study, "directory": shown(path), "runs": self.count, "done": results.runs,
            "failed": results.failed, "figures": results.figures.len(), "report": shown(&path.join("report.html")),
        });
        self.say(event, &text);
    }
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

/// Shows what a study would do.
pub(super) fn rehearse(plan: &Plan, schedule: &Schedule, path: &Path, retry: bool, json: bool) -> Outcome {
    let (program, nodes) = (program()?, nodes());
    let over = finished(path, schedule)?;
    let left = left(schedule, &over, retry);
    let most = plan.deadline.as_secs_f64() * left.len() as f64;
    let left = estimate(&left, &over);
    let state = |planned: &Planned| match over.get(&planned.number) {
        None => "",
        Some(run) if run.error().is_some() => "failed",
        Some(_) => "done",
    };
    let mut out = output::stdout();
    if json {
        let runs: Vec<_> = schedule
            .runs
            .iter()
            .map(|run| {
                json!({
                    "run": run.number, "bench": run.bench, "repetition": run.repetition, "parameters": run.parameters,
                    "command": run.command(&program, nodes.as_deref()), "done": state(run) == "done",
                    "failed": state(run) == "failed",
                })
            })
            .collect();
        let object = json!({
            "study": plan.name, "directory": shown(path), "runs": runs, "seconds": left.seconds,
            "is_measured": left.is_measured, "at_most_seconds": most,
        });
        writeln!(out, "{object}")?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let repetitions = plan.repetitions;
    let configurations = match plan.configurations.len() {
        1 => "1 configuration".to_owned(),
        count => format!("{count} configurations"),
    };
    writeln!(
        out,
        "study {}: {} ({configurations}, {repetitions} times), into {}",
        plan.name,
        runs(schedule.runs.len()),
        shown(path)
    )?;
    for run in &schedule.runs {
        let command = harmless_text(&shell(&run.command(&program, nodes.as_deref())));
        writeln!(out, "{:>5} {:<6}  {command}", run.number, state(run))?;
    }
    let source = if left.is_measured { "as its earlier runs say" } else { "a guess" };
    writeln!(out, "to do: about {} ({source}), at most {} (its deadlines)", told(left.seconds), told(most))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
