//! Hosts that cannot be reached for some time, and hosts that never come back.

use std::time::{Duration, Instant};

use banyan_boot::RankSet;
use banyan_tree::{Network, NodeOptions, Report, Stream};

use crate::hosts::{ADRIFT, Cut, HOSTS, MEMBERS, assert_clean, assert_nobody, network, network_of};
use crate::setup::{PATIENCE, SUMS, compute, deadline, expect_wave, order, take_wave};

/// Longer than an agent may be silent, and not so long that it is given up.
const MOMENT: Duration = Duration::from_secs(3);

/// Members send a wave every so many milliseconds.
const PAUSE: u32 = 5;

/// The host whose cable is cut, and its members.
const HOST: &str = HOSTS[2];
const THERE: &str = "4-5";

/// Waits for a report about members.
fn wait_for(network: &Network, wanted: impl Fn(&Report) -> Option<&RankSet>) -> RankSet {
    loop {
        let report = network.recv_event_timeout(deadline()).expect("it is told");
        if let Some(members) = wanted(&report) {
            return members.clone();
        }
    }
}

fn lost(report: &Report) -> Option<&RankSet> {
    if let Report::Lost(members) = report { Some(members) } else { None }
}

fn joined(report: &Report) -> Option<&RankSet> {
    if let Report::Joined(members) = report { Some(members) } else { None }
}

/// Takes waves until some members are in them, or are not; the number of the next wave, and how far those in the last one were
/// behind.
fn until(stream: &Stream, from: u64, is: impl Fn(&RankSet) -> bool) -> (u64, i64) {
    let end = Instant::now() + PATIENCE;
    let mut number = from;
    loop {
        assert!(Instant::now() < end, "wave {number} is not as expected");
        let (wave, behind) = take_wave(stream, number);
        number += 1;
        if is(wave.members()) {
            return (number, behind);
        }
    }
}

pub(crate) fn a_host_that_is_cut_off_for_a_moment_is_in_every_wave() {
    waves_around_a_cut(network("serve"), MEMBERS, PAUSE);
}

pub(crate) fn a_host_of_256_members_that_is_cut_off_during_pipelined_waves_is_in_every_one() {
    waves_around_a_cut(network_of(64, "serve"), 256, 0);
}

fn waves_around_a_cut(network: Network, members: u64, pause: u32) {
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let waves = 2_000;
    order(&stream, 0, waves, pause);
    let mut cut = None;
    for number in 0..waves {
        if number == 100 {
            let host = Cut::off(HOST);
            cut = Some(std::thread::spawn(move || {
                compute(MOMENT);
                drop(host);
            }));
        }
        assert_eq!(expect_wave(&stream, number).members().len(), members, "wave {number}");
    }
    cut.unwrap().join().unwrap();
    drop((stream, network));
    assert_clean();
}

pub(crate) fn a_host_that_is_cut_off_for_long_is_given_up_and_comes_back() {
    let network = network("serve");
    let all: RankSet = network.members();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    // So slowly that the window of those who are cut off is far from full when they are given up.
    order(&stream, 0, 100_000, 2 * PAUSE);
    for number in 0..50 {
        expect_wave(&stream, number);
    }
    let cut = Cut::off(HOST);
    let begin = Instant::now();
    let (without, behind) = until(&stream, 50, |members| members.len() < MEMBERS);
    assert_eq!(behind, 0, "nobody was away so far");
    assert!(begin.elapsed() >= ADRIFT, "given up after {:?}", begin.elapsed());
    assert_eq!(wait_for(&network, lost).to_string(), THERE);
    for number in without..without + 50 {
        assert_eq!(expect_wave(&stream, number).members().to_string(), "0-3,6-7");
    }
    drop(cut);
    let (with, behind) = until(&stream, without + 50, |members| *members == all);
    assert!(with < NodeOptions::default().window_waves, "members that only send hear of it all the same");
    let mut back = RankSet::new();
    while back.to_string() != THERE {
        // Together or one by one, and after those who joined first.
        back = back.union(&wait_for(&network, |report| joined(report).filter(|members| **members != all)));
    }
    for number in with..with + 50 {
        let (wave, still_behind) = take_wave(&stream, number);
        assert_eq!(wave.members().len(), MEMBERS);
        assert_eq!(still_behind, behind, "from then on nobody misses a wave");
    }
    drop((stream, network));
    assert_clean();
}

pub(crate) fn a_host_that_never_comes_back_ends_what_it_has() {
    let network = network("serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 10, 0);
    for number in 0..10 {
        expect_wave(&stream, number);
    }
    let cut = Cut::off(HOST);
    assert_eq!(wait_for(&network, lost).to_string(), THERE);
    drop((stream, network));
    // The host cannot be told of the end, and finds nobody it could ask.
    assert_nobody(HOST, 3 * ADRIFT);
    drop(cut);
    assert_clean();
}
