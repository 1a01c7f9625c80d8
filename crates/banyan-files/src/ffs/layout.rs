//! From a foreign description to a [`Format`], and to the [`Plan`] by which its records are rewritten.

use std::collections::HashMap;

use banyan_ndr::wire::read_uint;
use banyan_ndr::{
    ByteOrder, DefId, Definition, Dim, Field, Format, FormatError, Limits, Order, PointerWidth, RecordDef, Type,
};

use super::description::{Description, FieldDescription, FloatForm, RecordDescription};
use super::error::ErrorKind;
use super::long_double::LongDouble;
use super::plan::{Plan, PlanBuilder};
use super::shape::{Names, Scalar, Shape};

/// A foreign format, understood.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) format: Format,
    pub(super) plan: Plan,
    /// Whether records state their length in eight bytes instead of four.
    pub(super) long_lengths: bool,
}

impl Layout {
    pub(super) fn read(bytes: &[u8], told: Option<LongDouble>, limits: &Limits) -> Result<Layout, ErrorKind> {
        let description = Description::read(bytes, limits).map_err(ErrorKind::Description)?;
        let shapes = read_shapes(&description, limits).map_err(ErrorKind::Description)?;
        let format = make_format(&description, &shapes, told, limits)?;
        let plan = PlanBuilder::build(&description, &shapes, told);
        Ok(Layout { format, plan, long_lengths: description.long_lengths })
    }
}

/// The types of all fields of all records.
fn read_shapes(description: &Description, limits: &Limits) -> Result<Vec<Vec<Shape>>, String> {
    let positions: HashMap<&str, usize> =
        description.records.iter().enumerate().map(|(at, record)| (record.name.as_str(), at)).collect();
    description.records.iter().enumerate().map(|(at, record)| record_shapes(at, record, &positions, limits)).collect()
}

fn record_shapes(
    at: usize,
    record: &RecordDescription,
    positions: &HashMap<&str, usize>,
    limits: &Limits,
) -> Result<Vec<Shape>, String> {
    let numbers = record.fields.iter().zip(0..=u16::MAX).map(|(field, number)| (field.name.as_str(), number));
    let names = Names { own: (&record.name, at), records: positions, fields: numbers.collect() };
    let shape = |field: &FieldDescription| {
        Shape::parse(&field.ty, &names, limits.type_depth)
            .map_err(|reason| format!("{}.{}: {reason}", record.name, field.name))
    };
    record.fields.iter().map(shape).collect()
}

fn make_format(
    description: &Description,
    shapes: &[Vec<Shape>],
    told: Option<LongDouble>,
    limits: &Limits,
) -> Result<Format, ErrorKind> {
    let records = description.records.iter().zip(shapes);
    let definitions = records.map(|(record, shapes)| make_record(record, shapes, description, told));
    let definitions = definitions.collect::<Result<Vec<_>, _>>()?;
    Ok(Format::with_limits(description.order, description.pointer, definitions, limits)?)
}

fn make_record(
    record: &RecordDescription,
    shapes: &[Shape],
    description: &Description,
    told: Option<LongDouble>,
) -> Result<Definition, FormatError> {
    let field = |(field, shape): (&FieldDescription, &Shape)| {
        let types = Types { size: field.size, order: record.order, floats: description.floats, told };
        let ty = types.of(shape, true).and_then(|ty| {
            check_long_doubles(record, field, shape)?;
            Ok(ty)
        });
        let ty = ty.map_err(|reason| FormatError::Field {
            definition: record.name.clone(),
            field: field.name.clone(),
            reason,
        })?;
        Ok(Field::new(&field.name, field.offset, ty))
    };
    let fields = record.fields.iter().zip(shapes).map(field).collect::<Result<Vec<_>, FormatError>>()?;
    let align = plausible_align(record, description.pointer);
    Ok(Definition::Record(RecordDef { name: record.name.clone(), size: record.size, align, fields }))
}

/// Checks that long doubles lie within their record. A format does not: it has doubles in their place, which are
/// shorter.
fn check_long_doubles(record: &RecordDescription, field: &FieldDescription, shape: &Shape) -> Result<(), String> {
    let Some(count) = shape.floats_in_place().filter(|_| field.size > 8) else { return Ok(()) };
    let end = count.checked_mul(u64::from(field.size)).and_then(|size| size.checked_add(u64::from(field.offset)));
    match end {
        Some(end) if end <= u64::from(record.size) => Ok(()),
        _ => Err(format!("it does not fit its record of {} bytes", record.size)),
    }
}

/// What the writer's compiler said, or the pointer width when it said nothing, but never more than the size allows.
pub(super) fn plausible_align(record: &RecordDescription, pointer: PointerWidth) -> u32 {
    let said = match u32::from(record.align) {
        0 => pointer.bytes() as u32,
        said => said,
    };
    // Powers of two as their logarithms.
    1 << said.ilog2().min(record.size.trailing_zeros()).min(4)
}

