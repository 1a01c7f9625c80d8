//! What a flat conversion does: a list of steps that turn one source item into one target item.
//!
//! "Flat" means without references. A [`Program`] is pure data. The planner writes it in the most obvious way, one
//! step a field; [`merge`](super::merge) turns it into the fewest and widest steps; the interpreter and the code
//! generator run the same merged program.
//!
//! [`assert_within`] asserts that a program stays within its items. The planner promises it; generated code, which has no
//! checks of its own inside an item, relies on it.

use std::sync::Arc;

use crate::ByteOrder;

/// A conversion of one item. All positions are relative to the start of the item, and lie within it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Program {
    /// Bytes of a source item; items of a run lie this far apart.
    pub(crate) src_size: usize,
    /// Bytes of a target item; every one of them is written.
    pub(crate) dst_size: usize,
    /// The steps. No two write the same byte.
    pub(crate) steps: Vec<Instruction>,
    /// The target fields that steps can fail at, by [`Instruction`]'s `path`.
    pub(crate) paths: Vec<String>,
}

/// One step. `src` and `dst` are byte positions, `path` an index into [`Program::paths`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Instruction {
    /// Bytes as they are.
    Copy { src: u32, dst: u32, len: u32 },
    /// `count` numbers of `width` (2, 4, 8, 16) bytes with their bytes reversed.
    Swap { src: u32, dst: u32, width: u8, count: u32 },
    /// Zeros: padding, absent values.
    Zero { dst: u32, len: u32 },
    /// A constant: a default.
    Fill { dst: u32, bytes: Box<[u8]> },
    /// `count` numbers converted one by one.
    Number { src: u32, dst: u32, count: u32, from: Number, to: Number, loss: Loss, path: u32 },
    /// `count` values of an enumeration, renumbered by a sorted table of (from, to). Others are an error.
    Renumber { src: u32, dst: u32, count: u32, from: Number, to: Number, table: Arc<[(i128, i128)]>, path: u32 },
    /// The byte at `src`, the flag of an optional value, must not be 0: the target needs the value.
    Require { src: u32, path: u32 },
    /// The byte at `src` decides: not 0 runs `steps`, 0 writes `otherwise` to `dst`. `steps` write just those bytes.
    IfPresent { src: u32, dst: u32, otherwise: Box<[u8]>, steps: Vec<Instruction> },
    /// `steps` on `count` items `src_stride` and `dst_stride` apart, positions relative to each. They write every
    /// byte of each target item.
    Repeat { src: u32, dst: u32, count: u32, src_stride: u32, dst_stride: u32, steps: Vec<Instruction> },
    /// As `Repeat`, but source items are taken in another order: the `i`-th target item comes from the source item
    /// with the number `order[i]`. For arrays whose element order changes.
    Permute { src: u32, dst: u32, order: Box<[u32]>, src_stride: u32, dst_stride: u32, steps: Vec<Instruction> },
    /// Made by merging only: windows of 16 bytes, in order; later ones may overwrite what earlier ones wrote beyond
    /// their own bytes, but none writes outside the item.
    Shuffle { windows: Vec<Window> },
}

/// A shuffle of 16 source bytes into 16 target bytes: target byte `i` is source byte `mask[i]`, or 0 where `mask[i]`
/// is 0x80.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) mask: [u8; 16],
}

/// A number in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Number {
    pub(crate) kind: NumberKind,
    /// In bytes: 1, 2, 4, 8, 16 for integers; 2, 4, 8 for floats; 1, 2, 4, 8 for bools.
    pub(crate) width: u8,
    pub(crate) order: ByteOrder,
}

/// What the bits of a number mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberKind {
    Unsigned,
    Signed,
    Float,
    /// 0 is false. As a source anything else is true; as a target 1 is true.
    Bool,
}

/// What happens to a number that its target cannot hold.
///
/// "Cannot hold" is: an integer out of range; a float with a fraction, out of range or NaN for an integer; an integer
/// that a float cannot represent exactly; a finite float that overflows a narrower one (rounding is no loss); an integer
/// other than 0 and 1 for a bool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Loss {
    /// An error that names field and value.
    #[default]
    Error,
    /// The nearest value: integers saturate, fractions are cut off, NaN becomes 0, integers round to floats, floats
    /// saturate at the largest finite number, any integer but 0 is true.
    Saturate,
}

