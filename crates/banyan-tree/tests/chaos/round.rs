//! A round: a network is launched, gives waves and ends, while its processes are disturbed as a plan says.
//!
//! Whatever happens: a wave is the sum of exactly those who are in it; after the last fault every member that nobody has ended is
//! in the waves again within [`LIVENESS`], each with the answer to the request for that wave; and nothing is left at the end.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use banyan_boot::{Launcher, ProcessDistribution, RankSet, SessionOptions};
use banyan_ndr::{Limits, Record, RecordView};
use banyan_tree::reduce::Collected;
use banyan_tree::{Network, NetworkOptions, Stream, StreamOptions, Wave};
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::processes::{status, wait_for_child};
use crate::member::Order;
use crate::plan::{DISTURBED_WAVES, Disturbance, Fault, Phase, Plan, Role};
use crate::relatives::{agents, assert_alone, others, parent, wait_until};

/// After the last fault, every wave comes within this, and soon holds everyone who lives. What nodes need to find out who is
/// gone (`adrift`, 10 s, behind `stopped`, 5 s), and what a busy machine may add.
const LIVENESS: Duration = Duration::from_secs(60);

/// What the end of everything may take on a busy machine.
const END: Duration = Duration::from_secs(30);

/// Rounds of each kind that run with the tests.
const ROUNDS: u64 = 4;

const REDUCTION: &str = "sum(bit), min(wave), max(wave)";

/// What comes of it.
#[derive(Record, Debug)]
struct Sums {
    #[record(rename = "sum(bit)")]
    bits: u64,
    #[record(rename = "min(wave)")]
    first: u64,
    #[record(rename = "max(wave)")]
    last: u64,
}

pub(crate) fn a_launch_beside_faults_succeeds_or_fails_cleanly() {
    rounds(Phase::Launch);
}

pub(crate) fn waves_beside_faults_are_right_and_go_on() {
    rounds(Phase::Waves);
}

pub(crate) fn a_network_that_ends_beside_faults_leaves_nothing() {
    rounds(Phase::End);
}

pub(crate) fn a_front_end_that_is_killed_beside_faults_leaves_nothing() {
    rounds(Phase::FrontEnd);
}

fn rounds(phase: Phase) {
    for seed in 0..ROUNDS {
        run(&Plan::new(seed, Some(phase)));
    }
}

/// Runs a plan; panics where a promise is not kept.
pub(crate) fn run(plan: &Plan) {
    let _ = writeln!(std::io::stderr(), "{plan}\nagain: {}", plan.again());
    match plan.phase {
        Phase::Launch => launch(plan),
        Phase::Waves => waves(plan),
        Phase::End => end(plan),
        Phase::FrontEnd => kill_front_end(plan),
    }
    assert_alone(END);
}

fn network(shape: &str, only_tcp: bool) -> Result<Network, banyan_tree::TreeError> {
    let this = std::env::current_exe().unwrap();
    let session = SessionOptions::default()
        .launcher(Launcher::Local)
        .deadline(LIVENESS)
        .grace(Duration::from_millis(500))
        .agent(this.clone());
    let options = NetworkOptions::default().topology(shape.parse().unwrap()).session(session).only_tcp(only_tcp);
    Network::launch(&ProcessDistribution::new(this, ["member"]), &options)
}

