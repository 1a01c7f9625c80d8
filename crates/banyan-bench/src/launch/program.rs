//! The member program, found beside the command.

use std::path::{Path, PathBuf};

/// What it is called.
const NAME: &str = "banyan-bench-member";

/// A member program and how it was built.
#[derive(Debug, Clone)]
pub struct Program {
    /// How it was built, for the tables.
    pub label: String,
    /// Where it is.
    pub path: PathBuf,
}

/// There is no member program.
#[derive(Debug, thiserror::Error)]
#[error(
    "{}: no such program; build it with `cargo build --release -p banyan-bench --no-default-features --bin {NAME}`, or \
     name one with --member", .0.display()
)]
pub struct MissingProgram(PathBuf);

impl Program {
    /// The one beside the program that runs now.
    ///
    /// # Errors
    /// If there is none.
    pub fn beside_this() -> Result<Program, MissingProgram> {
        let path = std::env::current_exe().unwrap_or_default().with_file_name(NAME);
        Program::checked("dynamic".into(), path)
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
            Ok(path) if path.is_file() => Ok(Program { label, path }),
            _ => Err(MissingProgram(path)),
        }
    }
}
