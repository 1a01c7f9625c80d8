//! `banyan bench layers`: where the performance goes.

use std::io::Write;
use std::process::ExitCode;

use banyan_bench::Environment;
use banyan_bench::layers::{self, LONGEST, LayersEffort, LayersPlan, SIZES, STEP};
use clap::Args;

use super::plot::Plot;
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::output;
use banyan_cli::progress::Progress;

#[derive(Args)]
pub(crate) struct LayersBench {
    /// The message size, a multiple of 8 up to 1 MiB; may be given several times [default: 64 B, 1, 16 and 64 KiB, 1 MiB]
    #[arg(long, value_name = "BYTES", value_parser = size)]
    size: Vec<usize>,
    /// Fewer and shorter repetitions: under 20 seconds
    #[arg(long)]
    quick: bool,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plot: Plot,
}

/// A size that every layer can carry.
fn size(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|bytes: &usize| (STEP..=LONGEST).contains(bytes) && bytes.is_multiple_of(STEP));
    size.ok_or_else(|| format!("messages are arrays of doubles: give a multiple of {STEP} up to {LONGEST}"))
}

impl LayersBench {
    pub(super) fn run(self) -> Outcome {
        self.plot.check()?;
        let mut environment = Environment::observe();
        let mut progress = Progress::start();
        let rows = layers::run(&self.plan(), &mut |at| progress.tell(|| format!("measuring: {at}")))
            .map_err(|error| Failure::new(format!("bench layers: {error}")))?;
        drop(progress);
        environment.finish();
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", layers::layers_json(&rows, &environment))?;
        } else {
            writeln!(out, "{environment}\n\n{}{}", layers::layers_table(&rows), layers::layers_words(&rows))?;
        }
        out.flush()?;
        self.plot.write("layers", &layers::layers_plot(&rows), self.json)?;
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> LayersPlan {
        let sizes = if self.size.is_empty() { SIZES.to_vec() } else { self.size.clone() };
        let effort = if self.quick { LayersEffort::QUICK } else { LayersEffort::FULL };
        LayersPlan { sizes, effort }
    }
}
