//! How nodes know each other's clocks, and the front-end's; some run in namespaces where other times are shown.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use banyan_boot::{Launcher, ProcessDistribution};
use banyan_tree::{ClockEdge, Estimate, Network, Stream, StreamOptions, Synchronisation};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::processes::environment;
use crate::relatives::agents;
use crate::setup::{ECHO, PATIENCE, Text, deadline, is_only_tcp, options, this_program};

const SECOND: i64 = 1_000_000_000;

/// Starts the agents of two hosts here, each with a clock that is ahead of this machine's.
const STARTER: &str = "#!/bin/sh
SLURMD_NODENAME=early unshare --time --monotonic 3600 \"$@\" &
SLURMD_NODENAME=earlier unshare --time --monotonic 5400 \"$@\" &
wait
";

/// How far the clock of each host is ahead.
fn ahead(host: &str) -> i64 {
    match host {
        "early" => 3_600 * SECOND,
        "earlier" => 5_400 * SECOND,
        _ => 0,
    }
}

/// How far the clock of a node is ahead.
fn ahead_at(edge: &ClockEdge) -> i64 {
    if edge.rank.is_some_and(|rank| rank >= 2) { 1_000 * SECOND } else { ahead(&edge.host) }
}

/// Whether a node has the clock of the agent that was its first parent.
fn is_same(edge: &ClockEdge) -> bool {
    edge.rank.is_some_and(|rank| rank < 2)
}

/// Members with clocks of their own.
fn shifted() -> ProcessDistribution {
    let words = ["--time", "--monotonic", "1000"].map(str::to_owned);
    let member = [this_program().display().to_string(), "member".into(), "clock".into()];
    ProcessDistribution::new("unshare", words.into_iter().chain(member))
}

