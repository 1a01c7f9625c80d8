//! Records from text: JSON lines and CSV of a format that is given beside them.

use std::fs::File;
use std::io::{self, BufReader, Read};

use banyan_ndr::export::{CsvReader, JsonLines};
use banyan_ndr::schema::{format_from_json_schema, format_from_xml_schema};
use banyan_ndr::{ByteOrder, DynRecord, Format, Limits, PointerWidth};
use clap::ValueEnum;

use super::source::Source;
use crate::failure::{During, Failure};

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

/// The format that a file describes: a JSON Schema, an XML Schema, or the first format in a file of records.
pub(crate) fn format(path: &str) -> Result<Format, Failure> {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("json") => {
            let schema = serde_json::from_str(&read(path)?).during(path)?;
            format_from_json_schema(&schema, ByteOrder::NATIVE, PointerWidth::NATIVE).during(path)
        }
        Some("xsd") => format_from_xml_schema(&read(path)?, ByteOrder::NATIVE, PointerWidth::NATIVE).during(path),
        _ => {
            let mut source = Source::open(path)?;
            let first = source.next()?.map(|seen| seen.format.clone());
            first.ok_or_else(|| Failure::new(format!("{path}: has no record whose format could be taken")))
        }
    }
}

fn read(path: &str) -> Result<String, Failure> {
    std::fs::read_to_string(path).during(path)
}

/// Gives the records of a text one by one.
pub(crate) fn records(
    path: &str,
    kind: InputKind,
    format: &Format,
    each: &mut dyn FnMut(DynRecord) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let input: Box<dyn Read> =
        if path == "-" { Box::new(io::stdin()) } else { Box::new(File::open(path).during(path)?) };
    let input = BufReader::with_capacity(1 << 16, input);
    let limits = Limits::default();
    if kind == InputKind::Csv {
        let mut rows = CsvReader::new(input, format, limits).during(path)?;
        return rows.try_for_each(|record| each(record.during(path)?));
    }
    JsonLines::new(input, format, limits).try_for_each(|record| each(record.during(path)?))
}
