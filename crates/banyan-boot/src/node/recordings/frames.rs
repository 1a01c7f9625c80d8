//! Everything else that goes over the links of a session, each once, and the texts that are understood before there is a link.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use banyan_link::{Address, Capabilities, Connection, Event, Frame, Kind, LinkOptions, Refused, Secret, SessionId};
use banyan_ndr::Record;
use banyan_ndr::typed::Read;
use banyan_ranks::RankSet;

use super::{Said, file, recorded, transmit};
use crate::assignment::{Assignment, Bytes, Image, Terms, Variable};
use crate::extension::AgentInfo;
use crate::inherited::parse_name;
use crate::launcher::{SshOptions, Way};
use crate::layout::{AgentPlan, Group};
use crate::node::agent_link_options;
use crate::node::greeting::{Greeting, GreetingLine};
use crate::node::root_channel::Progress;
use crate::node::up::{exits, progress, push_exit};
use crate::options::Leftovers;
use crate::problem::{Problem, ProblemKind};
use crate::process::ExitState;
use crate::roster::{AgentHost, Roster};
use crate::staging::{Large, Offer, Tally};
use crate::ticket::{Endpoint, Ticket};
use crate::{described, message};

fn options() -> LinkOptions {
    agent_link_options().window(16_777_280).heartbeat(None).capabilities(Capabilities::NONE)
}

/// The frames that a link of today finds in recorded bytes.
fn frames(end: &mut Connection, mut bytes: &[u8], now: Instant) -> Vec<Frame> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let space = end.space();
        let count = space.len().min(bytes.len());
        space[..count].copy_from_slice(&bytes[..count]);
        end.received(count, now);
        bytes = &bytes[count..];
        while let Some(event) = end.poll_event() {
            match event {
                Event::Opened(_) => {}
                Event::Frame(frame) => all.push(frame),
                other => panic!("{other:?}"),
            }
        }
    }
    all
}

fn assignment() -> Assignment {
    let plan = |host: &str, index, below, groups: &[(u32, u32, u32)]| AgentPlan {
        host: host.into(),
        index,
        below,
        groups: groups
            .iter()
            .map(|(image, first, count)| Group { image: *image, first: *first, count: *count })
            .collect(),
    };
    let image = Image {
        exe: b"/bin/member".to_vec(),
        args: vec![Bytes { bytes: b"-x".to_vec() }, Bytes { bytes: vec![0xff] }],
        env: vec![
            Variable { name: b"A".to_vec(), value: Some(b"1".to_vec()) },
            Variable { name: b"B".to_vec(), value: None },
        ],
        cwd: Some(b"/tmp".to_vec()),
        input: 1,
        forward: true,
        plain: false,
        limits: String::new(),
    };
    let terms = Terms {
        concurrency: 8,
        host_deadline: 5_000,
        grace: 250,
        heartbeat: 1_000,
        silence: 3_000,
        encrypt: true,
        attach_deadline: Some(60_000),
        cache: Some(b"/var/cache".to_vec()),
        leftovers: Leftovers::Tell,
    };
    Assignment {
        session: [7; 16],
        node: 1,
        level: 1,
        size: 5,
        agent_count: 2,
        held: true,
        agents: vec![plan("h1", 0, 1, &[(0, 0, 2), (1, 2, 1)]), plan("h2", 1, 0, &[(0, 3, 2)])],
        images: vec![image.clone(), Image { exe: Vec::new(), args: Vec::new(), ..image }],
        way: Way::Ssh(SshOptions { arguments: vec!["-F".into(), "file".into()] }),
        terms,
        member_secret: Some(vec![9; 32]),
        agent_hash: "ab".repeat(32),
        agent_length: 1 << 33,
        installed_agent: Some("/opt/agent".into()),
        agent_directory: None,
        note: Some(b"a note".to_vec()),
    }
}

fn problem() -> Problem {
    let text = |text: &str| text.to_owned();
    Problem {
        host: text("h1"),
        kind: ProblemKind::Staging,
        cause: text("é"),
        remedy: text("try again"),
        members: text("0-3,7"),
    }
}

fn refused() -> Refused {
    let mut refused = Refused::default();
    (refused.garbage, refused.slow, refused.wrong_secret) = (1, 2, 3);
    (refused.wrong_version, refused.duplicate) = (4, 1 << 40);
    refused
}

fn offer() -> Offer {
    Offer {
        number: 3,
        hash: "cd".repeat(32),
        length: 1 << 33,
        on_disk: 4_096,
        directory: true,
        path: Some(b"/tmp/there".to_vec()),
        name: None,
        names: Some(b"a\0b".to_vec()),
        times: true,
        large: Some(Large { file: "ef".repeat(32), step: 2, offset: 1 << 32, total: 1 << 33, keep: true }),
    }
}

fn agent_info() -> AgentInfo {
    AgentInfo {
        session: [7; 16],
        node: 2,
        level: 1,
        agents: 3,
        size: 8,
        children: 4,
        host: "h2".into(),
        is_one_host: true,
        note: b"a note".to_vec(),
    }
}

/// A record goes over a link, today, and its recording is understood.
fn check_record<R>(name: &str, kind: Kind, record: &R)
where
    R: Record + for<'a> Read<'a> + PartialEq + Debug,
{
    let now = Instant::now();
    let mut sender = Connection::inherited(&options(), now);
    sender.send_record(kind, 0, 0, record).unwrap();
    let then = recorded(&file(name), &[Said::new("hello, format and record", transmit(&mut sender, now))]);
    let mut receiver = Connection::inherited(&options(), now);
    let [frame] = &frames(&mut receiver, &then[0].bytes, now)[..] else { panic!("{name}: not one frame") };
    assert_eq!((frame.kind, receiver.decode::<R>(frame).as_ref()), (kind, Ok(record)), "{name}");
}

