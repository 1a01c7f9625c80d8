//! Windows that lie side by side, in source and target: two at a time by AVX2, four at a time by AVX-512.
//!
//! Short records are over before a long beginning would be: what is decided and read for each loop is kept small.

#[cfg(target_arch = "x86")]
use std::arch::x86::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::{Items, Vectors, Window};
use crate::kernel::interpret::simd::WideLoop;

/// Pairs of windows whose masks fit the registers, with some to spare.
const MOST_PAIRS: usize = 4;

/// Windows that are run several at a time. A value is proof that the processor has the `vectors` for it.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(in super::super) struct Wide {
    /// Of the pairs, one behind the other, as they lie in source and target.
    masks: [[u8; 32]; MOST_PAIRS],
    /// Where the first pair lies in source and target.
    first: (usize, usize),
    /// Pairs that there are: at least one.
    pairs: usize,
    vectors: Vectors,
}

impl Wide {
    /// All of `windows`; none where they are too many, an odd number, or lie apart.
    pub(super) fn new(vectors: Vectors, windows: &[Window]) -> Option<Wide> {
        let (pairs, rest) = windows.as_chunks::<2>();
        let place = |window: &Window| (window.src as usize, window.dst as usize);
        let first = place(windows.first()?);
        let side_by_side = |(at, window)| place(window) == (first.0 + 16 * at, first.1 + 16 * at);
        if vectors == Vectors::Ssse3
            || pairs.len() > MOST_PAIRS
            || !rest.is_empty()
            || !windows.iter().enumerate().all(side_by_side)
        {
            return None;
        }
        let mut masks = [[0; 32]; MOST_PAIRS];
        for (mask, window) in masks.as_flattened_mut().chunks_exact_mut(16).zip(windows) {
            mask.copy_from_slice(&window.mask);
        }
        Some(Wide { masks, first, pairs: pairs.len(), vectors })
    }

    /// # Safety
    ///
    /// Every window of every item must be readable and writable.
    #[inline]
    pub(super) unsafe fn shuffle(&self, items: Items) {
        // SAFETY: passed on from this function's contract; the vectors are there by the existence of `self`.
        unsafe {
            match self.vectors {
                Vectors::Avx512 => self.shuffle_with_avx512(items),
                _ => self.shuffle_with_avx2(items),
            }
        }
    }

