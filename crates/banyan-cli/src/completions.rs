//! `banyan completions`: what a shell needs to complete the command's words, made from the arguments themselves.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::Banyan;
use crate::failure::Outcome;
use crate::output;

/// Print completions for a shell
#[derive(Args)]
#[command(after_help = "\
Where shells look for them:
  banyan completions bash > ~/.local/share/bash-completion/completions/banyan
  banyan completions zsh  > DIRECTORY_OF_FPATH/_banyan
  banyan completions fish > ~/.config/fish/completions/banyan.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self) -> Outcome {
        let mut out = output::stdout();
        // In memory first: the generator panics where it cannot write.
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut Banyan::command(), "banyan", &mut text);
        out.write_all(&text)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
