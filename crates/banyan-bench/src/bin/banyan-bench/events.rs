//! `banyan bench events`: what events cost a program and its observer.

use std::io::Write;
use std::process::ExitCode;

use banyan_bench::events::{self, Promise};
use banyan_bench::{Effort, Environment};
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::output;
use banyan_cli::progress::Progress;
use clap::Args;

#[derive(Args)]
pub(crate) struct EventsBench {
    /// Fewer and shorter batches: under 5 seconds
    #[arg(long)]
    quick: bool,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Columns of what is promised.
const PROMISE: usize = 66;

impl EventsBench {
    pub(super) fn run(self) -> Outcome {
        let effort = if self.quick { Effort::QUICK } else { Effort::FULL };
        let mut environment = Environment::observe();
        let mut progress = Progress::start();
        let figures = events::run(effort, &mut |what| progress.tell(|| format!("measuring: {what}")))
            .map_err(|error| Failure::new(format!("bench events: {error}")))?;
        drop(progress);
        environment.finish();
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", events::events_json(&figures, &environment))?;
        } else {
            writeln!(
                out,
                "{environment}\n\n{}\n{:<PROMISE$}{:>10}",
                events::events_table(&figures),
                "promised",
                "measured"
            )?;
            for Promise { what, measured, kept } in events::promises(&figures.rows) {
                let verdict = if kept { "kept" } else { "missed here" };
                writeln!(out, "  {what:<width$}{measured:>10}  {verdict}", width = PROMISE - 2)?;
            }
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
