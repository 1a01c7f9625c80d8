//! `banyan bench exchange`: what one exchange of records costs, part by part.

use std::io::Write;
use std::process::ExitCode;

use banyan_bench::Environment;
use banyan_bench::exchange::{self, ExchangeEffort};
use clap::Args;

use super::plot::Plot;
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::output;
use banyan_cli::progress::Progress;

#[derive(Args)]
pub(crate) struct ExchangeBench {
    /// Fewer and shorter repetitions: under 20 seconds
    #[arg(long)]
    quick: bool,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plot: Plot,
}

impl ExchangeBench {
    pub(super) fn run(self) -> Outcome {
        self.plot.check()?;
        let effort = if self.quick { ExchangeEffort::QUICK } else { ExchangeEffort::FULL };
        let mut environment = Environment::observe();
        let mut progress = Progress::start();
        let rows = exchange::run(effort, &mut |at| progress.tell(|| format!("measuring: {at}")))
            .map_err(|error| Failure::new(format!("bench exchange: {error}")))?;
        drop(progress);
        environment.finish();
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", exchange::exchange_json(&rows, &environment))?;
        } else {
            writeln!(out, "{environment}\n\n{}\n{}", exchange::exchange_table(&rows), exchange::exchange_words(&rows))?;
        }
        out.flush()?;
        self.plot.write("exchange", &exchange::exchange_plot(&rows), self.json)?;
        Ok(ExitCode::SUCCESS)
    }
}
