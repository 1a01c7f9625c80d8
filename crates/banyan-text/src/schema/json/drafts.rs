//! Definitions that are collected while a schema by others is read, and the types that JSON Schema only hints at.

use super::super::SchemaError;
use banyan_ndr::{
    ByteOrder, Case, DefId, Definition, EnumerationDef, Format, Limits, PointerWidth, RecordDef, Type, VariantDef,
};

/// Definitions in the order in which they were begun; the first is the root.
#[derive(Default)]
pub(super) struct Drafts(Vec<Definition>);

impl Drafts {
    /// Begins a definition, so that others can refer to it before it is known.
    pub(super) fn begin(&mut self, at: &str, name: &str) -> Result<DefId, SchemaError> {
        let id = u16::try_from(self.0.len()).ok().filter(|_| self.0.len() < Limits::default().definitions);
        let id = id.ok_or_else(|| SchemaError::unfit(at, name, "there are too many definitions"))?;
        self.0.push(Definition::Record(RecordDef { name: name.into(), size: 0, align: 1, fields: Vec::new() }));
        Ok(DefId(id))
    }

    /// What it turned out to be.
    pub(super) fn set(&mut self, id: DefId, definition: Definition) {
        self.0[id.index()] = definition;
    }

    /// An enumeration with the values 0, 1, 2, …
    pub(super) fn enumeration(&mut self, at: &str, name: &str, names: Vec<String>) -> Result<Type, SchemaError> {
        let id = self.begin(at, name)?;
        let width = if names.len() <= 256 { 1 } else { 4 };
        let names = names.into_iter().zip(0..).collect();
        self.set(id, Definition::Enumeration(EnumerationDef { name: name.into(), width, signed: false, names }));
        Ok(Type::Enum(id))
    }

    /// A variant with the tags 0, 1, 2, …, begun before.
    pub(super) fn set_variant(&mut self, id: DefId, name: &str, cases: Vec<(String, Option<Type>)>) -> Type {
        let tag_width = if cases.len() <= 256 { 1 } else { 4 };
        let cases = cases.into_iter().zip(0..).map(|((name, payload), tag)| Case { name, tag, payload }).collect();
        let variant = VariantDef { name: name.into(), size: 0, align: 1, tag_width, payload_at: 0, cases };
        self.set(id, Definition::Variant(variant));
        Type::Variant(id)
    }

    /// Lays everything out.
    pub(super) fn finish(self, order: ByteOrder, pointer: PointerWidth) -> Result<Format, SchemaError> {
        Ok(Format::laid_out(order, pointer, self.0)?)
    }
}

/// A type that may be absent. A pointer can be null itself.
pub(super) fn optional(ty: Type) -> Type {
    match ty {
        Type::Ref { item, shared, .. } => Type::Ref { item, nullable: true, shared },
        Type::Optional { .. } | Type::CStr => ty,
        _ => Type::Optional { item: Box::new(ty), value_at: 0, size: 0 },
    }
}

/// The smallest integer type for a range; 64 bits where a bound is missing.
pub(super) fn integer(least: Option<i128>, most: Option<i128>) -> Type {
    let least_or = least.unwrap_or(i64::MIN.into());
    let most_or = most.unwrap_or(i64::MAX.into());
    let signed = least_or < 0;
    if least.is_none() || most.is_none() {
        return Type::Int { width: 8, signed };
    }
    let fits = |width: &u8| {
        let bits = 8 * u32::from(*width);
        match signed {
            true => least_or >= -(1 << (bits - 1)) && most_or < 1 << (bits - 1),
            false => most_or < 1 << bits,
        }
    };
    Type::Int { width: [1, 2, 4, 8].into_iter().find(fits).unwrap_or(16), signed }
}
