//! Records as text, both ways, from their format alone: [JSON](to_json) and [XML](to_xml).
//!
//! What is written reads back as the same record: every integer up to 128 bits, every float (shortest digits that
//! read back the same; `-0.0`, infinities and the bits of NaNs included), null apart from empty, C strings that are
//! not UTF-8, shared values and cycles.
//!
//! Reading is by field name, in any order. A member the format does not know is an error that names it, unless it is
//! read with [`from_json_skipping`] or [`from_xml_skipping`]; a missing one takes the field's default, null where
//! null is allowed, or is part of an error that names all missing ones. The text is taken as hostile: its depth is
//! bounded by [`Limits::nesting`](crate::Limits::nesting), its memory by its length, and nothing outside it is ever
//! fetched.
//!
//! Values behind pointers that are shared (or could be arbitrarily deep) stand in one flat table at the end of the
//! text, and are referred to by number. So a list of a million nodes is no deeper than one of two.
//!
//! The exact forms are described with [`to_json`] and [`to_xml`]; `docs/schemas.md` has them side by side.

mod depth;
mod error;
mod json;
mod path;
mod reading;
mod scalar;
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
