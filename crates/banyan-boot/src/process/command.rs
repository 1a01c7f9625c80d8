//! What to run, and the same made ready to be run many times.
//!
//! A [`Command`] is data: a program, its arguments, its environment, its directory, its limits. Preparing it looks the
//! program up in the PATH of *its* environment and makes the strings that the kernel takes, once for all members of a
//! process distribution; what differs between members is a variable set anew for each
//! ([`Prepared::set_variable`]).

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::limits::{Limits, Resource};
use super::spawn_error::{Explanation, SpawnError, SpawnStage, Subject};

/// Where a program is looked for when its environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What to run.
#[derive(Debug)]
pub struct Command {
    /// The program.
    pub executable: Executable,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// Its whole environment: nothing is added from ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Its working directory; ours if there is none.
    pub directory: Option<PathBuf>,
    /// What it may use.
    pub limits: Limits,
    /// Whether it goes on when the process that started it ends.
    pub outlives_parent: bool,
}

/// A program.
#[derive(Debug)]
pub enum Executable {
    /// A file: with a slash a path (from the working directory of the command), without one looked for in PATH.
    File(OsString),
    /// The contents of a descriptor, for example of a sealed memory file. Not for scripts.
    Image {
        /// What the program is told that it is called.
        name: OsString,
        /// The program.
        image: OwnedFd,
    },
}

/// A command that can be started any number of times.
#[derive(Debug)]
pub struct Prepared {
    pub(super) name: OsString,
    pub(super) target: Target,
    pub(super) arguments: Vec<CString>,
    /// `NAME=value`, each name once.
    pub(super) environment: Vec<CString>,
    pub(super) directory: Option<CString>,
    pub(super) limits: Limits,
    pub(super) outlives_parent: bool,
    pub(super) resources: Vec<(u32, [u64; 2])>,
}

/// What is executed.
#[derive(Debug)]
pub(super) enum Target {
    File(CString),
    Image(OwnedFd),
}

impl Command {
    /// Looks the program up and makes everything ready. A path with a slash is not looked at before it is executed.
    ///
    /// # Errors
    /// If the program is not in PATH, or a string holds a zero byte.
    pub fn prepare(self) -> Result<Prepared, SpawnError> {
        let (name, image) = match self.executable {
            Executable::File(name) => (name, None),
            Executable::Image { name, image } => (name, Some(image)),
        };
        let target = match image {
            Some(image) => Target::Image(image),
            None if name.as_bytes().contains(&b'/') => Target::File(c_string(&name, &name)?),
            None => Target::File(find(&name, &self.environment, self.directory.as_deref())?),
        };
        let arguments = std::iter::once(&name).chain(&self.arguments).map(|argument| c_string(&name, argument));
        let mut prepared = Prepared {
            target,
            arguments: arguments.collect::<Result<_, _>>()?,
            environment: Vec::with_capacity(self.environment.len()),
            directory: self.directory.as_ref().map(|path| c_string(&name, path.as_os_str())).transpose()?,
            resources: self.limits.resources.iter().map(|(resource, value)| soft_and_hard(*resource, *value)).collect(),
            limits: self.limits,
            outlives_parent: self.outlives_parent,
            name,
        };
        for (variable, value) in &self.environment {
            prepared.set_variable(variable, value)?;
        }
        Ok(prepared)
    }
}

impl Prepared {
    /// Sets a variable of the environment for the members started from now on.
    ///
    /// # Errors
    /// If the name is empty or holds a `=`, or either holds a zero byte.
    pub fn set_variable(&mut self, variable: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Result<(), SpawnError> {
        let (variable, value) = (variable.as_ref().as_bytes(), value.as_ref().as_bytes());
        if variable.is_empty() || variable.contains(&b'=') {
            let shown = OsStr::from_bytes(variable).display();
            let cause = format!("{shown:?} cannot name a variable");
            let explanation = Explanation::new(cause, "names are not empty and hold no '='");
            return Err(SpawnError::explained(SpawnStage::Prepare, invalid(), &self.name, explanation));
        }
        let entry = c_string(&self.name, OsStr::from_bytes(&[variable, b"=", value].concat()))?;
        let is_it =
            |old: &&mut CString| old.as_bytes().strip_prefix(variable).is_some_and(|rest| rest.starts_with(b"="));
        match self.environment.iter_mut().find(is_it) {
            Some(old) => *old = entry,
            None => self.environment.push(entry),
        }
        Ok(())
    }

    /// What the program may use, as the command said.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn error(&self, step: SpawnStage, source: io::Error) -> SpawnError {
        let directory = self.directory.as_ref().map(|directory| Path::new(OsStr::from_bytes(directory.as_bytes())));
        let file = match &self.target {
            Target::File(path) => Some(below(directory, Path::new(OsStr::from_bytes(path.as_bytes())))),
            Target::Image(_) => None,
        };
        let limits = self.limits.to_string();
        SpawnError::new(step, source, &Subject { program: &self.name, file, directory, limits })
    }
}

/// Soft and hard limit are the same, as with `ulimit`. Only processor time leaves a second between them, so that the
/// process ends by SIGXCPU, which says why, and not by SIGKILL.
fn soft_and_hard(resource: Resource, value: u64) -> (u32, [u64; 2]) {
    let hard = if resource == Resource::ProcessorTime { value.saturating_add(1) } else { value };
    (resource.number(), [value, hard])
}

/// The first executable file of that name in the PATH of the environment it will have.
fn find(name: &OsStr, environment: &[(OsString, OsString)], directory: Option<&Path>) -> Result<CString, SpawnError> {
    let variable = environment.iter().rev().find(|(variable, _)| variable == "PATH");
    let path = variable.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    let mut refused = None;
    for candidate in std::env::split_paths(path).map(|folder| folder.join(name)) {
        let seen_from_here = below(directory, &candidate);
        if name.is_empty() || !seen_from_here.is_file() {
            continue;
        }
        if rustix::fs::access(&seen_from_here, Access::EXEC_OK).is_ok() {
            // Only a relative folder of PATH makes a relative path, which the child resolves as we did.
            return c_string(name, candidate.as_os_str());
        }
        refused.get_or_insert(seen_from_here);
    }
    let path = path.display();
    let (kind, explanation) = match refused {
        Some(file) => {
            let cause = format!("{} may not be executed", file.display());
            (io::ErrorKind::PermissionDenied, Explanation::new(cause, "chmod +x it"))
        }
        None => {
            let cause = format!("not found in PATH ({path})");
            let remedy = "install it there, give its full path, or stage it";
            (io::ErrorKind::NotFound, Explanation::new(cause, remedy))
        }
    };
    Err(SpawnError::explained(SpawnStage::Find, kind.into(), name, explanation))
}

fn below(directory: Option<&Path>, path: &Path) -> PathBuf {
    directory.map_or_else(|| path.to_owned(), |directory| directory.join(path))
}

fn c_string(program: &OsStr, text: &OsStr) -> Result<CString, SpawnError> {
    CString::new(text.to_owned().into_vec()).map_err(|_| {
        let cause = format!("{text:?} holds a zero byte, which no argument, variable or path can");
        let explanation = Explanation::new(cause, "");
        SpawnError::explained(SpawnStage::Prepare, invalid(), program, explanation)
    })
}

fn invalid() -> io::Error {
    io::ErrorKind::InvalidInput.into()
}
