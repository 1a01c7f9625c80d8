//! `banyan records convert`: records into another kind of file, another layout, or fewer fields.

use std::io::Write;
use std::process::ExitCode;

use banyan_files::Time;
use banyan_ndr::{DefId, Format, Type};
use clap::Args;
use serde_json::json;

use super::choice::Choice;
use super::foreign::Foreign;
use super::import::{self, InputKind};
use super::memory::Memory;
use super::reshape::{Layout, Reshape};
use super::sink::{OutputKind, Sink};
use super::source::RecordSource;
use crate::failure::{During, Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::speech::take_output;

/// Convert records to another file, format or layout
///
/// The output file appears, or replaces an existing file, only when it is complete. A conversion that fails leaves no
/// file. If the input is damaged, all intact records are converted, the damage is reported on standard error, and the
/// exit status is 1.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 damage or failure; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan records convert old-ffs-file.bin run.bny         FFS or PBIO to a Banyan record file
  banyan records convert run.bny                          JSON lines on standard output
  banyan records convert run.bny hot.csv --format reading --fields time,celsius
  banyan records convert new.jsonl new.bny --schema run.bny --time-field time
  banyan records convert run.bny for-s390x.bny --layout big64
  zcat log.csv.gz | banyan records convert - log.bny --from csv --schema log.json")]
pub(crate) struct Convert {
    /// The input: a record file (Banyan, FFS, PBIO), or JSON lines or CSV with --schema; `-` is standard input
    input: String,
    /// The output; `-` is standard output
    #[arg(default_value = "-")]
    output: String,
    /// The kind of the input; by default, from the file name for CSV and JSON lines, from the content for record files
    #[arg(long, value_name = "KIND")]
    from: Option<InputKind>,
    /// The kind of the output; by default, from the file name, and JSON lines on standard output
    #[arg(long = "as", alias = "to", value_name = "KIND")]
    to: Option<OutputKind>,
    /// The format of JSON lines and CSV: a JSON Schema, an XML Schema, or a record file with this format
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    #[command(flatten)]
    memory: Memory,
    #[command(flatten)]
    foreign: Foreign,
    /// Convert only records of this format: its name, or the first digits of its id. For JSON lines and CSV, the format
    /// in the --schema file
    #[arg(long, value_name = "NAME|ID")]
    format: Option<Choice>,
    /// Write records in the layout of this machine
    #[arg(long, value_name = "MACHINE")]
    layout: Option<Layout>,
    /// Keep only these fields (`time,mesh.elems.temp`)
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    fields: Vec<String>,
    /// The field with the time of a record, which makes the written file searchable by time; by default, records keep the
    /// times of the input
    #[arg(long, value_name = "PATH")]
    time_field: Option<String>,
    /// Print the number of converted records as one JSON object, on standard error if records go to standard output
    #[arg(long)]
    json: bool,
}

impl Convert {
    pub(crate) fn run(self) -> Outcome {
        if self.output == "-" {
            take_output();
        }
        let kind = match self.to {
            Some(kind) => kind,
            None => OutputKind::of(&self.output)?,
        };
        let text = self.from.or_else(|| InputKind::of(&self.input)).filter(|kind| *kind != InputKind::Records);
        self.check(kind, text)?;
        let mut converter = Converter {
            sink: Sink::create(&self.output, kind, self.time_field.clone(), self.memory.limits())?,
            reshape: Reshape::new(&self.fields, self.layout),
            time_field: self.time_field.clone(),
            records: 0,
            progress: Progress::start(),
        };
        let damaged = match text {
            None => self.records(&mut converter)?,
            Some(kind) => self.text(kind, &mut converter)?,
        };
        let Converter { sink, records, time_field, progress, .. } = converter;
        drop(progress);
        if let Some(path) = time_field.filter(|_| records > 0) {
            return Err(Failure::new(format!("--time-field {path}: no record has such a field; see records schema")));
        }
        sink.finish().map_err(|failure| failure.within(&self.output))?;
        self.tell(records, damaged)?;
        Ok(if damaged { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Refuses what makes no sense before anything is read or written.
    fn check(&self, kind: OutputKind, text: Option<InputKind>) -> Result<(), Failure> {
        if self.time_field.is_some() && kind != OutputKind::Records {
            return Err(Failure::usage("--time-field is for record files; write one with --as records"));
        }
        match (text, &self.schema) {
            (Some(_), None) => Err(Failure::usage(format!(
                "{}: JSON lines and CSV do not say what their records are; give --schema FILE (a JSON Schema, an XML \
                 Schema, or a file of such records)",
                self.input
            ))),
            (None, Some(_)) => Err(Failure::usage(format!(
                "{}: --schema is for JSON lines and CSV; if it is that, say so with --from jsonl or --from csv",
                self.input
            ))),
            (Some(_), Some(schema)) if schema == "-" && self.input == "-" => {
                Err(Failure::usage("standard input cannot be both the input and its schema"))
            }
            _ => Ok(()),
        }
    }

    /// Converts a file of records. Returns whether it is damaged.
    fn records(&self, converter: &mut Converter) -> Result<bool, Failure> {
        let mut source = RecordSource::open(&self.input, self.foreign)?;
        let mut early = source.comments().into_iter().peekable();
        let mut comments = 0;
        let mut records = source.records(0)?;
        while let Some(seen) = records.next()? {
            while let Some((_, text)) = early.next_if(|(before, _)| *before <= seen.number) {
                converter.sink.comment(&text)?;
                comments += 1;
            }
            if self.format.as_ref().is_none_or(|wanted| wanted.is(seen.format)) {
                let within = |failure: Failure| failure.within(format_args!("{} record {}", self.input, seen.number));
                // A field that was asked for holds the time; else it is what the file says it is.
                let time = seen.time.filter(|_| self.time_field.is_none());
                converter.convert(seen.format, seen.body, time).map_err(within)?;
            }
        }
        if let Some(wanted) = &self.format {
            source.require_format(wanted)?;
        }
        // Where comments stand is known beforehand only in files that can be looked into at any place.
        source.comments().iter().skip(comments).try_for_each(|(_, text)| converter.sink.comment(text))?;
        source.attributes().iter().try_for_each(|(key, value)| converter.sink.attribute(key, value))?;
        Ok(source.warn_of_damage())
    }

    /// Converts JSON lines or CSV, of which nothing is ever left out.
    fn text(&self, kind: InputKind, converter: &mut Converter) -> Result<bool, Failure> {
        let schema = self.schema.as_deref().unwrap_or_default();
        let format = import::format(schema, self.format.as_ref())?;
        import::records(&self.input, kind, &format, self.memory.limits(), &mut |record| {
            let body = record.to_body().during(&self.input)?;
            converter.convert(&format, &body, None).map_err(|failure| failure.within(&self.input))
        })?;
        Ok(false)
    }

    fn tell(&self, records: u64, damaged: bool) -> Result<(), Failure> {
        let line = json!({ "input": self.input, "output": self.output, "records": records, "damaged": damaged });
        match (self.json, self.output.as_str()) {
            (false, _) => Ok(()),
            (true, "-") => Ok(writeln!(std::io::stderr(), "{line}")?),
            (true, _) => {
                let mut out = output::stdout();
                writeln!(out, "{line}")?;
                Ok(out.flush()?)
            }
        }
    }
}

/// Whether a field, which may be in records in place, is a number that times can be: an integer, or a float of 4 or 8
/// bytes.
fn is_number(format: &Format, path: &str) -> bool {
    let mut at = DefId::ROOT;
    for name in path.split('.') {
        match format.field_of(at, name).map(|(_, field)| &field.ty) {
            Some(Type::Record(inner)) => at = *inner,
            found => return matches!(found, Some(Type::Int { .. } | Type::Float { width: 4 | 8 })),
        }
    }
    false
}

/// Records on their way.
struct Converter {
    sink: Sink,
    reshape: Reshape,
    /// The time field until a format that has it was met.
    time_field: Option<String>,
    records: u64,
    progress: Progress,
}

impl Converter {
    fn convert(&mut self, format: &Format, body: &[u8], time: Option<Time>) -> Result<(), Failure> {
        self.reshape.prepare(format)?;
        let view = self.reshape.apply(format, body).map_err(Failure::new)?;
        if let Some(path) = self.time_field.take_if(|path| view.format().project(&[&**path]).is_ok())
            && !is_number(view.format(), &path)
        {
            return Err(Failure::new(format!(
                "--time-field {path}: is not a number, so it cannot be a time; see records schema"
            )));
        }
        self.sink.write(view.format(), view.body(), time)?;
        self.records += 1;
        self.progress.tell(|| format!("{} records", self.records));
        Ok(())
    }
}
