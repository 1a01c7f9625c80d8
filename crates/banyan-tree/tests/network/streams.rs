//! What streams give when nothing goes wrong.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_ndr::{DynRecord, Limits, Record};
use banyan_tree::reduce::Collected;
use banyan_tree::{Network, Report, Stream, StreamOptions, TreeError};

use rustix::process::{Pid, Signal, kill_process};

use crate::relatives::agents;
use crate::setup::{
    ECHO, Order, PATIENCE, SEND, SUMS, Sums, Text, assert_settled, compute, deadline, expect_wave, network, options,
    order, this_program, value,
};
use crate::unanswered::members;

#[derive(Record, Debug, PartialEq)]
struct Largest {
    #[record(rename = "max(value)")]
    value: i64,
    #[record(rename = "max(value).who")]
    who: u32,
}

pub(crate) fn the_maximum_of_all_members_comes_with_whose_it_is() {
    let network = network("2x4", "serve");
    let stream = network.open(&network.everyone(), "max(value)").unwrap();
    order(&stream, 0, 1, 0);
    let wave = stream.recv_timeout(deadline()).unwrap();
    assert_eq!(wave.read::<Largest>().unwrap(), Largest { value: value(7, 0), who: 7 });
    assert_eq!(wave.members().to_string(), "0-7");
}

pub(crate) fn a_tree_of_three_levels_gives_what_a_flat_one_gives() {
    for topology in ["2x2x2", "flat:8", "knomial:2:8"] {
        let network = network(topology, "serve");
        let stream = network.open(&network.everyone(), SUMS).unwrap();
        order(&stream, 0, 5, 0);
        for number in 0..5 {
            assert_eq!(expect_wave(&stream, number).members().len(), 8, "{topology}");
        }
    }
}

pub(crate) fn ten_thousand_waves_come_in_order_and_are_the_sums_of_their_members() {
    let network = network("4x4", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 10_000, 0);
    for number in 0..10_000 {
        assert_eq!(expect_wave(&stream, number).members().len(), 16);
    }
}

pub(crate) fn streams_have_their_own_members_and_order() {
    let network = network("2x4", "serve");
    let few: RankSet = [1, 2, 6].into_iter().collect();
    let some = network.open(&few.into(), SUMS).unwrap();
    let all = network.open(&network.everyone(), SUMS).unwrap();
    let half = network.open(&network.those(|rank, _| rank < 4), SUMS).unwrap();
    order(&all, 0, 100, 0);
    order(&some, 0, 50, 0);
    order(&half, 0, 20, 0);
    for number in 0..50 {
        assert_eq!(expect_wave(&some, number).members().to_string(), "1-2,6");
    }
    for number in 0..20 {
        assert_eq!(expect_wave(&half, number).members().to_string(), "0-3");
    }
    for number in 0..100 {
        assert_eq!(expect_wave(&all, number).members().to_string(), "0-7");
    }
    drop(some);
    order(&all, 100, 1, 0);
    expect_wave(&all, 100);
}

pub(crate) fn what_members_send_on_a_stream_that_was_closed_is_dropped_and_counted() {
    let network = network("2x2", "withdrawn");
    let everyone = network.everyone();
    let [asked, other] = [SUMS; 2].map(|sums| network.open(&everyone, sums).unwrap());
    order(&asked, 0, 1, other.id().0);
    let sums = || other.recv_timeout(deadline()).unwrap().read::<Sums>().unwrap();
    assert_eq!(sums(), Sums { value: 0, ones: 4 });
    drop(asked);
    assert_eq!(sums(), Sums { value: 2 * 4, ones: 4 });
}

