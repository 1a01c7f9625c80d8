//! `banyan completions`: what a shell needs to complete the command's words, made from the arguments themselves.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
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
        clap_complete::generate(self.shell, &mut without_hidden(&Banyan::command()), "banyan", &mut text);
        out.write_all(&text)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What a generator needs of a command, without what is hidden: not all of them leave that out.
fn without_hidden(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(without_hidden);
    let shown = Command::new(command.get_name().to_owned()).args(arguments).subcommands(verbs);
    let shown = command.get_about().cloned().into_iter().fold(shown, Command::about);
    command.get_version().map(str::to_owned).into_iter().fold(shown, Command::version)
}
