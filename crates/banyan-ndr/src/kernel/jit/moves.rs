//! Code that moves bytes: windows, copies, swaps, constants.

use cranelift_codegen::ir::{ConstantData, InstBuilder, Type, Value, types};

use super::emit::{Emitter, ItemPointers, flags};
use crate::ByteOrder;
use crate::kernel::program::Window;
use crate::wire::read_uint;

/// Copies above this many bytes are left to memcpy, swaps above it are loops.
const INLINE: u32 = 256;
/// Bytes that a turn of the loop for long swaps takes.
const SWAP_TURN: u32 = 64;
const NO_SOURCE: u8 = 0x80;

impl Emitter<'_> {
    pub(super) fn window(&mut self, item: ItemPointers, window: &Window) {
        let value = self.load(types::I8X16, item, window.src);
        let value = self.shuffled(value, window.mask);
        self.store(value, item, window.dst);
    }

    /// Byte `mask[i]` of `value` at every `i`, or 0.
    fn shuffled(&mut self, value: Value, mask: [u8; 16]) -> Value {
        let identity: [u8; 16] = std::array::from_fn(|i| i as u8);
        let zeros = mask.contains(&NO_SOURCE);
        let order: [u8; 16] = std::array::from_fn(|i| if mask[i] == NO_SOURCE { i as u8 } else { mask[i] });
        let mut moved = value;
        if order != identity {
            let order = self.builder.func.dfg.immediates.push(ConstantData::from(&order[..]));
            moved = self.builder.ins().shuffle(value, value, order);
        }
        if zeros {
            let kept = mask.map(|from| if from == NO_SOURCE { 0 } else { 0xff });
            let kept = self.vector(kept);
            moved = self.builder.ins().band(moved, kept);
        }
        moved
    }

    /// A constant, its first byte first in memory.
    fn vector(&mut self, bytes: [u8; 16]) -> Value {
        let constant = self.builder.func.dfg.constants.insert(ConstantData::from(&bytes[..]));
        self.builder.ins().vconst(types::I8X16, constant)
    }

    pub(super) fn copy(&mut self, item: ItemPointers, src: u32, dst: u32, len: u32) {
        if len > INLINE {
            return self.call_copy(item, src, dst, len);
        }
        for (at, width) in pieces(len) {
            let value = self.load(piece_type(width), item, src + at);
            self.store(value, item, dst + at);
        }
    }

    pub(super) fn fill(&mut self, item: ItemPointers, dst: u32, bytes: &[u8]) {
        for (at, width) in pieces(bytes.len() as u32) {
            let piece = &bytes[at as usize..][..width as usize];
            let value = match <[u8; 16]>::try_from(piece) {
                Ok(vector) => self.vector(vector),
                Err(_) => {
                    let bits = read_uint(piece, ByteOrder::NATIVE) as i64;
                    self.builder.ins().iconst(piece_type(width), bits)
                }
            };
            self.store(value, item, dst + at);
        }
    }

    pub(super) fn swap(&mut self, item: ItemPointers, (src, dst): (u32, u32), width: u8, count: u32) {
        let len = u32::from(width) * count;
        if len < 16 {
            for number in 0..count {
                let at = number * u32::from(width);
                let value = self.load(piece_type(u32::from(width)), item, src + at);
                let swapped = self.builder.ins().bswap(value);
                self.store(swapped, item, dst + at);
            }
            return;
        }
        let mut done = 0;
        if len > INLINE {
            let first = self.advance(item, src, dst);
            let turns = len / SWAP_TURN;
            self.repeat(first, turns, (SWAP_TURN, SWAP_TURN), |emitter, item| {
                for at in (0..SWAP_TURN).step_by(16) {
                    emitter.window(item, &swap_window(at, at, width));
                }
            });
            done = turns * SWAP_TURN;
        }
        for (at, _) in pieces(len - done) {
            // The rest may be shorter than a window: then it starts earlier and swaps some numbers again.
            let at = (done + at).min(len - 16);
            self.window(item, &swap_window(src + at, dst + at, width));
        }
    }

    pub(super) fn load(&mut self, ty: Type, item: ItemPointers, at: u32) -> Value {
        self.builder.ins().load(ty, flags(), item.src, at as i32)
    }

    pub(super) fn store(&mut self, value: Value, item: ItemPointers, at: u32) {
        self.builder.ins().store(flags(), value, item.dst, at as i32);
    }
}

/// 16 bytes of swapped numbers.
fn swap_window(src: u32, dst: u32, width: u8) -> Window {
    let mask = std::array::from_fn(|i| i as u8 / width * width + (width - 1 - i as u8 % width));
    Window { src, dst, mask }
}

/// The type of as many bytes: a number, or a vector for 16.
fn piece_type(width: u32) -> Type {
    match width {
        1 => types::I8,
        2 => types::I16,
        4 => types::I32,
        8 => types::I64,
        _ => types::I8X16,
    }
}

/// Covers `len` bytes with pieces (start, width) of 16, 8, 4, 2 and 1 bytes; the last ones may overlap.
fn pieces(len: u32) -> Vec<(u32, u32)> {
    let widest = [16, 8, 4, 2, 1].into_iter().find(|width| *width <= len);
    let Some(widest) = widest else { return Vec::new() };
    (0..len.div_ceil(widest)).map(|i| ((i * widest).min(len - widest), widest)).collect()
}
