//! One run: this program as a process of its own, until it ends, its deadline passes, or the user has had enough.
//!
//! Nothing here wakes up while a bench measures, but for the line on a terminal once a second. A run that is cut off leaves
//! nothing: its processes are ended, and if the study itself is killed, the kernel ends the bench
//! ([`end_with_the_study`]), which ends its own.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use banyan_bench::Environment;
use banyan_bench::study::{self, Run};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::directory::{Directory, MAX_RUN_BYTES, read_up_to};
use super::schedule::Planned;
use crate::failure::Failure;
use crate::hosts::ALLOCATION;
use crate::speech;

/// The variable that tells a bench the process id of the study it belongs to.
const STUDY: &str = "BANYAN_STUDY";

/// How often the line on a terminal is written anew.
const TICK: Duration = Duration::from_secs(1);

/// Of what a failed bench says, its last lines are kept.
const LAST_WORDS: usize = 4;

/// How a run ended.
pub(super) enum Ended {
    /// By itself or at its deadline.
    Over(Box<Run>),
    /// This signal came for the study.
    Interrupted(i32),
}

/// Signals that end a study.
pub(super) struct Interruption {
    /// The last one; 0 if none came.
    signal: Arc<AtomicUsize>,
    /// Readable once one came.
    wake: UnixStream,
}

impl Interruption {
    pub(super) fn watch() -> io::Result<Interruption> {
        let signal = Arc::new(AtomicUsize::new(0));
        let (wake, bell) = UnixStream::pair()?;
        for number in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register_usize(number, Arc::clone(&signal), number as usize)?;
            signal_hook::low_level::pipe::register(number, bell.try_clone()?)?;
        }
        Ok(Interruption { signal, wake })
    }

    /// The signal that came, if one did.
    pub(super) fn came(&self) -> Option<i32> {
        Some(self.signal.load(Ordering::SeqCst)).filter(|signal| *signal > 0).map(|signal| signal as i32)
    }
}

/// In a bench that a study has started: ends it when the study ends, also by `kill -9`.
pub(super) fn end_with_the_study() {
    let Some(study) = env::var(STUDY).ok().and_then(|id| id.parse::<i32>().ok()) else { return };
    let parent = || rustix::process::getppid().map(Pid::as_raw_nonzero).map(i32::from);
    // Somebody else's child has inherited the variable.
    if parent() != Some(study) {
        return;
    }
    // Where the kernel cannot, a bench ends when its work is done.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if parent() != Some(study) {
        std::process::exit(1);
    }
}

/// The nodes of the job that this process runs in.
pub(super) fn nodes() -> Option<String> {
    env::var(ALLOCATION).ok().filter(|nodes| !nodes.is_empty())
}

/// Where this program is.
pub(super) fn program() -> Result<std::path::PathBuf, Failure> {
    let program = env::current_exe().map_err(|error| Failure::system("this program", &error))?;
    if program.is_file() {
        return Ok(program);
    }
    Err(Failure::new(format!("{}: was replaced while the study ran; start the study again", program.display())))
}

