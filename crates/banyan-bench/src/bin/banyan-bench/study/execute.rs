//! One run: this program as a process of its own, until it ends, its deadline passes, or the user has had enough.
//!
//! A bench is left alone while it measures, but for its orphans, which are reaped as the first process of the machine
//! would, and for the line on a terminal once a second. However a run ends, none of its processes sees the next: the study
//! takes in the orphans and ends them all. If the study itself is killed, the kernel ends the bench
//! ([`end_with_the_study`]), which ends its own.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use banyan_bench::Environment;
use banyan_bench::study::{self, Run};
use banyan_boot::process::end_descendants;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, pidfd_open, prlimit};

use super::directory::{Directory, read_up_to};
use super::interruption::Interruption;
use super::schedule::Planned;
use super::shown;
use banyan_cli::failure::Failure;
use banyan_cli::hosts::ALLOCATION;
use banyan_cli::speech;

/// The variable that tells a bench the process id of the study it belongs to.
const STUDY: &str = "BANYAN_STUDY";

/// How often the line on a terminal is written anew.
const TICK: Duration = Duration::from_secs(1);

/// Bytes that a bench may print: a run that is kept must be readable again, however its numbers are written.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;

/// Bytes of any file that a bench writes, so that one that has gone mad does not fill the disk. Programs that are staged
/// for other hosts are the largest that there are.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Of what a failed bench says, so many bytes are looked at from the end,
const LAST_BYTES: u64 = 8 << 10;

/// and so many lines kept.
const LAST_WORDS: usize = 4;

/// How a run ended.
pub(super) enum Ended {
    /// By itself or at its deadline.
    Over(Box<Run>),
    /// This signal came for the study.
    Interrupted(i32),
}

/// In a bench that a study has started: ends it when the study ends, also by `kill -9`.
pub(super) fn end_with_the_study() {
    let study = env::var(STUDY).ok().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
    let Some(study) = study else { return };
    let is_child = || rustix::process::getppid() == Some(study);
    if is_child() {
        // Where the kernel cannot, a bench ends when its work is done.
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        if is_child() {
            return;
        }
    }
    // Either somebody else's child has inherited the variable, or the study was killed before this process came so far.
    if rustix::process::test_kill_process(study) == Err(rustix::io::Errno::SRCH) {
        std::process::exit(1);
    }
}

/// The nodes of the job that this process runs in.
pub(super) fn nodes() -> Option<String> {
    env::var(ALLOCATION).ok().filter(|nodes| !nodes.is_empty())
}

/// Where this program is.
pub(super) fn program() -> Result<PathBuf, Failure> {
    let program = env::current_exe().map_err(|error| Failure::system("this program", &error))?;
    if program.is_file() {
        return Ok(program);
    }
    Err(Failure::new(format!("{}: was replaced while the study ran; start the study again", program.display())))
}

/// What does the runs of a study, one after another.
pub(super) struct Runner<'a> {
    deadline: Duration,
    directory: &'a Directory,
    interruption: &'a Interruption,
    checked_out: Option<String>,
    working_directory: String,
}

