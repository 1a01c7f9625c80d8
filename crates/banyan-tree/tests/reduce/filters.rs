//! The filter interface: order of arrival, errors, memory that is used again.

use banyan_boot::RankSet;
use banyan_ndr::{CStruct, Format, RecordView};
use banyan_tree::reduce::{Filter, FilterError, Output, Part, Place, Recovery, Reduction, ReductionLimits};

fn format() -> Format {
    CStruct::new("R", 8, 8).int("x", 0, 8).build().unwrap()
}

fn reduction() -> Reduction {
    Reduction::new("sum(x), max(x)".parse().unwrap(), ReductionLimits::default())
}

fn wave(reduction: &mut Reduction, values: &[(u32, i64)], place: Place, out: &mut Output) -> Result<(), FilterError> {
    let format = format();
    let sent: Vec<(RankSet, [u8; 8])> =
        values.iter().map(|(rank, value)| (RankSet::from_iter([*rank]), value.to_ne_bytes())).collect();
    let part = |(members, body): &'_ (RankSet, [u8; 8])| -> (RankSet, Vec<u8>) { (members.clone(), body.to_vec()) };
    let owned: Vec<(RankSet, Vec<u8>)> = sent.iter().map(part).collect();
    let parts: Vec<Part<'_>> =
        owned.iter().map(|(members, body)| Part { members, format: &format, body, is_partial: false }).collect();
    reduction.wave(&parts, place, out)
}

#[test]
fn parts_may_arrive_in_any_order() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    wave(&mut reduction, &[(9, 4), (2, 7), (5, 7)], Place::Root, &mut out).unwrap();
    let [(format, body)] = out.records() else { panic!("one result") };
    let result = RecordView::new(format, body).unwrap();
    assert_eq!(result.value::<i64>("sum(x)").unwrap(), 18);
    assert_eq!(result.value::<u32>("\"max(x).who\"").unwrap(), 2);
    assert_eq!(reduction.recovery(), Recovery::Recomputed);
}

#[test]
fn a_wave_with_an_error_leaves_nothing_behind() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    assert!(wave(&mut reduction, &[(1, 4), (1, 7)], Place::Root, &mut out).is_err());
    assert!(out.records().is_empty());
    wave(&mut reduction, &[(1, 5)], Place::Root, &mut out).unwrap();
    let (format, body) = &out.records()[0];
    assert_eq!(RecordView::new(format, body).unwrap().value::<i64>("sum(x)").unwrap(), 5);
}

#[test]
fn a_wave_without_parts_has_no_records() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    wave(&mut reduction, &[], Place::Inner, &mut out).unwrap();
    assert!(out.records().is_empty());
}

#[test]
fn output_uses_its_memory_again() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    wave(&mut reduction, &[(1, 5)], Place::Inner, &mut out).unwrap();
    let memory = out.records()[0].1.as_ptr();
    out.clear();
    wave(&mut reduction, &[(1, 6)], Place::Inner, &mut out).unwrap();
    assert_eq!(out.records()[0].1.as_ptr(), memory);
    assert_eq!(out.take().count(), 1);
    assert!(out.records().is_empty());
}
