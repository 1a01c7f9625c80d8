//! Formats with definitions as wide as a description can make them. Nothing may search their names from the first to
//! the last for every value: these records would take minutes then.

use banyan_ndr::{
    ByteOrder, Case, DefId, Definition, EnumerationDef, Field, Format, PointerWidth, RecordDef, RecordView, Type,
    VariantDef,
};

/// The share of a number of names that is tried, not more than can be.
pub(crate) fn share(all: u32) -> usize {
    super::effort::share(all).min(all) as usize
}

fn format(root: RecordDef, other: Option<Definition>) -> Format {
    Format::new(ByteOrder::Little, PointerWidth::Eight, [Definition::Record(root)].into_iter().chain(other).collect())
        .unwrap()
}

/// A list of values of an enumeration, or cases of a variant, of which there are as many as can be.
fn list(of: Type, other: Definition) -> Format {
    let fields = vec![Field::new("v", 0, Type::List { item: Box::new(of) })];
    format(RecordDef { name: "wide".into(), size: 16, align: 8, fields }, Some(other))
}

pub(crate) fn names() -> Format {
    let names = (0..share(65_536)).map(|number| (format!("n{number}"), number as i128)).collect();
    list(
        Type::Enum(DefId(1)),
        Definition::Enumeration(EnumerationDef { name: "e".into(), width: 4, signed: false, names }),
    )
}

pub(crate) fn cases() -> Format {
    let case = |number: usize| Case { name: format!("c{number}"), tag: number as u64, payload: None };
    let cases = (0..share(65_536)).map(case).collect();
    list(
        Type::Variant(DefId(1)),
        Definition::Variant(VariantDef { name: "v".into(), size: 4, align: 4, tag_width: 4, payload_at: 4, cases }),
    )
}

/// A body with the last number as often as there are numbers.
pub(crate) fn last(format: &Format) -> Vec<u8> {
    let count = share(65_536) as u64;
    let mut body = [32_u64.to_le_bytes(), count.to_le_bytes()].concat();
    (0..count).for_each(|_| body.extend(u32::try_from(count - 1).unwrap().to_le_bytes()));
    assert!(RecordView::new(format, &body).is_ok());
    body
}

/// Fields of one byte.
pub(crate) fn fields() -> Format {
    let ty = Type::Int { width: 1, signed: false };
    let fields: Vec<_> =
        (0..share(20_000)).map(|number| Field::new(format!("f{number}"), number as u32, ty.clone())).collect();
    format(RecordDef { name: "wide".into(), size: fields.len() as u32, align: 1, fields }, None)
}
