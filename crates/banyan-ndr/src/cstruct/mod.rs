//! C structs as records: described by names, kinds, sizes and offsets, sent as they lie, received as C memory.
//!
//! [`CStruct`] describes; [`encode_c`] and [`plain_c`] send what lies at an address; [`CRecord`] turns a received body
//! into memory that C code can read. Only this module follows real pointers; nothing here guesses a layout.

mod builder;
mod encode;
mod record;

pub use builder::CStruct;
pub use encode::{encode_c, plain_c};
pub use record::CRecord;
