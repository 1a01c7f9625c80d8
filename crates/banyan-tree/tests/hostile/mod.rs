//! A hostile member: what it says to its agent, one behaviour a function. Each breaks one rule, and has to be named for it.
//!
//! Tests of nodes give these messages to an agent by hand; tests of networks have a member process say them
//! (`BackEnd::say`), as a program would that speaks the protocol by itself.

use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::{Buffer, Format, Record};
use banyan_tree::reduce::{COLLECT, FilterRole, Filters, Output, Part, Reduction, ReductionLimits};
use banyan_tree::{
    Attach, Bodies, Direction, Epoch, Gone, Level, Message, NodeId, NodeInfo, Run, StreamId, StreamOptions, WaveNumber,
    Yields,
};
use bytes::Bytes;

/// What all members of these tests send.
#[derive(Record)]
pub(crate) struct Value {
    pub(crate) value: i64,
    pub(crate) ones: u32,
}

/// Who speaks, and on which stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hostile {
    pub(crate) rank: u32,
    pub(crate) node: NodeId,
    pub(crate) stream: StreamId,
}

/// What it says, and the formats that it has to describe first.
pub(crate) struct Speech {
    pub(crate) messages: Vec<Message>,
    pub(crate) formats: Vec<Format>,
}

/// One way to break the rules.
pub(crate) struct Behaviour {
    pub(crate) name: &'static str,
    /// On a stream of these options.
    pub(crate) options: fn() -> StreamOptions,
    pub(crate) speak: fn(Hostile) -> Speech,
    /// What the report of it says.
    pub(crate) cause: &'static str,
}

macro_rules! behaviours {
    ($($speak:ident on $options:expr, cause $cause:literal;)*) => {
        &[$(Behaviour { name: stringify!($speak), options: || $options, speak: $speak, cause: $cause }),*]
    };
}

/// All of them.
pub(crate) const BEHAVIOURS: &[Behaviour] = behaviours![
    speaks_for_a_thousand_by_a_mark on StreamOptions::reduce(ALL), cause "members have no filter";
    names_another_in_a_marked_extreme on StreamOptions::reduce(ALL), cause "members have no filter";
    collects_for_another_by_a_mark on StreamOptions::collect(), cause "members have no filter";
    says_that_it_has_nothing_where_everyone_sends on StreamOptions::reduce(ALL), cause "members have no filter";
    says_that_a_filter_took_its_records on without_waves(), cause "members have no filter";
    sends_several_records_of_one on without_waves(), cause "members have no filter";
    names_another_in_an_interval on intervals(ALL), cause "names members 0";
    names_others_in_a_class_of_an_interval on intervals("classes(ones)"), cause "names members 0-2";
    collects_for_another_in_an_interval on intervals(""), cause "names members 0";
    contributes_for_others on StreamOptions::reduce(ALL), cause "contribution of members 0,3";
    asks_for_packets_again_and_again on StreamOptions::reduce(ALL), cause "asked for packets of stream 1 again and again";
    tells_of_nodes_below_it on StreamOptions::reduce(ALL), cause "told of nodes below it";
    tells_that_another_is_gone on StreamOptions::reduce(ALL), cause "told that a node is gone";
    tells_that_others_have_ended on StreamOptions::reduce(ALL), cause "told of the ends of others";
    blames_another on StreamOptions::reduce(ALL), cause "told of what others did";
    reports_a_filter_of_its_agent on StreamOptions::reduce(ALL), cause "told of what others did";
    tells_that_others_lack_a_field on StreamOptions::reduce(ALL), cause "told what records lack";
    counts_for_its_agent on StreamOptions::reduce(ALL), cause "told what";
    speaks_as_a_parent on StreamOptions::reduce(ALL), cause "what only a parent says";
    attaches_again_with_later_epochs on StreamOptions::reduce(ALL), cause "says again that it is one";
    attaches_as_another on StreamOptions::reduce(ALL), cause "says";
    begins_far_ahead on StreamOptions::reduce(ALL), cause "waves ahead of what was acknowledged";
    contributes_far_ahead_by_itself on StreamOptions::reduce(ALL), cause "waves ahead of what was acknowledged";
    goes_far_ahead on StreamOptions::reduce(ALL), cause "waves ahead of what was acknowledged";
    goes_back on StreamOptions::reduce(ALL), cause "was next";
    takes_what_was_not_sent on StreamOptions::reduce(ALL), cause "and was sent those before";
];

/// A wave, or a packet, that no network comes to.
const WAY_AHEAD: u64 = 1 << 60;

/// The reduction of most streams.
pub(crate) const ALL: &str = "count(), max(value)";

fn without_waves() -> StreamOptions {
    StreamOptions::default().synchronised("none".parse().unwrap())
}

