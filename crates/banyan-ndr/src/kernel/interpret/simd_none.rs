//! No vector instructions known.

use crate::kernel::program::Window;

/// There are none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Vectors {}

impl Vectors {
    pub(super) fn available() -> impl Iterator<Item = Vectors> {
        std::iter::empty()
    }

    pub(super) fn is_wide(self, _: &[Window]) -> bool {
        match self {}
    }

    /// # Safety
    ///
    /// Cannot be called.
    pub(super) unsafe fn shuffle(self, _: &[Window], _: *const u8, _: *mut u8, _: usize, _: (usize, usize)) {
        match self {}
    }
    /// # Safety
    ///
    /// Cannot be called.
    #[cfg(feature = "jit")]
    pub(super) unsafe fn shuffle_wide(self, _: &[Window], _: *const u8, _: *mut u8, _: usize, _: (usize, usize)) {
        match self {}
    }
}
