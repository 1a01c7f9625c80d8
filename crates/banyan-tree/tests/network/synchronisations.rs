//! Whom waves wait for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use banyan_boot::ProcessDistribution;
use banyan_ndr::{Limits, Record, RecordView};
use banyan_tree::reduce::Collected;
use banyan_tree::{Network, NodeId, RecordCounters, Report, Stream, StreamOptions, Synchronisation};
use rustix::process::{Signal, kill_process};

use crate::relatives::agents;
use crate::setup::{PATIENCE, SUMS, Sums, compute, deadline, network, options, order, this_program, value};

pub(crate) fn a_slow_member_is_missing_in_waves_that_do_not_wait_for_it() {
    let network = network("2x3", "slow");
    let patience = Synchronisation::Timeout(Duration::from_millis(200));
    let stream = network.open(&network.everyone(), StreamOptions::reduce(SUMS).synchronised(patience)).unwrap();
    order(&stream, 0, 3, 0);
    let mut missed = 0;
    for number in 0..3 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        assert_eq!(wave.number(), number);
        let sums: Sums = wave.read().unwrap();
        assert_eq!(sums.ones, wave.members().len(), "the sum is of those who are in it");
        assert_eq!(wave.members().len() + wave.missing().len(), 6);
        missed += u32::from(wave.missing().contains(5));
    }
    assert!(missed > 0, "the slow member was waited for");
}

pub(crate) fn records_that_wait_for_nobody_all_come() {
    let network = network("2x3", "serve");
    let options = StreamOptions::reduce(SUMS).synchronised(Synchronisation::None);
    let stream = network.open(&network.everyone(), options).unwrap();
    order(&stream, 0, 40, 0);
    let mut come: BTreeMap<u32, Vec<i64>> = BTreeMap::new();
    for _ in 0..6 * 40 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        let rank = wave.members().first().unwrap();
        assert_eq!(wave.members().len(), 1);
        come.entry(rank).or_default().push(wave.read::<Sums>().unwrap().value);
    }
    let records = stream.counters().records;
    assert_eq!((records.seen, records.delivered), (240, 240));
    for (rank, values) in come {
        assert_eq!(values, (0..40).map(|number| value(rank, number)).collect::<Vec<_>>(), "member {rank}");
    }
}

pub(crate) fn records_that_are_sent_faster_than_they_are_taken_all_come() {
    let mut options = options("2x4");
    options.node.window_bytes = 64 << 10;
    let program = ProcessDistribution::new(this_program(), ["member", "padded"]);
    let network = Network::launch(&program, &options).unwrap();
    let stream = open_records(&network);
    let records = 1_000;
    order(&stream, 0, records, 0);
    // Members fill their windows meanwhile, which are an eighth of what they have to send.
    compute(Duration::from_millis(300));
    expect_records(&stream, 8, records);
}

pub(crate) fn records_of_an_agent_that_is_killed_all_come_once_and_in_order() {
    let network = network("2x2", "serve");
    let stream = open_records(&network);
    let records = 1_000;
    order(&stream, 0, records, 1);
    let mut first = expect_some(&stream, BTreeMap::new(), 100);
    let (_, agent) = agents()[0];
    kill_process(agent, Signal::KILL).unwrap();
    first = expect_some(&stream, first, 4 * records);
    assert_eq!(first, (0..4).map(|rank| (rank, records)).collect());
}

fn open_records(network: &Network) -> Stream {
    let options = StreamOptions::reduce(SUMS).synchronised(Synchronisation::None);
    network.open(&network.everyone(), options).unwrap()
}

/// So many records of each of so many members come.
fn expect_records(stream: &Stream, members: u32, records: u64) {
    let come = expect_some(stream, BTreeMap::new(), u64::from(members) * records);
    assert_eq!(come, (0..members).map(|rank| (rank, records)).collect());
}

