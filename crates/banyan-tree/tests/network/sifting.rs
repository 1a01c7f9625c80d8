//! Filters of streams without waves, which make none, one or several records of each.

use std::collections::BTreeMap;
use std::time::Duration;

use banyan_tree::{Network, PASS, RecordCounters, Report, Stream, StreamOptions, Where};
use rustix::process::{Signal, kill_process};

use crate::known_filters::copies;
use crate::relatives::{agents, wait_until};
use crate::setup::{Value, deadline, network, order, value};

/// All that comes of so many records of each of so many members: by rank, in order, the numbers of records and of copies.
fn expected(members: u32, records: u64) -> BTreeMap<u32, Vec<(u64, i64, u32)>> {
    let of_record = |rank, record| {
        let value = value(rank, record);
        (0..copies(value)).map(move |copy| (record, value, copy))
    };
    (0..members).map(|rank| (rank, (0..records).flat_map(|record| of_record(rank, record)).collect())).collect()
}

fn take(stream: &Stream, come: &mut BTreeMap<u32, Vec<(u64, i64, u32)>>, count: usize) {
    for _ in 0..count {
        let wave = stream.recv_timeout(deadline()).unwrap();
        let Value { value, ones } = wave.read().unwrap();
        come.entry(wave.members().only().unwrap()).or_default().push((wave.number(), value, ones));
    }
}

/// Every record was delivered or filtered, sooner or later: those of which nothing was made come behind the last that came.
fn assert_conserved(stream: &Stream, members: u32, records: u64) {
    let sent = u64::from(members) * records;
    let nothing = (0..members).flat_map(|rank| (0..records).map(move |record| copies(value(rank, record))));
    let filtered = nothing.filter(|copies| *copies == 0).count() as u64;
    let counters = || -> RecordCounters {
        assert!(stream.try_recv().unwrap().is_none(), "something came twice");
        stream.counters().records
    };
    let end = deadline().unwrap();
    wait_until("all records have come", end, || (counters().filtered == filtered).then_some(()));
    let RecordCounters { seen, delivered, filtered: counted, without_room, .. } = counters();
    assert_eq!((seen, delivered, counted, without_room), (sent, sent - filtered, filtered, 0));
}

pub(crate) fn filters_without_waves_make_none_or_several_records_of_each() {
    // At every node; at agents alone; at the front-end alone; and at members.
    let choices = [
        StreamOptions::filter("copies", ""),
        StreamOptions::default().up_at(Where::Agents, "copies", ""),
        StreamOptions::filter("copies", "").up_at(Where::Agents, PASS, ""),
        StreamOptions::default().up_at(Where::Members, "copies", ""),
    ];
    let network = network("2x3", "serve");
    for (options, kind) in
        choices.into_iter().flat_map(|options| ["none", "none lossy"].map(|kind| (options.clone(), kind)))
    {
        let stream = network.open(&network.everyone(), options.synchronised(kind.parse().unwrap())).unwrap();
        order(&stream, 0, 100, 0);
        let (expected, mut come) = (expected(6, 100), BTreeMap::new());
        take(&stream, &mut come, expected.values().map(Vec::len).sum());
        assert_eq!(come, expected, "{kind}");
        assert_conserved(&stream, 6, 100);
    }
}

pub(crate) fn records_that_filters_made_come_once_and_in_order_when_agents_die() {
    let network: Network = network("2x2x2", "serve");
    let options = StreamOptions::filter("copies", "").synchronised("none".parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    order(&stream, 0, 400, 2);
    let (expected, mut come) = (expected(8, 400), BTreeMap::new());
    let all: usize = expected.values().map(Vec::len).sum();
    take(&stream, &mut come, all / 8);
    let (_, first) = agents()[0];
    kill_process(first, Signal::KILL).unwrap();
    take(&stream, &mut come, all / 8);
    let (_, second) = agents()[0];
    kill_process(second, Signal::KILL).unwrap();
    take(&stream, &mut come, all - 2 * (all / 8));
    assert_eq!(come, expected);
    assert_conserved(&stream, 8, 400);
}

pub(crate) fn a_record_that_a_filter_fails_in_goes_on_unfiltered_and_is_told() {
    let network = network("2x2", "serve");
    let options = StreamOptions::filter("copies", "moody").synchronised("none".parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    order(&stream, 0, 100, 0);
    let (expected, mut come) = (expected(4, 100), BTreeMap::new());
    take(&stream, &mut come, expected.values().map(Vec::len).sum());
    assert_eq!(come, expected, "the front-end made of those what agents could not");
    assert_conserved(&stream, 4, 100);
    let until = Some(std::time::Instant::now() + Duration::from_secs(10));
    let told = std::iter::from_fn(|| network.recv_event_timeout(until).ok()).find_map(|report| match report {
        Report::Uncombined { cause, .. } => Some(cause),
        _ => None,
    });
    assert!(told.is_some_and(|cause| cause.ends_with("is awkward")));
}
