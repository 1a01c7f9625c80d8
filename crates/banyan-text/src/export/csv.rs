//! Records as rows of comma-separated values, with a header (RFC 4180).
//!
//! A field of a record in place is a column `outer.inner`. An absent optional value is an empty cell, and so is a null
//! C string. An optional text that is there but empty is two quotes, as in JSON. Arrays, lists,
//! variants and pointers are JSON within a cell. A C string that is not UTF-8 is `{"$bytes":"…"}` with its bytes in
//! base64, and so is one whose text begins like that.
//!
//! Errors name the line by [`Lines`]: the `csv` crate counts lines, too, but takes the end of a line that is `\r\n` for the
//! beginning of the next row, and blank lines as well.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read, Write};

use banyan_ndr::{DynRecord, Format, Limits};

use super::columns::{self, Column};
use super::error::{ExportError, ImportError};
use crate::{from_json, to_json};

/// Writes records of one format as CSV.
#[derive(Debug)]
pub struct CsvWriter<W: Write> {
    out: ::csv::Writer<W>,
    format: Format,
    limits: Limits,
    columns: Vec<Column>,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header.
    pub fn new(out: W, format: &Format, limits: Limits) -> Result<CsvWriter<W>, ExportError> {
        let columns = columns::columns(format)?;
        let mut out = ::csv::Writer::from_writer(out);
        out.write_record(columns.iter().map(|column| &column.name)).map_err(std::io::Error::from)?;
        Ok(CsvWriter { out, format: format.clone(), limits, columns })
    }

    /// Writes a record of the format as a row.
    pub fn write(&mut self, format: &Format, body: &[u8]) -> Result<(), ExportError> {
        if *format != self.format {
            return Err(ExportError::OtherFormat { table: self.format.id(), record: format.id() });
        }
        let record = DynRecord::from_body(format, body, &self.limits)?;
        let cells = columns::cells(&self.columns, &to_json(&record)?).map_err(std::io::Error::from)?;
        Ok(self.out.write_record(&cells).map_err(std::io::Error::from)?)
    }

    /// Flushes, and gives the destination back.
    pub fn finish(self) -> Result<W, ExportError> {
        self.out.into_inner().map_err(|error| error.into_error().into())
    }
}

/// Reads records of a format from CSV with a header. Columns may stand in any order; those missing take the defaults of
/// their fields. A row that is no such record is an error; the next call goes on behind it.
#[derive(Debug)]
pub struct CsvReader<R> {
    input: ::csv::Reader<Lines<R>>,
    format: Format,
    limits: Limits,
    /// In the order of the format, with their places in the file.
    columns: Vec<(Column, usize)>,
    row: ::csv::StringRecord,
}

impl<R: Read> CsvReader<R> {
    /// Reads the header.
    pub fn new(input: R, format: &Format, limits: Limits) -> Result<CsvReader<R>, ImportError> {
        let known = columns::columns(format)?;
        let mut input = ::csv::Reader::from_reader(Lines::new(input));
        let header = input.headers().map_err(|error| not_csv(error, 1))?;
        if header.is_empty() {
            return Err(ImportError::NoHeader);
        }
        let known_names: HashSet<&str> = known.iter().map(|column| column.name.as_str()).collect();
        let unknown: Vec<String> =
            header.iter().filter(|name| !known_names.contains(name)).map(str::to_owned).collect();
        if !unknown.is_empty() {
            let known = known.into_iter().map(|column| column.name).collect();
            return Err(ImportError::UnknownColumns { format: format.name().to_owned(), unknown, known });
        }
        let mut places = HashMap::new();
        for (at, name) in header.iter().enumerate() {
            if places.insert(name, at).is_some() {
                return Err(ImportError::ColumnTwice { column: name.to_owned() });
            }
        }
        let place = |column: &Column| places.get(column.name.as_str()).copied();
        let columns = known.into_iter().filter_map(|column| place(&column).map(|at| (column, at))).collect();
        Ok(CsvReader { input, format: format.clone(), limits, columns, row: ::csv::StringRecord::new() })
    }

    fn parse(&self, line: u64) -> Result<DynRecord, ImportError> {
        let cells = self.columns.iter().map(|(column, at)| (column, self.row.get(*at).unwrap_or_default()));
        columns::json(cells)
            .and_then(|json| from_json(&self.format, &json, &self.limits))
            .map_err(|source| ImportError::Row { line, source })
    }
}

impl<R: Read> Iterator for CsvReader<R> {
    type Item = Result<DynRecord, ImportError>;

    fn next(&mut self) -> Option<Result<DynRecord, ImportError>> {
        let begin = self.input.position().byte();
        let read = self.input.read_record(&mut self.row);
        let line = self.input.get_mut().line(begin);
        match read {
            Ok(true) => Some(self.parse(line)),
            Ok(false) => None,
            Err(error) => Some(Err(not_csv(error, line))),
        }
    }
}

fn not_csv(error: ::csv::Error, line: u64) -> ImportError {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => ImportError::Io(error),
        kind => ImportError::Csv(match kind {
            ::csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                format!("line {line} has {len} cells, the header has {expected_len}")
            }
            ::csv::ErrorKind::Utf8 { err, .. } => format!("line {line}: {err}"),
            other => format!("{other:?}"),
        }),
    }
}

/// A source that remembers where the lines end that were read from it and not asked for yet.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    /// Bytes read.
    read: u64,
    /// Ends of lines before those in `ends`.
    passed: u64,
    /// Line ends and blank lines that follow each other, as one.
    ends: VecDeque<Ends>,
}

/// Bytes that are all `\r` or `\n`.
#[derive(Debug)]
struct Ends {
    from: u64,
    to: u64,
    newlines: u64,
}

impl<R> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines { input, read: 0, passed: 0, ends: VecDeque::new() }
    }

    /// The line, from 1, of the first byte from `at` on that ends no line. What lies before is forgotten.
    pub(super) fn line(&mut self, at: u64) -> u64 {
        while let Some(ends) = self.ends.pop_front_if(|ends| ends.from <= at) {
            self.passed += ends.newlines;
        }
        self.passed + 1
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        for (at, byte) in (self.read..).zip(&buffer[..count]) {
            if !matches!(byte, b'\r' | b'\n') {
                continue;
            }
            let newlines = u64::from(*byte == b'\n');
            match self.ends.back_mut() {
                Some(ends) if ends.to == at => {
                    ends.to += 1;
                    ends.newlines += newlines;
                }
                _ => self.ends.push_back(Ends { from: at, to: at + 1, newlines }),
            }
        }
        self.read += count as u64;
        Ok(count)
    }
}
