//! Windows by NEON's table look-up, which every 64-bit Arm has.

use std::arch::aarch64::{vld1q_u8, vqtbl1q_u8, vst1q_u8};

use super::WideLoop;
use crate::kernel::program::Window;

/// NEON.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Vectors;

impl Vectors {
    /// What this processor has, the best first.
    pub(super) fn available() -> impl Iterator<Item = Vectors> {
        std::iter::once(Vectors)
    }

    /// Never: generated code has vectors of the same width.
    pub(super) fn widen(self, _: &[Window]) -> Option<Wide> {
        None
    }

    /// Runs `windows`, in order, on `count` items.
    ///
    /// # Safety
    ///
    /// The 16 bytes of every window of every item, `strides` apart, must be readable at `src` and writable at `dst`.
    pub(super) unsafe fn shuffle(
        self,
        windows: &[Window],
        src: *const u8,
        dst: *mut u8,
        count: usize,
        strides: (usize, usize),
    ) {
        for item in 0..count {
            for window in windows {
                // SAFETY: within bounds by this function's contract. Indices from 16 on give 0.
                unsafe {
                    let source = vld1q_u8(src.add(item * strides.0 + window.src as usize));
                    let moved = vqtbl1q_u8(source, vld1q_u8(window.mask.as_ptr()));
                    vst1q_u8(dst.add(item * strides.1 + window.dst as usize), moved);
                }
            }
        }
    }
}

/// There are none.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wide {}

/// # Safety
///
/// None: there are no loops.
pub(super) unsafe fn run_loops(_: &[WideLoop], _: *const u8, _: *mut u8) {}
