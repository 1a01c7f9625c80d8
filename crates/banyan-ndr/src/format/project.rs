//! Projections: some fields of a large record as a format of their own.

use std::collections::{HashMap, HashSet};

use super::check::FormatError;
use super::types::{ByteOrder, Definition, Dim, Field, PointerWidth, RecordDef, Type};
use super::{Format, check};
use crate::reflect::path::{self, PathSegment};

impl Format {
    /// Some fields of this format, laid out for this machine: a target to convert to when the rest does not matter.
    /// A path names a field, or a field within a nested record or within the records of a list (`mesh.elems.temp`);
    /// names with a dot or a bracket stand in double quotes, as everywhere in paths (`"odd.name".temp`).
    /// The fields that hold the lengths of an array come along with it.
    pub fn project(&self, paths: &[&str]) -> Result<Format, FormatError> {
        let mut definitions = self.definitions().to_vec();
        let mut wanted = paths.iter().map(|path| names(path)).collect::<Result<Vec<_>, _>>()?;
        wanted.sort_unstable();
        select(&mut definitions, 0, &wanted)?;
        Format::laid_out(ByteOrder::NATIVE, PointerWidth::NATIVE, definitions)
    }
}

/// The names in a path, which has no indices.
fn names(path: &str) -> Result<Vec<&str>, FormatError> {
    let wrong = |reason: String| check::definition_error(path, reason);
    let segments = path::parse(path).map_err(|bad| wrong(bad.to_string()))?;
    if segments.is_empty() {
        return Err(wrong("an empty path names no field".into()));
    }
    let name = |segment| match segment {
        PathSegment::Name(name) => Ok(name),
        PathSegment::Index(_) => Err(wrong("has an index; fields are selected in all items".into())),
    };
    segments.into_iter().map(name).collect()
}

/// Leaves only the wanted fields in the record at `index`. Nested records of which only some fields are wanted become
/// new definitions, so that other uses of them stay whole.
fn select(definitions: &mut Vec<Definition>, index: usize, wanted: &[Vec<&str>]) -> Result<(), FormatError> {
    let name = definitions[index].name().to_owned();
    let Definition::Record(record) = &definitions[index] else {
        return Err(check::definition_error(&name, "is no record; only fields of records can be selected"));
    };
    let mut record = record.clone();
    let names: HashSet<&str> = record.fields.iter().map(|field| field.name.as_str()).collect();
    if let Some(path) = wanted.iter().find(|path| !names.contains(path[0])) {
        return Err(check::definition_error(&name, format!("has no field {}", path[0])));
    }
    let keep = kept(&record, wanted);
    let mut rests: HashMap<&str, Vec<Vec<&str>>> = HashMap::new();
    for path in wanted {
        rests.entry(path[0]).or_default().push(path[1..].to_vec());
    }
    for (field, _) in record.fields.iter_mut().zip(&keep).filter(|(_, keep)| **keep) {
        let rest = rests.remove(field.name.as_str()).unwrap_or_default();
        let whole = rest.iter().any(Vec::is_empty) || rest.is_empty();
        if !whole {
            narrow(definitions, field, &rest)?;
        }
    }
    record.fields = renumber_dims(record.fields, &keep);
    definitions[index] = Definition::Record(record);
    Ok(())
}

/// Which fields are wanted, or hold a length of one that is.
fn kept(record: &RecordDef, wanted: &[Vec<&str>]) -> Vec<bool> {
    let names: HashSet<&str> = wanted.iter().map(|path| path[0]).collect();
    let mut keep: Vec<bool> = record.fields.iter().map(|field| names.contains(field.name.as_str())).collect();
    for (position, field) in record.fields.iter().enumerate() {
        if let (true, Type::Sized { dims, .. }) = (keep[position], &field.ty) {
            for dim in dims {
                if let Dim::Field(length) = dim {
                    keep[usize::from(*length)] = true;
                }
            }
        }
    }
    keep
}

/// Makes a field's record a definition of its own with only some fields.
fn narrow(definitions: &mut Vec<Definition>, field: &mut Field, rest: &[Vec<&str>]) -> Result<(), FormatError> {
    let mut ty = &mut field.ty;
    while ty.item().is_some() {
        ty = ty.item_mut().expect("it has one");
    }
    let Type::Record(id) = ty else {
        return Err(check::definition_error(&field.name, "has no fields to select"));
    };
    let copy = u16::try_from(definitions.len()).map_err(|_| check::definition_error(&field.name, "too many fields"))?;
    definitions.push(definitions[id.index()].clone());
    id.0 = copy;
    select(definitions, usize::from(copy), rest)
}

/// Drops the fields not kept; the numbers of length fields change with them.
fn renumber_dims(fields: Vec<Field>, keep: &[bool]) -> Vec<Field> {
    let mut next = 0;
    let number = |keep: &bool| {
        next += u16::from(*keep);
        next - u16::from(*keep)
    };
    let numbers: Vec<u16> = keep.iter().map(number).collect();
    let mut fields: Vec<Field> =
        fields.into_iter().zip(keep).filter(|(_, keep)| **keep).map(|(field, _)| field).collect();
    for field in &mut fields {
        if let Type::Sized { dims, .. } = &mut field.ty {
            for dim in dims {
                if let Dim::Field(number) = dim {
                    *number = numbers[usize::from(*number)];
                }
            }
        }
    }
    fields
}
