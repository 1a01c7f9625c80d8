//! Windows by SSSE3's and AVX2's byte shuffles.
//!
//! A few windows are run on many items with their masks in registers; longer lists read them from memory. AVX2 runs two
//! windows at once where they lie side by side in source and target.

#[cfg(target_arch = "x86")]
use std::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::WideLoop;
use crate::kernel::program::Window;

/// An extension of the instruction set. Made by [`Vectors::available`] only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Vectors {
    Ssse3,
    Avx2,
}

impl Vectors {
    /// What this processor has, the best first.
    pub(super) fn available() -> impl Iterator<Item = Vectors> {
        let avx2 = is_x86_feature_detected!("avx2").then_some(Vectors::Avx2);
        let ssse3 = is_x86_feature_detected!("ssse3").then_some(Vectors::Ssse3);
        avx2.into_iter().chain(ssse3)
    }

    /// `windows` two at a time, where they are few and every two lie side by side, in source and target.
    pub(super) fn widen(self, windows: &[Window]) -> Option<Wide> {
        let (chunks, rest) = windows.as_chunks::<2>();
        if self != Vectors::Avx2 || chunks.is_empty() || chunks.len() > MOST_PAIRS || !rest.is_empty() {
            return None;
        }
        let mut wide = Wide { pairs: [Pair::NONE; MOST_PAIRS], used: chunks.len() };
        for (pair, windows) in wide.pairs.iter_mut().zip(chunks) {
            *pair = Pair::new(windows)?;
        }
        Some(wide)
    }

    /// Runs `windows`, in order, on `count` items.
    ///
    /// # Safety
    ///
    /// The processor must have the instructions. The 16 bytes of every window of every item, `strides` apart, must be
    /// readable at `src` and writable at `dst`.
    // Arguments that go through the stack would cost short lists more than their windows.
    #[inline(always)]
    pub(super) unsafe fn shuffle(
        self,
        windows: &[Window],
        src: *const u8,
        dst: *mut u8,
        count: usize,
        strides: (usize, usize),
    ) {
        let items = Items { src, dst, count, strides };
        if let Some(wide) = self.widen(windows) {
            // SAFETY: passed on from this function's contract; AVX2 is there, or there would be no wide windows.
            return unsafe { items.shuffle_wide(&wide) };
        }
        // SAFETY: passed on from this function's contract.
        unsafe {
            match windows.len() {
                1 => items.shuffle_few::<1>(windows),
                2 => items.shuffle_few::<2>(windows),
                3 => items.shuffle_few::<3>(windows),
                4 => items.shuffle_few::<4>(windows),
                5 => items.shuffle_few::<5>(windows),
                6 => items.shuffle_few::<6>(windows),
                7 => items.shuffle_few::<7>(windows),
                8 => items.shuffle_few::<8>(windows),
                _ => items.shuffle_many(windows),
            }
        }
    }
}

/// Pairs of windows whose masks fit the registers, with some to spare.
const MOST_PAIRS: usize = 4;

/// Two windows side by side: 32 bytes at once.
#[derive(Debug, Clone, Copy)]
struct Pair {
    mask: [u8; 32],
    src: usize,
    dst: usize,
}

impl Pair {
    const NONE: Pair = Pair { mask: [0; 32], src: 0, dst: 0 };

    fn new([low, high]: &[Window; 2]) -> Option<Pair> {
        let behind = |low: u32, high: u32| high.checked_sub(low) == Some(16);
        if !behind(low.src, high.src) || !behind(low.dst, high.dst) {
            return None;
        }
        let mut mask = [0; 32];
        mask[..16].copy_from_slice(&low.mask);
        mask[16..].copy_from_slice(&high.mask);
        Some(Pair { mask, src: low.src as usize, dst: low.dst as usize })
    }
}

/// Windows that are run two at a time. A value is proof that the processor has AVX2.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wide {
    pairs: [Pair; MOST_PAIRS],
    used: usize,
}

/// Runs loops one behind the other.
///
/// # Safety
///
/// Every window of every item of every loop must be readable at `src` and writable at `dst`.
#[inline]
pub(super) unsafe fn run_loops(loops: &[WideLoop], src: *const u8, dst: *mut u8) {
    if !loops.is_empty() {
        // SAFETY: passed on from this function's contract; there is a loop, and so AVX2.
        unsafe { run_loops_with_avx2(loops, src, dst) }
    }
}

