//! A session of a front-end, an agent and two members: every collective, user data, a mistake and a loss.
//!
//! All its links are real ends of links, but for the sockets. It is recorded with everyone at work; then each is brought back
//! alone, hears what the others said then, and has to say and to understand the same. A member joins once more by a real
//! socket.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use banyan_link::{Capabilities, Connection, Event, Frame, Link, LinkOptions, SessionId};
use bytes::Bytes;

use super::{Said, file, recorded, transmit};
use crate::collective::{
    CallOutcome, Caller, CollectiveError, Collectives, ElementKind, Own, ReduceOp, Subtree, To, belongs_to_collectives,
};
use crate::member::{Member, MemberError};
use crate::message::{self, CHUNK};
use crate::node::{agent_link_options, member_link_options};

const FRONT_END: usize = 0;
const AGENT: usize = 1;
/// Members 0 and 1.
const MASTER: usize = 2;
const MEMBER: usize = 3;

const SESSION: [u8; 16] = [7; 16];

/// How the link between front-end and agent was set up then, …
fn agent_link() -> LinkOptions {
    agent_link_options().window(16_777_280).heartbeat(None).capabilities(Capabilities::NONE)
}

/// … and those between the agent and its members: what later releases announce and grant is not in the recording.
fn member_link() -> LinkOptions {
    member_link_options().window(262_208).heartbeat(None).capabilities(message::SHARED_MEMORY)
}

/// A part in the session, with its ends of links by who is at the other end.
struct Process {
    which: usize,
    part: RecordedRole,
    ends: BTreeMap<usize, Connection>,
    results: Vec<Result<CallOutcome, CollectiveError>>,
    user: Vec<Vec<u8>>,
    now: Instant,
}

enum RecordedRole {
    Inner(Collectives),
    /// What a member calls, once it has been told who it is.
    Member(Option<Caller>),
}

impl Process {
    fn new(which: usize) -> Process {
        let now = Instant::now();
        let agent = Subtree::Agent([0, 1].into_iter().collect());
        let members = vec![Subtree::Member(0), Subtree::Member(1)];
        let end = |other| {
            let is_agents = other == FRONT_END || which == FRONT_END;
            (other, Connection::inherited(&if is_agents { agent_link() } else { member_link() }, now))
        };
        let (part, others) = match which {
            FRONT_END => (RecordedRole::Inner(Collectives::root(vec![agent])), vec![AGENT]),
            AGENT => (RecordedRole::Inner(Collectives::inner(members, 2)), vec![FRONT_END, MASTER, MEMBER]),
            _ => (RecordedRole::Member(None), vec![AGENT]),
        };
        let ends = others.into_iter().map(end).collect();
        Process { which, part, ends, results: Vec::new(), user: Vec::new(), now }
    }

    fn send(&mut self, to: usize, frame: Frame) {
        self.ends.get_mut(&to).expect("a link").send(frame);
    }

    /// Sends what the collectives of an inner node want sent.
    fn deliver(&mut self, out: Vec<(To, Frame)>) {
        let children = if self.which == FRONT_END { vec![AGENT] } else { vec![MASTER, MEMBER] };
        for (to, frame) in out {
            let to = match to {
                To::Parent => vec![FRONT_END],
                To::Child(child) => vec![children[child]],
                To::AllChildren => children.clone(),
                To::AllChildrenBut(but) => {
                    children.iter().enumerate().filter(|(child, _)| *child != but).map(|(_, to)| *to).collect()
                }
            };
            to.into_iter().for_each(|to| self.send(to, frame.clone()));
        }
    }

