//! The values of a record by field. Values almost always stand in the order of the fields; whatever their order, each
//! is found once.

use super::edit::real_lengths;
use crate::{DefId, Dim, Format, RecordDef, Type, Value};

/// The values of one record.
pub struct FieldValues<'v> {
    /// By the position of the field. Of two values with one name the first counts.
    pub values: Vec<Option<&'v Value>>,
    /// The first name that the record does not have.
    pub unknown: Option<&'v str>,
}

impl<'v> FieldValues<'v> {
    /// Finds the field of each value.
    pub fn new(format: &Format, id: DefId, given: &'v [(String, Value)]) -> FieldValues<'v> {
        let record = format.record(id);
        let (mut values, mut unknown) = (vec![None; record.fields.len()], None);
        for (position, (name, value)) in given.iter().enumerate() {
            match position_of(format, id, position, name) {
                Some(found) => values[found] = values[found].or(Some(value)),
                None => unknown = unknown.or(Some(name.as_str())),
            }
        }
        FieldValues { values, unknown }
    }
}

/// The position of a field by its name; `expected` is where it most likely is.
pub fn position_of(format: &Format, id: DefId, expected: usize, name: &str) -> Option<usize> {
    match format.record(id).fields.get(expected) {
        Some(field) if field.name == name => Some(expected),
        _ => format.field_of(id, name).map(|(position, _)| position),
    }
}

/// By position, the length that the first array sized by this field has; `None` for fields that are no lengths.
pub(crate) fn lengths_of_arrays<'v>(
    record: &RecordDef,
    value: impl Fn(usize) -> Option<&'v Value>,
) -> Vec<Option<usize>> {
    let mut lengths = vec![None; record.fields.len()];
    for (position, field) in record.fields.iter().enumerate() {
        let Type::Sized { dims, .. } = &field.ty else { continue };
        let real = real_lengths(value(position).unwrap_or(&Value::Null), dims.len());
        for (dim, length) in dims.iter().zip(real) {
            if let Dim::Field(index) = dim {
                lengths[usize::from(*index)].get_or_insert(length);
            }
        }
    }
    lengths
}
