//! Records with definitions as wide as a description can make them become text and are read from it in time.

use banyan_ndr::{
    ByteOrder, DefId, Definition, DynRecord, Field, Format, Limits, PointerWidth, RecordDef, Type, Value,
};
use banyan_text::schema::{format_from_json_schema, format_from_xml_schema, json_schema, xml_schema};
use banyan_text::{from_json, from_xml, to_json, to_xml};

use crate::support::wide::{cases, fields, last, names, share};

#[test]
fn a_list_of_the_last_of_many_names_is_shown_and_read_back() {
    for format in [names(), cases()] {
        let record = DynRecord::from_body(&format, &last(&format), &Limits::default()).unwrap();
        let (json, xml) = (to_json(&record).unwrap(), to_xml(&record).unwrap());
        assert_eq!(from_json(&format, &json, &Limits::default()).unwrap(), record);
        assert_eq!(from_xml(&format, &xml, &Limits::default()).unwrap(), record);
    }
}

#[test]
fn fields_in_reverse_order_are_found() {
    let format = fields();
    let count = format.fields().len();
    let members: Vec<String> = (0..count).rev().map(|number| format!("\"f{number}\":7")).collect();
    let record = from_json(&format, &format!("{{{}}}", members.join(",")), &Limits::default()).unwrap();
    assert_eq!(*record.to_body().unwrap(), *vec![7; count]);
    let elements: String = (0..count).rev().map(|number| format!("<f{number}>7</f{number}>")).collect();
    assert_eq!(from_xml(&format, &format!("<wide>{elements}</wide>"), &Limits::default()).unwrap(), record);
    let values = (0..count).rev().map(|number| (format!("f{number}"), Value::Int(7))).collect();
    let reversed = DynRecord { root: Value::Record(values), ..record.clone() };
    assert_eq!(*reversed.to_body().unwrap(), *record.to_body().unwrap());
    assert_eq!(to_json(&reversed).unwrap(), to_json(&record).unwrap());
    assert_eq!(to_xml(&reversed).unwrap(), to_xml(&record).unwrap());
}

#[test]
fn schemas_of_thousands_of_fields_and_definitions_are_read() {
    let count = share(4000);
    let required: Vec<String> = (0..count * 5).map(|number| format!("\"f{number}\"")).collect();
    let properties: Vec<String> =
        required.iter().map(|name| format!("{name}:{{\"type\":\"integer\",\"minimum\":0,\"maximum\":9}}")).collect();
    let schema =
        format!(r#"{{"type":"object","properties":{{{}}},"required":[{}]}}"#, properties.join(","), required.join(","));
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let read = format_from_json_schema(&schema, ByteOrder::Little, PointerWidth::Eight).unwrap();
    assert_eq!(read.fields().len(), count * 5);

    // All definitions have one name.
    let inner = |number: usize| {
        let fields = vec![Field::new(format!("x{number}"), 0, Type::Bool { width: 1 })];
        Definition::Record(RecordDef { name: "same".into(), size: 1, align: 1, fields })
    };
    let fields = (0..count)
        .map(|number| Field::new(format!("f{number}"), number as u32, Type::Record(DefId(number as u16 + 1))));
    let root = RecordDef { name: "root".into(), size: count as u32, align: 1, fields: fields.collect() };
    let definitions = [Definition::Record(root)].into_iter().chain((0..count).map(inner)).collect();
    let format = Format::new(ByteOrder::Little, PointerWidth::Eight, definitions).unwrap();
    let (json, xml) = (json_schema(&format), xml_schema(&format));
    assert_eq!(format_from_json_schema(&json, ByteOrder::Little, PointerWidth::Eight).unwrap(), format);
    assert_eq!(format_from_xml_schema(&xml, ByteOrder::Little, PointerWidth::Eight).unwrap(), format);
}
