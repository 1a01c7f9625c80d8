//! Structures whose depth the data sets: lists, trees, cycles.

use banyan_ndr::{CStruct, DecodeError, DynRecord, Format, Limits, PointerWidth, RecordView, Type, Value};

fn node(next: Type) -> Format {
    let node = CStruct::new("node", 24, 8).pointer_width(PointerWidth::Eight);
    node.int("value", 0, 4).field("next", 8, next).build().unwrap()
}

fn list() -> Format {
    node(Type::List { item: CStruct::own_type().into() })
}

/// A chain of nodes, each the only one in the list of the one before.
fn deep_tree(depth: usize) -> DynRecord {
    let mut record = DynRecord::new(&list());
    record.shared = (0..depth)
        .map(|at| {
            let next = if at + 1 < depth { vec![Value::Shared(at + 1)] } else { Vec::new() };
            Value::record([("value", Value::from(at)), ("next", Value::List(next))])
        })
        .collect();
    record
}

#[test]
fn a_tree_of_any_depth_is_written_read_compared_and_dropped() {
    let depth = crate::support::effort::share(100_000) as usize;
    let record = deep_tree(depth);
    let body = record.to_body().unwrap();
    assert_eq!(body.len(), 24 * depth);
    let again = DynRecord::from_body(&list(), &body, &Limits::default()).unwrap();
    assert!(again == record);
    // Printing goes as deep as it can and says that there is more.
    assert!(again.to_string().contains('…'));
}

#[test]
fn a_walk_stops_at_the_limit_of_nesting() {
    let body = deep_tree(1000).to_body().unwrap();
    let format = list();
    let view = RecordView::new(&format, &body).unwrap();
    let error = view.walk(&Limits::default(), &mut |_, _| Ok(())).unwrap_err();
    assert!(matches!(error, DecodeError::Limit { name: "nesting", .. }), "{error}");
}

#[test]
fn a_list_that_contains_itself_is_refused() {
    let mut body = deep_tree(2).to_body().unwrap();
    // The second node's list leads back to the second node.
    let span: Vec<u8> = body[8..24].to_vec();
    body[32..48].copy_from_slice(&span);
    let error = DynRecord::from_body(&list(), &body, &Limits::default()).unwrap_err();
    assert!(matches!(error, DecodeError::Overlap { .. }), "{error}");
}

#[test]
fn spans_that_overlap_cannot_make_a_record_larger_than_its_body() {
    // A record of lists that all lead to the same numbers.
    let item = Box::new(Type::Int { width: 8, signed: false });
    let lists = Type::List { item: Type::List { item }.into() };
    let format =
        CStruct::new("bomb", 16, 8).pointer_width(PointerWidth::Eight).field("lists", 0, lists).build().unwrap();
    let mut record = DynRecord::new(&format);
    record.set("lists", vec![vec![1, 2, 3, 4, 5, 6, 7, 8]; 2]).unwrap();
    let mut body = record.to_body().unwrap();
    let first: Vec<u8> = body[16..32].to_vec();
    body[32..48].copy_from_slice(&first);
    // Two of the same fit into the bytes that were sent, but a third would not.
    assert!(DynRecord::from_body(&format, &body, &Limits::default()).is_ok());
    let body = &body[..body.len() - 64];
    let error = DynRecord::from_body(&format, body, &Limits::default()).unwrap_err();
    assert!(matches!(error, DecodeError::Overlap { .. }), "{error}");
}

#[test]
fn an_entry_that_is_not_shared_is_used_once() {
    let pointer = Type::Ref { item: CStruct::own_type().into(), nullable: true, shared: false };
    let mut record = DynRecord::new(&node(pointer));
    record.set("next.value", 1).unwrap();
    record.set("next.next", Value::Shared(0)).unwrap();
    let message = record.to_body().unwrap_err().to_string();
    assert_eq!(message, "next.next: shared value 0 is used again, but not by shared pointers only");
}

#[test]
fn an_entry_that_is_the_value_of_an_optional_cannot_stand_behind_a_shared_pointer_too() {
    let text = Type::Optional { item: Type::CStr.into(), value_at: 8, size: 16 };
    let pointer = Type::Ref { item: Type::CStr.into(), nullable: false, shared: true };
    let format = CStruct::new("texts", 24, 8).pointer_width(PointerWidth::Eight);
    let format = format.field("own", 0, text).field("shared", 16, pointer).build().unwrap();
    let mut record = DynRecord::new(&format);
    record.root = Value::record([("own", Value::Shared(0)), ("shared", Value::Shared(0))]);
    record.shared = vec![Value::from("both"), Value::from("the pointer's")];
    let message = record.to_body().unwrap_err().to_string();
    assert_eq!(message, "shared: shared value 0 is used again, but not by shared pointers only");

    record.root = Value::record([("own", Value::Shared(0)), ("shared", Value::Shared(1))]);
    let body = record.to_body().unwrap();
    assert!(DynRecord::from_body(&format, &body, &Limits::default()).unwrap() == record);
}

#[test]
fn null_inside_an_optional_is_told_apart_from_nothing() {
    let inner = Type::Optional { item: Type::Int { width: 1, signed: false }.into(), value_at: 1, size: 2 };
    let outer = Type::Optional { item: inner.into(), value_at: 1, size: 3 };
    let format = CStruct::new("twice", 3, 1).field("x", 0, outer).build().unwrap();
    for body in [[0, 0, 0], [1, 0, 0], [1, 1, 9]] {
        let record = DynRecord::from_body(&format, &body, &Limits::default()).unwrap();
        assert_eq!(record.to_body().unwrap()[..], body);
    }
}
