//! The columns of a table of records, and the way between cells and JSON.
//!
//! Records in place become a column for each of their fields (`position.x`). Numbers, truth values and texts are
//! written as such; everything else is JSON in a cell. A format whose values can be shared or contain themselves, or
//! that would have very many columns, has a single column, `record`, with all of it as JSON.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;

use super::error::ExportError;
use crate::TextError;
use crate::json_names::BYTES;
use banyan_ndr::{DefId, Definition, Format, Type};

/// Most columns of a table; what would have more has a single one. A short description can mean thousands of millions.
const MOST_COLUMNS: usize = 1 << 16;

/// A column.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    /// The names of the fields that lead to it; empty for the whole record.
    path: Vec<String>,
    cell: Cell,
    /// An empty cell means that the value is absent.
    optional: bool,
}

/// What a cell of a column holds.
#[derive(Debug, Clone)]
enum Cell {
    /// An integer or truth value.
    Word,
    /// A float, in any form that people and programs write numbers in.
    Float,
    /// Text, bytes in base64, a character.
    Text,
    /// A C string, which need not be UTF-8: then it is an object with its bytes, as in JSON.
    CText,
    /// A name, or a number that has none.
    Name(Format, DefId),
    /// JSON.
    Json,
}

/// The columns of a format.
pub(super) fn columns(format: &Format) -> Result<Vec<Column>, ExportError> {
    let mut columns = Vec::new();
    if is_flat(format) {
        collect(format, DefId::ROOT, &mut Vec::new(), &mut columns);
    }
    if columns.is_empty() || columns.len() > MOST_COLUMNS {
        columns.clear();
        columns.push(Column { name: "record".into(), path: Vec::new(), cell: Cell::Json, optional: false });
    }
    let mut names = HashSet::new();
    match columns.iter().find(|column| !names.insert(column.name.as_str())) {
        None => Ok(columns),
        Some(twice) => Err(ExportError::SameColumn { format: format.name().to_owned(), column: twice.name.clone() }),
    }
}

/// Whether the JSON of a record is one object of fields by their own names, with nothing beside them: no table of
/// shared values, and no name that JSON writes otherwise.
fn is_flat(format: &Format) -> bool {
    let plain_names = |definition: &Definition| match definition {
        Definition::Record(record) => record.fields.iter().all(|field| !field.name.starts_with('$')),
        _ => true,
    };
    matches!(format.root(), Definition::Record(record) if !record.fields.is_empty())
        && !format.is_recursive()
        && format.definitions().iter().all(|definition| plain_names(definition) && !definition.types().any(needs_table))
}

fn needs_table(ty: &Type) -> bool {
    let nested_null = |item: &Type| matches!(item, Type::Optional { .. } | Type::Ref { .. } | Type::CStr);
    match ty {
        Type::Ref { shared: true, .. } => true,
        Type::Ref { item, .. } | Type::Optional { item, .. } if nested_null(item) => true,
        _ => ty.item().is_some_and(needs_table),
    }
}

/// One more than is allowed at most, when there are too many.
fn collect(format: &Format, record: DefId, path: &mut Vec<String>, columns: &mut Vec<Column>) {
    for field in &format.record(record).fields {
        if columns.len() > MOST_COLUMNS {
            return;
        }
        path.push(field.name.clone());
        match &field.ty {
            Type::Record(inner) if !format.record(*inner).fields.is_empty() => collect(format, *inner, path, columns),
            ty => {
                let (cell, optional) = cell_of(format, ty);
                columns.push(Column { name: path.join("."), path: path.clone(), cell, optional });
            }
        }
        path.pop();
    }
}

fn cell_of(format: &Format, ty: &Type) -> (Cell, bool) {
    match ty {
        Type::Int { .. } | Type::Bool { .. } => (Cell::Word, false),
        Type::Float { .. } => (Cell::Float, false),
        Type::Str | Type::Bytes | Type::Char { .. } => (Cell::Text, false),
        Type::CStr => (Cell::CText, true),
        Type::Enum(id) => (Cell::Name(format.clone(), *id), false),
        Type::Optional { item, .. } => match cell_of(format, item) {
            (Cell::Json, _) => (Cell::Json, false),
            (cell, _) => (cell, true),
        },
        _ => (Cell::Json, false),
    }
}

/// The cells of a row, from the record as JSON.
pub(super) fn cells(columns: &[Column], json: &str) -> Result<Vec<String>, serde_json::Error> {
    let mut row = Vec::with_capacity(columns.len());
    fill(columns, 0, serde_json::from_str(json)?, &mut row)?;
    Ok(row)
}