/// Records come, each the next of its member, until there are so many; how many of each there are.
fn expect_some(stream: &Stream, mut come: BTreeMap<u32, u64>, until: u64) -> BTreeMap<u32, u64> {
    while come.values().sum::<u64>() < until {
        let record = stream.recv_timeout(deadline()).unwrap();
        let rank = record.members().only().unwrap();
        let number = come.entry(rank).or_default();
        assert_eq!(record.read::<Sums>().unwrap().value, value(rank, *number), "record {number} of member {rank}");
        *number += 1;
    }
    come
}

#[derive(Record, Debug, PartialEq)]
struct InInterval {
    #[record(rename = "count()")]
    count: u64,
    #[record(rename = "sum(ones)")]
    ones: u64,
}

pub(crate) fn records_are_put_together_by_intervals_of_a_field() {
    let network = network("2x2", "clock");
    let options = StreamOptions::reduce("count(), sum(ones)").synchronised("interval time 10".parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    // Member r sends a record at r, r + 1, …: the first interval has 10 - r of its records.
    order(&stream, 0, 35, 0);
    let expected = [10 + 9 + 8 + 7, 40, 40];
    for (number, count) in (0..).zip(expected) {
        let wave = stream.recv_timeout(deadline()).unwrap();
        assert_eq!(wave.number(), number);
        assert_eq!(wave.read::<InInterval>().unwrap(), InInterval { count, ones: count });
    }
}

pub(crate) fn all_records_of_a_wave_can_be_collected() {
    let network = network("2x3", "serve");
    let stream = network.open(&network.everyone(), StreamOptions::collect()).unwrap();
    order(&stream, 0, 1, 0);
    let wave = stream.recv_timeout(deadline()).unwrap();
    let all = Collected::read(&wave.format().unwrap(), wave.body(), &Limits::default()).unwrap();
    let found: Vec<(u32, i64)> = all
        .iter()
        .map(|one| (one.rank, RecordView::new(&one.format, &one.body).unwrap().value::<i64>("value").unwrap()))
        .collect();
    assert_eq!(found, (0..6).map(|rank| (rank, value(rank, 0))).collect::<Vec<_>>());
}

pub(crate) fn intervals_in_which_a_member_has_nothing_do_not_wait_for_it() {
    let network = network("2x2", "gaps");
    let options = StreamOptions::reduce("count(), sum(ones)").synchronised("interval time 10".parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    // Members send at 0, 50, …, 400, the odd ones only at every other of these times. What they have of the last one is
    // not complete, nor is what the odd ones have before it.
    order(&stream, 0, 9, 0);
    let mut found = Vec::new();
    while found.len() < 7 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        let Ok(InInterval { count, .. }) = wave.read::<InInterval>() else { continue };
        if count > 0 {
            found.push((wave.number(), count));
        }
    }
    let expected: Vec<(u64, u64)> = (0..7).map(|at| (at * 5, if at % 2 == 0 { 4 } else { 2 })).collect();
    assert_eq!(found, expected);
}

pub(crate) fn intervals_that_a_member_passes_over_do_not_wait_for_it() {
    let network = network("2x2", "passes");
    let options = StreamOptions::reduce("count(), sum(ones)").synchronised("interval time 10".parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    // A record at 0, 10, …, 50, of the odd members only at 0. The last interval is not over.
    order(&stream, 0, 6, 0);
    for number in 0..5 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        let count = wave.read::<InInterval>().unwrap().count;
        assert_eq!((wave.number(), count), (number, if number == 0 { 4 } else { 2 }));
    }
}

pub(crate) fn records_that_are_lost_with_an_agent_are_counted_by_every_node() {
    let network = network("2x2", "serve");
    let options = StreamOptions::reduce(SUMS).synchronised(Synchronisation::Lossy);
    let stream = network.open(&network.everyone(), options).unwrap();
    let waves = 1_000;
    order(&stream, 0, waves, 1);
    stream.recv_timeout(deadline()).unwrap();
    let (_, agent) = agents()[0];
    kill_process(agent, Signal::KILL).unwrap();
    // Until members have sent everything and nothing is on its way.
    let (mut taken, end) = (1, Instant::now() + PATIENCE);
    let figures = loop {
        while stream.try_recv().unwrap().is_some() {
            taken += 1;
        }
        assert!(Instant::now() < end, "members have not sent everything");
        let figures = network.figures(Instant::now() + Duration::from_secs(1)).unwrap();
        let sent: u64 = figures.values().map(|figures| figures.records.sent).sum();
        if sent == 4 * waves && figures.len() > network.nodes().len() {
            break figures;
        }
    };
    // What was sent has come before the answers; but for the front-end's own, which is as old as the question.
    taken += std::iter::from_fn(|| stream.try_recv().unwrap()).count() as u64;
    let front_end = stream.counters().records;
    let below = figures.iter().filter(|(node, _)| **node != NodeId::ROOT).map(|(_, figures)| figures.records);
    let lost = |records: RecordCounters| records.without_parent + records.without_room + records.without_stream;
    let (sent, delivered) = (4 * waves, front_end.delivered);
    assert_eq!(delivered, taken);
    assert!((delivered..=sent).contains(&front_end.seen), "{front_end:?}");
    let dropped: u64 = below.chain([front_end]).map(lost).sum();
    let with_the_agent = sent - delivered - dropped;
    assert!(with_the_agent <= sent / 2, "{with_the_agent} of members that were not below it");
}

/// Opens a stream of intervals on which members send at times of day.
fn at_times_of_day(intervals: &str) -> (Network, Stream) {
    let network = network("1x1", "unix");
    let options = StreamOptions::reduce("count(), sum(ones)").synchronised(intervals.parse().unwrap());
    let stream = network.open(&network.everyone(), options).unwrap();
    order(&stream, 0, 25, 0);
    (network, stream)
}

pub(crate) fn times_of_day_have_intervals_from_a_start_on() {
    let (_network, stream) = at_times_of_day("interval time 10 from 1800000000");
    for number in 0..2 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        assert_eq!((wave.number(), wave.read::<InInterval>().unwrap().count), (number, 10));
    }
}

