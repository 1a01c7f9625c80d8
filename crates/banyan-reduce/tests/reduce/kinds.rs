//! Values of other kinds than expected, and the errors that say so.

use banyan_ndr::{DynRecord, Record, Value, typed};
use banyan_ranks::RankSet;
use banyan_reduce::{Part, Reduction, ReductionLimits};

use crate::tree::field;

fn reduction(specification: &str) -> Reduction {
    Reduction::new(specification.parse().unwrap(), ReductionLimits::default())
}

/// Adds a record of one member; the error as text.
fn add<T: Record>(reduction: &mut Reduction, rank: u32, record: &T) -> Result<(), String> {
    let mut body = Vec::new();
    typed::encode_body_into(record, &mut body).unwrap();
    let part = Part { members: &RankSet::from_iter([rank]), format: T::format(), body: &body, is_partial: false };
    reduction.add(&part).map_err(|error| error.to_string())
}

fn result(reduction: &mut Reduction) -> DynRecord {
    reduction.result_record().unwrap()
}

#[derive(Record)]
struct Sample {
    temp: f64,
    load: u8,
    name: String,
    up: bool,
    wide: u128,
    cells: [i32; 2],
    inner: Inner,
}

#[derive(Record)]
struct Inner {
    value: i64,
    shape: Shape,
}

#[derive(Record)]
enum Shape {
    Circle(f64),
    Point,
}

fn sample(shape: Shape) -> Sample {
    let inner = Inner { value: -4, shape };
    Sample { temp: 1.5, load: 200, name: "x".into(), up: true, wide: 7, cells: [1, 2], inner }
}

#[test]
fn a_path_that_leads_nowhere_names_function_format_and_remedy() {
    for (specification, message) in [
        (
            "strict max(tmp)",
            "max(tmp): records of Sample cannot be reduced so: Sample has no field tmp; it has temp, load, name, up, wide, cells, inner",
        ),
        ("max(name)", "max(name): records of Sample cannot be reduced so: name is string, which is no number"),
        (
            "max(inner)",
            "max(inner): records of Sample cannot be reduced so: inner is a record, Inner; name one of its fields",
        ),
        (
            "union(inner)",
            "union(inner): records of Sample cannot be reduced so: inner is a record, Inner; name one of its fields",
        ),
        ("sum(cells[2])", "sum(cells[2]): records of Sample cannot be reduced so: there is no item 2, only 2"),
        (
            "sum(load[*])",
            "sum(load[*]): records of Sample cannot be reduced so: [*] stands behind u8, which has no items",
        ),
        (
            "sum(cells.x)",
            "sum(cells.x): records of Sample cannot be reduced so: x stands behind an array; write [*] for all items, or an index: [*].x",
        ),
        (
            "count() by cells",
            "by cells: records of Sample cannot be reduced so: a key is one value a record, not an array",
        ),
        (
            "strict count() by rack",
            "by rack: records of Sample cannot be reduced so: Sample has no field rack; it has temp, load, name, up, wide, cells, inner",
        ),
        (
            "strict sum(inner.shape.Square)",
            "sum(inner.shape.Square): records of Sample cannot be reduced so: Shape has no case Square",
        ),
    ] {
        let error = add(&mut reduction(specification), 4, &sample(Shape::Point)).unwrap_err();
        assert_eq!(error, format!("members 4: {message}"));
    }
}

#[test]
fn numbers_of_all_sorts_are_numbers_and_named_values_have_names() {
    let mut reduction = reduction("sum(up), sum(load), max(wide), union(up), classes(inner.shape.Circle), avg(cells)");
    add(&mut reduction, 0, &sample(Shape::Circle(2.0))).unwrap();
    add(&mut reduction, 1, &sample(Shape::Point)).unwrap();
    let result = result(&mut reduction).root;
    assert_eq!(field(&result, "sum(up)"), &Value::Int(2));
    assert_eq!(field(&result, "sum(load)"), &Value::Int(400));
    assert_eq!(field(&result, "max(wide)"), &Value::Int(7));
    assert_eq!(field(&result, "union(up)"), &Value::List(vec![Value::Bool(true)]));
    assert_eq!(field(&result, "classes(inner.shape.Circle)"), &Value::List(vec![Value::F64(2.0)]));
    assert_eq!(field(&result, "classes(inner.shape.Circle).members"), &Value::List(vec![Value::from("0")]));
    assert_eq!(field(&result, "avg(cells)"), &Value::List(vec![Value::F64(1.0), Value::F64(2.0)]));
}

#[derive(Record)]
struct Whole {
    x: i32,
}

#[derive(Record)]
struct Broken {
    x: f32,
}

#[test]
fn members_that_disagree_on_the_kind_are_named() {
    let mut reduction = reduction("max(x)");
    add(&mut reduction, 3, &Whole { x: 1 }).unwrap();
    let error = add(&mut reduction, 5, &Broken { x: 1.0 }).unwrap_err();
    assert_eq!(
        error,
        "members 5: max(x): it is a float here, but an integer in the parts before; all members must send the same kind"
    );
    // The next wave may be of another kind.
    reduction.clear();
    add(&mut reduction, 5, &Broken { x: 1.0 }).unwrap();
    assert_eq!(field(&result(&mut reduction).root, "max(x)"), &Value::F64(1.0));
}

