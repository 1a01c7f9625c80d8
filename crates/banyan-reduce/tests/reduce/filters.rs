//! The filter interface: order of arrival, errors, memory that is used again.

use banyan_ndr::{CStruct, Format, RecordView};
use banyan_ranks::RankSet;
use banyan_reduce::{
    Filter, FilterError, FilterRole, Filters, Output, Part, REDUCE, Recovery, Reduction, ReductionLimits,
};

fn format() -> Format {
    CStruct::new("R", 8, 8).int("x", 0, 8).build().unwrap()
}

fn reduction() -> Reduction {
    Reduction::new("sum(x), max(x)".parse().unwrap(), ReductionLimits::default())
}

fn wave(
    reduction: &mut Reduction,
    values: &[(u32, i64)],
    place: FilterRole,
    out: &mut Output,
) -> Result<(), FilterError> {
    let format = format();
    let sent: Vec<(RankSet, [u8; 8])> =
        values.iter().map(|(rank, value)| (RankSet::from_iter([*rank]), value.to_ne_bytes())).collect();
    let parts: Vec<Part<'_>> =
        sent.iter().map(|(members, body)| Part { members, format: &format, body, is_partial: false }).collect();
    reduction.wave(&parts, place, out)
}

#[test]
fn parts_may_arrive_in_any_order() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    wave(&mut reduction, &[(9, 4), (2, 7), (5, 7)], FilterRole::Root, &mut out).unwrap();
    let [(format, body)] = out.records() else { panic!("one result") };
    let result = RecordView::new(format, body).unwrap();
    assert_eq!(result.value::<i64>("sum(x)").unwrap(), 18);
    assert_eq!(result.value::<u32>("\"max(x).who\"").unwrap(), 2);
    assert_eq!(reduction.recovery(), Recovery::Recomputed);
}

#[test]
fn a_wave_with_an_error_leaves_nothing_behind() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    assert!(wave(&mut reduction, &[(1, 4), (1, 7)], FilterRole::Root, &mut out).is_err());
    assert!(out.records().is_empty());
    wave(&mut reduction, &[(1, 5)], FilterRole::Root, &mut out).unwrap();
    let (format, body) = &out.records()[0];
    assert_eq!(RecordView::new(format, body).unwrap().value::<i64>("sum(x)").unwrap(), 5);
}

#[test]
fn a_wave_that_is_not_as_it_should_be_is_an_error_wherever_its_fault_is() {
    let (format, other) = (format(), CStruct::new("R", 4, 4).int("x", 0, 4).build().unwrap());
    let (one, two) = (RankSet::from_iter([1]), RankSet::from_iter([2]));
    let good = Part { members: &one, format: &format, body: &[0; 8], is_partial: false };
    let (mut reduction, mut out) = (reduction(), Output::new());
    let both = RankSet::from_iter([2, 3]);
    let bad = [
        Part { members: &two, body: &[0; 7], ..good },
        Part { members: &two, body: &[0; 9], ..good },
        Part { members: &both, ..good },
        Part { members: &one, ..good },
        Part { members: &two, is_partial: true, ..good },
        Part { members: &two, format: &other, ..good },
    ];
    for place in [FilterRole::Inner, FilterRole::Root] {
        for bad in &bad {
            reduction.wave(&[good, *bad], place, &mut out).unwrap_err();
            assert!(out.records().is_empty());
        }
        let also_good = Part { members: &two, format: &other, body: &[0; 4], ..good };
        reduction.wave(&[good, also_good], place, &mut out).unwrap();
        assert_eq!(out.records().len(), 1);
        out.clear();
    }
}

#[test]
fn a_wave_without_parts_has_no_records() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    wave(&mut reduction, &[], FilterRole::Inner, &mut out).unwrap();
    assert!(out.records().is_empty());
}

/// Counts waves, whatever they are.
struct Waves(u64);

impl Filter for Waves {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        self.0 += parts.len().min(1) as u64;
        out.push(&format(), &self.0.to_ne_bytes());
        Ok(())
    }

    fn recovery(&self) -> Recovery {
        Recovery::Lost
    }
}

#[test]
fn filters_of_a_name_have_states_of_their_own() {
    let mut filters = Filters::new(ReductionLimits::default());
    filters.register("waves", |parameters| match parameters {
        [start] => Ok(Box::new(Waves(u64::from(*start)))),
        _ => Err(FilterError::Parameters { name: "waves".into(), reason: "one byte, where to begin".into() }),
    });
    let mut made = [filters.make("waves", &[5]).unwrap(), filters.make("waves", &[0]).unwrap()];
    let (members, format, mut out) = (RankSet::from_iter([0]), format(), Output::new());
    let part = Part { members: &members, format: &format, body: &[0; 8], is_partial: false };
    for filter in [0, 0, 1] {
        made[filter].wave(&[part], FilterRole::Inner, &mut out).unwrap();
    }
    let counts: Vec<u64> =
        out.take().map(|(_, body)| u64::from_ne_bytes(body[..].try_into().expect("eight bytes"))).collect();
    assert_eq!(counts, [6, 7, 1]);
    let error = filters.make("waves", &[]).err().expect("no parameters").to_string();
    assert_eq!(error, "filter waves: one byte, where to begin");
    let error = filters.make(REDUCE, b"mean(x)").err().expect("no such function").to_string();
    assert!(error.starts_with("filter reduce: column 1: there is no function mean"), "{error}");
}

#[test]
fn output_uses_its_memory_again() {
    let (mut reduction, mut out) = (reduction(), Output::new());
    wave(&mut reduction, &[(1, 5)], FilterRole::Inner, &mut out).unwrap();
    let memory = out.records()[0].1.as_ptr();
    out.clear();
    wave(&mut reduction, &[(1, 6)], FilterRole::Inner, &mut out).unwrap();
    assert_eq!(out.records()[0].1.as_ptr(), memory);
    assert_eq!(out.take().count(), 1);
    assert!(out.records().is_empty());
}
