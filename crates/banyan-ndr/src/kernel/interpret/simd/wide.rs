//! Windows on wider vectors than generated code has, with everything decided beforehand that does not depend on the
//! record: small records would pay for it again and again.

use super::vectors::{self, Wide};
use super::{Isa, Window};
use crate::kernel::program::Instruction;
use crate::kernel::program::reach;

/// A loop over wide windows.
#[derive(Debug)]
#[cfg_attr(
    not(all(any(target_arch = "x86", target_arch = "x86_64"), not(miri))),
    expect(dead_code, reason = "where there are no wide vectors no loop is ever made, nor run")
)]
pub(in crate::kernel) struct WideLoop {
    pub(super) wide: Wide,
    /// Where the first item lies in source and target.
    pub(super) start: (usize, usize),
    pub(super) count: usize,
    pub(super) strides: (usize, usize),
}

impl WideLoop {
    /// What `step` does, if this processor has wide vectors for all of it.
    pub(in crate::kernel) fn new(step: &Instruction) -> Option<WideLoop> {
        let wide = |windows: &[Window]| Isa::best().widen(windows);
        match step {
            Instruction::Shuffle { windows } => {
                Some(WideLoop { wide: wide(windows)?, start: (0, 0), count: 1, strides: (0, 0) })
            }
            Instruction::Repeat { src, dst, count, src_stride, dst_stride, steps } => {
                let [Instruction::Shuffle { windows }] = steps.as_slice() else { return None };
                Some(WideLoop {
                    wide: wide(windows)?,
                    start: (*src as usize, *dst as usize),
                    count: *count as usize,
                    strides: (*src_stride as usize, *dst_stride as usize),
                })
            }
            _ => None,
        }
    }

    /// # Safety
    ///
    /// The item that the step is about must be readable at `src` and writable at `dst`, as far as the step reaches.
    #[cfg(all(
        feature = "jit",
        not(miri),
        any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "s390x")
    ))]
    pub(in crate::kernel) unsafe fn run(&self, src: *const u8, dst: *mut u8) {
        // SAFETY: by this function's contract.
        unsafe { vectors::run_loops(std::slice::from_ref(self), src, dst) }
    }
}

/// The conversion of one item by wide windows alone.
#[derive(Debug)]
pub(in crate::kernel) struct WideItem {
    loops: Vec<WideLoop>,
    /// Bytes of source and target.
    sizes: (usize, usize),
}

impl WideItem {
    /// What `steps` do to an item of these sizes, if this processor has wide vectors for all of it.
    pub(in crate::kernel) fn new(steps: &[Instruction], sizes: (usize, usize)) -> Option<WideItem> {
        let loops: Vec<WideLoop> = steps.iter().map(WideLoop::new).collect::<Option<_>>()?;
        let within = |(read, written): (u64, u64)| read <= sizes.0 as u64 && written <= sizes.1 as u64;
        assert!(steps.iter().map(reach).all(within), "steps leave their item");
        (!loops.is_empty()).then_some(WideItem { loops, sizes })
    }

    /// Converts the item. False where these are not the bytes of one.
    #[inline(always)]
    pub(in crate::kernel) fn run(&self, src: &[u8], dst: &mut [u8]) -> bool {
        if src.len() != self.sizes.0 || dst.len() != self.sizes.1 {
            return false;
        }
        // SAFETY: the slices have the item's sizes, and `new` has asserted that no step leaves it.
        unsafe { vectors::run_loops(&self.loops, src.as_ptr(), dst.as_mut_ptr()) };
        true
    }
}