fn intervals(reduction: &str) -> StreamOptions {
    let options = if reduction.is_empty() { StreamOptions::collect() } else { StreamOptions::reduce(reduction) };
    options.synchronised("interval value 1000000000000".parse().unwrap())
}

/// What a reduction makes of records of these members.
fn reduced(specification: &str, members: impl IntoIterator<Item = u32>) -> (Format, Bytes) {
    let mut reduction = Reduction::new(specification.parse().unwrap(), ReductionLimits::default());
    let mut body = Vec::new();
    banyan_ndr::typed::encode_body_into(&Value { value: 9_000_000, ones: 1 }, &mut body).unwrap();
    for rank in members {
        let members = RankSet::from_iter([rank]);
        reduction.add(&Part { members: &members, format: Value::format(), body: &body, is_partial: false }).unwrap();
    }
    let mut out = Buffer::new();
    let format = reduction.partial(&mut out).unwrap().clone();
    (format, Bytes::copy_from_slice(&out))
}

/// What is collected of a record of this member.
fn collected(rank: u32) -> (Format, Bytes) {
    let mut collect = Filters::new(ReductionLimits::default()).make(COLLECT, b"").unwrap();
    let mut body = Vec::new();
    banyan_ndr::typed::encode_body_into(&Value { value: 9_000_000, ones: 1 }, &mut body).unwrap();
    let members = RankSet::from_iter([rank]);
    let part = Part { members: &members, format: Value::format(), body: &body, is_partial: false };
    let mut out = Output::new();
    collect.wave(&[part], FilterRole::Inner, &mut out).unwrap();
    let (format, body) = out.take().next().unwrap();
    (format, Bytes::copy_from_slice(&body))
}

/// A contribution to the first wave, marked as made by a filter.
fn marked(hostile: Hostile, (format, body): (Format, Bytes)) -> Speech {
    let bodies = Bodies::one(format.id(), body);
    Speech { messages: vec![contribution(hostile, [hostile.rank], true, bodies)], formats: vec![format] }
}

fn contribution(hostile: Hostile, members: impl IntoIterator<Item = u32>, is_partial: bool, bodies: Bodies) -> Message {
    let members = Arc::new(RankSet::from_iter(members));
    Message::Run(Run {
        stream: hostile.stream,
        first: WaveNumber(0),
        members,
        is_fresh: true,
        is_partial,
        yields: None,
        bodies,
    })
}

fn speaks_for_a_thousand_by_a_mark(hostile: Hostile) -> Speech {
    marked(hostile, reduced(ALL, 0..1000))
}

fn names_another_in_a_marked_extreme(hostile: Hostile) -> Speech {
    marked(hostile, reduced(ALL, [0]))
}

fn collects_for_another_by_a_mark(hostile: Hostile) -> Speech {
    marked(hostile, collected(0))
}

fn says_that_it_has_nothing_where_everyone_sends(hostile: Hostile) -> Speech {
    let nothing = Bodies::absent(std::num::NonZeroU32::MIN);
    Speech { messages: vec![contribution(hostile, [hostile.rank], true, nothing)], formats: Vec::new() }
}

fn says_that_a_filter_took_its_records(hostile: Hostile) -> Speech {
    let nothing = Bodies::absent(1000.try_into().unwrap());
    Speech { messages: vec![contribution(hostile, [hostile.rank], false, nothing)], formats: Vec::new() }
}

fn sends_several_records_of_one(hostile: Hostile) -> Speech {
    let (format, body) = reduced(ALL, [hostile.rank]);
    let bodies = Bodies::of_size(format.id(), body.len() as u32, 2, [&body[..], &body[..]].concat().into()).unwrap();
    let yields = Yields::new(1, [0, 0].into());
    let members = Arc::new(RankSet::from_iter([hostile.rank]));
    let (stream, first) = (hostile.stream, WaveNumber(0));
    let run = Run { stream, first, members, is_fresh: true, is_partial: false, yields, bodies };
    Speech { messages: vec![Message::Run(run)], formats: vec![format] }
}

fn names_another_in_an_interval(hostile: Hostile) -> Speech {
    marked(hostile, reduced(ALL, [0]))
}

fn names_others_in_a_class_of_an_interval(hostile: Hostile) -> Speech {
    marked(hostile, reduced("classes(ones)", 0..=3))
}

fn collects_for_another_in_an_interval(hostile: Hostile) -> Speech {
    marked(hostile, collected(0))
}

fn contributes_for_others(hostile: Hostile) -> Speech {
    let (format, body) = reduced(ALL, [0]);
    let bodies = Bodies::one(format.id(), body);
    Speech { messages: vec![contribution(hostile, [0, hostile.rank], true, bodies)], formats: vec![format] }
}