/// Short ones go through memory that agents share with members, longer ones and those that find no room by sockets.
pub(crate) fn records_of_all_lengths_keep_their_order() {
    let network = network("2x3", "serve");
    let stream = network.open(&network.everyone(), StreamOptions::filter("trace", "up")).unwrap();
    let text = |number: usize| format!("{number}{}", "-".repeat([1, 700, 3, 300, 40_000, 2, 1100][number % 7]));
    let (mut sent, mut received) = (0, 0);
    while received < 400 {
        while sent < 400 && sent < received + 30 {
            stream.send(ECHO, &Text { text: text(sent) }).unwrap();
            sent += 1;
        }
        let came = stream.recv_timeout(deadline()).unwrap().read::<Text>().unwrap().text;
        let one = |rank: u32| format!("{rank}:{}", text(received));
        let three = |first: u32| format!("up({},{},{})", one(first), one(first + 1), one(first + 2));
        assert!(came == format!("up({},{})", three(0), three(3)), "wave {received}: {came:.80}");
        received += 1;
    }
}

pub(crate) fn a_word_to_one_member_is_heard_while_the_others_sleep() {
    let network = network("1x8", "serve");
    let all = network.open(&network.everyone(), SUMS).unwrap();
    order(&all, 0, 3, 0);
    (0..3).for_each(|number| drop(expect_wave(&all, number)));
    for rank in [7, 0, 3] {
        // The agent waits for eight members on the one stream, and for one on the other.
        let one = network.open(&RankSet::from_iter([rank]).into(), SUMS).unwrap();
        order(&one, 0, 5, 0);
        for number in 0..5 {
            assert_eq!(expect_wave(&one, number).members().to_string(), rank.to_string());
        }
    }
    order(&all, 3, 1, 0);
    expect_wave(&all, 3);
}

pub(crate) fn a_member_that_writes_nonsense_to_shared_memory_harms_nobody_else() {
    let network = network("1x4", "scribble");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    for first in (0..300).step_by(30) {
        order(&stream, first, 30, 0);
        for number in first..first + 30 {
            // It loses its link, and may come back by another.
            let members = expect_wave(&stream, number).members().clone();
            assert!([0, 1, 3].iter().all(|rank| members.contains(*rank)), "wave {number}: {members}");
        }
    }
    let reports: Vec<Report> = std::iter::from_fn(|| network.try_recv_event().ok().flatten()).collect();
    let is_noticed = |report: &Report| matches!(report, Report::Lost(_) | Report::Adrift(_) | Report::Moved { .. });
    assert!(reports.iter().any(is_noticed), "nobody noticed: {reports:?}");
}

/// The memory that members of this test map and can write, of each: inode and name.
fn writable_memory() -> Vec<BTreeMap<String, String>> {
    let memory = |pid: Pid| {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", pid.as_raw_pid())).unwrap();
        let shared = maps.lines().filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [_, access, _, _, inode, name, ..] = words[..] else { return None };
            (access.starts_with("rw-s") && name.contains("banyan-")).then(|| (inode.to_owned(), name.to_owned()))
        });
        shared.collect()
    };
    members().into_iter().map(memory).collect()
}

pub(crate) fn no_member_can_write_where_another_ones_records_are() {
    let network = network("1x4", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 3, 0);
    (0..3).for_each(|number| drop(expect_wave(&stream, number)));
    let memory = writable_memory();
    assert_eq!(memory.len(), 4);
    for (at, one) in memory.iter().enumerate() {
        assert!(one.values().any(|name| name.contains("banyan-place")), "records of {at} go by memory: {one:?}");
        let others = memory.iter().enumerate().filter(|(other, _)| *other != at);
        let common = others.flat_map(|(_, other)| one.iter().filter(|(inode, _)| other.contains_key(*inode)));
        let carrying: Vec<_> = common.filter(|(_, name)| !name.contains("banyan-signals")).collect();
        assert!(carrying.is_empty(), "{at} and others can write to {carrying:?}");
    }
}

pub(crate) fn a_member_that_spoils_what_all_announce_themselves_by_changes_no_wave_and_silences_nobody() {
    let network = network("1x4", "meddle");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    for number in 0..12 {
        order(&stream, number, 1, 0);
        assert_eq!(expect_wave(&stream, number).members().len(), 4);
    }
    assert_settled(&network);
}