/// Does a run. `tick` is told once a second how long it has taken.
pub(super) fn execute(
    planned: &Planned,
    deadline: Duration,
    directory: &Directory,
    interruption: &Interruption,
    tick: Option<&mut dyn FnMut(Duration)>,
) -> Result<Ended, Failure> {
    let program = program()?;
    let (out, err) = (directory.unfinished(planned.number, "out"), directory.unfinished(planned.number, "err"));
    let file = |path: &Path| File::create(path).map_err(|error| Failure::system(path.display(), &error));
    let mut environment = Environment::observe();
    let (began, clock) = (speech::time(SystemTime::now()), Instant::now());
    let command = planned.command(&program, nodes().as_deref());
    let child = Command::new(&command[0])
        .args(&command[1..])
        .env(STUDY, std::process::id().to_string())
        .stdin(Stdio::null())
        .stdout(file(&out)?)
        .stderr(file(&err)?)
        .process_group(0)
        .spawn();
    let mut child = child.map_err(|error| Failure::system(program.display(), &error))?;
    let waited = wait(&mut child, clock, deadline, interruption, tick);
    if !matches!(waited, Ok(Waited::Ended(_))) {
        cut_off(&mut child).map_err(|error| Failure::system(format_args!("run {}", planned.number), &error))?;
    }
    let status = match waited.map_err(|error| Failure::system(format_args!("run {}", planned.number), &error))? {
        Waited::Interrupted(signal) => return Ok(Ended::Interrupted(signal)),
        Waited::Ended(status) => Some(status),
        Waited::Late => None,
    };
    environment.finish();
    let mut run = Run {
        run: planned.number,
        bench: planned.bench.clone(),
        repetition: planned.repetition,
        parameters: planned.parameters.clone(),
        command,
        began,
        seconds: clock.elapsed().as_secs_f64(),
        environment,
        outcome: outcome(status, deadline, (&out, &err)),
    };
    if let Err(error) = run.figures("") {
        run.outcome = study::Outcome::Error(error.to_string());
    }
    for path in [out, err] {
        fs::remove_file(&path).map_err(|error| Failure::system(path.display(), &error))?;
    }
    Ok(Ended::Over(Box::new(run)))
}

enum Waited {
    Ended(ExitStatus),
    Late,
    Interrupted(i32),
}

/// Ends a run, with the processes it has started.
fn cut_off(child: &mut Child) -> io::Result<()> {
    // It has not been waited for, so that the number is still its own. It may have ended by itself just now.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    child.wait().map(drop)
}

/// Waits until a process has ended, or should be ended.
fn wait(
    child: &mut Child,
    clock: Instant,
    deadline: Duration,
    interruption: &Interruption,
    mut tick: Option<&mut dyn FnMut(Duration)>,
) -> io::Result<Waited> {
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    loop {
        if let Some(signal) = interruption.came() {
            return Ok(Waited::Interrupted(signal));
        }
        let left = deadline.saturating_sub(clock.elapsed());
        if left.is_zero() {
            return Ok(Waited::Late);
        }
        let pause = if tick.is_some() { left.min(TICK) } else { left };
        let pause = Timespec { tv_sec: pause.as_secs() as i64, tv_nsec: pause.subsec_nanos().into() };
        let mut watched =
            [PollFd::new(&ended, PollFlags::IN), PollFd::from_borrowed_fd(interruption.wake.as_fd(), PollFlags::IN)];
        match poll(&mut watched, Some(&pause)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if let Some(status) = child.try_wait()? {
            return Ok(Waited::Ended(status));
        }
        if let Some(tick) = &mut tick {
            tick(clock.elapsed());
        }
    }
}

/// What it printed, or why that is nothing.
fn outcome(status: Option<ExitStatus>, deadline: Duration, (out, err): (&Path, &Path)) -> study::Outcome {
    let said = |path: &Path| read_up_to(path, MAX_RUN_BYTES).map(Option::unwrap_or_default);
    let failed = |why: String| {
        let words = said(err).unwrap_or_default();
        let mut last: Vec<&str> = words.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_WORDS).collect();
        last.reverse();
        let last = if last.is_empty() { String::new() } else { format!(": {}", last.join("\n")) };
        study::Outcome::Error(format!("{why}{last}"))
    };
    match status {
        None => failed(format!("no end in {deadline:?}; give it more with deadline in the plan")),
        Some(status) if !status.success() => failed(status.to_string()),
        Some(_) => match said(out) {
            Ok(text) => match serde_json::from_str(&text) {
                Ok(output) => study::Outcome::Output(output),
                Err(error) => failed(format!("its output is no JSON object ({error})")),
            },
            Err(failure) => failed(failure.message().to_owned()),
        },
    }
}