/// So often that the answers, which nobody reads meanwhile, are more than a link holds.
fn asks_for_packets_again_and_again(hostile: Hostile) -> Speech {
    let again = Message::Resend { stream: hostile.stream, from: 0 };
    said(vec![again; 100_000])
}

fn tells_of_nodes_below_it(hostile: Hostile) -> Speech {
    let place = NodeInfo {
        node: NodeId(1000),
        parent: NodeId(hostile.rank),
        epoch: Epoch(1),
        level: Level(9),
        rank: Some(1000),
    };
    said([Message::Placed { places: vec![place], resumes: Vec::new(), is_new: true }])
}

fn tells_that_another_is_gone(_: Hostile) -> Speech {
    let gone = Gone { node: NodeId(1), epoch: Epoch(u32::MAX), is_certain: true, resumes: Vec::new() };
    said([Message::Gone(gone)])
}

fn tells_that_others_have_ended(hostile: Hostile) -> Speech {
    said([Message::Ended { node: NodeId(hostile.rank), members: Arc::new((0..3).collect()) }])
}

fn blames_another(_: Hostile) -> Speech {
    said([Message::Violated { node: NodeId(1), child: NodeId(3), cause: "it was that one".into() }])
}

fn reports_a_filter_of_its_agent(hostile: Hostile) -> Speech {
    let (node, wave, cause) = (NodeId(1), WaveNumber(0), "it is \u{1b}[31mbroken".into());
    said([Message::Uncombined { node, stream: hostile.stream, direction: Direction::Up, wave, cause }])
}

fn tells_that_others_lack_a_field(hostile: Hostile) -> Speech {
    let (field, members) = ("\u{1b}[31mvalue".into(), Arc::new((0..3).collect()));
    said([Message::FieldMissing { stream: hostile.stream, field, members }])
}

fn counts_for_its_agent(_: Hostile) -> Speech {
    let answer = |question| Message::Counted { question, node: NodeId(1), figures: Box::default() };
    said((0..1000).map(answer))
}

fn speaks_as_a_parent(hostile: Hostile) -> Speech {
    said([Message::Acknowledge { stream: hostile.stream, until: WaveNumber(WAY_AHEAD) }])
}

fn attach(node: NodeId, epoch: u32, rank: u32) -> Message {
    let place = NodeInfo { node, parent: NodeId(1), epoch: Epoch(epoch), level: Level(2), rank: Some(rank) };
    Message::Attach(Attach { place, is_urgent: true, is_new: true, below: Vec::new(), resumes: Vec::new() })
}

fn attaches_again_with_later_epochs(hostile: Hostile) -> Speech {
    said((1..1000).map(|epoch| attach(hostile.node, epoch << 8, hostile.rank)))
}

fn attaches_as_another(hostile: Hostile) -> Speech {
    said([attach(NodeId(hostile.node.0 - 1), u32::MAX, hostile.rank - 1)])
}

fn begins_far_ahead(hostile: Hostile) -> Speech {
    said([Message::Participate { stream: hostile.stream, next: WaveNumber(WAY_AHEAD) }])
}

/// As one that is not waited for: what it sends is not combined.
fn contributes_far_ahead_by_itself(hostile: Hostile) -> Speech {
    let mut speech = goes_far_ahead(hostile);
    speech.messages.insert(0, Message::Withdraw(hostile.stream));
    speech
}

fn goes_far_ahead(hostile: Hostile) -> Speech {
    let (format, body) = reduced(ALL, [hostile.rank]);
    let (members, bodies) = (Arc::new(RankSet::from_iter([hostile.rank])), Bodies::one(format.id(), body));
    let first = WaveNumber(WAY_AHEAD);
    let run = Run { stream: hostile.stream, first, members, is_fresh: true, is_partial: false, yields: None, bodies };
    Speech { messages: vec![Message::Run(run)], formats: vec![format] }
}

fn goes_back(hostile: Hostile) -> Speech {
    let (format, body) = reduced(ALL, [hostile.rank]);
    let next = WaveNumber(100);
    let begin = Message::Participate { stream: hostile.stream, next };
    let run = contribution(hostile, [hostile.rank], false, Bodies::one(format.id(), body));
    Speech { messages: vec![begin, run], formats: vec![format] }
}

fn takes_what_was_not_sent(hostile: Hostile) -> Speech {
    said([Message::Received { stream: hostile.stream, until: WAY_AHEAD }])
}

/// Messages without records.
fn said(messages: impl IntoIterator<Item = Message>) -> Speech {
    Speech { messages: messages.into_iter().collect(), formats: Vec::new() }
}
