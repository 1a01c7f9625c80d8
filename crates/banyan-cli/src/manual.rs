//! `banyan manual`: the manual pages, made from the arguments themselves.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_mangen::Man;

use crate::failure::{Failure, Outcome};
use crate::output;

/// Print the manual page, or write the pages of all verbs into a directory
#[derive(Args)]
#[command(after_help = "\
Examples:
  banyan manual | man -l -
  banyan manual ~/.local/share/man/man1 && man banyan-run")]
pub struct Manual {
    /// The directory for banyan.1, banyan-run.1 and so on; created if missing
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

impl Manual {
    /// Prints or writes the pages of this command and its verbs.
    pub fn run(self, command: Command) -> Outcome {
        let command = command.disable_help_subcommand(true);
        match &self.directory {
            Some(directory) => {
                let written = fs::create_dir_all(directory).and_then(|()| clap_mangen::generate_to(command, directory));
                written.map_err(|error| Failure::system(directory.display(), &error))?;
            }
            None => {
                let mut out = output::stdout();
                Man::new(command).render(&mut out)?;
                out.flush()?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}
