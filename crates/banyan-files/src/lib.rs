//! Record files: records of any formats, one behind the other, in a file that describes itself.
//!
//! A file is a short header and *blocks*. Some blocks hold many records, others a format, a comment, an attribute or
//! an index. Every block says where it stands and has checksums, so that damage costs no more than the blocks it
//! touches, and its place and cost are known exactly. `docs/record-files.md` is the byte layout.
//!
//! - [`Writer`] appends. It works on files and on anything that takes bytes, in one pass.
//! - [`Reader`] gives the records of a file by number, in order or by time. It reads blocks when they are touched, or maps them.
//! - [`StreamReader`] reads the same blocks from anything that gives bytes, holding one block at a time.
//! - Module [`ffs`] reads the files of FFS and PBIO.
//!
//! Bodies are handed on as they were written. A reader promises that a body lies where its block says and has a length
//! its format allows; whether its bytes are a valid record is for whoever decodes it to check.
//!
//! ```
//! use banyan_files::{Reader, Time, Writer, WriterOptions};
//! use banyan_ndr::{ByteOrder, Buffer, Definition, Field, Format, PointerWidth, RecordDef, Type};
//!
//! let tick = Definition::Record(RecordDef {
//!     name: "tick".into(),
//!     size: 8,
//!     align: 8,
//!     fields: vec![Field::new("time", 0, Type::Int { width: 8, signed: false })],
//! });
//! let format = Format::new(ByteOrder::Little, PointerWidth::Eight, vec![tick])?;
//! let options = WriterOptions::default().time_field("time");
//! let mut writer = Writer::stream(Vec::new(), options)?;
//! for time in 0..100_u64 {
//!     writer.write_body(&format, &time.to_le_bytes())?;
//! }
//! let bytes = writer.finish()?;
//!
//! let reader = Reader::from_bytes(Buffer::from_slice(&bytes))?;
//! assert_eq!(reader.len(), 100);
//! assert_eq!(reader.record(42)?.body, 42_u64.to_le_bytes());
//! let hit: Vec<u64> = reader.seek_time(Time::from(7_u64)..=Time::from(9_u64)).map(|record| record.number).collect();
//! assert_eq!(hit, [7, 8, 9]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod catalog;
mod create;
mod error;
pub mod ffs;
mod index;
mod layout;
mod open;
mod options;
mod reader;
mod scan;
mod store;
mod stream;
mod table;
mod time;
mod writer;

pub use catalog::Comment;
pub use error::{Damage, DamageReason};
pub use error::{ReadError, WriteError};
pub use options::{Durability, WriterOptions};
pub use reader::Reader;
pub use reader::{RecordRef, Records};
pub use stream::StreamReader;
pub use time::InTime;
pub use time::Time;
pub use writer::Writer;
