//! `banyan records stat`: what is in files, and what is damaged. Bodies are counted, not decoded.

use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

use banyan_files::Time;
use banyan_ndr::FormatId;
use clap::Args;
use serde_json::{Value, json};

use super::dump::number;
use super::foreign::Foreign;
use super::source::RecordSource;
use super::unread;
use crate::failure::{Failure, Outcome, warn};
use crate::output;
use crate::progress::Progress;
use crate::status::MEMBER_FAILED;

/// Count the records in files and report damage
///
/// Verifies every checksum and decodes no record. The exit status is 1 if anything is damaged. To save the intact records
/// of a damaged file: banyan records convert DAMAGED.bny SAVED.bny
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 damage or failure; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan records stat run.bny
  banyan records stat --json *.bny | jq '{file, records, lost: [.damage[].records_lost] | add}'")]
pub(crate) struct Stat {
    /// Record files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// One JSON object per file
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    foreign: Foreign,
}

/// Records of one format.
#[derive(Default, Clone, Copy)]
struct RecordCount {
    records: u64,
    bytes: u64,
}

/// What was counted in one file.
#[derive(Default)]
struct Counts {
    total: RecordCount,
    formats: HashMap<FormatId, RecordCount>,
    times: Option<(Time, Time)>,
}

impl Stat {
    pub(crate) fn run(self) -> Outcome {
        let mut out = output::stdout();
        let mut worst = 0;
        for name in &self.files {
            let counted =
                RecordSource::open(name, self.foreign).and_then(|mut source| Ok((count(&mut source)?, source)));
            let (counts, source) = match counted {
                Ok(counted) => counted,
                Err(failure) => {
                    worst = worst.max(unread::tell(&mut out, name, &failure, self.json)?);
                    continue;
                }
            };
            if self.json {
                writeln!(out, "{}", as_json(&source, &counts))?;
            } else {
                tell(&mut out, &source, &counts)?;
            }
            let harms = source.damage().len();
            if harms > 0 {
                out.flush()?;
                let (title, places) = (source.title(), plural(harms as u64, "place"));
                let remedy = "what is whole is saved by: banyan records convert";
                warn(format_args!("{title}: damaged in {places}; {remedy} {name} NEW.bny"));
            }
            worst = worst.max(u8::from(harms > 0) * MEMBER_FAILED);
        }
        out.flush()?;
        Ok(ExitCode::from(worst))
    }
}

fn count(source: &mut RecordSource) -> Result<Counts, Failure> {
    let mut counts = Counts::default();
    let mut progress = Progress::start();
    let of = source.len().map_or(String::new(), |len| format!(" of {len}"));
    let mut records = source.records(0)?;
    // Most records have the format of the one before: its count is kept at hand.
    let mut current: Option<(FormatId, RecordCount)> = None;
    while let Some(seen) = records.next()? {
        progress.tell(|| format!("{}{of} records", seen.number));
        let id = seen.format.id();
        if let Some((last, count)) = current.filter(|(last, _)| *last != id) {
            counts.formats.insert(last, count);
            current = None;
        }
        let (_, count) = current.get_or_insert_with(|| (id, counts.formats.get(&id).copied().unwrap_or_default()));
        count.records += 1;
        count.bytes += seen.body.len() as u64;
        if let Some(time) = seen.time {
            let (first, last) = counts.times.get_or_insert((time, time));
            (*first, *last) = ((*first).min(time), (*last).max(time));
        }
    }
    counts.formats.extend(current);
    for count in counts.formats.values() {
        counts.total.records += count.records;
        counts.total.bytes += count.bytes;
    }
    Ok(counts)
}

fn as_json(source: &RecordSource, counts: &Counts) -> Value {
    let formats: Vec<_> = source
        .formats()
        .iter()
        .map(|format| {
            let RecordCount { records, bytes } = counts.formats.get(&format.id()).copied().unwrap_or_default();
            json!({ "id": format.id().to_string(), "name": format.name(), "records": records, "bytes": bytes })
        })
        .collect();
    let exact = |time| serde_json::from_str(&number(time)).unwrap_or(Value::Null);
    let comments: Vec<_> =
        source.comments().into_iter().map(|(before, text)| json!({ "before_record": before, "text": text })).collect();
    json!({
        "file": source.name(),
        "kind": source.kind(),
        "finished": source.is_finished(),
        "records": counts.total.records,
        "bytes": counts.total.bytes,
        "formats": formats,
        "times": counts.times.map(|(first, last)| [exact(first), exact(last)]),
        "comments": comments,
        "attributes": source.attributes(),
        "damage": source.damage().iter().map(super::harm::Harm::to_json).collect::<Vec<_>>(),
    })
}

fn tell(out: &mut impl Write, source: &RecordSource, counts: &Counts) -> Result<(), Failure> {
    let RecordCount { records, bytes } = counts.total;
    let kind = if source.kind() == "ffs" { "FFS" } else { "Banyan" };
    writeln!(out, "{} ({kind}): {}, {bytes} bytes", source.title(), plural(records, "record"))?;
    for format in source.formats() {
        let RecordCount { records, bytes } = counts.formats.get(&format.id()).copied().unwrap_or_default();
        let (id, name) = (format.id(), format.name().escape_debug());
        writeln!(out, "  {:>18} {bytes:>14} bytes  {id} {name}", plural(records, "record"))?;
    }
    if let Some((first, last)) = counts.times {
        writeln!(out, "  times from {first} to {last}")?;
    }
    for (key, value) in source.attributes() {
        writeln!(out, "  attribute {} = {}", key.escape_debug(), value.escape_debug())?;
    }
    for (before, comment) in source.comments() {
        writeln!(out, "  comment before record {before}: {}", comment.escape_debug())?;
    }
    if source.is_finished() == Some(false) {
        writeln!(out, "  not finished: its writer is still at it, or did not end in order")?;
    }
    for harm in source.damage() {
        writeln!(out, "  DAMAGE {harm}")?;
    }
    Ok(())
}

fn plural(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
