//! Schemas of formats, and formats from schemas: [JSON Schema](json_schema) (draft 2020-12) and
//! [XML Schema](xml_schema) (1.0).
//!
//! A schema that is written here accepts what [this crate](crate) writes, and carries in annotations whatever the
//! schema language has no word for: exact types, offsets, sizes, tags. So the format comes back from it with the same
//! id. When the annotations about layout are gone, or the format is asked for with another pointer width, it is laid
//! out anew by [`Format::laid_out`].
//!
//! JSON Schemas by others are read as far as a format can express them. Everything else is an error that names the
//! place and the keyword. [`format_from_json_schema`] and `docs/schemas.md` list what fits.

mod json;
mod notation;
mod reference;
mod xml;

pub use json::{format_from_json_schema, json_schema};
pub use xml::{format_from_xml_schema, xml_schema};

use banyan_ndr::{ByteOrder, Definition, Format, FormatError, PointerWidth};

/// Why a schema gives no format.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// The text is no well-formed XML.
    #[error("the schema is not XML: {0}")]
    Syntax(String),
    /// Something that no format can express, or that has no place there.
    #[error("{at}: {keyword}: {reason}")]
    Unfit {
        /// Where: a JSON pointer, or a path of elements.
        at: String,
        /// The keyword or element.
        keyword: String,
        /// Why it does not fit.
        reason: String,
    },
    /// The format would break a rule.
    #[error(transparent)]
    Format(#[from] FormatError),
}

impl SchemaError {
    fn unfit(at: &str, keyword: impl Into<String>, reason: impl Into<String>) -> SchemaError {
        let at = if at.is_empty() { "#" } else { at };
        SchemaError::Unfit { at: at.into(), keyword: keyword.into(), reason: reason.into() }
    }
}

/// The format of definitions that were read from a schema of ours, which may have lost their layout.
fn finish(
    order: ByteOrder,
    pointer: PointerWidth,
    definitions: Vec<Definition>,
    laid_out: bool,
) -> Result<Format, SchemaError> {
    let make = if laid_out { Format::new } else { Format::laid_out };
    Ok(make(order, pointer, definitions)?)
}
