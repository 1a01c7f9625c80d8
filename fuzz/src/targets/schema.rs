//! Schemas in JSON and XML: refused, or a format whose own schemas mean the same format.

use banyan_ndr::{ByteOrder, Format, PointerWidth};
use banyan_text::schema::{format_from_json_schema, format_from_xml_schema, json_schema, xml_schema};

const ORDER: ByteOrder = ByteOrder::Big;
const POINTER: PointerWidth = PointerWidth::Four;

pub(crate) fn target(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(format) = format_from_xml_schema(text, ORDER, POINTER) {
        survives(&format);
    }
    let Ok(json) = serde_json::from_str(text) else { return };
    if let Ok(format) = format_from_json_schema(&json, ORDER, POINTER) {
        survives(&format);
    }
}

fn survives(format: &Format) {
    let (order, pointer) = (format.order(), format.pointer());
    let json = format_from_json_schema(&json_schema(format), order, pointer).expect("our own schema");
    assert_eq!(json.id(), format.id());
    let xml = format_from_xml_schema(&xml_schema(format), order, pointer).expect("our own schema");
    assert_eq!(xml.id(), format.id());
}
