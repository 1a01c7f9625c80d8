//! `banyan bench predict`: what trees of up to a million members would do, from what a hop costs here.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use banyan_bench::Environment;
use banyan_bench::tree::{Costs, Prediction, calibrate, figures_plots, figures_table, predictions};
use clap::Args;
use serde_json::json;

use crate::tree::{make_directory, write_plots};
use banyan_cli::failure::{During, Failure, Outcome};
use banyan_cli::output;

/// Predict latency and throughput of trees of up to a million members, by a model
///
/// The model starts from what a hop between two processes costs on this machine. Every node has a processor of its own, and
/// nothing is lost or slow.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 something failed; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan bench predict --plot plots
  banyan bench predict --hop 5 --json")]
pub(crate) struct Predict {
    /// The time of a hop in your network, instead of the one measured on this machine
    #[arg(long, value_name = "MICROSECONDS", value_parser = microseconds)]
    hop: Option<f64>,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Write the SVG plots into this directory
    #[arg(long, alias = "svg", value_name = "DIRECTORY")]
    plot: Option<PathBuf>,
}

/// Longer than between any two hosts of this world.
const LONGEST_HOP: f64 = 1e6;

fn microseconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=LONGEST_HOP).contains(number));
    number.ok_or_else(|| format!("write a number from 0 to {LONGEST_HOP}"))
}

impl Predict {
    pub(crate) fn run(&self) -> Outcome {
        if let Some(directory) = &self.plot {
            make_directory(directory)?;
        }
        let mut environment = Environment::observe();
        let mut costs = calibrate().during("measuring what a hop costs")?;
        environment.finish();
        costs.hop_us = self.hop.unwrap_or(costs.hop_us);
        let rows = predictions(&costs);
        self.tell(&costs, &rows, &environment)?;
        if let Some(directory) = &self.plot {
            write_plots(directory, &figures_plots(&rows), self.json)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn tell(&self, costs: &Costs, rows: &[Prediction], at: &Environment) -> Result<(), Failure> {
        let mut out = output::stdout();
        if self.json {
            let is_given = self.hop.is_some();
            let figures = json!({ "costs": costs, "hop_is_given": is_given, "rows": rows });
            writeln!(out, "{}", json!({ "predict": figures, "environment": at }))?;
        } else {
            let Costs { hop_us, send_us, receive_us, wave_us } = costs;
            let from = if self.hop.is_some() { "as given" } else { "between two processes here" };
            writeln!(out, "{at}\n")?;
            writeln!(out, "A hop takes {hop_us:.1} µs ({from}). A node's processor spends {send_us:.2} µs to send")?;
            writeln!(
                out,
                "to a child, {receive_us:.2} µs to hear from one, and {wave_us:.3} µs for a child's part of a"
            )?;
            writeln!(out, "wave. What follows is a model: every node has a processor of its own, and nothing is")?;
            writeln!(out, "lost or slow.\n")?;
            write!(out, "{}", figures_table(rows))?;
        }
        Ok(out.flush()?)
    }
}
