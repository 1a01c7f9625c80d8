//! Members that are there and do nothing.

use std::time::{Duration, Instant};

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_tree::{Network, NetworkOptions, Report, Stream, TreeError};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::processes::{environment, words};
use crate::relatives::{agents, others, parent};
use crate::setup::{END, Order, PATIENCE, SEND, SUMS, deadline, expect_wave, options, order, take_wave, this_program};

/// So long that a busy machine hardly ever makes a member that is not stopped take longer.
const LIMIT: Duration = Duration::from_secs(8);

pub(crate) fn members() -> Vec<Pid> {
    others().into_iter().filter(|pid| words(*pid).get(1).is_some_and(|word| word == "member")).collect()
}

fn launch(options: &NetworkOptions) -> (Network, Stream) {
    let network = Network::launch(&ProcessDistribution::new(this_program(), ["member", "serve"]), options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    (network, stream)
}

pub(crate) fn stopped_members_are_missing_in_later_waves_where_that_has_a_limit_and_come_back() {
    let mut options = options("2x2");
    options.node.unanswered = Some(LIMIT);
    options.node.stopped = None;
    let (network, stream) = launch(&options);
    // All members of one agent, which has nothing to say of the next wave then.
    let agent = members().into_iter().find_map(parent).unwrap();
    let stopped: Vec<Pid> = members().into_iter().filter(|member| parent(*member) == Some(agent)).collect();
    stopped.iter().for_each(|pid| kill_process(*pid, Signal::STOP).unwrap());
    order(&stream, 1, 5, 0);
    let waves: Vec<RankSet> = (1..6).map(|number| expect_wave(&stream, number).members().clone()).collect();
    let mut lost = RankSet::new();
    while lost.len() < 2 {
        if let Report::Lost(members) = network.recv_event_timeout(deadline()).expect("the loss is told") {
            lost = lost.union(&members);
        }
    }
    assert!(waves.iter().all(|members| members.len() == 2 && members.is_disjoint(&lost)), "{waves:?} without {lost}");
    stopped.iter().for_each(|pid| kill_process(*pid, Signal::CONT).unwrap());
    let mut joined = RankSet::new();
    while joined != lost {
        if let Report::Joined(members) = network.recv_event_timeout(deadline()).expect("they come back") {
            joined = joined.union(&members).intersection(&lost);
        }
    }
    // In the wave after the next record that they are sent, at the latest.
    for number in 6.. {
        order(&stream, number, 1, 0);
        if take_wave(&stream, number).0.members().len() == 4 {
            break;
        }
    }
}

pub(crate) fn a_record_for_a_stopped_member_is_not_waited_for_beyond_the_deadline() {
    let mut options = options("1x2");
    options.node.ahead_packets = 4;
    options.node.stopped = None;
    let (network, stream) = launch(&options);
    let stopped = members()[0];
    kill_process(stopped, Signal::STOP).unwrap();
    let record = Order { first: 1, waves: 1, pause: 0 };
    let send = || stream.send_timeout(SEND, &record, Instant::now() + Duration::from_millis(50));
    let refused = (0..8).find_map(|_| send().err());
    let says_who = "node 1 is too far behind (members 0-1)";
    assert!(refused.as_ref().is_some_and(|error| error.to_string().contains(says_who)), "{refused:?}");
    let scattered = stream.scatter_timeout(SEND, &[record; 2], Instant::now());
    assert!(matches!(scattered, Err(TreeError::Behind { .. })), "{scattered:?}");
    kill_process(stopped, Signal::CONT).unwrap();
    stream.send(END, &record).unwrap();
    network.session().wait_timeout(deadline()).unwrap();
}

pub(crate) fn a_stream_is_not_opened_beyond_the_deadline_while_an_agent_is_stopped_and_the_error_says_which() {
    let mut options = options("2x2");
    options.node.ahead_packets = 4;
    // Nobody gives the agent up.
    options.silence = PATIENCE;
    let (network, stream) = launch(&options);
    let stopped = agents()[1].1;
    kill_process(stopped, Signal::STOP).unwrap();
    let open = || network.open_timeout(&network.everyone(), SUMS, Instant::now() + Duration::from_millis(50));
    let mut others = Vec::new();
    let give_up = Instant::now() + PATIENCE;
    let (nodes, members) = loop {
        match open() {
            Ok(other) => others.push(other),
            Err(TreeError::Behind { nodes, members }) if nodes.len() == 1 => break (nodes, members),
            // The other agent takes its time.
            Err(error) => assert!(matches!(error, TreeError::Behind { .. }) && Instant::now() < give_up, "{error}"),
        }
    };
    let below: RankSet = members_below(stopped).into_iter().collect();
    let parents = network.nodes().into_iter().filter(|place| place.rank.is_some_and(|rank| below.contains(rank)));
    assert_eq!(members, below);
    parents.for_each(|place| assert_eq!(vec![place.parent], nodes));
    // What was sent before is not held up for good, and streams are opened again.
    kill_process(stopped, Signal::CONT).unwrap();
    let last = network.open_timeout(&network.everyone(), SUMS, deadline()).unwrap();
    for stream in [&last, &others[0]] {
        order(stream, 0, 20, 0);
        (0..20).for_each(|number| assert_eq!(expect_wave(stream, number).members().len(), 4));
    }
    order(&stream, 1, 1, 0);
    assert_eq!(expect_wave(&stream, 1).members().len(), 4);
}

/// The ranks of the members that an agent has started.
fn members_below(agent: Pid) -> Vec<u32> {
    members().into_iter().filter(|member| parent(*member) == Some(agent)).map(rank_of).collect()
}

/// The rank of a member, as its process was told.
pub(crate) fn rank_of(member: Pid) -> u32 {
    let variables = String::from_utf8(environment(member)).unwrap();
    variables.split('\0').find_map(|variable| variable.strip_prefix("BANYAN_RANK=")?.parse().ok()).unwrap()
}
