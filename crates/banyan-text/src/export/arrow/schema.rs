//! The Arrow schema of a format.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField, Fields, Schema};

use super::super::error::ExportError;
use banyan_ndr::{DefId, Definition, Field, Format, Type};

/// The name of the member that tells the case of a variant.
pub(super) const CASE: &str = "case";

/// Most members of all structs together.
const MOST_MEMBERS: usize = 1 << 16;

/// Most structs in each other.
const MOST_NESTED: usize = 64;

/// The schema of a table of records.
pub(super) fn schema(format: &Format) -> Result<Schema, ExportError> {
    if format.is_recursive() {
        return Err(no_column(format.name(), "records that contain their own kind have no columns"));
    }
    let mut left = MOST_MEMBERS;
    if !has_few_members(format, &format.root_type(), &mut left, 0) {
        return Err(no_column(format.name(), "there would be too many columns"));
    }
    Ok(Schema::new(members(format, DefId::ROOT)?))
}

/// Whether a type has no more members, those of members too, than are left, and none too deep. A short description can
/// mean thousands of millions.
fn has_few_members(format: &Format, ty: &Type, left: &mut usize, depth: usize) -> bool {
    let innermost = std::iter::successors(Some(ty), |ty| ty.item()).last().expect("the type itself");
    let Some(id) = innermost.definition() else { return true };
    format.definition(id).types().all(|member| {
        *left = left.saturating_sub(1);
        *left > 0 && depth < MOST_NESTED && has_few_members(format, member, left, depth + 1)
    })
}

fn no_column(field: &str, reason: &str) -> ExportError {
    ExportError::NoColumn { field: field.to_owned(), reason: reason.to_owned() }
}

/// The members of the struct that a record or variant becomes.
pub(super) fn members(format: &Format, id: DefId) -> Result<Fields, ExportError> {
    match format.definition(id) {
        Definition::Record(record) => record.fields.iter().map(|field| column(format, field)).collect(),
        Definition::Variant(variant) => {
            let payloads = variant.cases.iter().filter_map(|case| Some((&case.name, case.payload.as_ref()?)));
            let payloads = payloads.map(|(name, ty)| Ok(ArrowField::new(name, data_type(format, name, ty)?, true)));
            std::iter::once(Ok(ArrowField::new(CASE, DataType::Utf8, false))).chain(payloads).collect()
        }
        Definition::Enumeration(_) => Ok(Fields::empty()),
    }
}

fn column(format: &Format, field: &Field) -> Result<ArrowField, ExportError> {
    let notes = [("unit", &field.unit), ("description", &field.description)];
    let notes = notes.into_iter().filter_map(|(key, note)| Some((key.to_owned(), note.clone()?)));
    let column = ArrowField::new(&field.name, data_type(format, &field.name, &field.ty)?, is_nullable(&field.ty));
    Ok(column.with_metadata(notes.collect::<HashMap<_, _>>()))
}

fn is_nullable(ty: &Type) -> bool {
    match ty {
        Type::Optional { .. } | Type::CStr => true,
        Type::Ref { item, nullable, .. } => *nullable || is_nullable(item),
        _ => false,
    }
}

/// The items of a list, however many dimensions it has left.
pub(super) fn item_field(
    format: &Format,
    name: &str,
    item: &Type,
    dims_left: usize,
) -> Result<ArrowField, ExportError> {
    if dims_left == 0 {
        return Ok(ArrowField::new("item", data_type(format, name, item)?, is_nullable(item)));
    }
    let inner = item_field(format, name, item, dims_left - 1)?;
    Ok(ArrowField::new("item", DataType::List(Arc::new(inner)), false))
}

fn data_type(format: &Format, name: &str, ty: &Type) -> Result<DataType, ExportError> {
    let list = |item, dims: usize| Ok(DataType::List(Arc::new(item_field(format, name, item, dims - 1)?)));
    match ty {
        Type::Int { width, signed } => Ok(integer(*width, *signed)),
        Type::Float { width: 2 } => Ok(DataType::Float16),
        Type::Float { width: 4 } => Ok(DataType::Float32),
        Type::Float { .. } => Ok(DataType::Float64),
        Type::Bool { .. } => Ok(DataType::Boolean),
        Type::Char { .. } | Type::Enum(_) | Type::Str | Type::CStr => Ok(DataType::Utf8),
        Type::Bytes => Ok(DataType::Binary),
        Type::Record(id) | Type::Variant(id) => Ok(DataType::Struct(members(format, *id)?)),
        Type::Ref { shared: true, .. } => Err(no_column(name, "shared pointers have no columns")),
        Type::Ref { item, .. } | Type::Optional { item, .. } => data_type(format, name, item),
        Type::Array { item, dims, .. } => list(item, dims.len()),
        Type::List { item } => list(item, 1),
        Type::Sized { item, dims, .. } => list(item, dims.len()),
    }
}

fn integer(width: u8, signed: bool) -> DataType {
    match (width, signed) {
        (1, true) => DataType::Int8,
        (2, true) => DataType::Int16,
        (4, true) => DataType::Int32,
        (8, true) => DataType::Int64,
        (1, false) => DataType::UInt8,
        (2, false) => DataType::UInt16,
        (4, false) => DataType::UInt32,
        (8, false) => DataType::UInt64,
        _ => DataType::Utf8,
    }
}
