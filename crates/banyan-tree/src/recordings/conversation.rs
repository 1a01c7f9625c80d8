//! A network of a front-end, an agent and two members: from its beginning over waves and the agent's death to its end.
//!
//! All its links are real ends of links, but for the sockets. It is recorded with every node at work; then every node is
//! brought back alone, hears what the others said then, and has to say and to understand the same.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::RankSet;
use banyan_link::{Connection, Event};
use banyan_ndr::{ByteOrder, CStruct, Format};
use banyan_reduce::Bodies;
use bytes::Bytes;

use super::{Said, file, recorded, transmit};
use crate::clocks::NodeClock;
use crate::driver::silent_links;
use crate::first_of::FirstOf;
use crate::ids::{Level, LinkId, NodeId, StreamId, Time};
use crate::message::{Ancestor, Ancestry, Candidate};
use crate::node::{Action, LinkFigures, Node, NodeOptions};
use crate::stream_options::StreamOptions;
use crate::wire::{AddressBook, Decoder, Encoder, LONGEST_MESSAGE, SHARED_MEMORY};

const FRONT_END: usize = 0;
const AGENT: usize = 1;
const MEMBERS: [usize; 2] = [2, 3];
const STREAM: StreamId = StreamId(1);

fn format() -> Format {
    CStruct::new("number", 4, 4).order(ByteOrder::Little).int("value", 0, 4).build().unwrap()
}

/// One end of a link, and what was said on it.
struct RecordedEnd {
    link: LinkId,
    connection: Connection,
    encoder: Encoder,
    decoder: Decoder,
}

/// A node, its links by the node at the other end, and its clock.
struct Process {
    node: Node,
    ends: BTreeMap<usize, RecordedEnd>,
    book: AddressBook,
    now: Time,
    begin: Instant,
}

impl Process {
    fn new(which: usize) -> Process {
        // What later releases choose by default is their business.
        let options = NodeOptions { seed: 7, ..NodeOptions::default() };
        let above = |node: usize, level| Ancestor {
            itself: Candidate { node: NodeId(node as u32), level: Level(level) },
            children: Vec::new(),
        };
        let (id, filters) = (NodeId(which as u32), Arc::new(FirstOf));
        let node = match which {
            FRONT_END => Node::front_end(options, filters),
            AGENT => Node::below(id, None, Level(1), Ancestry::from([above(FRONT_END, 0)]), options, filters),
            member => {
                let ancestry = Ancestry::from([above(AGENT, 1), above(FRONT_END, 0)]);
                Node::below(id, Some((member - MEMBERS[0]) as u32), Level(2), ancestry, options, filters)
            }
        };
        Process { node, ends: BTreeMap::new(), book: AddressBook::new(), now: Time(0), begin: Instant::now() }
    }

    fn add_end(&mut self, to: usize, link: LinkId) {
        // What later releases announce and grant is not in the recording.
        let (window, capabilities) = (4_440_192, SHARED_MEMORY);
        let options = silent_links(Duration::from_secs(60)).window(window).capabilities(capabilities);
        let connection = Connection::inherited(&options, self.begin);
        let (encoder, decoder) = (Encoder::new(1 << 20), Decoder::new(LONGEST_MESSAGE));
        self.ends.insert(to, RecordedEnd { link, connection, encoder, decoder });
    }

    /// Does what the node wants.
    fn act(&mut self) {
        while let Some(action) = self.node.action() {
            match action {
                Action::Dial { link, to } => {
                    self.add_end(to.0 as usize, link);
                    self.node.linked(link, self.now);
                }
                Action::Send { link, message } => {
                    let Some(end) = self.ends.values_mut().find(|end| end.link == link) else { continue };
                    let mut frames = Vec::new();
                    end.encoder.encode(&message, &self.book, &mut frames);
                    for frame in frames {
                        if frame.format.is_some() {
                            end.connection.send_format(&format()).unwrap();
                        }
                        end.connection.send(frame);
                    }
                }
                Action::Close(link) | Action::LetGo(link) => self.ends.retain(|_, end| end.link != link),
                Action::Drain(link) => self.node.drained(link),
                Action::Count(question) => self.node.answer(question, LinkFigures::default()),
                Action::CountClocks(question) => self.node.answer_clocks(question, NodeClock::unknown(NodeId::ROOT)),
                Action::Examine(link) => self.node.examined(link, None, self.now),
                Action::Report(_) => {}
            }
        }
    }

    /// What it has to say to another one.
    fn say(&mut self, to: usize) -> Vec<u8> {
        self.ends.get_mut(&to).map(|end| transmit(&mut end.connection, self.begin)).unwrap_or_default()
    }

    fn hear(&mut self, from: usize, mut bytes: &[u8]) {
        if !self.ends.contains_key(&from) {
            let link = self.node.accepted();
            self.add_end(from, link);
        }
        while let Some(end) = self.ends.get_mut(&from).filter(|_| !bytes.is_empty()) {
            let space = end.connection.space();
            let count = space.len().min(bytes.len());
            space[..count].copy_from_slice(&bytes[..count]);
            end.connection.received(count, self.begin);
            bytes = &bytes[count..];
            let mut heard = Vec::new();
            while let Some(event) = end.connection.poll_event() {
                match event {
                    Event::Opened(_) => {}
                    Event::Frame(frame) => {
                        end.connection.release(frame.cost());
                        heard.extend(end.decoder.decode(&frame, &mut self.book).unwrap());
                    }
                    other => panic!("{other:?}"),
                }
            }
            let link = end.link;
            for message in heard {
                self.node.message(link, message, self.now);
                self.act();
            }
        }
    }

    /// The process at the other end has died.
    fn lose(&mut self, whom: usize) {
        if let Some(end) = self.ends.remove(&whom) {
            self.node.closed(end.link, self.now);
        }
    }

