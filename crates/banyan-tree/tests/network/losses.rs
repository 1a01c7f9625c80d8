//! What happens when agents, members or the front-end are killed or stopped.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use banyan_boot::{Event as SessionEvent, ProblemKind, ProcessDistribution, RankSet, Session};
use banyan_tree::{Direction, Network, NodeId, NodeInfo, Report, Stream, StreamOptions, TreeError, Where};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::processes::words;
use crate::relatives::{agents, assert_alone, others, parent, wait_until};
use crate::setup::{END, Order, SEND, SUMS, compute, deadline, expect_wave, network, options, order, this_program};
use crate::strangers::sockets;
use crate::streams::expect_array;
use crate::unanswered::{members, rank_of};

/// Beyond patience and grace: what a busy machine may need.
const SPARE: Duration = Duration::from_secs(30);

/// Workers of agents that have members of their own.
fn workers() -> Vec<Pid> {
    agents().into_iter().map(|(_, worker)| worker).collect()
}

fn kill(worker: Pid) {
    kill_process(worker, Signal::KILL).unwrap();
}

fn finish(network: Network, stream: Stream) {
    stream.send(END, &Order { first: 0, waves: 0, pause: 0 }).unwrap();
    drop(stream);
    drop(network);
    assert_alone(SPARE);
}

