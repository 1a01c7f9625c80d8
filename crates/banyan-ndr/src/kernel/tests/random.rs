//! Random valid programs on random bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{agree, generated_code_agrees, interpreters_agree};
use crate::ByteOrder;
use crate::kernel::Kernel;
use crate::kernel::program::{Instruction, Loss, Number, NumberKind, Program};

/// A step before it has its place.
#[derive(Debug, Clone)]
enum Piece {
    Copy(u32),
    Swap(u8, u32),
    Zero(u32),
    Fill(Vec<u8>),
    Number(u32, Number, Number, Loss),
    Renumber(Number, Number),
    Require,
    IfPresent(Vec<Placed>),
    Repeat(u32, Vec<Placed>),
    Permute(Vec<u32>, Vec<Placed>),
}

/// A piece, unused source bytes before it, and where in the order of target fields it stands.
#[derive(Debug, Clone)]
struct Placed {
    gap: u32,
    rank: u8,
    piece: Piece,
}

fn number() -> impl Strategy<Value = Number> {
    let order = prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    let kind = prop_oneof![
        3 => (prop_oneof![Just(NumberKind::Unsigned), Just(NumberKind::Signed)], prop::sample::select(vec![1, 2, 4, 8, 16])),
        1 => (Just(NumberKind::Float), prop::sample::select(vec![2, 4, 8])),
        1 => (Just(NumberKind::Bool), prop::sample::select(vec![1, 2, 4, 8])),
    ];
    (kind, order).prop_map(|((kind, width), order)| Number { kind, width, order })
}

/// What enumerations are stored as.
fn integer() -> impl Strategy<Value = Number> {
    let kind = prop_oneof![Just(NumberKind::Unsigned), Just(NumberKind::Signed)];
    let order = prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    (kind, prop::sample::select(vec![1, 2, 4, 8]), order).prop_map(|(kind, width, order)| Number { kind, width, order })
}

fn piece() -> impl Strategy<Value = Piece> {
    let loss = prop_oneof![1 => Just(Loss::Error), 9 => Just(Loss::Saturate)];
    let leaf = prop_oneof![
        4 => (1..24_u32).prop_map(Piece::Copy),
        1 => (100..300_u32).prop_map(Piece::Copy),
        8 => (prop::sample::select(vec![2, 4, 8, 16]), 1..5_u32).prop_map(|(width, count)| Piece::Swap(width, count)),
        1 => (prop::sample::select(vec![2, 4, 8, 16]), 20..100_u32).prop_map(|(width, count)| Piece::Swap(width, count)),
        2 => (1..9_u32).prop_map(Piece::Zero),
        1 => (60..80_u32).prop_map(Piece::Zero),
        1 => vec(any::<u8>(), 1..30).prop_map(Piece::Fill),
        4 => (1..5_u32, number(), number(), loss).prop_map(|(count, from, to, loss)| Piece::Number(count, from, to, loss)),
        1 => (integer(), integer()).prop_map(|(from, to)| Piece::Renumber(from, to)),
        1 => Just(Piece::Require),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let fields = vec(placed(inner), 1..4).boxed();
        prop_oneof![
            1 => fields.clone().prop_map(Piece::IfPresent),
            3 => (0..12_u32, fields.clone()).prop_map(|(count, fields)| Piece::Repeat(count, fields)),
            1 => (60..90_u32, fields.clone()).prop_map(|(count, fields)| Piece::Repeat(count, fields)),
            1 => (vec(0..7_u32, 0..7), fields).prop_map(|(order, fields)| Piece::Permute(order, fields)),
        ]
    })
}

fn placed(piece: impl Strategy<Value = Piece>) -> impl Strategy<Value = Placed> {
    let gap = prop_oneof![3 => Just(0), 1 => 1..20_u32];
    let rank = prop_oneof![2 => Just(0), 1 => any::<u8>()];
    (gap, rank, piece).prop_map(|(gap, rank, piece)| Placed { gap, rank, piece })
}

/// Gives every piece its place from (`src`, `dst`) on, and returns the steps and the ends.
fn lay_out(pieces: &[Placed], src: u32, dst: u32) -> (Vec<Instruction>, u32, u32) {
    let mut at = src;
    let mut ordered = Vec::new();
    for placed in pieces {
        at += placed.gap;
        ordered.push((placed, at));
        at += source_len(&placed.piece);
    }
    ordered.sort_by_key(|(placed, _)| placed.rank);
    let mut target = dst;
    let mut steps = Vec::new();
    for (placed, src) in ordered {
        let (step, len) = step(&placed.piece, src, target);
        target += len;
        steps.push(step);
    }
    (steps, at, target)
}

fn source_len(piece: &Piece) -> u32 {
    match piece {
        Piece::Copy(len) => *len,
        Piece::Swap(width, count) => u32::from(*width) * count,
        Piece::Zero(_) | Piece::Fill(_) => 0,
        Piece::Number(count, from, ..) => count * u32::from(from.width),
        Piece::Renumber(from, _) => u32::from(from.width),
        Piece::Require => 1,
        Piece::IfPresent(inner) => 1 + lay_out(inner, 0, 0).1,
        Piece::Repeat(count, inner) => count * lay_out(inner, 0, 0).1,
        Piece::Permute(order, inner) => order.iter().max().map_or(0, |last| (last + 1) * lay_out(inner, 0, 0).1),
    }
}

