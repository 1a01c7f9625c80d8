//! Random questions about random events, spread over hosts and trees: the rows are those of the model, to the bit.

use banyan_ndr::{Buffer, Format, Value};
use banyan_query::{
    Event, HostLimits, HostSide, Process, Query, QueryKind, RootLimits, RootSide, Row, RowBatch, Selector, evaluate,
};
use banyan_ranks::RankSet;
use banyan_reduce::{Part, Reduction, ReductionLimits};
use proptest::prelude::*;

use crate::generate::{Made, Version, events, question};
use crate::model::{PROCESSES, Wanted, answer};

const HOSTS: u32 = 3;

fn processes() -> Vec<Process<'static>> {
    PROCESSES.iter().map(|&(host, rank, pid)| Process { host, job: None, rank, pid }).collect()
}

fn event<'e>(made: &'e Made, process: &'e Process<'e>) -> Event<'e> {
    let (sequence, time) = (made.happened.sequence, made.happened.time);
    Event { process, thread: 1, sequence, time, body: &made.body }
}

/// Nodes that reduce what hosts send: of an interval, partial results.
fn reduced(query: &Query, parts: Vec<(u32, Format, Buffer)>, is_deep: bool) -> Vec<(RankSet, Format, Buffer)> {
    let own = |(rank, format, body)| (RankSet::from_iter([rank]), format, body);
    let mut parts: Vec<(RankSet, Format, Buffer)> = parts.into_iter().map(own).collect();
    let QueryKind::Windows(windows) = query.kind() else { return parts };
    if is_deep && parts.len() > 1 {
        let rest = parts.split_off(1);
        let mut node = Reduction::new(windows.specification.clone(), ReductionLimits::default());
        let mut members = RankSet::new();
        for (of, format, body) in &rest {
            node.add(&Part { members: of, format, body, is_partial: true }).unwrap();
            members = members.union(of);
        }
        let mut body = Buffer::new();
        let format = node.partial(&mut body).unwrap().clone();
        parts.push((members, format, body));
    }
    parts
}

/// The rows that hosts and the root make; the processes live on these hosts.
fn spread(
    query: &Query,
    selectors: &[Selector],
    all: &[Made],
    hosts: [u32; 4],
    closings: &[i64],
    is_deep: bool,
) -> Vec<Row> {
    let processes = processes();
    let mut sides: Vec<HostSide> = (0..HOSTS).map(|rank| HostSide::new(query, rank, HostLimits::default())).collect();
    let mut root = RootSide::new(query, 0, RootLimits::default());
    (0..HOSTS).for_each(|host| root.join(host));
    let mut rows = Vec::new();
    let mut given = 0;
    for until in closings.iter().copied().chain([i64::MAX]) {
        while let Some(made) = all.get(given).filter(|made| made.happened.time < until) {
            let process = made.happened.process;
            sides[hosts[process] as usize].event(&selectors[made.version], &event(made, &processes[process]));
            given += 1;
        }
        let mut pieces: std::collections::BTreeMap<i64, Vec<(u32, Format, Buffer)>> = Default::default();
        let mut over = i64::MAX;
        for (rank, side) in (0..).zip(&mut sides) {
            let closed = side.close(until);
            over = over.min(closed.until_interval);
            for piece in closed.pieces {
                pieces.entry(piece.interval).or_default().push((rank, piece.format, piece.body));
            }
            if let Some(batch) = closed.rows {
                root.rows(rank, RowBatch::format(), &batch.body).unwrap();
            }
        }
        for (interval, parts) in pieces {
            for (members, format, body) in reduced(query, parts, is_deep) {
                root.partial(interval, &members, &format, &body).unwrap();
            }
        }
        root.close(over).unwrap();
        rows.extend(std::iter::from_fn(|| root.next_row()));
    }
    let total: u64 = sides.iter().map(|side| side.counts().total()).sum();
    assert_eq!(total, all.len() as u64, "every event is counted once");
    let selected: u64 = sides.iter().map(|side| side.counts().selected).sum();
    let counts: Vec<_> = sides.iter().map(HostSide::counts).collect();
    assert_eq!(selected, root.counts().events, "{counts:?}");
    assert!(
        counts.iter().all(|counts| counts.failed + counts.late + counts.early + counts.overflowed == 0),
        "{counts:?}"
    );
    rows
}

/// Equal to the bit; all NaN are one.
fn same(found: &Value, wanted: &Value) -> bool {
    match (found, wanted) {
        (Value::F64(found), Value::F64(wanted)) => {
            found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan()
        }
        (Value::List(found), Value::List(wanted)) => {
            found.len() == wanted.len() && found.iter().zip(wanted).all(|(found, wanted)| same(found, wanted))
        }
        (Value::Record(found), Value::Record(wanted)) => {
            let fields = || found.iter().zip(wanted);
            found.len() == wanted.len() && fields().all(|(one, other)| one.0 == other.0 && same(&one.1, &other.1))
        }
        _ => found == wanted,
    }
}

fn as_wanted(rows: &[Row], is_windowed: bool) -> Vec<(Option<i64>, Vec<Value>)> {
    rows.iter().map(|row| (row.end.filter(|_| is_windowed), row.values.clone())).collect()
}

fn selectors(query: &Query, versions: &[Version]) -> Vec<Selector> {
    let selector =
        |version: &Version| Selector::new(query, "step", &version.format).unwrap_or_else(|error| panic!("{error}"));
    versions.iter().map(selector).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 400 }))]

    #[test]
    fn rows_are_those_of_the_model_however_events_are_spread(
        (versions, all) in events(),
        question in question(),
        hosts in [0..HOSTS, 0..HOSTS, 0..HOSTS, 0..HOSTS],
        mut closings in prop::collection::vec(0_i64..64, 0..5),
        is_deep: bool,
    ) {
        let text = question.to_string();
        let query: Query = text.parse().unwrap_or_else(|error| panic!("{error}"));
        prop_assert_eq!(&query.to_string().parse::<Query>().unwrap(), &query);
        let selectors = selectors(&query, &versions);
        let happened: Vec<_> = all.iter().map(|made| made.happened.clone()).collect();
        let wanted: Vec<(Option<i64>, Vec<Wanted>)> = answer(&question, &happened);

        let processes = processes();
        let given = all.iter().map(|made| (&selectors[made.version], event(made, &processes[made.happened.process])));
        let at_once = as_wanted(&evaluate(&query, given).unwrap(), true);
        prop_assert_eq!(at_once.len(), wanted.len(), "{}: {:?} {:?}", text, at_once, wanted);
        for ((end, values), (wanted_end, wanted)) in at_once.iter().zip(&wanted) {
            prop_assert_eq!(end, wanted_end, "{}", text);
            for (value, wanted) in values.iter().zip(wanted) {
                let is_right = wanted.as_ref().is_none_or(|wanted| same(value, wanted));
                prop_assert!(is_right, "{}: found {:?}, wanted {:?}", text, value, wanted);
            }
        }

        closings.sort_unstable();
        let spread = as_wanted(&spread(&query, &selectors, &all, hosts, &closings, is_deep), true);
        prop_assert_eq!(spread.len(), at_once.len(), "{}", text);
        for ((end, values), (wanted_end, wanted)) in spread.iter().zip(&at_once) {
            prop_assert_eq!(end, wanted_end, "{}", text);
            prop_assert!(values.iter().zip(wanted).all(|(value, wanted)| same(value, wanted)), "{}: {:?} {:?}", text, values, wanted);
        }
    }
}
