//! `records schema`.

use serde_json::{Value, json};

use crate::shown::assert_shown;
use crate::vectors::golden;
use crate::workshop::{Workshop, json_lines};

#[test]
fn formats_are_shown_once_in_order() {
    let shop = Workshop::new();
    let shown = shop.well(&["records", "schema", "--json", &golden("context_test_output.ub12-64")]);
    let formats = json_lines(&shown)[0]["formats"].clone();
    assert_eq!(formats.as_array().map(Vec::len), Some(15), "formats without records are shown, too");
    let records: u64 = formats.as_array().expect("a list").iter().filter_map(|format| format["records"].as_u64()).sum();
    assert_eq!(records, 36);
}

#[test]
fn a_schema_that_was_shown_reads_the_records_back() {
    let shop = Workshop::with_readings(10);
    for (language, file) in [("json-schema", "shown.json"), ("xml-schema", "shown.xsd")] {
        shop.write(file, shop.well(&["records", "schema", "readings.bny", "--as", language]));
        shop.well(&["records", "convert", "readings.jsonl", "again.bny", "--schema", file]);
        shop.well(&["records", "diff", "readings.bny", "again.bny"]);
    }
}

/// Formats of another machine look the same on every machine.
#[test]
fn people_see_formats_with_offsets_and_the_formats_within_them() {
    let shop = Workshop::new();
    let shown = shop.well(&["records", "schema", &golden("file_output.sun8"), "--format", "variant array format"]);
    assert_shown(
        &shown,
        "\
format variant array format 5c33f231d5cc474bf0a6b197b4051a14, big-endian, 4-byte references
record variant array format (32 bytes, aligned to 8) {
      0  string field: cstring
      4  icount: i32
      8  var_int_array: i64[icount]
     12  var_string_array: string format[icount]
     16  double field: f64
     24  var_double_array: f64[icount]
}
record string format (32 bytes, aligned to 8) {
      0  integer field: i32
      4  short field: i16
      8  long field: i32
     12  string field: cstring
     16  double field: f64
     24  char field: char8
}
",
    );
}

#[test]
fn a_format_is_the_same_schema_for_programs_alone_and_in_the_list_of_all() {
    let shop = big_readings();
    let schema: Value = serde_json::from_str(&shop.well(&["records", "schema", "big.bny", "--as", "json-schema"]))
        .expect("a JSON Schema is JSON");
    let field = |mut kind: Value, offset: u32, name: &str| {
        kind["x-banyan-offset"] = offset.into();
        kind["x-banyan-type"] = name.into();
        kind
    };
    let not_finite = "^(NaN(:[0-9a-f]{4,16})?|-?inf)$";
    let properties = json!({
        "time": field(json!({ "type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32 }), 0, "u32"),
        "sensor": field(json!({ "type": "string" }), 4, "string"),
        "celsius": field(json!({ "type": ["number", "string"], "pattern": not_finite }), 16, "f64"),
    });
    let record = |more: Value| {
        let mut object = json!({
            "title": "reading", "type": "object", "additionalProperties": false, "properties": properties,
            "required": ["time", "sensor", "celsius"],
        });
        object.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        object
    };
    let definition = record(json!({ "x-banyan-align": 8, "x-banyan-kind": "record", "x-banyan-size": 24 }));
    let wanted = record(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": { "reading": definition },
        "x-banyan-byte-order": "big", "x-banyan-definitions": ["reading"], "x-banyan-pointer": 4,
    }));
    assert_eq!(schema, wanted);
    let all = &shop.run(&["records", "schema", "big.bny", "--json"]).json()[0];
    let id = "7a5a372799f9b8372cce95f22c6af38a";
    let format = json!({ "name": "reading", "id": id, "bytes": 24, "records": 3, "schema": wanted });
    assert_eq!(*all, json!({ "formats": [format] }));
}

#[test]
fn people_and_programs_see_the_xml_schema_whole() {
    assert_shown(&big_readings().well(&["records", "schema", "big.bny", "--as", "xml-schema"]), XML);
}

/// Three readings as they lie on a machine that is not the one of the tests.
fn big_readings() -> Workshop {
    let shop = Workshop::with_readings(3);
    shop.well(&["records", "convert", "readings.bny", "big.bny", "--layout", "big32"]);
    shop
}

const XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:b="urn:banyan:format" b:definitions="reading" b:byte-order="big" b:pointer="4">
  <xs:element name="reading">
    <xs:complexType>
      <xs:sequence>
        <xs:group ref="reading"/>
      </xs:sequence>
    </xs:complexType>
  </xs:element>
  <xs:group name="reading" b:kind="record" b:name="reading" b:size="24" b:align="8">
    <xs:sequence>
      <xs:element name="time" b:type="u32" b:offset="0" type="xs:unsignedInt"/>
      <xs:element name="sensor" b:type="string" b:offset="4" type="xs:string"/>
      <xs:element name="celsius" b:type="f64" b:offset="16" type="float-text"/>
    </xs:sequence>
  </xs:group>
  <xs:simpleType name="float-text">
    <xs:union memberTypes="xs:double">
      <xs:simpleType>
        <xs:restriction base="xs:string">
          <xs:pattern value="NaN:[0-9a-f]{4,16}"/>
        </xs:restriction>
      </xs:simpleType>
    </xs:union>
  </xs:simpleType>
  <xs:simpleType name="wide-integer">
    <xs:restriction base="xs:token">
      <xs:pattern value="-?[0-9]{1,39}"/>
    </xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="wide-unsigned">
    <xs:restriction base="xs:token">
      <xs:pattern value="[0-9]{1,39}"/>
    </xs:restriction>
  </xs:simpleType>
</xs:schema>
"#;
