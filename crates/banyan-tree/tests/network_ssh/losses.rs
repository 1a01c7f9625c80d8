//! Networks over hosts, with all agents there and with one killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use banyan_boot::ProcessDistribution;
use banyan_ndr::Record;
use banyan_tree::Network;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::processes::{all, status, words};
use crate::hosts::{
    HOSTS, MEMBERS, assert_clean, assert_nobody, launch, launch_with, members_of, network, ssh, worker,
};
use crate::setup::{SUMS, assert_settled, compute, deadline, expect_wave, order, this_program};

pub(crate) fn members_on_four_hosts_give_the_right_sums() {
    let network = network("serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 2_000, 0);
    for number in 0..2_000 {
        assert_eq!(expect_wave(&stream, number).members().len(), MEMBERS);
    }
    let some = network.open(&network.on_host(HOSTS[2]), SUMS).unwrap();
    order(&some, 0, 1, 0);
    assert_eq!(expect_wave(&some, 0).members().to_string(), "4-5");
    drop((stream, some, network));
    assert_clean();
}

#[derive(Record)]
struct ArraySum {
    #[record(rename = "sum(values)")]
    values: Vec<f64>,
}

pub(crate) fn a_front_end_that_computes_for_long_loses_nobody() {
    let network = network("array");
    array_waves(&network);
    drop(network);
    assert_clean();
}

/// Takes waves of large records, and computes for long meanwhile.
pub(crate) fn array_waves(network: &Network) {
    let stream = network.open(&network.everyone(), "sum(values)").unwrap();
    let waves = 20;
    // Arrays of a megabyte: more than there is room for on the way.
    order(&stream, 0, waves, 0);
    for number in 0..waves {
        let wave = stream.recv_timeout(deadline()).unwrap();
        assert_eq!((wave.number(), wave.members().len()), (number, MEMBERS));
        assert_eq!(wave.read::<ArraySum>().unwrap().values[999], (999.0 + number as f64) * 8.0 + 28.0);
        if number == 0 {
            // Five times as long as silence may last.
            compute(Duration::from_secs(5));
        }
    }
    assert_settled(network);
}

pub(crate) fn members_attach_from_hosts_without_an_agent() {
    let network = launch(&ProcessDistribution::attached().on(HOSTS[0], 2));
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let (variable, ticket) = network.ticket().unwrap().to_env();
    // The host of the agent, and one that has none.
    let mut members: Vec<Child> = Vec::new();
    for host in &HOSTS[..2] {
        let command = format!("exec env {variable}=fd:0 {} member serve", this_program().display());
        let mut member = ssh(host).arg(command).stdin(Stdio::piped()).spawn().unwrap();
        member.stdin.take().unwrap().write_all(ticket.expose()).unwrap();
        members.push(member);
    }
    while network.members().len() < 2 {
        network.recv_event_timeout(deadline()).expect("both join");
    }
    order(&stream, 0, 100, 0);
    for number in 0..100 {
        assert_eq!(expect_wave(&stream, number).members().len(), 2);
    }
    drop((stream, network));
    for mut member in members {
        assert!(member.wait().unwrap().success());
    }
    assert_clean();
}

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(1_000);

/// What a busy machine may need, and far less than `NEVER`.
const SPARE: Duration = Duration::from_secs(30);

/// A front-end that waits to be killed.
pub(crate) fn front_end() -> ExitCode {
    let _network = launch_with(&members_of(1, "serve"), NEVER);
    let _ = writeln!(std::io::stdout(), "up");
    compute(NEVER);
    ExitCode::SUCCESS
}

pub(crate) fn a_killed_front_end_leaves_nothing_on_any_host_whatever_its_patience() {
    let mut front_end = Command::new(this_program()).arg("front-end").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(front_end.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "up\n");
    front_end.kill().unwrap();
    front_end.wait().unwrap();
    HOSTS.iter().for_each(|host| assert_nobody(host, SPARE));
    assert_clean();
}

pub(crate) fn a_killed_ssh_or_keeper_costs_no_member() {
    let network = launch_with(&members_of(2, "serve"), NEVER);
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    // The parent of the worker; with it ends what its sshd was started for.
    kill_process(Pid::from_raw(status(worker(HOSTS[0])).unwrap().1).unwrap(), Signal::KILL).unwrap();
    let is_ssh = |pid: &Pid| status(*pid).is_some_and(|(_, parent)| parent == std::process::id() as i32);
    let ssh = all().find(|pid| is_ssh(pid) && words(*pid).iter().any(|word| word == HOSTS[1])).expect("an ssh");
    kill_process(ssh, Signal::KILL).unwrap();
    order(&stream, 1, 2_000, 1);
    for number in 1..2_001 {
        assert_eq!(expect_wave(&stream, number).members().len(), MEMBERS, "wave {number}");
    }
    drop((stream, network));
    assert_clean();
}

pub(crate) fn an_agent_killed_on_a_host_during_pipelined_waves_loses_none() {
    let network = network("serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 3_000, 0);
    for number in 0..3_000 {
        if number == 500 {
            kill_process(worker(HOSTS[1]), Signal::KILL).unwrap();
        }
        assert_eq!(expect_wave(&stream, number).members().len(), MEMBERS, "wave {number}");
    }
    // Its members live on below agents of other hosts.
    order(&stream, 3_000, 10, 0);
    for number in 3_000..3_010 {
        assert_eq!(expect_wave(&stream, number).members().len(), MEMBERS, "wave {number}");
    }
    drop((stream, network));
    assert_clean();
}
