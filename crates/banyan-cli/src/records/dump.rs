//! `banyan records dump`: the records of files as text.

use std::io::Write;
use std::process::ExitCode;

use banyan_ndr::text::to_json;
use banyan_ndr::{Decoder, DynRecord, Limits, RecordView};
use clap::Args;
use serde_json::json;

use super::source::{Seen, Source};
use crate::failure::{During, Failure, Outcome};
use crate::output;

/// Show records.
#[derive(Args)]
pub(crate) struct Dump {
    /// Files of records; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Begin with the record of this number; the first is 0
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u64,
    /// Stop after so many records of each file
    #[arg(long, value_name = "COUNT", default_value_t = u64::MAX, hide_default_value = true)]
    limit: u64,
    /// Only records whose format has this name
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Only these fields (`time,mesh.elems.temp`)
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    fields: Vec<String>,
    /// Several lines a record
    #[arg(long)]
    pretty: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Dump {
    pub(crate) fn run(self) -> Outcome {
        let mut out = output::stdout();
        let mut bad = 0;
        for name in &self.files {
            let mut source = Source::open(name)?;
            source.skip_to(self.from)?;
            let mut left = self.limit;
            while left > 0 {
                let Some(seen) = source.next()? else { break };
                if self.format.as_ref().is_some_and(|wanted| wanted != seen.format.name()) {
                    continue;
                }
                left -= 1;
                bad += u64::from(!self.show(&mut out, name, &seen)?);
            }
        }
        out.flush()?;
        if bad > 0 {
            return Err(Failure::new(format!("{bad} records are invalid; they are marked above")));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Shows one record. False when it is invalid.
    fn show(&self, out: &mut impl Write, file: &str, seen: &Seen<'_>) -> Result<bool, Failure> {
        let shown = if self.fields.is_empty() {
            self.render(RecordView::new(seen.format, seen.body))
        } else {
            self.render_some(seen)?
        };
        let valid = shown.is_ok();
        if self.json {
            let value = match &shown {
                Ok(value) => format!("\"value\":{value}"),
                Err(error) => format!("\"error\":{}", json!(error)),
            };
            let (number, name, id) = (seen.number, json!(seen.format.name()), seen.format.id());
            let time = seen.time.map_or(String::new(), |time| format!("\"time\":{},", time.to_f64()));
            let file = json!(file);
            writeln!(out, "{{\"file\":{file},\"record\":{number},\"format\":{name},\"id\":\"{id}\",{time}{value}}}")?;
        } else {
            let value = shown.unwrap_or_else(|error| format!("INVALID: {error}"));
            writeln!(out, "{:>6}  {} {value}", seen.number, seen.format.name())?;
        }
        Ok(valid)
    }

    fn render(&self, view: Result<RecordView<'_>, banyan_ndr::DecodeError>) -> Result<String, String> {
        let view = view.map_err(|error| error.to_string())?;
        let record = DynRecord::from_body(view.format(), view.body(), &Limits::default());
        let record = record.map_err(|error| error.to_string())?;
        if self.json {
            return to_json(&record).map_err(|error| error.to_string());
        }
        Ok(if self.pretty { format!("{record:#}") } else { record.to_string() })
    }

    fn render_some(&self, seen: &Seen<'_>) -> Result<Result<String, String>, Failure> {
        let paths: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        let target = seen.format.project(&paths).during("--fields")?;
        let mut decoder = Decoder::new();
        decoder.learn(seen.format).map_err(Failure::new)?;
        Ok(self.render(decoder.convert(seen.format.id(), seen.body, &target)))
    }
}
