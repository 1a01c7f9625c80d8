//! Long byte swaps: whole blocks as windows, the rest number by number.

use super::{Isa, simd};
use crate::kernel::program::Window;

const BLOCK: usize = 128;

/// Reverses the bytes of every number of `src` into `dst`: from the other byte order to this machine's, or back, by the
/// widest instructions that this processor has.
///
/// ```
/// let mut native = [0; 8];
/// banyan_ndr::reverse_numbers(4, &[0, 0, 0, 1, 0, 0, 0, 2], &mut native);
/// assert_eq!(native, [1, 0, 0, 0, 2, 0, 0, 0]);
/// ```
///
/// # Panics
///
/// Unless numbers of 2, 4, 8 or 16 bytes fill `src`, and `dst` is as long.
pub fn reverse_numbers(width: u8, src: &[u8], dst: &mut [u8]) {
    assert!(matches!(width, 2 | 4 | 8 | 16), "there are no numbers of {width} bytes to reverse");
    assert!(src.len().is_multiple_of(width.into()), "{} bytes are not numbers of {width}", src.len());
    assert_eq!(src.len(), dst.len(), "what is reversed must fit");
    swap(Isa::best(), width, src, dst);
}

/// Reverses every `width` bytes of `src` into `dst`, which is as long.
pub(super) fn swap(isa: Isa, width: u8, src: &[u8], dst: &mut [u8]) {
    let width = usize::from(width);
    let blocks = if isa == Isa::PORTABLE { 0 } else { src.len() / BLOCK };
    if blocks > 0 {
        let mask: [u8; 16] = std::array::from_fn(|i| (i / width * width + (width - 1 - i % width)) as u8);
        let windows: [Window; BLOCK / 16] =
            std::array::from_fn(|i| Window { src: 16 * i as u32, dst: 16 * i as u32, mask });
        simd::shuffle(isa, &windows, src, dst, blocks, (BLOCK, BLOCK));
    }
    let (src, dst) = (&src[blocks * BLOCK..], &mut dst[blocks * BLOCK..]);
    match width {
        2 => swap_each::<2>(src, dst),
        4 => swap_each::<4>(src, dst),
        8 => swap_each::<8>(src, dst),
        _ => swap_each::<16>(src, dst),
    }
}

fn swap_each<const WIDTH: usize>(src: &[u8], dst: &mut [u8]) {
    for (source, target) in src.as_chunks::<WIDTH>().0.iter().zip(dst.as_chunks_mut::<WIDTH>().0) {
        *target = *source;
        target.reverse();
    }
}
