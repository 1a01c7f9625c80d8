//! Formats of any size, of each shape that costs something else.

use banyan_ndr::{
    ByteOrder, Case, DefId, Definition, EnumerationDef, Field, Format, PointerWidth, RecordDef, Type, VariantDef,
};

/// An unsigned integer of four bytes.
pub(crate) const NUMBER: Type = Type::Int { width: 4, signed: false };

fn build(definitions: Vec<Definition>) -> Format {
    Format::new(ByteOrder::Little, PointerWidth::Eight, definitions).expect("a valid format")
}

fn record(name: &str, types: impl IntoIterator<Item = (String, Type, u32)>) -> Definition {
    let mut size = 0;
    let fields = types.into_iter().map(|(name, ty, bytes)| {
        let offset = size;
        size += bytes;
        Field::new(name, offset, ty)
    });
    let fields: Vec<Field> = fields.collect();
    let align = if size % 8 == 0 { 8 } else { 4 };
    Definition::Record(RecordDef { name: name.into(), size: size.max(4), align, fields })
}

/// One record of many numbers, whose names differ at their ends.
pub(crate) fn wide(count: usize) -> Format {
    build(vec![record("wide", (0..count).map(|number| (format!("counter_of_something_{number:06}"), NUMBER, 4)))])
}

/// The same numbers, the last first.
pub(crate) fn wide_backwards(count: usize) -> Format {
    build(vec![record("wide", (0..count).rev().map(|number| (format!("counter_of_something_{number:06}"), NUMBER, 4)))])
}

fn pointer(to: u16) -> Type {
    Type::Ref { item: Box::new(Type::Record(DefId(to))), nullable: true, shared: false }
}

/// Records that each point to the next.
pub(crate) fn chain(count: usize) -> Format {
    let next = |at: usize| (at + 1 < count).then(|| ("next".to_owned(), pointer(at as u16 + 1), 8));
    let link = |at: usize| {
        record(
            &format!("link{at}"),
            next(at).into_iter().chain([("value".to_owned(), Type::Int { width: 8, signed: true }, 8)]),
        )
    };
    build((0..count).map(link).collect())
}

/// Records that all point to two others, in rings.
pub(crate) fn mesh(count: usize) -> Format {
    let node = |at: usize| {
        let to = |step: usize| pointer(((at + step) % count) as u16);
        record(&format!("node{at}"), [("left".to_owned(), to(1), 8), ("right".to_owned(), to(count / 2 + 1), 8)])
    };
    build((0..count).map(node).collect())
}

/// An enumeration of many names, in one list.
pub(crate) fn names(count: usize) -> Format {
    let names = (0..count).map(|number| (format!("state_{number}"), number as i128)).collect();
    let states = EnumerationDef { name: "state".into(), width: 4, signed: false, names };
    let list = Type::List { item: Box::new(Type::Enum(DefId(1))) };
    build(vec![record("states", [("list".to_owned(), list, 16)]), Definition::Enumeration(states)])
}

/// A variant of many cases, in one list.
pub(crate) fn cases(count: usize) -> Format {
    let case = |number: usize| Case { name: format!("case_{number}"), tag: 7 * number as u64, payload: Some(NUMBER) };
    let cases = (0..count).map(case).collect();
    let any = VariantDef { name: "any".into(), size: 8, align: 4, tag_width: 4, payload_at: 4, cases };
    let list = Type::List { item: Box::new(Type::Variant(DefId(1))) };
    build(vec![record("cases", [("list".to_owned(), list, 16)]), Definition::Variant(any)])
}

/// Lists of texts and of numbers.
pub(crate) fn lists() -> Format {
    let list = |item: Type| Type::List { item: Box::new(item) };
    let fields = [("texts", list(Type::Str)), ("numbers", list(NUMBER)), ("text", Type::Str), ("bytes", Type::Bytes)];
    build(vec![record("lists", fields.map(|(name, ty)| (name.to_owned(), ty, 16)))])
}

/// A list that goes on to itself.
pub(crate) fn ring() -> Format {
    build(vec![record(
        "item",
        [
            ("next".to_owned(), pointer(0), 8),
            ("items".to_owned(), Type::List { item: Box::new(Type::Record(DefId(0))) }, 16),
        ],
    )])
}
