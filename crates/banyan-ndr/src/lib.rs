//! Records that travel in their sender's own memory layout.

mod buffer;
mod error;
mod format;
#[cfg_attr(not(test), expect(dead_code, reason = "the planner that uses it is not there yet"))]
mod kernel;
mod limits;
mod value;
pub mod wire;

pub use buffer::Buffer;
pub use error::{DecodeError, EncodeError};
pub use format::*;
pub use kernel::program::Loss;
pub use limits::Limits;
pub use value::Value;
