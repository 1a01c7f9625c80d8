//! Records as JSON. The forms are described with [`to_json`].

mod read;
mod write;

use std::borrow::Cow;
use std::cell::RefCell;
use std::io;

use serde::de::DeserializeSeed;
use serde::ser::Serialize;
use serde_json::value::RawValue;

use self::read::Destination;
use self::write::{JsonWriting, Typed};
use super::TextError;
use super::error::line_and_column;
use super::path::Depth;
use super::path::Path;
use super::reading::{Reading, Table};
use super::sharing::Sharing;
use banyan_ndr::{DynRecord, Format, Limits};

/// The member that refers to a shared value by its number.
pub(crate) const REFERENCE: &str = "$ref";
/// The member of the root that holds all shared values.
pub(crate) const SHARED: &str = "$shared";
/// The member that holds a C string that is not UTF-8.
pub(crate) const BYTES: &str = "$bytes";

/// What a field or case is called in JSON: its name, with a `$` before it when it begins with one.
pub(crate) fn member_name(name: &str) -> Cow<'_, str> {
    if name.starts_with('$') { format!("${name}").into() } else { name.into() }
}

/// The reverse of [`member_name`]; `None` for what is no name of a field.
pub(crate) fn field_name(member: &str) -> Option<&str> {
    match member.strip_prefix('$') {
        None => Some(member),
        Some(name) => name.starts_with('$').then_some(name),
    }
}

/// Writes a record as JSON, without white space.
///
/// | in the format | in JSON |
/// | --- | --- |
/// | integer | number; outside of `i64` and `u64`: string of digits |
/// | float | number, the shortest that reads back the same; `"NaN"`, `"inf"`, `"-inf"`, and `"NaN:7e01"` with the bits of any other NaN |
/// | bool, string | the same |
/// | char | string of one character (a byte: of the first 256) |
/// | enumeration | the name; the number when it has none |
/// | bytes | string of base64 |
/// | C string | string; `{"$bytes": "…base64…"}` when it is not UTF-8; null |
/// | record | object; a name that begins with `$` gets another `$` |
/// | variant | `{"Case": payload}`, or `"Case"` when it has none |
/// | optional, pointer | what is there, or null |
/// | array, list | list; lists of lists for several dimensions, outermost first |
/// | shared value | `{"$ref": number}`, which is a position in the list `"$shared"` of the root object |
///
/// # Errors
/// When a value does not fit its format, or is nested too deep to be read again.
pub fn to_json(record: &DynRecord) -> Result<String, TextError> {
    with_typed(record, |typed| serde_json::to_string(typed))
}

/// [`to_json`], with line breaks and indentation.
///
/// # Errors
/// As [`to_json`].
pub fn to_json_pretty(record: &DynRecord) -> Result<String, TextError> {
    with_typed(record, |typed| serde_json::to_string_pretty(typed))
}

/// [`to_json`] into a writer, which should be buffered.
///
/// # Errors
/// As [`to_json`], and when the writer fails.
pub fn write_json(record: &DynRecord, out: impl io::Write) -> Result<(), TextError> {
    with_typed(record, |typed| typed.serialize(&mut serde_json::Serializer::new(out)))
}

fn with_typed<T>(
    record: &DynRecord,
    write: impl FnOnce(&Typed<'_>) -> Result<T, serde_json::Error>,
) -> Result<T, TextError> {
    let root_type = record.format.root_type();
    let writing = JsonWriting {
        format: &record.format,
        sharing: Sharing::of(&record.format, &root_type, &record.root, &record.shared),
        path: RefCell::new(Path::default()),
    };
    let typed = Typed {
        writing: &writing,
        ty: &root_type,
        value: &record.root,
        depth: Depth::root(&Limits::default()),
        is_root: true,
    };
    write(&typed).map_err(|error| match error.is_io() {
        true => TextError::Io(error.into()),
        false => {
            TextError::Unwritable { path: writing.path.borrow().or(record.format.name()), reason: error.to_string() }
        }
    })
}

/// Reads a record from JSON as [`to_json`] writes it, members in any order.
///
/// # Errors
/// When the text is no JSON, or does not fit the format; see [`TextError`].
pub fn from_json(format: &Format, text: &str, limits: &Limits) -> Result<DynRecord, TextError> {
    read(format, text, limits, false)
}

/// [`from_json`] that skips members which the format does not have.
///
/// # Errors
/// As [`from_json`].
pub fn from_json_skipping(format: &Format, text: &str, limits: &Limits) -> Result<DynRecord, TextError> {
    read(format, text, limits, true)
}

fn read(format: &Format, text: &str, limits: &Limits, skip_unknown: bool) -> Result<DynRecord, TextError> {
    let root_type = format.root_type();
    let mut reading = Reading::new(format, text, limits, skip_unknown);
    let mut entries: Vec<&RawValue> = Vec::new();
    let place =
        Destination { reading: &mut reading, ty: &root_type, depth: Depth::root(limits), table: Some(&mut entries) };
    let root = parse(place, text).map_err(|error| misfit(error, &reading, text, text))?;
    let mut table = Table::new(entries.len());
    while let Some((number, ty)) = reading.next_shared() {
        reading.path.enter_shared(number);
        let Some(entry) = entries.get(number) else {
            return Err(unplaced(
                &reading,
                text,
                format!("it is referred to, but {SHARED} has only {}", entries.len()),
            ));
        };
        let place = Destination { reading: &mut reading, ty, depth: Depth::root(limits), table: None };
        let value = parse(place, entry.get()).map_err(|error| misfit(error, &reading, text, entry.get()))?;
        table.set(number, value);
        reading.path.leave();
    }
    let shared = table.finish().map_err(|number| {
        reading.path.enter_shared(number);
        unplaced(&reading, text, "nothing refers to it".into())
    })?;
    reading.finish()?;
    Ok(DynRecord { format: format.clone(), root, shared })
}

fn parse<'de>(place: Destination<'_, '_, 'de>, text: &'de str) -> Result<banyan_ndr::Value, serde_json::Error> {
    let mut from = serde_json::Deserializer::from_str(text);
    // The places bound the depth themselves, by the limits that were asked for.
    from.disable_recursion_limit();
    let value = place.deserialize(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Says where in the whole text an error in one part of it is.
fn misfit(error: serde_json::Error, reading: &Reading<'_>, text: &str, part: &str) -> TextError {
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let (first_line, first_column) = line_and_column(text, offset);
    let line = first_line + error.line().saturating_sub(1);
    let column = if error.line() <= 1 { first_column - 1 + error.column() } else { error.column() };
    let reason = error.to_string();
    let at = format!(" at line {} column {}", error.line(), error.column());
    let reason = reason.strip_suffix(&at).unwrap_or(&reason).to_owned();
    match error.is_data() {
        true => TextError::Value { path: reading.path.or(reading.format.name()), line, column, reason },
        false => TextError::Syntax { line, column, reason },
    }
}

fn unplaced(reading: &Reading<'_>, text: &str, reason: String) -> TextError {
    let (line, column) = line_and_column(text, text.len());
    TextError::Value { path: reading.path.to_string(), line, column, reason }
}
