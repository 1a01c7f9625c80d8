//! Fields that some members do not send.

use banyan_ndr::{DynRecord, Limits, Record, Value, typed};
use banyan_ranks::RankSet;
use banyan_reduce::{Filter, FilterError, FilterRole, Output, Part, Reduction, ReductionLimits};

use crate::tree::{Sent, field};

#[derive(Record)]
struct New {
    host: String,
    temp: i32,
    loads: Vec<f64>,
}

/// A record of an older program.
#[derive(Record)]
struct Old {
    host: String,
}

/// A record of one that knows of no hosts.
#[derive(Record)]
struct Homeless {
    temp: i32,
}

const FUNCTIONS: &str =
    "sum(temp), max(temp), avg(loads), union(temp), first(temp), count(temp), count(), distinct(temp)";

fn sent<T: Record>(rank: u32, record: &T) -> Sent {
    let mut body = banyan_ndr::Buffer::new();
    let mut bytes = Vec::new();
    typed::encode_body_into(record, &mut bytes).unwrap();
    body.extend_from_slice(&bytes);
    Sent { members: RankSet::from_iter([rank]), format: T::format().clone(), body, is_partial: false }
}

fn new(rank: u32) -> Sent {
    sent(rank, &New { host: "a".into(), temp: rank as i32, loads: vec![1.0, f64::from(rank)] })
}

fn old(rank: u32) -> Sent {
    sent(rank, &Old { host: "a".into() })
}

fn reduction(text: &str) -> Reduction {
    Reduction::new(text.parse().unwrap(), ReductionLimits::default())
}

/// What a node makes of parts.
fn made(filter: &mut Reduction, parts: &[Sent], place: FilterRole) -> Result<Sent, FilterError> {
    let mut output = Output::new();
    let given: Vec<Part<'_>> = parts.iter().map(Sent::part).collect();
    filter.wave(&given, place, &mut output)?;
    let (format, body) = output.take().next().unwrap();
    let members = parts.iter().fold(RankSet::new(), |all, part| all.union(&part.members));
    Ok(Sent { members, format, body, is_partial: true })
}

/// What the front-end makes of what agents make of these.
fn result(text: &str, agents: Vec<Vec<Sent>>) -> Result<Value, FilterError> {
    let parts = agents.iter().map(|parts| made(&mut reduction(text), parts, FilterRole::Inner));
    let parts = parts.collect::<Result<Vec<Sent>, _>>()?;
    let whole = made(&mut reduction(text), &parts, FilterRole::Root)?;
    Ok(DynRecord::from_body(&whole.format, &whole.body, &Limits::default()).unwrap().root)
}

#[test]
fn members_that_lack_a_field_are_left_out_wherever_they_are() {
    // At an agent of their own, or beside others, before or behind them.
    let shapes: [fn() -> Vec<Vec<Sent>>; 3] = [
        || vec![vec![old(0), old(1)], vec![new(2), new(3)], vec![old(4)]],
        || vec![vec![old(0), new(2), old(4)], vec![old(1), new(3)]],
        || vec![vec![new(2)], vec![new(3), old(4)], vec![old(5), old(6)]],
    ];
    for shape in shapes {
        let records = shape().iter().map(Vec::len).sum::<usize>() as i128;
        let result = result(FUNCTIONS, shape()).unwrap();
        for (name, value) in [
            ("sum(temp)", Value::Int(5)),
            ("max(temp)", Value::Int(3)),
            ("max(temp).who", Value::Int(3)),
            ("avg(loads)", Value::List(vec![Value::F64(1.0), Value::F64(2.5)])),
            ("union(temp)", Value::List(vec![Value::Int(2), Value::Int(3)])),
            ("first(temp)", Value::Int(2)),
            ("count(temp)", Value::Int(2)),
            ("count()", Value::Int(records)),
            ("distinct(temp)", Value::Int(2)),
        ] {
            assert_eq!(field(&result, name), &value, "{name}");
        }
    }
}

#[test]
fn members_that_lack_a_key_belong_to_no_group() {
    let agents = vec![vec![sent(0, &Homeless { temp: 9 })], vec![new(1), sent(2, &Homeless { temp: 9 })], vec![old(3)]];
    let result = result("sum(temp), count() by host", agents).unwrap();
    assert_eq!(field(&result, "ungrouped"), &Value::Int(2));
    let Value::List(groups) = field(&result, "groups") else { panic!("{result:?}") };
    assert_eq!(groups.len(), 1);
    assert_eq!(field(&groups[0], "sum(temp)"), &Value::Int(1));
    assert_eq!(field(&groups[0], "count()"), &Value::Int(2));
}

#[test]
fn a_wave_of_those_who_lack_a_field_has_a_result_if_others_had_it_before() {
    let (mut agent, mut root) = (reduction("max(temp)"), reduction("max(temp)"));
    for (wave, expected) in [(vec![new(0), old(1)], Value::Int(0)), (vec![old(1)], Value::Null)] {
        let part = made(&mut agent, &wave, FilterRole::Inner).unwrap();
        let whole = made(&mut root, &[part], FilterRole::Root).unwrap();
        let record = DynRecord::from_body(&whole.format, &whole.body, &Limits::default()).unwrap();
        assert_eq!(field(&record.root, "max(temp)"), &expected);
    }
}

#[test]
fn a_field_that_no_member_has_is_an_error_that_says_what_they_have() {
    let error = result("max(tmp)", vec![vec![new(0)], vec![new(1)]]).unwrap_err().to_string();
    let expected = "members 0-1: max(tmp): no member has sent the field: New has no field tmp; it has host, temp, loads; \
                    check its name";
    assert_eq!(error, expected);
    let error = result("count() by rack", vec![vec![new(0)]]).unwrap_err().to_string();
    assert_eq!(error, "members 0: by rack: no member has sent the field; check its name");
}

#[test]
fn a_strict_reduction_refuses_records_that_lack_a_field() {
    assert_eq!(
        "strict max(temp) by host".parse::<banyan_reduce::Specification>().unwrap().to_string(),
        "strict max(temp) by host"
    );
    let error = result("strict max(temp)", vec![vec![new(0), old(1)]]).unwrap_err().to_string();
    assert!(
        error.starts_with("members 1: max(temp): records of Old cannot be reduced so: Old has no field temp"),
        "{error}"
    );
}
