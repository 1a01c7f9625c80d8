//! Windows by the byte shuffles of SSSE3, and several at once by those of AVX2 and AVX-512.
//!
//! A few windows are run on many items with their masks in registers; longer lists read them from memory.

#[path = "simd_x86_wide.rs"]
mod wide;

#[cfg(target_arch = "x86")]
use std::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use crate::kernel::program::Window;
pub(super) use wide::{Wide, run_loops};

/// An extension of the instruction set. Made by [`Vectors::available`] only.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Vectors {
    Ssse3,
    Avx2,
    Avx512,
}

impl Vectors {
    /// What this processor has, the best first.
    pub(super) fn available() -> impl Iterator<Item = Vectors> {
        let avx2 = is_x86_feature_detected!("avx2");
        let avx512 = avx2 && is_x86_feature_detected!("avx512bw");
        let ssse3 = is_x86_feature_detected!("ssse3");
        let found = [(avx512, Vectors::Avx512), (avx2, Vectors::Avx2), (ssse3, Vectors::Ssse3)];
        found.into_iter().filter_map(|(is_there, vectors)| is_there.then_some(vectors))
    }

    /// `windows` several at a time, where they are few and lie side by side, in source and target.
    pub(super) fn widen(self, windows: &[Window]) -> Option<Wide> {
        Wide::new(self, windows)
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
            // SAFETY: passed on from this function's contract; what `wide` needs is there, or `widen` had not made it.
            return unsafe { wide.shuffle(items) };
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
