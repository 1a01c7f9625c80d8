//! The forms of `docs/schemas.md`, letter by letter, and what is refused.

use banyan_ndr::*;
use banyan_text::export::CsvReader;
use banyan_text::*;

use crate::support::effort::share;

fn int(width: u8) -> Type {
    Type::Int { width, signed: false }
}

/// A record with one of everything that has a form of its own, and a list through pointers.
fn node() -> Format {
    let optional = Type::Optional { item: Type::Str.into(), value_at: 0, size: 0 };
    let next = Type::Ref { item: Type::Record(DefId::ROOT).into(), nullable: true, shared: true };
    let grid = Type::Array { item: int(1).into(), dims: vec![2, 2], order: Order::Column };
    let fields = [
        ("id", int(16)),
        ("$x", Type::Float { width: 4 }),
        ("name", Type::CStr),
        ("raw", Type::Bytes),
        ("note", optional),
        ("kind", Type::Enum(DefId(1))),
        ("shape", Type::Variant(DefId(2))),
        ("grid", grid),
        ("next", next),
    ];
    let fields = fields.map(|(name, ty)| Field::new(name, 0, ty)).into();
    let cases = vec![
        Case { name: "Point".into(), tag: 0, payload: None },
        Case { name: "Circle".into(), tag: 1, payload: Some(Type::Float { width: 8 }) },
    ];
    let names = vec![("Red".to_owned(), 1)];
    let definitions = vec![
        Definition::Record(RecordDef { name: "Node".into(), size: 0, align: 1, fields }),
        Definition::Enumeration(EnumerationDef { name: "Kind".into(), width: 1, signed: false, names }),
        Definition::Variant(VariantDef { name: "Shape".into(), size: 0, align: 1, tag_width: 1, payload_at: 0, cases }),
    ];
    Format::laid_out(ByteOrder::Little, PointerWidth::Eight, definitions).unwrap()
}

const JSON: &str = concat!(
    r#"{"id":"340282366920938463463374607431768211455","$$x":0.1,"name":{"$bytes":"/w=="},"raw":"AAE=","#,
    r#""note":null,"kind":"Red","shape":{"Circle":-0.0},"grid":[[1,2],[3,4]],"next":{"$ref":0},"#,
    r#""$shared":[{"id":1,"$$x":"NaN","name":"","raw":"","note":"","kind":7,"shape":"Point","#,
    r#""grid":[[0,0],[0,0]],"next":{"$ref":0}}]}"#
);

const XML: &str = concat!(
    r#"<Node xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">"#,
    r#"<id>340282366920938463463374607431768211455</id><_x0024_x>0.1</_x0024_x><name encoding="base64">/w==</name>"#,
    r#"<raw>AAE=</raw><note xsi:nil="true"/><kind>Red</kind><shape><Circle>-0.0</Circle></shape>"#,
    r#"<grid><item><item>1</item><item>2</item></item><item><item>3</item><item>4</item></item></grid>"#,
    r#"<next ref="0"/><shared-values><item><id>1</id><_x0024_x>NaN</_x0024_x><name></name><raw></raw><note></note>"#,
    r##"<kind>#7</kind><shape><Point/></shape><grid><item><item>0</item><item>0</item></item>"##,
    r#"<item><item>0</item><item>0</item></item></grid><next ref="0"/></item></shared-values></Node>"#
);

fn json(text: &str) -> Result<DynRecord, TextError> {
    from_json(&node(), text, &Limits::default())
}

fn xml(text: &str) -> Result<DynRecord, TextError> {
    from_xml(&node(), text, &Limits::default())
}

#[test]
fn the_forms_are_as_documented() {
    let record = json(JSON).unwrap();
    assert_eq!(to_json(&record).unwrap(), JSON);
    assert_eq!(to_xml(&record).unwrap(), XML);
    assert_eq!(to_xml(&xml(XML).unwrap()).unwrap(), XML);
    let mut bytes = Vec::new();
    write_json(&record, &mut bytes).unwrap();
    assert_eq!(bytes, JSON.as_bytes());
    bytes.clear();
    write_xml(&record, &mut bytes).unwrap();
    assert_eq!(bytes, XML.as_bytes());
}

