//! `banyan bench tree`: what a tree of processes costs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use banyan_bench::Environment;
use banyan_bench::tree::{self, Op, QUICK_SHAPES, SHAPES, Shape, TreeEffort, TreePlan};
use clap::Args;

use super::plot::NOWHERE;
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::output;
use banyan_cli::progress::Progress;

#[derive(Args)]
pub(crate) struct TreeBench {
    /// Children per node, level by level from the front-end; may be given several times
    #[arg(long, value_name = "AxB")]
    shape: Vec<Shape>,
    /// What to measure: instantiate, round_trip, waves, array_sum, broadcast, recovery or memory; may be given several
    /// times
    #[arg(long, value_name = "OP")]
    op: Vec<Op>,
    /// Measure two shapes instead of six, with fewer and shorter repetitions
    #[arg(long)]
    quick: bool,
    /// One JSON object instead of tables
    #[arg(long)]
    json: bool,
    /// Write an SVG plot of each operation into this directory; `none`, the default, writes none
    #[arg(long, alias = "svg", value_name = "DIRECTORY")]
    plot: Option<PathBuf>,
}

impl TreeBench {
    pub(super) fn run(self) -> Outcome {
        let plan = self.plan();
        // Before minutes are spent on measuring.
        let plots = self.plot.as_deref().filter(|directory| *directory != Path::new(NOWHERE));
        plots.map_or(Ok(()), make_directory)?;
        let mut environment = Environment::observe();
        let mut progress = Progress::start();
        let rows = tree::run(&plan, &mut |at| progress.tell(|| format!("measuring: {at}")))
            .map_err(|error| Failure::new(format!("bench tree: {error}")))?;
        drop(progress);
        environment.finish();
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", tree::tree_json(&rows, &environment))?;
        } else {
            write!(out, "{environment}\n\n{}", tree::tree_table(&rows))?;
        }
        out.flush()?;
        if let Some(directory) = plots {
            write_plots(directory, &tree::tree_plots(&rows), self.json)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn plan(&self) -> TreePlan {
        let usual: &[&str] = if self.quick { &QUICK_SHAPES } else { &SHAPES };
        let shapes = match &self.shape[..] {
            [] => usual.iter().map(|shape| shape.parse().expect("a shape of our own")).collect(),
            chosen => chosen.to_vec(),
        };
        let ops = if self.op.is_empty() { Op::ALL.to_vec() } else { self.op.clone() };
        let effort = if self.quick { TreeEffort::QUICK } else { TreeEffort::FULL };
        TreePlan { shapes, ops, effort }
    }
}

/// Makes the directory for plots, or says why there can be none.
pub(crate) fn make_directory(directory: &Path) -> Result<(), Failure> {
    let made = fs::create_dir_all(directory);
    made.map_err(|error| Failure::system(format_args!("--plot {}", directory.display()), &error))
}

/// Writes plots by their names, and tells people where they are.
pub(crate) fn write_plots(directory: &Path, plots: &[(String, String)], quiet: bool) -> Result<(), Failure> {
    let mut out = output::stdout();
    for (name, drawn) in plots {
        let path = directory.join(name);
        fs::write(&path, drawn).map_err(|error| super::plot::no_plot(path.display(), &error))?;
        if !quiet {
            writeln!(out, "plot: {}", path.display())?;
        }
    }
    Ok(out.flush()?)
}
