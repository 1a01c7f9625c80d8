//! Records that travel in their sender's own memory layout.

mod buffer;
mod cstruct;
pub mod dynamic;
mod error;
mod format;
mod limits;
pub mod reflect;
pub mod schema;
pub mod text;
mod value;
pub mod wire;

pub use buffer::Buffer;
pub use cstruct::CStruct;
pub use dynamic::DynRecord;
pub use error::{DecodeError, EncodeError};
pub use format::*;
pub use limits::Limits;
pub use reflect::RecordView;
pub use value::Value;
