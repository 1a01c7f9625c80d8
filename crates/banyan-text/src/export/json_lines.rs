//! Records as lines of JSON, in the form of [`to_json`](crate::to_json).

use std::io::{BufRead, Write};

use super::error::{ExportError, ImportError};
use crate::{TextError, from_json, write_json};
use banyan_ndr::{DynRecord, Format, Limits};

/// Writes a record as one line. The writer should be buffered.
pub fn write_json_line(format: &Format, body: &[u8], limits: &Limits, mut out: impl Write) -> Result<(), ExportError> {
    let record = DynRecord::from_body(format, body, limits)?;
    write_json(&record, &mut out)?;
    Ok(out.write_all(b"\n")?)
}

/// Reads the records of a format from lines of JSON; empty lines are left out. A line that is no such record is an
/// error; the next call goes on behind it.
#[derive(Debug)]
pub struct JsonLines<R> {
    input: R,
    format: Format,
    limits: Limits,
    line: u64,
    text: Vec<u8>,
}

impl<R: BufRead> JsonLines<R> {
    /// Reads from `input`.
    pub fn new(input: R, format: &Format, limits: Limits) -> JsonLines<R> {
        JsonLines { input, format: format.clone(), limits, line: 0, text: Vec::new() }
    }

    fn read_line(&mut self) -> std::io::Result<bool> {
        self.text.clear();
        self.line += 1;
        Ok(self.input.read_until(b'\n', &mut self.text)? > 0)
    }

    fn parse(&self) -> Result<DynRecord, ImportError> {
        let text = str::from_utf8(&self.text).map_err(|error| TextError::Syntax {
            line: 1,
            column: error.valid_up_to() + 1,
            reason: "this is not UTF-8".into(),
        });
        let record = text.and_then(|text| from_json(&self.format, text, &self.limits));
        record.map_err(|source| ImportError::Line { line: self.line, source })
    }
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Result<DynRecord, ImportError>;

    fn next(&mut self) -> Option<Result<DynRecord, ImportError>> {
        loop {
            match self.read_line() {
                Ok(false) => return None,
                Ok(true) if self.text.trim_ascii().is_empty() => {}
                Ok(true) => return Some(self.parse()),
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}
