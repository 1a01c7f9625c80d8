//! `banyan records schema`: the formats in files, as declarations or as schemas.

use std::io::Write;
use std::process::ExitCode;

use banyan_ndr::schema::{json_schema, xml_schema};
use banyan_ndr::{Format, FormatId};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::source::Source;
use crate::failure::{Failure, Outcome};
use crate::output;

/// Show the formats in files.
#[derive(Args)]
pub(crate) struct Schema {
    /// Files of records; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// The language of the description
    #[arg(long = "as", value_name = "LANGUAGE", default_value = "text")]
    language: Language,
    /// Only formats of this name
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// One JSON object with all formats and their JSON Schemas
    #[arg(long)]
    json: bool,
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

impl Schema {
    pub(crate) fn run(self) -> Outcome {
        let formats = self.collect()?;
        let mut out = output::stdout();
        if self.json {
            let formats: Vec<_> = formats
                .iter()
                .map(|(format, records)| {
                    json!({
                        "name": format.name(), "id": format.id().to_string(), "records": records,
                        "bytes": format.size(), "schema": json_schema(format),
                    })
                })
                .collect();
            writeln!(out, "{}", json!({ "formats": formats }))?;
        } else {
            for (format, _) in &formats {
                writeln!(out, "{}", self.describe(format)?)?;
            }
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// The formats in the order in which their first records appear, with the number of records.
    fn collect(&self) -> Result<Vec<(Format, u64)>, Failure> {
        let mut formats: Vec<(Format, u64)> = Vec::new();
        let mut places: std::collections::HashMap<FormatId, usize> = std::collections::HashMap::new();
        for name in &self.files {
            let mut source = Source::open(name)?;
            while let Some(seen) = source.next()? {
                if self.format.as_ref().is_some_and(|wanted| wanted != seen.format.name()) {
                    continue;
                }
                let place = *places.entry(seen.format.id()).or_insert_with(|| {
                    formats.push((seen.format.clone(), 0));
                    formats.len() - 1
                });
                formats[place].1 += 1;
            }
        }
        Ok(formats)
    }

    fn describe(&self, format: &Format) -> Result<String, Failure> {
        Ok(match self.language {
            Language::Text => format.to_string(),
            Language::JsonSchema => serde_json::to_string_pretty(&json_schema(format)).map_err(Failure::new)?,
            Language::XmlSchema => xml_schema(format),
        })
    }
}
