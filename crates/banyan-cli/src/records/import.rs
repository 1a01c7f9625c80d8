//! Records from text: JSON lines and CSV of a format that is given beside them.

use std::io::{BufReader, Read};

use banyan_ndr::{ByteOrder, DynRecord, Format, Limits, PointerWidth};
use banyan_text::export::{CsvReader, ImportError, JsonLines};
use banyan_text::schema::{format_from_json_schema, format_from_xml_schema};
use clap::ValueEnum;

use super::choice::{self, Choice};
use super::foreign::Foreign;
use super::source::{self, RecordSource};
use crate::failure::{During, Failure, cause};
use crate::progress::Progress;

/// Kinds of input.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputKind {
    /// A file of records: Banyan's, FFS's or PBIO's
    Records,
    /// One JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}

impl InputKind {
    /// By the name of the file, where that says it.
    pub(crate) fn of(path: &str) -> Option<InputKind> {
        match path.rsplit_once('.')?.1 {
            "jsonl" | "ndjson" => Some(InputKind::Jsonl),
            "csv" => Some(InputKind::Csv),
            _ => None,
        }
    }
}

/// The format that a file describes: a JSON Schema, an XML Schema, or a file of records. Of several formats the one
/// that is `wanted`.
pub(crate) fn format(path: &str, wanted: Option<&Choice>) -> Result<Format, Failure> {
    let mut first = Vec::new();
    if path != "-" {
        // Schemas are texts, and begin like one; a file of records begins otherwise.
        source::input(path)?.take(256).read_to_end(&mut first).map_err(|error| unreadable(path, &error))?;
    }
    let start = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&first).trim_ascii_start();
    let format = match start.first() {
        Some(b'{') => {
            let schema = serde_json::from_str(&read(path)?).during(format_args!("{path}: not JSON"))?;
            format_from_json_schema(&schema, ByteOrder::NATIVE, PointerWidth::NATIVE).during(path)?
        }
        Some(b'<') => format_from_xml_schema(&read(path)?, ByteOrder::NATIVE, PointerWidth::NATIVE).during(path)?,
        _ => return format_of_records(path, wanted),
    };
    match wanted {
        Some(wanted) if !wanted.is(&format) => {
            Err(Failure::new(format!("{path}: describes {}, not the {wanted} of --format", format.name())))
        }
        _ => Ok(format),
    }
}

fn format_of_records(path: &str, wanted: Option<&Choice>) -> Result<Format, Failure> {
    let mut source = RecordSource::open(path, Foreign::default())?;
    // Files that cannot be looked into at any place tell their formats as they are read.
    let mut progress = Progress::start();
    let mut records = source.records(0)?;
    while let Some(seen) = records.next()? {
        progress.tell(|| format!("{path}: {} records", seen.number));
    }
    drop(progress);
    if let Some(wanted) = wanted {
        source.require_format(wanted)?;
    }
    let mut formats = source.formats();
    formats.retain(|format| wanted.is_none_or(|wanted| wanted.is(format)));
    let several = formats.len() > 1;
    match formats.pop() {
        None => Err(Failure::new(format!("{}: has no format that could be taken", source.title()))),
        Some(format) if !several => Ok(format),
        Some(format) => {
            formats.push(format);
            Err(Failure::new(format!(
                "{}: has several formats: {}; choose one with --format NAME, or with the first digits of its id",
                source.title(),
                choice::list(&formats)
            )))
        }
    }
}

fn read(path: &str) -> Result<String, Failure> {
    let mut text = String::new();
    source::input(path)?.read_to_string(&mut text).map_err(|error| unreadable(path, &error))?;
    Ok(text.trim_start_matches('\u{feff}').to_owned())
}

fn unreadable(path: &str, error: &std::io::Error) -> Failure {
    Failure::new(format!("{path}: cannot be read: {}", cause(error)))
}

/// Gives the records of a text one by one.
pub(crate) fn records(
    path: &str,
    kind: InputKind,
    format: &Format,
    limits: Limits,
    each: &mut dyn FnMut(DynRecord) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let input = BufReader::with_capacity(1 << 16, source::input(path)?);
    let mut each = |record: Result<DynRecord, ImportError>| each(record.during(path)?);
    if kind == InputKind::Csv {
        let mut rows = CsvReader::new(input, format, limits).during(path)?;
        return rows.try_for_each(&mut each);
    }
    JsonLines::new(input, format, limits).try_for_each(&mut each)
}
