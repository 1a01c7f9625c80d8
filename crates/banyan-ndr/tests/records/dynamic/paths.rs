//! Values by path, set and got.

use banyan_ndr::{
    ByteOrder, CStruct, Case, DefId, Definition, DynRecord, Field, Format, Limits, Order, PointerWidth, RecordDef,
    RecordView, Type, Value, VariantDef,
};

/// A record of another machine with a bit of everything.
pub(crate) fn format() -> Format {
    let shape = Definition::Variant(VariantDef {
        name: "shape".into(),
        size: 16,
        align: 8,
        tag_width: 1,
        payload_at: 8,
        cases: vec![
            Case { name: "Point".into(), tag: 0, payload: None },
            Case { name: "Circle".into(), tag: 4, payload: Some(Type::Float { width: 8 }) },
        ],
    });
    let element = Definition::Record(RecordDef {
        name: "element".into(),
        size: 24,
        align: 8,
        fields: vec![Field::new("temp", 0, Type::Float { width: 4 }), Field::new("shape", 8, Type::Variant(DefId(2)))],
    });
    let limit = Type::Optional { item: Box::new(Type::Int { width: 2, signed: true }), value_at: 2, size: 4 };
    let matrix =
        Type::Array { item: Box::new(Type::Int { width: 1, signed: false }), dims: vec![2, 3], order: Order::Column };
    let root = Definition::Record(RecordDef {
        name: "mesh".into(),
        size: 48,
        align: 8,
        fields: vec![
            Field::new("step", 0, Type::Int { width: 4, signed: true }),
            Field::new("limit", 4, limit),
            Field::new("elems", 8, Type::List { item: Box::new(Type::Record(DefId(1))) }),
            Field::new("matrix", 16, matrix),
            Field::new("title", 24, Type::Str),
            Field::new("big", 32, Type::Int { width: 16, signed: false }),
        ],
    });
    Format::new(ByteOrder::Big, PointerWidth::Four, vec![root, element, shape]).unwrap()
}

pub(crate) fn record() -> DynRecord {
    let mut record = DynRecord::new(&format());
    record.set("step", -3).unwrap();
    record.push("elems", Value::record([("temp", Value::from(1.5))])).unwrap();
    record.push("elems", Value::record([("shape", Value::from("Point"))])).unwrap();
    record.set("elems[1].shape.Circle", 2.0).unwrap();
    record.set("matrix", [[1, 2, 3], [4, 5, 6]]).unwrap();
    record.set("matrix[1][2]", 60).unwrap();
    record.set("title", "größe\n").unwrap();
    record.set("big", u128::MAX).unwrap();
    record
}

#[test]
fn values_are_found_by_path_whatever_the_layout() {
    let (format, body) = (format(), record().to_body().unwrap());
    let view = RecordView::new(&format, &body).unwrap();
    assert_eq!(view.value::<i64>("step").unwrap(), -3);
    assert_eq!(view.value::<f64>("step").unwrap(), -3.0);
    assert_eq!(view.value::<Option<u8>>("limit").unwrap(), None);
    assert_eq!(view.value::<f64>("elems[0].temp").unwrap(), 1.5);
    assert_eq!(view.value::<&str>("elems[1].shape").unwrap(), "Circle");
    assert_eq!(view.value::<i32>("elems[1].shape.Circle").unwrap(), 2);
    assert_eq!(view.value::<u8>("matrix[1][2]").unwrap(), 60);
    assert_eq!(view.get("matrix[1]").unwrap().len().unwrap(), 3);
    assert_eq!(view.value::<String>("title").unwrap(), "größe\n");
    assert_eq!(view.value::<u128>("big").unwrap(), u128::MAX);
    // By column: the first index varies fastest.
    assert_eq!(view.value::<&[u8]>("matrix").unwrap(), [1, 4, 2, 5, 3, 60]);
}

#[test]
fn a_path_that_leads_nowhere_says_why() {
    let (format, body) = (format(), record().to_body().unwrap());
    let view = RecordView::new(&format, &body).unwrap();
    for (path, message) in [
        ("stop", "stop: mesh has no field stop"),
        ("elems[2]", "elems[2]: there is no item 2, only 2"),
        ("step[0]", "step[0]: i32 has no items"),
        ("title.x", "title.x: string has no fields, so no x"),
        ("elems[0].shape.Circle", "elems[0].shape.Circle: it is Point, not Circle"),
        ("elems[0].shape.Square", "elems[0].shape.Square: shape has no case Square"),
        ("elems[", "elems[: no path: a bracket that is never closed at byte 5"),
    ] {
        assert_eq!(view.get(path).unwrap_err().to_string(), message);
    }
    for (path, message) in [
        ("big", "big: 340282366920938463463374607431768211455 does not fit i64"),
        ("title", "title: string does not fit a number"),
        ("limit", "limit: absent, but the receiver needs a value (declare a default to go on)"),
    ] {
        assert_eq!(view.value::<i64>(path).unwrap_err().to_string(), message);
    }
}

