//! What a flat conversion does: a list of steps that turn one source item into one target item.
//!
//! "Flat" means without references. A [`Program`] is pure data. The planner writes it in the most obvious way, one
//! step a field; [`merge`](super::merge) turns it into the fewest and widest steps; the interpreter and the code
//! generator run the same merged program.

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
    pub(crate) steps: Vec<Step>,
    /// The target fields that steps can fail at, by [`Step`]'s `path`.
    pub(crate) paths: Vec<String>,
}

/// One step. `src` and `dst` are byte positions, `path` an index into [`Program::paths`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
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
    IfPresent { src: u32, dst: u32, otherwise: Box<[u8]>, steps: Vec<Step> },
    /// `steps` on `count` items `src_stride` and `dst_stride` apart, positions relative to each. They write every
    /// byte of each target item.
    Repeat { src: u32, dst: u32, count: u32, src_stride: u32, dst_stride: u32, steps: Vec<Step> },
    /// As `Repeat`, but source items are taken in another order: the `i`-th target item comes from the source item
    /// with the number `order[i]`. For arrays whose element order changes.
    Permute { src: u32, dst: u32, order: Box<[u32]>, src_stride: u32, dst_stride: u32, steps: Vec<Step> },
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
pub enum Loss {
    /// An error that names field and value.
    #[default]
    Error,
    /// The nearest value: integers saturate, fractions are cut off, NaN becomes 0, integers round to floats, floats
    /// saturate at the largest finite number, any integer but 0 is true.
    Saturate,
}
