//! A member that breaks the rules is named, and harms nobody else: every wave is made of the records of its members.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_ndr::{CStruct, Record};
use banyan_tree::{BackEnd, Bodies, Message, Network, NodeId, Report, Run, Stream, TreeError, WaveNumber};

use crate::hostile_member::{ALL, BEHAVIOURS, Behaviour, Hostile, Value};
use crate::relatives::wait_until;
use crate::setup::{Order, deadline, options, order, this_program};

/// Who breaks the rules, among eight.
const RANK: u32 = 3;

/// Waves that everyone sends, the hostile one behind what it has to say.
const WAVES: u64 = 20;

/// What comes of [`ALL`].
#[derive(Record, Debug)]
struct CountAndMax {
    #[record(rename = "count()")]
    count: u64,
    #[record(rename = "max(value)")]
    max: i64,
    #[record(rename = "max(value).who")]
    who: u32,
}

fn value(rank: u32, wave: u64) -> i64 {
    i64::from(rank) + wave as i64 * 100
}

/// The member.
pub(crate) fn run(name: &str) -> ExitCode {
    let behaviour = BEHAVIOURS.iter().find(|behaviour| behaviour.name == name).unwrap();
    match serve(behaviour) {
        Ok(()) | Err(TreeError::Ended) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Breaks the rules once, and does then what it is told.
fn serve(behaviour: &Behaviour) -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    let mut is_honest = back_end.rank() != RANK;
    loop {
        let incoming = back_end.recv(None)?;
        let Order { first, waves, .. } = back_end.read(&incoming)?;
        if !std::mem::replace(&mut is_honest, true) {
            let speech = (behaviour.speak)(Hostile { rank: RANK, stream: incoming.stream });
            for message in speech.messages {
                back_end.say(message, &speech.formats)?;
            }
        }
        for wave in first..first + waves {
            back_end.send(incoming.stream, &Value { value: value(back_end.rank(), wave), ones: 1 })?;
        }
        // Whatever its intervals are, there is nothing more in this one.
        back_end.finish_interval(incoming.stream)?;
    }
}

pub(crate) fn a_hostile_member_is_named_and_no_wave_is_wrong() {
    for behaviour in BEHAVIOURS {
        let program = ProcessDistribution::new(this_program(), ["hostile", behaviour.name]);
        let network = Network::launch(&program, &options("2x4")).unwrap();
        let stream = network.open(&network.everyone(), (behaviour.options)()).unwrap();
        order(&stream, 0, WAVES, 0);
        expect_named(&network, behaviour.cause);
        if (behaviour.options)() == banyan_tree::StreamOptions::reduce(ALL) {
            expect_waves(&stream);
        } else {
            let members = if (behaviour.options)().synchronisation.has_waves() { 8 } else { 1 };
            assert_eq!(stream.recv(deadline()).unwrap().members().len(), members, "{}", behaviour.name);
        }
    }
}

fn expect_named(network: &Network, cause: &str) {
    let is_named = |report: &Report| matches!(report, Report::Violation { rank: Some(RANK), cause: told, .. } if told.contains(cause));
    let named = || std::iter::from_fn(|| network.next_event(Some(Instant::now()))).find(is_named);
    wait_until("the member is named", deadline().unwrap(), named);
}

/// Every wave is of all eight, the hostile one's own records included, and of nothing else.
fn expect_waves(stream: &Stream) {
    for number in 0..WAVES {
        let wave = stream.recv(deadline()).unwrap();
        assert_eq!((wave.number(), wave.members().len()), (number, 8));
        let CountAndMax { count, max, who } = wave.read().unwrap();
        assert_eq!((count, max, who), (8, value(7, number), 7), "{wave:?}");
    }
}

/// A member that sends records of so many formats, each in place of its record of the first wave, which counts once.
pub(crate) fn run_with_formats(count: &str, hostile: &str) -> ExitCode {
    match serve_formats(count.parse().unwrap(), hostile.parse().unwrap()) {
        Ok(()) | Err(TreeError::Ended) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn serve_formats(count: usize, hostile: RankSet) -> Result<(), TreeError> {
    let mut back_end = BackEnd::join()?;
    let incoming = back_end.recv(None)?;
    let (rank, stream) = (back_end.rank(), incoming.stream);
    let mut body = value(rank, 0).to_ne_bytes().to_vec();
    body.extend([1, 0, 0, 0, 0, 0, 0, 0]);
    let count = if hostile.contains(rank) { count } else { 0 };
    for number in 0..count {
        let name = format!("Value{rank}x{number}");
        let format = CStruct::new(&name, 16, 8).int("value", 0, 8).uint("ones", 8, 4).build().unwrap();
        let bodies = Bodies::one(format.id(), body.clone().into());
        let (first, members) = (WaveNumber(0), Arc::new(RankSet::from_iter([rank])));
        let run = Run { stream, first, members, is_fresh: false, is_partial: false, yields: None, bodies };
        back_end.say(Message::Run(run), &[format])?;
    }
    for wave in 0..WAVES {
        back_end.send(stream, &Value { value: value(rank, wave), ones: 1 })?;
    }
    loop {
        back_end.recv(None)?;
    }
}

fn with_formats(count: usize, hostile: &str) -> (Network, Stream) {
    let program = ProcessDistribution::new(this_program(), ["formats", &count.to_string(), hostile]);
    let network = Network::launch(&program, &options("2x4")).unwrap();
    let stream = network.open(&network.everyone(), ALL).unwrap();
    order(&stream, 0, WAVES, 0);
    (network, stream)
}

pub(crate) fn a_member_that_sends_too_many_formats_is_named_and_agents_stay() {
    let (network, stream) = with_formats(1_100, "3");
    expect_waves(&stream);
    expect_named(&network, "more than 1024 formats");
    expect_agents(&network);
}

pub(crate) fn many_formats_of_several_members_pass_their_agents() {
    let (network, stream) = with_formats(600, "0-7");
    expect_waves(&stream);
    expect_agents(&network);
}

/// Both agents are where they were.
fn expect_agents(network: &Network) {
    let reports: Vec<Report> = std::iter::from_fn(|| network.next_event(Some(Instant::now()))).collect();
    let is_agents = |report: &Report| matches!(report, Report::AgentLost(_) | Report::Adrift(NodeId(1 | 2)));
    assert!(!reports.iter().any(is_agents), "{reports:?}");
}
