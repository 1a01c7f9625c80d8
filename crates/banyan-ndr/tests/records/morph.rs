//! Rules that turn old records into new ones.

use banyan_ndr::{CStruct, DecodeError, DynRecord, Format, Morph, Order, RecordView, Type, Value};

fn old_item() -> CStruct {
    CStruct::new("item", 8, 4).int("temp", 0, 4).uint("weight", 4, 2)
}

fn old() -> Format {
    let mut old = CStruct::new("mesh", 48, 8);
    let item = old.nested_type(&old_item());
    old.int("step", 0, 8)
        .array("origin", 8, CStruct::float_type(4), &[2])
        .field("items", 16, Type::List { item: item.into() })
        .cstring("note", 32)
        .build()
        .unwrap()
}

fn old_body() -> Vec<u8> {
    let mut record = DynRecord::new(&old());
    record.set("step", 300).unwrap();
    record.set("origin", [0.5, 1.5]).unwrap();
    for temp in [10, -20] {
        record.push("items", Value::record([("temp", Value::from(temp)), ("weight", Value::from(9))])).unwrap();
    }
    record.to_body().unwrap().to_vec()
}

fn new(step_width: u8) -> Format {
    let mut new = CStruct::new("mesh", 72, 8);
    let item = CStruct::new("item", 16, 8).float("kelvin", 0, 8).int("weight", 8, 8);
    let item = new.nested_type(&item);
    new.int("time_step", 0, step_width)
        .array("origin", 8, CStruct::float_type(8), &[3])
        .field("elems", 32, Type::List { item: item.into() })
        .int("total", 48, 4)
        .int("extra", 52, 4)
        .cstring("note", 56)
        .build()
        .unwrap()
}

fn rules() -> Morph {
    Morph::new("mesh")
        .rename("step", "time_step")
        .rename("items", "elems")
        .rename("items.temp", "elems.kelvin")
        .default("extra", -1)
        .compute("total", |old| {
            let items = old.get("items").and_then(|items| items.len()).map_err(|error| error.to_string())?;
            Ok(Value::from(items))
        })
}

#[test]
fn fields_are_renamed_filled_computed_and_converted_also_inside_lists() {
    let (old, body) = (old(), old_body());
    let morphed = rules().apply(RecordView::new(&old, &body).unwrap(), &new(8)).unwrap();
    assert_eq!(morphed.get("time_step").unwrap(), &Value::Int(300));
    assert_eq!(morphed.get("origin").unwrap(), &Value::from([0.5, 1.5, 0.0]));
    assert_eq!(morphed.get("elems[1].kelvin").unwrap(), &Value::F64(-20.0));
    assert_eq!(morphed.get("elems[0].weight").unwrap(), &Value::Int(9));
    assert_eq!(morphed.get("total").unwrap(), &Value::Int(2));
    assert_eq!(morphed.get("extra").unwrap(), &Value::Int(-1));
    assert_eq!(morphed.get("note").unwrap(), &Value::Null);
    morphed.to_body().unwrap();
}

#[test]
fn a_number_that_does_not_fit_is_named() {
    let (old, body) = (old(), old_body());
    let error = rules().apply(RecordView::new(&old, &body).unwrap(), &new(1)).unwrap_err();
    assert_eq!(error.to_string(), "time_step: 300 does not fit i8");
}

#[test]
fn all_missing_fields_are_named_at_once() {
    let (old, body) = (old(), old_body());
    let error = Morph::new("mesh").apply(RecordView::new(&old, &body).unwrap(), &new(8)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mesh: the sender has no field elems, extra, time_step, total; declare a default to go on without"
    );
}

#[test]
fn a_rule_that_fails_is_named_with_its_reason() {
    let (old, body) = (old(), old_body());
    let morph = rules().compute("extra", |_| Err("no idea".into()));
    let error = morph.apply(RecordView::new(&old, &body).unwrap(), &new(8)).unwrap_err();
    assert_eq!(error, DecodeError::Rule { path: "extra".into(), reason: "no idea".into() });
}

#[test]
fn a_ring_stays_a_ring_and_is_refused_where_the_new_format_does_not_share() {
    let node = |shared| {
        let item = Box::new(CStruct::own_type());
        let pointer = banyan_ndr::PointerWidth::Eight;
        let next = Type::Ref { item, nullable: true, shared };
        CStruct::new("node", 16, 8).pointer_width(pointer).int("value", 0, 4).field("next", 8, next).build().unwrap()
    };
    let mut ring = DynRecord::new(&node(true));
    ring.set("next.value", 2).unwrap();
    ring.set("next.next", Value::Shared(0)).unwrap();
    let body = ring.to_body().unwrap();
    let format = node(true);
    let view = RecordView::new(&format, &body).unwrap();
    let morphed = Morph::new("node").apply(view, &format).unwrap();
    assert_eq!(&morphed.to_body().unwrap()[..], &body[..]);
    assert!(Morph::new("node").apply(view, &node(false)).unwrap_err().to_string().contains("does not share"));
}

#[test]
fn an_array_sized_by_fields_keeps_its_lengths() {
    let matrix = |order, width: u8| {
        CStruct::new("grid", 24, 8)
            .uint("rows", 0, width)
            .uint("columns", 8, width)
            .sized_matrix("cells", 16, CStruct::int_type(2), &["rows", "columns"], order)
            .build()
            .unwrap()
    };
    let (old, new) = (matrix(Order::Row, 4), matrix(Order::Column, 8));
    let mut record = DynRecord::new(&old);
    record.set("cells", vec![vec![1, 2, 3], vec![4, 5, 6]]).unwrap();
    let body = record.to_body().unwrap();
    let morphed = Morph::new("grid").apply(RecordView::new(&old, &body).unwrap(), &new).unwrap();
    let body = morphed.to_body().unwrap();
    let view = RecordView::new(&new, &body).unwrap();
    assert_eq!(view.value::<u8>("columns").unwrap(), 3);
    assert_eq!(view.value::<u8>("cells[1][0]").unwrap(), 4);
}
