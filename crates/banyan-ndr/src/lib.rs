//! Records that travel in their sender's own memory layout.

mod buffer;
mod cstruct;
mod decoder;
pub mod dynamic;
mod error;
pub mod export;
pub mod ffs;
pub mod file;
mod format;
mod half;
mod kernel;
mod limits;
mod morph;
mod plan;
pub mod reflect;
pub mod schema;
pub mod text;
pub mod typed;
mod value;
pub mod wire;

pub use buffer::Buffer;
pub use cstruct::{CRecord, CStruct, encode_c, plain_c};
pub use decoder::{DecodeOptions, Decoder, Generate, split_message};
pub use dynamic::DynRecord;
pub use error::{DecodeError, EncodeError};
pub use format::*;
pub use limits::Limits;
pub use morph::Morph;
pub use plan::{Compatibility, ConvertOptions, Loss, Plan, compatibility};
pub use reflect::RecordView;
pub use typed::{F16, Message, Record, Scratch, encode, encode_into, encode_to_slice, read_native, view_native};
pub use value::Value;

/// Makes a struct or an enum a record: implements [`typed::Wire`], [`typed::Read`] and [`Record`](trait@Record).
#[cfg(feature = "derive")]
pub use banyan_ndr_derive::Record;