/// Types of a field whose elements have `size` bytes.
struct Types {
    size: u32,
    order: Order,
    floats: FloatForm,
    /// What was said of long doubles.
    told: Option<LongDouble>,
}

impl Types {
    /// The type of a shape. Only a field's own type, `direct`, can be an array that other fields count; elsewhere it
    /// becomes a pointer to a list, in the same place.
    fn of(&self, shape: &Shape, direct: bool) -> Result<Type, String> {
        Ok(match shape {
            Shape::Scalar(scalar) => self.scalar(*scalar)?,
            Shape::Array { dims, item } => {
                Type::Array { item: Box::new(self.of(item, false)?), dims: dims.clone(), order: self.order }
            }
            Shape::Pointer(item) => Type::Ref { item: Box::new(self.of(item, false)?), nullable: true, shared: true },
            Shape::Counted { dims, item } if direct => {
                Type::Sized { item: Box::new(self.of(item, false)?), dims: dims.clone(), order: self.order }
            }
            Shape::Counted { dims, item } => {
                let list = Type::List { item: Box::new(self.list_item(dims, self.of(item, false)?)?) };
                Type::Ref { item: Box::new(list), nullable: true, shared: false }
            }
        })
    }

    /// What a list holds when only the outermost dimension is a field.
    fn list_item(&self, dims: &[Dim], item: Type) -> Result<Type, String> {
        let inner = dims.iter().skip(1).map(|dim| match dim {
            Dim::Fixed(len) => Some(*len),
            Dim::Field(_) => None,
        });
        match (dims.first(), inner.collect::<Option<Vec<u32>>>()) {
            (Some(Dim::Field(_)), Some(inner)) if inner.is_empty() => Ok(item),
            (Some(Dim::Field(_)), Some(dims)) if self.order == Order::Row => {
                Ok(Type::Array { item: Box::new(item), dims, order: self.order })
            }
            _ => Err("an array of several variable dimensions within another type is not supported".into()),
        }
    }

    fn scalar(&self, scalar: Scalar) -> Result<Type, String> {
        let width = u8::try_from(self.size).unwrap_or(u8::MAX);
        Ok(match (scalar, width) {
            (Scalar::Record(at), _) => Type::Record(DefId(at as u16)),
            (Scalar::String, _) => Type::CStr,
            (Scalar::Integer, 1 | 2 | 4 | 8 | 16) => Type::Int { width, signed: true },
            (Scalar::Unsigned, 1 | 2 | 4 | 8 | 16) => Type::Int { width, signed: false },
            // C's enumerators are of type int, and the description has no names for them.
            (Scalar::Enumeration, 1 | 2 | 4 | 8) => Type::Int { width, signed: true },
            (Scalar::Float, 4 | 8) => Type::Float { width },
            (Scalar::Float, 10..=16) => {
                LongDouble::find(self.size, self.floats, self.told)?;
                Type::Float { width: 8 }
            }
            (Scalar::Boolean, 1 | 2 | 4 | 8) => Type::Bool { width },
            (Scalar::Char, 1) => Type::Char { width },
            (Scalar::Char, 2 | 4 | 8) => Type::Int { width, signed: false },
            _ => return Err(format!("{scalar:?} of {} bytes is not supported", self.size)),
        })
    }
}

/// Bytes whose numbers have one byte order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub(super) all: &'a [u8],
    pub(super) order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub(super) fn big(all: &'a [u8]) -> Bytes<'a> {
        Bytes { all, order: ByteOrder::Big }
    }

    pub(super) fn slice(self, at: usize, len: usize) -> Option<&'a [u8]> {
        self.all.get(at..at.checked_add(len)?)
    }

    pub(super) fn u8(self, at: usize) -> Option<u8> {
        self.all.get(at).copied()
    }

    pub(super) fn u16(self, at: usize) -> Option<u16> {
        self.slice(at, 2).map(|bytes| read_uint(bytes, self.order) as u16)
    }

    pub(super) fn u32(self, at: usize) -> Option<u32> {
        self.slice(at, 4).map(|bytes| read_uint(bytes, self.order) as u32)
    }

    pub(super) fn u64(self, at: usize) -> Option<u64> {
        self.slice(at, 8).map(|bytes| read_uint(bytes, self.order) as u64)
    }

    /// A [`Bytes::u32`] as a position or length.
    pub(super) fn size(self, at: usize) -> Option<usize> {
        self.u32(at).and_then(|size| usize::try_from(size).ok())
    }

    /// The bytes from `at` up to a NUL.
    pub(super) fn text(self, at: usize) -> Option<&'a [u8]> {
        let tail = self.all.get(at..)?;
        tail.iter().position(|byte| *byte == 0).map(|end| &tail[..end])
    }
}
