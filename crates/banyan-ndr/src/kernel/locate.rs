//! Where in an item a conversion fails.
//!
//! A kernel says at which item and field it failed, but not at which elements of the arrays within the item. This runs
//! the program as the planner wrote it once more, one value after the other, and keeps count.

use super::StepErrorKind;
use super::number;
use super::program::{Instruction, Number, NumberKind, Program};
use crate::wire::{read_int, read_uint, write_uint};

/// Where and why an item cannot be converted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failed {
    /// Index into [`Program::paths`].
    pub(crate) path: u32,
    /// The indices that belong into the `[]` of that path, outermost first.
    pub(crate) indices: Vec<usize>,
    pub(crate) kind: StepErrorKind,
}

/// Converts one item.
pub(crate) fn run(program: &Program, src: &[u8], dst: &mut [u8]) -> Result<(), Failed> {
    program.steps.iter().try_for_each(|step| run_step(step, src, dst))
}

fn run_step(step: &Instruction, src: &[u8], dst: &mut [u8]) -> Result<(), Failed> {
    match step {
        Instruction::Copy { src: from, dst: to, len } => {
            part_mut(dst, *to, *len).copy_from_slice(part(src, *from, *len));
        }
        Instruction::Swap { src: from, dst: to, width, count } => {
            let (from, to) = (numbers(src, *from, *width, *count), numbers_mut(dst, *to, *width, *count));
            for (from, to) in from.zip(to) {
                to.copy_from_slice(from);
                to.reverse();
            }
        }
        Instruction::Zero { dst: to, len } => part_mut(dst, *to, *len).fill(0),
        Instruction::Fill { dst: to, bytes } => part_mut(dst, *to, bytes.len() as u32).copy_from_slice(bytes),
        Instruction::Number { src: s, dst: d, count, from, to, loss, path } => {
            let numbers = numbers(src, *s, from.width, *count).zip(numbers_mut(dst, *d, to.width, *count));
            for (index, (s, d)) in numbers.enumerate() {
                let bits = number::convert(number::read(s, *from), *to, *loss);
                let bits = bits.map_err(|kind| Failed { path: *path, indices: vec![index], kind })?;
                write_uint(d, bits, to.order);
            }
        }
        Instruction::Renumber { src: s, dst: d, count, from, to, table, path } => {
            let numbers = numbers(src, *s, from.width, *count).zip(numbers_mut(dst, *d, to.width, *count));
            for (index, (s, d)) in numbers.enumerate() {
                let value = integer(s, *from);
                let known = table.binary_search_by_key(&value, |(from, _)| *from).map_err(|_| Failed {
                    path: *path,
                    indices: vec![index],
                    kind: StepErrorKind::Unknown { value: value.to_string() },
                })?;
                write_uint(d, table[known].1 as u128, to.order);
            }
        }
        Instruction::Require { src: flag, path } => {
            if src[*flag as usize] == 0 {
                return Err(Failed { path: *path, indices: Vec::new(), kind: StepErrorKind::Absent });
            }
        }
        Instruction::IfPresent { src: flag, dst: to, otherwise, steps } => {
            if src[*flag as usize] == 0 {
                part_mut(dst, *to, otherwise.len() as u32).copy_from_slice(otherwise);
            } else {
                steps.iter().try_for_each(|step| run_step(step, src, dst))?;
            }
        }
        Instruction::Repeat { src: s, dst: d, count, src_stride, dst_stride, steps } => {
            for index in 0..*count {
                let from = &src[(s + index * src_stride) as usize..];
                let to = &mut dst[(d + index * dst_stride) as usize..];
                run_element(steps, from, to, index as usize)?;
            }
        }
        Instruction::Permute { src: s, dst: d, order, src_stride, dst_stride, steps } => {
            for (index, number) in order.iter().enumerate() {
                let from = &src[(s + number * src_stride) as usize..];
                let to = &mut dst[(*d + index as u32 * dst_stride) as usize..];
                run_element(steps, from, to, index)?;
            }
        }
        Instruction::Shuffle { .. } => unreachable!("made by merging only"),
    }
    Ok(())
}

fn run_element(steps: &[Instruction], src: &[u8], dst: &mut [u8], index: usize) -> Result<(), Failed> {
    steps.iter().try_for_each(|step| run_step(step, src, dst)).map_err(|mut failed| {
        failed.indices.insert(0, index);
        failed
    })
}

fn part(bytes: &[u8], at: u32, len: u32) -> &[u8] {
    &bytes[at as usize..][..len as usize]
}

fn part_mut(bytes: &mut [u8], at: u32, len: u32) -> &mut [u8] {
    &mut bytes[at as usize..][..len as usize]
}

fn numbers(bytes: &[u8], at: u32, width: u8, count: u32) -> std::slice::ChunksExact<'_, u8> {
    part(bytes, at, u32::from(width) * count).chunks_exact(usize::from(width))
}

fn numbers_mut(bytes: &mut [u8], at: u32, width: u8, count: u32) -> std::slice::ChunksExactMut<'_, u8> {
    part_mut(bytes, at, u32::from(width) * count).chunks_exact_mut(usize::from(width))
}

fn integer(bytes: &[u8], number: Number) -> i128 {
    match number.kind {
        NumberKind::Signed => read_int(bytes, number.order),
        _ => read_uint(bytes, number.order) as i128,
    }
}
