//! The figures of a study, one row for each measured value: as JSON, as CSV and as a record file.

use std::collections::BTreeMap;
use std::io::Write;

use banyan_files::{WriteError, Writer, WriterOptions};
use banyan_ndr::typed::encode_body_into;
use banyan_ndr::{EncodeError, Limits, Record};
use banyan_text::export::{CsvWriter, ExportError};
use serde::{Deserialize, Serialize};

use super::{OutputError, Run};
use crate::Environment;

/// One measured value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Figure {
    /// Of which study.
    pub study: String,
    /// Of which run.
    pub run: u32,
    /// Which bench.
    pub bench: String,
    /// Who was measured.
    pub system: String,
    /// What it did.
    pub op: String,
    /// With what: what the row of the bench says, and what the plan says beyond that.
    pub parameters: BTreeMap<String, String>,
    /// The value.
    pub value: f64,
    /// What it counts.
    pub unit: String,
    /// Which repetition of its configuration, from 1.
    pub repetition: u32,
}

/// All figures of a study, as `results.json` has them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Results {
    /// The study.
    pub study: String,
    /// Runs that are over.
    pub runs: u32,
    /// Those of them that failed.
    pub failed: Vec<u32>,
    /// The machines and builds, each once.
    #[serde(default)]
    pub environments: Vec<Environment>,
    /// The rows.
    pub figures: Vec<Figure>,
}

/// Why results could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteResultsError {
    /// As a record file.
    #[error(transparent)]
    Records(#[from] WriteError),
    /// As CSV.
    #[error(transparent)]
    Csv(#[from] ExportError),
    /// A row could not be made into a record.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

/// A row as a record, and as the columns of CSV.
#[derive(Record)]
#[record(rename = "figure")]
struct FigureRecord {
    study: String,
    run: u32,
    bench: String,
    system: String,
    op: String,
    parameters: String,
    value: f64,
    unit: String,
    repetition: u32,
}

impl Figure {
    fn row(&self) -> FigureRecord {
        FigureRecord {
            study: self.study.clone(),
            run: self.run,
            bench: self.bench.clone(),
            system: self.system.clone(),
            op: self.op.clone(),
            parameters: one_text(&self.parameters),
            value: self.value,
            unit: self.unit.clone(),
            repetition: self.repetition,
        }
    }
}

/// Parameters as one text, in the order of their names: `members=64 shape=4x16`.
pub(super) fn one_text(parameters: &BTreeMap<String, String>) -> String {
    let words: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    words.join(" ")
}

impl Results {
    /// What came of these runs.
    ///
    /// # Errors
    /// If one of them has an output that is not what benches print.
    pub fn of(study: &str, runs: &[Run]) -> Result<Results, OutputError> {
        let mut results = Results { study: study.to_owned(), runs: runs.len() as u32, ..Results::default() };
        for run in runs {
            results.figures.extend(run.figures(study)?);
            results.failed.extend(run.error().map(|_| run.run));
            if !results.environments.iter().any(|other| other.is_same_place(&run.environment)) {
                results.environments.push(run.environment.clone());
            }
        }
        Ok(results)
    }

    /// One JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and texts have a JSON form")
    }

    /// Comma-separated values with a header.
    ///
    /// # Errors
    /// If `out` takes no more.
    pub fn write_csv(&self, out: impl Write) -> Result<(), WriteResultsError> {
        let mut csv = CsvWriter::new(out, FigureRecord::format(), Limits::default())?;
        for figure in &self.figures {
            let mut body = Vec::new();
            encode_body_into(&figure.row(), &mut body)?;
            csv.write(FigureRecord::format(), &body)?;
        }
        csv.finish()?.flush().map_err(ExportError::from)?;
        Ok(())
    }

    /// A record file, with records of one format `figure`.
    ///
    /// # Errors
    /// If `out` takes no more.
    pub fn write_records(&self, out: impl Write) -> Result<(), WriteResultsError> {
        let mut writer = Writer::stream(out, WriterOptions::default())?;
        writer.attribute("study", &self.study)?;
        for figure in &self.figures {
            writer.write(&figure.row())?;
        }
        writer.finish()?.flush().map_err(WriteError::from)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use banyan_files::Reader;
    use banyan_ndr::{Buffer, RecordView};

    use super::super::compare::tests::figures;
    use super::*;

    fn results() -> Results {
        let figures = figures("banyan", "µs", &[1.5, 2.5]);
        Results { study: "a, b".into(), runs: 2, failed: vec![2], figures, ..Results::default() }
    }

    #[test]
    fn all_forms_have_a_row_for_each_value() {
        let results = results();
        assert_eq!(serde_json::from_str::<Results>(&results.to_json()).unwrap(), results);
        let mut csv = Vec::new();
        results.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "study,run,bench,system,op,parameters,value,unit,repetition");
        assert_eq!(lines[2], "s,2,tree,banyan,round_trip,members=64,2.5,µs,2");
        let mut records = Vec::new();
        results.write_records(&mut records).unwrap();
        let reader = Reader::from_bytes(Buffer::from_slice(&records)).unwrap();
        let record = reader.record(1).unwrap();
        let view = RecordView::new(record.format, record.body).unwrap();
        assert_eq!((reader.len(), view.value::<f64>("value").unwrap()), (2, 2.5));
    }
}