/// Panics if a step reads outside `src` bytes or writes outside `dst` bytes, or if a number cannot be one.
pub(super) fn assert_within(steps: &[Instruction], src: usize, dst: usize) {
    for step in steps {
        let (read, written) = reach(step);
        assert!(read <= src as u64, "step reads to byte {read} of {src}: {step:?}");
        assert!(written <= dst as u64, "step writes to byte {written} of {dst}: {step:?}");
    }
    assert_numbers(steps);
}

fn assert_numbers(steps: &[Instruction]) {
    for step in steps {
        match step {
            Instruction::Number { from, to, .. } | Instruction::Renumber { from, to, .. } => {
                assert!(is_number(*from) && is_number(*to), "no such number: {step:?}");
            }
            Instruction::Swap { width, .. } => assert!(matches!(width, 2 | 4 | 8 | 16), "no such width: {step:?}"),
            Instruction::IfPresent { steps, .. }
            | Instruction::Repeat { steps, .. }
            | Instruction::Permute { steps, .. } => {
                assert_numbers(steps);
            }
            _ => {}
        }
    }
}

fn is_number(number: Number) -> bool {
    match number.kind {
        NumberKind::Unsigned | NumberKind::Signed => matches!(number.width, 1 | 2 | 4 | 8 | 16),
        NumberKind::Float => matches!(number.width, 2 | 4 | 8),
        NumberKind::Bool => matches!(number.width, 1 | 2 | 4 | 8),
    }
}

/// The ends of the source and the target bytes that `step` touches, steps within it included.
pub(super) fn reach(step: &Instruction) -> (u64, u64) {
    let end = |at: u32, len: u64| u64::from(at) + len;
    match step {
        Instruction::Copy { src, dst, len } => (end(*src, u64::from(*len)), end(*dst, u64::from(*len))),
        Instruction::Swap { src, dst, width, count } => {
            let len = u64::from(*width) * u64::from(*count);
            (end(*src, len), end(*dst, len))
        }
        Instruction::Zero { dst, len } => (0, end(*dst, u64::from(*len))),
        Instruction::Fill { dst, bytes } => (0, end(*dst, bytes.len() as u64)),
        Instruction::Number { src, dst, count, from, to, .. }
        | Instruction::Renumber { src, dst, count, from, to, .. } => {
            (end(*src, u64::from(*count) * u64::from(from.width)), end(*dst, u64::from(*count) * u64::from(to.width)))
        }
        Instruction::Require { src, .. } => (end(*src, 1), 0),
        Instruction::IfPresent { src, dst, otherwise, steps } => {
            let (read, written) = reach_of(steps);
            (read.max(end(*src, 1)), written.max(end(*dst, otherwise.len() as u64)))
        }
        Instruction::Repeat { count: 0, .. } => (0, 0),
        Instruction::Repeat { src, dst, count, src_stride, dst_stride, steps } => {
            let (read, written) = reach_of(steps);
            let last = u64::from(count - 1);
            (end(*src, last * u64::from(*src_stride) + read), end(*dst, last * u64::from(*dst_stride) + written))
        }
        Instruction::Permute { src, dst, order, src_stride, dst_stride, steps } => {
            let (Some(&farthest), Some(last)) = (order.iter().max(), (order.len() as u64).checked_sub(1)) else {
                return (0, 0);
            };
            let (read, written) = reach_of(steps);
            let read = end(*src, u64::from(farthest) * u64::from(*src_stride) + read);
            (read, end(*dst, last * u64::from(*dst_stride) + written))
        }
        Instruction::Shuffle { windows } => windows
            .iter()
            .fold((0, 0), |(read, written), window| (read.max(end(window.src, 16)), written.max(end(window.dst, 16)))),
    }
}

/// The farthest [`reach`] of several steps.
pub(super) fn reach_of(steps: &[Instruction]) -> (u64, u64) {
    steps.iter().map(reach).fold((0, 0), |most, next| (most.0.max(next.0), most.1.max(next.1)))
}
