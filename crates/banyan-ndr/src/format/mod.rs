//! Formats: what a record looks like, in enough detail to read it without having been compiled for it.
//!
//! A [`Format`] is immutable, cheap to clone and always valid: it can only be made by [`Format::new`] (and what is
//! built on it: the derive macro, the [`CStruct`](crate::CStruct) builder, [`Format::decode`]), which checks every
//! rule of `docs/wire.md`. Its [`FormatId`] is a hash of its canonical encoding, so two programs that never met give
//! the same description the same id. There is no registry and no server.

mod check;
mod codec;
mod display;
mod id;
mod layout;
mod lookup;
mod plain;
mod project;
#[cfg(test)]
mod tests;
mod types;

use std::sync::{Arc, OnceLock};

pub use check::FormatError;
pub use id::FormatId;
use lookup::Lookup;
pub use types::{
    ByteOrder, Case, DefId, Definition, Dim, EnumerationDef, Field, Meter, Order, PointerWidth, RecordDef, Type,
    VariantDef,
};

use crate::{Limits, Value};

/// The description of a record: definitions of which the first is the root, and the byte order and pointer width of
/// the machine the record lies on.
#[derive(Clone)]
pub struct Format(Arc<Inner>);

struct Inner {
    id: FormatId,
    receiving_id: FormatId,
    order: ByteOrder,
    pointer: PointerWidth,
    definitions: Vec<Definition>,
    encoded: Vec<u8>,
    has_references: bool,
    /// By definition; empty when the format is not recursive.
    recursive: Vec<bool>,
    /// By definition.
    plain: OnceLock<Vec<bool>>,
    /// By definition.
    lookups: Vec<Lookup>,
}

impl Format {
    /// Checks the definitions, puts them into canonical order (the first one is the root; those that it does not
    /// reach are dropped) and computes the id.
    pub fn new(order: ByteOrder, pointer: PointerWidth, definitions: Vec<Definition>) -> Result<Format, FormatError> {
        Self::with_limits(order, pointer, definitions, &Limits::default())
    }

    /// [`Format::new`] with limits other than the default ones.
    pub fn with_limits(
        order: ByteOrder,
        pointer: PointerWidth,
        definitions: Vec<Definition>,
        limits: &Limits,
    ) -> Result<Format, FormatError> {
        check::check(pointer, &definitions, limits)?;
        let definitions = check::canonical_order(definitions);
        let encoded = codec::encode(order, pointer, &definitions);
        check::limit("the format description", encoded.len(), limits.format_bytes, "format_bytes")?;
        Ok(Format(Arc::new(Inner {
            id: FormatId::of(&encoded),
            receiving_id: receiving_id(&encoded, &definitions),
            has_references: definitions.iter().any(Definition::has_reference),
            recursive: plain::recursive(&definitions),
            plain: OnceLock::new(),
            lookups: definitions.iter().map(|_| Lookup::default()).collect(),
            order,
            pointer,
            definitions,
            encoded,
        })))
    }

