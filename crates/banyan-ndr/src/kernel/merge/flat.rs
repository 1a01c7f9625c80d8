//! Steps that only move bytes: telling them, shifting them, joining neighbours, and their map from byte to byte.

use super::Array;
use crate::kernel::program::{Instruction, Number, NumberKind};

/// Where a target byte comes from: a source byte, or nothing (zero).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Byte {
    pub(super) dst: usize,
    pub(super) src: Option<usize>,
}

/// Whether all steps only move bytes, and do so one by one.
pub(super) fn only_moves_bytes(steps: &[Instruction]) -> bool {
    steps
        .iter()
        .all(|step| matches!(step, Instruction::Copy { .. } | Instruction::Swap { .. } | Instruction::Zero { .. }))
}

/// The same conversion of numbers by moving bytes, if that is possible: the numbers are alike but for their byte order,
/// or unsigned ones become wider.
pub(super) fn as_moves(step: &Instruction) -> Option<Vec<Instruction>> {
    let Instruction::Number { src, dst, count, from, to, .. } = *step else { return None };
    let widens = from.kind == NumberKind::Unsigned
        && matches!(to.kind, NumberKind::Unsigned | NumberKind::Signed)
        && from.width < to.width;
    let same = from.kind == to.kind && from.width == to.width && from.kind != NumberKind::Bool;
    if same {
        return Some(vec![reordered(src, dst, count, from, to)]);
    }
    if !widens {
        return None;
    }
    let zeros = u32::from(to.width - from.width);
    let (value_at, zeros_at) = match to.order {
        crate::ByteOrder::Little => (0, u32::from(from.width)),
        crate::ByteOrder::Big => (zeros, 0),
    };
    let steps = vec![reordered(0, value_at, 1, from, to), Instruction::Zero { dst: zeros_at, len: zeros }];
    let (src_stride, dst_stride) = (u32::from(from.width), u32::from(to.width));
    Some(vec![Instruction::Repeat { src, dst, count, src_stride, dst_stride, steps }])
}

/// Moves `count` numbers of the width of `from` into the byte order of `to`.
fn reordered(src: u32, dst: u32, count: u32, from: Number, to: Number) -> Instruction {
    if from.order == to.order || from.width == 1 {
        Instruction::Copy { src, dst, len: count * u32::from(from.width) }
    } else {
        Instruction::Swap { src, dst, width: from.width, count }
    }
}

/// One step for a whole array whose items are one step each, without gaps.
pub(super) fn collapse(item: &[Instruction], array: &Array) -> Option<Instruction> {
    let [step] = item else { return None };
    let Array { src, dst, count, src_stride, dst_stride } = *array;
    let gapless = |from: u64, to: u64| from == u64::from(src_stride) && to == u64::from(dst_stride);
    match *step {
        Instruction::Copy { src: 0, dst: 0, len } if gapless(len.into(), len.into()) => {
            Some(Instruction::Copy { src, dst, len: len.checked_mul(count)? })
        }
        Instruction::Swap { src: 0, dst: 0, width, count: inner } => {
            let len = u64::from(width) * u64::from(inner);
            gapless(len, len).then_some(())?;
            Some(Instruction::Swap { src, dst, width, count: inner.checked_mul(count)? })
        }
        Instruction::Zero { dst: 0, len } if len == dst_stride => {
            Some(Instruction::Zero { dst, len: len.checked_mul(count)? })
        }
        Instruction::Number { src: 0, dst: 0, count: inner, from, to, loss, path } => {
            let inner_wide = u64::from(inner);
            gapless(inner_wide * u64::from(from.width), inner_wide * u64::from(to.width)).then_some(())?;
            Some(Instruction::Number { src, dst, count: inner.checked_mul(count)?, from, to, loss, path })
        }
        _ => None,
    }
}

