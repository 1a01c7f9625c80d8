//! Any message there can be.

use std::num::NonZeroU32;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_clock::Estimate;
use banyan_ndr::FormatId;
use banyan_reduce::Bodies;
use bytes::Bytes;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::clocks::{ClockAnswer, ClockId, NodeClock};
use crate::ids::{Epoch, Level, NodeId, StreamId, WaveNumber};
use crate::message::{
    Ancestor, Attach, Candidate, Chosen, Gone, Message, NodeInfo, Opening, Packet, Resume, Scatter, Succession,
};
use crate::node::Figures;
use crate::run::Run;
use crate::stream_options::{Direction, Filtering, StreamOptions, Where};
use crate::synchronisation::Synchronisation;
use crate::yields::Yields;

use crate::wire::LARGEST_NUMBER;

pub(super) fn any_message() -> impl Strategy<Value = Message> {
    prop_oneof![about_tree(), any_run().prop_map(Message::Run), any_packet(), about_stream()]
}

fn about_tree() -> impl Strategy<Value = Message> {
    prop_oneof![
        (any_place(), any::<(bool, bool)>(), vec(any_place(), 0..600), resumes()).prop_map(
            |(place, (is_urgent, is_new), below, resumes)| {
                Message::Attach(Attach { place, is_urgent, is_new, below, resumes })
            }
        ),
        ancestry().prop_map(|ancestry| Message::Welcome(ancestry.into())),
        ancestry().prop_map(|ancestry| Message::Ancestry(ancestry.into())),
        vec(candidate(), 0..20).prop_map(Message::Refuse),
        (vec(any_place(), 0..600), resumes(), any::<bool>()).prop_map(|(places, resumes, is_new)| Message::Placed {
            places,
            resumes,
            is_new
        }),
        (any::<u32>(), any::<u32>(), any::<bool>(), resumes()).prop_map(|(node, epoch, is_certain, resumes)| {
            Message::Gone(Gone { node: NodeId(node), epoch: Epoch(epoch), is_certain, resumes })
        }),
        (any::<u32>(), any::<u32>(), vec((any::<u32>().prop_map(StreamId), number().prop_map(WaveNumber)), 0..4))
            .prop_map(|(member, life, free)| Message::Succeeded(Arc::new(Succession {
                member: NodeId(member),
                life,
                free
            }))),
    ]
}

fn about_stream() -> impl Strategy<Value = Message> {
    (any::<u32>().prop_map(StreamId), number(), 0u32..23).prop_map(|(stream, number, which)| match which {
        0 => Message::Participate { stream, next: WaveNumber(number) },
        1 => Message::Withdraw(stream),
        2 => Message::Again(stream),
        3 => Message::WantAcknowledgement(stream),
        16 => Message::WantReceipt(stream),
        4 => Message::Acknowledge { stream, until: WaveNumber(number) },
        5 => Message::Received { stream, until: number },
        6 => Message::Resend { stream, from: number },
        7 => Message::Taken { stream, bytes: number },
        10 => Message::Begin { stream, next: WaveNumber(number) },
        8 => Message::Count(stream.0),
        9 => {
            let numbers = std::array::from_fn(|at| number.wrapping_mul(at as u64));
            let figures = Box::new(Figures::from_numbers(numbers));
            Message::Counted { question: 7, node: NodeId(stream.0), figures }
        }
        11 => {
            let cause = format!("{number} is \u{17}é").into();
            let direction = if number % 2 == 0 { Direction::Up } else { Direction::Down };
            Message::Uncombined { node: NodeId(number as u32), stream, direction, wave: WaveNumber(number), cause }
        }
        12 => Message::Violated { node: NodeId(stream.0), child: NodeId(number as u32), cause: "says so".into() },
        15 => Message::Confirm { stream, until: vec![(7, WaveNumber(number)), (number as u32, WaveNumber(0))] },
        17 => Message::Gap { stream, from: number / 2, until: number },
        18 => Message::JoinsHeard(number as u32),
        19..=22 => about_clocks(which, number, stream.0),
        13 => Message::Examine { stream, wave: WaveNumber(number) },
        _ => Message::Skipped { stream, until: number },
    })
}

