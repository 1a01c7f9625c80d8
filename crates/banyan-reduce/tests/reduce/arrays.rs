//! Arrays element by element: shapes, orders, lengths.

use banyan_ndr::{CStruct, DynRecord, Field, Format, Order, Record, Type, Value, typed};
use banyan_ranks::RankSet;
use banyan_reduce::{Part, Reduction, ReductionLimits};

use crate::tree::field;

fn reduction(specification: &str) -> Reduction {
    Reduction::new(specification.parse().unwrap(), ReductionLimits::default())
}

fn add(reduction: &mut Reduction, rank: u32, format: &Format, body: &[u8]) -> Result<(), String> {
    let part = Part { members: &RankSet::from_iter([rank]), format, body, is_partial: false };
    reduction.add(&part).map_err(|error| error.to_string())
}

#[derive(Record)]
struct Loads {
    load: Vec<f32>,
}

fn loads(values: &[f32]) -> Vec<u8> {
    let mut body = Vec::new();
    typed::encode_body_into(&Loads { load: values.to_vec() }, &mut body).unwrap();
    body
}

#[test]
fn arrays_of_other_lengths_are_an_error_that_names_member_and_lengths() {
    for specification in ["sum(load)", "min(load)", "avg(load)", "exact_sum(load)"] {
        let mut reduction = reduction(specification);
        add(&mut reduction, 2, Loads::format(), &loads(&[1.0, 2.0])).unwrap();
        let error = add(&mut reduction, 7, Loads::format(), &loads(&[1.0])).unwrap_err();
        assert_eq!(
            error,
            format!(
                "members 7: {specification}: the array has 1 items here, but 2 in the parts before; element by \
                 element needs arrays of one length"
            )
        );
    }
}

#[derive(Record)]
struct Samples {
    load: Vec<f64>,
}

fn samples(values: Vec<f64>) -> Vec<u8> {
    let mut body = Vec::new();
    typed::encode_body_into(&Samples { load: values }, &mut body).unwrap();
    body
}

/// So long that they are added piece by piece.
const LONG: usize = 10_001;

/// Numbers whose sum depends on the order in which they are added.
fn long_array(rank: u32) -> Vec<f64> {
    (0..LONG as u32).map(|at| f64::from((rank * 7919 + at * 31) % 997).exp2().sqrt() / 3.0 - f64::from(at)).collect()
}

#[test]
fn long_arrays_are_added_in_the_order_of_their_members_to_the_bit() {
    let ranks: Vec<RankSet> = (0..40).map(|rank| RankSet::from_iter([rank])).collect();
    let arrays: Vec<Vec<f64>> = (0..40).map(long_array).collect();
    let mut bodies: Vec<(&Format, Vec<u8>)> =
        arrays.iter().map(|array| (Samples::format(), samples(array.clone()))).collect();
    // One has other numbers.
    let narrow: Vec<f32> = (0..LONG).map(|at| at as f32 / 7.0).collect();
    bodies[20] = (Loads::format(), loads(&narrow));
    let parts: Vec<Part<'_>> = ranks
        .iter()
        .zip(&bodies)
        .map(|(members, (format, body))| Part { members, format, body, is_partial: false })
        .collect();
    for specification in ["sum(load)", "avg(load)"] {
        let mut reduction = reduction(specification);
        reduction.add_all(&parts).unwrap();
        let result = reduction.result_record().unwrap().root;
        let Value::List(sums) = field(&result, specification) else { panic!("no list") };
        assert_eq!(sums.len(), LONG);
        for (at, sum) in sums.iter().enumerate() {
            let number = |rank: usize| if rank == 20 { f64::from(narrow[at]) } else { arrays[rank][at] };
            let mut expected = (1..40).fold(number(0), |sum, rank| sum + number(rank));
            if specification == "avg(load)" {
                expected /= 40.0;
            }
            assert_eq!(sum, &Value::F64(expected), "{specification}: {at}");
        }
    }
}

#[test]
fn a_long_array_of_another_length_is_an_error_that_names_its_member() {
    let ranks: Vec<RankSet> = (0..5).map(|rank| RankSet::from_iter([rank])).collect();
    let body = |rank: u32| samples(long_array(rank)[..if rank == 3 { LONG - 1 } else { LONG }].to_vec());
    let bodies: Vec<Vec<u8>> = (0..5).map(body).collect();
    let part = |(members, body)| Part { members, format: Samples::format(), body, is_partial: false };
    let parts: Vec<Part<'_>> = ranks.iter().zip(bodies.iter().map(Vec::as_slice)).map(part).collect();
    let error = reduction("sum(load)").add_all(&parts).unwrap_err().to_string();
    assert!(error.starts_with("members 3: sum(load): the array has 10000 items here, but 10001"), "{error}");
}