#[test]
fn the_table_of_shared_values_may_come_first() {
    let (fields, table) = JSON[1..JSON.len() - 1].split_once(",\"$shared\":").unwrap();
    let turned = format!("{{\"$shared\":{table},{fields}}}");
    assert_eq!(to_json(&json(&turned).unwrap()).unwrap(), JSON);
}

fn json_error(from: &str, to: &str) -> String {
    assert!(JSON.contains(from), "{from}");
    json(&JSON.replacen(from, to, 1)).unwrap_err().to_string()
}

fn xml_error(from: &str, to: &str) -> String {
    assert!(XML.contains(from), "{from}");
    xml(&XML.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn json_that_does_not_fit_is_refused_with_its_place() {
    assert_eq!(json_error("[3,4]", "[3,400]"), "grid[1][1] (line 1, column 166): \"400\" does not fit u8");
    assert!(json_error("[3,4]", "[3]").contains("1 items where the format has 2"));
    assert!(json_error("\"Red\"", "\"Blue\"").starts_with("kind (line 1"));
    assert!(json_error("{\"Circle\":-0.0}", "\"Circle\"").contains("needs its payload"));
    assert!(json_error("{\"Circle\":-0.0}", "{\"Circle\":1,\"Point\":null}").contains("a variant has one case"));
    assert!(json_error("0.1", "1e99").contains("too large for a float of 32 bits"));
    assert!(json_error("\"AAE=\"", "\"A*\"").contains("base64"));
    assert!(json_error("\"AAE=\"", "null").contains("null where the format has bytes"));
    assert!(json_error("\"note\":null", "\"note\":null,\"note\":null").contains("twice"));
    assert!(json_error("{\"$ref\":0}", "{\"$ref\":1}").contains("shared[1]"));
    assert!(json_error("{\"$ref\":0},\"$shared", "null,\"$shared").contains("nothing refers to it"));
    assert!(json_error("\"id\":1", "\"id\":true").starts_with("shared[0].id (line 1, column 2"));
    assert!(json_error("\"id\":1", "\"id\":1e2").contains("no integer"));
    assert!(matches!(json(&JSON[..100]), Err(TextError::Syntax { line: 1, .. })));
    assert!(matches!(json(&format!("{JSON} x")), Err(TextError::Syntax { .. })));
}

#[test]
fn missing_and_unknown_members_are_all_named() {
    let missing = json("{\"id\": 1, \"shape\": \"Point\", \"kind\": 1}").unwrap_err().to_string();
    assert_eq!(missing, "missing: $x, raw, grid");
    let missing = xml("<Node><id>1</id><shape><Point/></shape><kind>Red</kind></Node>").unwrap_err().to_string();
    assert_eq!(missing, "missing: $x, raw, grid");
    let unknown = JSON.replacen("\"id\"", "\"$y\":{},\"z\":[[]],\"id\"", 1);
    let error = json(&unknown).unwrap_err().to_string();
    assert_eq!(error, "unknown: $y, z; the format has no such fields");
    let skipped = from_json_skipping(&node(), &unknown, &Limits::default()).unwrap();
    assert_eq!(to_json(&skipped).unwrap(), JSON);
    let unknown = XML.replacen("<id>", "<y><z/></y><id>", 1);
    assert_eq!(xml(&unknown).unwrap_err().to_string(), "unknown: y; the format has no such fields");
    let skipped = from_xml_skipping(&node(), &unknown, &Limits::default()).unwrap();
    assert_eq!(to_xml(&skipped).unwrap(), XML);
}

#[test]
fn a_missing_field_takes_its_default() {
    let mut field = Field::new("a", 0, int(4));
    field.default = Some(Value::Int(9));
    let record = RecordDef { name: "R".into(), size: 4, align: 4, fields: vec![field] };
    let format = Format::new(ByteOrder::Big, PointerWidth::Four, vec![Definition::Record(record)]).unwrap();
    assert_eq!(to_json(&from_json(&format, "{}", &Limits::default()).unwrap()).unwrap(), "{\"a\":9}");
}

#[test]
fn a_missing_record_takes_the_defaults_of_its_fields() {
    let with = |name: &str, offset, default: i128| {
        let mut field = Field::new(name, offset, int(4));
        field.default = Some(Value::Int(default));
        field
    };
    let record = |name: &str, size, fields| Definition::Record(RecordDef { name: name.into(), size, align: 4, fields });
    let read = |inner: Vec<Field>| {
        let inner = record("Inner", 8, inner);
        let middle = record("Middle", 8, vec![Field::new("inner", 0, Type::Record(DefId(2)))]);
        let outer = vec![Field::new("a", 0, int(4)), Field::new("middle", 4, Type::Record(DefId(1)))];
        let definitions = vec![record("Q", 12, outer), middle, inner];
        let format = Format::new(ByteOrder::Big, PointerWidth::Four, definitions).unwrap();
        let limits = Limits::default();
        let row = CsvReader::new(&b"a\n1\n"[..], &format, limits.clone()).unwrap().next().unwrap();
        let texts = [from_json(&format, "{\"a\":1}", &limits), from_xml(&format, "<Q><a>1</a></Q>", &limits)];
        let text =
            |read: Result<DynRecord, String>| read.map_or_else(|error| error, |record| to_json(&record).unwrap());
        let mut all: Vec<String> =
            texts.into_iter().map(|read| text(read.map_err(|error| error.to_string()))).collect();
        all.push(text(row.map_err(|error| error.to_string())));
        all
    };
    let whole = "{\"a\":1,\"middle\":{\"inner\":{\"x\":7,\"y\":8}}}";
    assert_eq!(read(vec![with("x", 0, 7), with("y", 4, 8)]), [whole, whole, whole]);
    let missing = "missing: middle";
    assert_eq!(read(vec![with("x", 0, 7), Field::new("y", 4, int(4))]), [missing, missing, "line 2: missing: middle"]);
}

#[test]
fn xml_that_does_not_fit_is_refused_with_its_place() {
    assert!(xml_error("<item>4</item>", "<item>400</item>").starts_with("grid[1][1] (line 1, column "));
    assert!(xml_error("<item>4</item>", "").contains("1 items where the format has 2"));
    assert!(xml_error("<raw>AAE=</raw>", "<raw xsi:nil='true'/>").contains("nil where the format has bytes"));
    assert!(xml_error("<raw>", "<raw a='b'>").contains("attribute a="));
    assert!(xml_error("<raw>", "<raw/><raw>").contains("twice"));
    assert!(xml_error("<Circle>", "text<Circle>").contains("text where only elements can be"));
    assert!(xml_error("<kind>Red", "<kind>&red;").contains("entity \"red\" is unknown"));
    assert!(xml_error("<next ref=\"0\"/><shared", "<next ref=\"5\"/><shared").contains("shared[5]"));
    assert!(xml_error("</Node>", "</Knot>").starts_with("line 1"));
    assert!(xml_error("</Node>", "").starts_with("line 1"));
}

#[test]
fn a_byte_order_mark_and_a_declaration_may_precede_xml() {
    let text = format!("{}<?xml version=\"1.0\"?>\n<!-- a comment -->{XML}\n", '\u{feff}');
    assert_eq!(to_xml(&xml(&text).unwrap()).unwrap(), XML);
}

#[test]
fn document_types_and_their_entities_are_refused() {
    let laughs = "<!DOCTYPE Node [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'><!ENTITY c SYSTEM 'file:///etc/passwd'>]>";
    let error = xml(&format!("{laughs}{XML}")).unwrap_err().to_string();
    assert!(error.contains("a document type is not allowed"), "{error}");
}

/// A tree through lists, so that a text can nest as deep as it likes.
fn tree() -> Format {
    let children = Type::List { item: Type::Record(DefId::ROOT).into() };
    let record = RecordDef { name: "Tree".into(), size: 16, align: 8, fields: vec![Field::new("c", 0, children)] };
    Format::new(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Record(record)]).unwrap()
}

#[test]
fn depth_is_bounded_at_the_limit() {
    let json = |depth: usize| format!("{}{{\"c\":[]}}{}", "{\"c\":[".repeat(depth - 1), "]}".repeat(depth - 1));
    let xml = |depth: usize| {
        let (open, close) = ("<c><item>".repeat(depth - 1), "</item></c>".repeat(depth - 1));
        format!("<Tree>{open}<c/>{close}</Tree>")
    };
    let limits = Limits::default();
    assert!(from_json(&tree(), &json(limits.nesting), &limits).is_ok());
    assert!(from_xml(&tree(), &xml(limits.nesting), &limits).is_ok());
    for depth in [limits.nesting + 1, limits.nesting + share(100_000) as usize] {
        let error = from_json(&tree(), &json(depth), &limits).unwrap_err().to_string();
        assert!(error.contains("Limits::nesting"), "{error}");
        let error = from_xml(&tree(), &xml(depth), &limits).unwrap_err().to_string();
        assert!(error.contains("Limits::nesting"), "{error}");
    }
    let many = share(1_000_000) as usize;
    let brackets = "[".repeat(many);
    assert!(from_json(&tree(), &brackets, &limits).is_err());
    assert!(from_json_skipping(&tree(), &format!("{{\"z\":{brackets}"), &limits).is_err());
    assert!(from_xml_skipping(&tree(), &format!("<Tree>{}", "<z>".repeat(many)), &limits).is_err());
}

#[test]
fn a_list_of_many_nodes_is_no_deeper_than_one_of_two() {
    let next = Type::Ref { item: Type::Record(DefId::ROOT).into(), nullable: true, shared: false };
    let record = RecordDef { name: "List".into(), size: 8, align: 8, fields: vec![Field::new("next", 0, next)] };
    let format = Format::new(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Record(record)]).unwrap();
    let node = |next| Value::Record(vec![("next".to_owned(), next)]);
    let count = if cfg!(miri) { 100 } else { share(20_000) as usize };
    let shared = (1..=count).map(|key| node(if key < count { Value::Shared(key) } else { Value::Null })).collect();
    let record = DynRecord { format: format.clone(), root: node(Value::Shared(0)), shared };
    let limits = Limits::default();
    assert_eq!(from_json(&format, &to_json(&record).unwrap(), &limits).unwrap(), record);
    assert_eq!(from_xml(&format, &to_xml(&record).unwrap(), &limits).unwrap(), record);
}

