//! The vocabulary of formats: definitions, fields and types, and how many bytes each takes.

use crate::Value;

/// Byte order of the machine a record lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first (x86, Arm).
    Little,
    /// Most significant byte first (s390x, SPARC, POWER).
    Big,
}

impl ByteOrder {
    /// The order of this machine.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
}

/// Width of the references in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PointerWidth {
    /// Four bytes.
    Four,
    /// Eight bytes.
    Eight,
}

impl PointerWidth {
    /// The width of this machine's pointers.
    pub const NATIVE: PointerWidth =
        if cfg!(target_pointer_width = "32") { PointerWidth::Four } else { PointerWidth::Eight };

    /// In bytes.
    pub const fn bytes(self) -> usize {
        match self {
            PointerWidth::Four => 4,
            PointerWidth::Eight => 8,
        }
    }
}

/// Which definition of its format a type refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DefId(pub u16);

impl DefId {
    /// The definition of the whole record.
    pub const ROOT: DefId = DefId(0);

    /// Position in [`Format::definitions`](super::Format::definitions).
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A named layout that types refer to, so that it is described once and can contain references to itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Definition {
    /// Fields side by side.
    Record(RecordDef),
    /// One of several cases, told apart by a tag.
    Variant(VariantDef),
    /// An integer whose values have names.
    Enumeration(EnumerationDef),
}

impl Definition {
    /// The name it is matched by.
    pub fn name(&self) -> &str {
        match self {
            Definition::Record(record) => &record.name,
            Definition::Variant(variant) => &variant.name,
            Definition::Enumeration(enumeration) => &enumeration.name,
        }
    }

    /// Bytes it takes.
    pub fn size(&self) -> u32 {
        match self {
            Definition::Record(record) => record.size,
            Definition::Variant(variant) => variant.size,
            Definition::Enumeration(enumeration) => u32::from(enumeration.width),
        }
    }

    /// Its alignment, a power of two.
    pub fn align(&self) -> u32 {
        match self {
            Definition::Record(record) => record.align,
            Definition::Variant(variant) => variant.align,
            Definition::Enumeration(enumeration) => u32::from(enumeration.width),
        }
    }

    /// The types that stand in it, in order.
    pub fn types(&self) -> Box<dyn Iterator<Item = &Type> + '_> {
        match self {
            Definition::Record(record) => Box::new(record.fields.iter().map(|field| &field.ty)),
            Definition::Variant(variant) => Box::new(variant.cases.iter().filter_map(|case| case.payload.as_ref())),
            Definition::Enumeration(_) => Box::new(std::iter::empty()),
        }
    }

    pub(super) fn has_reference(&self) -> bool {
        self.types().any(Type::has_reference)
    }
}

/// A record: fields at offsets.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordDef {
    /// The name it is matched by.
    pub name: String,
    /// Bytes it takes, trailing padding included; at least 1.
    pub size: u32,
    /// A power of two that divides `size`.
    pub align: u32,
    /// In the order of their declaration. No two overlap.
    pub fields: Vec<Field>,
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name it is matched by.
    pub name: String,
    /// Distance from the start of the record.
    pub offset: u32,
    /// What lies there.
    pub ty: Type,
    /// The unit of its values, for people: `"s"`, `"bytes"`.
    pub unit: Option<String>,
    /// What it means, for people.
    pub description: Option<String>,
    /// How its values behave over time.
    pub meter: Option<Meter>,
    /// What a receiver puts here when the sender has no such field. It is the receiver's own business: not part of
    /// the encoding, nor of the id.
    pub default: Option<Value>,
}

impl Field {
    /// A field with nothing said about unit, description, meter and default.
    pub fn new(name: impl Into<String>, offset: u32, ty: Type) -> Field {
        Field { name: name.into(), offset, ty, unit: None, description: None, meter: None, default: None }
    }
}

/// How the values of a field behave over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meter {
    /// Only grows; its differences matter.
    Counter,
    /// Goes up and down; its values matter.
    Gauge,
}

/// One of several cases. The tag says which; the payloads of all cases share one place.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantDef {
    /// The name it is matched by.
    pub name: String,
    /// Bytes it takes, tag included.
    pub size: u32,
    /// A power of two that divides `size`.
    pub align: u32,
    /// Width of the tag, an unsigned integer at offset 0: 1, 2, 4 or 8.
    pub tag_width: u8,
    /// Where the payload of every case begins.
    pub payload_at: u32,
    /// The cases; names and tags are distinct.
    pub cases: Vec<Case>,
}

/// A case of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The name it is matched by.
    pub name: String,
    /// The value of the tag.
    pub tag: u64,
    /// What it carries.
    pub payload: Option<Type>,
}

/// An integer whose values have names.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumerationDef {
    /// The name it is matched by.
    pub name: String,
    /// 1, 2, 4 or 8 bytes.
    pub width: u8,
    /// Whether negative values are possible.
    pub signed: bool,
    /// Names and values, both distinct. Values fit the width.
    pub names: Vec<(String, i128)>,
}

/// Order of the elements of a multi-dimensional array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last index varies fastest (C, Rust).
    Row,
    /// The first index varies fastest (Fortran).
    Column,
}

/// One dimension of a [`Type::Sized`] array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dim {
    /// Known to the format.
    Fixed(u32),
    /// The value of the field at this position of the same record: an integer.
    Field(u16),
}