#[test]
fn records_of_sessions_of_protocol_1_are_understood() {
    check_record("assignment.txt", message::ASSIGN, &assignment());
    check_record("problem.txt", message::PROBLEM, &problem());
    check_record("refused.txt", message::REFUSED, &refused());
    check_record("offer.txt", message::STAGE_BEGIN, &offer());
}

#[test]
fn numbers_of_sessions_of_protocol_1_are_understood() {
    let states = [
        (7, ExitState::Exited(1)),
        (8, ExitState::Signalled { signal: 11, core_dumped: true }),
        (9, ExitState::OutOfTime),
        (10, ExitState::Left),
        (11, ExitState::NeverStarted(String::new())),
        (12, ExitState::Lost("é".into())),
    ];
    let mut exited = Vec::new();
    states.iter().for_each(|(rank, state)| push_exit(&mut exited, *rank, state));
    let told = Progress { agents: 1, started: 2, failed: 3, joined: 4 };
    let tally = Tally { had: 1, needs: 2, stored: 3, failed: 4, late: 5 };
    let ranks: RankSet = (0..4).chain([7]).collect();
    let mut signalled = Vec::new();
    ranks.encode(&mut signalled);
    let now = Instant::now();
    let mut sender = Connection::inherited(&options(), now);
    let mut say = |what: &str, frame: Frame| {
        sender.send(frame);
        Said::new(what, transmit(&mut sender, now))
    };
    let today = [
        say("hello, and how members ended", Frame::new(message::EXITED, 0, 0, exited)),
        say("progress", Frame::new(message::PROGRESS, 0, 0, told.encode())),
        say("how a transfer stands", Frame::new(message::STAGED, 3, 1, tally.encode())),
        say("a signal for members", Frame::new(message::SIGNAL, 15, 0, signalled)),
    ];
    let then = recorded(&file("numbers.txt"), &today);
    let mut receiver = Connection::inherited(&options(), now);
    let understood: Vec<Frame> = then.iter().flat_map(|said| frames(&mut receiver, &said.bytes, now)).collect();
    let kinds: Vec<Kind> = understood.iter().map(|frame| frame.kind).collect();
    assert_eq!(kinds, [message::EXITED, message::PROGRESS, message::STAGED, message::SIGNAL]);
    assert_eq!(exits(&understood[0].payload), Some(states.to_vec()));
    assert_eq!(progress(&understood[1].payload), Some(told));
    assert_eq!(Tally::decode(&understood[2].payload), Some(tally));
    assert_eq!(RankSet::decode(&understood[3].payload).unwrap().0, ranks);
}

#[test]
fn records_with_their_format_before_them_of_protocol_1_are_understood() {
    let today = described::encode(&agent_info()).unwrap().to_vec();
    let then = recorded(&file("agent-info.txt"), &[Said::new("length of the format, format, record", today)]);
    assert_eq!(described::decode::<AgentInfo>(&then[0].bytes).unwrap(), agent_info());
}

#[test]
fn texts_of_protocol_1_are_understood() {
    let endpoint =
        |host: &str, address: &str| Endpoint { host: host.into(), address: address.parse::<Address>().unwrap() };
    let endpoints = vec![endpoint("n1", "unix:@banyan-1"), endpoint("n1", "tcp:10.0.0.2:7")];
    let ticket = Ticket { session: [7; 16], secret: Secret::from_bytes([9; 32]), until: Some(1_000), endpoints };
    let place = |host: &str, address: &str, below| AgentHost { host: host.into(), address: address.into(), below };
    let (session, secret) = (SessionId([0xa7; 16]), Secret::from_bytes([0x5c; 32]));
    let roster = Roster {
        session,
        secret: secret.clone(),
        agents: vec![place("a", "10.0.0.1", 1), place("b", "", 0)],
        front_end: vec!["10.0.0.1:7".parse().unwrap(), "[::1]:7".parse().unwrap()],
        host_deadline: Duration::from_secs(5),
        encrypt: false,
        heartbeat: banyan_link::Heartbeat::default()
            .every(Duration::from_millis(250))
            .lost_after(Duration::from_secs(1)),
    };
    let ready = format!("{} {}\n", crate::node::greeting::READY, banyan_link::PROTOCOL_VERSION);
    let today = [
        Said::new("ticket", ticket.text().expose()),
        Said::new("roster", roster.to_text().unwrap().expose()),
        Said::new("first line of an agent behind a remote shell", ready),
        Said::new("BANYAN_JOIN", crate::inherited::name_of(3, 4711)),
    ];
    let then = recorded(&file("texts.txt"), &today);
    let text = |at: usize| std::str::from_utf8(&then[at].bytes).unwrap();
    assert_eq!(Ticket::parse(text(0)).unwrap(), ticket);
    let read = Roster::parse(text(1)).unwrap();
    assert!(read.session == session && read.secret == secret && read.agents == roster.agents);
    assert_eq!((read.front_end, read.host_deadline), (roster.front_end, roster.host_deadline));
    assert_eq!((read.encrypt, read.heartbeat), (false, roster.heartbeat));
    assert_eq!(Greeting::default().push(text(2).as_bytes()).1, Some(GreetingLine::Ready { protocol: 1 }));
    assert_eq!(parse_name(text(3)), Ok((3, 4711)));
}
