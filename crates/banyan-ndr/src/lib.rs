//! Records that travel in their sender's own memory layout.

mod buffer;
mod cstruct;
pub mod dynamic;
mod error;
pub mod ffs;
pub mod export;
pub mod file;
mod format;
mod kernel;
mod limits;
pub mod typed;
mod plan;
mod morph;
pub mod reflect;
pub mod schema;
pub mod text;
mod value;
pub mod wire;

pub use buffer::Buffer;
pub use cstruct::{CRecord, CStruct, encode_c, plain_c};
pub use dynamic::DynRecord;
pub use error::{DecodeError, EncodeError};
pub use format::*;
pub use limits::Limits;
pub use typed::{F16, Message, Record, Scratch, encode, encode_into, encode_to_slice, read_native, view_native};
pub use plan::{Compatibility, ConvertOptions, Loss, Plan, compatibility};
pub use morph::Morph;
pub use reflect::RecordView;
pub use value::Value;

/// Makes a struct or an enum a record: implements [`typed::Wire`], [`typed::Read`] and [`Record`](trait@Record).
#[cfg(feature = "derive")]
pub use banyan_ndr_derive::Record;
