//! The rules of conversion, one example each.

use std::collections::BTreeMap;

use banyan_ndr::{
    Buffer, ByteOrder, Case, Compatibility, ConvertOptions, DecodeError, DefId, Definition, Field, Format, Limits,
    Loss, Order, Plan, PointerWidth, RecordDef, Type, Value, VariantDef, compatibility,
};

use crate::support::model::{FieldModel, Model, lay_out};
use crate::support::{Choices, body};

fn simple(ty: Type) -> Model {
    Model::Simple(ty)
}

fn int(width: u8) -> Model {
    simple(Type::Int { width, signed: true })
}

fn uint(width: u8) -> Model {
    simple(Type::Int { width, signed: false })
}

fn float(width: u8) -> Model {
    simple(Type::Float { width })
}

fn list(item: Model) -> Model {
    Model::List(Box::new(item))
}

fn optional(item: Model) -> Model {
    Model::Optional(Box::new(item))
}

fn pointer(item: Model, nullable: bool, shared: bool) -> Model {
    Model::Ref { item: Box::new(item), nullable, shared }
}

fn array(item: Model, dims: &[u32], order: Order) -> Model {
    Model::Array { item: Box::new(item), dims: dims.to_vec(), order }
}

fn enumeration(names: &[(&str, i128)]) -> Model {
    Model::Enumeration { width: 1, names: names.iter().map(|(name, value)| ((*name).into(), *value)).collect() }
}

fn record(fields: Vec<(&str, Model)>) -> Model {
    let field = |(name, model): (&str, Model)| FieldModel { name: name.into(), model, default: None };
    Model::Record(fields.into_iter().map(field).collect())
}

fn with_default(model: Model, default: Value) -> Model {
    Model::Record(vec![FieldModel { name: "x".into(), model, default: Some(default) }])
}

fn big(model: &Model) -> Format {
    lay_out(model, ByteOrder::Big, PointerWidth::Four, &mut Choices::new(&[]))
}

fn little(model: &Model) -> Format {
    lay_out(model, ByteOrder::Little, PointerWidth::Eight, &mut Choices::new(&[]))
}