    /// Reads a canonical encoding that came from outside.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Format, FormatError> {
        let (order, pointer, definitions) = codec::decode(bytes, limits)?;
        let format = Self::with_limits(order, pointer, definitions, limits)?;
        if format.encoded() != bytes {
            return Err(FormatError::NotCanonical);
        }
        Ok(format)
    }

    /// The canonical encoding: the same bytes on every machine for the same description.
    pub fn encoded(&self) -> &[u8] {
        &self.0.encoded
    }

    /// 128 bits of a hash of [`encoded`](Self::encoded).
    #[inline]
    pub fn id(&self) -> FormatId {
        self.0.id
    }

    /// The id of what a receiver makes of records: like [`id`](Self::id), but formats that differ in the defaults of
    /// their fields differ in it too. It never travels.
    #[inline]
    pub(crate) fn receiving_id(&self) -> FormatId {
        self.0.receiving_id
    }

    /// Name of the root definition.
    pub fn name(&self) -> &str {
        self.root().name()
    }

    /// Byte order of every number in the record.
    pub fn order(&self) -> ByteOrder {
        self.0.order
    }

    /// Width of every reference in the record.
    pub fn pointer(&self) -> PointerWidth {
        self.0.pointer
    }

    /// All definitions; the root is the first.
    pub fn definitions(&self) -> &[Definition] {
        &self.0.definitions
    }

    /// The definition of the whole record: a [`Definition::Record`] or a [`Definition::Variant`].
    pub fn root(&self) -> &Definition {
        &self.0.definitions[0]
    }

    /// The root's fields; empty when the root is a variant.
    pub fn fields(&self) -> &[Field] {
        match self.root() {
            Definition::Record(record) => &record.fields,
            _ => &[],
        }
    }

    /// The type of the root, by which readers start.
    pub fn root_type(&self) -> Type {
        match self.root() {
            Definition::Variant(_) => Type::Variant(DefId::ROOT),
            _ => Type::Record(DefId::ROOT),
        }
    }

    /// Looks a definition up.
    pub fn definition(&self, id: DefId) -> &Definition {
        &self.0.definitions[id.index()]
    }

    /// The record definition behind a [`Type::Record`].
    ///
    /// # Panics
    /// When `id` is no record of this format; the ids in this format's own types always are.
    pub fn record(&self, id: DefId) -> &RecordDef {
        match self.definition(id) {
            Definition::Record(record) => record,
            other => panic!("definition {} is not a record", other.name()),
        }
    }

    /// The variant definition behind a [`Type::Variant`].
    ///
    /// # Panics
    /// When `id` is no variant of this format; the ids in this format's own types always are.
    pub fn variant(&self, id: DefId) -> &VariantDef {
        match self.definition(id) {
            Definition::Variant(variant) => variant,
            other => panic!("definition {} is not a variant", other.name()),
        }
    }

    /// The enumeration behind a [`Type::Enum`].
    ///
    /// # Panics
    /// When `id` is no enumeration of this format; the ids in this format's own types always are.
    pub fn enumeration(&self, id: DefId) -> &EnumerationDef {
        match self.definition(id) {
            Definition::Enumeration(enumeration) => enumeration,
            other => panic!("definition {} is not an enumeration", other.name()),
        }
    }

    /// Bytes a value of `ty` takes in the fixed part.
    pub fn size_of(&self, ty: &Type) -> usize {
        types::size_of(ty, self.0.pointer, &self.0.definitions)
            .and_then(|size| usize::try_from(size).ok())
            .expect("checked when the format was made")
    }

    /// Alignment at which a value of `ty` is placed behind a reference.
    pub fn align_of(&self, ty: &Type) -> usize {
        types::align_of(ty, self.0.pointer, &self.0.definitions) as usize
    }

    /// Bytes of the root's fixed part.
    pub fn size(&self) -> usize {
        self.root().size() as usize
    }

    /// Alignment of the root.
    pub fn align(&self) -> usize {
        self.root().align() as usize
    }

    /// Whether any field refers to bytes outside its own place (strings, lists, pointers).
    #[inline]
    pub fn has_references(&self) -> bool {
        self.0.has_references
    }

    /// Whether a record can contain another of its own kind through references, so that its depth is set by the data.
    #[inline]
    pub fn is_recursive(&self) -> bool {
        !self.0.recursive.is_empty()
    }

    /// Whether a field can be filled when the sender lacks it: by its default, by null, or because every field of its
    /// record can. Nobody declares the defaults of a very large record one by one, so those are not looked into: short
    /// formats can describe places by the thousand million.
    pub fn has_default(&self, field: &Field) -> bool {
        const LARGEST: u32 = 1 << 16;
        field.default.is_some()
            || match &field.ty {
                Type::Record(id) => {
                    let record = self.record(*id);
                    record.size <= LARGEST && record.fields.iter().all(|field| self.has_default(field))
                }
                ty => ty.may_be_null(),
            }
    }

    /// The payload of a case that was given without one: null, or a record of which every field has a default. `None`
    /// where the payload must be said.
    pub(crate) fn unspoken_payload(&self, case: &Case) -> Option<Value> {
        let ty = case.payload.as_ref()?;
        if ty.may_be_null() {
            return Some(Value::Null);
        }
        self.has_default(&Field::new(case.name.as_str(), 0, ty.clone())).then(|| Value::Record(Vec::new()))
    }

    /// Whether a body of exactly `len` bytes can be a record of this format: no shorter than the fixed part, and no
    /// longer either when there are no references.
    pub fn fits(&self, len: usize) -> bool {
        if self.has_references() { len >= self.size() } else { len == self.size() }
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for Format {}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Format({} {})", self.name(), self.id())
    }
}

/// [`Format::receiving_id`].
fn receiving_id(encoded: &[u8], definitions: &[Definition]) -> FormatId {
    let mut described = encoded.to_vec();
    for definition in definitions {
        let Definition::Record(record) = definition else { continue };
        for default in record.fields.iter().filter_map(|field| field.default.as_ref().map(|value| (&field.name, value)))
        {
            described.extend_from_slice(format!("{}{default:?}", record.name).as_bytes());
        }
    }
    FormatId::of(&described)
}
