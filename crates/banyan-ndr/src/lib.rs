//! Records that travel in their sender's own memory layout.

mod buffer;
mod error;
pub mod file;
mod format;
mod limits;
mod value;
pub mod wire;

pub use buffer::Buffer;
pub use error::{DecodeError, EncodeError};
pub use format::*;
pub use limits::Limits;
pub use value::Value;
