//! Why a member could not be started: the step that failed, its cause, and what to do about it.
//!
//! The message does not name the host; the caller knows it and puts it in front.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::command::Prepared;

/// What the spawner was doing when it failed, in the order in which it does these things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
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
pub struct SpawnError {
    /// The program as it was asked for.
    pub program: String,
    /// What failed.
    pub step: Step,
    /// Why, in the kernel's words.
    pub source: io::Error,
    /// Cause and remedy, in ours.
    explanation: String,
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot start {}: {}", self.program, self.explanation)
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// What a message about a failed spawn needs to know of the command.
pub(super) struct Subject<'a> {
    pub(super) program: &'a OsStr,
    /// The file that was executed, if it is one that has a name.
    pub(super) file: Option<PathBuf>,
    pub(super) directory: Option<&'a Path>,
    pub(super) limits: String,
}

/// How much of an executable is read to find out what it needs: what the kernel itself looks at.
const HEAD_BYTES: u64 = 256;

impl SpawnError {
    /// A member whose descriptors could not be made.
    pub(crate) fn descriptors(command: &Prepared, source: io::Error) -> SpawnError {
        command.error(Step::Stage, source)
    }

    pub(super) fn new(step: Step, source: io::Error, subject: &Subject<'_>) -> SpawnError {
        let explanation = explain(step, &source, subject);
        SpawnError { program: subject.program.to_string_lossy().into_owned(), step, source, explanation }
    }

    /// An error of which only the caller knows the reason.
    pub(super) fn explained(step: Step, source: io::Error, program: &OsStr, explanation: String) -> SpawnError {
        SpawnError { program: program.to_string_lossy().into_owned(), step, source, explanation }
    }
}

fn explain(step: Step, source: &io::Error, subject: &Subject<'_>) -> String {
    let errno = Errno::from_io_error(source);
    match (step, errno) {
        (_, Some(Errno::MFILE)) => "too many open descriptors in this process; raise ulimit -n".into(),
        (_, Some(Errno::NFILE)) => "too many open descriptors on this host; raise sysctl fs.file-max".into(),
        (Step::Clone, Some(Errno::AGAIN)) => {
            "too many processes; raise ulimit -u, sysctl kernel.pid_max or the control group's pids.max, \
             or start fewer members here"
                .into()
        }
        (Step::Clone, Some(Errno::NOMEM)) => "no memory for another process; start fewer members here".into(),
        (Step::Parent, _) => "its agent ended meanwhile".into(),
        (Step::Limits, Some(Errno::PERM)) => {
            format!("a limit in {} is above the hard limit; lower it, or raise the hard limit", subject.limits)
        }
        (Step::Nice, Some(Errno::PERM | Errno::ACCESS)) => {
            format!("only the superuser may raise its priority ({}); use nice=0 or above", subject.limits)
        }
        (Step::Directory, _) => {
            let directory = subject.directory.unwrap_or(Path::new("")).display();
            format!("working directory {directory}: {source}; create it on this host or choose another")
        }
        (Step::Execute, Some(errno)) => explain_execute(errno, source, subject),
        _ => format!("{} failed: {source}", name(step)),
    }
}

fn explain_execute(errno: Errno, source: &io::Error, subject: &Subject<'_>) -> String {
    let file = subject.file.as_deref().unwrap_or(Path::new("the image"));
    let shown = file.display();
    match errno {
        Errno::NOENT | Errno::NOTDIR if file.exists() => {
            let interpreter = interpreter(file).unwrap_or_else(|| "the dynamic loader".into());
            format!("{shown} needs {interpreter}, which this host does not have; install it or link statically")
        }
        Errno::NOENT if subject.file.is_none() => {
            "a script cannot be run from an image in memory; stage it as a file".into()
        }
        Errno::NOENT | Errno::NOTDIR => format!("{shown} does not exist; install it, correct its path, or stage it"),
        Errno::ACCESS if file.is_dir() => format!("{shown} is a directory; name the program in it"),
        Errno::ACCESS => {
            format!("{shown} may not be executed; chmod +x it, and check that its file system is not mounted noexec")
        }
        Errno::NOEXEC => {
            format!("{shown} is no program for this machine; build it for this architecture, or begin it with #!")
        }
        Errno::TOOBIG => "arguments and environment are too long; pass less, or raise ulimit -s".into(),
        Errno::TXTBSY => format!("{shown} is still open for writing; start it when it is complete"),
        Errno::AGAIN => "the user has more processes than nproc allows; raise it, or start fewer members here".into(),
        _ => format!("{shown} could not be executed: {source}"),
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

fn name(step: Step) -> &'static str {
    match step {
        Step::Prepare => "preparing it",
        Step::Find => "looking for it in PATH",
        Step::Stage => "staging its descriptors",
        Step::Clone => "making a process",
        Step::Descriptors => "giving it its descriptors",
        Step::Session => "making a session for it",
        Step::Parent => "binding its life to its agent's",
        Step::Limits => "setting its limits",
        Step::Nice => "setting its priority",
        Step::Directory => "going to its directory",
        Step::Signals => "unblocking its signals",
        Step::Execute => "executing it",
    }
}
