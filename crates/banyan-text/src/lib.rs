//! Records in the forms of other systems, from their format alone, and schemas of formats.
//!
//! | you want | use |
//! | --- | --- |
//! | a record as JSON or XML, and back | [`to_json`], [`from_json`], [`to_xml`], [`from_xml`] |
//! | tables and streams of records: CSV, JSON lines, Arrow IPC | module [`export`] |
//! | a schema of a format, or a format from a schema | module [`schema`] |
//!
//! ```
//! use banyan_ndr::{CStruct, Limits, Value};
//! use banyan_text::{from_json, to_json};
//!
//! let format = CStruct::new("reading", 8, 4).int("station", 0, 2).float("celsius", 4, 4).build()?;
//! let record = from_json(&format, r#"{"station": 12, "celsius": 21.5}"#, &Limits::default())?;
//! assert_eq!(record.get("station")?, &Value::from(12));
//! assert_eq!(to_json(&record)?, r#"{"station":12,"celsius":21.5}"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # JSON and XML
//!
//! What is written reads back as the same record: every integer up to 128 bits, every float (shortest digits that
//! read back the same; `-0.0`, infinities and the bits of NaNs included), null apart from empty, C strings that are
//! not UTF-8, shared values and cycles.
//!
//! Fields are read by name, in any order. A member that the format does not know is an error that names the member;
//! [`from_json_skipping`] and [`from_xml_skipping`] skip such members. A missing field takes its default, or null where
//! null is allowed. Otherwise the error names all missing fields.
//!
//! Values behind pointers that are shared (or could be arbitrarily deep) stand in one flat table at the end of the
//! text, and are referred to by number. So a list of a million nodes is no deeper than a list of two.
//!
//! The exact forms are described with [`to_json`] and [`to_xml`]; `docs/schemas.md` has them side by side.
//!
//! # Hostile input
//!
//! The depth of a text is bounded by [`Limits::nesting`](banyan_ndr::Limits::nesting), the memory for it by its length.
//! Nothing outside the text is ever fetched.
//!
//! # Features
//!
//! - `arrow`: export to Arrow IPC.

#![forbid(unsafe_code)]

mod error;
pub mod export;
mod json;
mod path;
mod reading;
mod scalar;
pub mod schema;
mod sharing;
mod xml;

pub use error::TextError;
pub use json::{from_json, from_json_skipping, to_json, to_json_pretty, write_json};
/// What members are called in JSON, for the schemas of it.
pub(crate) mod json_names {
    pub(crate) use super::json::{BYTES, REFERENCE, SHARED, field_name, member_name};
}

/// What elements and attributes are called in XML, for the schemas of it.
pub(crate) mod xml_names {
    pub(crate) use super::xml::{
        ENCODING, ITEM, MOST_ATTRIBUTES, REFERENCE, SHARED, escape_name, escape_text, unescape_name,
    };
}
pub use xml::{from_xml, from_xml_skipping, to_xml, to_xml_pretty, write_xml};
