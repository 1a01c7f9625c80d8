//! Members whose processes are stopped, and members that only take long.

use std::time::Duration;

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_tree::{Network, Report};
use rustix::process::{Pid, Signal, kill_process};

use crate::attached::attach;
use crate::setup::{SUMS, deadline, expect_wave, network, options, order, take_wave, this_program};
use crate::unanswered::members;

/// Waits until the network has told this of so many members.
fn told(network: &Network, count: u64, of: impl Fn(Report) -> Option<RankSet>) -> RankSet {
    let mut found = RankSet::new();
    while found.len() < count {
        let report = network.next_event(deadline()).expect("it is told");
        found = of(report).map_or(found.clone(), |members| found.union(&members));
    }
    found
}

fn lost(report: Report) -> Option<RankSet> {
    if let Report::Lost(members) = report { Some(members) } else { None }
}

fn joined(report: Report) -> Option<RankSet> {
    if let Report::Joined(members) = report { Some(members) } else { None }
}

pub(crate) fn waves_of_64_members_go_on_without_one_that_is_stopped_until_it_goes_on() {
    let network = network("4x16", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), 64);
    told(&network, 64, joined);
    let stopped = members()[0];
    kill_process(stopped, Signal::STOP).unwrap();
    order(&stream, 1, 500, 0);
    let without: Vec<RankSet> = (1..501).map(|number| expect_wave(&stream, number).members().clone()).collect();
    let lost = told(&network, 1, lost);
    assert!(without.iter().all(|members| members.len() == 63 && members.is_disjoint(&lost)), "without {lost}");
    kill_process(stopped, Signal::CONT).unwrap();
    assert_eq!(told(&network, 1, joined), lost);
    // In the wave after the next record that it is sent, at the latest.
    for number in 501.. {
        order(&stream, number, 1, 0);
        if take_wave(&stream, number).0.members().len() == 64 {
            break;
        }
    }
}

pub(crate) fn a_member_that_attached_and_is_stopped_is_not_waited_for() {
    let mut options = options("1x2");
    options.node.stopped = Some(Duration::from_millis(500));
    let network = Network::launch(&ProcessDistribution::attached(), &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let [(mut staying, _), (mut stopped, rank)] = [(); 2].map(|()| attach(&network));
    order(&stream, 0, 1, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), 2);
    let process = Pid::from_child(&stopped);
    kill_process(process, Signal::STOP).unwrap();
    order(&stream, 1, 1, 0);
    assert!(!expect_wave(&stream, 1).members().contains(rank));
    kill_process(process, Signal::CONT).unwrap();
    assert_eq!(told(&network, 1, joined), RankSet::from_iter([rank]));
    drop((stream, network));
    assert!(staying.wait().unwrap().success() && stopped.wait().unwrap().success());
}

pub(crate) fn a_member_that_takes_long_is_waited_for() {
    let mut options = options("1x6");
    options.node.stopped = Some(Duration::from_millis(80));
    let back_ends = ProcessDistribution::new(this_program(), ["member", "slow"]);
    let network = Network::launch(&back_ends, &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 3, 0);
    (0..3).for_each(|number| assert_eq!(expect_wave(&stream, number).members().len(), 6));
}

pub(crate) fn streams_are_opened_and_closed_beside_a_member_that_is_stopped() {
    let mut options = options("1x2");
    options.node.stopped = Some(Duration::from_millis(500));
    options.node.ahead_packets = 64;
    let back_ends = ProcessDistribution::new(this_program(), ["member", "serve"]);
    let network = Network::launch(&back_ends, &options).unwrap();
    let stopped = members()[0];
    kill_process(stopped, Signal::STOP).unwrap();
    // Nothing is sent, so there is no wave that waits.
    (0..500).for_each(|_| drop(network.open(&network.everyone(), SUMS).unwrap()));
    let lost = told(&network, 1, lost);
    kill_process(stopped, Signal::CONT).unwrap();
    told(&network, 1, |report| joined(report).filter(|members| *members == lost));
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), 2);
}