#[test]
fn a_value_that_does_not_fit_is_not_written() {
    let mut record = json(JSON).unwrap();
    let Value::Record(fields) = &mut record.root else { panic!("a record") };
    fields[0].1 = Value::Str("x".into());
    assert_eq!(to_json(&record).unwrap_err().to_string(), "id: the value is no u128");
    assert_eq!(to_xml(&record).unwrap_err().to_string(), "id: the value is no u128");
    fields_of(&mut record)[0].1 = Value::Shared(7);
    assert_eq!(to_json(&record).unwrap_err().to_string(), "id: there is no shared value 7");
    fields_of(&mut record).clear();
    assert_eq!(to_json(&record).unwrap_err().to_string(), "id: the record has no value for it");
}

fn fields_of(record: &mut DynRecord) -> &mut Vec<(String, Value)> {
    match &mut record.root {
        Value::Record(fields) => fields,
        _ => panic!("a record"),
    }
}

#[test]
fn a_length_that_contradicts_its_array_is_refused_at_import() {
    let item = Box::new(Type::Int { width: 4, signed: true });
    let array = Type::Sized { item, dims: vec![Dim::Field(0)], order: Order::Row };
    let length = Type::Int { width: 4, signed: false };
    let fields = vec![Field::new("count", 0, length), Field::new("items", 8, array)];
    let record = RecordDef { name: "Counted".into(), size: 16, align: 8, fields };
    let format = Format::new(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Record(record)]).unwrap();
    let limits = Limits::default();
    let read = |text: &str| from_json(&format, text, &limits).map_err(|error| error.to_string());
    assert!(read(r#"{"count":2,"items":[1,2]}"#).is_ok());
    assert!(read(r#"{"items":[],"count":0}"#).is_ok());
    let wrong = read(r#"{"count":3,"items":[1,2]}"#).unwrap_err();
    assert_eq!(wrong, "items: has 2 items where its length field says 3");
    let xml = "<Counted><count>3</count><items><item>1</item></items></Counted>";
    let wrong = from_xml(&format, xml, &limits).unwrap_err().to_string();
    assert_eq!(wrong, "items: has 1 items where its length field says 3");
}

#[test]
fn what_a_text_leaves_out_does_not_multiply_it() {
    let optional = |number| {
        let ty = Type::Optional { item: Type::Str.into(), value_at: 0, size: 0 };
        Field::new(format!("an optional property {number}"), 0, ty)
    };
    let list = Field::new("l", 0, Type::List { item: Type::Record(DefId(1)).into() });
    let weighty = Field { default: Some(Value::Str("x".repeat(4000))), ..Field::new("text", 0, Type::Str) };
    for fields in [(0..200).map(optional).collect(), vec![weighty]] {
        let root = RecordDef { name: "Lists".into(), size: 0, align: 1, fields: vec![list.clone()] };
        let item = RecordDef { name: "Item".into(), size: 0, align: 1, fields };
        let definitions = vec![Definition::Record(root), Definition::Record(item)];
        let format = Format::laid_out(ByteOrder::Little, PointerWidth::Eight, definitions).unwrap();
        let read = |count: usize| {
            let json = format!(r#"{{"l":[{}]}}"#, vec!["{}"; count].join(","));
            let xml = format!("<Lists><l>{}</l></Lists>", "<item/>".repeat(count));
            let limits = Limits::default();
            [from_json(&format, &json, &limits), from_xml(&format, &xml, &limits)]
                .map(|read| read.map(|_| ()).map_err(|error| error.to_string()))
        };
        assert_eq!(read(100), [Ok(()), Ok(())]);
        for error in read(20_000) {
            assert!(error.unwrap_err().contains("leaves out so much"));
        }
    }
}

#[test]
fn numbers_of_long_names_do_not_multiply_a_text() {
    let names = vec![("x".repeat(4000), 1)];
    let list = Field::new("l", 0, Type::List { item: Type::Enum(DefId(1)).into() });
    let definitions = vec![
        Definition::Record(RecordDef { name: "Kinds".into(), size: 0, align: 1, fields: vec![list] }),
        Definition::Enumeration(EnumerationDef { name: "Kind".into(), width: 1, signed: false, names }),
    ];
    let format = Format::laid_out(ByteOrder::Little, PointerWidth::Eight, definitions).unwrap();
    let json = |count: usize| format!(r#"{{"l":[{}]}}"#, vec!["1"; count].join(","));
    let xml = |count: usize| format!("<Kinds><l>{}</l></Kinds>", "<item>#1</item>".repeat(count));
    let limits = Limits::default();
    assert!(from_json(&format, &json(100), &limits).is_ok() && from_xml(&format, &xml(100), &limits).is_ok());
    for read in [from_json(&format, &json(20_000), &limits), from_xml(&format, &xml(20_000), &limits)] {
        assert!(read.unwrap_err().to_string().contains("leaves out so much"));
    }
}
