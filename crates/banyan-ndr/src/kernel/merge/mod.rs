//! Turns a planned program, one step a field, into the fewest and widest steps.
//!
//! - Neighbouring copies and swaps join, also across the items of a `Repeat`; long ones stay what they are.
//! - The bytes of everything else that only moves bytes (short copies and swaps, zeros, widened unsigned integers) become
//!   [windows](windows): 16 bytes at once, across fields and array elements.
//! - Small items are taken several at a time so that windows fill up.
//!
//! Windows come first in a list of steps: they may write beyond their own bytes, and the other steps write theirs
//! afterwards. The merged program writes the same bytes and fails for the same sources as the planned one, but may fail
//! at another step first.
//!
//! Programs follow formats from outside, so the result is bounded: nothing above [`INLINE`] bytes is unrolled, and
//! [`MAX_BYTES`] bytes of a program become windows at most.

mod flat;
mod windows;

use super::interpret::Isa;
use super::program::reach_of;
use super::program::{Instruction, Program};

/// Arrays and groups of items up to this many bytes are unrolled.
const INLINE: usize = 256;
/// Copies from this length on are left to memcpy.
const LONG_COPY: u32 = 160;
/// Swaps from this length on are left to the loop for swaps.
const LONG_SWAP: u32 = 160;
/// Zeros from this length on are left to memset.
const LONG_ZERO: u32 = 64;
/// Target bytes of one program that windows are sought for.
const MAX_BYTES: usize = 1 << 16;

/// The merged steps.
#[derive(Debug)]
pub(super) struct Merged {
    /// For one item.
    pub(super) one: Vec<Instruction>,
    /// For several items at a time, where that gives wider steps.
    pub(super) block: Option<Block>,
}

/// Steps for `items` items lying side by side.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) items: usize,
    pub(super) steps: Vec<Instruction>,
}

impl Merged {
    pub(super) fn new(program: &Program) -> Merged {
        let Program { src_size, dst_size, .. } = *program;
        let mut merger = Merger { bytes_left: MAX_BYTES };
        let extent = Extent { src: src_size, dst: 0..dst_size };
        let simple = merger.simplify(&program.steps, &extent);
        let one = merger.arrange(simple.clone(), &extent);
        let block = merger.block(&simple, src_size, dst_size);
        Merged { one, block }
    }

    /// Whether items are converted by windows alone, and the interpreter does them faster than generated code.
    pub(super) fn is_wide(&self, isa: Isa) -> bool {
        let steps = self.block.as_ref().map_or(&self.one, |block| &block.steps);
        matches!(steps.as_slice(), [Instruction::Shuffle { windows }] if isa.is_wide(windows))
    }

    /// How many steps and windows there are, in all.
    pub(super) fn length(&self) -> usize {
        length(&self.one) + self.block.as_ref().map_or(0, |block| length(&block.steps))
    }
}

fn length(steps: &[Instruction]) -> usize {
    steps
        .iter()
        .map(|step| match step {
            Instruction::Shuffle { windows } => windows.len(),
            Instruction::IfPresent { steps, .. }
            | Instruction::Repeat { steps, .. }
            | Instruction::Permute { steps, .. } => 1 + length(steps),
            _ => 1,
        })
        .sum()
}

/// What the steps of one list may touch: the source from its start, and a range of the target.
#[derive(Debug, Clone)]
struct Extent {
    src: usize,
    dst: std::ops::Range<usize>,
}

struct Merger {
    bytes_left: usize,
}

impl Merger {
    /// Merges the steps of an item and its inner lists.
    fn merge(&mut self, steps: &[Instruction], extent: &Extent) -> Vec<Instruction> {
        let simple = self.simplify(steps, extent);
        self.arrange(simple, extent)
    }

