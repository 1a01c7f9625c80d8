//! `banyan records stat`: what is in files, and what is damaged.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::source::Source;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;

/// Count what is in files.
#[derive(Args)]
pub(crate) struct Stat {
    /// Files of records; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// One JSON object a file
    #[arg(long)]
    json: bool,
}

/// Records of one format.
#[derive(Default)]
struct Count {
    name: String,
    records: u64,
    bytes: u64,
}

/// What was counted in one file.
#[derive(Default)]
struct Counts {
    formats: BTreeMap<String, Count>,
    times: Option<(f64, f64)>,
}

impl Stat {
    pub(crate) fn run(self) -> Outcome {
        let mut out = output::stdout();
        let mut damaged = false;
        for name in &self.files {
            let mut source = Source::open(name)?;
            let counts = count(&mut source)?;
            damaged |= !source.damage().is_empty();
            if self.json {
                writeln!(out, "{}", as_json(&source, &counts))?;
            } else {
                tell(&mut out, &source, &counts)?;
            }
        }
        out.flush()?;
        Ok(if damaged { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn count(source: &mut Source) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let mut progress = Progress::new();
    while let Some(seen) = source.next()? {
        progress.tell(|| format!("{} records", seen.number));
        let count = counts.formats.entry(seen.format.id().to_string()).or_default();
        if count.name.is_empty() {
            count.name = seen.format.name().to_owned();
        }
        count.records += 1;
        count.bytes += seen.body.len() as u64;
        if let Some(time) = seen.time.map(|time| time.to_f64()) {
            let (first, last) = counts.times.get_or_insert((time, time));
            (*first, *last) = (first.min(time), last.max(time));
        }
    }
    Ok(counts)
}

fn as_json(source: &Source, counts: &Counts) -> serde_json::Value {
    let formats: Vec<_> = counts
        .formats
        .iter()
        .map(|(id, count)| json!({ "id": id, "name": count.name, "records": count.records, "bytes": count.bytes }))
        .collect();
    let damage: Vec<_> = source
        .damage()
        .iter()
        .map(|damage| {
            json!({
                "offset": damage.offset, "length": damage.length, "records_lost": damage.records_lost,
                "reason": damage.reason.to_string(),
            })
        })
        .collect();
    json!({
        "file": source.name(), "kind": source.kind(),
        "records": counts.formats.values().map(|count| count.records).sum::<u64>(),
        "bytes": counts.formats.values().map(|count| count.bytes).sum::<u64>(),
        "formats": formats, "times": counts.times.map(|(first, last)| [first, last]),
        "comments": source.comments(),
        "attributes": source.attributes().into_iter().collect::<BTreeMap<_, _>>(),
        "damage": damage,
    })
}

fn tell(out: &mut impl Write, source: &Source, counts: &Counts) -> Result<(), Failure> {
    let records: u64 = counts.formats.values().map(|count| count.records).sum();
    let bytes: u64 = counts.formats.values().map(|count| count.bytes).sum();
    writeln!(out, "{} ({}): {records} records, {bytes} bytes", source.name(), source.kind())?;
    for (id, count) in &counts.formats {
        writeln!(out, "  {:>10} records {:>14} bytes  {} {id}", count.records, count.bytes, count.name)?;
    }
    if let Some((first, last)) = counts.times {
        writeln!(out, "  times {first} to {last}")?;
    }
    for (key, value) in source.attributes() {
        writeln!(out, "  attribute {} = {}", key.escape_debug(), value.escape_debug())?;
    }
    for comment in source.comments() {
        writeln!(out, "  comment {}", comment.escape_debug())?;
    }
    for damage in source.damage() {
        writeln!(out, "  DAMAGE {damage}")?;
    }
    Ok(())
}
