//! `banyan records convert`: records into another kind of file, another layout, or fewer fields.

use std::collections::HashMap;
use std::process::ExitCode;

use banyan_ndr::{ByteOrder, Decoder, Format, FormatId, PointerWidth};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::import::{self, InputKind};
use super::sink::{OutputKind, Sink};
use super::source::Source;
use crate::failure::{During, Failure, Outcome};
use crate::progress::Progress;

/// Write records into another file, format or layout.
#[derive(Args)]
pub(crate) struct Convert {
    /// What to read: a file of records (Banyan, FFS, PBIO), or JSON lines or CSV with --schema; `-` for standard input
    input: String,
    /// What to write; `-` for standard output
    #[arg(default_value = "-")]
    output: String,
    /// Kind of the input; by its content and name otherwise
    #[arg(long, value_name = "KIND")]
    from: Option<InputKind>,
    /// Kind of the output; by its name otherwise, JSON lines on standard output
    #[arg(long, value_name = "KIND")]
    to: Option<OutputKind>,
    /// Format of JSON lines and CSV: a JSON Schema, an XML Schema (.xsd), or a file of records whose first format is
    /// taken
    #[arg(long, value_name = "FILE")]
    schema: Option<String>,
    /// Lay records out as this machine would
    #[arg(long, value_name = "MACHINE")]
    layout: Option<Layout>,
    /// Keep only these fields (`time,mesh.elems.temp`)
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    fields: Vec<String>,
    /// The field that holds a record's time, by which the written record file can be searched
    #[arg(long, value_name = "PATH")]
    time_field: Option<String>,
    /// Say how many records were converted as one JSON object on standard error
    #[arg(long)]
    json: bool,
}

/// Byte order and pointer width of a machine.
#[derive(Clone, Copy, ValueEnum)]
enum Layout {
    /// This machine
    Native,
    /// 64 bit, little-endian (x86-64, aarch64)
    Little64,
    /// 64 bit, big-endian (s390x)
    Big64,
    /// 32 bit, little-endian (x86, arm)
    Little32,
    /// 32 bit, big-endian (powerpc, sparc)
    Big32,
}

impl Layout {
    fn machine(self) -> (ByteOrder, PointerWidth) {
        match self {
            Layout::Native => (ByteOrder::NATIVE, PointerWidth::NATIVE),
            Layout::Little64 => (ByteOrder::Little, PointerWidth::Eight),
            Layout::Big64 => (ByteOrder::Big, PointerWidth::Eight),
            Layout::Little32 => (ByteOrder::Little, PointerWidth::Four),
            Layout::Big32 => (ByteOrder::Big, PointerWidth::Four),
        }
    }
}

impl Convert {
    pub(crate) fn run(self) -> Outcome {
        let kind = match self.to {
            Some(kind) => kind,
            None => OutputKind::of(&self.output)?,
        };
        let mut converter = Converter {
            sink: Sink::create(&self.output, kind, self.time_field.clone())?,
            decoder: Decoder::new(),
            targets: HashMap::new(),
            records: 0,
            progress: Progress::new(),
        };
        match self.from.or_else(|| InputKind::of(&self.input)) {
            Some(InputKind::Records) | None => self.records(&mut converter)?,
            Some(text) => self.text(text, &mut converter)?,
        }
        let Converter { sink, records, .. } = converter;
        sink.finish()?;
        if self.json {
            #[expect(clippy::print_stderr, reason = "the records themselves may be on standard output")]
            {
                eprintln!("{}", json!({ "input": self.input, "output": self.output, "records": records }));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn records(&self, converter: &mut Converter) -> Result<(), Failure> {
        let mut source = Source::open(&self.input)?;
        while let Some(seen) = source.next()? {
            let what = format!("{} record {}", self.input, seen.number);
            converter.convert(self, seen.format, seen.body).map_err(|failure| failure.within(&what))?;
        }
        converter.note_comments(&source)
    }

    fn text(&self, kind: InputKind, converter: &mut Converter) -> Result<(), Failure> {
        let Some(schema) = &self.schema else {
            return Err(Failure::usage("JSON lines and CSV need --schema FILE to say what their records are"));
        };
        let format = import::format(schema)?;
        import::records(&self.input, kind, &format, &mut |record| {
            let body = record.to_body().during(&self.input)?;
            converter.convert(self, &format, &body)
        })
    }

    /// What records of a format become.
    fn target(&self, source: &Format) -> Result<Format, Failure> {
        let mut target = source.clone();
        if !self.fields.is_empty() {
            let paths: Vec<&str> = self.fields.iter().map(String::as_str).collect();
            target = target.project(&paths).during("--fields")?;
        }
        if let Some(layout) = self.layout {
            let (order, pointer) = layout.machine();
            target = target.relaid(order, pointer).during("--layout")?;
        }
        Ok(target)
    }
}

/// Records on their way.
struct Converter {
    sink: Sink,
    decoder: Decoder,
    targets: HashMap<FormatId, Format>,
    records: u64,
    progress: Progress,
}

impl Converter {
    fn convert(&mut self, options: &Convert, format: &Format, body: &[u8]) -> Result<(), Failure> {
        if !self.targets.contains_key(&format.id()) {
            self.targets.insert(format.id(), options.target(format)?);
            self.decoder.learn(format).map_err(Failure::new)?;
        }
        let target = &self.targets[&format.id()];
        let view = self.decoder.convert(format.id(), body, target).map_err(Failure::new)?;
        self.sink.write(target, view.body())?;
        self.records += 1;
        self.progress.tell(|| format!("{} records", self.records));
        Ok(())
    }

    fn note_comments(&mut self, source: &Source) -> Result<(), Failure> {
        source.comments().iter().try_for_each(|comment| self.sink.comment(comment))?;
        source.attributes().iter().try_for_each(|(key, value)| self.sink.attribute(key, value))
    }
}
