//! Why a member could not be started: the step that failed, its cause, and what to do about it.
//!
//! The message does not name the host; the caller knows it and puts it in front.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;

use banyan_hosts::cause;

use super::command::Command;

/// What the spawner was doing when it failed, in the order in which it does these things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpawnStage {
    /// Turning program, arguments, environment and directory into what the kernel takes.
    Prepare,
    /// Looking for the program in PATH.
    Find,
    /// Putting the child's descriptors where it takes them from.
    Stage,
    /// Making the process.
    Clone,
    /// Giving the child its descriptors.
    Descriptors,
    /// Making it the leader of a session.
    Session,
    /// Binding its life to its parent's.
    Parent,
    /// Setting resource limits.
    Limits,
    /// Setting its priority.
    Nice,
    /// Going to its working directory.
    Directory,
    /// Unblocking its signals.
    Signals,
    /// Executing the program.
    Execute,
}

/// A member that could not be started. Nothing of it is left.
#[derive(Debug)]
#[non_exhaustive]
pub struct SpawnError {
    /// The program as it was asked for.
    pub program: String,
    /// What failed.
    pub step: SpawnStage,
    /// Why, in the kernel's words.
    pub source: io::Error,
    explanation: Explanation,
}

/// Why, and what to do about it, in our words.
#[derive(Debug)]
pub(super) struct Explanation {
    cause: String,
    /// May be empty.
    remedy: &'static str,
}

impl Explanation {
    pub(super) fn new(cause: impl Into<String>, remedy: &'static str) -> Explanation {
        Explanation { cause: cause.into(), remedy }
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause())?;
        if !self.remedy().is_empty() {
            write!(f, "; {}", self.remedy())?;
        }
        Ok(())
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// How much of an executable is read to find out what it needs: what the kernel itself looks at.
const HEAD_BYTES: u64 = 256;

impl SpawnError {
    /// What could not be started, and why.
    pub fn cause(&self) -> String {
        format!("cannot start {}: {}", self.program, self.explanation.cause)
    }

    /// What to do about it; may be empty.
    pub fn remedy(&self) -> &'static str {
        self.explanation.remedy
    }

    /// The kernel refused a step.
    pub(crate) fn new(step: SpawnStage, source: impl Into<io::Error>, command: &Command) -> SpawnError {
        let source = source.into();
        let explanation = explain(step, &source, command);
        SpawnError::explained(step, source, command.program(), explanation)
    }

    /// An error of which only the caller knows the reason.
    pub(super) fn explained(
        step: SpawnStage,
        source: io::Error,
        program: &OsStr,
        explanation: Explanation,
    ) -> SpawnError {
        SpawnError { program: program.to_string_lossy().into_owned(), step, source, explanation }
    }
}

fn explain(step: SpawnStage, source: &io::Error, command: &Command) -> Explanation {
    let errno = Errno::from_io_error(source);
    match (step, errno) {
        (_, Some(Errno::MFILE)) => Explanation::new("too many open descriptors in this process", "raise ulimit -n"),
        (_, Some(Errno::NFILE)) => {
            Explanation::new("too many open descriptors on this host", "raise sysctl fs.file-max")
        }
        (SpawnStage::Clone, Some(Errno::AGAIN)) => Explanation::new(
            "too many processes",
            "raise ulimit -u, sysctl kernel.pid_max or the control group's pids.max, or start fewer members here",
        ),
        (SpawnStage::Clone, Some(Errno::NOMEM)) => {
            Explanation::new("no memory for another process", "start fewer members here")
        }
        (SpawnStage::Parent, _) => Explanation::new("its agent ended meanwhile", ""),
        (SpawnStage::Limits, Some(Errno::PERM)) => Explanation::new(
            format!("a limit in {} is above the hard limit", command.limits),
            "lower it, or raise the hard limit",
        ),
        (SpawnStage::Nice, Some(Errno::PERM | Errno::ACCESS)) => Explanation::new(
            format!("only the superuser may raise its priority ({})", command.limits),
            "use nice=0 or above",
        ),
        (SpawnStage::Directory, _) => {
            let directory = command.directory().unwrap_or(Path::new("")).display();
            let cause = format!("working directory {directory}: {}", cause(source));
            Explanation::new(cause, "create it on this host or choose another")
        }
        (SpawnStage::Execute, Some(errno)) => explain_execute(errno, source, command),
        _ => Explanation::new(format!("{} failed: {}", name(step), cause(source)), ""),
    }
}

fn explain_execute(errno: Errno, source: &io::Error, command: &Command) -> Explanation {
    let file = &*command.file();
    let shown = file.display();
    match errno {
        Errno::NOENT | Errno::NOTDIR if file.exists() => {
            let interpreter = interpreter(file).unwrap_or_else(|| "the dynamic loader".into());
            let cause = format!("{shown} needs {interpreter}, which this host does not have");
            Explanation::new(cause, "install it or link statically")
        }
        Errno::NOENT | Errno::NOTDIR => {
            Explanation::new(format!("{shown} does not exist"), "install it, correct its path, or stage it")
        }
        Errno::ACCESS if file.is_dir() => Explanation::new(format!("{shown} is a directory"), "name the program in it"),
        Errno::ACCESS => Explanation::new(
            format!("{shown} may not be executed"),
            "chmod +x it, and check that its file system is not mounted noexec",
        ),
        Errno::NOEXEC => Explanation::new(
            format!("{shown} is no program for this machine"),
            "build it for this architecture, or begin it with #!",
        ),
        Errno::TOOBIG => Explanation::new("arguments and environment are too long", "pass less, or raise ulimit -s"),
        Errno::TXTBSY => Explanation::new(format!("{shown} is still open for writing"), "start it when it is complete"),
        Errno::AGAIN => {
            Explanation::new("the user has more processes than nproc allows", "raise it, or start fewer members here")
        }
        _ => Explanation::new(format!("{shown} could not be executed: {}", cause(source)), ""),
    }
}

/// The interpreter that a script asks for.
fn interpreter(file: &Path) -> Option<String> {
    let mut head = Vec::new();
    File::open(file).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?.trim_ascii_start();
    let name = line.split(u8::is_ascii_whitespace).next()?;
    Some(format!("the interpreter {}", OsStr::from_bytes(name).display()))
}

fn name(step: SpawnStage) -> &'static str {
    match step {
        SpawnStage::Prepare => "preparing it",
        SpawnStage::Find => "looking for it in PATH",
        SpawnStage::Stage => "staging its descriptors",
        SpawnStage::Clone => "making a process",
        SpawnStage::Descriptors => "giving it its descriptors",
        SpawnStage::Session => "making a session for it",
        SpawnStage::Parent => "binding its life to its agent's",
        SpawnStage::Limits => "setting its limits",
        SpawnStage::Nice => "setting its priority",
        SpawnStage::Directory => "going to its directory",
        SpawnStage::Signals => "unblocking its signals",
        SpawnStage::Execute => "executing it",
    }
}
