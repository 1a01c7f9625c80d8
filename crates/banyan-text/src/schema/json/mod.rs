//! JSON Schema (draft 2020-12).

mod drafts;
mod foreign;
mod read;
mod write;

use serde_json::Value as Json;

use super::SchemaError;
use banyan_ndr::{ByteOrder, Format, PointerWidth};

/// The JSON Schema of a format. It accepts what [`to_json`](crate::to_json) writes: all fields, nothing else.
///
/// Each definition stands under `$defs`. Descriptions are `description`, units `x-unit`, meters `x-meter`. What JSON
/// Schema has no word for stands under keywords that begin with `x-banyan-`: exact types, offsets, sizes, tags, byte
/// order and pointer width, so that [`format_from_json_schema`] gives the same format back.
pub fn json_schema(format: &Format) -> Json {
    write::schema(format)
}

/// The format that a JSON Schema describes.
///
/// A schema that [`json_schema`] wrote gives the format it was written from, with the same id if `order` and
/// `pointer` are the same. Without its layout keywords, or for another pointer width, it is laid out anew; the types
/// (`x-banyan-type`) are what counts then, whatever the other keywords say.
///
/// Of schemas by others, these parts fit:
///
/// | in the schema | in the format |
/// | --- | --- |
/// | `object` with `properties` | record; fields in the order of `required`, then the rest, which become optional |
/// | `integer` | the smallest type for `minimum` and `maximum`; 64 bits when one of them is missing |
/// | `number`, `boolean`, `string` | `f64`, `bool`, string; bytes with `contentEncoding: base64` |
/// | `array` with `items` | list; array when `minItems` equals `maxItems` |
/// | `array` with equal `prefixItems` | array |
/// | `enum` of strings, `oneOf` constants | enumeration, with the values 0, 1, 2, … |
/// | `oneOf` or `anyOf` constants and objects with one property | variant |
/// | `null` in a list of types, in `enum` or as an alternative | optional |
/// | `$ref` within the schema | the same definition; a pointer where a record contains itself |
///
/// Keywords that only describe or narrow (`title`, `format`, `pattern`, `minLength`, `multipleOf`, …) are passed over.
///
/// # Errors
/// For everything else: an error with the JSON pointer and the keyword.
pub fn format_from_json_schema(schema: &Json, order: ByteOrder, pointer: PointerWidth) -> Result<Format, SchemaError> {
    if read::is_ours(schema) { read::format(schema, order, pointer) } else { foreign::format(schema, order, pointer) }
}
