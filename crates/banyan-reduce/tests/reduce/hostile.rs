//! Records and partial results from somebody who means no good: errors, never panics.

use banyan_ndr::{
    Buffer, ByteOrder, DefId, Definition, DynRecord, EnumerationDef, Field, Format, Plan, PointerWidth, RecordDef, Type,
};
use banyan_ranks::RankSet;
use banyan_reduce::{Part, Reduction, ReductionLimits};
use proptest::prelude::*;

use crate::generate::members;
use crate::member::Member;
use crate::model;
use crate::tree::{Sent, record};

/// All functions.
fn specification(by: &str) -> String {
    format!("{}, quantile(0.5, 0.9, temp), distinct(tags){by}", model::FUNCTIONS)
}

fn reduction(by: &str) -> Reduction {
    Reduction::new(specification(by).parse().unwrap(), ReductionLimits::default())
}

/// An honest partial result.
fn partial(members: &[Member], by: &str) -> (Format, Buffer) {
    let mut reduction = reduction(by);
    for member in members {
        reduction.add(&record(member).part()).unwrap();
    }
    let mut body = Buffer::new();
    let format = reduction.partial(&mut body).unwrap().clone();
    (format, body)
}

fn add(by: &str, format: &Format, body: &[u8], is_partial: bool) -> Result<Vec<u8>, String> {
    let mut reduction = reduction(by);
    // A partial result may name anyone here.
    let members = RankSet::from_iter(if is_partial { 0..10_000 } else { 0..1 });
    reduction.add(&Part { members: &members, format, body, is_partial }).map_err(|error| error.to_string())?;
    let mut out = Buffer::new();
    reduction.result(&mut out);
    Ok(out.to_vec())
}

/// Bytes to change, and where to cut.
type Damage = (Vec<(prop::sample::Index, u8)>, Option<prop::sample::Index>);

fn damage() -> impl Strategy<Value = Damage> {
    (
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        prop::option::of(any::<prop::sample::Index>()),
    )
}

fn damaged(body: &[u8], (bytes, cut): &Damage) -> Buffer {
    let mut body = body.to_vec();
    for (at, byte) in bytes {
        let at = at.index(body.len());
        body[at] = *byte;
    }
    if let Some(cut) = cut {
        body.truncate(cut.index(body.len()));
    }
    Buffer::from_slice(&body)
}

/// What one member's record makes of a reduction.
fn reduce_one(specification: &str, format: &Format, body: &[u8]) -> Result<DynRecord, String> {
    let mut reduction = Reduction::new(specification.parse().unwrap(), ReductionLimits::default());
    let members = RankSet::from_iter([0]);
    let added = reduction.add(&Part { members: &members, format, body, is_partial: false });
    added.map_err(|error| error.to_string())?;
    Ok(reduction.result_record().unwrap())
}

/// A format of one list.
fn list(item: Type, other: Option<Definition>) -> Format {
    let fields = vec![Field::new("v", 0, Type::List { item: Box::new(item) })];
    let root = Definition::Record(RecordDef { name: "r".into(), size: 16, align: 8, fields });
    Format::new(ByteOrder::Little, PointerWidth::Eight, [root].into_iter().chain(other).collect()).unwrap()
}

/// The fixed part of a record of one list, which begins behind it.
fn span(at: u64, count: u64) -> Vec<u8> {
    [(at + 16).to_le_bytes(), count.to_le_bytes()].concat()
}

/// Half a million times the last of 65,536 names: looked up from the first to the last, they would take an agent
/// minutes, in which it passes on no wave.
#[test]
fn a_record_of_the_last_of_many_names_does_not_stop_its_agent() {
    let names = (0..1 << 16).map(|number| (format!("n{number}"), number)).collect();
    let names = EnumerationDef { name: "e".into(), width: 2, signed: false, names };
    let format = list(Type::Enum(DefId(1)), Some(Definition::Enumeration(names)));
    let body = [span(16, 1 << 19), vec![0xff; 1 << 20]].concat();
    for specification in ["distinct(v)", "classes(v)", "union(v)"] {
        reduce_one(specification, &format, &body).unwrap();
    }
}

