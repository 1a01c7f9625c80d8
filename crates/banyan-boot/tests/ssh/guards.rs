//! Hosts whose agents are killed or cut off, in sessions with an extension.

use banyan_boot::{ProblemKind, Session};
use rustix::process::{Pid, Signal, kill_process};

use crate::cluster::{assert_clean, each, name, network, on};
use crate::harness::processes::{MARKER, marked, status, words};
use crate::network::Network;
use crate::setup::{members, wait_for_problem};

/// Two members on each of three hosts, one below the other; the process ids of the members, by rank.
fn chain(network: &Network) -> (Session, Vec<Pid>) {
    let options = on(&name()).fanout(1).extension(network.note());
    let distribution = each(members(&["asked"]), &["h1", "h2", "h3"], 2);
    let session = Session::launch(&[distribution], &options).unwrap();
    let lines = network.lines("here ", 6);
    // Hosts have no process namespaces of their own.
    let process = |line: &String| Pid::from_raw(line.rsplit(' ').next().unwrap().parse().unwrap()).unwrap();
    (session, lines.iter().map(process).collect())
}

fn all_print(network: &Network) {
    for _ in 0..2 {
        network.ask("print");
        let printed: Vec<String> = (0..6).map(|rank| format!("printed {rank}")).collect();
        assert_eq!(network.lines("printed ", 6), printed);
    }
}

pub(crate) fn members_of_a_killed_agent_on_a_host_live_on_until_it_is_over() {
    let network = network(&name());
    let (session, members) = chain(&network);
    let (_, worker) = status(members[2]).unwrap();
    kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
    assert_eq!(network.lines("guard ", 1), ["guard 2"]);
    let problem = wait_for_problem(&session);
    assert_eq!((problem.kind, &*problem.host, &*problem.members), (ProblemKind::AgentLost, "h2", "2-5"));
    all_print(&network);
    drop(network);
    assert_clean(&name());
    session.kill().unwrap();
}

pub(crate) fn a_host_whose_ssh_is_killed_goes_on_until_it_is_over() {
    let network = network(&name());
    let (session, _members) = chain(&network);
    let mut all = marked(&std::env::var(MARKER).unwrap()).into_iter();
    let ssh = all.find(|pid| words(*pid).contains(&"h1".to_owned())).expect("an ssh to h1");
    kill_process(ssh, Signal::KILL).unwrap();
    let problem = wait_for_problem(&session);
    assert_eq!((problem.kind, &*problem.host, &*problem.members), (ProblemKind::AgentLost, "h1", "0-5"));
    all_print(&network);
    session.kill().unwrap();
    drop(network);
    assert_clean(&name());
}
