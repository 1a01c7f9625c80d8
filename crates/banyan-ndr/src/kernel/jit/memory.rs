//! Memory for code: written first, executable afterwards, never both at once. The only place that calls into it.

use memmap2::{Mmap, MmapMut};

use crate::kernel::interpret::{self, Isa, WideLoop};
use crate::kernel::program::Instruction;

/// The function that [`super::emit`] generates.
type Function = unsafe extern "C" fn(*const u8, usize, *mut u8, usize, usize) -> u64;

/// A generated function.
#[derive(Debug)]
pub(super) struct Executable {
    memory: Mmap,
}

impl Executable {
    /// Places the code of a function that starts with its first byte. `None` where the system gives no such memory.
    pub(super) fn new(code: &[u8]) -> Option<Executable> {
        let mut memory = MmapMut::map_anon(code.len()).ok()?;
        memory[..code.len()].copy_from_slice(code);
        let memory = memory.make_exec().ok()?;
        make_visible(&memory);
        Some(Executable { memory })
    }

    /// Calls the function; whether it succeeded.
    pub(super) fn call(&self, src: &[u8], dst: &mut [u8], count: usize) -> bool {
        // SAFETY: the memory holds a function of this signature, made by the emitter and never changed since.
        let function = unsafe { std::mem::transmute::<*const u8, Function>(self.memory.as_ptr()) };
        // SAFETY: pointers and lengths are those of slices; the function compares the lengths with those of `count`
        // items, and the emitter has asserted that steps stay within their item.
        unsafe { function(src.as_ptr(), src.len(), dst.as_mut_ptr(), dst.len(), count) == 0 }
    }
}

/// What generated code calls to have a step interpreted. 0 is success.
///
/// # Safety
///
/// `step` must be a step that outlives the call; `src` and `dst` must have the lengths given, and not overlap.
pub(super) unsafe extern "C" fn interpret_step(
    step: *const Instruction,
    src: *const u8,
    src_len: usize,
    dst: *mut u8,
    dst_len: usize,
) -> u64 {
    // SAFETY: by this function's contract, which the emitter keeps: it passes the address of a step that `Code` owns,
    // the item's addresses, and how far the step reaches into the item.
    let (step, src, dst) =
        unsafe { (&*step, std::slice::from_raw_parts(src, src_len), std::slice::from_raw_parts_mut(dst, dst_len)) };
    u64::from(interpret::run_step(Isa::best(), step, src, dst).is_err())
}

/// What generated code calls for long loops over windows.
///
/// # Safety
///
/// `wide` must outlive the call; the item that its step is about must lie at `src` and `dst`, and not overlap.
pub(super) unsafe extern "C" fn wide_loop(wide: *const WideLoop, src: *const u8, dst: *mut u8) {
    // SAFETY: by this function's contract, which the emitter keeps: it passes the address of a loop that `Code` owns,
    // and has asserted that the step it stands for stays within its item.
    unsafe { (*wide).run(src, dst) }
}

/// What generated code calls for long copies.
///
/// # Safety
///
/// `len` bytes must be readable at `src` and writable at `dst`, and not overlap.
pub(super) unsafe extern "C" fn copy(dst: *mut u8, src: *const u8, len: usize) {
    // SAFETY: by this function's contract.
    unsafe { std::ptr::copy_nonoverlapping(src, dst, len) }
}

/// Makes written code visible to instruction fetch, where caches do not see to that.
#[cfg(target_arch = "aarch64")]
fn make_visible(code: &[u8]) {
    use std::arch::asm;
    let caches: usize;
    // SAFETY: reads the register that tells the line sizes of the caches.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) caches, options(nomem, nostack, preserves_flags)) };
    let (instruction_line, data_line) = (4_usize << (caches & 15), 4_usize << (caches >> 16 & 15));
    let start = code.as_ptr().addr();
    for line in (start & !(data_line - 1)..start + code.len()).step_by(data_line) {
        // SAFETY: writes back a line of memory that is mapped.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for line in (start & !(instruction_line - 1)..start + code.len()).step_by(instruction_line) {
        // SAFETY: drops a line of memory that is mapped from the instruction cache.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

/// Nothing to do: instruction fetch sees what was written.
#[cfg(not(target_arch = "aarch64"))]
fn make_visible(_code: &[u8]) {}