fn fill(columns: &[Column], depth: usize, value: &RawValue, row: &mut Vec<String>) -> Result<(), serde_json::Error> {
    if let [column] = columns
        && column.path.len() == depth
    {
        row.push(column.cell_from(value)?);
        return Ok(());
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(value.get())?;
    for group in columns.chunk_by(|a, b| a.path[depth] == b.path[depth]) {
        match members.get(&group[0].path[depth]) {
            Some(member) => fill(group, depth + 1, member, row)?,
            None => row.extend(group.iter().map(|_| String::new())),
        }
    }
    Ok(())
}

/// Whether a cell is a text as JSON writes it, in quotes.
fn is_json_text(cell: &str) -> bool {
    cell.starts_with('"') && serde_json::from_str::<String>(cell).is_ok()
}

impl Column {
    fn cell_from(&self, value: &RawValue) -> Result<String, serde_json::Error> {
        let raw = value.get();
        match self.cell {
            Cell::Json => Ok(raw.to_owned()),
            _ if self.optional && raw == "null" => Ok(String::new()),
            // Numbers beyond 64 bits and floats that are no numbers are strings in JSON.
            _ if raw.starts_with('"') => {
                let text: String = serde_json::from_str(raw)?;
                let like_bytes = matches!(self.cell, Cell::CText) && is_bytes_object(&text);
                // An empty cell is null, so an empty text is written as JSON; and so is what would be taken for that.
                let like_json = self.optional && (text.is_empty() || is_json_text(&text));
                Ok(match (like_bytes, like_json) {
                    (true, _) => bytes_object(&text),
                    (false, true) => raw.to_owned(),
                    (false, false) => text,
                })
            }
            _ => Ok(raw.to_owned()),
        }
    }

    /// The cell as JSON. A cell that is no value of its type is handed on as text, for the reader of JSON to refuse.
    fn json_from<'c>(&self, cell: &'c str) -> Result<Cow<'c, str>, TextError> {
        let quoted = || Cow::from(serde_json::Value::from(cell).to_string());
        Ok(match &self.cell {
            Cell::Json => self.one_value(cell)?.into(),
            _ if self.optional && cell.is_empty() => "null".into(),
            _ if self.optional && is_json_text(cell) => cell.into(),
            Cell::CText if is_bytes_object(cell) => self.one_value(cell)?.into(),
            Cell::Word if is_word(cell) => cell.into(),
            Cell::Float => plain_float(cell).map_or_else(quoted, Cow::from),
            Cell::Name(format, id) if format.value_of(*id, cell).is_none() && is_word(cell) => cell.into(),
            Cell::Word | Cell::Name(..) | Cell::Text | Cell::CText => quoted(),
        })
    }

    /// The cell if it is one value of JSON. What is more would become further fields of the record.
    fn one_value<'c>(&self, cell: &'c str) -> Result<&'c str, TextError> {
        match serde_json::from_str::<&RawValue>(cell) {
            Ok(_) => Ok(cell),
            Err(error) => Err(TextError::Value {
                path: self.name.clone(),
                line: error.line(),
                column: error.column(),
                reason: format!("the cell is not one JSON value: {error}"),
            }),
        }
    }
}

/// How the object begins that stands for a C string that is not UTF-8.
fn is_bytes_object(text: &str) -> bool {
    text.strip_prefix("{\"").and_then(|rest| rest.strip_prefix(BYTES)).is_some_and(|rest| rest.starts_with("\":"))
}

/// A text in the form of those that are not UTF-8, for it looks like one.
fn bytes_object(text: &str) -> String {
    format!("{{\"{BYTES}\":\"{}\"}}", STANDARD.encode(text))
}

/// A decimal number in the form of JSON, which knows no `.5`, `5.`, `+1.5` or `007`.
fn plain_float(cell: &str) -> Option<String> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (sign, rest) = match cell.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", cell.strip_prefix('+').unwrap_or(cell)),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).map_or((rest, None), |(left, right)| (left, Some(right)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let power = exponent.map_or("0", |text| text.strip_prefix(['+', '-']).unwrap_or(text));
    let some = !whole.is_empty() || !fraction.is_empty();
    if !some || !digits(whole) || !digits(fraction) || power.is_empty() || !digits(power) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    let exponent = exponent.map_or(String::new(), |exponent| format!("e{exponent}"));
    Some(format!("{sign}{whole}{point}{fraction}{exponent}"))
}

/// Whether the text is a number of at most 64 bits, or a truth value, in JSON.
fn is_word(cell: &str) -> bool {
    let whole = !cell.is_empty() && cell.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let too_large = whole && cell.parse::<i64>().is_err() && cell.parse::<u64>().is_err();
    let plain = cell.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    plain && cell != "null" && !too_large && serde_json::from_str::<&RawValue>(cell).is_ok()
}

/// The JSON of a record, from some columns (in the order of the format) and their cells.
pub(super) fn json<'c>(row: impl IntoIterator<Item = (&'c Column, &'c str)>) -> Result<String, TextError> {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    let mut separator = "{";
    for (column, cell) in row {
        let Some((name, parents)) = column.path.split_last() else { return Ok(cell.to_owned()) };
        let common = open.iter().zip(parents).take_while(|(open, parent)| *open == parent).count();
        if open.len() > common {
            out.push_str(&"}".repeat(open.len() - common));
            open.truncate(common);
        }
        for parent in &parents[common..] {
            push_member(&mut out, separator, parent);
            open.push(parent);
            separator = "{";
        }
        push_member(&mut out, separator, name);
        out.push_str(&column.json_from(cell)?);
        separator = ",";
    }
    if out.is_empty() {
        return Ok("{}".into());
    }
    out.push_str(&"}".repeat(open.len() + 1));
    Ok(out)
}

fn push_member(out: &mut String, separator: &str, name: &str) {
    out.push_str(separator);
    out.push_str(&serde_json::Value::from(name).to_string());
    out.push(':');
}