    fn take(&mut self, from: usize, frame: Frame) {
        let mut out = Vec::new();
        match &mut self.part {
            RecordedRole::Inner(_) if frame.kind == message::USER && self.which == FRONT_END => {
                self.user.push(frame.payload.to_vec());
            }
            RecordedRole::Inner(_) if frame.kind == message::USER => {
                self.send(if from == FRONT_END { MASTER } else { FRONT_END }, frame);
            }
            RecordedRole::Inner(collectives) if from == FRONT_END => {
                collectives.from_parent(frame, self.now, &mut out).unwrap()
            }
            RecordedRole::Inner(collectives) => {
                let child = if from == MEMBER { 1 } else { 0 };
                collectives.from_child(child, frame, self.now, &mut out).unwrap();
            }
            RecordedRole::Member(caller) if frame.kind == message::WELCOME => {
                assert_eq!(frame.payload[..16], SESSION);
                *caller = Some(Caller::new(frame.stream, frame.sequence));
            }
            RecordedRole::Member(_) if frame.kind == message::USER => self.user.push(frame.payload.to_vec()),
            RecordedRole::Member(caller) => {
                assert!(belongs_to_collectives(frame.kind));
                if let Err(error) = caller.as_mut().unwrap().handle(frame) {
                    self.results.push(Err(error));
                }
            }
        }
        self.deliver(out);
        self.pump();
    }

    /// A member enters a collective.
    fn call(&mut self, own: Own) {
        let RecordedRole::Member(Some(caller)) = &mut self.part else { panic!("nobody has said who it is") };
        let enter = caller.begin(own).unwrap();
        self.send(AGENT, enter);
        self.pump();
    }

    /// Sends the data of a member, as soon as it may.
    fn pump(&mut self) {
        while let RecordedRole::Member(Some(caller)) = &mut self.part
            && let Some(frame) = caller.next_chunk(CHUNK)
        {
            self.send(AGENT, frame);
        }
        if let RecordedRole::Member(Some(caller)) = &mut self.part {
            self.results.extend(caller.take_result().map(Ok));
        }
    }

    /// What it has to say to another one.
    fn say(&mut self, to: usize) -> Vec<u8> {
        self.ends.get_mut(&to).map(|end| transmit(end, self.now)).unwrap_or_default()
    }