pub(crate) fn a_time_of_day_without_a_start_is_refused_with_the_remedy() {
    let (network, _stream) = at_times_of_day("interval time 1");
    network.flush().unwrap();
    network.session().wait_timeout(deadline()).unwrap();
    let words = network.session().last_words(0).unwrap();
    assert!(words.contains("time is 1800000000, which lies 1800000000 intervals ahead"), "{words}");
    assert!(words.contains("interval time 1 from 1800000000"), "{words}");
}

pub(crate) fn a_member_that_was_late_once_is_in_waves_again_although_it_only_sends() {
    let mut options = options("2x4");
    // Nobody hears by an acknowledgement how far the others are.
    options.node.window_waves = 100_000;
    let network = Network::launch(&ProcessDistribution::new(this_program(), ["member", "naps"]), &options).unwrap();
    let sums = StreamOptions::reduce(SUMS).synchronised("timeout 250ms".parse().unwrap());
    let stream = network.open(&network.everyone(), sums).unwrap();
    order(&stream, 0, 500, 50);
    // The waves in which it is missing and was not before.
    let (mut lapses, mut is_missing) = (Vec::new(), false);
    let back = stream.waves().map(Result::unwrap).take(499).find(|wave| {
        let was_missing = std::mem::replace(&mut is_missing, wave.missing().contains(0));
        lapses.extend((is_missing && !was_missing).then(|| wave.number()));
        !lapses.is_empty() && wave.members().len() == 8
    });
    let back = back.expect("it is in a wave again");
    assert!(stream.late().get(&0).is_some_and(|late| *late > 0), "{:?}", stream.late());
    let reports = std::iter::from_fn(|| network.try_recv_event().ok().flatten());
    let told = reports.filter_map(|report| match report {
        Report::Late { wave, members, .. } if members.contains(0) && wave.0 < back.number() => Some(wave.0),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), lapses, "it is told once for each time that it fell behind");
}