#[test]
fn an_empty_array_is_an_array_of_no_items() {
    let mut reduction = reduction("sum(load)");
    add(&mut reduction, 0, Loads::format(), &loads(&[])).unwrap();
    assert!(add(&mut reduction, 1, Loads::format(), &loads(&[1.0])).unwrap_err().contains("1 items here, but 0"));
}

#[test]
fn arrays_have_a_bound() {
    let limits = ReductionLimits::default().elements(3);
    let mut reduction = Reduction::new("sum(load)".parse().unwrap(), limits);
    let error = add(&mut reduction, 0, Loads::format(), &loads(&[0.0; 4])).unwrap_err();
    assert_eq!(error, "members 0: sum(load): 4 items of one array are more than 3 (ReductionLimits::elements)");
}

/// Two rows of three, in either order.
fn grid(order: Order) -> (Format, Vec<u8>) {
    let item = Type::Int { width: 2, signed: false }.into();
    let ty = Type::Array { item, dims: vec![2, 3], order };
    let format = CStruct::new("Grid", 12, 2).field("cells", 0, ty).build().unwrap();
    let mut record = DynRecord::new(&format);
    for (row, values) in [[1, 2, 3], [4, 5, 6]].into_iter().enumerate() {
        for (column, value) in values.into_iter().enumerate() {
            record.set(&format!("cells[{row}][{column}]"), value).unwrap();
        }
    }
    (format, record.to_body().unwrap().to_vec())
}

#[test]
fn arrays_of_several_dimensions_meet_in_row_order_whatever_theirs() {
    for specification in ["sum(cells)", "sum(cells[*])"] {
        let mut reduction = reduction(specification);
        for (rank, order) in [Order::Row, Order::Column].into_iter().enumerate() {
            let (format, body) = grid(order);
            add(&mut reduction, rank as u32, &format, &body).unwrap();
        }
        let result = reduction.result_record().unwrap().root;
        let doubled: Vec<Value> = [2, 4, 6, 8, 10, 12].into_iter().map(Value::Int).collect();
        assert_eq!(field(&result, specification), &Value::List(doubled));
    }
}

#[test]
fn one_item_or_row_of_an_array_can_be_named() {
    for order in [Order::Row, Order::Column] {
        let mut reduction = reduction("sum(cells[1][2]), sum(cells[1])");
        let (format, body) = grid(order);
        add(&mut reduction, 0, &format, &body).unwrap();
        let result = reduction.result_record().unwrap().root;
        assert_eq!(field(&result, "sum(cells[1][2])"), &Value::Int(6));
        let row: Vec<Value> = [4, 5, 6].into_iter().map(Value::Int).collect();
        assert_eq!(field(&result, "sum(cells[1])"), &Value::List(row));
    }
}

#[test]
fn lists_of_lists_are_taken_one_after_the_other() {
    let item = Type::List { item: Type::Int { width: 1, signed: true }.into() };
    let ty = Type::List { item: item.into() };
    let definition =
        banyan_ndr::RecordDef { name: "R".into(), size: 0, align: 0, fields: vec![Field::new("x", 0, ty)] };
    let native = (banyan_ndr::ByteOrder::NATIVE, banyan_ndr::PointerWidth::NATIVE);
    let format = Format::laid_out(native.0, native.1, vec![banyan_ndr::Definition::Record(definition)]).unwrap();
    let list = |items: &[i128]| Value::List(items.iter().map(|item| Value::Int(*item)).collect());
    let root = Value::Record(vec![("x".into(), Value::List(vec![list(&[1, 2]), list(&[]), list(&[3])]))]);
    let body = DynRecord { format: format.clone(), root, shared: vec![] }.to_body().unwrap();
    for specification in ["concat(x)", "concat(x[*])", "concat(x[*][*])"] {
        let mut reduction = reduction(specification);
        add(&mut reduction, 0, &format, &body).unwrap();
        assert_eq!(field(&reduction.result_record().unwrap().root, specification), &list(&[1, 2, 3]));
    }
}