fn about_clocks(which: u32, number: u64, other: u32) -> Message {
    let clock = ClockId { boot: [number as u8; 16], namespace: number };
    let (at, low, rate) = (number as i64, -(number as i64), number as f64 * 1e-12);
    let estimate = Estimate { at, low, high: low + 9, slowest: -rate, fastest: rate, wander: rate };
    let known = Some(estimate).filter(|_| number.is_multiple_of(2));
    match which {
        19 => Message::ClockAsked { question: other, clock },
        20 => {
            let answer = ClockAnswer { question: other, clock, heard: low, answered: at, front_end: known };
            Message::ClockTold(Box::new(answer))
        }
        21 => Message::CountClocks(other),
        _ => {
            let unknown = NodeClock::unknown(NodeId(other));
            let clock = NodeClock { is_same: known.is_none(), of_parent: known, steps: number, ..unknown };
            Message::ClockCounted { question: number as u32, node: NodeId(other), clock: Box::new(clock) }
        }
    }
}

fn any_packet() -> impl Strategy<Value = Message> {
    let packet = prop_oneof![
        4 => (any::<u32>(), format(), body(), any::<bool>())
            .prop_map(|(tag, format, body, is_partial)| Packet::Record { tag, format, body, is_partial }),
        1 => (any::<u32>(), any_set(), "\\PC{0,40}").prop_map(|(tag, members, cause)| {
            let content = Packet::Failed { tag, cause: cause.into() };
            Packet::Chosen(Arc::new(Chosen { members, content }))
        }),
        2 => (any::<u32>(), any_set(), format(), body(), any::<bool>())
            .prop_map(|(tag, members, format, body, is_partial)| {
                let content = Packet::Record { tag, format, body, is_partial };
                Packet::Chosen(Arc::new(Chosen { members, content }))
            }),
        1 => (any::<u32>(), "\\PC{0,40}").prop_map(|(tag, cause)| Packet::Failed { tag, cause: cause.into() }),
        1 => any::<u32>().prop_map(|stream| Packet::Close(StreamId(stream))),
        1 => Just(Packet::Over),
        1 => (any::<u32>(), records(), any::<bool>()).prop_map(|(tag, bodies, is_partial)| {
            let mut members = RankSet::new();
            members.insert_range(7..=6 + bodies.len());
            Packet::Scatter(Arc::new(Scatter { tag, members: Arc::new(members), bodies, is_partial }))
        }),
        1 => (any::<u32>(), any_set(), stream_options()).prop_map(|(stream, members, options)| {
            Packet::Open(Arc::new(Opening { stream: StreamId(stream), members, options }))
        }),
    ];
    let listed = (any::<u32>(), any_set(), stream_options()).prop_map(|(stream, members, options)| {
        Message::Listed(Arc::new(Opening { stream: StreamId(stream), members, options }))
    });
    let overdue = (any::<u32>(), number(), any_set()).prop_map(|(stream, wave, members)| Message::Overdue {
        stream: StreamId(stream),
        wave: WaveNumber(wave),
        members,
    });
    let field_missing = (any::<u32>(), "\\PC{0,40}", any_set()).prop_map(|(stream, field, members)| {
        Message::FieldMissing { stream: StreamId(stream), field: field.into(), members }
    });
    let ended = (any::<u32>(), any_set()).prop_map(|(node, members)| Message::Ended { node: NodeId(node), members });
    let packet = (any::<u32>(), number(), packet).prop_map(|(stream, sequence, packet)| Message::Packet {
        stream: StreamId(stream),
        sequence,
        packet,
    });
    prop_oneof![9 => packet, 1 => listed, 1 => overdue, 1 => field_missing, 1 => ended]
}

fn records() -> impl Strategy<Value = Bodies> {
    bodies().prop_filter("records", |bodies| !bodies.are_absent())
}

fn stream_options() -> impl Strategy<Value = StreamOptions> {
    (filters(), filters(), synchronisation()).prop_map(|(up, down, synchronisation)| StreamOptions {
        up,
        down,
        synchronisation,
    })
}

fn filters() -> impl Strategy<Value = Filtering> {
    let at = prop_oneof![
        Just(Where::Everywhere),
        Just(Where::Root),
        Just(Where::Agents),
        Just(Where::Members),
        any::<u16>().prop_map(Where::Level),
    ];
    prop::collection::btree_map(at, "\\PC{0,40}", 0..4)
}

fn synchronisation() -> impl Strategy<Value = Synchronisation> {
    let words = ["all", "none", "timeout 250ms", "timeout 17ns", "interval at.time 0.5 from 1000.25"];
    prop::sample::select(words.map(|text| text.parse().expect("they are written as they should be")).to_vec())
}

pub(super) fn any_run() -> impl Strategy<Value = Run> {
    (
        any::<u32>(),
        number(),
        any_set(),
        any::<(bool, bool)>(),
        bodies(),
        prop_oneof![Just(0), any::<u32>()],
        vec(0u32..3, 0..70),
    )
        .prop_map(|(stream, first, members, (is_fresh, is_partial), bodies, tag, steps)| {
            let bodies = bodies.tagged(tag);
            let yields = yields(&bodies, &steps);
            let run =
                Run { stream: StreamId(stream), first: WaveNumber(0), members, is_fresh, is_partial, yields, bodies };
            Run { first: WaveNumber(first.min(LARGEST_NUMBER - u64::from(run.len()))), ..run }
        })
}

