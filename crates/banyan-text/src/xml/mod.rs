//! Records as XML. The forms are described with [`to_xml`].

mod escape;
mod read;
mod write;

use std::io;

pub(crate) use self::escape::{escape_name, escape_text, unescape as unescape_name};
use super::TextError;
use banyan_ndr::{DynRecord, Format, Limits};

/// The element that holds all shared values; a field of this name is escaped.
pub(crate) const SHARED: &str = "shared-values";
/// The element of an item of a list.
pub(crate) const ITEM: &str = "item";
/// The attribute that refers to a shared value by its number.
pub(crate) const REFERENCE: &str = "ref";
/// The attribute of a C string that is not UTF-8.
pub(crate) const ENCODING: &str = "encoding";

/// Most attributes of one element. Each is compared with those before it.
pub(crate) const MOST_ATTRIBUTES: usize = 64;
const BASE64: &str = "base64";
const NIL: &str = "xsi:nil";
const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Writes a record as one XML element, without white space between elements.
///
/// | in the format | in XML |
/// | --- | --- |
/// | the root | an element of its definition's name |
/// | field of a record | an element of its name |
/// | integer, bool, char, string | the text |
/// | float | the shortest digits that read back the same; `NaN`, `INF`, `-INF`, and `NaN:7e01` with the bits of any other NaN |
/// | enumeration | the name; `#` and the number when it has none |
/// | bytes | base64 |
/// | C string | the text; base64 with `encoding="base64"` when it is not UTF-8 |
/// | variant | an element of the case's name, with the payload |
/// | absent optional, null pointer | `xsi:nil="true"` |
/// | array, list | an element `item` for each item; several dimensions nest, outermost first |
/// | shared value | `ref="number"`, which is the position of an `item` in `shared-values`, the root's last element |
///
/// Characters that XML cannot hold (controls, U+FFFE, U+FFFF), and in names all that XML does not allow there, are
/// written as `_xHHHH_` (four to six hexadecimal digits); a `_` that happens to begin such a sequence is `_x005F_`.
///
/// # Errors
/// When a value does not fit its format, or is nested too deep to be read again.
pub fn to_xml(record: &DynRecord) -> Result<String, TextError> {
    write::to_string(record, false)
}

/// [`to_xml`], with line breaks and indentation.
///
/// # Errors
/// As [`to_xml`].
pub fn to_xml_pretty(record: &DynRecord) -> Result<String, TextError> {
    write::to_string(record, true)
}

/// [`to_xml`] into a writer, which should be buffered.
///
/// # Errors
/// As [`to_xml`], and when the writer fails.
pub fn write_xml(record: &DynRecord, out: impl io::Write) -> Result<(), TextError> {
    write::write(record, quick_xml::Writer::new(out)).map(drop)
}

/// Reads a record from XML as [`to_xml`] writes it, elements in any order. Comments and white space between elements
/// are passed over; document types, processing instructions and entities of one's own are errors.
///
/// # Errors
/// When the text is no XML, or does not fit the format; see [`TextError`].
pub fn from_xml(format: &Format, text: &str, limits: &Limits) -> Result<DynRecord, TextError> {
    read::read(format, text, limits, false)
}

/// [`from_xml`] that skips elements which the format does not have.
///
/// # Errors
/// As [`from_xml`].
pub fn from_xml_skipping(format: &Format, text: &str, limits: &Limits) -> Result<DynRecord, TextError> {
    read::read(format, text, limits, true)
}