#[derive(Record)]
struct ArraySum {
    #[record(rename = "sum(values)")]
    values: Vec<f64>,
}

pub(crate) fn the_next_wave_of_any_stream_says_of_which_it_is() {
    let network = network("2x2", "serve");
    assert!(network.try_recv_any().unwrap().is_none());
    let streams: Vec<Stream> = (0..3).map(|_| network.open(&network.everyone(), SUMS).unwrap()).collect();
    streams.iter().for_each(|stream| order(stream, 0, 50, 0));
    let mut next = BTreeMap::new();
    for _ in 0..150 {
        let wave = network.recv_any_timeout(deadline()).unwrap();
        let number: &mut u64 = next.entry(wave.stream()).or_default();
        assert_eq!(wave.number(), *number, "waves of a stream keep their order");
        let expected: i64 = (0..4).map(|rank| value(rank, *number)).sum();
        assert_eq!(wave.read::<Sums>().unwrap(), Sums { value: expected, ones: 4 });
        *number += 1;
    }
    assert!(streams.iter().all(|stream| next[&stream.id()] == 50), "{next:?}");
    let nothing = network.recv_any_timeout(Duration::from_millis(1));
    assert!(matches!(nothing, Err(TreeError::TimedOut)), "{nothing:?}");
}

pub(crate) fn records_without_compiled_types_are_sent_and_read_at_both_ends() {
    let network = network("2x1", "dynamic");
    let stream = network.open(&network.everyone(), StreamOptions::collect()).unwrap();
    let mut record = DynRecord::new(Text::format());
    record.set("text", "from outside").unwrap();
    let body = record.to_body().unwrap();
    let hostile = vec![0xff; body.len()];
    let refused = stream.send_body(ECHO, Text::format(), &hostile);
    assert!(matches!(refused, Err(TreeError::Body(_))), "{refused:?}");
    stream.send_dyn(ECHO, &record).unwrap();
    stream.send_body(ECHO, Text::format(), &body).unwrap();
    for _ in 0..2 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        assert_eq!(&wave.read_dyn().unwrap().format, wave.format().as_ref().unwrap());
        let all = Collected::read(&wave.format().unwrap(), wave.body(), &Limits::default()).unwrap();
        assert_eq!(all.len(), 2);
        for Collected { format, body, .. } in &all {
            assert_eq!(DynRecord::from_body(format, body, &Limits::default()).unwrap(), record);
        }
    }
}

pub(crate) fn arrays_of_a_megabyte_are_summed_element_by_element() {
    let network = network("2x3", "array");
    let stream = network.open(&network.everyone(), "sum(values)").unwrap();
    order(&stream, 0, 4, 0);
    (0..4).for_each(|wave| expect_array(&stream, wave, 6));
}

/// The next wave is the sum of the arrays that so many members send as this one.
pub(crate) fn expect_array(stream: &Stream, wave: u64, members: u32) {
    let received = stream.recv_timeout(deadline()).unwrap();
    assert_eq!((received.number(), received.members().len()), (wave, u64::from(members)));
    let sum: ArraySum = received.read().unwrap();
    assert_eq!(sum.values.len(), 131_072);
    let members = f64::from(members);
    let same = members * (members - 1.0) / 2.0 + members * wave as f64;
    assert!((0u32..).zip(&sum.values).all(|(at, sum)| *sum == f64::from(at % 1000) * members + same));
}

pub(crate) fn members_that_send_other_formats_are_reduced_alike() {
    let network = network("2x3", "mixed");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 3, 0);
    for number in 0..3 {
        expect_wave(&stream, number);
    }
}

#[derive(Record, Debug, PartialEq)]
struct Counted {
    #[record(rename = "sum(value)")]
    sum: i64,
    #[record(rename = "count(value)")]
    with_value: u64,
    #[record(rename = "count()")]
    all: u64,
}

