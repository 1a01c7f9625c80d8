//! `banyan topo`: trees of processes, made, checked and drawn before anything is started.

mod check;
mod draw;
mod facts;
mod generate;
mod source;

use crate::failure::Outcome;

/// The verbs. A topology is a word such as 4x16, or a file in Banyan's or MRNet's notation; `-` is standard input.
#[derive(clap::Subcommand)]
pub(crate) enum Topo {
    Gen(generate::Generate),
    Check(check::Check),
    Draw(draw::Draw),
}

impl Topo {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Topo::Gen(generate) => generate.run(),
            Topo::Check(check) => check.run(),
            Topo::Draw(draw) => draw.run(),
        }
    }
}
