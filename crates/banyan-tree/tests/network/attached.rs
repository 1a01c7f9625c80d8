//! Members that nobody of the network has started: they come when they like, and go.

use std::ops::Range;
use std::process::{Child, Command};
use std::time::Duration;

use banyan_boot::{Event, ProcessDistribution, RankSet};
use banyan_ndr::Record;
use banyan_tree::{Network, NetworkOptions, Report, Stream, StreamOptions};
use rustix::process::{Signal, kill_process};

use crate::relatives::agents;
use crate::setup::{ECHO, END, Order, SUMS, Text, assert_settled, deadline, expect_wave, options, order, this_program};

#[derive(Record)]
struct Ones {
    #[record(rename = "sum(ones)")]
    ones: u64,
}

fn network(topology: &str) -> Network {
    let options: NetworkOptions = options(topology);
    Network::launch(&ProcessDistribution::attached(), &options).unwrap()
}

/// A process that attaches, and the rank it got.
pub(crate) fn attach(network: &Network) -> (Child, u32) {
    let (variable, ticket) = network.ticket().unwrap().to_env();
    let child = Command::new(this_program()).args(["member", "serve"]).env(variable, ticket).spawn().unwrap();
    let joined = members_of(network, |report| if let Report::Joined(members) = report { Some(members) } else { None });
    assert_eq!(joined.len(), 1);
    (child, joined.first().unwrap())
}

/// Waits for a report about members.
fn members_of(network: &Network, wanted: impl Fn(Report) -> Option<RankSet>) -> RankSet {
    loop {
        if let Some(members) = wanted(network.recv_event_timeout(deadline()).expect("it is told")) {
            return members;
        }
    }
}

/// Two members on each of two agents, which are started, and room for as many that attach.
fn network_of_both() -> Network {
    let started = ProcessDistribution::new(this_program(), ["member", "serve"]);
    let attached = ProcessDistribution::attached().on("localhost", 4);
    let network = Network::launch_several(&[started, attached], &options("2x2")).unwrap();
    assert_eq!(network.members().to_string(), "0-3", "launching waits for those that are started");
    assert_settled(&network);
    network
}

/// Has the members of a stream send so many waves, which all these are in.
fn expect_waves(stream: &Stream, numbers: Range<u64>, members: &RankSet) {
    order(stream, numbers.start, numbers.end - numbers.start, 0);
    numbers.for_each(|number| assert_eq!(expect_wave(stream, number).members(), members));
}

fn wait(children: Vec<Child>) {
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
}

pub(crate) fn members_that_attach_are_in_waves_from_then_on() {
    let network = network("2x2");
    assert!(network.members().is_empty(), "launching waits for nobody");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let (mut children, mut present) = (Vec::new(), RankSet::new());
    for round in 0..4 {
        let (child, rank) = attach(&network);
        children.push(child);
        present.insert(rank);
        order(&stream, round * 50, 50, 0);
        for number in round * 50..(round + 1) * 50 {
            assert_eq!(*expect_wave(&stream, number).members(), present);
        }
    }
    assert_eq!(present.to_string(), "0-3");
    drop((stream, network));
    wait(children);
}

/// What members answer to a text, by rank, wherever their answers met on the way.
fn echo(stream: &Stream, text: &str) -> Vec<String> {
    stream.send(ECHO, &Text { text: text.into() }).unwrap();
    let wave = stream.recv_timeout(deadline()).unwrap();
    let text = wave.read::<Text>().unwrap().text.replace("up(", "").replace(')', "");
    text.split(',').map(str::to_owned).collect()
}

pub(crate) fn a_member_that_attaches_late_hears_how_much_it_has_missed() {
    let network = network("1x2");
    let stream = network.open(&network.everyone(), StreamOptions::filter("trace", "up")).unwrap();
    let mut children = vec![attach(&network).0];
    // More than nodes keep for those who have just not said yet that they have taken it.
    for _ in 0..700 {
        assert_eq!(echo(&stream, "early"), ["0:early"]);
    }
    children.push(attach(&network).0);
    assert_eq!(echo(&stream, "late"), ["0:late", "1:late after 700 that are gone"]);
    // From then on it is in step with the others.
    assert_eq!(echo(&stream, "later"), ["0:later", "1:later"]);
    drop((stream, network));
    wait(children);
}

