//! A member that breaks the rules is named, and harms nobody else: every wave is made of the records of its members.

use std::io::{IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use banyan_boot::{ProcessDistribution, RankSet};
use banyan_link::{Frame, Kind};
use banyan_ndr::{CStruct, Record};
use banyan_tree::{BackEnd, Bodies, Message, Network, NodeId, Report, Run, Stream, StreamId, TreeError, WaveNumber};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Pid, getpid};

use crate::harness::processes::words;
use crate::hostile_member::{ALL, BEHAVIOURS, Behaviour, Hostile, Value};
use crate::relatives::{others, wait_until};
use crate::setup::{Order, deadline, options, order, this_program};

/// Who breaks the rules, among eight.
const RANK: u32 = 3;

/// Its node, behind the front-end and two agents.
const NODE: NodeId = NodeId(3 + RANK);

/// Kinds of frames and a flag of theirs, as `wire` of this crate lists them.
const ADDRESSES: u8 = 33;
const BODIES: u8 = 34;
const PLACED: u8 = 39;
const MEMORY_KIND: u8 = 67;
const ENDED: u8 = 68;
const MORE: u8 = 0x80;

/// The most that an agent, and the front-end of all these networks, may have resident, in KiB: their programs as they are built
/// for tests take some ten MiB.
const MEMORY: [(&str, u64); 2] = [("agent", 96 << 10), ("front-end", 256 << 10)];

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
        let incoming = back_end.recv()?;
        let Order { first, waves, .. } = incoming.read()?;
        if !std::mem::replace(&mut is_honest, true) {
            let speech = (behaviour.speak)(Hostile { rank: RANK, node: NODE, stream: incoming.stream });
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
        expect_named(&network, behaviour.name, behaviour.cause);
        if (behaviour.options)() == banyan_tree::StreamOptions::reduce(ALL) {
            expect_waves(&stream);
        } else {
            let members = if (behaviour.options)().synchronisation.has_waves() { 8 } else { 1 };
            assert_eq!(stream.recv_timeout(deadline()).unwrap().members().len(), members, "{}", behaviour.name);
        }
        expect_bounded(behaviour.name);
    }
}

/// Nobody had to keep what the member has sent.
fn expect_bounded(name: &str) {
    let agents =
        others().into_iter().filter(|pid| words(*pid).get(1).is_none_or(|word| word != "hostile" && word != "misuse"));
    let peaks: Vec<(&str, u64)> =
        agents.filter_map(|pid| Some(("agent", peak(pid)?))).chain([("front-end", peak(getpid()).unwrap())]).collect();
    let is_bounded = |(kind, peak): &(&str, u64)| MEMORY.iter().any(|(known, most)| known == kind && peak <= most);
    assert!(peaks.len() > 1 && peaks.iter().all(is_bounded), "{name}: {peaks:?} KiB");
}