pub(crate) fn an_agent_killed_between_waves_loses_none_of_them() {
    let network = network("2x2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 3, 0);
    for number in 0..3 {
        expect_wave(&stream, number);
    }
    kill(workers()[0]);
    order(&stream, 3, 10, 0);
    for number in 3..13 {
        assert_eq!(expect_wave(&stream, number).members().len(), 8);
    }
    finish(network, stream);
}

/// Longer than any test: whoever waits for someone who is adrift waits in vain.
const NEVER: Duration = Duration::from_secs(1_000);

/// A network in which nobody who is adrift is given up in time.
fn patient_network(topology: &str) -> Network {
    let mut options = options(topology);
    options.node.adrift = NEVER;
    Network::launch(&ProcessDistribution::new(this_program(), ["member", "serve"]), &options).unwrap()
}

/// Waits until so many members are told to be lost.
fn await_losses(network: &Network, count: u64) -> RankSet {
    let mut lost = RankSet::new();
    while lost.len() < count {
        lost = lost.union(&event(network, |report| if let Report::Lost(lost) = report { Some(lost) } else { None }));
    }
    lost
}

pub(crate) fn a_killed_keeper_takes_nobody_with_it() {
    let network = patient_network("2x4");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    let (keeper, worker) = agents()[0];
    kill(keeper);
    wait_until("the keeper is gone", Instant::now() + SPARE, || (parent(worker) != Some(keeper)).then_some(()));
    let problem = wait_for_problem(network.session());
    assert!(problem.contains("its keeper is gone; the agent and its members go on"), "{problem}");
    order(&stream, 1, 100, 0);
    for number in 1..101 {
        assert_eq!(expect_wave(&stream, number).members().len(), 8, "wave {number}");
    }
    while let Ok(Some(report)) = network.try_recv_event() {
        assert!(matches!(report, Report::Joined(_) | Report::AgentJoined(_)), "{report:?}");
    }
    finish(network, stream);
}

fn wait_for_problem(session: &Session) -> String {
    loop {
        if let SessionEvent::Problem(problem) = session.recv_event_timeout(deadline()).expect("a problem is told") {
            return problem.to_string();
        }
    }
}

pub(crate) fn a_terminated_keeper_ends_its_members_and_nobody_waits_for_them() {
    let network = patient_network("2x4");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    let (keeper, _) = agents()[0];
    kill_process(keeper, Signal::TERM).unwrap();
    let lost = await_losses(&network, 4);
    order(&stream, 1, 1, 0);
    assert!(expect_wave(&stream, 1).members().is_disjoint(&lost));
    finish(network, stream);
}

pub(crate) fn members_that_die_together_with_their_agent_are_not_waited_for() {
    let network = patient_network("2x4");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    let worker = workers()[0];
    let members: Vec<Pid> = others().into_iter().filter(|pid| parent(*pid) == Some(worker)).collect();
    // None of them can tell of the others, and its agent of none.
    let dead = [worker, members[0], members[1]];
    dead.into_iter().for_each(|pid| kill_process(pid, Signal::STOP).unwrap());
    dead.into_iter().for_each(kill);
    order(&stream, 1, 10, 0);
    for number in 1..11 {
        assert_eq!(expect_wave(&stream, number).members().len(), 6, "wave {number}");
    }
    // One that dies later, when it is linked to another agent.
    kill(members[2]);
    await_losses(&network, 3);
    order(&stream, 11, 1, 0);
    assert_eq!(expect_wave(&stream, 11).members().len(), 5);
    finish(network, stream);
}

pub(crate) fn an_agent_killed_while_arrays_are_on_their_way_loses_none_of_them() {
    let network = network("3x4", "array");
    let stream = network.open(&network.everyone(), "sum(values)").unwrap();
    order(&stream, 0, 40, 0);
    for wave in 0..40 {
        if wave == 12 {
            kill(workers()[0]);
        }
        expect_array(&stream, wave, 12);
    }
    finish(network, stream);
}

pub(crate) fn what_a_filter_knew_at_a_killed_agent_is_told_to_be_lost() {
    let network = network("2x2", "serve");
    let plain = network.open(&network.everyone(), SUMS).unwrap();
    let options = StreamOptions::filter("trace", "up").up_at(Where::Agents, "tally", "").down("tally", "all");
    let counted = network.open(&network.everyone(), options).unwrap();
    order(&plain, 0, 1, 0);
    expect_wave(&plain, 0);
    kill(workers()[0]);
    let (mut adrift, mut lost) = (None, Vec::new());
    while lost.len() < 2 {
        match network.recv_event_timeout(deadline()).expect("the loss is told") {
            // The first of them; then come those below it.
            Report::Adrift(node) => _ = adrift.get_or_insert(node),
            Report::StateLost { stream, node, direction, filter } => {
                assert_eq!((stream, Some(node)), (counted.id(), adrift));
                lost.push((direction, filter));
            }
            _ => {}
        }
    }
    assert_eq!(lost, [(Direction::Up, "tally".to_owned()), (Direction::Down, "tally all".to_owned())]);
    order(&plain, 1, 1, 0);
    assert_eq!(expect_wave(&plain, 1).members().len(), 4, "no wave is lost with it");
    drop(counted);
    finish(network, plain);
}

pub(crate) fn agents_of_256_members_killed_during_pipelined_waves_lose_none() {
    let network = network("16x16", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let waves = 3_000;
    order(&stream, 0, waves, 0);
    let workers = workers();
    assert_eq!(workers.len(), 16);
    for number in 0..waves {
        if number % 500 == 200 {
            kill(workers[(number / 500) as usize]);
        }
        assert_eq!(expect_wave(&stream, number).members().len(), 256, "wave {number}");
    }
    finish(network, stream);
}

pub(crate) fn all_agents_below_the_front_end_killed_at_once_lose_no_wave() {
    let network = network("3x5", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 400, 1);
    for number in 0..400 {
        if number == 100 {
            workers().into_iter().for_each(kill);
        }
        assert_eq!(expect_wave(&stream, number).members().len(), 15, "wave {number}");
    }
    finish(network, stream);
}

pub(crate) fn a_stopped_agent_is_left_and_taken_back() {
    let network = network("2x2x3", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 5_000, 1);
    for number in 0..100 {
        expect_wave(&stream, number);
    }
    // An agent with members, below another agent.
    let member = others().into_iter().find(|pid| words(*pid).get(1).is_some_and(|word| word == "member"));
    let worker = parent(member.unwrap()).unwrap();
    kill_process(worker, Signal::STOP).unwrap();
    for number in 100..2_500 {
        assert_eq!(expect_wave(&stream, number).members().len(), 12, "wave {number}");
    }
    kill_process(worker, Signal::CONT).unwrap();
    for number in 2_500..5_000 {
        assert_eq!(expect_wave(&stream, number).members().len(), 12, "wave {number}");
    }
    finish(network, stream);
}

pub(crate) fn members_that_leave_a_stopped_agent_are_not_taken_for_dead() {
    let network = network("2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    let worker = workers()[0];
    let links_of_worker = sockets(worker);
    let members: Vec<Pid> = others().into_iter().filter(|pid| parent(*pid) == Some(worker)).collect();
    let links: Vec<Vec<String>> = members.iter().map(|member| sockets(*member)).collect();
    kill_process(worker, Signal::STOP).unwrap();
    // Nobody drives the front-end meanwhile, so that it hears of the agent first, and then of its members.
    wait_until("they have given it up", Instant::now() + SPARE, || {
        let has_left =
            |(member, links): (&Pid, &Vec<String>)| links.iter().any(|link| !sockets(*member).contains(link));
        members.iter().zip(&links).all(has_left).then_some(())
    });
    kill_process(worker, Signal::CONT).unwrap();
    wait_until("it has seen that", Instant::now() + SPARE, || {
        // Others may have come meanwhile.
        let now = sockets(worker);
        (links_of_worker.iter().filter(|link| !now.contains(link)).count() >= members.len()).then_some(())
    });
    order(&stream, 1, 100, 0);
    for number in 1..101 {
        assert_eq!(expect_wave(&stream, number).members().len(), 4, "wave {number}");
    }
    while let Ok(Some(report)) = network.try_recv_event() {
        assert!(!matches!(report, Report::Lost(_)), "{report:?}");
    }
    finish(network, stream);
}

pub(crate) fn an_agent_that_was_stopped_does_not_end_its_members_while_the_front_end_computes() {
    let network = network("2x2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    let worker = workers()[0];
    kill_process(worker, Signal::STOP).unwrap();
    // All links above it are given up, the session's, too.
    let is_lost = |event| matches!(event, Ok(SessionEvent::Problem(problem)) if problem.kind == ProblemKind::AgentLost);
    while !is_lost(network.session().recv_event_timeout(deadline())) {}
    order(&stream, 1, 1, 0);
    assert_eq!(expect_wave(&stream, 1).members().len(), 8);
    kill_process(worker, Signal::CONT).unwrap();
    // Longer than it looks for a front-end that it cannot reach. This one can be reached, and does not answer.
    compute(Duration::from_secs(4));
    order(&stream, 2, 20, 0);
    for number in 2..22 {
        assert_eq!(expect_wave(&stream, number).members().len(), 8, "wave {number}");
    }
    finish(network, stream);
}

/// A member dies while the agent above its agent is stopped, and all agents below the stopped one have other parents.
struct StoppedAbove {
    network: Network,
    stream: Stream,
    worker: Pid,
    /// The stopped agent, as the front-end knows it.
    node: NodeId,
    lost: RankSet,
}

impl StoppedAbove {
    /// The front-end misses the stopped agent by itself, before the agents below find other parents or after that. The member
    /// dies after both if `is_missed_first` is set.
    fn new(is_missed_first: bool) -> StoppedAbove {
        let network = network("2x2x2", "serve");
        let stream = network.open(&network.everyone(), SUMS).unwrap();
        order(&stream, 0, 1, 0);
        assert_eq!(expect_wave(&stream, 0).members().len(), 8);
        let member = members()[0];
        // Between the two agents is a keeper.
        let worker = parent(member).and_then(parent).and_then(parent).unwrap();
        // What a busy machine has brought about so far does not count.
        while let Ok(Some(_)) = network.try_recv_event() {}
        let (node, mut below) = agent_above_that_of(&network, rank_of(member));
        assert_eq!(below.len(), 2, "{:?}", network.nodes());
        kill_process(worker, Signal::STOP).unwrap();
        let mut is_missed = !is_missed_first;
        wait_for(&network, |report| {
            match report {
                Report::Moved { node, .. } => below.retain(|agent| agent != node),
                Report::Adrift(adrift) => is_missed |= *adrift == node,
                _ => {}
            }
            is_missed && below.is_empty()
        });
        kill(member);
        let lost = await_losses(&network, 1);
        StoppedAbove { network, stream, worker, node, lost }
    }

    fn go_on(&self) {
        kill_process(self.worker, Signal::CONT).unwrap();
    }

    fn expect_waves_without_the_lost(self) {
        order(&self.stream, 1, 100, 0);
        for number in 1..101 {
            let wave = expect_wave(&self.stream, number);
            assert!(wave.members().len() == 7 && wave.members().is_disjoint(&self.lost), "{wave:?}");
        }
        finish(self.network, self.stream);
    }
}

/// The agent above the agent of a member, and the agents below it.
fn agent_above_that_of(network: &Network, rank: u32) -> (NodeId, Vec<NodeId>) {
    let places = network.nodes();
    let parent_of = |is_it: &dyn Fn(&NodeInfo) -> bool| places.iter().find(|place| is_it(place)).unwrap().parent;
    let agent = parent_of(&|place| place.rank == Some(rank));
    let above = parent_of(&|place| place.node == agent);
    (above, places.iter().filter(|place| place.parent == above).map(|place| place.node).collect())
}

pub(crate) fn a_member_that_died_while_an_agent_was_stopped_is_not_waited_for_when_the_agent_is_back() {
    let stopped = StoppedAbove::new(true);
    stopped.go_on();
    // The agent has brought its old list of those below to the front-end.
    wait_for(&stopped.network, |report| matches!(report, Report::Moved { node, .. } if *node == stopped.node));
    stopped.expect_waves_without_the_lost();
}

pub(crate) fn a_member_that_died_below_an_agent_that_goes_on_before_the_front_end_misses_it_is_not_waited_for() {
    let stopped = StoppedAbove::new(false);
    // Whether the agent still has its parent is open.
    stopped.go_on();
    stopped.expect_waves_without_the_lost();
}

/// Waits until the network tells this.
fn wait_for(network: &Network, mut is_told: impl FnMut(&Report) -> bool) {
    while !is_told(&network.recv_event_timeout(deadline()).expect("it is told in time")) {}
}

pub(crate) fn agents_of_256_members_stopped_and_continued_during_pipelined_waves_lose_none() {
    let network = network("16x16", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let waves = 6_000;
    order(&stream, 0, waves, 0);
    let stopped = &workers()[3..5];
    let tell = |signal| stopped.iter().for_each(|worker| kill_process(*worker, signal).unwrap());
    for number in 0..waves {
        match number {
            1_000 => tell(Signal::STOP),
            // Long after the waves that were under way: others have taken the members in.
            5_000 => tell(Signal::CONT),
            _ => {}
        }
        assert_eq!(expect_wave(&stream, number).members().len(), 256, "wave {number}");
    }
    finish(network, stream);
}

pub(crate) fn when_all_members_are_lost_nobody_waits_for_them() {
    let network = network("2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    let members = others().into_iter().filter(|pid| words(*pid).get(1).is_some_and(|word| word == "member"));
    members.for_each(kill);
    let last: Vec<_> = stream.waves().collect();
    assert!(matches!(&last[..], [Err(TreeError::NobodyLeft { .. })]), "{last:?}");
    let sent = stream.send(SEND, &Order { first: 1, waves: 1, pause: 0 });
    assert!(matches!(sent, Err(TreeError::NobodyLeft { .. })), "{sent:?}");
    let opened = network.open(&network.everyone(), SUMS);
    assert!(matches!(&opened, Err(TreeError::NobodyLeft { members }) if members.to_string() == "0-3"), "{opened:?}");
    // Someone is expected now.
    let _invitation = network.invitation(1).unwrap();
    assert!(matches!(stream.recv_timeout(Instant::now()), Err(TreeError::TimedOut)));
}

pub(crate) fn a_killed_member_is_missing_in_later_waves() {
    let network = network("2x4", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), 8);
    let member = others().into_iter().find(|pid| words(*pid).get(1).is_some_and(|word| word == "member")).unwrap();
    kill_process(member, Signal::KILL).unwrap();
    let lost = loop {
        if let Report::Lost(lost) = network.recv_event_timeout(deadline()).expect("the loss is told") {
            break lost;
        }
    };
    assert_eq!(lost.len(), 1);
    order(&stream, 1, 5, 0);
    for number in 1..6 {
        let wave = expect_wave(&stream, number);
        assert_eq!(wave.members().len(), 7);
        assert!(wave.members().is_disjoint(&lost));
    }
    finish(network, stream);
}

pub(crate) fn a_background_thread_goes_on_while_the_front_end_computes() {
    let network = network("1x3", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let background = network.background().unwrap();
    order(&stream, 0, 1, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), 3, "who waits is told what has come");
    let member = others().into_iter().find(|pid| words(*pid).get(1).is_some_and(|word| word == "member")).unwrap();
    kill(member);
    // To look at its members drives nothing.
    wait_until("the loss is noticed", Instant::now() + SPARE, || (network.members().len() == 2).then_some(()));
    drop(background);
    order(&stream, 1, 1, 0);
    assert_eq!(expect_wave(&stream, 1).members().len(), 2);
    finish(network, stream);
}

pub(crate) fn a_member_that_is_started_again_has_its_old_rank() {
    let network = network("2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let error = network.invitation(1).unwrap_err();
    assert!(matches!(error, TreeError::NotLost { rank: 1, .. }), "{error}");
    let mut number = 0;
    let mut waves = |members: u64| {
        order(&stream, number, 20, 0);
        for at in number..number + 20 {
            assert_eq!(expect_wave(&stream, at).members().len(), members, "wave {at}");
        }
        number += 20;
    };
    waves(4);
    let mut victim = others().into_iter().find(|pid| words(*pid).get(1).is_some_and(|word| word == "member")).unwrap();
    let mut successors = Vec::new();
    for _ in 0..3 {
        kill(victim);
        successors.iter_mut().for_each(|child: &mut Child| _ = child.wait());
        let lost = event(&network, |report| if let Report::Lost(lost) = report { Some(lost) } else { None });
        waves(3);
        let (variable, invitation) = network.invitation(lost.first().unwrap()).unwrap().to_env();
        let process = Command::new(this_program()).args(["member", "serve"]).env(variable, invitation).spawn().unwrap();
        victim = Pid::from_child(&process);
        successors.push(process);
        let joined = event(&network, |report| if let Report::Joined(joined) = report { Some(joined) } else { None });
        assert_eq!((joined.len(), joined), (1, lost), "it is the same member");
        waves(4);
    }
    finish(network, stream);
    assert!(successors.pop().unwrap().wait().unwrap().success());
}

pub(crate) fn a_member_that_comes_back_when_another_has_its_place_is_sent_away() {
    let mut options = options("2x1");
    options.node.adrift = Duration::from_secs(1);
    let network = Network::launch(&ProcessDistribution::new(this_program(), ["member", "serve"]), &options).unwrap();
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    let mut number = 0;
    let mut waves = |members: u64| {
        order(&stream, number, 20, 0);
        for at in number..number + 20 {
            assert_eq!(expect_wave(&stream, at).members().len(), members, "wave {at}");
        }
        number += 20;
    };
    waves(2);
    let first = others().into_iter().find(|pid| words(*pid).get(1).is_some_and(|word| word == "member")).unwrap();
    let stopped = [first, parent(first).unwrap()];
    stopped.iter().for_each(|pid| kill_process(*pid, Signal::STOP).unwrap());
    let lost = event(&network, |report| if let Report::Lost(lost) = report { Some(lost) } else { None });
    waves(1);
    let (variable, invitation) = network.invitation(lost.first().unwrap()).unwrap().to_env();
    let mut second = Command::new(this_program()).args(["member", "serve"]).env(variable, invitation).spawn().unwrap();
    let joined = event(&network, |report| if let Report::Joined(joined) = report { Some(joined) } else { None });
    assert_eq!(joined, lost);
    waves(2);
    stopped.iter().for_each(|pid| kill_process(*pid, Signal::CONT).unwrap());
    let background = network.background().unwrap();
    wait_until("the first process ends", Instant::now() + SPARE, || (!others().contains(&first)).then_some(()));
    drop(background);
    waves(2);
    finish(network, stream);
    assert!(second.wait().unwrap().success());
}

/// Waits for a report that says something of members.
fn event(network: &Network, wanted: impl Fn(Report) -> Option<RankSet>) -> RankSet {
    loop {
        if let Some(members) = wanted(network.recv_event_timeout(deadline()).expect("it is told")) {
            return members;
        }
    }
}

pub(crate) fn members_that_join_are_one_report() {
    let network = network("2x8", "serve");
    let told = std::iter::from_fn(|| network.try_recv_event().ok().flatten());
    let told: Vec<String> = told.map(|report| report.to_string()).filter(|told| told.contains("member")).collect();
    assert_eq!(told, ["members 0-15 joined"]);
    assert_eq!(network.everyone().to_string(), "0-15");
}

pub(crate) fn agents_are_told_to_join_and_to_be_lost() {
    let network = network("2x2", "serve");
    let mut agents = Vec::new();
    while agents.len() < 2 {
        match network.recv_event_timeout(deadline()).expect("both are told") {
            Report::AgentJoined(agent) => agents.push(agent.0),
            report => assert!(matches!(report, Report::Joined(_)), "{report:?}"),
        }
    }
    agents.sort_unstable();
    assert_eq!(agents, [1, 2]);
    kill(workers()[0]);
    let lost = loop {
        if let Report::AgentLost(agent) = network.recv_event_timeout(deadline()).expect("the loss is told") {
            break agent.0;
        }
    };
    // The members of the other are where they were; those of this one are there in another place.
    assert!(agents.contains(&lost), "{lost}");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    assert_eq!(expect_wave(&stream, 0).members().len(), 4);
    finish(network, stream);
}

pub(crate) fn a_scatter_reaches_those_who_are_left() {
    let network = network("2x2", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    // All members of one agent.
    let worker = workers()[0];
    let members: Vec<Pid> = others().into_iter().filter(|pid| parent(*pid) == Some(worker)).collect();
    assert_eq!(members.len(), 2);
    members.into_iter().for_each(kill);
    let mut lost = 0;
    while lost < 2 {
        if let Report::Lost(ranks) = network.recv_event_timeout(deadline()).expect("the losses are told") {
            lost += ranks.len();
        }
    }
    stream.scatter(SEND, &[Order { first: 1, waves: 1, pause: 0 }; 4]).unwrap();
    assert_eq!(expect_wave(&stream, 1).members().len(), 2);
    finish(network, stream);
}

pub(crate) fn a_killed_front_end_leaves_nothing() {
    let mut front_end =
        Command::new(this_program()).args(["front-end", "2x2x2"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(front_end.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "up");
    wait_until("agents and members run", Instant::now() + SPARE, || (others().len() > 20).then_some(()));
    // One agent first, so that its members have nobody but the front-end and the others.
    kill(workers()[0]);
    front_end.kill().unwrap();
    front_end.wait().unwrap();
    assert_alone(SPARE);
}

pub(crate) fn a_network_that_ends_after_losses_leaves_nothing() {
    let network = network("2x3", "serve");
    let stream = network.open(&network.everyone(), SUMS).unwrap();
    order(&stream, 0, 1, 0);
    expect_wave(&stream, 0);
    kill(workers()[0]);
    order(&stream, 1, 1, 0);
    assert_eq!(expect_wave(&stream, 1).members().len(), 6);
    // Its members are not told to end: the end of the network is.
    drop(stream);
    drop(network);
    assert_alone(SPARE);
}
