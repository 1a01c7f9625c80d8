//! A study as a job: the script for Slurm, and handing it over.
//!
//! The job runs the same command that a person would; it goes on where an earlier job was ended, so that the job may be
//! requeued, and shortly before its time is up it is asked to end, so that what was done has its report.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use banyan_bench::study::shell;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::directory::Directory;
use super::execute::program;
use super::plan::Plan;
use super::schedule::Schedule;
use super::shown;
use banyan_cli::ask::ask;
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::output;

/// Slurm's controller may be busy, but not for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// The job script in the directory of a study.
const SCRIPT: &str = "job.sh";

/// Who runs jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BatchSystem {
    /// Slurm, by sbatch
    Slurm,
}

#[derive(Args)]
pub(super) struct Submission {
    /// Write a job script for the study and submit it; with --dry-run, only print the script
    #[arg(long, value_name = "SYSTEM")]
    submit: Option<BatchSystem>,
    /// The number of nodes of the job
    #[arg(long, value_name = "N", requires = "submit", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// The job's time limit, as sbatch takes it
    #[arg(long, value_name = "TIME", requires = "submit", value_parser = word)]
    time: Option<String>,
    /// The job's partition
    #[arg(long, value_name = "NAME", requires = "submit", value_parser = word)]
    partition: Option<String>,
}

/// What may stand in a line of a job script.
fn word(text: &str) -> Result<String, String> {
    let is_word = !text.is_empty() && !text.chars().any(|letter| letter.is_whitespace() || letter.is_control());
    if is_word { Ok(text.to_owned()) } else { Err("write one word".to_owned()) }
}

impl Submission {
    pub(super) fn is_given(&self) -> bool {
        self.submit.is_some()
    }

    /// Shows the script, or writes it into the directory of the study and submits it.
    pub(super) fn submit(
        &self,
        plan: &Plan,
        schedule: &Schedule,
        path: &Path,
        directory: &Path,
        only_show: bool,
        json: bool,
    ) -> Outcome {
        let whole = |path: &Path| std::path::absolute(path).map_err(|error| Failure::system(shown(path), &error));
        let (program, path, whole_directory) = (program()?, whole(path)?, whole(directory)?);
        for path in [&program, &path, &whole_directory] {
            if shown(path).contains(char::is_control) {
                return Err(Failure::usage(format!("{path:?}: cannot stand in a line of a job script; rename it")));
            }
        }
        let script = self.script(plan, &program, &path, &whole_directory);
        let mut out = output::stdout();
        if only_show {
            if json {
                let file = shown(&whole_directory.join(SCRIPT));
                let event = json!({ "event": "script", "job": null, "script": file, "directory": shown(directory), "text": script });
                writeln!(out, "{event}")?;
            } else {
                write!(out, "{script}")?;
            }
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        // The lock goes before the job may begin.
        let file = {
            let study = Directory::open(directory, plan, schedule)?;
            study.write(SCRIPT, script.as_bytes())?;
            study.absolute()?.join(SCRIPT)
        };
        let job = sbatch(&file)?;
        if json {
            writeln!(
                out,
                "{}",
                json!({ "event": "submitted", "job": job, "script": shown(&file), "directory": shown(directory) })
            )?;
        } else {
            writeln!(out, "job {job}: study {} into {}; look at: squeue -j {job}", plan.name, shown(directory))?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    fn script(&self, plan: &Plan, program: &Path, path: &Path, directory: &Path) -> String {
        let mut lines = vec![
            format!("--job-name={}", plan.name),
            format!("--nodes={}", self.nodes.unwrap_or(1)),
            // Whoever measures is alone on the node.
            "--exclusive".to_owned(),
            "--requeue".to_owned(),
            // A job that is requeued adds to what it said before.
            "--open-mode=append".to_owned(),
            "--signal=B:TERM@60".to_owned(),
            format!("--output={}", shell(&[format!("{}/job-%j.out", shown(directory).replace('%', "%%"))])),
        ];
        lines.extend(self.time.iter().map(|time| format!("--time={time}")));
        lines.extend(self.partition.iter().map(|partition| format!("--partition={partition}")));
        let header: String = lines.iter().map(|line| format!("#SBATCH {line}\n")).collect();
        let words = [shown(program), shown(path), "--into".into(), shown(directory)];
        format!("#!/bin/sh\n{header}exec {}\n", shell(&words))
    }
}

/// Hands a script over; the number of the job.
fn sbatch(script: &PathBuf) -> Result<String, Failure> {
    let answer = ask(Command::new("sbatch").arg("--parsable").arg(script), PATIENCE).map_err(|error| {
        Failure::new(format!(
            "{error}; the script is {}: submit it where Slurm is, or run the study here without --submit",
            shown(script)
        ))
    })?;
    // The job, and behind a semicolon its cluster.
    let job = answer.trim().split(';').next().unwrap_or_default();
    if job.is_empty() || !job.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::new(format!("sbatch answered {answer:?}, which names no job; look at: squeue")));
    }
    Ok(job.to_owned())
}
