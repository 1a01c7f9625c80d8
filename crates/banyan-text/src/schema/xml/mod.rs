//! XML Schema (1.0).

mod read;
mod tree;
mod write;

use self::tree::Node;
use super::SchemaError;
use banyan_ndr::{ByteOrder, Format, PointerWidth};

/// The namespace of the attributes that say what XML Schema has no word for.
const ANNOTATIONS: &str = "urn:banyan:format";
/// The type of floats. No key of a definition has a hyphen, so none is called like this or the next two.
const FLOAT: &str = "float-text";
/// The type of integers of 128 bits.
const WIDE: &str = "wide-integer";
/// The same without sign.
const WIDE_UNSIGNED: &str = "wide-unsigned";

/// The XML Schema of a format. It accepts what [`to_xml`](crate::to_xml) writes.
///
/// Each record is a group of elements in sequence, each variant a choice, each enumeration a simple type. What XML
/// Schema has no word for stands in attributes of the namespace `urn:banyan:format`, so that
/// [`format_from_xml_schema`] gives the same format back: exact types, offsets, sizes, tags, units, meters, byte order
/// and pointer width. Descriptions are documentation. Of shared values it only checks that they are there: XML Schema
/// cannot say that their type is that of who refers to them.
pub fn xml_schema(format: &Format) -> String {
    write::schema(format)
}

/// The format that an XML Schema describes.
///
/// A schema that [`xml_schema`] wrote gives the format it was written from, with the same id if `order` and `pointer`
/// are the same. Without its layout attributes, or for another pointer width, it is laid out anew; the types
/// (`b:type`) are what counts then, whatever else the schema says.
///
/// # Errors
/// A schema that [`xml_schema`] did not write is refused: it says nothing of widths and order. JSON Schemas by others
/// are read, see [`format_from_json_schema`](crate::schema::format_from_json_schema).
pub fn format_from_xml_schema(schema: &str, order: ByteOrder, pointer: PointerWidth) -> Result<Format, SchemaError> {
    let schema = Node::parse(schema)?;
    read::format(&schema, order, pointer)
}
