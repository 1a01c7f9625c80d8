//! Columns from records: for each field, the values of all rows side by side.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{ArrayRef, BinaryArray, BooleanArray, ListArray, PrimitiveArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};

use super::super::error::ExportError;
use super::schema::{item_field, members};
use banyan_ndr::{DefId, Definition, DynRecord, Format, Type, Value};

/// A value, and the record whose table it may refer to.
#[derive(Clone, Copy)]
struct ValueOf<'a> {
    record: &'a DynRecord,
    value: &'a Value,
}

/// One column: a value, or nothing, for each row.
type Cells<'a> = Vec<Option<ValueOf<'a>>>;

impl<'a> ValueOf<'a> {
    fn of(record: &'a DynRecord, value: &'a Value) -> Option<ValueOf<'a>> {
        let value = record.resolve(value);
        (*value != Value::Null).then_some(ValueOf { record, value })
    }
}

/// The columns of a table.
pub(super) fn columns(format: &Format, rows: &[DynRecord]) -> Result<Vec<ArrayRef>, ExportError> {
    let cells: Cells<'_> = rows.iter().map(|row| ValueOf::of(row, &row.root)).collect();
    member_arrays(format, DefId::ROOT, &cells)
}

/// The arrays of the members of a struct.
fn member_arrays(format: &Format, id: DefId, cells: &Cells<'_>) -> Result<Vec<ArrayRef>, ExportError> {
    match format.definition(id) {
        Definition::Record(record) => {
            let fields = record.fields.iter().enumerate();
            fields.map(|(at, field)| array(format, &field.name, &field.ty, &each(cells, |v| member(v, at)))).collect()
        }
        Definition::Variant(variant) => {
            let names = cells.iter().map(|cell| cell.and_then(|place| case(place.value)).map(|(name, _)| name));
            let mut arrays: Vec<ArrayRef> = vec![Arc::new(names.collect::<StringArray>())];
            for (name, ty) in variant.cases.iter().filter_map(|case| Some((&case.name, case.payload.as_ref()?))) {
                let payload = |value| case(value).filter(|(case, _)| case == name).and_then(|(_, payload)| payload);
                arrays.push(array(format, name, ty, &each(cells, payload))?);
            }
            Ok(arrays)
        }
        Definition::Enumeration(_) => Ok(Vec::new()),
    }
}

fn each<'a>(cells: &Cells<'a>, part: impl Fn(&'a Value) -> Option<&'a Value>) -> Cells<'a> {
    cells.iter().map(|cell| cell.and_then(|place| ValueOf::of(place.record, part(place.value)?))).collect()
}

fn member(value: &Value, at: usize) -> Option<&Value> {
    let Value::Record(fields) = value else { return None };
    fields.get(at).map(|(_, value)| value)
}

fn case(value: &Value) -> Option<(&str, Option<&Value>)> {
    let Value::Case(name, payload) = value else { return None };
    Some((name, payload.as_deref()))
}

fn array(format: &Format, name: &str, ty: &Type, cells: &Cells<'_>) -> Result<ArrayRef, ExportError> {
    match ty {
        Type::Int { width, signed } => Ok(integers(*width, *signed, cells)),
        Type::Float { .. } => Ok(floats(ty, cells)),
        Type::Bool { .. } => {
            let bools = cells.iter().map(|cell| cell.map(|place| *place.value == Value::Bool(true)));
            Ok(Arc::new(bools.collect::<BooleanArray>()))
        }
        Type::Char { .. } | Type::Enum(_) | Type::Str | Type::CStr => texts(name, cells),
        Type::Bytes => {
            let bytes = cells.iter().map(|cell| match cell.as_ref()?.value {
                Value::Bytes(bytes) => Some(bytes.as_slice()),
                _ => None,
            });
            Ok(Arc::new(bytes.collect::<BinaryArray>()))
        }
        Type::Record(id) | Type::Variant(id) => {
            let present = NullBuffer::from_iter(cells.iter().map(Option::is_some));
            let (fields, arrays) = (members(format, *id)?, member_arrays(format, *id, cells)?);
            let nulls = (present.null_count() > 0).then_some(present);
            Ok(Arc::new(StructArray::try_new_with_length(fields, arrays, nulls, cells.len())?))
        }
        Type::Ref { item, .. } | Type::Optional { item, .. } => array(format, name, item, cells),
        Type::Array { item, dims, .. } => lists(format, name, item, dims.len() - 1, cells),
        Type::List { item } => lists(format, name, item, 0, cells),
        Type::Sized { item, dims, .. } => lists(format, name, item, dims.len() - 1, cells),
    }
}