pub(crate) fn a_member_that_attaches_while_waves_flow_is_in_all_from_some_wave_on() {
    let network = network("2x2");
    let stream = network.open(&network.everyone(), "sum(ones)").unwrap();
    let mut children: Vec<Child> = (0..2).map(|_| attach(&network).0).collect();
    // Waves are numbered as the stream goes on, whatever members call them.
    order(&stream, 0, 500, 1);
    let next = || {
        let wave = stream.recv_timeout(deadline()).unwrap();
        assert_eq!(wave.read::<Ones>().unwrap().ones, wave.members().len());
        wave.members().len()
    };
    (0..100).for_each(|_| assert_eq!(next(), 2));
    children.push(attach(&network).0);
    order(&stream, 500, 500, 0);
    let before = (0..900).take_while(|_| next() == 2).count();
    assert!(before < 900, "the third never came");
    (1..500).for_each(|_| assert_eq!(next(), 3));
    drop((stream, network));
    wait(children);
}

pub(crate) fn a_member_may_attach_as_long_as_the_network_lasts() {
    let with_limit = |limit| {
        let mut options = options("1x2");
        options.session.attach_deadline = limit;
        Network::launch(&ProcessDistribution::attached(), &options).unwrap()
    };
    let network = with_limit(None);
    assert_eq!(network.ticket().unwrap().until(), None);
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let (first, _) = attach(&network);
    order(&stream, 0, 100, 0);
    (0..100).for_each(|number| assert_eq!(expect_wave(&stream, number).members().len(), 1));
    // Whoever waits for a while waits no longer.
    let other = with_limit(Some(Duration::from_secs(1)));
    while !matches!(other.session().recv_event_timeout(deadline()).unwrap(), Event::Problem(_)) {}
    let (late, _) = attach(&network);
    order(&stream, 100, 100, 0);
    (100..200).for_each(|number| assert_eq!(expect_wave(&stream, number).members().len(), 2));
    drop((stream, network));
    wait(vec![first, late]);
}

pub(crate) fn members_that_leave_are_in_no_later_wave_and_others_take_no_notice() {
    let network = network("2x2");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let (leaving, rank) = attach(&network);
    let (staying, _) = attach(&network);
    order(&stream, 0, 20, 0);
    for number in 0..20 {
        assert_eq!(expect_wave(&stream, number).members().len(), 2);
    }
    let only = network.open(&RankSet::from_iter([rank]).into(), SUMS).unwrap();
    only.send(END, &Order { first: 0, waves: 0, pause: 0 }).unwrap();
    let lost = members_of(&network, |report| if let Report::Lost(members) = report { Some(members) } else { None });
    assert_eq!(lost, RankSet::from_iter([rank]));
    wait(vec![leaving]);
    let (late, _) = attach(&network);
    order(&stream, 20, 20, 0);
    for number in 20..40 {
        let wave = expect_wave(&stream, number);
        assert!(wave.members().len() == 2 && wave.members().is_disjoint(&lost), "{wave:?}");
    }
    drop((only, stream, network));
    wait(vec![staying, late]);
}

pub(crate) fn attached_members_of_a_killed_agent_are_in_every_wave() {
    let network = network("2x2");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let children: Vec<Child> = (0..4).map(|_| attach(&network).0).collect();
    order(&stream, 0, 2_000, 0);
    for number in 0..2_000 {
        if number == 300 {
            kill_process(agents()[0].1, Signal::KILL).unwrap();
        }
        assert_eq!(expect_wave(&stream, number).members().len(), 4, "wave {number}");
    }
    drop((stream, network));
    wait(children);
}

