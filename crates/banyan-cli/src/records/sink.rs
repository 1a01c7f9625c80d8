//! Where converted records go.
//!
//! Nothing is left behind unless [`Sink::finish`] is reached.

use banyan_files::{Time, Writer, WriterOptions};
use banyan_ndr::{Format, Limits};
use banyan_text::export::{CsvWriter, ExportError, write_json_line};
use clap::ValueEnum;

use super::memory::explain;
use crate::failure::Failure;
use crate::output::Output;

/// Kinds of output.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputKind {
    /// A Banyan record file
    Records,
    /// One JSON object a line
    Jsonl,
    /// Comma-separated values; all records of one format
    Csv,
    /// Arrow IPC; all records of one format (needs a build with --features arrow)
    Arrow,
}

impl OutputKind {
    /// By the name of the file.
    pub(crate) fn of(path: &str) -> Result<OutputKind, Failure> {
        Ok(match path.rsplit_once('.').map(|(_, ending)| ending) {
            _ if path == "-" => OutputKind::Jsonl,
            Some("jsonl" | "ndjson") => OutputKind::Jsonl,
            Some("csv") => OutputKind::Csv,
            Some("arrow") => OutputKind::Arrow,
            Some("bny" | "records") => OutputKind::Records,
            _ => {
                return Err(Failure::usage(format!(
                    "{path}: what kind of file is it? Give --as records|jsonl|csv|arrow, or a name that ends in \
                     .bny, .jsonl, .csv or .arrow"
                )));
            }
        })
    }
}

/// A file being written.
pub(crate) enum Sink {
    Records(Box<Writer<Output>>),
    JsonLines(Output, Limits),
    /// The header is written with the first record, whose format it needs.
    Csv(CsvSink),
    #[cfg(feature = "arrow")]
    Arrow(ArrowSink),
}

/// CSV before and after its first record.
pub(crate) enum CsvSink {
    Waiting(Output, Limits),
    Started(Box<CsvWriter<Output>>),
    Broken,
}

#[cfg(feature = "arrow")]
pub(crate) enum ArrowSink {
    Waiting(Output, Limits),
    Started(Box<banyan_text::export::ArrowWriter<Output>>),
    Broken,
}

impl Sink {
    /// Creates the file.
    pub(crate) fn create(
        path: &str,
        kind: OutputKind,
        time_field: Option<String>,
        limits: Limits,
    ) -> Result<Sink, Failure> {
        if kind == OutputKind::Arrow && cfg!(not(feature = "arrow")) {
            return Err(Failure::usage(
                "this build writes no Arrow files; build it with: cargo build --features arrow",
            ));
        }
        let out = Output::create(path)?;
        Ok(match kind {
            OutputKind::Records => {
                let mut options = WriterOptions::default();
                options.time_field = time_field;
                Sink::Records(Box::new(Writer::stream(out, options).map_err(Failure::new)?))
            }
            OutputKind::Jsonl => Sink::JsonLines(out, limits),
            OutputKind::Csv => Sink::Csv(CsvSink::Waiting(out, limits)),
            #[cfg(feature = "arrow")]
            OutputKind::Arrow => Sink::Arrow(ArrowSink::Waiting(out, limits)),
            #[cfg(not(feature = "arrow"))]
            OutputKind::Arrow => unreachable!("refused above"),
        })
    }

    /// Writes a record. Its time, where it has one already, is kept where the kind of file can.
    pub(crate) fn write(&mut self, format: &Format, body: &[u8], time: Option<Time>) -> Result<(), Failure> {
        match self {
            Sink::Records(writer) => match time {
                Some(time) => writer.write_timed(format, body, time).map_err(Failure::new),
                None => writer.write_body(format, body).map_err(Failure::new),
            },
            Sink::JsonLines(out, limits) => write_json_line(format, body, limits, out).map_err(row_refused),
            Sink::Csv(sink) => sink.started(format)?.write(format, body).map_err(row_refused),
            #[cfg(feature = "arrow")]
            Sink::Arrow(sink) => sink.started(format)?.write(format, body).map_err(row_refused),
        }
    }

    /// Keeps a comment where the kind of file can.
    pub(crate) fn comment(&mut self, text: &str) -> Result<(), Failure> {
        match self {
            Sink::Records(writer) => writer.comment(text).map_err(Failure::new),
            _ => Ok(()),
        }
    }

    /// Keeps an attribute where the kind of file can.
    pub(crate) fn attribute(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        match self {
            Sink::Records(writer) => writer.attribute(key, value).map_err(Failure::new),
            _ => Ok(()),
        }
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let out = match self {
            Sink::Records(writer) => writer.finish().map_err(Failure::new)?,
            Sink::JsonLines(out, _) | Sink::Csv(CsvSink::Waiting(out, _)) => out,
            Sink::Csv(CsvSink::Started(writer)) => writer.finish().map_err(Failure::new)?,
            #[cfg(feature = "arrow")]
            Sink::Arrow(ArrowSink::Waiting(out, _)) => out,
            #[cfg(feature = "arrow")]
            Sink::Arrow(ArrowSink::Started(writer)) => writer.finish().map_err(Failure::new)?,
            // A table that could not be started has told of it.
            _ => return Ok(()),
        };
        out.keep()
    }
}

fn row_refused(error: ExportError) -> Failure {
    match error {
        ExportError::OtherFormat { .. } => Failure::new(
            "it has another format than the records before, but a table holds records of one: choose it with --format \
             NAME, or write --as jsonl",
        ),
        other => Failure::new(explain(&other)),
    }
}

macro_rules! started {
    ($sink:ident, $writer:ty) => {
        impl $sink {
            /// The writer, made for the format of the first record.
            fn started(&mut self, format: &Format) -> Result<&mut $writer, Failure> {
                if let $sink::Waiting(..) = self {
                    let $sink::Waiting(out, limits) = std::mem::replace(self, $sink::Broken) else { unreachable!() };
                    *self = $sink::Started(Box::new(<$writer>::new(out, format, limits).map_err(Failure::new)?));
                }
                match self {
                    $sink::Started(writer) => Ok(writer),
                    _ => Err(Failure::new("the output could not be started")),
                }
            }
        }
    };
}

started!(CsvSink, CsvWriter<Output>);
#[cfg(feature = "arrow")]
started!(ArrowSink, banyan_text::export::ArrowWriter<Output>);