    /// # Safety
    ///
    /// As [`Wide::shuffle`], on a processor with AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn shuffle_with_avx2(&self, items: Items) {
        // SAFETY: passed on from this function's contract.
        unsafe {
            match self.pairs {
                1 => self.shuffle_pairs::<1>(items),
                2 => self.shuffle_pairs::<2>(items),
                3 => self.shuffle_pairs::<3>(items),
                _ => self.shuffle_pairs::<4>(items),
            }
        }
    }

    /// # Safety
    ///
    /// As [`Wide::shuffle`], on a processor with AVX2 and AVX-512BW.
    #[inline]
    #[target_feature(enable = "avx2,avx512bw")]
    unsafe fn shuffle_with_avx512(&self, items: Items) {
        // SAFETY: passed on from this function's contract.
        unsafe {
            match self.pairs {
                1 => self.shuffle_pairs::<1>(items),
                2 => self.shuffle_fours::<1, 0>(items),
                3 => self.shuffle_fours::<1, 1>(items),
                _ => self.shuffle_fours::<2, 0>(items),
            }
        }
    }

    /// # Safety
    ///
    /// As [`Wide::shuffle`], with `N` pairs, on a processor with AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn shuffle_pairs<const N: usize>(&self, items: Items) {
        // Loops, because `map` would not be compiled with the vector instructions.
        let mut masks = [_mm256_setzero_si256(); N];
        for (mask, bytes) in masks.iter_mut().zip(&self.masks) {
            // SAFETY: masks have 32 bytes.
            *mask = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        }
        let (mut src, mut dst) = (items.src.wrapping_add(self.first.0), items.dst.wrapping_add(self.first.1));
        for _ in 0..items.count {
            for (i, mask) in masks.iter().enumerate() {
                // SAFETY: windows side by side lie within bounds by this function's contract.
                unsafe {
                    let source = _mm256_loadu_si256(src.add(32 * i).cast());
                    _mm256_storeu_si256(dst.add(32 * i).cast(), _mm256_shuffle_epi8(source, *mask));
                }
            }
            // The step behind the last item may leave the allocation, where it is not used.
            src = src.wrapping_add(items.strides.0);
            dst = dst.wrapping_add(items.strides.1);
        }
    }

    /// # Safety
    ///
    /// As [`Wide::shuffle`], with `N` times two pairs and `P` more (0 or 1), on a processor with AVX2 and AVX-512BW.
    #[inline]
    #[target_feature(enable = "avx2,avx512bw")]
    unsafe fn shuffle_fours<const N: usize, const P: usize>(&self, items: Items) {
        let mut masks = [_mm512_setzero_si512(); N];
        for (mask, bytes) in masks.iter_mut().zip(self.masks.as_chunks::<2>().0) {
            // SAFETY: two masks have 64 bytes.
            *mask = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        }
        let mut last = [_mm256_setzero_si256(); P];
        for (mask, bytes) in last.iter_mut().zip(&self.masks[2 * N..]) {
            // SAFETY: masks have 32 bytes.
            *mask = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
        }
        let (mut src, mut dst) = (items.src.wrapping_add(self.first.0), items.dst.wrapping_add(self.first.1));
        for _ in 0..items.count {
            for (i, mask) in masks.iter().enumerate() {
                // SAFETY: windows side by side lie within bounds by this function's contract.
                unsafe {
                    let source = _mm512_loadu_si512(src.add(64 * i).cast());
                    _mm512_storeu_si512(dst.add(64 * i).cast(), _mm512_shuffle_epi8(source, *mask));
                }
            }
            for mask in &last {
                // SAFETY: as above.
                unsafe {
                    let source = _mm256_loadu_si256(src.add(64 * N).cast());
                    _mm256_storeu_si256(dst.add(64 * N).cast(), _mm256_shuffle_epi8(source, *mask));
                }
            }
            // The step behind the last item may leave the allocation, where it is not used.
            src = src.wrapping_add(items.strides.0);
            dst = dst.wrapping_add(items.strides.1);
        }
    }
}

/// Runs loops one behind the other.
///
/// # Safety
///
/// Every window of every item of every loop must be readable at `src` and writable at `dst`.
#[inline]
pub(in super::super) unsafe fn run_loops(loops: &[WideLoop], src: *const u8, dst: *mut u8) {
    let Some(WideLoop { wide, .. }) = loops.first() else { return };
    // SAFETY: passed on from this function's contract; all loops are made for the best vectors there are.
    unsafe {
        match wide.vectors {
            Vectors::Avx512 => run_loops_with_avx512(loops, src, dst),
            _ => run_loops_with_avx2(loops, src, dst),
        }
    }
}

/// # Safety
///
/// As [`run_loops`], on a processor with AVX2.
#[target_feature(enable = "avx2")]
unsafe fn run_loops_with_avx2(loops: &[WideLoop], src: *const u8, dst: *mut u8) {
    for item in loops {
        // SAFETY: passed on from this function's contract.
        unsafe { item.wide.shuffle_with_avx2(Items::of(item, src, dst)) }
    }
}

/// # Safety
///
/// As [`run_loops`], on a processor with AVX2 and AVX-512BW.
#[target_feature(enable = "avx2,avx512bw")]
unsafe fn run_loops_with_avx512(loops: &[WideLoop], src: *const u8, dst: *mut u8) {
    for item in loops {
        // SAFETY: passed on from this function's contract.
        unsafe { item.wide.shuffle_with_avx512(Items::of(item, src, dst)) }
    }
}

impl Items {
    /// The items of a loop in a record that lies there.
    #[inline]
    fn of(WideLoop { start, count, strides, .. }: &WideLoop, src: *const u8, dst: *mut u8) -> Items {
        // A loop over no items may start anywhere, also outside the allocation.
        let (src, dst) = (src.wrapping_add(start.0), dst.wrapping_add(start.1));
        Items { src, dst, count: *count, strides: *strides }
    }
}
