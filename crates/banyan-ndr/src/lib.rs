//! Records that travel in their sender's own memory layout.

mod buffer;
mod error;
mod format;
mod kernel;
mod limits;
mod plan;
mod value;
pub mod wire;

pub use buffer::Buffer;
pub use error::{DecodeError, EncodeError};
pub use format::*;
pub use limits::Limits;
pub use plan::{Compatibility, ConvertOptions, Loss, Plan, compatibility};
pub use value::Value;