    /// Joins neighbours, dissolves small arrays, merges inner lists. Makes no windows on this level yet.
    fn simplify(&mut self, steps: &[Instruction], extent: &Extent) -> Vec<Instruction> {
        let mut simple = Vec::with_capacity(steps.len());
        for step in steps {
            self.simplify_step(step, extent, &mut simple);
        }
        flat::join(simple)
    }

    fn simplify_step(&mut self, step: &Instruction, extent: &Extent, out: &mut Vec<Instruction>) {
        match step {
            Instruction::Number { .. } => match flat::as_moves(step) {
                Some(moves) => moves.iter().for_each(|step| self.simplify_step(step, extent, out)),
                None => out.push(step.clone()),
            },
            Instruction::IfPresent { src, dst, otherwise, steps } => {
                let inner = Extent { src: extent.src, dst: *dst as usize..*dst as usize + otherwise.len() };
                let steps = self.merge(steps, &inner);
                out.push(Instruction::IfPresent { src: *src, dst: *dst, otherwise: otherwise.clone(), steps });
            }
            Instruction::Repeat { count: 0, .. } => {}
            Instruction::Repeat { src, dst, count, src_stride, dst_stride, steps } => {
                let array =
                    Array { src: *src, dst: *dst, count: *count, src_stride: *src_stride, dst_stride: *dst_stride };
                self.simplify_repeat(&array, steps, extent, out);
            }
            Instruction::Permute { src, dst, order, src_stride, dst_stride, steps } => {
                let Some(last) = order.iter().max() else { return };
                let ends = (array_end(*src, last + 1, *src_stride), array_end(*dst, order.len() as u32, *dst_stride));
                let item = item_extent(steps, ends, (*src_stride, *dst_stride), extent);
                let simple = self.simplify(steps, &item);
                if flat::only_moves_bytes(&simple) && order.len().saturating_mul(*dst_stride as usize) <= INLINE {
                    for (number, from) in order.iter().enumerate() {
                        flat::shift_into(&simple, src + from * src_stride, dst + number as u32 * dst_stride, out);
                    }
                } else {
                    let steps = self.arrange(simple, &item);
                    let (order, src_stride, dst_stride) = (order.clone(), *src_stride, *dst_stride);
                    out.push(Instruction::Permute { src: *src, dst: *dst, order, src_stride, dst_stride, steps });
                }
            }
            // An own list of windows could overwrite what others have written; only merging makes them.
            Instruction::Shuffle { .. } => unreachable!("planners write no windows"),
            other => out.push(other.clone()),
        }
    }

    fn simplify_repeat(&mut self, array: &Array, steps: &[Instruction], extent: &Extent, out: &mut Vec<Instruction>) {
        let ends =
            (array_end(array.src, array.count, array.src_stride), array_end(array.dst, array.count, array.dst_stride));
        let item = item_extent(steps, ends, (array.src_stride, array.dst_stride), extent);
        let simple = self.simplify(steps, &item);
        if let Some(whole) = flat::collapse(&simple, array) {
            out.push(whole);
            return;
        }
        let bytes = u64::from(array.count) * u64::from(array.src_stride.max(array.dst_stride));
        if flat::only_moves_bytes(&simple) && bytes <= INLINE as u64 {
            for number in 0..array.count {
                let (src, dst) = array.item(number);
                flat::shift_into(&simple, src, dst, out);
            }
            return;
        }
        let mut done = 0;
        if let Some(block) = self.block(&simple, array.src_stride as usize, array.dst_stride as usize) {
            let items = block.items as u32;
            done = array.count / items * items;
            out.push(Instruction::Repeat {
                src: array.src,
                dst: array.dst,
                count: array.count / items,
                src_stride: array.src_stride * items,
                dst_stride: array.dst_stride * items,
                steps: block.steps,
            });
        }
        if done < array.count {
            let (src, dst) = array.item(done);
            let (src_stride, dst_stride) = (array.src_stride, array.dst_stride);
            let steps = self.arrange(simple, &item);
            out.push(Instruction::Repeat { src, dst, count: array.count - done, src_stride, dst_stride, steps });
        }
    }