pub(crate) fn members_that_lack_a_field_are_in_the_waves_of_others() {
    // All members of the first agent lack it, and one of the second.
    let network = network("2x2", "lacking");
    let stream = network.open(&network.everyone(), "sum(value), count(value), count()").unwrap();
    let strict = network.open(&network.everyone(), "strict sum(value), sum(ones)").unwrap();
    order(&stream, 0, 2, 0);
    order(&strict, 0, 1, 0);
    for number in 0..2 {
        let wave = stream.recv_timeout(deadline()).unwrap();
        assert_eq!(wave.members().len(), 4);
        assert_eq!(wave.read::<Counted>().unwrap(), Counted { sum: value(3, number), with_value: 1, all: 4 });
    }
    let error = strict.recv_timeout(deadline()).unwrap_err().to_string();
    assert!(
        error.contains("members 0: sum(value): records of Ones cannot be reduced so: Ones has no field value"),
        "{error}"
    );
    let nobody = network.open(&network.everyone(), "sum(valu)").unwrap();
    order(&nobody, 0, 1, 0);
    let error = nobody.recv_timeout(deadline()).unwrap_err().to_string();
    assert!(
        error.contains("sum(valu): no member has sent the field: ") && error.contains("has no field valu"),
        "{error}"
    );
}

/// What was told so far of fields that records lack.
fn told_of_fields(network: &Network) -> Vec<Report> {
    let told = std::iter::from_fn(|| network.try_recv_event().ok().flatten());
    told.filter(|report| matches!(report, Report::FieldsMissing { .. })).collect()
}

pub(crate) fn fields_that_members_lack_are_told_once_also_when_agents_die() {
    // All members of the first of four agents lack it, and one of the second.
    let network = network("2x2x2", "lacking");
    let stream = network.open(&network.everyone(), "sum(value), count(), max(value)").unwrap();
    let full = network.open(&network.everyone(), "sum(ones)").unwrap();
    order(&full, 0, 1, 0);
    full.recv_timeout(deadline()).unwrap();
    assert_eq!(told_of_fields(&network), []);
    order(&stream, 0, 2, 0);
    stream.recv_timeout(deadline()).unwrap();
    let told = told_of_fields(&network);
    let [Report::FieldsMissing { stream: of, fields, members }] = &told[..] else { panic!("{told:?}") };
    assert_eq!(
        (*of, &fields[..], members),
        (stream.id(), &["value of sum(value), max(value)".into()][..], &"0-2".parse().unwrap())
    );
    let text = format!("{}: records of members 0-2 lack the field value of sum(value), max(value)", stream.id());
    assert_eq!(told[0].to_string(), text);
    stream.recv_timeout(deadline()).unwrap();
    for first in [2, 3] {
        let (_, agent) = agents()[0];
        kill_process(agent, Signal::KILL).unwrap();
        order(&stream, first, 1, 0);
        assert_eq!(stream.recv_timeout(deadline()).unwrap().members().len(), 8);
    }
    assert_eq!(told_of_fields(&network), [], "the new agents see it as well");
    // Of another stream it is told again, for all fields at once.
    let other = network.open(&network.everyone(), "max(value), count() by value").unwrap();
    order(&other, 0, 1, 0);
    other.recv_timeout(deadline()).unwrap();
    let told = told_of_fields(&network);
    let [Report::FieldsMissing { fields, members, .. }] = &told[..] else { panic!("{told:?}") };
    assert_eq!((fields.len(), members), (2, &"0-2".parse().unwrap()), "{fields:?}");
}

pub(crate) fn members_that_agents_start_learn_nothing_but_by_their_sockets() {
    let network = network("1x2", "suspicious");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), 2);
}

pub(crate) fn a_member_that_never_joins_is_named() {
    let begin = Instant::now();
    let mut options = options("1x2");
    options.join_deadline = Duration::from_millis(300);
    let program = ProcessDistribution::new(this_program(), ["member", "never"]);
    let error = Network::launch(&program, &options).unwrap_err();
    assert!(matches!(&error, TreeError::NotJoined { missing, .. } if missing.to_string() == "0-1"), "{error}");
    assert!(begin.elapsed() < Duration::from_secs(20));
}