/// # Safety
///
/// As [`run_loops`], on a processor with AVX2.
#[target_feature(enable = "avx2")]
unsafe fn run_loops_with_avx2(loops: &[WideLoop], src: *const u8, dst: *mut u8) {
    for WideLoop { wide, start, count, strides } in loops {
        // A loop over no items may start anywhere, also outside the allocation.
        let (src, dst) = (src.wrapping_add(start.0), dst.wrapping_add(start.1));
        // SAFETY: passed on from this function's contract.
        unsafe { Items { src, dst, count: *count, strides: *strides }.shuffle_wide(wide) }
    }
}

/// The items of a run.
struct Items {
    src: *const u8,
    dst: *mut u8,
    count: usize,
    strides: (usize, usize),
}

impl Items {
    /// # Safety
    ///
    /// As [`Vectors::shuffle`], on a processor with AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn shuffle_wide(&self, wide: &Wide) {
        // SAFETY: passed on from this function's contract.
        unsafe {
            match wide.used {
                1 => self.shuffle_pairs::<1>(wide),
                2 => self.shuffle_pairs::<2>(wide),
                3 => self.shuffle_pairs::<3>(wide),
                _ => self.shuffle_pairs::<4>(wide),
            }
        }
    }

    /// # Safety
    ///
    /// As [`Vectors::shuffle`], with `N` pairs, on a processor with AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn shuffle_pairs<const N: usize>(&self, wide: &Wide) {
        let Some(pairs) = wide.pairs.first_chunk::<N>() else { return };
        // Loops, because `map` would not be compiled with the vector instructions.
        let mut masks = [_mm256_setzero_si256(); N];
        for i in 0..N {
            // SAFETY: masks have 32 bytes.
            masks[i] = unsafe { _mm256_loadu_si256(pairs[i].mask.as_ptr().cast()) };
        }
        let (mut src, mut dst) = (self.src, self.dst);
        for _ in 0..self.count {
            for i in 0..N {
                // SAFETY: two windows side by side lie within bounds by this function's contract.
                unsafe {
                    let source = _mm256_loadu_si256(src.add(pairs[i].src).cast());
                    _mm256_storeu_si256(dst.add(pairs[i].dst).cast(), _mm256_shuffle_epi8(source, masks[i]));
                }
            }
            // The step behind the last item may leave the allocation, where it is not used.
            src = src.wrapping_add(self.strides.0);
            dst = dst.wrapping_add(self.strides.1);
        }
    }

    /// # Safety
    ///
    /// As [`Vectors::shuffle`], with `N` windows.
    #[target_feature(enable = "ssse3")]
    unsafe fn shuffle_few<const N: usize>(&self, windows: &[Window]) {
        let Some(windows) = windows.first_chunk::<N>() else { return };
        let mut masks = [_mm_setzero_si128(); N];
        let mut at = [(0, 0); N];
        for i in 0..N {
            // SAFETY: masks have 16 bytes.
            masks[i] = unsafe { _mm_loadu_si128(windows[i].mask.as_ptr().cast()) };
            at[i] = (windows[i].src as usize, windows[i].dst as usize);
        }
        let (mut src, mut dst) = (self.src, self.dst);
        for _ in 0..self.count {
            for i in 0..N {
                // SAFETY: windows lie within bounds by this function's contract.
                unsafe {
                    let source = _mm_loadu_si128(src.add(at[i].0).cast());
                    _mm_storeu_si128(dst.add(at[i].1).cast(), _mm_shuffle_epi8(source, masks[i]));
                }
            }
            src = src.wrapping_add(self.strides.0);
            dst = dst.wrapping_add(self.strides.1);
        }
    }

    /// # Safety
    ///
    /// As [`Vectors::shuffle`].
    #[target_feature(enable = "ssse3")]
    unsafe fn shuffle_many(&self, windows: &[Window]) {
        let (mut src, mut dst) = (self.src, self.dst);
        for _ in 0..self.count {
            for window in windows {
                // SAFETY: windows lie within bounds by this function's contract; masks have 16 bytes.
                unsafe {
                    let source = _mm_loadu_si128(src.add(window.src as usize).cast());
                    let moved = _mm_shuffle_epi8(source, _mm_loadu_si128(window.mask.as_ptr().cast()));
                    _mm_storeu_si128(dst.add(window.dst as usize).cast(), moved);
                }
            }
            src = src.wrapping_add(self.strides.0);
            dst = dst.wrapping_add(self.strides.1);
        }
    }
}
