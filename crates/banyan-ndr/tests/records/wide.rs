//! Definitions as wide as a description can make them. Nothing may search their names from the first to the last for
//! every value: these records would take minutes then.

use banyan_ndr::schema::{format_from_json_schema, format_from_xml_schema, json_schema, xml_schema};
use banyan_ndr::text::{from_json, from_xml, to_json, to_xml};
use banyan_ndr::{
    ByteOrder, Case, ConvertOptions, DefId, Definition, DynRecord, EnumerationDef, Field, Format, Limits, Plan,
    PointerWidth, RecordDef, RecordView, Type, Value, VariantDef,
};

/// The share of a number of names that is tried, not more than can be.
fn share(all: u32) -> usize {
    crate::support::effort::share(all).min(all) as usize
}

fn format(root: RecordDef, other: Option<Definition>) -> Format {
    Format::new(ByteOrder::Little, PointerWidth::Eight, [Definition::Record(root)].into_iter().chain(other).collect())
        .unwrap()
}

/// A list of values of an enumeration, or cases of a variant, of which there are as many as can be.
fn list(of: Type, other: Definition) -> Format {
    let fields = vec![Field::new("v", 0, Type::List { item: Box::new(of) })];
    format(RecordDef { name: "wide".into(), size: 16, align: 8, fields }, Some(other))
}

fn names() -> Format {
    let names = (0..share(65_536)).map(|number| (format!("n{number}"), number as i128)).collect();
    list(
        Type::Enum(DefId(1)),
        Definition::Enumeration(EnumerationDef { name: "e".into(), width: 4, signed: false, names }),
    )
}

fn cases() -> Format {
    let case = |number: usize| Case { name: format!("c{number}"), tag: number as u64, payload: None };
    let cases = (0..share(65_536)).map(case).collect();
    list(
        Type::Variant(DefId(1)),
        Definition::Variant(VariantDef { name: "v".into(), size: 4, align: 4, tag_width: 4, payload_at: 4, cases }),
    )
}

/// A body with the last number as often as there are numbers.
fn last(format: &Format) -> Vec<u8> {
    let count = share(65_536) as u64;
    let mut body = [32_u64.to_le_bytes(), count.to_le_bytes()].concat();
    (0..count).for_each(|_| body.extend(u32::try_from(count - 1).unwrap().to_le_bytes()));
    assert!(RecordView::new(format, &body).is_ok());
    body
}

#[test]
fn a_list_of_the_last_of_many_names_is_read_shown_and_read_back() {
    for format in [names(), cases()] {
        let body = last(&format);
        let record = DynRecord::from_body(&format, &body, &Limits::default()).unwrap();
        assert_eq!(*record.to_body().unwrap(), *body);
        RecordView::new(&format, &body).unwrap().walk(&Limits::default(), &mut |_, _| Ok(())).unwrap();
        let (json, xml) = (to_json(&record).unwrap(), to_xml(&record).unwrap());
        assert_eq!(from_json(&format, &json, &Limits::default()).unwrap(), record);
        assert_eq!(from_xml(&format, &xml, &Limits::default()).unwrap(), record);
    }
}

#[test]
fn wide_definitions_are_converted_by_name() {
    for format in [names(), cases()] {
        let other = Format::new(ByteOrder::Big, PointerWidth::Four, format.definitions().to_vec());
        let other =
            other.or_else(|_| Format::laid_out(ByteOrder::Big, PointerWidth::Four, format.definitions().to_vec()));
        Plan::new(&format, &other.unwrap(), &ConvertOptions::default()).unwrap();
    }
}

/// Fields of one byte.
fn fields() -> Format {
    let ty = Type::Int { width: 1, signed: false };
    let fields: Vec<_> =
        (0..share(20_000)).map(|number| Field::new(format!("f{number}"), number as u32, ty.clone())).collect();
    format(RecordDef { name: "wide".into(), size: fields.len() as u32, align: 1, fields }, None)
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
