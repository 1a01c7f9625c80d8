//! The bounds on everything that comes from outside.
//!
//! Every count, size, depth and length in a description or a record that was received is compared with one of these
//! before it is used. What is not bounded here is bounded by the number of bytes received: decoding never allocates
//! more than a small multiple of its input, or of what a conversion makes of it, which [`Limits::growth`] bounds.

/// The default of [`Limits::depth`]. Unoptimised code takes about 200 bytes of stack for each level that it drops, and
/// threads have 2 MiB: this leaves ten times as much, for types that are wider and for what else recurses.
pub(crate) const DEPTH: usize = 1000;

/// Bounds on received formats and records. [`Limits::default`] suits trusted and untrusted peers alike.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one encoded format description.
    pub format_bytes: usize,
    /// Definitions (records, variants, enumerations) in one format.
    pub definitions: usize,
    /// Fields of one record, cases of one variant, names of one enumeration.
    pub fields: usize,
    /// Bytes of one name, unit or description.
    pub name_bytes: usize,
    /// Nesting of types within one field (an optional list of arrays of … is four deep).
    pub type_depth: usize,
    /// Rank of an array.
    pub dimensions: usize,
    /// Bytes of the fixed part of one record.
    pub fixed_bytes: usize,
    /// Bytes of the body of one record.
    pub body_bytes: usize,
    /// Bytes of a converted body for each byte of the sender's, besides the fixed part and 1 MiB that any may have.
    /// What a sender lacks the receiver fills in, for each item of a list, so that short items can become long ones.
    pub growth: usize,
    /// Bytes of memory that one record may take as values ([`DynRecord`](crate::DynRecord)), as which it is shown, edited
    /// and exported. Every value holds its fields' names, so that a body can grow several hundred times.
    pub value_bytes: usize,
    /// Depth to which records are nested in each other, through references too, where a reader walks recursively
    /// (printing, JSON, XML). Decoding and converting are iterative and need no such limit.
    pub nesting: usize,
    /// Depth to which values of a recursive Rust type lie behind one another (boxes, lists, shared pointers). Decoding
    /// takes no stack for it, but Rust drops, clones and compares such values by recursion. To be raised for types
    /// whose `Drop` works iteratively. [`DynRecord`](crate::DynRecord) and views have no such limit.
    pub depth: usize,
    /// Formats one decoder remembers.
    pub formats: usize,
}

crate::setters!(Limits {
    format_bytes: usize,
    definitions: usize,
    fields: usize,
    name_bytes: usize,
    type_depth: usize,
    dimensions: usize,
    fixed_bytes: usize,
    body_bytes: usize,
    growth: usize,
    value_bytes: usize,
    nesting: usize,
    depth: usize,
    formats: usize,
});

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // Tens of thousands of fields with long names.
            format_bytes: 4 << 20,
            definitions: 4096,
            fields: 1 << 16,
            name_bytes: 4096,
            type_depth: 32,
            dimensions: 16,
            fixed_bytes: 1 << 30,
            body_bytes: 1 << 34_u32.min(usize::BITS - 2),
            // Lists of single bytes may become lists of records of a hundred.
            growth: 128,
            value_bytes: 1 << 30,
            nesting: 128,
            depth: DEPTH,
            formats: 1 << 16,
        }
    }
}