#[test]
fn what_cannot_stand_at_a_path_is_refused_and_changes_nothing() {
    let mut record = record();
    let before = record.clone();
    let mut refused = |path: &str, value: Value| record.set(path, value).unwrap_err().to_string();
    assert_eq!(refused("step", Value::from(1u64 << 40)), "step: 1099511627776 does not fit i32");
    assert_eq!(refused("step", Value::from(0.5)), "step: 0.5 is no i32");
    assert_eq!(refused("title", Value::from(1)), "title: 1 is no string");
    assert_eq!(refused("matrix", Value::from([[1, 2, 3]])), "matrix: 1 items where there must be 2");
    assert_eq!(refused("matrix[0]", Value::from([1, 2, 300])), "matrix[0][2]: 300 does not fit u8");
    assert_eq!(refused("elems[0].shape", Value::from("Square")), "elems[0].shape: shape has no case Square");
    assert_eq!(refused("elems[7].temp", Value::from(1)), "elems[7].temp: there is no item 7, only 2");
    assert_eq!(record.push("matrix", 1).unwrap_err().to_string(), "matrix: u8[2][3] by column cannot grow");
    assert_eq!(record, before);
}

#[test]
fn setting_below_an_absent_optional_makes_it_present() {
    let mut record = record();
    record.set("limit", 5).unwrap();
    assert_eq!(record.get("limit").unwrap(), &Value::Int(5));
    record.set("limit", Value::Null).unwrap();
    assert_eq!(record.get("limit").unwrap(), &Value::Null);
}

#[test]
fn lengths_follow_their_array_and_a_wrong_one_is_refused() {
    let format = CStruct::new("grid", 32, 8)
        .uint("n", 0, 2)
        .sized_array("x", 8, CStruct::float_type(8), "n")
        .sized_array("y", 16, CStruct::float_type(4), "n")
        .build()
        .unwrap();
    let mut record = DynRecord::new(&format);
    record.push("x", 1.0).unwrap();
    record.push("x", 2.0).unwrap();
    assert_eq!(record.get("n").unwrap(), &Value::Int(2));
    let message = "y has 0 items, but its length fields say 2";
    assert_eq!(record.to_body().unwrap_err().to_string(), message);
    record.set("y", [3, 4]).unwrap();
    record.to_body().unwrap();
    record.set("n", 3).unwrap();
    assert_eq!(record.to_body().unwrap_err().to_string(), "x has 2 items, but its length fields say 3");
}

#[test]
fn a_walk_visits_every_leaf_in_order() {
    let (format, body) = (format(), record().to_body().unwrap());
    let mut paths = Vec::new();
    let view = RecordView::new(&format, &body).unwrap();
    view.walk(&banyan_ndr::Limits::default(), &mut |path, _| {
        paths.push(path.to_owned());
        Ok(())
    })
    .unwrap();
    assert_eq!(
        paths[..6],
        ["step", "limit", "elems[0].temp", "elems[0].shape", "elems[1].temp", "elems[1].shape.Circle"]
    );
    assert_eq!(paths[6..8], ["matrix[0][0]", "matrix[0][1]"]);
    assert_eq!(paths.len(), 14);
}

#[test]
fn a_value_without_a_name_is_a_number() {
    let format = CStruct::new("task", 2, 1).enumeration("state", 0, 1, "state", &[("idle", 0), ("busy", 1)]);
    let format = format.int("priority", 1, 1).build().unwrap();
    let body = [0xf9, 3];
    let view = RecordView::new(&format, &body).unwrap();
    assert_eq!(view.value::<i8>("state").unwrap(), -7);
    assert!(view.value::<&str>("state").unwrap_err().to_string().contains("-7 is no named value"));
    let mut record = DynRecord::from_body(&format, &body, &Limits::default()).unwrap();
    assert_eq!(record.get("state").unwrap(), &Value::Int(-7));
    assert_eq!(record.to_body().unwrap()[..], body);
    record.set("state", 1).unwrap();
    assert_eq!(record.get("state").unwrap(), &Value::Enum("busy".into()));
    assert!(record.set("state", 200).is_err());
}