pub(crate) fn a_member_that_ends_before_it_joins_is_named_at_once_with_its_last_words() {
    // Nobody waits for so long.
    let options = options("1x2").join_deadline(PATIENCE * 100);
    let error =
        Network::launch(&ProcessDistribution::new(this_program(), ["member", "end-early"]), &options).unwrap_err();
    assert!(matches!(&error, TreeError::EndedEarly { words, .. } if words == "and the last"), "{error}");
    assert!(error.to_string().contains("exited with status 7 before it joined"), "{error}");
}

pub(crate) fn a_slow_front_end_slows_members_and_loses_nothing() {
    let silence = Duration::from_secs(2);
    let program = ProcessDistribution::new(this_program(), ["member", "serve"]);
    let network = Network::launch(&program, &options("2x8").silence(silence)).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    // Far more than anyone may be ahead.
    order(&stream, 0, 30_000, 0);
    expect_wave(&stream, 0);
    compute(silence * 3 / 2);
    for number in 1..30_000 {
        expect_wave(&stream, number);
    }
    // What agents said meanwhile was in the sockets.
    assert_settled(&network);
}

pub(crate) fn several_threads_wait_at_once() {
    let network = network("2x2", "serve");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let stream = network.open(&network.everyone(), SUMS).unwrap();
                for number in 0..200 {
                    order(&stream, number, 1, 0);
                    let sums: Sums = expect_wave(&stream, number).read().unwrap();
                    assert_eq!(sums.ones, 4);
                }
            });
        }
    });
}

pub(crate) fn every_member_gets_its_own_part_of_a_scatter() {
    let network = network("2x2x2", "serve");
    let few: RankSet = [1, 2, 6].into_iter().collect();
    for stream in [network.open(&network.everyone(), "max(value)"), network.open(&few.into(), "max(value)")] {
        let stream = stream.unwrap();
        // Each member sends one wave, of the number that it was told.
        let orders: Vec<Order> =
            stream.members().iter().map(|rank| Order { first: u64::from(rank) * 1000, waves: 1, pause: 0 }).collect();
        stream.scatter(SEND, &orders).unwrap();
        let largest: Largest = stream.recv_timeout(deadline()).unwrap().read().unwrap();
        let last = stream.members().last().unwrap();
        assert_eq!(largest, Largest { value: value(last, u64::from(last) * 1000), who: last });
        let error = stream.scatter(SEND, &orders[1..]).unwrap_err().to_string();
        assert!(error.contains("give one for each"), "{error}");
    }
}

pub(crate) fn every_node_says_what_it_has_done_and_where_it_is() {
    let network = network("2x2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 100, 0);
    (0..100).for_each(|number| drop(expect_wave(&stream, number)));
    let figures = network.figures(deadline().unwrap()).unwrap();
    let places = network.nodes();
    assert_eq!((figures.len(), places.len()), (1 + 6 + 8, 6 + 8));
    for place in &places {
        let of = figures[&place.node];
        assert_eq!(of.waves_up, 100, "{place:?} {of:?}");
        assert_eq!(of.children, places.iter().filter(|other| other.parent == place.node).count() as u64);
        assert_eq!(of.filter_nanoseconds > 0, place.rank.is_none(), "{of:?}");
        assert!(of.links.bytes_sent > of.bytes_up && of.links.frames_received > 0, "{of:?}");
    }
    let ranks: Vec<u32> = places.iter().filter_map(|place| place.rank).collect();
    assert_eq!(ranks, (0..8).collect::<Vec<_>>());
}

pub(crate) fn members_that_join_late_are_members_of_their_agent() {
    let network = network("2x2", "late");
    let agents: Vec<u32> = network.nodes().iter().filter(|place| place.rank.is_some()).map(|at| at.parent.0).collect();
    assert_eq!(agents, [1, 1, 2, 2]);
}
