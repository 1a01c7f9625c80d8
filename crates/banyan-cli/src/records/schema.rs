//! `banyan records schema`: the formats in files, as declarations or as schemas.

use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

use banyan_ndr::{Format, FormatId};
use banyan_text::schema::{json_schema, xml_schema};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::choice::Choice;
use super::foreign::Foreign;
use super::source::RecordSource;
use super::unread;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::speech::complain;
use crate::status::MEMBER_FAILED;

/// Show the formats in files
///
/// Each format is shown once, in order of first appearance, even if no record uses it.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 success; 1 damage or failure; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan records schema run.bny
  banyan records schema run.bny --format mesh --as json-schema > mesh.json
  banyan records convert mesh.jsonl mesh.bny --schema mesh.json")]
pub(crate) struct Schema {
    /// Record files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The output format
    #[arg(long = "as", value_name = "LANGUAGE", default_value = "text")]
    language: Language,
    /// Show only this format: its name, or the first digits of its id
    #[arg(long, value_name = "NAME|ID")]
    format: Option<Choice>,
    /// One JSON object with all formats and their JSON Schemas
    #[arg(long, conflicts_with = "language")]
    json: bool,
    #[command(flatten)]
    foreign: Foreign,
}

#[derive(Clone, Copy, ValueEnum)]
enum Language {
    /// Like a declaration, with offsets
    Text,
    /// JSON Schema (draft 2020-12)
    JsonSchema,
    /// XML Schema (XSD 1.0)
    XmlSchema,
}

/// Formats in order, and how many records of each there are.
#[derive(Default)]
struct FoundFormats {
    formats: Vec<Format>,
    records: HashMap<FormatId, u64>,
    /// Files without an answer, for programs.
    unread: Vec<Value>,
    /// The worst that a file deserves.
    status: u8,
}

impl Schema {
    pub(crate) fn run(self) -> Outcome {
        let mut found = FoundFormats::default();
        for name in &self.files {
            if let Err(failure) = self.collect(name, &mut found) {
                complain(failure.message());
                found.status = found.status.max(failure.status());
                found.unread.push(unread::object(name, &failure));
            }
        }
        let mut out = output::stdout();
        if self.json {
            writeln!(out, "{}", as_json(&found))?;
        } else {
            for (position, format) in found.formats.iter().enumerate() {
                let gap = if position > 0 { "\n" } else { "" };
                writeln!(out, "{gap}{}", self.describe(format)?.trim_end())?;
            }
        }
        out.flush()?;
        Ok(ExitCode::from(found.status))
    }

    fn collect(&self, name: &str, found: &mut FoundFormats) -> Result<(), Failure> {
        let mut source = RecordSource::open(name, self.foreign)?;
        let mut progress = Progress::start();
        let mut records = source.records(0)?;
        while let Some(seen) = records.next()? {
            progress.tell(|| format!("{name}: {} records", seen.number));
            *found.records.entry(seen.format.id()).or_default() += 1;
        }
        if let Some(wanted) = &self.format {
            source.require_format(wanted)?;
        }
        for format in source.formats() {
            let wanted = self.format.as_ref().is_none_or(|wanted| wanted.is(&format));
            if wanted && !found.formats.contains(&format) {
                found.formats.push(format);
            }
        }
        if source.warn_of_damage() {
            found.status = found.status.max(MEMBER_FAILED);
        }
        Ok(())
    }

    fn describe(&self, format: &Format) -> Result<String, Failure> {
        Ok(match self.language {
            Language::Text => format.to_string(),
            Language::JsonSchema => serde_json::to_string_pretty(&json_schema(format)).map_err(Failure::new)?,
            Language::XmlSchema => xml_schema(format),
        })
    }
}

fn as_json(found: &FoundFormats) -> Value {
    let formats: Vec<_> = found
        .formats
        .iter()
        .map(|format| {
            json!({
                "name": format.name(), "id": format.id().to_string(), "bytes": format.size(),
                "records": found.records.get(&format.id()).copied().unwrap_or(0), "schema": json_schema(format),
            })
        })
        .collect();
    let mut object = json!({ "formats": formats });
    if !found.unread.is_empty() {
        object["unread"] = found.unread.clone().into();
        object["exit_status"] = found.status.into();
    }
    object
}