fn values(fields: Vec<(&str, Value)>) -> Value {
    Value::Record(fields.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn ints(all: &[i128]) -> Value {
    Value::List(all.iter().map(|value| Value::Int(*value)).collect())
}

fn convert_record(
    source: &Model,
    value: &Value,
    target: &Model,
    options: &ConvertOptions,
) -> Result<Value, DecodeError> {
    let (source, target) = (big(source), little(target));
    let plan = Plan::new(&source, &target, options)?;
    let mut out = Buffer::from_slice(&[0xaa; 999]);
    plan.convert(&body::write(&source, value), &mut out)?;
    Ok(body::read(&target, &out))
}

/// Converts a record of one field, `x`.
fn convert(source: Model, value: Value, target: Model) -> Result<Value, DecodeError> {
    convert_with(source, value, target, &ConvertOptions::default())
}

fn convert_with(source: Model, value: Value, target: Model, options: &ConvertOptions) -> Result<Value, DecodeError> {
    convert_to(source, value, record(vec![("x", target)]), options)
}

fn convert_to(source: Model, value: Value, target: Model, options: &ConvertOptions) -> Result<Value, DecodeError> {
    let converted = convert_record(&record(vec![("x", source)]), &values(vec![("x", value)]), &target, options)?;
    match converted {
        Value::Record(fields) => Ok(fields.into_iter().find(|(name, _)| name == "x").expect("the field").1),
        other => panic!("{other:?}"),
    }
}

fn message(result: Result<Value, DecodeError>) -> String {
    result.expect_err("an error").to_string()
}

#[test]
fn integers_change_width_and_sign_when_they_fit() {
    assert_eq!(convert(int(2), Value::Int(-7), int(16)), Ok(Value::Int(-7)));
    assert_eq!(convert(uint(4), Value::Int(4_000_000_000), int(8)), Ok(Value::Int(4_000_000_000)));
    assert_eq!(message(convert(int(4), Value::Int(70000), int(2))), "x: 70000 does not fit i16");
    assert_eq!(message(convert(int(4), Value::Int(-1), uint(8))), "x: -1 does not fit u64");
}

#[test]
fn numbers_saturate_if_asked() {
    let options = ConvertOptions::default().loss(Loss::Saturate);
    assert_eq!(convert_with(int(4), Value::Int(70000), int(2), &options), Ok(Value::Int(32767)));
    assert_eq!(convert_with(int(4), Value::Int(-3), uint(2), &options), Ok(Value::Int(0)));
    assert_eq!(convert_with(float(8), Value::F64(2.9), int(1), &options), Ok(Value::Int(2)));
    assert_eq!(convert_with(float(8), Value::F64(1e300), float(4), &options), Ok(Value::F32(f32::MAX)));
    assert_eq!(convert_with(float(8), Value::F64(f64::NAN), int(1), &options), Ok(Value::Int(0)));
}

#[test]
fn integers_and_floats_become_each_other_when_nothing_is_lost() {
    assert_eq!(convert(int(4), Value::Int(-9), float(8)), Ok(Value::F64(-9.0)));
    assert_eq!(convert(float(4), Value::F32(12.0), uint(1)), Ok(Value::Int(12)));
    assert_eq!(convert(float(8), Value::F64(0.1), float(4)), Ok(Value::F32(0.1)));
    assert_eq!(convert(float(2), Value::F16(0x3c00), float(8)), Ok(Value::F64(1.0)));
    assert_eq!(message(convert(float(8), Value::F64(1.5), int(4))), "x: 1.5 does not fit i32");
    assert_eq!(message(convert(int(8), Value::Int((1 << 53) + 1), float(8))), "x: 9007199254740993 does not fit f64");
}

#[test]
fn bools_and_characters_change_width() {
    assert_eq!(
        convert(simple(Type::Bool { width: 4 }), Value::Bool(true), simple(Type::Bool { width: 1 })),
        Ok(Value::Bool(true))
    );
    assert_eq!(convert(simple(Type::Bool { width: 1 }), Value::Bool(true), int(4)), Ok(Value::Int(1)));
    assert_eq!(convert(int(4), Value::Int(1), simple(Type::Bool { width: 1 })), Ok(Value::Bool(true)));
    assert_eq!(message(convert(int(4), Value::Int(2), simple(Type::Bool { width: 1 }))), "x: 2 does not fit bool");
    let (narrow, wide) = (simple(Type::Char { width: 1 }), simple(Type::Char { width: 4 }));
    assert_eq!(convert(narrow.clone(), Value::Char('\u{e9}'), wide.clone()), Ok(Value::Char('\u{e9}')));
    assert!(matches!(convert(wide, Value::Char('\u{100}'), narrow), Err(DecodeError::OutOfRange { .. })));
}

#[test]
fn enumerations_match_by_name_and_unknown_values_fail_when_met() {
    let old = enumeration(&[("red", 1), ("green", 2), ("blue", 3)]);
    let new = enumeration(&[("blue", 0), ("red", 7)]);
    assert_eq!(convert(old.clone(), Value::Enum("blue".into()), new.clone()), Ok(Value::Enum("blue".into())));
    assert!(matches!(convert(old.clone(), Value::Enum("green".into()), new), Err(DecodeError::Invalid { .. })));
    assert_eq!(convert(old.clone(), Value::Enum("green".into()), int(8)), Ok(Value::Int(2)));
    assert!(matches!(convert(int(8), Value::Int(2), old.clone()), Err(DecodeError::NotConvertible { .. })));
    let other = enumeration(&[("left", 1)]);
    assert!(matches!(convert(old, Value::Enum("red".into()), other), Err(DecodeError::NotConvertible { .. })));
}

#[test]
fn strings_and_c_strings_become_each_other() {
    let (string, c_string) = (simple(Type::Str), simple(Type::CStr));
    let text = Value::Str("b\u{e4}umchen".into());
    assert_eq!(convert(string.clone(), text.clone(), c_string.clone()), Ok(text.clone()));
    assert_eq!(convert(c_string.clone(), text.clone(), string.clone()), Ok(text.clone()));
    assert_eq!(convert(c_string.clone(), Value::Null, optional(string.clone())), Ok(Value::Null));
    assert_eq!(convert(c_string.clone(), text.clone(), optional(string.clone())), Ok(text));
    assert!(matches!(convert(c_string.clone(), Value::Null, string.clone()), Err(DecodeError::Absent { .. })));
    assert!(matches!(convert(string.clone(), Value::Str("a\0b".into()), c_string), Err(DecodeError::Invalid { .. })));
    let bytes = simple(Type::Bytes);
    assert!(matches!(convert(string, Value::Str("a".into()), bytes), Err(DecodeError::NotConvertible { .. })));
}

#[test]
fn shorter_arrays_are_filled_and_longer_ones_cut_only_if_asked() {
    let three = array(int(4), &[3], Order::Row);
    let five = array(int(8), &[5], Order::Row);
    assert_eq!(convert(three.clone(), ints(&[1, 2, 3]), five.clone()), Ok(ints(&[1, 2, 3, 0, 0])));
    let target = with_default(five.clone(), ints(&[9, 9, 9, 8, 7]));
    let options = ConvertOptions::default();
    assert_eq!(convert_to(three.clone(), ints(&[1, 2, 3]), target, &options), Ok(ints(&[1, 2, 3, 8, 7])));
    let all = ints(&[1, 2, 3, 4, 5]);
    assert!(matches!(convert(five.clone(), all.clone(), three.clone()), Err(DecodeError::NotConvertible { .. })));
    let cut = ConvertOptions::default().cut_arrays(true);
    assert_eq!(convert_with(five, all, three, &cut), Ok(ints(&[1, 2, 3])));
}

fn defaulted(fields: Vec<(&str, Model, Option<Value>)>) -> Model {
    let field = |(name, model, default): (&str, Model, Option<Value>)| FieldModel { name: name.into(), model, default };
    Model::Record(fields.into_iter().map(field).collect())
}

#[test]
fn items_that_the_sender_lacks_have_the_defaults_of_their_fields() {
    let old = |width| record(vec![("a", int(width))]);
    let text = |text: &str| Value::Str(text.into());
    let item = |a, b| values(vec![("a", Value::Int(a)), ("b", Value::Int(b))]);
    let sent = Value::List(vec![values(vec![("a", Value::Int(1))]), values(vec![("a", Value::Int(2))])]);
    let new = || defaulted(vec![("a", int(8), None), ("b", int(4), Some(Value::Int(5)))]);
    let wanted = || Ok(Value::List(vec![item(1, 5), item(2, 5), item(0, 5)]));
    let three = |item| array(item, &[3], Order::Row);
    // In place, and with a walk.
    assert_eq!(convert(array(old(4), &[2], Order::Row), sent.clone(), three(new())), wanted());
    assert_eq!(convert(list(old(4)), sent.clone(), three(new())), wanted());
    // Defaults elsewhere, in an array in an item, and behind a default that is too short.
    let named = || defaulted(vec![("a", int(8), None), ("b", simple(Type::Str), Some(text("x")))]);
    let one = |a, b| values(vec![("a", Value::Int(a)), ("b", text(b))]);
    let converted = convert(array(old(4), &[2], Order::Row), sent.clone(), three(named()));
    assert_eq!(converted, Ok(Value::List(vec![one(1, "x"), one(2, "x"), one(0, "x")])));
    let short = with_default(three(new()), Value::List(vec![item(7, 7)]));
    let none = convert_record(
        &record(vec![("y", int(1))]),
        &values(vec![("y", Value::Int(0))]),
        &short,
        &ConvertOptions::default(),
    );
    assert_eq!(none, Ok(values(vec![("x", Value::List(vec![item(7, 7), item(0, 5), item(0, 5)]))])));
    let grid = array(new(), &[2, 2], Order::Column);
    let rows = Value::List(vec![Value::List(vec![values(vec![("a", Value::Int(1))])])]);
    let row = |a| Value::List(vec![item(a, 5), item(0, 5)]);
    assert_eq!(convert(array(old(4), &[1, 1], Order::Row), rows, grid), Ok(Value::List(vec![row(1), row(0)])));
}

#[test]
fn defaults_that_do_not_fit_are_refused_when_the_plan_is_made() {
    let refused = |model: Model, default: Value| {
        let (source, target) = (big(&record(vec![("y", int(1))])), little(&with_default(model, default)));
        Plan::new(&source, &target, &ConvertOptions::default()).err().map(|error| error.to_string())
    };
    for (width, value) in [
        (4, Value::F64(1e300)),
        (4, Value::Int(16_777_217)),
        (4, Value::Int(i128::MAX)),
        (2, Value::Int(65_536)),
        (2, Value::F32(1e6)),
        (8, Value::UInt(u128::MAX)),
    ] {
        let error = refused(float(width), value.clone()).expect("an error");
        assert!(error.contains("x (the default"), "{value:?}: {error}");
    }
    for (width, value) in [
        (4, Value::F64(0.1)),
        (4, Value::F64(f64::INFINITY)),
        (4, Value::F64(f64::NAN)),
        (4, Value::Int(16_777_216)),
        (8, Value::UInt(1 << 127)),
        (2, Value::Int(2048)),
    ] {
        assert_eq!(refused(float(width), value.clone()), None, "{value:?}");
    }
}

#[test]
fn a_case_that_gets_a_payload_takes_the_defaults_of_its_fields() {
    let old = Model::Variant(vec![("A".into(), Some(int(4))), ("C".into(), None)]);
    let three =
        defaulted(vec![("n", int(4), Some(Value::Int(3))), ("s", simple(Type::Str), Some(Value::Str("x".into())))]);
    let new = Model::Variant(vec![("C".into(), Some(three)), ("A".into(), Some(int(2)))]);
    let case = |name: &str, value| Value::Case(name.into(), Some(Box::new(value)));
    assert_eq!(convert(old.clone(), case("A", Value::Int(300)), new.clone()), Ok(case("A", Value::Int(300))));
    let filled = values(vec![("n", Value::Int(3)), ("s", Value::Str("x".into()))]);
    assert_eq!(convert(old.clone(), Value::Case("C".into(), None), new), Ok(case("C", filled)));
    let needs = Model::Variant(vec![("C".into(), Some(int(4))), ("A".into(), Some(int(2)))]);
    assert!(message(convert(old, case("A", Value::Int(1)), needs)).contains("x.C"));
}

#[test]
fn lists_become_arrays_where_their_length_allows() {
    let three = array(simple(Type::Str), &[3], Order::Row);
    let text = |text: &str| Value::Str(text.into());
    let strings = list(simple(Type::Str));
    assert_eq!(
        convert(strings.clone(), Value::List(vec![text("a")]), three.clone()),
        Ok(Value::List(vec![text("a"), text(""), text("")]))
    );
    let four = Value::List(vec![text("a"); 4]);
    assert_eq!(
        message(convert(strings.clone(), four.clone(), three.clone())),
        "x: a length of 4 does not fit the receiver's 3"
    );
    let cut = ConvertOptions::default().cut_arrays(true);
    assert_eq!(convert_with(strings, four, three.clone(), &cut), Ok(Value::List(vec![text("a"); 3])));
    let default = Value::List(vec![text("p"), text("q"), text("r")]);
    let converted = convert_to(
        list(simple(Type::CStr)),
        Value::List(vec![text("a")]),
        with_default(three, default),
        &ConvertOptions::default(),
    );
    assert_eq!(converted, Ok(Value::List(vec![text("a"), text("q"), text("r")])));
}

#[test]
fn the_order_of_elements_is_changed_for_fixed_and_dynamic_arrays() {
    let matrix = Value::List(vec![ints(&[1, 2, 3]), ints(&[4, 5, 6])]);
    let fixed = |order| array(int(4), &[2, 3], order);
    assert_eq!(convert(fixed(Order::Row), matrix.clone(), fixed(Order::Column)), Ok(matrix.clone()));
    let sized = |order| {
        let lengths = vec!["rows".into(), "columns".into()];
        record(vec![
            ("rows", uint(2)),
            ("columns", uint(4)),
            ("x", Model::Sized { item: Box::new(int(4)), lengths, order }),
        ])
    };
    let value = values(vec![("rows", Value::Int(2)), ("columns", Value::Int(3)), ("x", matrix)]);
    let converted = convert_record(&sized(Order::Column), &value, &sized(Order::Row), &ConvertOptions::default());
    assert_eq!(converted, Ok(value));
}

#[test]
fn length_fields_hold_the_lengths_of_what_was_converted() {
    let source = record(vec![("n", int(4)), ("x", list(int(4))), ("y", list(int(4)))]);
    let sized = || Model::Sized { item: Box::new(int(8)), lengths: vec!["n".into()], order: Order::Row };
    let target = record(vec![("x", sized()), ("n", uint(1)), ("y", sized())]);
    let value = |x: &[i128], y: &[i128]| values(vec![("n", Value::Int(77)), ("x", ints(x)), ("y", ints(y))]);
    let convert = |value| convert_record(&source, &value, &target, &ConvertOptions::default());
    let wanted = values(vec![("x", ints(&[1, 2])), ("n", Value::Int(2)), ("y", ints(&[3, 4]))]);
    assert_eq!(convert(value(&[1, 2], &[3, 4])), Ok(wanted));
    assert_eq!(message(convert(value(&[1, 2], &[3]))), "y: a length of 1 does not fit the receiver's 2");
    assert!(matches!(convert(value(&[0; 256], &[0; 256])), Err(DecodeError::OutOfRange { .. })));
}

#[test]
fn optional_values_pointers_and_plain_values_become_each_other() {
    let forms = [optional(simple(Type::Str)), pointer(simple(Type::Str), true, false), simple(Type::Str)];
    for source in &forms {
        for target in &forms {
            let text = Value::Str("oak".into());
            assert_eq!(convert(source.clone(), text.clone(), target.clone()), Ok(text));
        }
    }
    assert_eq!(convert(forms[0].clone(), Value::Null, forms[1].clone()), Ok(Value::Null));
    assert_eq!(convert(forms[1].clone(), Value::Null, forms[0].clone()), Ok(Value::Null));
    assert!(message(convert(forms[1].clone(), Value::Null, forms[2].clone())).starts_with("x: absent"));
    assert!(message(convert(optional(int(4)), Value::Null, int(4))).starts_with("x: absent"));
    for (source, target, default) in
        [(optional(int(4)), int(2), Value::Int(5)), (forms[1].clone(), forms[2].clone(), Value::Str("fig".into()))]
    {
        let target = with_default(target, default.clone());
        assert_eq!(convert_to(source, Value::Null, target, &ConvertOptions::default()), Ok(default));
    }
}

#[test]
fn variants_match_by_the_names_of_their_cases() {
    let old = Model::Variant(vec![("none".into(), None), ("some".into(), Some(int(4))), ("gone".into(), None)]);
    let new = Model::Variant(vec![("some".into(), Some(list(int(8)))), ("none".into(), None)]);
    assert!(matches!(
        convert(old.clone(), Value::Case("none".into(), None), new),
        Err(DecodeError::NotConvertible { .. })
    ));
    let new = Model::Variant(vec![("some".into(), Some(int(2))), ("none".into(), None)]);
    let some = |value| Value::Case("some".into(), Some(Box::new(Value::Int(value))));
    assert_eq!(convert(old.clone(), some(3), new.clone()), Ok(some(3)));
    assert_eq!(
        convert(list(old.clone()), Value::List(vec![some(3)]), list(new.clone())),
        Ok(Value::List(vec![some(3)]))
    );
    assert!(message(convert(old.clone(), Value::Case("gone".into(), None), new.clone())).contains("gone"));
    let errs = convert(list(old), Value::List(vec![some(3), some(70000)]), list(new));
    assert_eq!(message(errs), "x[1]: 70000 does not fit i16");
}

#[test]
fn errors_name_the_place_with_all_its_indices() {
    let element = |width| record(vec![("id", int(8)), ("temp", array(int(width), &[3], Order::Row))]);
    let mesh = |width| record(vec![("name", simple(Type::Str)), ("elems", list(element(width)))]);
    let elem = |last| values(vec![("id", Value::Int(0)), ("temp", ints(&[1, 2, last]))]);
    let value = values(vec![("name", Value::Str("m".into())), ("elems", Value::List(vec![elem(3), elem(70000)]))]);
    assert_eq!(message(convert(mesh(4), value, mesh(2))), "x.elems[1].temp[2]: 70000 does not fit i16");
    let grid = |width| array(record(vec![("t", int(width))]), &[2], Order::Row);
    let value = Value::List(vec![values(vec![("t", Value::Int(0))]), values(vec![("t", Value::Int(-40000))])]);
    assert_eq!(message(convert(grid(4), value, grid(2))), "x[1].t: -40000 does not fit i16");
}

#[test]
fn all_missing_and_all_inconvertible_fields_are_named() {
    let inner = |fields| record(vec![("inner", record(fields)), ("a", int(4))]);
    let source = inner(vec![("keep", int(4))]);
    let target = record(vec![
        ("inner", record(vec![("keep", int(4)), ("new", int(4))])),
        ("a", int(4)),
        ("b", simple(Type::Str)),
        ("absent", optional(int(4))),
        ("null", pointer(int(4), true, false)),
    ]);
    let missing = Plan::new(&big(&source), &little(&target), &ConvertOptions::default()).unwrap_err();
    assert!(matches!(missing, DecodeError::Missing { fields, .. } if fields == ["inner.new", "b"]));
    let target = record(vec![("inner", record(vec![("keep", simple(Type::Str))])), ("a", list(int(4)))]);
    let wrong = Plan::new(&big(&source), &little(&target), &ConvertOptions::default()).unwrap_err();
    let DecodeError::NotConvertible { fields, .. } = wrong else { panic!("{wrong}") };
    assert_eq!(fields.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["inner.keep", "a"]);
}

/// The same records, once without and once with the field that is wanted.
macro_rules! nested {
    ($module:ident, $($wanted:ident)?) => {
        mod $module {
            use banyan_ndr::Record;

            #[derive(Record)]
            pub(super) struct Inner {
                a: u32,
                $($wanted: u32,)?
            }

            #[derive(Record)]
            pub(super) struct Middle {
                u: Vec<Inner>,
                next: Option<Box<Middle>>,
            }

            #[derive(Record)]
            pub(super) struct Outer {
                p: Vec<Inner>,
                q: Vec<Inner>,
                r: Option<Box<Inner>>,
                s: Vec<Middle>,
                t: Vec<Vec<Middle>>,
            }
        }
    };
}
nested!(sent,);
nested!(wanted, q);

#[test]
fn a_fault_is_named_in_all_places_of_its_type() {
    use banyan_ndr::Record;
    let (source, target) = (sent::Outer::format(), wanted::Outer::format());
    let missing = Plan::new(source, target, &ConvertOptions::default()).unwrap_err();
    let DecodeError::Missing { mut fields, .. } = missing else { panic!("{missing}") };
    fields.sort();
    assert_eq!(fields, ["p[].q", "q[].q", "r.q", "s[].u[].q", "t[][].u[].q"], "and no place twice");
}

#[test]
fn errors_of_the_root_name_its_format() {
    let variant = |name: &str, cases: &[&str]| {
        let case = |(tag, name): (usize, &&str)| Case { name: (*name).into(), tag: tag as u64, payload: None };
        let cases = cases.iter().enumerate().map(case).collect();
        let variant = VariantDef { name: name.into(), size: 1, align: 1, tag_width: 1, payload_at: 1, cases };
        Format::new(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Variant(variant)]).unwrap()
    };
    let plan = Plan::new(&variant("Sent", &["A", "B"]), &variant("Known", &["A"]), &ConvertOptions::default()).unwrap();
    let mut out = Buffer::new();
    let error = plan.convert(&[1], &mut out).unwrap_err().to_string();
    assert_eq!(error, "Known: the case B is no case that the receiver knows");
    assert!(plan.convert(&[7], &mut out).unwrap_err().to_string().starts_with("Known: the tag 7"));
    let Compatibility::Lossy { fields, .. } = compatibility(plan.source(), plan.target()) else { panic!("lossy") };
    assert_eq!(fields, [("Known".into(), "the receiver does not know the case B".into())]);
}

#[test]
fn missing_fields_take_their_defaults_with_all_they_refer_to() {
    let tree = record(vec![("names", list(simple(Type::Str))), ("next", pointer(int(4), true, false))]);
    let default = values(vec![
        ("names", Value::List(vec![Value::Str("elm".into()), Value::Str("ash".into())])),
        ("next", Value::Int(3)),
    ]);
    let field = |name: &str, model, default| FieldModel { name: name.into(), model, default };
    let target = Model::Record(vec![field("tree", tree, Some(default.clone())), field("a", int(2), None)]);
    let source = record(vec![("a", int(4)), ("extra", int(8))]);
    let value = values(vec![("a", Value::Int(1)), ("extra", Value::Int(2))]);
    let converted = convert_record(&source, &value, &target, &ConvertOptions::default());
    assert_eq!(converted, Ok(values(vec![("tree", default), ("a", Value::Int(1))])));
}

#[test]
fn a_default_sets_its_length_fields() {
    let sized = Model::Sized { item: Box::new(int(2)), lengths: vec!["n".into()], order: Order::Row };
    let field = |name: &str, model, default| FieldModel { name: name.into(), model, default };
    let target = Model::Record(vec![field("n", int(4), None), field("x", sized, Some(ints(&[5, 6])))]);
    let converted = convert_record(
        &record(vec![("other", int(1))]),
        &values(vec![("other", Value::Int(0))]),
        &target,
        &ConvertOptions::default(),
    );
    assert_eq!(converted, Ok(values(vec![("n", Value::Int(2)), ("x", ints(&[5, 6]))])));
}

#[test]
fn renames_and_given_defaults_are_applied_by_definition() {
    let root = "definition 0".to_owned();
    let options = ConvertOptions::default()
        .renames(BTreeMap::from([(root.clone(), BTreeMap::from([("old".into(), "new".into())]))]))
        .defaults(BTreeMap::from([(root, BTreeMap::from([("added".into(), Value::Int(4))]))]));
    let source = record(vec![("old", int(4))]);
    let target = record(vec![("new", int(4)), ("added", int(4))]);
    let converted = convert_record(&source, &values(vec![("old", Value::Int(3))]), &target, &options);
    assert_eq!(converted, Ok(values(vec![("new", Value::Int(3)), ("added", Value::Int(4))])));
}

#[test]
fn formats_of_too_many_places_are_refused_in_time() {
    // Each record holds the next one twice; a short description of a thousand million places.
    let depth = 30u16;
    let definitions = |last: u8| {
        (0..depth).map(move |number| {
            let size = 1 << (depth - 1 - number);
            let (ty, half) = match number + 1 {
                next if next < depth => (Type::Record(DefId(next)), size / 2),
                _ => (Type::Int { width: 1, signed: last == 0 }, 0),
            };
            let mut fields = vec![Field::new("a", 0, ty.clone())];
            if half > 0 {
                fields.push(Field::new("b", half, ty));
            }
            Definition::Record(RecordDef { name: format!("r{number}"), size, align: 1, fields })
        })
    };
    let format = |last| Format::new(ByteOrder::Little, PointerWidth::Four, definitions(last).collect()).unwrap();
    assert!(matches!(
        Plan::new(&format(0), &format(1), &ConvertOptions::default()),
        Err(DecodeError::NotConvertible { .. })
    ));
}

/// A list node: a value and a pointer to the next.
fn node(order: ByteOrder, width: PointerWidth, value: u8, shared: bool) -> Format {
    let pointer = width.bytes() as u32;
    let next = Type::Ref { item: Box::new(Type::Record(DefId::ROOT)), nullable: true, shared };
    let value = Type::Int { width: value, signed: true };
    let fields = vec![Field::new("next", 0, next), Field::new("value", pointer, value)];
    let record = RecordDef { name: "node".into(), size: 2 * pointer, align: pointer, fields };
    Format::new(order, width, vec![Definition::Record(record)]).unwrap()
}

/// Nodes one behind the other; each leads to the next, and the last to `last`.
fn chain(format: &Format, count: usize, last: Option<usize>) -> Vec<u8> {
    let (size, half) = (format.size(), format.pointer().bytes());
    let slots = banyan_ndr::wire::Slots { order: format.order(), pointer: format.pointer() };
    let mut body = vec![0; count * size];
    for number in 0..count {
        let next = if number + 1 < count { Some((number + 1) * size) } else { last };
        slots.set_reference(&mut body[number * size..], next);
        let value = format.size_of(&format.fields()[1].ty);
        banyan_ndr::wire::write_uint(&mut body[number * size + half..][..value], number as u128, format.order());
    }
    body
}

#[test]
fn a_list_of_a_million_nodes_is_converted() {
    for shared in [false, true] {
        let source = node(ByteOrder::Big, PointerWidth::Eight, 4, shared);
        let target = node(ByteOrder::Little, PointerWidth::Eight, 8, shared);
        let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
        let mut out = Buffer::new();
        let count = crate::support::effort::share(1_000_000) as usize;
        plan.convert(&chain(&source, count, None), &mut out).unwrap();
        assert_eq!(&*out, chain(&target, count, None));
    }
}

#[test]
fn shared_cycles_are_kept_through_the_root_too() {
    let source = node(ByteOrder::Big, PointerWidth::Four, 4, true);
    let target = node(ByteOrder::Little, PointerWidth::Eight, 8, true);
    let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
    let mut out = Buffer::new();
    for last in [0, 1, 2] {
        plan.convert(&chain(&source, 3, Some(last * source.size())), &mut out).unwrap();
        assert_eq!(&*out, chain(&target, 3, Some(last * target.size())));
    }
}

#[test]
fn cycles_of_unshared_pointers_are_refused() {
    let source = node(ByteOrder::Big, PointerWidth::Four, 4, false);
    let target = node(ByteOrder::Little, PointerWidth::Eight, 8, false);
    let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
    let cycle = chain(&source, 3, Some(0));
    assert!(matches!(plan.convert(&cycle, &mut Buffer::new()), Err(DecodeError::Overlap { .. })));
    let unsharing = Plan::new(&node(ByteOrder::Big, PointerWidth::Four, 4, true), &target, &ConvertOptions::default());
    assert!(matches!(unsharing.unwrap().convert(&cycle, &mut Buffer::new()), Err(DecodeError::Overlap { .. })));
}

#[test]
fn an_error_deep_in_a_list_is_found_in_time_and_named_briefly() {
    let source = node(ByteOrder::Big, PointerWidth::Eight, 4, false);
    let target = node(ByteOrder::Little, PointerWidth::Eight, 2, false);
    let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
    let error = plan.convert(&chain(&source, 100_000, None), &mut Buffer::new()).unwrap_err().to_string();
    assert!(error.ends_with("next.value: 32768 does not fit i16") && error.len() < 300, "{error}");
}

fn list_plan() -> (Format, Plan) {
    let source =
        lay_out(&record(vec![("x", list(int(4)))]), ByteOrder::Little, PointerWidth::Eight, &mut Choices::new(&[]));
    let target = big(&record(vec![("x", list(int(4)))]));
    let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
    (source, plan)
}

fn span(reference: u64, count: u64, items: usize) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend_from_slice(&reference.to_le_bytes());
    body.extend_from_slice(&count.to_le_bytes());
    body.resize(16 + 4 * items, 0);
    body
}