/// The largest resident memory of a process so far, in KiB.
fn peak(pid: Pid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

/// What no program of this library would write to its agent, and what comes of it.
struct Misuse {
    name: &'static str,
    commit: fn(&mut BackEnd, StreamId),
    outcome: Outcome,
}

enum Outcome {
    /// It is named with this cause, cut off, and comes back.
    Named(&'static str),
    /// It is lost, as one that has died or hangs.
    Lost,
}

const MISUSES: &[Misuse] = &[
    Misuse {
        name: "addresses",
        commit: tell_where_the_front_end_is,
        outcome: Outcome::Named("where others can be reached"),
    },
    Misuse { name: "kind", commit: send_an_unknown_kind, outcome: Outcome::Named("is not a message of the tree") },
    Misuse { name: "set", commit: speak_of_an_unknown_set, outcome: Outcome::Named("was never sent") },
    Misuse { name: "bodies", commit: send_bodies_alone, outcome: Outcome::Named("no message has announced") },
    Misuse { name: "pieces", commit: interrupt_a_message, outcome: Outcome::Named("another part of it was to come") },
    Misuse { name: "memory", commit: offer_memory_that_can_shrink, outcome: Outcome::Named("memory") },
    Misuse { name: "header", commit: write_a_broken_header, outcome: Outcome::Named("reserved bits") },
    Misuse { name: "length", commit: announce_four_gibibytes, outcome: Outcome::Named("bytes") },
    Misuse { name: "half", commit: write_half_a_frame_and_fall_silent, outcome: Outcome::Lost },
    Misuse { name: "end", commit: end_in_the_middle_of_a_long_payload, outcome: Outcome::Lost },
];

/// The member.
pub(crate) fn run_misuse(name: &str) -> ExitCode {
    let misuse = MISUSES.iter().find(|misuse| misuse.name == name).unwrap();
    let mut back_end = BackEnd::join().unwrap();
    let mut is_honest = back_end.rank() != RANK;
    loop {
        let Ok(incoming) = back_end.recv() else { return ExitCode::SUCCESS };
        let Ok(Order { first, waves, .. }) = incoming.read() else { return ExitCode::FAILURE };
        if !std::mem::replace(&mut is_honest, true) {
            (misuse.commit)(&mut back_end, incoming.stream);
        }
        for wave in first..first + waves {
            back_end.send(incoming.stream, &Value { value: value(back_end.rank(), wave), ones: 1 }).unwrap();
        }
    }
}

fn frame(kind: u8, payload: &[u8]) -> Frame {
    Frame::new(Kind::data(kind), 0, 0, payload.to_vec())
}

/// All orphans would look for it there.
fn tell_where_the_front_end_is(back_end: &mut BackEnd, _: StreamId) {
    let mut payload = 0u32.to_le_bytes().to_vec();
    payload.extend([1, 3, 127, 0, 0, 1, 9, 0]);
    back_end.say_frame(frame(ADDRESSES, &payload));
}

fn send_an_unknown_kind(back_end: &mut BackEnd, _: StreamId) {
    back_end.say_frame(frame(120, &[0; 100]));
}

fn speak_of_an_unknown_set(back_end: &mut BackEnd, _: StreamId) {
    back_end.say_frame(Frame { stream: 1, sequence: 77, ..frame(ENDED, &[]) });
}

fn send_bodies_alone(back_end: &mut BackEnd, _: StreamId) {
    back_end.say_frame(frame(BODIES, &[0; 160]));
}

/// The first piece of a long message, and then another message.
fn interrupt_a_message(back_end: &mut BackEnd, stream: StreamId) {
    back_end.say_frame(Frame { flags: MORE, ..frame(PLACED, &[0; 1000]) });
    back_end.say(Message::WantAcknowledgement(stream), &[]).unwrap();
}

/// With four descriptors of ordinary files.
fn offer_memory_that_can_shrink(back_end: &mut BackEnd, _: StreamId) {
    let socket = back_end.parent_socket().unwrap();
    let files: Vec<std::fs::File> = (0..4).map(|_| tempfile::tempfile().unwrap()).collect();
    let descriptors: Vec<BorrowedFd<'_>> = files.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)));
    // The first may be taken for an answer to an offer; nobody says it twice.
    for _ in 0..2 {
        let header = header(MEMORY_KIND, 0);
        // After the first it may be cut off already.
        let _ = sendmsg(&socket, &[IoSlice::new(&header)], &mut ancillary, SendFlags::empty());
    }
}

/// A header of a link: `docs/links.md` has its layout.
fn header(kind: u8, length: u32) -> [u8; 32] {
    let mut header = [0; 32];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4] = kind;
    header
}

fn write(back_end: &BackEnd, bytes: &[u8]) {
    UnixStream::from(back_end.parent_socket().unwrap()).write_all(bytes).unwrap();
}

fn write_a_broken_header(back_end: &mut BackEnd, _: StreamId) {
    write(back_end, &[0xff; 64]);
}

fn announce_four_gibibytes(back_end: &mut BackEnd, _: StreamId) {
    write(back_end, &header(PLACED, u32::MAX));
}

fn write_half_a_frame_and_fall_silent(back_end: &mut BackEnd, _: StreamId) {
    write(back_end, &header(PLACED, 1000)[..16]);
    loop {
        std::thread::park();
    }
}

fn end_in_the_middle_of_a_long_payload(back_end: &mut BackEnd, _: StreamId) {
    write(back_end, &header(PLACED, 1 << 20));
    write(back_end, &[0; 100_000]);
    std::process::exit(3);
}

pub(crate) fn a_member_that_misuses_its_link_is_named_or_lost_and_no_wave_is_wrong() {
    for misuse in MISUSES {
        let program = ProcessDistribution::new(this_program(), ["misuse", misuse.name]);
        let mut options = options("2x4");
        if let Outcome::Lost = misuse.outcome {
            options.node.unanswered = Some(Duration::from_secs(2));
        }
        let network = Network::launch(&program, &options).unwrap();
        let stream = network.open(&network.everyone(), ALL).unwrap();
        order(&stream, 0, WAVES, 0);
        match misuse.outcome {
            Outcome::Named(cause) => {
                expect_named(&network, misuse.name, cause);
                expect_waves(&stream);
            }
            Outcome::Lost => {
                for number in 0..WAVES {
                    let wave = stream.recv_timeout(deadline()).unwrap();
                    assert_eq!(wave.members().to_string(), "0-2,4-7", "{}", misuse.name);
                    let CountAndMax { count, max, who } = wave.read().unwrap();
                    assert_eq!((count, max, who), (7, value(7, number), 7), "{wave:?}");
                }
                let is_lost = |report: &Report| matches!(report, Report::Lost(lost) if lost.only() == Some(RANK));
                let lost = || std::iter::from_fn(|| network.try_recv_event().ok().flatten()).find(is_lost);
                wait_until("the member is lost", deadline().unwrap(), lost);
            }
        }
        expect_bounded(misuse.name);
    }
}

fn expect_named(network: &Network, name: &str, cause: &str) {
    let is_named = |report: &Report| matches!(report, Report::Violation { rank: Some(RANK), cause: told, .. } if told.contains(cause));
    let mut reports: Vec<Report> = Vec::new();
    while !reports.iter().any(is_named) {
        let Ok(report) = network.recv_event_timeout(deadline()) else { panic!("{name}, not named: {reports:#?}") };
        reports.push(report);
    }
}

/// Every wave is of all eight, the hostile one's own records included, and of nothing else.
fn expect_waves(stream: &Stream) {
    for number in 0..WAVES {
        let wave = stream.recv_timeout(deadline()).unwrap();
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
    let incoming = back_end.recv()?;
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
        back_end.recv()?;
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
    expect_named(&network, "formats", "more than 1024 formats");
    expect_agents(&network);
}

pub(crate) fn many_formats_of_several_members_pass_their_agents() {
    let (network, stream) = with_formats(600, "0-7");
    expect_waves(&stream);
    expect_agents(&network);
}

/// Both agents are where they were.
fn expect_agents(network: &Network) {
    let reports: Vec<Report> = std::iter::from_fn(|| network.try_recv_event().ok().flatten()).collect();
    let is_agents = |report: &Report| matches!(report, Report::AgentLost(_) | Report::Adrift(NodeId(1 | 2)));
    assert!(!reports.iter().any(is_agents), "{reports:?}");
}