fn launch(plan: &Plan) {
    let disturber = disturb_in_time(plan);
    let launched = network(plan.shape, plan.only_tcp);
    disturber.join().unwrap();
    match launched {
        Ok(network) => drop(network),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn end(plan: &Plan) {
    let network = network(plan.shape, plan.only_tcp).unwrap();
    let stream = network.open(&network.everyone(), REDUCTION).unwrap();
    wave(&stream, 0);
    let disturber = disturb_in_time(plan);
    std::thread::park_timeout(Duration::from_millis(plan.seed % 50));
    drop(stream);
    drop(network);
    disturber.join().unwrap();
}

/// A front-end that asks for waves until it is killed.
pub(crate) fn front_end(shape: &str, only_tcp: bool) -> ExitCode {
    let network = network(shape, only_tcp).unwrap();
    let stream = network.open(&network.everyone(), REDUCTION).unwrap();
    let _ = writeln!(std::io::stdout(), "up");
    for number in 0.. {
        wave(&stream, number);
    }
    ExitCode::SUCCESS
}

fn kill_front_end(plan: &Plan) {
    let mut front_end = Command::new(std::env::current_exe().unwrap())
        .args(["front-end", plan.shape, &plan.only_tcp.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(front_end.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "up\n");
    let disturber = disturb_in_time(plan);
    std::thread::park_timeout(Duration::from_millis(plan.seed % 100));
    let signal = if plan.seed.is_multiple_of(2) { Signal::KILL } else { Signal::TERM };
    kill_process(Pid::from_child(&front_end), signal).unwrap();
    assert!(wait_for_child(&mut front_end, Instant::now() + END).is_some(), "the front-end has not ended");
    disturber.join().unwrap();
}

/// Disturbs whoever is there, by the clock, beside whatever this thread does.
fn disturb_in_time(plan: &Plan) -> JoinHandle<()> {
    let (faults, is_launch) = (plan.faults.clone(), plan.phase == Phase::Launch);
    std::thread::spawn(move || {
        // At an end, everyone may be gone before this thread looks.
        if is_launch {
            wait_until("someone is there", Instant::now() + LIVENESS, || (!others().is_empty()).then_some(()));
        }
        let begin = Instant::now();
        let mut continued = Vec::new();
        for fault in faults {
            pass(Duration::from_millis(fault.at).saturating_sub(begin.elapsed()));
            if let Some(pid) = target(&fault, &others()) {
                continued.extend(disturb(pid, fault.disturbance));
            }
        }
        continued.into_iter().for_each(|one| one.join().unwrap());
    })
}

fn waves(plan: &Plan) {
    let network = network(plan.shape, plan.only_tcp).unwrap();
    let members = processes_of(&network);
    let stream = network.open(&network.everyone(), REDUCTION).unwrap();
    let (mut ended, mut stopped) = (HashSet::new(), Vec::new());
    for number in 0..DISTURBED_WAVES {
        for fault in plan.faults.iter().filter(|fault| fault.at == number) {
            let alive: Vec<Pid> = members.values().copied().filter(|pid| lives(*pid)).collect();
            let Some(pid) = target(fault, &alive) else { continue };
            match (fault.role, fault.disturbance) {
                (Role::Member, Disturbance::Kill | Disturbance::Terminate) => _ = ended.insert(pid),
                // Ends its host in good order.
                (Role::Keeper, Disturbance::Terminate) => ended.extend(below(pid)),
                _ => {}
            }
            stopped.extend(disturb(pid, fault.disturbance));
        }
        if members.values().all(|pid| ended.contains(pid)) {
            break;
        }
        let (_, behind) = wave(&stream, number);
        // Whoever was given up while it was stopped may come back with answers to what it was asked before.
        assert!(behind == 0 || !stopped.is_empty(), "wave {number} has a record that is {behind} behind");
    }
    stopped.into_iter().for_each(|one| one.join().unwrap());
    let expected: RankSet = members.iter().filter(|(_, pid)| !ended.contains(*pid)).map(|(rank, _)| *rank).collect();
    for rank in expected.iter() {
        assert!(lives(members[&rank]), "member {rank} has ended, and nobody has ended it");
    }
    if !expected.is_empty() {
        settle(&stream, &expected);
    }
}

/// Asks for waves until everyone is in them who lives, and nobody else.
fn settle(stream: &Stream, expected: &RankSet) {
    let deadline = Instant::now() + LIVENESS;
    let mut whole = 0;
    let mut number = DISTURBED_WAVES;
    while whole < 3 {
        let (wave, behind) = wave(stream, number);
        let members = wave.members();
        whole = if members == expected && behind == 0 { whole + 1 } else { 0 };
        assert!(
            Instant::now() < deadline,
            "after the last fault wave {number} is of {members}, not of {expected}, and {behind} behind"
        );
        number += 1;
    }
}

/// Asks for a wave and receives it; and how far behind the request is that the last of its members answers.
fn wave(stream: &Stream, number: u64) -> (Wave, u64) {
    stream.send_timeout(0, &Order { wave: number }, Instant::now() + LIVENESS).unwrap();
    let wave = match stream.recv_timeout(Instant::now() + LIVENESS) {
        Ok(wave) => wave,
        Err(error) => panic!("wave {number} has not come within {} s: {error}", LIVENESS.as_secs()),
    };
    assert_eq!(wave.number(), number);
    let sums: Sums = wave.read().unwrap();
    let bits = wave.members().iter().map(|rank| 1 << rank).sum::<u64>();
    assert_eq!(sums.bits, bits, "wave {number} of {}: {sums:?}", wave.members());
    assert!(sums.last <= number, "wave {number} has records of later ones: {sums:?}");
    (wave, number - sums.first)
}

/// The process of each member.
fn processes_of(network: &Network) -> BTreeMap<u32, Pid> {
    let stream = network.open(&network.everyone(), StreamOptions::collect()).unwrap();
    stream.send(0, &Order { wave: 0 }).unwrap();
    let wave = stream.recv_timeout(Instant::now() + LIVENESS).unwrap();
    let all = Collected::read(&wave.format().unwrap(), wave.body(), &Limits::default()).unwrap();
    let process = |one: &Collected| {
        let process = RecordView::new(&one.format, &one.body).unwrap().value::<u32>("process").unwrap();
        (one.rank, Pid::from_raw(process as i32).unwrap())
    };
    all.iter().map(process).collect()
}

/// The process that a fault is about, of these members and whatever agents there are.
fn target(fault: &Fault, members: &[Pid]) -> Option<Pid> {
    let there: Vec<Pid> = match fault.role {
        Role::Worker => agents().into_iter().map(|(_, worker)| worker).collect(),
        Role::Keeper => agents().into_iter().map(|(keeper, _)| keeper).collect(),
        Role::Member => members.to_vec(),
    };
    there.get(fault.which.checked_rem(there.len())?).copied()
}

/// The processes below one.
fn below(pid: Pid) -> Vec<Pid> {
    let all = others();
    let mut found = vec![pid];
    while let Some(next) =
        all.iter().find(|one| !found.contains(one) && parent(**one).is_some_and(|of| found.contains(&of)))
    {
        found.push(*next);
    }
    found
}

/// Whoever is stopped is continued by a thread.
fn disturb(pid: Pid, disturbance: Disturbance) -> Option<JoinHandle<()>> {
    // It may have ended meanwhile.
    let tell = move |signal| _ = kill_process(pid, signal);
    match disturbance {
        Disturbance::Kill => tell(Signal::KILL),
        Disturbance::Terminate => tell(Signal::TERM),
        Disturbance::Stop(time) => {
            tell(Signal::STOP);
            return Some(std::thread::spawn(move || {
                pass(time);
                tell(Signal::CONT);
            }));
        }
    }
    None
}

/// Lets time pass.
fn pass(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
}

fn lives(pid: Pid) -> bool {
    status(pid).is_some_and(|(state, _)| state != 'Z')
}