/// Of which records the bodies are: each is of one so many behind that of the body before. None without steps.
fn yields(bodies: &Bodies, steps: &[u32]) -> Option<Yields> {
    let steps = steps.iter().cycle().take(if steps.is_empty() { 0 } else { bodies.len() as usize });
    let sources: Arc<[u32]> = steps
        .scan(0, |source, step| {
            *source += step;
            Some(*source)
        })
        .collect();
    let records = sources.last().map_or(0, |last| last + 1);
    Yields::new(records, sources).filter(|_| !bodies.are_absent())
}

fn bodies() -> impl Strategy<Value = Bodies> {
    let uniform = (prop_oneof![4 => 0u32..40, 1 => 3000u32..20_000], 1u32..70).prop_flat_map(|(size, count)| {
        let bytes = any::<u8>().prop_map(move |seed| some_bytes(seed, (size * count) as usize));
        (format(), bytes).prop_map(move |(format, bytes)| Bodies::of_size(format, size, count, bytes).unwrap())
    });
    let several = (format(), vec(prop_oneof![8 => 0u32..40, 1 => 3000u32..20_000], 1..40), any::<u8>());
    let several = several.prop_map(|(format, sizes, seed)| {
        let ends: Arc<[u32]> = sizes
            .iter()
            .scan(0, |end, size| {
                Some({
                    *end += size;
                    *end
                })
            })
            .collect();
        let bytes = some_bytes(seed, sizes.iter().sum::<u32>() as usize);
        Bodies::by_ends(format, ends, bytes).unwrap()
    });
    let absent = (1u32..100).prop_map(|count| Bodies::absent(NonZeroU32::new(count).unwrap()));
    prop_oneof![4 => uniform, 4 => several, 1 => absent]
}

fn body() -> impl Strategy<Value = Bytes> {
    let length = prop_oneof![4 => 0usize..100, 1 => 4000usize..4200, 1 => 10_000usize..40_000];
    (any::<u8>(), length).prop_map(|(seed, length)| some_bytes(seed, length))
}

/// Bytes that are told apart by where they are.
fn some_bytes(seed: u8, length: usize) -> Bytes {
    (0..length).map(|at| (at as u8).wrapping_mul(31).wrapping_add((at >> 8) as u8) ^ seed).collect()
}

fn any_place() -> impl Strategy<Value = NodeInfo> {
    (any::<(u32, u32, u32, u16)>(), option::of(any::<u32>())).prop_map(|((node, parent, epoch, level), rank)| {
        NodeInfo { node: NodeId(node), parent: NodeId(parent), epoch: Epoch(epoch), level: Level(level), rank }
    })
}

fn resumes() -> impl Strategy<Value = Vec<Resume>> {
    let resume = (any::<u32>(), number(), number());
    vec(resume.prop_map(|(stream, next, received)| Resume { stream: StreamId(stream), next, received }), 0..4)
}

fn ancestry() -> impl Strategy<Value = Vec<Ancestor>> {
    let ancestor = (candidate(), vec(candidate(), 0..6));
    vec(ancestor.prop_map(|(itself, children)| Ancestor { itself, children }), 0..6)
}

/// Of few nodes, so that they are named again and again.
fn candidate() -> impl Strategy<Value = Candidate> {
    (0u32..40, any::<u16>()).prop_map(|(node, level)| Candidate { node: NodeId(node), level: Level(level) })
}

/// A few of few ranks, so that some come again; or so many that they do not fit into a frame.
fn any_set() -> impl Strategy<Value = Arc<RankSet>> {
    let few = vec(0u32..6, 0..5).prop_map(|ranks| Arc::new(ranks.into_iter().collect()));
    let many = any::<u32>().prop_map(|seed| {
        let is_in = |rank: &u32| rank.wrapping_mul(0x9e37_79b9).wrapping_add(seed).count_ones().is_multiple_of(2);
        Arc::new((0..100_000).filter(is_in).collect::<RankSet>())
    });
    prop_oneof![30 => few, 1 => many]
}

fn format() -> impl Strategy<Value = FormatId> {
    (1u8..4).prop_map(|byte| FormatId::from_bytes([byte; 16]))
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..100u64, (1u64 << 32) - 2..(1 << 32) + 2, 0..=LARGEST_NUMBER, Just(LARGEST_NUMBER)]
}
