//! Records of older formats, by a plan and by rules: both ways give the same.

use banyan_ndr::{
    ByteOrder, DecodeError, Decoder, DefId, Definition, DynRecord, Field, Format, Morph, PointerWidth, RecordDef,
    RecordView, Type, Value,
};

const INT: Type = Type::Int { width: 4, signed: true };

fn record(name: &str, fields: Vec<Field>) -> Definition {
    Definition::Record(RecordDef { name: name.into(), size: 0, align: 1, fields })
}

fn format(definitions: Vec<Definition>) -> Format {
    Format::laid_out(ByteOrder::NATIVE, PointerWidth::NATIVE, definitions).expect("a format")
}

fn field(name: &str, ty: Type, default: Option<Value>) -> Field {
    Field { default, ..Field::new(name, 0, ty) }
}

/// Old records have only the field `a`; new ones a record `inner` with fields `x` and `text`, too.
fn with_inner(x: Option<Value>) -> Format {
    let inner = vec![field("x", INT, x), field("text", Type::Str, Some(Value::from("none")))];
    let root = vec![field("a", INT, None), field("inner", Type::Record(DefId(1)), None)];
    format(vec![record("root", root), record("inner", inner)])
}

#[test]
fn a_missing_record_is_filled_from_the_defaults_of_its_fields() {
    let old = format(vec![record("root", vec![field("a", INT, None)])]);
    let new = with_inner(Some(Value::Int(7)));
    let body = DynRecord::new(&old).to_body().unwrap();
    let mut decoder = Decoder::new();
    let id = decoder.learn(&old).unwrap();
    let planned = decoder.convert(id, &body, &new).unwrap().to_string();
    let mapped = Morph::new("root").apply(RecordView::new(&old, &body).unwrap(), &new).unwrap().to_string();
    assert_eq!(planned, "root {a: 0, inner: {x: 7, text: \"none\"}}");
    assert_eq!(mapped, planned);
}

#[test]
fn a_missing_record_of_which_a_field_has_no_default_is_named() {
    let old = format(vec![record("root", vec![field("a", INT, None)])]);
    let new = with_inner(None);
    let body = DynRecord::new(&old).to_body().unwrap();
    let mut decoder = Decoder::new();
    let id = decoder.learn(&old).unwrap();
    let missing = |error: DecodeError| match error {
        DecodeError::Missing { fields, .. } => fields,
        other => panic!("{other}"),
    };
    assert_eq!(missing(decoder.convert(id, &body, &new).unwrap_err()), ["inner"]);
    let mapped = Morph::new("root").apply(RecordView::new(&old, &body).unwrap(), &new);
    assert_eq!(missing(mapped.unwrap_err()), ["inner"]);
}

#[test]
fn a_renamed_field_wins_over_one_that_has_the_name_already() {
    let old = format(vec![record("root", vec![field("was", INT, None), field("is", INT, None)])]);
    let new = format(vec![record("root", vec![field("is", INT, None)])]);
    let mut record = DynRecord::new(&old);
    record.set("was", 1).unwrap();
    record.set("is", 2).unwrap();
    let body = record.to_body().unwrap();
    let morph = Morph::new("root").rename("was", "is");
    let mut decoder = Decoder::new();
    let id = decoder.learn(&old).unwrap();
    decoder.morph(morph.clone());
    assert_eq!(decoder.convert(id, &body, &new).unwrap().value::<i32>("is").unwrap(), 1);
    let mapped = morph.apply(RecordView::new(&old, &body).unwrap(), &new).unwrap();
    assert_eq!(mapped.get("is").unwrap(), &Value::Int(1));
}