/// Lists of items, or of lists when dimensions are left.
fn lists(format: &Format, name: &str, item: &Type, left: usize, cells: &Cells<'_>) -> Result<ArrayRef, ExportError> {
    let mut lengths = Vec::with_capacity(cells.len());
    let mut inner = Cells::new();
    for cell in cells {
        let before = inner.len();
        match cell {
            Some(ValueOf { record, value: Value::List(items) }) => {
                inner.extend(items.iter().map(|item| ValueOf::of(record, item)));
            }
            // An array of bytes may be held as such.
            Some(ValueOf { value: Value::Bytes(_), .. }) => {
                let reason = "bytes where a list of items is expected".into();
                return Err(ExportError::NoColumn { field: name.to_owned(), reason });
            }
            _ => {}
        }
        lengths.push(inner.len() - before);
    }
    if i32::try_from(inner.len()).is_err() {
        let reason = "more items in a batch than an Arrow list can count".into();
        return Err(ExportError::NoColumn { field: name.to_owned(), reason });
    }
    let values = match left {
        0 => array(format, name, item, &inner)?,
        _ => lists(format, name, item, left - 1, &inner)?,
    };
    let nulls = NullBuffer::from_iter(cells.iter().map(Option::is_some));
    let nulls = (nulls.null_count() > 0).then_some(nulls);
    let field = Arc::new(item_field(format, name, item, left)?);
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, nulls)?))
}

fn texts(name: &str, cells: &Cells<'_>) -> Result<ArrayRef, ExportError> {
    let text = |cell: &Option<ValueOf<'_>>| match cell.as_ref().map(|place| place.value) {
        Some(Value::Str(text) | Value::Enum(text)) => Ok(Some(text.clone())),
        Some(Value::Char(char)) => Ok(Some(char.to_string())),
        Some(Value::Int(number)) => Ok(Some(number.to_string())),
        Some(Value::Bytes(_)) => {
            Err(ExportError::NoColumn { field: name.to_owned(), reason: "a C string that is not UTF-8".into() })
        }
        _ => Ok(None),
    };
    Ok(Arc::new(cells.iter().map(text).collect::<Result<StringArray, _>>()?))
}

fn integers(width: u8, signed: bool, cells: &Cells<'_>) -> ArrayRef {
    match (width, signed) {
        (1, true) => numbers::<Int8Type>(cells, |value| int(value)?.try_into().ok()),
        (2, true) => numbers::<Int16Type>(cells, |value| int(value)?.try_into().ok()),
        (4, true) => numbers::<Int32Type>(cells, |value| int(value)?.try_into().ok()),
        (8, true) => numbers::<Int64Type>(cells, |value| int(value)?.try_into().ok()),
        (1, false) => numbers::<UInt8Type>(cells, |value| int(value)?.try_into().ok()),
        (2, false) => numbers::<UInt16Type>(cells, |value| int(value)?.try_into().ok()),
        (4, false) => numbers::<UInt32Type>(cells, |value| int(value)?.try_into().ok()),
        (8, false) => numbers::<UInt64Type>(cells, |value| int(value)?.try_into().ok()),
        _ => {
            let digits = cells.iter().map(|cell| match cell.as_ref()?.value {
                Value::Int(number) => Some(number.to_string()),
                Value::UInt(number) => Some(number.to_string()),
                _ => None,
            });
            Arc::new(digits.collect::<StringArray>())
        }
    }
}

fn floats(ty: &Type, cells: &Cells<'_>) -> ArrayRef {
    match ty {
        Type::Float { width: 2 } => numbers::<Float16Type>(cells, |value| match value {
            Value::F16(bits) => Some(<Float16Type as ArrowPrimitiveType>::Native::from_bits(*bits)),
            _ => None,
        }),
        Type::Float { width: 4 } => numbers::<Float32Type>(cells, |value| match value {
            Value::F32(float) => Some(*float),
            _ => None,
        }),
        _ => numbers::<Float64Type>(cells, |value| match value {
            Value::F64(float) => Some(*float),
            _ => None,
        }),
    }
}

fn int(value: &Value) -> Option<i128> {
    match value {
        Value::Int(number) => Some(*number),
        _ => None,
    }
}

fn numbers<T: ArrowPrimitiveType>(cells: &Cells<'_>, number: impl Fn(&Value) -> Option<T::Native>) -> ArrayRef {
    Arc::new(cells.iter().map(|cell| number(cell.as_ref()?.value)).collect::<PrimitiveArray<T>>())
}