/// 32,768 lists of 65,536 absent texts, which all lie on each other: two thousand million items, and not one value.
#[test]
fn items_that_lead_to_no_value_are_paid_for() {
    let format = list(Type::List { item: Type::CStr.into() }, None);
    let (lists, texts) = (1 << 15, 1 << 16);
    let inner = span(16 + 16 * lists, texts);
    let body = [span(16, lists), inner.repeat(lists as usize), vec![0; 8 * texts as usize]].concat();
    let error = reduce_one("distinct(v[*])", &format, &body).unwrap_err();
    assert!(error.contains("references overlap"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn damaged_partial_results_are_errors_or_other_results(members in members(), damage in damage(), grouped: bool) {
        let by = if grouped { " by host" } else { "" };
        let (format, body) = partial(&members, by);
        let _ = add(by, &format, &damaged(&body, &damage), true);
    }

    #[test]
    fn damaged_partial_results_of_other_machines_are_errors_or_other_results(members in members(), damage in damage()) {
        let (format, body) = partial(&members, "");
        let foreign = format.relaid(ByteOrder::Big, PointerWidth::Four).unwrap();
        let mut converted = Buffer::new();
        Plan::new(&format, &foreign, &Default::default()).unwrap().convert(&body, &mut converted).unwrap();
        prop_assert_eq!(add("", &foreign, &converted, true).unwrap(), add("", &format, &body, true).unwrap());
        let _ = add("", &foreign, &damaged(&converted, &damage), true);
    }

    #[test]
    fn damaged_records_are_errors_or_other_results(members in members(), damage in damage(), grouped: bool) {
        let by = if grouped { " by host" } else { "" };
        let Sent { format, body, .. } = record(&members[0]);
        let _ = add(by, &format, &damaged(&body, &damage), false);
    }

    #[test]
    fn records_that_say_they_are_partial_results_are_refused(members in members()) {
        let Sent { format, body, .. } = record(&members[0]);
        let error = add("", &format, &body, true).unwrap_err();
        prop_assert!(error.contains("no partial result of this specification"), "{}", error);
    }
}

#[test]
fn partial_results_of_another_specification_are_refused() {
    let (format, body) = {
        let mut reduction = Reduction::new("sum(x)".parse().unwrap(), ReductionLimits::default());
        let format = banyan_ndr::CStruct::new("R", 8, 8).float("x", 0, 8).build().unwrap();
        let members = RankSet::from_iter([3]);
        reduction.add(&Part { members: &members, format: &format, body: &[0; 8], is_partial: false }).unwrap();
        let mut body = Buffer::new();
        (reduction.partial(&mut body).unwrap().clone(), body)
    };
    let mut other = Reduction::new("max(x)".parse().unwrap(), ReductionLimits::default());
    let members = RankSet::from_iter([3, 4]);
    let error = other.add(&Part { members: &members, format: &format, body: &body, is_partial: true }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "members 3-4: max(x): no partial result of this specification: it is not there, or of another type; do all \
         nodes have the same specification?"
    );
}

#[test]
fn lists_that_lie_on_each_other_are_refused() {
    // Two groups whose arrays are the same bytes: a short message that would cost a long time if there were thousands.
    let specification = "concat(x) by k";
    let format = banyan_ndr::CStruct::new("R", 16, 8).uint("k", 0, 8).float("x", 8, 8).build().unwrap();
    let mut reduction = Reduction::new(specification.parse().unwrap(), ReductionLimits::default());
    for rank in 0..2_u32 {
        let mut body = u64::from(rank).to_ne_bytes().to_vec();
        body.extend_from_slice(&1.5_f64.to_ne_bytes());
        let members = RankSet::from_iter([rank]);
        reduction.add(&Part { members: &members, format: &format, body: &body, is_partial: false }).unwrap();
    }
    let mut body = Buffer::new();
    let format = reduction.partial(&mut body).unwrap().clone();
    // The groups' list now has a thousand groups, all of which begin in the body and most of which reach beyond it.
    let count_at = size_of::<usize>();
    body[count_at..2 * count_at].copy_from_slice(&1000_usize.to_ne_bytes());
    let mut reduction = Reduction::new(specification.parse().unwrap(), ReductionLimits::default());
    let members = RankSet::from_iter([0, 1]);
    let error = reduction.add(&Part { members: &members, format: &format, body: &body, is_partial: true }).unwrap_err();
    assert!(error.to_string().contains("a list of 1000 items reaches beyond the body"), "{error}");
}

#[derive(banyan_ndr::Record)]
struct Words {
    words: Vec<String>,
}

#[test]
fn texts_that_lie_on_each_other_are_refused() {
    let words = Words { words: vec!["a long word that everybody uses ".repeat(9), "b".into(), "c".into()] };
    let mut body = Vec::new();
    banyan_ndr::typed::encode_body_into(&words, &mut body).unwrap();
    let span = 2 * size_of::<usize>();
    let add = |body: &[u8]| {
        let mut reduction = Reduction::new("concat(words)".parse().unwrap(), ReductionLimits::default());
        let members = RankSet::from_iter([0]);
        let format = <Words as banyan_ndr::Record>::format();
        reduction.add(&Part { members: &members, format, body, is_partial: false })
    };
    add(&body).unwrap();
    // Behind the fixed part stand the spans of the words: all now lead to the first one.
    let first = body[span..2 * span].to_vec();
    body[2 * span..3 * span].copy_from_slice(&first);
    body[3 * span..4 * span].copy_from_slice(&first);
    let error = add(&body).unwrap_err().to_string();
    assert!(error.starts_with("members 0: concat(words): references overlap"), "{error}");
}
