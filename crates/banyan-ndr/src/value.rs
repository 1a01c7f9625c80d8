//! A value of any type, held in memory without a compiled type: what [`DynRecord`](crate::DynRecord) is made of,
//! what JSON and XML are read into, what a default is.

/// A value. Which [`Type`](crate::Type) it can be written as is decided when it is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: an absent optional, a null pointer.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer that fits 128 bits with sign.
    Int(i128),
    /// An unsigned integer above [`i128::MAX`]; smaller ones are [`Value::Int`].
    UInt(u128),
    /// The bits of a 16-bit float.
    F16(u16),
    /// A 32-bit float.
    F32(f32),
    /// A 64-bit float.
    F64(f64),
    /// A character.
    Char(char),
    /// The name of an enumeration's value. A value without a name is [`Value::Int`].
    Enum(String),
    /// Text. C strings that are not UTF-8 are [`Value::Bytes`].
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Items of an array or list. Arrays of several dimensions are lists of lists, outermost dimension first,
    /// whatever the order of their elements in memory.
    List(Vec<Value>),
    /// Fields by name, in order.
    Record(Vec<(String, Value)>),
    /// A case of a variant, with its payload.
    Case(String, Option<Box<Value>>),
    /// A shared value: a key into the [`DynRecord`](crate::DynRecord)'s table of shared values, which may form cycles.
    Shared(usize),
}
