//! Covers a map of bytes with windows of 16.
//!
//! A window starts at the first byte not yet covered and takes as many of the following bytes as come from the same 16
//! source bytes. What it writes beyond them is written again: by later windows, or by the steps that follow the windows.
//! Near the end of the target a window starts earlier, and must then repeat the bytes before its own; where it cannot,
//! the bytes are left to [`plain`] steps.

use super::Extent;
use super::flat::Byte;
use crate::kernel::program::{Instruction, Window};

const WIDTH: usize = 16;
/// In a mask: no source byte.
const NONE: u8 = 0x80;

/// Windows for `bytes`, and the bytes that no window covers. `bytes` are in ascending order of their targets.
pub(super) fn cover(bytes: &[Byte], extent: &Extent) -> (Vec<Window>, Vec<Byte>) {
    if extent.src < WIDTH || extent.dst.len() < WIDTH {
        return (Vec::new(), bytes.to_vec());
    }
    let last_start = extent.dst.end - WIDTH;
    let (mut windows, mut left) = (Vec::new(), Vec::new());
    let mut next = 0;
    while let Some(first) = bytes.get(next) {
        let start = first.dst.min(last_start);
        // Bytes before the first one that the window covers too; those left to plain steps come later anyway.
        let repeated = bytes[..next].iter().rev().take_while(|byte| byte.dst >= start);
        let repeated = repeated.filter(|byte| !left.contains(*byte));
        let mut sources = Sources::default();
        if !repeated.into_iter().all(|byte| sources.add(byte.src)) || !sources.add(first.src) {
            left.push(*first);
            next += 1;
            continue;
        }
        let from = next;
        next += bytes[from..].iter().take_while(|byte| byte.dst < start + WIDTH && sources.add(byte.src)).count();
        let src = sources.start(extent.src);
        windows.push(window(src, start, bytes[..next].iter().rev().take_while(|byte| byte.dst >= start)));
    }
    (windows, left)
}

/// The window at `dst` that moves `bytes` as far as it can see their sources.
fn window<'a>(src: usize, dst: usize, bytes: impl Iterator<Item = &'a Byte>) -> Window {
    // What is written again later may be anything but zeros, which cost generated code an instruction.
    let mut mask = std::array::from_fn(|lane| lane as u8);
    for byte in bytes {
        let seen = byte.src.and_then(|at| at.checked_sub(src)).filter(|at| *at < WIDTH);
        mask[byte.dst - dst] = seen.map_or(NONE, |at| at as u8);
    }
    Window { src: src as u32, dst: dst as u32, mask }
}

/// The range of source bytes that a window reads.
#[derive(Default)]
struct Sources {
    /// First and last.
    range: Option<(usize, usize)>,
}

impl Sources {
    /// Widens the range to `source`, unless a window could not hold it any more.
    fn add(&mut self, source: Option<usize>) -> bool {
        let Some(source) = source else { return true };
        let (first, last) = self.range.map_or((source, source), |(first, last)| (first.min(source), last.max(source)));
        let fits = last - first < WIDTH;
        if fits {
            self.range = Some((first, last));
        }
        fits
    }

    /// Where the window reads from, so that it stays within `limit` source bytes.
    fn start(&self, limit: usize) -> usize {
        self.range.map_or(0, |(first, _)| first.min(limit - WIDTH))
    }
}

/// Steps for bytes that windows do not cover: runs of ascending sources are copied, mirrored ones swapped.
pub(super) fn plain(bytes: &[Byte]) -> Vec<Instruction> {
    let mut steps = Vec::new();
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let dst = first.dst as u32;
        let (step, len) = match first.src {
            None => {
                let len = run(rest, |_, from| from.is_none());
                (Instruction::Zero { dst, len: len as u32 }, len)
            }
            Some(src) => {
                let down = run(rest, |i, from| from.is_some_and(|from| from + i == src));
                // A mirrored run that is no number's width is cut short by a window; its bytes are copied.
                if let Some(width) = [16, 8, 4, 2].into_iter().find(|width| down == *width) {
                    let src = (src + 1 - width) as u32;
                    (Instruction::Swap { src, dst, width: width as u8, count: 1 }, width)
                } else {
                    let up = run(rest, |i, from| from == Some(src + i));
                    (Instruction::Copy { src: src as u32, dst, len: up as u32 }, up)
                }
            }
        };
        steps.push(step);
        rest = &rest[len..];
    }
    steps
}

/// How many of the first bytes are neighbours whose sources, by number, are as `expected`.
fn run(bytes: &[Byte], expected: impl Fn(usize, Option<usize>) -> bool) -> usize {
    let start = bytes[0].dst;
    bytes.iter().enumerate().take_while(|(i, byte)| byte.dst == start + i && expected(*i, byte.src)).count()
}