#[test]
fn forged_references_and_counts_are_refused() {
    let (_, plan) = list_plan();
    let convert = |body: Vec<u8>| plan.convert(&body, &mut Buffer::new());
    assert_eq!(convert(span(32, 2, 2)), Ok(()));
    for (reference, count) in
        [(32, 3), (5, 1), (u64::MAX, 1), (32, u64::MAX), (32, 1 << 62), (0, 1), (36, 2), (1 << 40, 1)]
    {
        assert!(
            matches!(convert(span(reference, count, 2)), Err(DecodeError::OutOfBounds { .. })),
            "{reference} {count}"
        );
    }
    assert!(matches!(convert(vec![0; 15]), Err(DecodeError::Size { found: 15, wanted: 16 })));
    assert_eq!(convert(span(u64::MAX, 0, 2)), Ok(()));
}

#[test]
fn bodies_that_mean_more_than_they_hold_are_refused() {
    let lists = record(vec![("x", list(list(simple(Type::Bytes))))]);
    let (source, target) = (big(&lists), little(&lists));
    let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
    let bytes = Value::Bytes(vec![7; 600]);
    let mut body = body::write(&source, &values(vec![("x", Value::List(vec![Value::List(vec![bytes; 2]); 2]))]));
    assert_eq!(plan.convert(&body, &mut Buffer::new()), Ok(()));
    // The second inner list leads to the first one's items, and the last bytes of those to all of the body.
    let (first, all) = (body[8..16].to_vec(), body.len() as u32 - 100);
    body[16..24].copy_from_slice(&first);
    let items = u32::from_be_bytes(first[..4].try_into().unwrap()) as usize - 16;
    body[items..items + 8].copy_from_slice(&[116u32.to_be_bytes(), all.to_be_bytes()].concat());
    assert!(matches!(plan.convert(&body, &mut Buffer::new()), Err(DecodeError::Overlap { .. })));
}

