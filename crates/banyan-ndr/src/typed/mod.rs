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
//!
//! Everything here is about bodies in the *native* layout of a type: what [`encode`] writes, and what a body of the
//! type's own format is. Bodies of other formats are converted before they come here.
//!
//! The depth of the data never costs stack: what lies behind references of a recursive type is written from a work
//! list ([`Writer`]) and read from another ([`Discoverer`]).

mod describe;
mod discover;
mod encode;
mod list;
mod memory;
mod number;
mod pointer;
mod read;
mod sink;
mod sized;
mod text;
mod write;

pub use crate::half::F16;
pub use describe::{Describer, FormatCache};
pub use discover::Discoverer;
pub use encode::{
    EncodedBody, Message, encode, encode_body, encode_body_into, encode_body_to_slice, encode_into, encode_to_slice,
};
pub use list::{List, ReadList};
pub use read::{Reader, read_native, read_native_into, read_native_into_to_depth, read_native_to_depth, view_native};
pub use sink::{Sink, Slot};
pub use text::{ByteBuf, Bytes};
pub use write::{Scratch, Writer};

use crate::{DecodeError, Format, Type, Value};

/// What the code that `#[derive(Record)]` writes calls, and nobody else.
#[doc(hidden)]
pub mod derived {
    pub use super::describe::{Layout, align_up, fold_max, in_order, narrow};
    pub use super::memory::measured;
    pub use super::sink::{Deferred, Entry, POINTER};
    pub use super::sized::{Length, LengthOf, discover_sized, read_sized, sized_to_value, with_order, write_sized};
    pub use super::text::not_in_place;

    /// What a skipped field holds in a record that was read. Such a field may hold a `Cell`, so it must not borrow: one
    /// shared value can have owners with different lifetimes (see `Wire`), and through a `Cell` one of them could put
    /// in what does not live long enough for another.
    #[inline]
    pub fn skipped<T: Default + 'static>() -> T {
        T::default()
    }

    /// A number that is no value of an enumeration or no tag of a variant.
    #[cold]
    pub fn no_value(found: i128, wanted: &'static str) -> crate::DecodeError {
        crate::DecodeError::Invalid { path: String::new(), found: found.to_string(), wanted }
    }
}

/// A type that can stand in a record.
///
/// # Safety
/// - If `IN_PLACE`, then `SIZE` is `size_of::<Self>()`, `ALIGN` is a multiple of `align_of::<Self>()`, every field lies
///   in memory where `describe` says, and any bytes that pass `check` are a valid `Self`, whatever lies in the padding.
///   Size and alignment are compared when the program is compiled.
/// - If `PLAIN`, then also every one of the `SIZE` bytes is initialised in every value.
/// - If `ANY_BITS`, then `check` never fails.
/// - Nothing in a value can change behind a shared borrow (no `Cell` within), but for parts that are not sent and are
///   `'static`: what changes there has no lifetime.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand in a record",
    label = "no record type",
    note = "derive `Record` for your own types; fields can be numbers, `bool`, `char`, text, arrays, lists, `Option`, `Box`, `Rc` and `Arc` of such"
)]
pub unsafe trait Wire {
    /// Bytes in the fixed part; at least 1.
    const SIZE: usize;
    /// Alignment in the body: the width of a number, whatever the machine asks for; the largest of its parts otherwise.
    const ALIGN: usize;
    /// The wire form is the memory form, but for the contents of padding.
    const IN_PLACE: bool;
    /// `IN_PLACE`, and no padding.
    const PLAIN: bool;
    /// `IN_PLACE`, and every pattern of bits is a value.
    const ANY_BITS: bool;
    /// What it refers to refers to nothing further, so that writing or reading it never goes deep.
    const SHALLOW: bool;
    /// A reference that is never null, so that its absence can be written as null.
    const REFERENCE: bool = false;

    /// The type as formats describe it.
    fn describe(describer: &mut Describer) -> Type;

    /// Writes the fixed part at a place of `SIZE` zeroed bytes, and appends what it refers to.
    fn write<'r>(&'r self, place: Slot, out: &mut impl Sink<'r>);

    /// Whether `SIZE` bytes in the native layout are a value. Asked only of `IN_PLACE` types.
    fn check(bytes: &[u8]) -> Result<(), DecodeError>;

    /// The value without its type. Recursive, and without the identity of shared values: meant for defaults.
    fn to_value(&self) -> Value;
}

/// A type that can be read from a body that lives for `'a`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from this body",
    note = "borrowed fields must borrow from the body, so their lifetime cannot be longer than the body's"
)]
pub trait Read<'a>: Wire + Sized {
    /// Reads the value whose fixed part is at `at`; the `SIZE` bytes there lie in the body.
    fn read(input: &Reader<'a>, at: usize) -> Result<Self, DecodeError>;

    /// Reads into a value that is there already, to keep its allocations. After an error the value is valid, but
    /// partly old and partly new.
    fn read_into(&mut self, input: &Reader<'a>, at: usize) -> Result<(), DecodeError> {
        *self = Self::read(input, at)?;
        Ok(())
    }

    /// Notes the references that must be followed before the value at `at` can be read without going deep.
    fn discover(work: &mut Discoverer<'_, 'a>, at: usize) -> Result<(), DecodeError>;
}

/// A type that can be a whole record: what `#[derive(Record)]` makes of structs and of enums with data.
#[diagnostic::on_unimplemented(message = "`{Self}` is no record", note = "derive it: `#[derive(Record)]`")]
pub trait Record: Wire {
    /// Its format on this machine; made once.
    fn format() -> &'static Format;
}
