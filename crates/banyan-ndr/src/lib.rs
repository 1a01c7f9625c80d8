//! Records that travel in their sender's own memory layout.
//!
//! A sender describes its records once and then sends them as they lie in memory. The receiver compares descriptions:
//! where the layouts agree it looks at the bytes in place; where they differ (another compiler, byte order, pointer
//! width or version of the program) it makes a conversion for the pair, once, and runs that. Fields are matched by
//! name. There is no schema compiler and no registry, and nobody has to be upgraded first.
//!
//! **Send.** A type becomes a record by `#[derive(Record)]`. Plain records are handed over by reference.
//!
//! ```
//! use banyan_ndr::{Decoder, Record, Scratch, encode};
//!
//! #[derive(Record, Debug, PartialEq)]
//! struct Sample {
//!     step: u32,
//!     name: String,
//!     load: Vec<f64>,
//! }
//!
//! let sample = Sample { step: 7, name: "inlet".into(), load: vec![0.25, 0.5] };
//! let mut scratch = Scratch::new();
//! let message = encode(&sample, &mut scratch)?; // header and body, in pieces for a vectored write
//! let description = Sample::format().encoded(); // goes before the first record
//!
//! // Receive: by the format's id, whatever machine and program it came from.
//! let mut decoder = Decoder::new();
//! decoder.learn_encoded(description)?;
//! let bytes = message.to_buffer();
//! assert_eq!(decoder.decode_message::<Sample>(&bytes)?, sample);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Receive what another program sent.** Here a big-endian 32-bit machine without the field `unit`:
//!
//! ```
//! use banyan_ndr::{ByteOrder, CStruct, Decoder, DynRecord, PointerWidth, Record};
//!
//! let foreign = CStruct::new("Reading", 8, 4)
//!     .order(ByteOrder::Big)
//!     .pointer_width(PointerWidth::Four)
//!     .int("station", 0, 2)
//!     .float("celsius", 4, 4)
//!     .build()?;
//! let mut record = DynRecord::new(&foreign);
//! record.set("station", 12)?;
//! record.set("celsius", 21.5)?;
//! let body = record.to_body()?;
//!
//! #[derive(Record)]
//! struct Reading {
//!     celsius: f64,
//!     station: u32,
//!     #[record(default = "C".to_owned())]
//!     unit: String,
//! }
//!
//! let mut decoder = Decoder::new();
//! let id = decoder.learn(&foreign)?;
//! let reading: Reading = decoder.decode(id, &body)?;
//! assert_eq!((reading.station, reading.celsius, reading.unit.as_str()), (12, 21.5, "C"));
//!
//! // Look at it without a compiled type.
//! let view = banyan_ndr::RecordView::new(&foreign, &body)?;
//! assert_eq!(view.value::<f32>("celsius")?, 21.5);
//! assert_eq!(view.to_string(), "Reading {station: 12, celsius: 21.5}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two crates build on this one: `banyan-text` writes records as JSON, XML, CSV and Arrow, and schemas of their formats;
//! `banyan-files` keeps records in files that describe themselves, and reads files of FFS.
//!
//! `docs/records.md` in the repository is the guide, `docs/wire.md` the byte layout.
//!
//! # Where things are
//!
//! The root has what most programs need. In the order in which they are best read:
//!
//! | | |
//! | --- | --- |
//! | [`Format`], [`Type`], [`Definition`], [`FormatId`] | what a record looks like; [`CStruct`] describes C structs |
//! | [`Record`](trait@Record), [`encode`], [`Message`]; module [`typed`] | Rust types as records |
//! | [`Decoder`], [`DecodeOptions`], [`Morph`] | receiving, and evolving what was received |
//! | [`Plan`], [`compatibility`] | a conversion between two formats by itself |
//! | [`RecordView`]; module [`reflect`] | looking at records of any format where they lie |
//! | [`DynRecord`], [`Value`]; module [`dynamic`] | building and changing records of any format |
//! | [`encode_c`], [`CRecord`] | C structs as they lie in memory |
//! | [`Limits`], [`DecodeError`], [`EncodeError`], [`FormatError`] | bounds on what comes from outside, and what can go wrong |
//! | module [`wire`] | header and references, for those who frame messages themselves |
//!
//! # Features
//!
//! - `derive` (default): `#[derive(Record)]`.
//! - `jit` (default): conversions become machine code when they have run often enough. Without it, or on machines that
//!   Cranelift does not know, they are interpreted; the results are the same to the bit.
//!
//! # Hostile input
//!
//! Formats and bodies may come from anywhere. Every length, offset, count and depth in them is checked
//! before it is used; what is wrong is an error that says where, never a panic, and time and memory stay in proportion
//! to the bytes received. [`Limits`] are the bounds, with defaults.

mod buffer;
mod cstruct;
mod decoder;
pub mod dynamic;
mod error;
mod format;
mod half;
mod kernel;
mod limits;
mod morph;
mod plan;
pub mod reflect;
mod setters;
pub mod typed;
mod value;
mod vectored;
pub mod wire;

pub use buffer::Buffer;
pub use cstruct::{CRecord, CStruct, encode_c, plain_c};
pub use decoder::{DecodeOptions, Decoder, Generate, split_message};
pub use dynamic::DynRecord;
pub use error::{DecodeError, EncodeError};
pub use format::{
    ByteOrder, Case, DefId, Definition, Dim, EnumerationDef, Field, Format, FormatError, FormatId, Meter, Order,
    PointerWidth, RecordDef, Type, VariantDef,
};
pub use kernel::reverse_numbers;
pub use limits::Limits;
pub use morph::Morph;
pub use plan::{Compatibility, ConvertOptions, Loss, Plan, compatibility};
pub use reflect::RecordView;
pub use typed::{F16, Message, Record, Scratch, encode, encode_into, encode_to_slice, read_native, view_native};
pub use value::Value;

/// Makes a struct or an enum a record: implements [`typed::Wire`], [`typed::Read`] and [`Record`](trait@Record).
#[cfg(feature = "derive")]
pub use banyan_ndr_derive::Record;

/// What `banyan-text` and `banyan-files` need beside the public interface. It may change with any release.
#[doc(hidden)]
pub mod internals {
    pub use crate::dynamic::contradiction;
    pub use crate::dynamic::fields::{FieldValues, position_of};
    pub use crate::vectored::write_all;
}

/// The front page, whose example must compile.
#[cfg(all(doctest, feature = "derive"))]
#[doc = include_str!("../../../README.md")]
pub struct FrontPage;