    /// Steps for several items at a time, if they only move bytes and windows fit several items better than one.
    fn block(&mut self, simple: &[Instruction], src_stride: usize, dst_stride: usize) -> Option<Block> {
        let items = block_items(src_stride, dst_stride);
        let (read, written) = reach_of(simple);
        let side_by_side = read <= src_stride as u64 && written <= dst_stride as u64;
        if items < 2 || !side_by_side || !flat::only_moves_bytes(simple) {
            return None;
        }
        let mut steps = Vec::with_capacity(items * simple.len());
        for number in 0..items {
            flat::shift_into(simple, (number * src_stride) as u32, (number * dst_stride) as u32, &mut steps);
        }
        let extent = Extent { src: items * src_stride, dst: 0..items * dst_stride };
        let steps = self.arrange(flat::join(steps), &extent);
        Some(Block { items, steps })
    }

    /// Makes windows of what only moves bytes; the rest follows.
    fn arrange(&mut self, simple: Vec<Instruction>, extent: &Extent) -> Vec<Instruction> {
        if let [Instruction::Copy { .. } | Instruction::Swap { .. } | Instruction::Zero { .. }] = simple.as_slice() {
            return simple;
        }
        let (short, rest): (Vec<Instruction>, Vec<Instruction>) = simple.into_iter().partition(is_short);
        let bytes = flat::byte_map(&short);
        if bytes.len() > self.bytes_left {
            return short.into_iter().chain(rest).collect();
        }
        self.bytes_left -= bytes.len();
        let (windows, left) = windows::cover(&bytes, extent);
        let mut steps = Vec::new();
        if !windows.is_empty() {
            steps.push(Instruction::Shuffle { windows });
        }
        steps.extend(flat::join(windows::plain(&left)));
        steps.extend(rest);
        steps
    }
}

/// Whether windows do better than the step itself.
fn is_short(step: &Instruction) -> bool {
    match *step {
        Instruction::Copy { len, .. } => len < LONG_COPY,
        Instruction::Swap { width, count, .. } => u64::from(width) * u64::from(count) < u64::from(LONG_SWAP),
        Instruction::Zero { len, .. } => len < LONG_ZERO,
        _ => false,
    }
}

/// Items that `Repeat` goes over.
struct Array {
    src: u32,
    dst: u32,
    count: u32,
    src_stride: u32,
    dst_stride: u32,
}

impl Array {
    /// Where source and target item `number` lie.
    fn item(&self, number: u32) -> (u32, u32) {
        (self.src + number * self.src_stride, self.dst + number * self.dst_stride)
    }
}

/// The end of `count` items that lie `stride` bytes apart from `start` on.
fn array_end(start: u32, count: u32, stride: u32) -> u64 {
    u64::from(start) + u64::from(count) * u64::from(stride)
}

/// What may be touched of one item of an array: all of its stride, or, where the last item is cut off or items overlap,
/// no more than its steps touch anyway.
fn item_extent(steps: &[Instruction], ends: (u64, u64), strides: (u32, u32), outer: &Extent) -> Extent {
    let (read, written) = reach_of(steps);
    let src = if ends.0 <= outer.src as u64 { read.max(u64::from(strides.0)) } else { read };
    let dst = if ends.1 <= outer.dst.end as u64 { u64::from(strides.1) } else { written };
    Extent { src: src as usize, dst: 0..dst as usize }
}

/// How many items make whole windows of the target, or else enough bytes that a partial window weighs little.
fn block_items(src_stride: usize, dst_stride: usize) -> usize {
    let larger = src_stride.max(dst_stride);
    if dst_stride == 0 || larger == 0 || larger > INLINE / 2 {
        return 1;
    }
    let most = INLINE / larger;
    let whole = (1..=most).find(|items| (items * dst_stride).is_multiple_of(16));
    whole.unwrap_or(most)
}