#[test]
fn lengths_in_fields_are_not_believed() {
    let sized = Model::Sized { item: Box::new(int(4)), lengths: vec!["n".into(), "m".into()], order: Order::Row };
    let model = record(vec![("n", int(8)), ("m", int(8)), ("x", sized)]);
    let (source, target) = (big(&model), little(&model));
    let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
    let matrix = Value::List(vec![ints(&[1, 2]); 2]);
    let good = body::write(&source, &values(vec![("n", Value::Int(2)), ("m", Value::Int(2)), ("x", matrix)]));
    assert_eq!(plan.convert(&good, &mut Buffer::new()), Ok(()));
    for (n, m) in [(-1, 2), (3, 2), (1 << 40, 1 << 40), (i64::MAX, 2), (i64::MAX, i64::MAX)] {
        let mut bad = good.clone();
        bad[..8].copy_from_slice(&i64::to_be_bytes(n));
        bad[8..16].copy_from_slice(&i64::to_be_bytes(m));
        assert!(plan.convert(&bad, &mut Buffer::new()).is_err(), "{n} {m}");
    }
    let mut empty = good.clone();
    empty[..8].copy_from_slice(&i64::from(i32::MAX).to_be_bytes());
    empty[8..16].fill(0);
    assert_eq!(plan.convert(&empty, &mut Buffer::new()), Ok(()));
}

