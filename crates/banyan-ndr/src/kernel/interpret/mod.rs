//! Runs merged steps without generated code: the portable way, and the reference for the generated one.

mod common;
mod simd;
mod swap;

use super::StepErrorKind;
use super::merge::Merged;
use super::number;
use super::program::{Instruction, Number};
use crate::wire::write_uint;
#[cfg(all(
    feature = "jit",
    not(miri),
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x")
))]
pub(super) use simd::WideLoop;
pub(super) use simd::{Isa, WideItem};
pub use swap::reverse_numbers;

/// Where and why a step failed.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) path: u32,
    pub(super) kind: StepErrorKind,
}

/// Converts `count` items of `strides` (source, target) bytes, which fill `src` and `dst`.
pub(super) fn run_merged(
    isa: Isa,
    merged: &Merged,
    src: &[u8],
    dst: &mut [u8],
    count: usize,
    strides: (usize, usize),
) -> Result<(), Failure> {
    let mut done = 0;
    if let Some(block) = &merged.block
        && count >= block.items
    {
        let blocks = count / block.items;
        repeat(isa, &block.steps, src, dst, blocks, (strides.0 * block.items, strides.1 * block.items))?;
        done = blocks * block.items;
    }
    repeat(isa, &merged.one, &src[done * strides.0..], &mut dst[done * strides.1..], count - done, strides)
}

/// Runs `steps` on `count` items that lie `strides` (source, target) apart.
fn repeat(
    isa: Isa,
    steps: &[Instruction],
    src: &[u8],
    dst: &mut [u8],
    count: usize,
    strides: (usize, usize),
) -> Result<(), Failure> {
    let gapless = |len: usize| strides == (len, len);
    match *steps {
        [Instruction::Copy { src: 0, dst: 0, len }] if gapless(len as usize) => {
            let len = len as usize * count;
            dst[..len].copy_from_slice(&src[..len]);
        }
        [Instruction::Swap { src: 0, dst: 0, width, count: inner }] if gapless(usize::from(width) * inner as usize) => {
            let len = usize::from(width) * inner as usize * count;
            swap::swap(isa, width, &src[..len], &mut dst[..len]);
        }
        [Instruction::Shuffle { ref windows }] => simd::shuffle(isa, windows, src, dst, count, strides),
        _ => {
            for item in 0..count {
                run_steps(isa, steps, &src[item * strides.0..], &mut dst[item * strides.1..])?;
            }
        }
    }
    Ok(())
}

/// Runs `steps` on the item at the start of `src` and `dst`.
pub(super) fn run_steps(isa: Isa, steps: &[Instruction], src: &[u8], dst: &mut [u8]) -> Result<(), Failure> {
    steps.iter().try_for_each(|step| run_step(isa, step, src, dst))
}

/// Runs one step on the item at the start of `src` and `dst`.
pub(super) fn run_step(isa: Isa, step: &Instruction, src: &[u8], dst: &mut [u8]) -> Result<(), Failure> {
    match *step {
        Instruction::Copy { src: from, dst: to, len } => {
            part_mut(dst, to, len as usize).copy_from_slice(part(src, from, len as usize));
        }
        Instruction::Swap { src: from, dst: to, width, count } => {
            let len = usize::from(width) * count as usize;
            swap::swap(isa, width, part(src, from, len), part_mut(dst, to, len));
        }
        Instruction::Zero { dst: to, len } => part_mut(dst, to, len as usize).fill(0),
        Instruction::Fill { dst: to, ref bytes } => part_mut(dst, to, bytes.len()).copy_from_slice(bytes),
        Instruction::Number { src: at, dst: target, count, from, to, loss, path } => {
            let (from_len, to_len) = (usize::from(from.width) * count as usize, usize::from(to.width) * count as usize);
            if !common::convert(part(src, at, from_len), part_mut(dst, target, to_len), from, to) {
                each_number(src, dst, (at, target, count), from, to, |value| number::convert(value, to, loss))
                    .map_err(|kind| Failure { path, kind })?;
            }
        }
        Instruction::Renumber { src: at, dst: target, count, from, to, ref table, path } => {
            each_number(src, dst, (at, target, count), from, to, |value| renumber(value, table))
                .map_err(|kind| Failure { path, kind })?;
        }
        Instruction::Require { src: flag, path } => {
            if src[flag as usize] == 0 {
                return Err(Failure { path, kind: StepErrorKind::Absent });
            }
        }
        Instruction::IfPresent { src: flag, dst: to, ref otherwise, ref steps } => {
            if src[flag as usize] == 0 {
                part_mut(dst, to, otherwise.len()).copy_from_slice(otherwise);
            } else {
                run_steps(isa, steps, src, dst)?;
            }
        }
        Instruction::Repeat { src: from, dst: to, count, src_stride, dst_stride, ref steps } => {
            let strides = (src_stride as usize, dst_stride as usize);
            repeat(isa, steps, &src[from as usize..], &mut dst[to as usize..], count as usize, strides)?;
        }
        Instruction::Permute { src: from, dst: to, ref order, src_stride, dst_stride, ref steps } => {
            for (item, &taken) in order.iter().enumerate() {
                let from = from as usize + taken as usize * src_stride as usize;
                let to = to as usize + item * dst_stride as usize;
                run_steps(isa, steps, &src[from..], &mut dst[to..])?;
            }
        }
        Instruction::Shuffle { ref windows } => simd::shuffle(isa, windows, src, dst, 1, (0, 0)),
    }
    Ok(())
}

fn part(bytes: &[u8], at: u32, len: usize) -> &[u8] {
    &bytes[at as usize..][..len]
}

fn part_mut(bytes: &mut [u8], at: u32, len: usize) -> &mut [u8] {
    &mut bytes[at as usize..][..len]
}

/// Reads `count` numbers at `src`, and writes at `dst` the bits that `convert` makes of them.
fn each_number(
    src: &[u8],
    dst: &mut [u8],
    (at, target, count): (u32, u32, u32),
    from: Number,
    to: Number,
    convert: impl Fn(number::PlainNumber) -> Result<u128, StepErrorKind>,
) -> Result<(), StepErrorKind> {
    let (from_width, to_width) = (usize::from(from.width), usize::from(to.width));
    let sources = part(src, at, from_width * count as usize).chunks_exact(from_width);
    let targets = part_mut(dst, target, to_width * count as usize).chunks_exact_mut(to_width);
    for (source, target) in sources.zip(targets) {
        write_uint(target, convert(number::read(source, from))?, to.order);
    }
    Ok(())
}

/// The bits that the table, sorted by its first column, has for `value`.
fn renumber(value: number::PlainNumber, table: &[(i128, i128)]) -> Result<u128, StepErrorKind> {
    let (key, text) = match value {
        number::PlainNumber::Unsigned(value) => (i128::try_from(value).ok(), value.to_string()),
        number::PlainNumber::Signed(value) => (Some(value), value.to_string()),
        number::PlainNumber::Float(value) => (None, value.to_string()),
    };
    let found = key.and_then(|key| table.binary_search_by_key(&key, |(from, _)| *from).ok());
    found.map(|index| table[index].1 as u128).ok_or(StepErrorKind::Unknown { value: text })
}
