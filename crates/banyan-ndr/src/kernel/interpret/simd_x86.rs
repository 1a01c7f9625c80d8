//! Windows by SSSE3's and AVX2's byte shuffles.
//!
//! A few windows are run on many items with their masks in registers; longer lists read them from memory. AVX2 runs two
//! windows at once where they lie side by side in source and target.

#[cfg(target_arch = "x86")]
use std::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

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

    /// Whether [`shuffle`](Self::shuffle) takes two windows at once.
    pub(super) fn is_wide(self, windows: &[Window]) -> bool {
        self == Vectors::Avx2 && matches!(windows.len(), 2 | 4 | 6 | 8) && in_pairs(windows)
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
        if self.is_wide(windows) {
            // SAFETY: passed on from this function's contract.
            return unsafe { self.shuffle_wide(windows, src, dst, count, strides) };
        }
        let items = Items { src, dst, count, strides };
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

    /// [`shuffle`](Self::shuffle) for windows that [are wide](Self::is_wide), which is not asked again.
    ///
    /// # Safety
    ///
    /// As for [`shuffle`](Self::shuffle), and `windows` must be wide.
    #[inline(always)]
    pub(super) unsafe fn shuffle_wide(
        self,
        windows: &[Window],
        src: *const u8,
        dst: *mut u8,
        count: usize,
        strides: (usize, usize),
    ) {
        let items = Items { src, dst, count, strides };
        // SAFETY: passed on from this function's contract.
        unsafe {
            match windows.len() {
                2 => items.shuffle_pairs::<1>(windows),
                4 => items.shuffle_pairs::<2>(windows),
                6 => items.shuffle_pairs::<3>(windows),
                _ => items.shuffle_pairs::<4>(windows),
            }
        }
    }
}

/// Whether every two windows lie side by side, in source and target.
fn in_pairs(windows: &[Window]) -> bool {
    windows.as_chunks::<2>().0.iter().all(|[low, high]| low.src + 16 == high.src && low.dst + 16 == high.dst)
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
    /// As [`Vectors::shuffle`], with `2 * N` windows that lie [in pairs](in_pairs).
    #[target_feature(enable = "avx2")]
    unsafe fn shuffle_pairs<const N: usize>(&self, windows: &[Window]) {
        let Some(pairs) = windows.as_chunks::<2>().0.first_chunk::<N>() else { return };
        // Loops, because `map` would not be compiled with the vector instructions.
        let mut masks = [_mm256_setzero_si256(); N];
        let mut at = [(0, 0); N];
        for i in 0..N {
            let [low, high] = &pairs[i];
            // SAFETY: masks have 16 bytes.
            masks[i] = unsafe { _mm256_loadu2_m128i(high.mask.as_ptr().cast(), low.mask.as_ptr().cast()) };
            at[i] = (low.src as usize, low.dst as usize);
        }
        let (mut src, mut dst) = (self.src, self.dst);
        for _ in 0..self.count {
            for i in 0..N {
                // SAFETY: two windows side by side lie within bounds by this function's contract.
                unsafe {
                    let source = _mm256_loadu_si256(src.add(at[i].0).cast());
                    _mm256_storeu_si256(dst.add(at[i].1).cast(), _mm256_shuffle_epi8(source, masks[i]));
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