/// What lies at a place. The widths are in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// An integer of width 1, 2, 4, 8 or 16.
    Int {
        /// Its width.
        width: u8,
        /// Two's complement, or unsigned.
        signed: bool,
    },
    /// An IEEE 754 number of width 2, 4 or 8.
    Float {
        /// Its width.
        width: u8,
    },
    /// A truth value of width 1, 2, 4 or 8: zero is false, one is true.
    Bool {
        /// Its width.
        width: u8,
    },
    /// A character: a Unicode scalar value (width 4) or a byte (width 1).
    Char {
        /// Its width.
        width: u8,
    },
    /// An integer with named values.
    Enum(DefId),
    /// A counted UTF-8 string behind a span.
    Str,
    /// Bytes up to a NUL behind a reference, which may be null.
    CStr,
    /// Bytes behind a span.
    Bytes,
    /// A record in this very place.
    Record(DefId),
    /// A variant in this very place.
    Variant(DefId),
    /// A value that may be absent: a byte (0 or 1), and the value `value_at` bytes behind it. The value's bytes are
    /// zero when it is absent.
    Optional {
        /// What may be there.
        item: Box<Type>,
        /// Where the value begins.
        value_at: u32,
        /// Bytes in all.
        size: u32,
    },
    /// A pointer to one value elsewhere in the body.
    Ref {
        /// What it points to.
        item: Box<Type>,
        /// Whether it may be null.
        nullable: bool,
        /// Whether several pointers may lead to the same value, in cycles even. The sharing is kept.
        shared: bool,
    },
    /// A fixed number of items in this very place.
    Array {
        /// What is repeated.
        item: Box<Type>,
        /// Lengths of the dimensions, outermost first; all at least 1.
        dims: Vec<u32>,
        /// Which index varies fastest.
        order: Order,
    },
    /// Any number of items behind a span.
    List {
        /// What is repeated.
        item: Box<Type>,
    },
    /// Items behind a reference; how many, other fields say.
    Sized {
        /// What is repeated.
        item: Box<Type>,
        /// Lengths of the dimensions, outermost first; at least one is a field.
        dims: Vec<Dim>,
        /// Which index varies fastest.
        order: Order,
    },
}

impl Type {
    /// Whether values lie partly elsewhere. Looks through arrays and optionals, but not into definitions: those are
    /// asked for themselves.
    pub(super) fn has_reference(&self) -> bool {
        match self {
            Type::Str | Type::CStr | Type::Bytes | Type::Ref { .. } | Type::List { .. } | Type::Sized { .. } => true,
            Type::Optional { item, .. } | Type::Array { item, .. } => item.has_reference(),
            _ => false,
        }
    }

    /// The type of what is repeated, pointed to or optional.
    pub fn item(&self) -> Option<&Type> {
        match self {
            Type::Optional { item, .. }
            | Type::Ref { item, .. }
            | Type::Array { item, .. }
            | Type::List { item }
            | Type::Sized { item, .. } => Some(item),
            _ => None,
        }
    }

    /// What is left when all arrays, lists, pointers and optionals are taken off.
    pub(crate) fn innermost(&self) -> &Type {
        let mut ty = self;
        while let Some(item) = ty.item() {
            ty = item;
        }
        ty
    }

    /// Whether a value is itself a pointer or may be null. Behind another pointer or in an optional such a value
    /// always stands in the table of shared values: the two levels could not be told apart otherwise.
    pub fn is_indirect(&self) -> bool {
        matches!(self, Type::Optional { .. } | Type::Ref { .. } | Type::CStr)
    }

    /// Whether a value may be null or absent, so that it needs no default.
    pub(crate) fn may_be_null(&self) -> bool {
        matches!(self, Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. })
    }

    pub(crate) fn item_mut(&mut self) -> Option<&mut Type> {
        match self {
            Type::Optional { item, .. }
            | Type::Ref { item, .. }
            | Type::Array { item, .. }
            | Type::List { item }
            | Type::Sized { item, .. } => Some(item),
            _ => None,
        }
    }

    /// The definition it refers to itself (not through an item).
    pub fn definition(&self) -> Option<DefId> {
        match self {
            Type::Enum(id) | Type::Record(id) | Type::Variant(id) => Some(*id),
            _ => None,
        }
    }
}

/// Bytes a value takes where it stands. `None` when that overflows (possible only before a format is checked).
pub(crate) fn size_of(ty: &Type, pointer: PointerWidth, definitions: &[Definition]) -> Option<u64> {
    Some(match ty {
        Type::Int { width, .. } | Type::Float { width } | Type::Bool { width } | Type::Char { width } => {
            u64::from(*width)
        }
        Type::Enum(id) | Type::Record(id) | Type::Variant(id) => u64::from(definitions[id.index()].size()),
        Type::CStr | Type::Ref { .. } | Type::Sized { .. } => pointer.bytes() as u64,
        Type::Str | Type::Bytes | Type::List { .. } => 2 * pointer.bytes() as u64,
        Type::Optional { size, .. } => u64::from(*size),
        Type::Array { item, dims, .. } => {
            let one = size_of(item, pointer, definitions)?;
            dims.iter().try_fold(one, |size, dim| size.checked_mul(u64::from(*dim)))?
        }
    })
}

/// The alignment of a value: its width for a number, what is declared for a definition.
pub(crate) fn align_of(ty: &Type, pointer: PointerWidth, definitions: &[Definition]) -> u32 {
    match ty {
        Type::Int { width, .. } | Type::Float { width } | Type::Bool { width } | Type::Char { width } => {
            u32::from(*width)
        }
        Type::Enum(id) | Type::Record(id) | Type::Variant(id) => definitions[id.index()].align(),
        Type::CStr | Type::Ref { .. } | Type::Sized { .. } | Type::Str | Type::Bytes | Type::List { .. } => {
            pointer.bytes() as u32
        }
        Type::Optional { item, .. } | Type::Array { item, .. } => align_of(item, pointer, definitions),
    }
}
