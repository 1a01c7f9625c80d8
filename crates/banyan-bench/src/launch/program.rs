//! The member program: found beside the command, or the command itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::member::ROLE;

/// What it is called.
const NAME: &str = "banyan-bench-member";

/// A member program and how it was built.
#[derive(Debug, Clone)]
pub struct Program {
    /// How it was built, for the tables.
    pub label: String,
    /// Where it is.
    pub path: PathBuf,
    /// What makes it a member, before all other arguments.
    pub(super) role: Option<&'static str>,
}

/// There is no such member program.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: no such program; build one with `cargo build --release -p banyan-bench --no-default-features --bin {NAME}`, or \
     leave --member out", .0.display()
)]
pub struct MissingProgram(PathBuf);

impl Program {
    /// The one beside the program that runs now; where there is none, that one itself, which is larger than what people write.
    pub fn beside_this() -> Program {
        let command = std::env::current_exe().unwrap_or_default();
        let beside = Program::checked("dynamic".into(), command.with_file_name(NAME));
        beside.unwrap_or_else(|_| Program { label: "the command".into(), path: command, role: Some(ROLE) })
    }

    /// From `LABEL=PATH`, or a path, which is its own label.
    ///
    /// # Errors
    /// If there is no such program.
    pub fn named(text: &str) -> Result<Program, MissingProgram> {
        let (label, path) = text.split_once('=').unwrap_or((text, text));
        Program::checked(label.into(), Path::new(path).to_owned())
    }

    fn checked(label: String, path: PathBuf) -> Result<Program, MissingProgram> {
        match path.canonicalize() {
            Ok(path) if path.is_file() => Ok(Program { label, path, role: None }),
            _ => Err(MissingProgram(path)),
        }
    }

    /// What starts it.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(self.role);
        command
    }

    /// The same as words of a line of shell.
    pub(super) fn words(&self) -> OsString {
        let mut words = self.path.clone().into_os_string();
        self.role.iter().for_each(|role| words.push(format!(" {role}")));
        words
    }
}
