//! The picture of a bench. One that was asked for is checked before minutes are spent on measuring; one that nobody asked for
//! is no reason to fail.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use banyan_cli::failure::{Failure, warn};
use banyan_cli::output;

/// Where nothing is drawn.
pub(super) const NOWHERE: &str = "none";

#[derive(Args)]
pub(super) struct Plot {
    /// The SVG file for the plot, or `none` [default: banyan-bench-NAME.svg, or none with --json]
    #[arg(long = "plot", value_name = "FILE")]
    file: Option<String>,
}

impl Plot {
    /// Refuses a place that was asked for and where nothing can be written. A file that is there keeps its content until the
    /// new plot is drawn.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let Some(file) = self.file.as_deref().filter(|file| *file != NOWHERE) else { return Ok(()) };
        let is_new = !Path::new(file).exists();
        let refused = |error| no_plot(file, &error);
        OpenOptions::new().append(true).create(true).open(file).map_err(refused)?;
        if is_new {
            fs::remove_file(file).map_err(refused)?;
        }
        Ok(())
    }

    /// Writes the plot of a bench, and tells people where it is.
    pub(super) fn write(&self, bench: &str, drawn: &str, json: bool) -> Result<(), Failure> {
        let usual = || (!json).then(|| format!("banyan-bench-{bench}.svg"));
        let Some(file) = self.file.clone().or_else(usual).filter(|file| file != NOWHERE) else { return Ok(()) };
        match fs::write(&file, drawn) {
            Ok(()) if json => Ok(()),
            Ok(()) => {
                let mut out = output::stdout();
                writeln!(out, "plot: {file}")?;
                Ok(out.flush()?)
            }
            Err(error) if self.file.is_some() => Err(no_plot(file, &error)),
            Err(error) => {
                warn(no_plot(file, &error).message());
                Ok(())
            }
        }
    }
}

/// Why there is no plot.
pub(super) fn no_plot(plot: impl std::fmt::Display, error: &io::Error) -> Failure {
    Failure::system(format_args!("--plot {plot}: cannot be written"), error).with_remedy("`none` draws none")
}