#[test]
fn the_converted_body_keeps_to_its_limit() {
    let (source, target) = (big(&record(vec![("x", list(int(1)))])), little(&record(vec![("x", list(int(8)))])));
    let options = |body_bytes| ConvertOptions::default().limits(Limits::default().body_bytes(body_bytes));
    let body = body::write(&source, &values(vec![("x", ints(&[1; 10]))]));
    let convert = |limit| Plan::new(&source, &target, &options(limit)).unwrap().convert(&body, &mut Buffer::new());
    assert_eq!(convert(96), Ok(()));
    assert!(matches!(convert(95), Err(DecodeError::Limit { found: 96, limit: 95, name: "body_bytes", .. })));
}

#[test]
fn layouts_that_agree_in_all_the_target_has_are_identical() {
    let options = ConvertOptions::default();
    let identity = |source: &Format, target: &Format| Plan::new(source, target, &options).unwrap().is_identity();
    let make = |fields: Vec<Field>| {
        let record = RecordDef { name: "r".into(), size: 16, align: 8, fields };
        Format::new(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Record(record)]).unwrap()
    };
    let int = |name, offset, width| Field::new(name, offset, Type::Int { width, signed: true });
    let both = make(vec![int("a", 0, 4), int("b", 8, 8)]);
    let described = make(vec![Field { unit: Some("s".into()), ..int("a", 0, 4) }, int("b", 8, 8)]);
    let one = make(vec![int("b", 8, 8)]);
    assert!(both.id() != described.id() && identity(&both, &described));
    assert!(identity(&both, &one));
    assert!(!identity(&both, &make(vec![int("b", 0, 8)])));
    assert!(!identity(&both, &make(vec![int("b", 8, 4)])));
    let text = make(vec![Field::new("b", 0, Type::Str)]);
    assert!(identity(&text, &text));
    let more = RecordDef { name: "r".into(), size: 24, align: 8, fields: vec![int("b", 8, 8)] };
    let more = Format::new(ByteOrder::Little, PointerWidth::Eight, vec![Definition::Record(more)]).unwrap();
    assert!(!identity(&both, &more));
}

