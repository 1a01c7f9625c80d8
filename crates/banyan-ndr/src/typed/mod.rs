//! Records that are Rust types: how a type lies on the wire, how it is written and read.
//!
//! [`Wire`] and [`Read`] are implemented for the types fields are made of and, by `#[derive(Record)]`, for structs and
//! enums. A type is of one of three classes, decided by the compiler from what it is made of:
//!
//! | class | example | on the wire |
//! | --- | --- | --- |
//! | plain | `struct { id: u32, x: f32 }` | its own memory, handed over by reference |
//! | in place, with padding | `struct { id: u8, x: f64 }` | its own memory layout, copied with the padding zeroed; viewed in place |
//! | with references | `struct { name: String }` | a layout of its own: fields in order, each aligned, references as spans |

/// A type that can stand in a record.
///
/// # Safety
/// - If `IN_PLACE`, then `SIZE` is `size_of::<Self>()`, `ALIGN` is `align_of::<Self>()`, every field lies in memory where
///   `describe` says, and any bytes that pass `check` are a valid `Self`, whatever lies in the padding.
/// - If `PLAIN`, then also every one of the `SIZE` bytes is initialised in every value.
/// - If `ANY_BITS`, then `check` never fails.
pub unsafe trait Wire {
    /// Bytes in the fixed part.
    const SIZE: usize;
    /// Alignment in the body.
    const ALIGN: usize;
    /// The wire form is the memory form, but for the contents of padding.
    const IN_PLACE: bool;
    /// `IN_PLACE`, and no padding.
    const PLAIN: bool;
    /// `IN_PLACE`, and every pattern of bits is a value.
    const ANY_BITS: bool;
}
