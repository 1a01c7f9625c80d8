//! `banyan sim --figures`: what trees of up to a million members would do, from what a hop costs here.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use banyan_bench::Environment;
use banyan_bench::tree::{Costs, Prediction, calibrate, figures_plots, figures_table, predictions};
use clap::Args;
use serde_json::json;

use crate::bench::{make_directory, write_plots};
use crate::failure::{During, Failure, Outcome};
use crate::output;

#[derive(Args)]
pub(crate) struct Figures {
    /// Predict latency and throughput of up to a million members, from what a hop is measured to cost here
    #[arg(long, conflicts_with_all = super::OF_RUNS)]
    figures: bool,
    /// With --figures: the microseconds of a hop in your network, instead of those measured on this machine
    #[arg(long, value_name = "MICROSECONDS", requires = "figures", value_parser = microseconds)]
    hop: Option<f64>,
    /// With --figures: draw them into this directory, one SVG for each
    #[arg(long, alias = "svg", value_name = "DIRECTORY", requires = "figures")]
    plot: Option<PathBuf>,
}

/// Longer than between any two hosts of this world.
const LONGEST_HOP: f64 = 1e6;

fn microseconds(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=LONGEST_HOP).contains(number));
    number.ok_or_else(|| format!("write a number from 0 to {LONGEST_HOP}"))
}

impl Figures {
    /// Whether they are asked for.
    pub(super) fn are_wanted(&self) -> bool {
        self.figures
    }

    pub(super) fn run(&self, json: bool) -> Outcome {
        if let Some(directory) = &self.plot {
            make_directory(directory)?;
        }
        let mut environment = Environment::observe();
        let mut costs = calibrate().during("measuring what a hop costs")?;
        environment.finish();
        costs.hop_us = self.hop.unwrap_or(costs.hop_us);
        let rows = predictions(&costs);
        self.tell(&costs, &rows, &environment, json)?;
        if let Some(directory) = &self.plot {
            write_plots(directory, &figures_plots(&rows), json)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn tell(&self, costs: &Costs, rows: &[Prediction], at: &Environment, json: bool) -> Result<(), Failure> {
        let mut out = output::stdout();
        if json {
            let is_given = self.hop.is_some();
            let figures = json!({ "costs": costs, "hop_is_given": is_given, "rows": rows });
            writeln!(out, "{}", json!({ "sim": { "figures": figures }, "environment": at }))?;
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
