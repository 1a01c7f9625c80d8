//! Members whose processes are stopped, and members that only take long.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_tree::{Network, Report};
use rustix::process::{Pid, Signal, kill_process};

use crate::attached::attach;
use crate::relatives::wait_until;
use crate::setup::{
    PATIENCE, SUMS, deadline, expect_wave, is_only_tcp, network, options, order, take_wave, this_program,
};
use crate::unanswered::members;

/// Waits until the network has told this of so many members.
fn told(network: &Network, count: u64, of: impl Fn(Report) -> Option<RankSet>) -> RankSet {
    let mut found = RankSet::new();
    while found.len() < count {
        let report = network.recv_event_timeout(deadline()).expect("it is told");
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
    if is_only_tcp() {
        // It is as on another host: nobody can look at its process.
        return;
    }
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

pub(crate) fn a_member_that_was_stopped_knows_by_the_number_which_wave_its_records_are_of() {
    let mut options = options("1x2");
    options.node.stopped = Some(Duration::from_millis(500));
    let back_ends = ProcessDistribution::new(this_program(), ["member", "numbered"]);
    let network = Network::launch(&back_ends, &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 20_000, 1);
    assert_eq!(expect_wave(&stream, 0).members().len(), 2);
    let stopped = members()[0];
    kill_process(stopped, Signal::STOP).unwrap();
    let mut numbers = 1..20_000;
    numbers.find(|number| expect_wave(&stream, *number).members().len() == 1).expect("waves go on without it");
    kill_process(stopped, Signal::CONT).unwrap();
    numbers.find(|number| take_wave(&stream, *number).0.members().len() == 2).expect("it is in waves again");
    // What it had made before it knew of that is in the first of them, or in none.
    let behind: Vec<i64> = numbers.by_ref().take(100).map(|number| take_wave(&stream, number).1).collect();
    let mut returns = 0;
    while let Ok(Some(report)) = network.try_recv_event() {
        returns += usize::from(joined(report).is_some());
    }
    assert!(behind.iter().filter(|behind| **behind != 0).count() <= returns, "{behind:?} after {returns} returns");
}

#[expect(clippy::print_stdout, reason = "whoever runs the tests wants to know what was left out")]
pub(crate) fn a_member_whose_control_group_is_frozen_is_not_waited_for_until_it_goes_on() {
    let Some(group) = ControlGroup::make() else {
        return println!("skipped, since no control group of version 2 can be made:");
    };
    let mut options = options("1x2");
    options.node.stopped = Some(Duration::from_millis(500));
    let back_ends = ProcessDistribution::new(this_program(), ["member", "serve"]);
    let network = Network::launch(&back_ends, &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    told(&network, 2, joined);
    group.write("cgroup.procs", &members()[0].as_raw_pid().to_string());
    group.write("cgroup.freeze", "1");
    wait_until("the group is frozen", Instant::now() + PATIENCE, || group.is_frozen().then_some(()));
    order(&stream, 0, 1, 0);
    let without = expect_wave(&stream, 0).members().clone();
    let lost = told(&network, 1, lost);
    assert!(without.len() == 1 && without.is_disjoint(&lost), "{without} without {lost}");
    group.write("cgroup.freeze", "0");
    assert_eq!(told(&network, 1, joined), lost);
    // In the wave after the next record that it is sent, at the latest.
    let is_whole = |number| {
        order(&stream, number, 1, 0);
        take_wave(&stream, number).0.members().len() == 2
    };
    assert!((1..100).any(is_whole), "it is in no wave");
}

/// A control group of version 2, which is removed when those who were in it have ended.
struct ControlGroup(PathBuf);

impl ControlGroup {
    fn make() -> Option<ControlGroup> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
        let mount = mounts.lines().find(|mount| mount.contains(" - cgroup2 "))?;
        let path = Path::new(mount.split(' ').nth(4)?).join(format!("banyan-test-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        let group = ControlGroup(path);
        group.0.join("cgroup.freeze").exists().then_some(group)
    }

    fn is_frozen(&self) -> bool {
        std::fs::read_to_string(self.0.join("cgroup.events")).unwrap().contains("frozen 1")
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.0.join(file), text).unwrap();
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        let give_up = Instant::now() + PATIENCE;
        while std::fs::remove_dir(&self.0).is_err() && Instant::now() < give_up {
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }
}