pub(crate) fn members_attach_beside_started_ones_and_leave_while_a_stream_is_open() {
    let network = network_of_both();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let mut present: RankSet = (0..4).collect();
    expect_waves(&stream, 0..50, &present);
    let mut children = Vec::new();
    for round in 1..4 {
        let (child, rank) = attach(&network);
        assert!(rank > 3, "member {rank} was started");
        children.push(child);
        present.insert(rank);
        expect_waves(&stream, round * 50..(round + 1) * 50, &present);
    }
    assert_eq!(present.to_string(), "0-6");
    let leaving = RankSet::from_iter([4]);
    let only = network.open(&leaving.clone().into(), SUMS).unwrap();
    only.send(END, &Order { first: 0, waves: 0, pause: 0 }).unwrap();
    let lost = members_of(&network, |report| if let Report::Lost(members) = report { Some(members) } else { None });
    assert_eq!(lost, leaving);
    expect_waves(&stream, 200..250, &present.difference(&lost));
    drop((only, stream, network));
    wait(children);
}

pub(crate) fn started_and_attached_members_of_a_killed_agent_are_in_every_wave() {
    let network = network_of_both();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let mut children: Vec<Child> = (0..3).map(|_| attach(&network).0).collect();
    order(&stream, 0, 2_000, 0);
    for number in 0..2_000 {
        if number == 300 {
            kill_process(agents()[0].1, Signal::KILL).unwrap();
        }
        assert_eq!(expect_wave(&stream, number).members().to_string(), "0-6", "wave {number}");
    }
    // Whichever agent it was: the last one comes by invitation.
    let (variable, invitation) = network.invitation(7).unwrap().to_env();
    children.push(Command::new(this_program()).args(["member", "serve"]).env(variable, invitation).spawn().unwrap());
    members_of(&network, |report| if let Report::Joined(members) = report { Some(members) } else { None });
    expect_waves(&stream, 2_000..2_050, &(0..8).collect());
    drop((stream, network));
    wait(children);
}

pub(crate) fn a_member_that_cannot_join_before_its_deadline_is_told() {
    let network = network("1x1");
    let workers: Vec<_> = agents().into_iter().map(|(_, worker)| worker).collect();
    workers.iter().for_each(|worker| kill_process(*worker, Signal::STOP).unwrap());
    let (variable, ticket) = network.ticket().unwrap().to_env();
    let mut child =
        Command::new(this_program()).args(["member", "join-in-time"]).env(variable, ticket).spawn().unwrap();
    let status = child.wait().unwrap();
    workers.iter().for_each(|worker| kill_process(*worker, Signal::CONT).unwrap());
    assert_eq!(status.code(), Some(9));
}

pub(crate) fn a_network_has_several_programs_and_members_that_attach_between_them() {
    let program = |behaviour: &str| ProcessDistribution::new(this_program(), ["member", behaviour]);
    let attached = ProcessDistribution::attached().on("n1", 1).on("n3", 1);
    let back_ends = [program("serve").on("n1", 2), attached, program("padded").on("n2", 1)];
    let mut options = options("flat:1");
    options.topology = None;
    let network = Network::launch_several(&back_ends, &options).unwrap();
    assert_eq!(network.members().to_string(), "0-1,4");
    assert_eq!(network.on_host("n1").members().to_string(), "0-2");
    assert_settled(&network);
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    expect_waves(&stream, 0..50, &network.members());
    let children: Vec<Child> = (0..2).map(|_| attach(&network).0).collect();
    expect_waves(&stream, 50..100, &(0..5).collect());
    drop((stream, network));
    wait(children);
}

pub(crate) fn members_attach_to_a_topology_only_where_it_has_agents_and_behind_programs() {
    let program = || ProcessDistribution::new(this_program(), ["member", "serve"]);
    let refused = |other| Network::launch_several(&[program(), other], &options("2x2")).unwrap_err().to_string();
    let astray = refused(ProcessDistribution::attached().on("elsewhere", 1));
    assert!(astray.contains("1 members attach on host elsewhere, where the layout has no agent"), "{astray}");
    let behind = Network::launch_several(&[ProcessDistribution::attached(), program()], &options("2x2"));
    let behind = behind.unwrap_err().to_string();
    assert!(behind.contains("have to come before those that attach"), "{behind}");
}
