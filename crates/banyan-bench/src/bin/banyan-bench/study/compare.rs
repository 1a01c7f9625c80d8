//! `banyan bench --compare OLD NEW`.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use banyan_bench::study::{Results, compare};

use super::directory::read_up_to;
use super::shown;
use banyan_cli::failure::{Failure, Outcome};
use banyan_cli::output;
use banyan_cli::screen::harmless_text;

/// Bytes of results: a million figures fit.
const MAX_BYTES: u64 = 512 << 20;

pub(super) fn run(old: &Path, new: &Path, json: bool) -> Outcome {
    let comparison = compare(&read(old)?, &read(new)?);
    let mut out = output::stdout();
    if json {
        let object = serde_json::to_value(&comparison).map_err(Failure::new)?;
        writeln!(out, "{object}")?;
    } else {
        write!(out, "{}", harmless_text(&comparison.table()))?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The results of a study: its directory, or the file.
fn read(path: &Path) -> Result<Results, Failure> {
    let file = if path.is_dir() { path.join("results.json") } else { path.to_owned() };
    let missing = || {
        Failure::usage(format!(
            "{}: no such file; give the directory of a study that has run, or its results.json",
            shown(&file)
        ))
    };
    let text = read_up_to(&file, MAX_BYTES)?.ok_or_else(missing)?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{}: no results of a study: {error}; give a results.json", shown(&file)))
    })
}