/// The step at its place, and the target bytes it takes.
fn step(piece: &Piece, src: u32, dst: u32) -> (Instruction, u32) {
    match piece {
        Piece::Copy(len) => (Instruction::Copy { src, dst, len: *len }, *len),
        Piece::Swap(width, count) => {
            (Instruction::Swap { src, dst, width: *width, count: *count }, u32::from(*width) * count)
        }
        Piece::Zero(len) => (Instruction::Zero { dst, len: *len }, *len),
        Piece::Fill(bytes) => (Instruction::Fill { dst, bytes: bytes.clone().into() }, bytes.len() as u32),
        Piece::Number(count, from, to, loss) => {
            let (from, to, loss, path) = (*from, *to, *loss, src);
            (Instruction::Number { src, dst, count: *count, from, to, loss, path }, count * u32::from(to.width))
        }
        Piece::Renumber(from, to) => {
            let table = [(-1, 3), (0, 0), (1, 7), (255, 2)].into();
            let (from, to) = (*from, *to);
            (Instruction::Renumber { src, dst, count: 1, from, to, table, path: src }, u32::from(to.width))
        }
        Piece::Require => (Instruction::Require { src, path: src }, 0),
        Piece::IfPresent(inner) => {
            let (steps, _, end) = lay_out(inner, src + 1, dst);
            let otherwise = (dst..end).map(|i| i as u8).collect();
            (Instruction::IfPresent { src, dst, otherwise, steps }, end - dst)
        }
        Piece::Repeat(count, inner) => {
            let (steps, src_stride, dst_stride) = lay_out(inner, 0, 0);
            (Instruction::Repeat { src, dst, count: *count, src_stride, dst_stride, steps }, count * dst_stride)
        }
        Piece::Permute(order, inner) => {
            let (steps, src_stride, dst_stride) = lay_out(inner, 0, 0);
            let len = order.len() as u32 * dst_stride;
            (Instruction::Permute { src, dst, order: order.clone().into(), src_stride, dst_stride, steps }, len)
        }
    }
}

fn program() -> impl Strategy<Value = Program> {
    vec(placed(piece()), 0..8).prop_filter_map("small enough to run often", |pieces| {
        let (steps, src_size, dst_size) = lay_out(&pieces, 0, 0);
        let (src_size, dst_size) = (src_size as usize, dst_size as usize);
        (src_size.max(dst_size) < 8192).then_some(Program { src_size, dst_size, steps, paths: Vec::new() })
    })
}

/// Bytes that are flags, small numbers and anything else.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![4 => Just(0_u8), 4 => Just(1_u8), 1 => Just(255_u8), 4 => any::<u8>()]
}

/// Source bytes for `count` items, from a pattern.
fn source(program: &Program, pattern: &[u8], count: usize) -> Vec<u8> {
    pattern.iter().copied().cycle().take(program.src_size * count).collect()
}

/// Cases in an interpreter that is a hundred times slower than the machine.
const CASES_OF_MIRI: u32 = 4;

fn config(share: u32) -> ProptestConfig {
    let cases = if cfg!(miri) { CASES_OF_MIRI } else { ProptestConfig::default().cases / share };
    ProptestConfig { cases, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(1))]

    #[test]
    fn interpreters_and_oracle_give_the_same_bytes_and_errors(
        program in program(),
        count in prop_oneof![0..4_usize, 15..40_usize],
        pattern in vec(byte(), 1..997),
    ) {
        let src = source(&program, &pattern, count);
        interpreters_agree(&Kernel::new(program), &src, count);
    }
}

proptest! {
    // Generating code takes long in a debug build.
    #![proptest_config(config(8))]

    #[test]
    fn generated_code_and_oracle_give_the_same_bytes_and_errors(
        program in program(),
        count in prop_oneof![0..4_usize, 15..40_usize],
        pattern in vec(byte(), 1..997),
    ) {
        let src = source(&program, &pattern, count);
        generated_code_agrees(&Kernel::new(program), &src, count);
    }

    #[test]
    fn every_way_to_move_bytes_gives_the_same_bytes_at_any_size(
        pieces in vec(placed(prop_oneof![
            (1..20_u32).prop_map(Piece::Copy),
            (prop::sample::select(vec![2, 4, 8, 16]), 1..4_u32).prop_map(|(width, count)| Piece::Swap(width, count)),
            (1..6_u32).prop_map(Piece::Zero),
        ]), 1..8),
        count in 0..70_usize,
    ) {
        let (steps, src_size, dst_size) = lay_out(&pieces, 0, 0);
        let (src_size, dst_size) = (src_size as usize, dst_size as usize);
        let program = Program { src_size, dst_size, steps, paths: Vec::new() };
        let src: Vec<u8> = (0..src_size * count).map(|i| (i % 251) as u8).collect();
        prop_assert!(agree(&program, &src, count).is_ok());
    }
}
