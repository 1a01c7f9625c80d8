//! Short descriptions that mean thousands of millions of values have schemas and columns no longer than they are.

use banyan_ndr::{ByteOrder, Limits};
use banyan_text::export::CsvWriter;
use banyan_text::schema::{format_from_json_schema, format_from_xml_schema, json_schema, xml_schema};

use crate::support::bombs::bombs;

#[test]
fn have_schemas_definition_by_definition() {
    for format in bombs(ByteOrder::Little) {
        let (order, pointer) = (format.order(), format.pointer());
        let from_json = format_from_json_schema(&json_schema(&format), order, pointer).unwrap();
        assert_eq!(from_json.id(), format.id());
        let from_xml = format_from_xml_schema(&xml_schema(&format), order, pointer).unwrap();
        assert_eq!(from_xml.id(), format.id());
    }
}

#[test]
fn have_few_columns() {
    for format in bombs(ByteOrder::Little) {
        let table = CsvWriter::new(Vec::new(), &format, Limits::default()).unwrap();
        assert!(table.finish().unwrap().len() < 1 << 20);
    }
}

#[cfg(feature = "arrow")]
#[test]
fn are_no_arrow_tables() {
    for format in bombs(ByteOrder::Little) {
        assert!(banyan_text::export::ArrowWriter::new(Vec::new(), &format, Limits::default()).is_err());
    }
}
