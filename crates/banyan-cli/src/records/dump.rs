//! `banyan records dump`: the records of files as text.

use std::io::Write;
use std::process::ExitCode;

use banyan_files::Time;
use banyan_ndr::{DynRecord, FormatId, RecordView};
use banyan_text::write_json;
use clap::Args;
use serde_json::json;

use super::choice::Choice;
use super::foreign::Foreign;
use super::memory::{Memory, explain};
use super::reshape::Reshape;
use super::source::RecordSource;
use super::unread;
use super::walk::RecordSeen;
use crate::failure::{Failure, Outcome, warn};
use crate::output;
use crate::progress::Progress;
use crate::status::MEMBER_FAILED;

/// Show records
///
/// Prints one line per record: its number in the file, the name of its format, and its fields. Damaged parts are
/// skipped and reported on standard error. A record whose bytes contradict its format is marked INVALID. Both make the
/// exit status 1. `records stat` shows comments and attributes of a file.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 damage or failure; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan records dump run.bny --start 1000 --limit 3
  banyan records dump run.bny --format mesh --fields time,elems.temp
  banyan records dump old-ffs-file.bin --pretty
  banyan records dump run.bny --json | jq 'select(.value.celsius > 90)'
  ssh n17 cat run.bny | banyan records dump -")]
pub(crate) struct Dump {
    /// Record files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Start at this record; the first is 0
    #[arg(long, alias = "from", value_name = "NUMBER", default_value_t = 0)]
    start: u64,
    /// Show at most COUNT records of each file
    #[arg(long, value_name = "COUNT", default_value_t = u64::MAX, hide_default_value = true)]
    limit: u64,
    /// Show only records of this format: its name, or the first digits of its id
    #[arg(long, value_name = "NAME|ID")]
    format: Option<Choice>,
    /// Show only these fields (`time,mesh.elems.temp`)
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    fields: Vec<String>,
    /// Print each record on several lines
    #[arg(long, conflicts_with = "json")]
    pretty: bool,
    /// One JSON object per record: `{"file":…,"record":0,"format":…,"id":…,"value":{…}}`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: Memory,
    #[command(flatten)]
    foreign: Foreign,
}

impl Dump {
    pub(crate) fn run(self) -> Outcome {
        let mut printer = Printer {
            out: output::stdout(),
            reshape: Reshape::new(&self.fields, None),
            text: Vec::new(),
            label: None,
            invalid: 0,
        };
        let mut worst = 0;
        for name in &self.files {
            let status = match self.dump(name, &mut printer) {
                Ok(damaged) => u8::from(damaged) * MEMBER_FAILED,
                Err(failure) => unread::tell(&mut printer.out, name, &failure, self.json)?,
            };
            worst = worst.max(status);
        }
        printer.out.flush()?;
        if printer.invalid > 0 {
            warn(format_args!("{} invalid records; they are marked in the output", printer.invalid));
            worst = worst.max(MEMBER_FAILED);
        }
        Ok(ExitCode::from(worst))
    }

    /// Shows the records of one file. Returns whether it is damaged.
    fn dump(&self, name: &str, printer: &mut Printer) -> Result<bool, Failure> {
        let mut source = RecordSource::open(name, self.foreign)?;
        let mut progress = Progress::beside_output();
        let mut left = self.limit;
        printer.label = None;
        let mut records = source.records(self.start)?;
        while left > 0 {
            let Some(seen) = records.next()? else { break };
            progress.tell(|| format!("{name}: {} records", seen.number));
            if self.format.as_ref().is_none_or(|wanted| wanted.is(seen.format)) {
                left -= 1;
                printer.show(self, name, &seen).map_err(|failure| failure.within(name))?;
            }
        }
        drop(progress);
        if let Some(wanted) = self.format.as_ref().filter(|_| left > 0) {
            source.require_format(wanted)?;
        }
        printer.out.flush()?;
        Ok(source.warn_of_damage())
    }
}

/// Records on their way to standard output.
struct Printer {
    out: std::io::BufWriter<output::Stdout>,
    reshape: Reshape,
    /// The record at hand, shown whole or not at all.
    text: Vec<u8>,
    /// How records of the format met last are introduced in JSON.
    label: Option<(FormatId, String)>,
    invalid: u64,
}

impl Printer {
    fn show(&mut self, options: &Dump, file: &str, seen: &RecordSeen<'_>) -> Result<(), Failure> {
        self.reshape.prepare(seen.format)?;
        self.text.clear();
        let view = self.reshape.apply(seen.format, seen.body).map_err(|error| error.to_string());
        let error = view.and_then(|view| render(options, view, &mut self.text)).err();
        self.invalid += u64::from(error.is_some());
        if options.json {
            return self.show_json(file, seen, error);
        }
        write!(self.out, "{:>6}  ", seen.number)?;
        match error {
            Some(error) => write!(self.out, "{} INVALID: {error}", seen.format.name())?,
            None => self.out.write_all(&self.text)?,
        }
        Ok(self.out.write_all(b"\n")?)
    }

    fn show_json(&mut self, file: &str, seen: &RecordSeen<'_>, error: Option<String>) -> Result<(), Failure> {
        let id = seen.format.id();
        if self.label.as_ref().is_none_or(|(last, _)| *last != id) {
            self.label = Some((id, format!(r#""format":{},"id":"{id}""#, json!(seen.format.name()))));
        }
        let label = self.label.as_ref().map_or("", |(_, label)| label);
        write!(self.out, r#"{{"file":{},"record":{},{label}"#, json!(file), seen.number)?;
        if let Some(time) = seen.time {
            write!(self.out, r#","time":{}"#, number(time))?;
        }
        match error {
            Some(error) => writeln!(self.out, r#","error":{}}}"#, json!(error))?,
            None => {
                self.out.write_all(br#","value":"#)?;
                self.out.write_all(&self.text)?;
                self.out.write_all(b"}\n")?;
            }
        }
        Ok(())
    }
}

fn render(options: &Dump, view: RecordView<'_>, text: &mut Vec<u8>) -> Result<(), String> {
    let record = DynRecord::from_body(view.format(), view.body(), &options.memory.limits());
    let record = record.map_err(|error| explain(&error))?;
    if options.json {
        return write_json(&record, text).map_err(|error| error.to_string());
    }
    let written = if options.pretty { write!(text, "{record:#}") } else { write!(text, "{record}") };
    written.map_err(|error| error.to_string())
}

/// A time as a JSON number with all its digits; what JSON has no number for, as a text.
pub(super) fn number(time: Time) -> String {
    if time.to_f64().is_finite() { time.to_string() } else { format!("\"{time}\"") }
}