    fn contribute(&mut self, value: i32) {
        let bodies = Bodies::one(format().id(), Bytes::copy_from_slice(&value.to_le_bytes()));
        self.node.contribute(STREAM, bodies).unwrap();
    }

    /// What the front-end gets of its stream.
    fn waves(&mut self) -> Vec<(u64, u32, String, Vec<u8>)> {
        let delivery = |delivery: crate::node::Delivery| {
            let bytes = delivery.bodies.unwrap().bytes().to_vec();
            (delivery.first.0, delivery.count, delivery.members.to_string(), bytes)
        };
        std::iter::from_fn(|| self.node.take_waves(STREAM)).map(delivery).collect()
    }

    fn expect_packet(&mut self, tag: u32, body: &[u8]) {
        let received = self.node.take_packet(STREAM).expect("a packet");
        let (of, bytes) = received.record.unwrap();
        assert_eq!((received.tag, of, &bytes[..]), (tag, format().id(), body));
    }
}

/// What happens, at whom, and how.
type Step = (&'static str, usize, fn(&mut Process));

/// What happens at which node, one after the other. Everything that follows is said before the next.
const STEPS: &[Step] = &[
    ("the agent begins", AGENT, |_| {}),
    ("member 0 begins", MEMBERS[0], |_| {}),
    ("member 1 begins", MEMBERS[1], |_| {}),
    ("a stream is opened", FRONT_END, |end| {
        let members: RankSet = (0..2).collect();
        assert_eq!(end.node.open(Arc::new(members), StreamOptions::filter("first", "")).unwrap(), STREAM);
    }),
    ("a record is sent down", FRONT_END, |end| {
        end.node.multicast(STREAM, 5, format().id(), Bytes::from_static(&[1, 0, 0, 0])).unwrap();
    }),
    ("member 0 gets it, and answers twice", MEMBERS[0], |end| {
        end.expect_packet(5, &[1, 0, 0, 0]);
        end.contribute(10);
        end.contribute(11);
    }),
    ("member 1 gets it, and answers once", MEMBERS[1], |end| {
        end.expect_packet(5, &[1, 0, 0, 0]);
        end.contribute(20);
    }),
    ("the front-end takes a wave", FRONT_END, |end| {
        assert_eq!(end.waves(), [(0, 1, "0-1".into(), vec![10, 0, 0, 0])]);
    }),
    ("member 0 loses the agent", MEMBERS[0], |end| end.lose(AGENT)),
    ("member 1 loses the agent", MEMBERS[1], |end| end.lose(AGENT)),
    ("the front-end loses the agent", FRONT_END, |end| end.lose(AGENT)),
    ("member 0 has waited a moment", MEMBERS[0], |_| {}),
    ("member 1 has waited a moment", MEMBERS[1], |_| {}),
    ("member 1 answers again", MEMBERS[1], |end| end.contribute(21)),
    ("the front-end takes another wave, and sends", FRONT_END, |end| {
        assert_eq!(end.waves(), [(1, 1, "0-1".into(), vec![11, 0, 0, 0])]);
        end.node.multicast(STREAM, 6, format().id(), Bytes::from_static(&[2, 0, 0, 0])).unwrap();
    }),
    ("member 0 gets it", MEMBERS[0], |end| end.expect_packet(6, &[2, 0, 0, 0])),
    ("the stream is closed", FRONT_END, |end| end.node.close(STREAM)),
    ("the network ends", FRONT_END, |end| end.node.end()),
];

/// Time between two steps: too little for anybody's patience.
const PAUSE: Duration = Duration::from_millis(100);

/// What stands in the recording before bytes.
fn heading(step: usize, from: usize, to: usize) -> String {
    format!("{}: from node {from} to node {to}", STEPS[step].0)
}

/// All nodes at work.
fn play() -> Vec<Said> {
    let mut all: Vec<Process> = (0..4).map(Process::new).collect();
    let mut said = Vec::new();
    for (step, (_, which, act)) in STEPS.iter().enumerate() {
        let process = &mut all[*which];
        process.now = Time(0).after(PAUSE * step as u32);
        act(process);
        process.node.wake(process.now);
        process.act();
        while let Some((from, to, bytes)) = next(&mut all) {
            said.push(Said::new(&heading(step, from, to), bytes.clone()));
            // What is said to the dead is lost.
            if !(to == AGENT && step > 7) {
                all[to].hear(from, &bytes);
            }
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

/// One node at work, among recorded ones.
fn replay(alone: usize, then: &[Said]) {
    let mut process = Process::new(alone);
    let mut then = then.iter().peekable();
    for (step, (what, which, act)) in STEPS.iter().enumerate() {
        if *which == alone {
            process.now = Time(0).after(PAUSE * step as u32);
            act(&mut process);
            process.node.wake(process.now);
            process.act();
        }
        while let Some(said) = then.next_if(|said| said.what.starts_with(&format!("{what}: "))) {
            let numbers: Vec<usize> = said.what.split(' ').filter_map(|word| word.parse().ok()).collect();
            let [.., from, to] = numbers[..] else { panic!("{}", said.what) };
            if from == alone && !(alone == AGENT && step > 7) {
                assert!(process.say(to) == said.bytes, "{}: says something else among recorded nodes", said.what);
            }
            if to == alone && !(alone == AGENT && step > 7) {
                process.hear(from, &said.bytes);
            }
        }
    }
    assert!(then.next().is_none(), "not all of the recording was heard");
}

#[test]
fn a_network_of_protocol_1_is_understood_by_each_of_its_nodes() {
    let then = recorded(&file("network.txt"), &play());
    (0..4).for_each(|alone| replay(alone, &then));
}