#[test]
fn functions_that_take_any_number_mix_kinds() {
    let mut reduction = reduction("hist(x, 0, 2, 2), count(x)");
    add(&mut reduction, 3, &Whole { x: 1 }).unwrap();
    add(&mut reduction, 5, &Broken { x: 0.5 }).unwrap();
    let result = result(&mut reduction).root;
    assert_eq!(field(&result, "hist(x, 0, 2, 2)"), &Value::List(vec![Value::Int(1), Value::Int(1)]));
    assert_eq!(field(&result, "count(x)"), &Value::Int(2));
}

#[derive(Record)]
struct Huge {
    x: i128,
    y: Vec<i64>,
}

#[test]
fn a_sum_that_overflows_is_an_error() {
    let mut scalar = reduction("sum(x)");
    add(&mut scalar, 0, &Huge { x: i128::MAX, y: vec![] }).unwrap();
    let error = add(&mut scalar, 1, &Huge { x: 1, y: vec![] }).unwrap_err();
    assert_eq!(error, "members 1: sum(x): the sum is too large for i128; send floats, or use avg");
    let mut array = reduction("sum(y)");
    add(&mut array, 0, &Huge { x: 0, y: vec![5, i64::MIN] }).unwrap();
    add(&mut array, 1, &Huge { x: 0, y: vec![-5, i64::MAX] }).unwrap();
    add(&mut array, 2, &Huge { x: 0, y: vec![i64::MAX, -1] }).unwrap();
    assert!(add(&mut array, 3, &Huge { x: 0, y: vec![1, 0] }).unwrap_err().contains("too large for i64"));
}

#[test]
fn the_member_whose_number_makes_a_sum_too_large_is_named() {
    let mut reduction = reduction("sum(x)");
    add(&mut reduction, 0, &Huge { x: i128::MAX - 11, y: vec![] }).unwrap();
    let members: Vec<RankSet> = (1..30).map(|rank| RankSet::from_iter([rank])).collect();
    let body = 1_u32.to_ne_bytes();
    let part = |members| Part { members, format: Whole::format(), body: &body, is_partial: false };
    let error = reduction.add_all(&members.iter().map(part).collect::<Vec<_>>()).unwrap_err();
    assert_eq!(error.to_string(), "members 12: sum(x): the sum is too large for i128; send floats, or use avg");
}

#[test]
fn parts_out_of_order_and_parts_of_nobody_are_refused() {
    let mut reduction = reduction("count()");
    add(&mut reduction, 5, &Whole { x: 1 }).unwrap();
    let error = add(&mut reduction, 5, &Whole { x: 1 }).unwrap_err();
    assert_eq!(error, "members 5 come after member 5; parts are added in the order of their lowest ranks");
    for members in [RankSet::new(), RankSet::from_iter([6, 7])] {
        let part = Part { members: &members, format: Whole::format(), body: &[0; 4], is_partial: false };
        let error = reduction.add(&part).unwrap_err().to_string();
        assert!(error.contains("a record comes from one member"), "{error}");
    }
}

#[test]
fn a_wave_without_parts_has_no_result() {
    let mut reduction = reduction("count()");
    assert!(reduction.result_record().is_none());
    add(&mut reduction, 0, &Whole { x: 1 }).unwrap();
    assert!(reduction.result_record().is_some());
    assert!(reduction.result_record().is_none());
}

#[test]
fn waves_do_not_know_of_each_other() {
    let mut reduction = reduction(
        "count(), sum(x), max(x), first(x), concat(x), top(2, x), union(x), classes(x), distinct(x), quantile(1, x), exact_sum(x), hist(x, 0, 9, 3)",
    );
    add(&mut reduction, 0, &Whole { x: 8 }).unwrap();
    add(&mut reduction, 1, &Whole { x: 9 }).unwrap();
    result(&mut reduction);
    add(&mut reduction, 2, &Whole { x: 1 }).unwrap();
    let second = result(&mut reduction).root;
    let mut fresh = self::reduction(&reduction.specification().to_string());
    add(&mut fresh, 2, &Whole { x: 1 }).unwrap();
    assert_eq!(second, result(&mut fresh).root);
}

#[derive(Record)]
struct Awkward {
    records: u32,
    groups: u32,
}

#[test]
fn keys_may_have_any_name() {
    let mut reduction = reduction("sum(groups) by records, groups");
    add(&mut reduction, 0, &Awkward { records: 4, groups: 5 }).unwrap();
    let result = result(&mut reduction).root;
    let Value::List(groups) = field(&result, "groups") else { panic!("no groups") };
    assert_eq!(field(&groups[0], "records"), &Value::Int(4));
    assert_eq!(field(&groups[0], "sum(groups)"), &Value::Int(5));
}
