//! What to run on this host, as the kernel takes it.
//!
//! Making a [`Command`] looks the program up in the PATH of *its* environment, once for all members of a process
//! distribution; what differs between members is a variable set anew for each ([`Command::set_variable`]).

use std::ffi::{CStr, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::limits::Limits;
use super::spawn_error::{Explanation, SpawnError, SpawnStage};

/// Where a program is looked for when its environment has no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program with all that it gets, which can be started any number of times: its texts are those that the kernel takes, so
/// that a start converts nothing.
#[derive(Debug)]
pub struct Command {
    /// What is executed, as it is found from its working directory.
    pub(super) path: CString,
    /// The first is the program as it was asked for.
    pub(super) arguments: Vec<CString>,
    /// `NAME=value`, each name once.
    pub(super) environment: Vec<CString>,
    pub(super) directory: Option<CString>,
    /// What it may use; at first there is no limit.
    pub limits: Limits,
    /// Whether it goes on when the process that started it ends; at first it does not.
    pub outlives_parent: bool,
}

impl Command {
    /// A program with its arguments, its whole environment and its working directory, which is ours if there is none.
    ///
    /// A program without a slash is looked for in PATH. A path with one goes from the working directory, and is not looked
    /// at before it is executed.
    ///
    /// # Errors
    /// If the program is not in PATH, or a string holds a zero byte.
    pub fn new(
        program: impl AsRef<OsStr>,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        directory: Option<&Path>,
    ) -> Result<Command, SpawnError> {
        let program = program.as_ref();
        let c_string = |text: &OsStr| c_string(program, text);
        let mut command = Command {
            path: c_string(program)?,
            arguments: vec![c_string(program)?],
            environment: Vec::new(),
            directory: directory.map(|path| c_string(path.as_os_str())).transpose()?,
            limits: Limits::default(),
            outlives_parent: false,
        };
        for argument in arguments {
            command.arguments.push(c_string(argument.as_ref())?);
        }
        for (variable, value) in environment {
            command.set_variable(variable, value)?;
        }
        if !program.as_bytes().contains(&b'/') {
            command.path = command.find()?;
        }
        Ok(command)
    }

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
            return Err(SpawnError::explained(SpawnStage::Prepare, invalid(), self.program(), explanation));
        }
        let entry = c_string(self.program(), OsStr::from_bytes(&[variable, b"=", value].concat()))?;
        let mut all = self.environment.iter_mut();
        match all.find(|old| value_of(old, variable).is_some()) {
            Some(old) => *old = entry,
            None => self.environment.push(entry),
        }
        Ok(())
    }

    /// The first executable file of its name in the PATH of its environment.
    fn find(&self) -> Result<CString, SpawnError> {
        let name = self.program();
        let path = self.environment.iter().find_map(|entry| value_of(entry, b"PATH"));
        let path = path.map_or(OsStr::new(DEFAULT_PATH), OsStr::from_bytes);
        let mut refused = None;
        for candidate in std::env::split_paths(path).map(|folder| folder.join(name)) {
            let seen_from_here = below(self.directory(), &candidate);
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

    /// The program as it was asked for.
    pub(super) fn program(&self) -> &OsStr {
        os_str(&self.arguments[0])
    }

    /// The file that is executed, as it is found from here.
    pub(super) fn file(&self) -> PathBuf {
        below(self.directory(), Path::new(os_str(&self.path)))
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref().map(|directory| Path::new(os_str(directory)))
    }
}

/// The value of an entry of an environment, if it is of this variable.
fn value_of<'a>(entry: &'a CStr, variable: &[u8]) -> Option<&'a [u8]> {
    entry.to_bytes().strip_prefix(variable)?.strip_prefix(b"=")
}

fn os_str(text: &CStr) -> &OsStr {
    OsStr::from_bytes(text.to_bytes())
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
