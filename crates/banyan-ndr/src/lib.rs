//! Records that travel in their sender's own memory layout.

mod buffer;
mod cstruct;
pub mod dynamic;
mod error;
mod format;
mod limits;
mod morph;
pub mod reflect;
mod value;
pub mod wire;

pub use buffer::Buffer;
pub use cstruct::{CRecord, CStruct, encode_c, plain_c};
pub use dynamic::DynRecord;
pub use error::{DecodeError, EncodeError};
pub use format::*;
pub use limits::Limits;
pub use morph::Morph;
pub use reflect::RecordView;
pub use value::Value;