impl Runner<'_> {
    pub(super) fn new<'a>(
        deadline: Duration,
        directory: &'a Directory,
        interruption: &'a Interruption,
    ) -> Result<Runner<'a>, Failure> {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(|error| Failure::system("taking in the orphans of runs", &error.into()))?;
        let here = env::current_dir().map_err(|error| Failure::system("the working directory", &error))?;
        let checked_out = banyan_bench::checked_out();
        Ok(Runner { deadline, directory, interruption, checked_out, working_directory: shown(&here) })
    }

    /// This machine and this build.
    pub(super) fn environment(&self) -> Environment {
        Environment { checked_out: self.checked_out.clone(), ..Environment::observe() }
    }

    /// Does a run. `tick` is told once a second how long it has taken.
    pub(super) fn run(&self, planned: &Planned, tick: Option<&mut dyn FnMut(Duration)>) -> Result<Ended, Failure> {
        let [out, err] = ["out", "err"].map(|what| self.directory.unfinished(planned.number, what));
        let ended = self.run_into(planned, &out, &err, tick);
        // What cannot be removed is removed when the study goes on, and says nothing until then.
        [out, err].iter().for_each(|path| drop(fs::remove_file(path)));
        ended
    }

    fn run_into(
        &self,
        planned: &Planned,
        out: &Path,
        err: &Path,
        tick: Option<&mut dyn FnMut(Duration)>,
    ) -> Result<Ended, Failure> {
        let program = program()?;
        let file = |path: &Path| File::create(path).map_err(|error| Failure::system(shown(path), &error));
        let mut environment = self.environment();
        let (began, clock) = (speech::time(SystemTime::now()), Instant::now());
        let command = planned.command(&program, nodes().as_deref());
        let bench = Command::new(&command[0])
            .args(&command[1..])
            .env(STUDY, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(file(out)?)
            .stderr(file(err)?)
            .process_group(0)
            .spawn();
        let bench = Pid::from_child(&bench.map_err(|error| Failure::system(program.display(), &error))?);
        let limit = Rlimit { current: Some(MAX_FILE_BYTES), maximum: Some(MAX_FILE_BYTES) };
        // It may have ended already; and a lower limit that the user has set is as good.
        let _ = prlimit(Some(bench), Resource::Fsize, limit);
        let waited = self.wait(bench, clock, tick);
        let seconds = clock.elapsed().as_secs_f64();
        environment.finish();
        end_descendants(&[]).map_err(|error| Failure::new(format!("run {}: {error}", planned.number)))?;
        let status = match waited.map_err(|error| Failure::system(format_args!("run {}", planned.number), &error))? {
            Waited::Interrupted(signal) => return Ok(Ended::Interrupted(signal)),
            Waited::Ended(status) => Some(status),
            Waited::Late => None,
        };
        let mut run = Run {
            run: planned.number,
            bench: planned.bench.clone(),
            repetition: planned.repetition,
            parameters: planned.parameters.clone(),
            command,
            working_directory: self.working_directory.clone(),
            began,
            seconds,
            environment,
            outcome: outcome(status, self.deadline, (out, err)),
        };
        if let Err(error) = run.figures("") {
            run.outcome = study::Outcome::Error(error.to_string());
        }
        Ok(Ended::Over(Box::new(run)))
    }

    /// Waits until a bench has ended, or should be ended.
    fn wait(&self, bench: Pid, clock: Instant, mut tick: Option<&mut dyn FnMut(Duration)>) -> io::Result<Waited> {
        let process = pidfd_open(bench, PidfdFlags::empty())?;
        loop {
            if let Some(status) = reap(bench)? {
                return Ok(Waited::Ended(status));
            }
            if let Some(signal) = self.interruption.came() {
                return Ok(Waited::Interrupted(signal));
            }
            let left = self.deadline.saturating_sub(clock.elapsed());
            if left.is_zero() {
                return Ok(Waited::Late);
            }
            self.interruption.wait(&process, if tick.is_some() { left.min(TICK) } else { left })?;
            if let Some(tick) = &mut tick {
                tick(clock.elapsed());
            }
        }
    }
}

enum Waited {
    Ended(ExitStatus),
    Late,
    Interrupted(i32),
}

/// Reaps what has ended, orphans too, until the bench is among it.
fn reap(bench: Pid) -> io::Result<Option<ExitStatus>> {
    while let Some((child, status)) = rustix::process::wait(WaitOptions::NOHANG)? {
        if child == bench {
            return Ok(Some(ExitStatus::from_raw(status.as_raw())));
        }
    }
    Ok(None)
}

/// What it printed, or why that is nothing.
fn outcome(status: Option<ExitStatus>, deadline: Duration, (out, err): (&Path, &Path)) -> study::Outcome {
    let failed = |why: String| study::Outcome::Error(format!("{why}{}", last_words(err)));
    match status {
        None => failed(format!("no end in {deadline:?}; give it more with deadline in the plan")),
        Some(status) if !status.success() => failed(status.to_string()),
        Some(_) => match read_up_to(out, MAX_OUTPUT_BYTES).map(Option::unwrap_or_default) {
            Ok(text) => match serde_json::from_str(&text) {
                Ok(output) => study::Outcome::Output(output),
                Err(error) => failed(format!("its output is no JSON object ({error})")),
            },
            Err(failure) => failed(failure.message().to_owned()),
        },
    }
}

/// The last lines of a file behind a colon, whatever is in it; nothing if it is empty.
fn last_words(file: &Path) -> String {
    let read = File::open(file).and_then(|mut open| {
        let length = open.seek(SeekFrom::End(0))?;
        open.seek(SeekFrom::Start(length.saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        open.take(LAST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    let bytes = read.unwrap_or_default();
    let words = String::from_utf8_lossy(&bytes);
    let mut last: Vec<&str> = words.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_WORDS).collect();
    last.reverse();
    if last.is_empty() { String::new() } else { format!(": {}", last.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_few_and_may_be_anything() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("err");
        let said = |bytes: &[u8]| {
            fs::write(&file, bytes).unwrap();
            last_words(&file)
        };
        assert_eq!(said(b""), "");
        assert_eq!(said(b"1\n2\n\n3\n4\n5\xff\n"), ": 2\n3\n4\n5\u{fffd}");
        let endless = said(&vec![b'x'; 1 << 20]);
        assert_eq!(endless.len() as u64, LAST_BYTES + 2);
    }
}
