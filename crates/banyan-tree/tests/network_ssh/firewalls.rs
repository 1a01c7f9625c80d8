//! Hosts behind firewalls that let nothing pass but ssh.

use std::time::{Duration, Instant};

use banyan_tree::{Network, Report};
use rustix::process::{Signal, kill_process};

use crate::hosts::{
    ADRIFT, Firewall, HOSTS, MEMBERS, assert_clean, assert_nobody, launch_over, members_of, network, worker,
};
use crate::losses::array_waves;
use crate::setup::{PATIENCE, SUMS, assert_settled, compute, deadline, expect_wave, order, take_wave};

/// Two agents below the front-end, and one below each of them.
fn deep() -> Network {
    launch_over(&members_of(2, "serve"), 2, ADRIFT)
}

fn expect_waves(network: &Network, waves: u64) {
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, waves, 0);
    for number in 0..waves {
        assert_eq!(expect_wave(&stream, number).members().len(), MEMBERS);
    }
    assert_settled(network);
}

pub(crate) fn hosts_that_let_nothing_but_ssh_pass_give_the_right_sums() {
    let _firewall = Firewall::around(&HOSTS);
    let network = network("serve");
    expect_waves(&network, 2_000);
    drop(network);
    assert_clean();
}

pub(crate) fn agents_below_agents_give_the_right_sums_where_nothing_but_ssh_passes() {
    let _firewall = Firewall::around(&HOSTS);
    let network = deep();
    let levels: Vec<u16> = network.session().layout().iter().map(|agent| agent.below as u16).collect();
    assert_eq!(levels, [1, 0, 1, 0], "two levels");
    expect_waves(&network, 2_000);
    drop(network);
    assert_clean();
}

pub(crate) fn a_front_end_that_computes_for_long_loses_nobody_behind_a_firewall() {
    let _firewall = Firewall::around(&HOSTS);
    let network = network("array");
    array_waves(&network);
    drop(network);
    assert_clean();
}

pub(crate) fn a_link_that_breaks_behind_a_firewall_is_replaced_through_ssh() {
    let _firewall = Firewall::around(&HOSTS[..2]);
    let network = network("serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let waves = 2_000;
    order(&stream, 0, waves, 1);
    let stopped = worker(HOSTS[1]);
    kill_process(stopped, Signal::STOP).unwrap();
    let goes_on = std::thread::spawn(move || {
        // For longer than the network lets an agent be silent, and not so long that the session gives it up.
        compute(Duration::from_millis(2_000));
        kill_process(stopped, Signal::CONT).unwrap();
    });
    for number in 0..waves {
        assert_eq!(expect_wave(&stream, number).members().len(), MEMBERS, "wave {number}");
    }
    goes_on.join().unwrap();
    let mut reports = std::iter::from_fn(|| network.try_recv_event().ok().flatten());
    assert!(reports.any(|report| matches!(report, Report::Moved { .. })), "its link was replaced");
    drop((stream, network));
    assert_clean();
}

pub(crate) fn an_agent_killed_behind_a_firewall_costs_what_is_below_it_and_nobody_else() {
    let _firewall = Firewall::around(&HOSTS);
    let network = deep();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 100_000, 5);
    for number in 0..50 {
        expect_wave(&stream, number);
    }
    // The agent of the second host is below it.
    kill_process(worker(HOSTS[0]), Signal::KILL).unwrap();
    let killed = Instant::now();
    let mut number = 50;
    while take_wave(&stream, number).0.members().to_string() != "4-7" {
        assert!(killed.elapsed() < PATIENCE, "wave {number}");
        number += 1;
    }
    let mut lost = banyan_boot::RankSet::new();
    while lost.to_string() != "0-3" {
        if let Report::Lost(members) = network.recv_event_timeout(deadline()).expect("it is told") {
            lost = lost.union(&members);
        }
    }
    for number in number + 1..number + 51 {
        assert_eq!(expect_wave(&stream, number).members().to_string(), "4-7");
    }
    // They find nobody whom they could ask.
    HOSTS[..2].iter().for_each(|host| assert_nobody(host, 3 * ADRIFT + PATIENCE / 4));
    drop((stream, network));
    assert_clean();
}
