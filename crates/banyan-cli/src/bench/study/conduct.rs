//! A study from its first run to its report, or from where it was; and what it would be.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use banyan_bench::Environment;
use banyan_bench::study::{Results, Run, shell};
use serde_json::json;

use super::directory::{Directory, finished};
use super::estimate::{estimate, told};
use super::execute::{Ended, Interruption, execute, nodes, program};
use super::plan::Plan;
use super::schedule::{Planned, Schedule};
use super::shown;
use crate::failure::{Failure, Outcome, warn};
use crate::progress::Progress;
use crate::{output, speech, status};

/// What shells add to the number of the signal that ended a command.
const SIGNALLED: i32 = 128;

/// Does what is left of a study.
pub(super) fn run(plan: &Plan, schedule: &Schedule, path: &Path, retry: bool, json: bool) -> Outcome {
    if schedule.wants_nodes() && nodes().is_none() {
        return Err(Failure::usage("{nodes} in the plan stands for the nodes of a job; start it with --submit slurm"));
    }
    let interruption = Interruption::watch().map_err(|error| Failure::system("signals", &error))?;
    let directory = Directory::open(path, plan, schedule)?;
    let mut done = finished(path, schedule)?;
    if retry {
        done.retain(|_, run| run.error().is_none());
    }
    let teller = Teller { json, count: schedule.runs.len() };
    teller.begin(plan, path, &done)?;
    if done.len() < schedule.runs.len() {
        warn_of_another_place(&done);
    }
    let mut signal = None;
    for planned in &schedule.runs {
        if done.contains_key(&planned.number) {
            continue;
        }
        signal = interruption.came();
        if signal.is_some() {
            break;
        }
        match one(planned, (done.len() + 1, teller.count), plan.deadline, &directory, &interruption)? {
            Ended::Over(run) => {
                directory.keep(&run)?;
                teller.run(planned, &run, done.len() + 1)?;
                done.insert(planned.number, *run);
            }
            Ended::Interrupted(number) => {
                signal = Some(number);
                break;
            }
        }
    }
    let runs: Vec<Run> = done.into_values().collect();
    let results = directory.publish(plan, schedule.runs.len(), &runs)?;
    teller.end(&results, path)?;
    if let Some(signal) = signal {
        warn(format_args!("interrupted with {} of {} runs done; the same command goes on", runs.len(), teller.count));
        return Ok(ExitCode::from((SIGNALLED + signal) as u8));
    }
    Ok(if results.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(status::MEMBER_FAILED) })
}

/// One run, with a line about it on a terminal: the how-manieth of how many.
fn one(
    planned: &Planned,
    (place, count): (usize, usize),
    deadline: Duration,
    directory: &Directory,
    interruption: &Interruption,
) -> Result<Ended, Failure> {
    let is_watched = std::io::stderr().is_terminal() && !speech::is_quiet();
    let mut progress = Progress::new();
    let mut tick = |took: Duration| {
        let seconds = took.as_secs();
        progress.tell(|| format!("{place} of {count}, {seconds} s: {}", planned.told()));
    };
    execute(planned, deadline, directory, interruption, is_watched.then_some(&mut tick))
}

/// Runs of two machines or two builds in one study are hard to explain afterwards.
fn warn_of_another_place(done: &BTreeMap<u32, Run>) {
    let here = Environment::observe();
    if let Some(run) = done.values().find(|run| !run.environment.is_same_place(&here)) {
        warn(format_args!(
            "run {} was made by another build or on another machine; the report will say so; for a study of this one name \
             another directory with --into",
            run.run
        ));
    }
}

/// What is told while a study runs.
struct Teller {
    json: bool,
    count: usize,
}

impl Teller {
    /// A line on standard output: an event for programs, or a text for people who want to hear how it goes.
    fn say(&self, event: serde_json::Value, text: String) -> Result<(), Failure> {
        let mut out = output::stdout_of_work();
        if self.json {
            writeln!(out, "{event}")?;
        } else if !text.is_empty() {
            writeln!(out, "{text}")?;
        }
        Ok(out.flush()?)
    }

    fn begin(&self, plan: &Plan, path: &Path, done: &BTreeMap<u32, Run>) -> Result<(), Failure> {
        let there = if done.is_empty() { String::new() } else { format!(", {} of them are there already", done.len()) };
        let text = format!("study {}: {} into {}{there}", plan.name, runs(self.count), shown(path));
        let event = json!({ "event": "begin", "study": plan.name, "directory": shown(path), "runs": self.count, "done": done.len() });
        self.say(event, if speech::is_quiet() { String::new() } else { text })
    }

    fn run(&self, planned: &Planned, run: &Run, done: usize) -> Result<(), Failure> {
        let (count, number, repetition) = (self.count, planned.number, planned.repetition);
        let what = format!("{done} of {count}: run {number}, {}, repetition {repetition}", planned.told());
        let ended = match run.error() {
            None => format!("{:.1} s", run.seconds),
            Some(error) => format!("failed: {error}"),
        };
        let event = json!({
            "event": "run", "run": run.run, "done": done, "runs": self.count, "bench": run.bench, "repetition": run.repetition,
            "parameters": run.parameters, "seconds": run.seconds, "error": run.error(), "command": run.command,
        });
        self.say(event, if speech::is_quiet() { String::new() } else { format!("{what}: {ended}") })
    }

    fn end(&self, results: &Results, path: &Path) -> Result<(), Failure> {
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
        self.say(event, text)
    }
}

fn runs(count: usize) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

/// Shows what a study would do.
pub(super) fn rehearse(plan: &Plan, schedule: &Schedule, path: &Path, json: bool) -> Outcome {
    let (program, nodes) = (program()?, nodes());
    let done = finished(path, schedule)?;
    let left = estimate(&schedule.runs, &done);
    let most = plan.deadline.as_secs_f64() * (schedule.runs.len() - done.len()) as f64;
    let mut out = output::stdout();
    if json {
        let runs: Vec<_> = schedule
            .runs
            .iter()
            .map(|run| {
                json!({
                    "run": run.number, "bench": run.bench, "repetition": run.repetition, "parameters": run.parameters,
                    "command": run.command(&program, nodes.as_deref()), "done": done.contains_key(&run.number),
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
        let state = if done.contains_key(&run.number) { "done" } else { "" };
        writeln!(out, "{:>5} {state:<4}  {}", run.number, shell(&run.command(&program, nodes.as_deref())))?;
    }
    let source = if left.is_measured { "as its earlier runs say" } else { "a guess" };
    writeln!(out, "to do: about {} ({source}), at most {} (its deadlines)", told(left.seconds), told(most))?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