/// Whether this process may start others that see other times. Where it may not, nothing can be tried.
fn may_shift_clocks() -> bool {
    let tried = Command::new("unshare").args(["--time", "--monotonic", "1000", "true"]).stderr(Stdio::null()).status();
    let may = tried.is_ok_and(|status| status.success());
    if !may {
        say("no namespaces of times here (needs root, Linux 5.6 and unshare of util-linux 2.36): not tried");
    }
    may
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What each member says comes by itself, as it was sent.
fn one_by_one() -> StreamOptions {
    StreamOptions::default().synchronised(Synchronisation::None)
}

/// Whether an estimate holds what is true.
fn assert_holds(what: &str, known: &Estimate, truth: i64) {
    say(&format!("{what}: {} ± {} ns, truly {truth}", known.offset(), known.bound()));
    assert!((known.low..=known.high).contains(&truth), "{what}: {known:?} does not hold {truth}");
}

/// The table, once every node knows the front-end's clock and this is true of its edge.
fn table(network: &Network, is_ready: impl Fn(&ClockEdge) -> bool) -> Vec<ClockEdge> {
    let until = Instant::now() + PATIENCE;
    loop {
        let edges = network.clocks(until).unwrap();
        if edges.len() == network.nodes().len() && edges.iter().all(|edge| edge.front_end.is_some() && is_ready(edge)) {
            return edges;
        }
        assert!(Instant::now() < until, "{edges:#?}");
    }
}

/// What each member says of the front-end's clock once it knows it: what it is ahead at least and at most.
fn known_by_members(stream: &Stream, members: usize) -> Vec<(i64, i64)> {
    let mut known = Vec::new();
    while known.len() < members {
        known.clear();
        stream.send(ECHO, &Text { text: String::new() }).unwrap();
        for _ in 0..members {
            let said: Text = stream.recv_timeout(deadline()).unwrap().read().unwrap();
            let limits = said.text.split_once(' ').map(|(low, high)| (low.parse().unwrap(), high.parse().unwrap()));
            known.extend(limits);
        }
    }
    known
}

pub(crate) fn nodes_of_one_host_know_that_they_have_one_clock_and_ask_no_more() {
    let network = crate::setup::network("2x2", "clock");
    let edges = table(&network, |edge| edge.is_same);
    assert_eq!(
        edges.iter().map(|edge| edge.rank).collect::<Vec<_>>(),
        [None, None, Some(0), Some(1), Some(2), Some(3)]
    );
    for edge in &edges {
        assert_eq!((edge.offset(), edge.bound(), edge.exchanges, edge.steps), (Some(0), Some(0), 1, 0), "{edge}");
        assert_eq!((edge.host.as_str(), edge.front_end.map(|clock| clock.bound())), ("localhost", Some(0)), "{edge}");
    }
    let again = table(&network, |_| true);
    assert!(again.iter().all(|edge| edge.exchanges == 1), "{again:?}");
    let stream = network.open(&network.everyone(), one_by_one()).unwrap();
    assert_eq!(known_by_members(&stream, 4), [(0, 0); 4]);
}

pub(crate) fn members_with_other_clocks_know_that_of_the_front_end() {
    if !may_shift_clocks() {
        return;
    }
    let network = Network::launch(&shifted(), &options("2x2")).unwrap();
    let edges = table(&network, |edge| edge.exchanges >= 8 || edge.rank.is_none());
    for edge in edges.iter().filter(|edge| edge.rank.is_some()) {
        assert!(!edge.is_same && edge.round_trip.is_some_and(|time| !time.is_zero()), "{edge}");
        assert_holds("the parent's clock", &edge.of_parent.unwrap(), -1_000 * SECOND);
        assert!((edge.offset().unwrap() - 1_000 * SECOND).abs() <= edge.bound().unwrap(), "{edge}");
    }
    let stream = network.open(&network.everyone(), one_by_one()).unwrap();
    for (low, high) in known_by_members(&stream, 4) {
        assert!((low..=high).contains(&(-1_000 * SECOND)), "{low} {high}");
    }
}

pub(crate) fn agents_with_other_clocks_know_each_others_also_when_one_of_them_is_killed() {
    if is_only_tcp() || !may_shift_clocks() {
        // Networks of several hosts are over TCP anyway.
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let starter = directory.path().join("starter");
    fs::write(&starter, STARTER).unwrap();
    fs::set_permissions(&starter, fs::Permissions::from_mode(0o755)).unwrap();
    let mut options = options("2x2");
    options.topology = None;
    options.session.launcher = Launcher::Command { template: format!("{} {{agent}}", starter.display()) };
    // Two members with the clocks of their agents, and two with clocks of their own.
    let same = ProcessDistribution::new(this_program(), ["member", "clock"]);
    let members = [same, shifted()].map(|members| members.on("early", 1).on("earlier", 1));
    let network = Network::launch_several(&members, &options).unwrap();
    let edges = table(&network, |edge| edge.exchanges >= if is_same(edge) { 1 } else { 8 });
    check(&edges);
    assert!(edges.iter().all(|edge| edge.is_same == is_same(edge)), "{edges:#?}");

    let is_early =
        |worker: &Pid| environment(*worker).split(|byte| *byte == 0).any(|at| at == b"SLURMD_NODENAME=early");
    let worker = agents().into_iter().map(|(_, worker)| worker).find(is_early).unwrap();
    kill_process(worker, Signal::KILL).unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        let edges = network.clocks(Instant::now() + Duration::from_secs(1)).unwrap();
        check(&edges);
        let members = edges.iter().filter(|edge| edge.rank.is_some() && edge.parent.0 != 1 && edge.exchanges > 0);
        if members.count() == 4 {
            break;
        }
        assert!(Instant::now() < until, "{edges:#?}");
    }
    let stream = network.open(&network.everyone(), one_by_one()).unwrap();
    assert_eq!(known_by_members(&stream, 4).len(), 4);
}

/// Whatever is known at the moment holds what is true.
fn check(edges: &[ClockEdge]) {
    let host = |node| edges.iter().find(|edge| edge.node == node).map_or("", |edge| &edge.host);
    for edge in edges {
        if let Some(known) = edge.of_parent {
            assert_holds(&format!("{edge}"), &known, ahead(host(edge.parent)) - ahead_at(edge));
        }
        if let Some(known) = edge.front_end {
            assert_holds("the front-end's clock", &known, -ahead_at(edge));
        }
    }
}
