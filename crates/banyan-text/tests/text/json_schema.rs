//! JSON Schemas: they accept what is written, and the format comes back from them.

use banyan_ndr::*;
use banyan_text::schema::*;
use banyan_text::*;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::records;
use super::validator::validate;

const LITTLE: ByteOrder = ByteOrder::Little;
const EIGHT: PointerWidth = PointerWidth::Eight;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(512)))]

    #[test]
    fn the_schema_accepts_what_is_written(record in records()) {
        let schema = json_schema(&record.format);
        let text = to_json(&record).unwrap();
        let value: Json = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(validate(&schema, &schema, &value), Ok(()), "{}\n{}\n{}", text, record.format, schema);
    }

    #[test]
    fn the_format_comes_back_from_its_schema(record in records()) {
        let format = record.format;
        let schema = json_schema(&format);
        let back = format_from_json_schema(&schema, format.order(), format.pointer()).unwrap();
        prop_assert_eq!(back.to_string(), format.to_string());
        prop_assert_eq!(back.id(), format.id());
    }

    #[test]
    fn without_its_layout_a_format_is_laid_out_anew(record in records()) {
        let format = record.format;
        let mut schema = json_schema(&format);
        schema.as_object_mut().unwrap().remove("x-banyan-pointer");
        // The generated formats have natural layout, so laying out anew must give the same.
        let back = format_from_json_schema(&schema, format.order(), format.pointer()).unwrap();
        prop_assert_eq!(back.id(), format.id());
    }
}

fn read(schema: Json) -> Result<Format, SchemaError> {
    format_from_json_schema(&schema, LITTLE, EIGHT)
}

#[test]
fn an_ordinary_schema_gives_a_format() {
    let format = read(json!({
        "title": "Person",
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "as on the passport" },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
            "offset": { "type": "integer", "minimum": -300, "maximum": 300 },
            "big": { "type": "integer" },
            "email": { "type": ["string", "null"], "format": "email" },
            "colour": { "enum": ["red", "green"] },
            "grid": { "type": "array", "minItems": 2, "maxItems": 2,
                      "items": { "type": "array", "items": { "type": "number" }, "minItems": 3, "maxItems": 3 } },
            "friends": { "type": "array", "items": { "$ref": "#" } },
            "boss": { "anyOf": [{ "$ref": "#" }, { "type": "null" }] },
            "home": { "$ref": "#/$defs/Address" },
            "shape": { "oneOf": [{ "const": "Point" }, { "type": "object", "properties": { "Circle": { "type": "number" } } }] },
        },
        "required": ["name", "age", "offset", "big", "email", "colour", "grid", "friends", "boss", "home", "shape"],
        "$defs": { "Address": { "type": "object", "properties": { "street": { "type": "string" } } } },
    }))
    .unwrap();
    let types: Vec<String> = format.fields().iter().map(|field| format.type_name(&field.ty)).collect();
    let expected =
        ["string", "u8", "i16", "i64", "string?", "colour", "f64[2][3]", "[&Person]", "&Person?", "Address", "shape"];
    assert_eq!(types, expected);
    assert_eq!(format.name(), "Person");
    assert_eq!(format.fields()[0].description.as_deref(), Some("as on the passport"));
    let address = format.definitions().iter().find(|definition| definition.name() == "Address").unwrap();
    assert_eq!(format.type_name(address.types().next().unwrap()), "string?");
}

#[test]
fn what_does_not_fit_is_named_with_its_place() {
    let field = |schema: Json| read(json!({ "type": "object", "properties": { "f/g": schema }, "required": ["f/g"] }));
    let error = |schema: Json| field(schema).unwrap_err().to_string();
    assert_eq!(error(json!({ "type": "integer", "allOf": [] })), "#/properties/f~1g: allOf: has no place in a format");
    assert_eq!(
        error(json!({ "type": ["integer", "string"] })),
        "#/properties/f~1g: type: there must be one type, besides null"
    );
    assert!(error(json!({ "$ref": "http://example.org/" })).contains("leads out of this schema"));
    assert!(error(json!({ "$ref": "#/properties/f~1g" })).contains("nested deeper"));
    assert!(error(json!({ "type": "object", "additionalProperties": { "type": "string" } })).contains("known by name"));
    assert!(error(json!({ "enum": [1, 2] })).contains("only strings"));
    assert!(error(json!({})).contains("is missing"));
    assert!(read(json!({ "type": "string" })).is_err());
    assert!(read(json!(true)).is_err());
}