#[test]
fn compatibility_tells_what_is_lost_and_what_stands_in_the_way() {
    let query = |source: &Model, target: &Model| compatibility(&big(source), &little(target));
    let small = record(vec![("a", int(2)), ("b", optional(float(4)))]);
    let large = record(vec![("a", int(8)), ("b", optional(float(8)))]);
    assert_eq!(compatibility(&big(&small), &big(&small)), Compatibility::Equal);
    assert_eq!(query(&small, &small), Compatibility::Lossless);
    assert_eq!(query(&small, &large), Compatibility::Lossless);
    let names = |found: Compatibility| match found {
        Compatibility::Lossy { fields, .. } | Compatibility::Incompatible { fields, .. } => {
            fields.into_iter().map(|(path, _)| path).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert!(matches!(query(&large, &small), Compatibility::Lossy { .. }));
    assert_eq!(names(query(&large, &small)), ["a", "b"]);
    assert_eq!(names(query(&large, &record(vec![("a", int(8))]))), ["b"]);
    let other = record(vec![("a", simple(Type::Str)), ("b", optional(float(8))), ("c", int(1))]);
    assert!(matches!(query(&large, &other), Compatibility::Incompatible { .. }));
    assert_eq!(names(query(&large, &other)), ["a", "c"]);
}

#[test]
fn a_plan_can_be_printed_and_shared() {
    fn shared<T: Send + Sync>(_: &T) {}
    let (_, plan) = list_plan();
    shared(&plan);
    let text = plan.to_string();
    assert!(text.contains("item 1: i32 -> i32") && text.contains("swap 1 x 4 bytes"), "{text}");
}
