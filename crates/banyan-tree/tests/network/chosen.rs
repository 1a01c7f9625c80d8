//! Records that the front-end sends to some members of a stream.

use std::collections::BTreeMap;

use banyan_boot::RankSet;
use banyan_tree::{Figures, Network, NodeId, Report, Stream, StreamOptions, Synchronisation, TreeError};
use rustix::process::{Signal, kill_process};

use crate::relatives::agents;
use crate::setup::{ECHO, Text, deadline, network};

/// What each member was sent, or has sent back.
type Texts = BTreeMap<u32, Vec<String>>;

/// A stream on which members send back what they get, each when it gets it.
fn open(network: &Network, members: RankSet) -> Stream {
    let options = StreamOptions::default().synchronised(Synchronisation::None);
    network.open(&members.into(), options).unwrap()
}

fn ranks(text: &str) -> RankSet {
    text.parse().unwrap()
}

/// Sends a text to some members, and notes who is to send it back.
fn send_to(stream: &Stream, members: &RankSet, text: String, sent: &mut Texts) {
    let record = Text { text };
    stream.send_to(members, ECHO, &record).unwrap();
    members.iter().for_each(|rank| sent.entry(rank).or_default().push(format!("{rank}:{}", record.text)));
}

/// The same to all.
fn send(stream: &Stream, text: String, sent: &mut Texts) {
    let record = Text { text };
    stream.send(ECHO, &record).unwrap();
    stream.members().iter().for_each(|rank| sent.entry(rank).or_default().push(format!("{rank}:{}", record.text)));
}

fn note(come: &mut Texts, wave: &banyan_tree::Wave) {
    come.entry(wave.members().only().unwrap()).or_default().push(wave.read::<Text>().unwrap().text);
}

/// Takes as many texts as were sent.
fn receive(stream: &Stream, sent: &Texts, mut come: Texts) -> Texts {
    let count = |texts: &Texts| texts.values().map(Vec::len).sum::<usize>();
    while count(&come) < count(sent) {
        note(&mut come, &stream.recv_timeout(deadline()).unwrap());
    }
    come
}

pub(crate) fn a_record_for_some_members_reaches_these_in_order_and_nobody_else() {
    let network = network("2x2x2", "serve");
    let stream = open(&network, ranks("0-6"));
    let mut sent = Texts::new();
    for number in 0..50 {
        send_to(&stream, &ranks("1,2,6"), format!("{number} for three"), &mut sent);
        send_to(&stream, &ranks("6"), format!("{number} for one"), &mut sent);
        if number % 10 == 9 {
            send(&stream, format!("{number} for all"), &mut sent);
        }
    }
    assert_eq!(receive(&stream, &sent, Texts::new()), sent);
    let text = Text { text: String::new() };
    let refused = stream.send_to(&ranks("0,7-9"), ECHO, &text).unwrap_err();
    assert!(matches!(&refused, TreeError::NotMembers { others, .. } if *others == ranks("7-9")), "{refused}");
    stream.send_to(&RankSet::new(), ECHO, &text).unwrap();
    assert!(stream.try_recv().unwrap().is_none());
}

/// What the agents and members of a network have done, by node.
fn figures(network: &Network) -> BTreeMap<NodeId, Figures> {
    network.figures(deadline().unwrap()).unwrap().into_iter().collect()
}

pub(crate) fn agents_without_chosen_members_get_no_frame_and_hold_nobody_up() {
    let network = network("2x2x2", "serve");
    let stream = open(&network, ranks("0-7"));
    let mut sent = Texts::new();
    send(&stream, "all are there".into(), &mut sent);
    let mut come = receive(&stream, &sent, Texts::new());
    let places = network.nodes();
    let above = |node: NodeId| places.iter().find(|place| place.node == node).map(|place| place.parent);
    let member = places.iter().find(|place| place.rank == Some(5)).unwrap().node;
    let way: Vec<NodeId> = std::iter::successors(Some(member), |node| above(*node)).collect();
    let before = figures(&network);
    // More than the front-end may be ahead of the slowest member.
    let records = 6_000;
    for number in 0..records {
        send_to(&stream, &ranks("5"), number.to_string(), &mut sent);
        while let Some(wave) = stream.try_recv().unwrap() {
            note(&mut come, &wave);
        }
    }
    come = receive(&stream, &sent, come);
    let after = figures(&network);
    for place in &places {
        let [before, after] = [&before, &after].map(|figures| figures[&place.node]);
        let (packets, frames) =
            (after.packets_down - before.packets_down, after.links.frames_received - before.links.frames_received);
        if way.contains(&place.node) {
            assert_eq!(packets, if place.rank.is_none() { records } else { 0 }, "{place:?}");
            assert!(frames > records / 100, "{place:?}: {frames} frames");
        } else {
            // The question for these figures, and heartbeats.
            assert!(packets == 0 && frames < 50, "{place:?}: {packets} packets went on, {frames} frames came");
        }
    }
    send(&stream, "and now all".into(), &mut sent);
    assert_eq!(receive(&stream, &sent, come), sent);
}

pub(crate) fn records_for_some_members_come_once_and_in_order_when_agents_are_killed() {
    let network = network("2x3x2", "serve");
    let stream = open(&network, ranks("0-11"));
    let (mut sent, mut come) = (Texts::new(), Texts::new());
    for number in 0..3_000u32 {
        if number == 700 || number == 1_500 {
            let (_, agent) = agents()[0];
            kill_process(agent, Signal::KILL).unwrap();
        }
        match number % 7 {
            0 => send(&stream, number.to_string(), &mut sent),
            // Members of several agents, of one, and for a time a single one, so that the others hear of a long gap.
            1..=3 => {
                send_to(&stream, &[number % 12, number * 5 % 12].into_iter().collect(), number.to_string(), &mut sent)
            }
            4 => send_to(&stream, &ranks("4-7"), number.to_string(), &mut sent),
            _ => send_to(&stream, &ranks("11"), number.to_string(), &mut sent),
        }
        while let Some(wave) = stream.try_recv().unwrap() {
            note(&mut come, &wave);
        }
    }
    assert_eq!(receive(&stream, &sent, come), sent);
    let reports: Vec<Report> = std::iter::from_fn(|| network.try_recv_event().ok().flatten()).collect();
    assert!(reports.iter().any(|report| matches!(report, Report::Moved { .. })), "nobody moved: {reports:?}");
    assert!(!reports.iter().any(|report| matches!(report, Report::Lost(_))), "somebody is lost: {reports:?}");
}

pub(crate) fn a_record_for_members_of_whom_some_are_lost_reaches_the_others() {
    let network = network("2x2", "serve");
    let stream = open(&network, ranks("0-3"));
    stream.send_to(&ranks("0"), crate::setup::END, &Text { text: String::new() }).unwrap();
    loop {
        if let Report::Lost(lost) = network.recv_event_timeout(deadline()).unwrap() {
            assert_eq!(lost, ranks("0"));
            break;
        }
    }
    stream.send_to(&ranks("0-1"), ECHO, &Text { text: "you".into() }).unwrap();
    assert_eq!(stream.recv_timeout(deadline()).unwrap().read::<Text>().unwrap().text, "1:you");
    let refused = stream.send_to(&ranks("0"), ECHO, &Text { text: "nobody".into() });
    assert!(matches!(refused, Err(TreeError::NobodyLeft { .. })), "{refused:?}");
}
