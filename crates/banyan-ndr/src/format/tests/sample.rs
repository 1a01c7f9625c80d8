//! Formats made by hand for the tests.

use crate::{
    ByteOrder, Case, DefId, Definition, Dim, EnumerationDef, Field, Format, FormatError, Limits, Meter, Order,
    PointerWidth, RecordDef, Type, VariantDef,
};

pub(super) const U8: Type = Type::Int { width: 1, signed: false };
pub(super) const U32: Type = Type::Int { width: 4, signed: false };

/// A record whose fields have these offsets.
pub(super) fn record(name: &str, size: u32, align: u32, fields: Vec<(&str, u32, Type)>) -> RecordDef {
    let fields = fields.into_iter().map(|(name, offset, ty)| Field::new(name, offset, ty)).collect();
    RecordDef { name: name.into(), size, align, fields }
}

/// A variant of 16 bytes with a tag of 4 and its payloads at byte 8.
pub(super) fn variant(name: &str, cases: Vec<(&str, u64, Option<Type>)>) -> VariantDef {
    let cases = cases.into_iter().map(|(name, tag, payload)| Case { name: name.into(), tag, payload }).collect();
    VariantDef { name: name.into(), size: 16, align: 8, tag_width: 4, payload_at: 8, cases }
}

pub(super) fn enumeration(name: &str, width: u8, signed: bool, names: &[(&str, i128)]) -> EnumerationDef {
    let names = names.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    EnumerationDef { name: name.into(), width, signed, names }
}

pub(super) fn boxed(item: Type) -> Box<Type> {
    Box::new(item)
}

pub(super) fn list(item: Type) -> Type {
    Type::List { item: boxed(item) }
}

pub(super) fn array(item: Type, dims: &[u32]) -> Type {
    Type::Array { item: boxed(item), dims: dims.to_vec(), order: Order::Row }
}

pub(super) fn sized(item: Type, dims: &[Dim]) -> Type {
    Type::Sized { item: boxed(item), dims: dims.to_vec(), order: Order::Row }
}

/// A format of a little-endian machine with 8-byte references.
pub(super) fn format(definitions: Vec<Definition>) -> Result<Format, FormatError> {
    Format::new(ByteOrder::Little, PointerWidth::Eight, definitions)
}

/// The same, within limits.
pub(super) fn format_within(definitions: Vec<Definition>, limits: &Limits) -> Result<Format, FormatError> {
    Format::with_limits(ByteOrder::Little, PointerWidth::Eight, definitions, limits)
}

/// Definitions with every type and every remark in them, of a machine with 4-byte references.
pub(super) fn everything() -> Vec<Definition> {
    let mut root = record(
        "all",
        160,
        8,
        vec![
            ("n", 0, Type::Int { width: 8, signed: true }),
            ("u", 8, Type::Int { width: 2, signed: false }),
            ("half", 10, Type::Float { width: 2 }),
            ("wide", 12, Type::Float { width: 4 }),
            ("on", 16, Type::Bool { width: 1 }),
            ("letter", 20, Type::Char { width: 4 }),
            ("colour", 24, Type::Enum(DefId(1))),
            ("name", 28, Type::Str),
            ("note", 36, Type::CStr),
            ("blob", 40, Type::Bytes),
            ("point", 48, Type::Record(DefId(2))),
            ("shape", 64, Type::Variant(DefId(3))),
            ("maybe", 80, Type::Optional { item: boxed(U32), value_at: 4, size: 8 }),
            ("next", 88, Type::Ref { item: boxed(Type::Record(DefId(0))), nullable: true, shared: true }),
            ("matrix", 96, Type::Array { item: boxed(U32), dims: vec![2, 3], order: Order::Column }),
            ("names", 120, list(Type::Str)),
            (
                "grid",
                128,
                Type::Sized { item: boxed(U8), dims: vec![Dim::Field(1), Dim::Fixed(300)], order: Order::Row },
            ),
        ],
    );
    root.fields[0].unit = Some("bytes".into());
    root.fields[0].meter = Some(Meter::Counter);
    root.fields[3].description = Some("how wide it is, in Ångström".into());
    root.fields[3].meter = Some(Meter::Gauge);
    let point = record("point", 16, 8, vec![("x", 0, Type::Float { width: 8 }), ("y", 8, Type::Float { width: 8 })]);
    vec![
        Definition::Record(root),
        Definition::Enumeration(enumeration("colour", 4, true, &[("red", 0), ("none", -1)])),
        Definition::Record(point),
        Definition::Variant(variant(
            "shape",
            vec![("nothing", 0, None), ("round", 200, Some(Type::Float { width: 8 }))],
        )),
    ]
}