/// Appends steps that only move bytes, `by_src` and `by_dst` further on.
pub(super) fn shift_into(steps: &[Instruction], by_src: u32, by_dst: u32, out: &mut Vec<Instruction>) {
    out.extend(steps.iter().map(|step| match *step {
        Instruction::Copy { src, dst, len } => Instruction::Copy { src: src + by_src, dst: dst + by_dst, len },
        Instruction::Swap { src, dst, width, count } => {
            Instruction::Swap { src: src + by_src, dst: dst + by_dst, width, count }
        }
        Instruction::Zero { dst, len } => Instruction::Zero { dst: dst + by_dst, len },
        _ => unreachable!("only steps that move bytes are shifted"),
    }));
}

/// Joins neighbours. Steps that only move bytes come first, in the order of their targets; the others keep theirs.
pub(super) fn join(steps: Vec<Instruction>) -> Vec<Instruction> {
    let (mut moves, rest): (Vec<Instruction>, Vec<Instruction>) =
        steps.into_iter().partition(|step| only_moves_bytes(std::slice::from_ref(step)));
    moves.sort_by_key(target);
    let mut joined: Vec<Instruction> = Vec::with_capacity(moves.len());
    for step in moves {
        match joined.last_mut().and_then(|last| joined_pair(last, &step)) {
            Some(pair) => *joined.last_mut().expect("there is a last step to join with") = pair,
            None => joined.push(step),
        }
    }
    joined.retain(|step| {
        !matches!(
            step,
            Instruction::Copy { len: 0, .. } | Instruction::Swap { count: 0, .. } | Instruction::Zero { len: 0, .. }
        )
    });
    joined.extend(rest);
    joined
}

fn target(step: &Instruction) -> u32 {
    match *step {
        Instruction::Copy { dst, .. } | Instruction::Swap { dst, .. } | Instruction::Zero { dst, .. } => dst,
        _ => unreachable!("only steps that move bytes are sorted"),
    }
}

/// One step for two neighbours of the same kind.
fn joined_pair(first: &Instruction, second: &Instruction) -> Option<Instruction> {
    match (first, second) {
        (&Instruction::Copy { src, dst, len }, &Instruction::Copy { src: next_src, dst: next_dst, len: more })
            if src + len == next_src && dst + len == next_dst =>
        {
            Some(Instruction::Copy { src, dst, len: len + more })
        }
        (
            &Instruction::Swap { src, dst, width, count },
            &Instruction::Swap { src: next_src, dst: next_dst, width: next_width, count: more },
        ) if width == next_width => {
            let len = u32::from(width) * count;
            (src + len == next_src && dst + len == next_dst).then_some(Instruction::Swap {
                src,
                dst,
                width,
                count: count + more,
            })
        }
        (&Instruction::Zero { dst, len }, &Instruction::Zero { dst: next_dst, len: more }) if dst + len == next_dst => {
            Some(Instruction::Zero { dst, len: len + more })
        }
        _ => None,
    }
}

/// Every target byte of steps that only move bytes, in ascending order.
pub(super) fn byte_map(steps: &[Instruction]) -> Vec<Byte> {
    let mut bytes = Vec::new();
    for step in steps {
        match *step {
            Instruction::Copy { src, dst, len } => {
                bytes.extend((0..len).map(|i| Byte { dst: (dst + i) as usize, src: Some((src + i) as usize) }));
            }
            Instruction::Swap { src, dst, width, count } => {
                let width = u32::from(width);
                bytes.extend((0..width * count).map(|i| {
                    let mirrored = i / width * width + (width - 1 - i % width);
                    Byte { dst: (dst + i) as usize, src: Some((src + mirrored) as usize) }
                }));
            }
            Instruction::Zero { dst, len } => {
                bytes.extend((0..len).map(|i| Byte { dst: (dst + i) as usize, src: None }));
            }
            _ => unreachable!("only steps that move bytes have a byte map"),
        }
    }
    bytes.sort_unstable_by_key(|byte| byte.dst);
    bytes
}
