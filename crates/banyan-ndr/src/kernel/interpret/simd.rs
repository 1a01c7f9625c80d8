//! The vector instructions of this processor, found at run time.

#[cfg(all(target_arch = "aarch64", not(miri)))]
#[path = "simd_neon.rs"]
mod vectors;
#[cfg(any(
    all(miri, target_arch = "aarch64"),
    not(any(target_arch = "aarch64", target_arch = "x86", target_arch = "x86_64"))
))]
#[path = "simd_none.rs"]
mod vectors;
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
#[path = "simd_x86.rs"]
mod vectors;
mod wide;

use crate::kernel::program::Window;
use vectors::{Vectors, Wide};
pub(in crate::kernel) use wide::{WideItem, WideLoop};

/// The instructions to run windows with. A value is proof that the processor has them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::kernel) struct Isa(Option<Vectors>);

impl Isa {
    /// No vector instructions.
    pub(in crate::kernel) const PORTABLE: Isa = Isa(None);

    /// The fastest instructions there are.
    pub(in crate::kernel) fn best() -> Isa {
        Isa(Vectors::available().next())
    }

    /// Whether a loop over these windows runs on wider vectors than generated code has.
    pub(in crate::kernel) fn is_wide(self, windows: &[Window]) -> bool {
        self.widen(windows).is_some()
    }

    fn widen(self, windows: &[Window]) -> Option<Wide> {
        self.0?.widen(windows)
    }

    /// All there are, the portable ones included.
    #[cfg(test)]
    pub(in crate::kernel) fn all() -> Vec<Isa> {
        Vectors::available().map(|vectors| Isa(Some(vectors))).chain([Isa::PORTABLE]).collect()
    }
}

/// Runs `windows`, in order, on `count` items that lie `strides` (source, target) apart.
///
/// # Panics
///
/// If a window of any item leaves `src` or `dst`.
pub(super) fn shuffle(isa: Isa, windows: &[Window], src: &[u8], dst: &mut [u8], count: usize, strides: (usize, usize)) {
    if windows.is_empty() || count == 0 {
        return;
    }
    let reach = windows.iter().fold((0, 0), |reach, window| (window.src.max(reach.0), window.dst.max(reach.1)));
    let end = |stride: usize, at: u32| stride.checked_mul(count - 1)?.checked_add(at as usize)?.checked_add(16);
    assert!(end(strides.0, reach.0).is_some_and(|end| end <= src.len()), "a window leaves the source");
    assert!(end(strides.1, reach.1).is_some_and(|end| end <= dst.len()), "a window leaves the target");
    match isa.0 {
        None => portable(windows, src, dst, count, strides),
        // SAFETY: every window of every item lies within `src` and `dst`, as just asserted, and `Vectors` exists only
        // where the processor has the instructions.
        Some(vectors) => unsafe { vectors.shuffle(windows, src.as_ptr(), dst.as_mut_ptr(), count, strides) },
    }
}

fn portable(windows: &[Window], src: &[u8], dst: &mut [u8], count: usize, strides: (usize, usize)) {
    for item in 0..count {
        let (src, dst) = (&src[item * strides.0..], &mut dst[item * strides.1..]);
        for window in windows {
            let source = &src[window.src as usize..][..16];
            let target = window.mask.map(|from| if from < 16 { source[usize::from(from)] } else { 0 });
            dst[window.dst as usize..][..16].copy_from_slice(&target);
        }
    }
}
