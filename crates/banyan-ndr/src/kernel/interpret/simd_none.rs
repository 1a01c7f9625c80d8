//! No vector instructions known.

use super::WideLoop;
use crate::kernel::program::Window;

/// There are none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Vectors {}

impl Vectors {
    pub(super) fn available() -> impl Iterator<Item = Vectors> {
        std::iter::empty()
    }

    pub(super) fn widen(self, _: &[Window]) -> Option<Wide> {
        match self {}
    }

    /// # Safety
    ///
    /// Cannot be called.
    pub(super) unsafe fn shuffle(self, _: &[Window], _: *const u8, _: *mut u8, _: usize, _: (usize, usize)) {
        match self {}
    }
}

/// There are none.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wide {}

/// # Safety
///
/// None: there are no loops.
pub(super) unsafe fn run_loops(_: &[WideLoop], _: *const u8, _: *mut u8) {}