    fn hear(&mut self, from: usize, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let connection = self.ends.get_mut(&from).expect("a link");
            let space = connection.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            connection.received(count, self.now);
            bytes = &bytes[count..];
            let events: Vec<Event> = std::iter::from_fn(|| connection.poll_event()).collect();
            for event in events {
                match event {
                    Event::Opened(_) => {}
                    Event::Frame(frame) => {
                        if frame.kind.is_data() {
                            self.ends.get_mut(&from).expect("a link").release(frame.cost());
                        }
                        self.take(from, frame);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn expect(&mut self, expected: &[CallOutcome]) {
        let results = self.results.drain(..).collect::<Result<Vec<_>, _>>().unwrap();
        assert_eq!(results, expected);
    }

    fn expect_failure(&mut self, why: &str) {
        let [Err(error)] = &self.results[..] else { panic!("{:?}", self.results) };
        assert!(error.to_string().contains(why), "{error}");
        self.results.clear();
    }

    fn inner(&mut self) -> &mut Collectives {
        let RecordedRole::Inner(collectives) = &mut self.part else { panic!("a member") };
        collectives
    }
}

fn bytes(bytes: &'static [u8]) -> Bytes {
    Bytes::from_static(bytes)
}

fn parts(parts: &[&'static [u8]]) -> Vec<Bytes> {
    parts.iter().map(|part| Bytes::from_static(part)).collect()
}

/// The master's sum, and everyone's.
const NUMBERS: [&[u8]; 3] = [&[1, 0, 0, 0, 2, 0, 0, 0], &[3, 0, 0, 0, 4, 0, 0, 0], &[4, 0, 0, 0, 6, 0, 0, 0]];

fn sum(own: usize) -> Own {
    Own::AllReduce(ReduceOp::Sum, ElementKind::U32, bytes(NUMBERS[own]))
}

/// What happens, at whom, and how.
type Step = (&'static str, usize, fn(&mut Process));

/// What happens at whom, one after the other. Everything that follows is said before the next.
const STEPS: &[Step] = &[
    ("the front-end begins", FRONT_END, |_| {}),
    ("the agent welcomes its members", AGENT, |end| {
        for (rank, to) in [(0, MASTER), (1, MEMBER)] {
            end.send(to, Frame::new(message::WELCOME, rank, 2, [&SESSION[..], b"a note"].concat()));
        }
    }),
    ("the master enters a barrier", MASTER, |end| end.call(Own::Barrier)),
    ("member 1 enters a barrier", MEMBER, |end| end.call(Own::Barrier)),
    ("member 1 waits for a broadcast", MEMBER, |end| {
        end.expect(&[CallOutcome::Done]);
        end.call(Own::Broadcast(None));
    }),
    ("the master broadcasts", MASTER, |end| {
        end.expect(&[CallOutcome::Done]);
        end.call(Own::Broadcast(Some(bytes(b"to everyone"))));
    }),
    ("the master scatters", MASTER, |end| end.call(Own::Scatter(Some(parts(&[b"to 0", b"to 1"]))))),
    ("member 1 gets its part", MEMBER, |end| {
        end.expect(&[CallOutcome::Bytes(bytes(b"to everyone"))]);
        end.call(Own::Scatter(None));
    }),
    ("member 1 gives to the master", MEMBER, |end| {
        end.expect(&[CallOutcome::Bytes(bytes(b"to 1"))]);
        end.call(Own::Gather(bytes(b"of 1")));
    }),
    ("the master gathers", MASTER, |end| {
        end.expect(&[CallOutcome::Bytes(bytes(b"to everyone")), CallOutcome::Bytes(bytes(b"to 0"))]);
        end.call(Own::Gather(bytes(b"of 0")));
    }),
    ("member 1 gives to all", MEMBER, |end| {
        end.expect(&[CallOutcome::Done]);
        end.call(Own::AllGather(bytes(b"1")));
    }),
    ("the master gives to all", MASTER, |end| {
        end.expect(&[CallOutcome::Parts(parts(&[b"of 0", b"of 1"]))]);
        end.call(Own::AllGather(bytes(b"0")));
    }),
    ("the master adds", MASTER, |end| {
        end.expect(&[CallOutcome::Parts(parts(&[b"0", b"1"]))]);
        end.call(sum(0));
    }),
    ("member 1 adds", MEMBER, |end| {
        end.expect(&[CallOutcome::Parts(parts(&[b"0", b"1"]))]);
        end.call(sum(1));
    }),
    ("the master has the sum, and talks to the front-end", MASTER, |end| {
        end.expect(&[CallOutcome::Bytes(bytes(NUMBERS[2]))]);
        end.send(AGENT, Frame::new(message::USER, 0, 0, b"question".to_vec()));
    }),
    ("the front-end answers", FRONT_END, |end| {
        assert_eq!(end.user, [b"question"]);
        end.send(AGENT, Frame::new(message::USER, 0, 0, b"answer".to_vec()));
    }),
    ("the master waits for all", MASTER, |end| {
        assert_eq!(end.user, [b"answer"]);
        end.call(Own::Barrier);
    }),
    ("member 1 makes a mistake", MEMBER, |end| {
        end.expect(&[CallOutcome::Bytes(bytes(NUMBERS[2]))]);
        end.call(Own::Gather(bytes(b"why not")));
    }),
    ("the master hears of it", MASTER, |end| end.expect_failure("member 1 in gather")),
    ("member 1 hears of it with its next call", MEMBER, |end| {
        end.expect(&[CallOutcome::Done]);
        let RecordedRole::Member(Some(caller)) = &mut end.part else { panic!("nobody has said who it is") };
        end.results.extend(caller.begin(Own::Barrier).err().map(Err));
        end.expect_failure("member 1 in gather");
    }),
    ("member 1 dies", AGENT, |end| {
        let mut out = Vec::new();
        end.inner().member_gone(1, "member 1 on host h was killed".into(), &mut out);
        end.deliver(out);
    }),
];

/// What stands in the recording before bytes.
fn heading(step: usize, from: usize, to: usize) -> String {
    format!("{}: from node {from} to node {to}", STEPS[step].0)
}

/// Everyone at work.
fn play() -> Vec<Said> {
    let mut all: Vec<Process> = (0..4).map(Process::new).collect();
    let mut said = Vec::new();
    for (step, (_, which, act)) in STEPS.iter().enumerate() {
        act(&mut all[*which]);
        while let Some((from, to, bytes)) = next(&mut all) {
            all[to].hear(from, &bytes);
            said.push(Said::new(&heading(step, from, to), bytes));
        }
    }
    said
}

/// The next who has something to say to somebody.
fn next(all: &mut [Process]) -> Option<(usize, usize, Vec<u8>)> {
    (0..all.len()).find_map(|from| {
        let to: Vec<usize> = all[from].ends.keys().copied().collect();
        to.into_iter().map(|to| (from, to, all[from].say(to))).find(|(_, _, bytes)| !bytes.is_empty())
    })
}

/// From whom to whom something was said.
fn way(said: &Said) -> (usize, usize) {
    let numbers: Vec<usize> = said.what.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [.., from, to] = numbers[..] else { panic!("{}", said.what) };
    (from, to)
}

/// One at work, among recorded ones.
fn replay(alone: usize, then: &[Said]) {
    let mut process = Process::new(alone);
    let mut then = then.iter().peekable();
    for (what, which, act) in STEPS {
        if *which == alone {
            act(&mut process);
        }
        while let Some(said) = then.next_if(|said| said.what.starts_with(&format!("{what}: "))) {
            let (from, to) = way(said);
            if from == alone {
                assert!(process.say(to) == said.bytes, "{}: says something else among recorded ones", said.what);
            }
            if to == alone {
                process.hear(from, &said.bytes);
            }
        }
    }
    assert!(then.next().is_none(), "not all of the recording was heard");
}

#[test]
fn a_session_of_protocol_1_is_understood_by_each_of_its_processes() {
    let then = recorded(&file("session.txt"), &play());
    (0..4).for_each(|alone| replay(alone, &then));
}

#[test]
fn a_member_joins_an_agent_of_protocol_1() {
    let then = recorded(&file("session.txt"), &play());
    let (ours, theirs) = UnixStream::pair().unwrap();
    let agent = std::thread::spawn(move || {
        let mut socket = theirs;
        for said in &then {
            match way(said) {
                // What it says may be longer by nothing: a member of today has other capabilities, in the same places.
                (MEMBER, AGENT) => socket.read_exact(&mut vec![0; said.bytes.len()]).unwrap(),
                (AGENT, MEMBER) => socket.write_all(&said.bytes).unwrap(),
                _ => {}
            }
        }
        socket
    });
    let mut member =
        Member::welcome(Link::inherited(ours.into(), &member_link_options()), Instant::now() + Duration::from_secs(10))
            .unwrap();
    assert_eq!((member.rank(), member.size(), member.note()), (1, 2, &b"a note"[..]));
    assert_eq!(member.session(), SessionId(SESSION));
    member.barrier().unwrap();
    assert_eq!(member.broadcast(None::<Bytes>).unwrap(), b"to everyone"[..]);
    assert_eq!(member.scatter(None).unwrap(), b"to 1"[..]);
    assert_eq!(member.gather(bytes(b"of 1")).unwrap(), None);
    assert_eq!(member.all_gather(bytes(b"1")).unwrap(), parts(&[b"0", b"1"]));
    assert_eq!(member.all_reduce(ReduceOp::Sum, &[3u32, 4]).unwrap(), [4, 6]);
    assert_eq!(member.gather(bytes(b"why not")).unwrap(), None);
    let failed = member.barrier().unwrap_err();
    assert!(matches!(failed, MemberError::Collective(_)) && failed.to_string().contains("in gather"), "{failed}");
    agent.join().unwrap();
}
