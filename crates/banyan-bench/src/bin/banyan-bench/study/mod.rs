//! `banyan bench PLAN`: a whole study without hands, and what came of two of them side by side.
//!
//! A plan ([`plan`]) names benches and lists of their options; what is asked of each bench is checked by the command's own
//! arguments ([`options`]). The cross product of the lists, repeated, is the schedule ([`schedule`]). Each run is a process
//! of its own ([`execute`]), this very program with the arguments that a person would give, and what it leaves is kept in
//! the directory of the study ([`directory`]) as one file that is there as a whole or not at all. Where a study was ended,
//! by whatever, it goes on ([`conduct`]). Figures, statistics and the report are those of `banyan_bench::study`.

mod compare;
mod conduct;
mod directory;
mod estimate;
mod execute;
mod interruption;
mod options;
mod plan;
mod schedule;
mod submit;

use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::benches::Bench;
use crate::predict::Predict;
use banyan_bench::launch::discard_places;
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::limit::Limit;
use banyan_cli::manual::Manual;
use banyan_cli::speech::Speech;
use plan::Plan;
use schedule::Schedule;
use submit::Submission;

/// Measure Banyan beside its alternatives
///
/// Run one bench, or a study that a plan describes: benches, shapes and sizes, repeated. Each run is recorded with its
/// environment and its command. The directory of the study has the results as JSON, CSV and records, and a report in HTML.
/// A study that was interrupted resumes when it is started again.
#[derive(Parser)]
#[command(
    name = "banyan-bench",
    bin_name = "banyan bench",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    override_usage = "banyan bench BENCH [OPTIONS]\n       banyan bench PLAN.toml [OPTIONS]\n       banyan bench --compare OLD NEW",
    after_help = "\
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench tree --quick                          one bench
  banyan bench plan.toml --dry-run                   what a study would run, and for how long
  banyan bench plan.toml                             run it; once more: go on where it was
  banyan bench plan.toml --into after                the same, into another directory
  banyan bench --compare before after                what has become faster, what slower
  banyan bench plan.toml --submit slurm --time 2:00:00"
)]
pub(crate) struct Benches {
    #[command(flatten)]
    speech: Speech,
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    study: StudyArguments,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Subcommand)]
enum Verb {
    #[command(flatten)]
    Bench(Bench),
    Predict(Predict),
    Manual(Manual),
}

#[derive(Args)]
struct StudyArguments {
    /// The plan of a study: a TOML file that names benches and lists of their options
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,
    /// The directory of the study, instead of the one in the plan
    #[arg(long, value_name = "DIRECTORY")]
    into: Option<PathBuf>,
    /// List the runs with their commands and an estimate of the time, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// Repeat the runs that failed
    #[arg(long, conflicts_with = "submit")]
    retry: bool,
    /// Compare two studies: directories, or their results.json
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with_all = ["plan", "into", "dry_run", "retry", "submit"])]
    compare: Vec<PathBuf>,
    #[command(flatten)]
    submission: Submission,
    /// One JSON object per event
    #[arg(long)]
    json: bool,
}

impl Benches {
    /// Does what is asked for, which prints objects or does not.
    pub(crate) fn run(self, json: bool) -> Outcome {
        self.speech.begin(json)?;
        execute::end_with_the_study();
        self.limit.begin_with(discard_places)?;
        let Some(verb) = self.verb else { return self.study.run() };
        if self.study.is_given() {
            return Err(Failure::usage(
                "a bench has its own options: write them behind its name, and no plan before it",
            ));
        }
        match verb {
            Verb::Bench(bench) => bench.run(),
            Verb::Predict(predict) => predict.run(),
            Verb::Manual(manual) => manual.run(Benches::command()),
        }
    }
}

impl StudyArguments {
    fn is_given(&self) -> bool {
        self.plan.is_some()
            || self.into.is_some()
            || !self.compare.is_empty()
            || self.dry_run
            || self.retry
            || self.json
            || self.submission.is_given()
    }

    fn run(self) -> Outcome {
        if let [old, new] = &self.compare[..] {
            return compare::run(old, new, self.json);
        }
        let Some(path) = &self.plan else {
            return Err(Failure::usage("which study? Give its plan, as in: banyan bench plan.toml --dry-run"));
        };
        let mut plan = Plan::read(path)?;
        let directory = self.into.clone().unwrap_or_else(|| plan.directory(path));
        let directory = if directory.as_os_str().is_empty() { PathBuf::from(".") } else { directory };
        if let Some(name) = directory::name_of(&directory)? {
            plan.name = name;
        }
        let schedule = Schedule::of(&plan);
        match (self.submission.is_given(), self.dry_run) {
            (true, _) => self.submission.submit(&plan, &schedule, path, &directory, self.dry_run, self.json),
            (false, true) => conduct::rehearse(&plan, &schedule, &directory, self.retry, self.json),
            (false, false) => conduct::run(&plan, &schedule, &directory, self.retry, self.json),
        }
    }
}

/// A path as people see it.
fn shown(path: &Path) -> String {
    path.display().to_string()
}
