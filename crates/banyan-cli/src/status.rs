//! The exit status of every verb, in one place.

/// Some member failed, or the work found a difference or something to repair.
pub(crate) const MEMBER_FAILED: u8 = 1;
/// Wrong usage: arguments, or the files that stand for them.
pub(crate) const USAGE: u8 = 2;
/// Some host could not be reached, or was lost.
pub(crate) const UNREACHABLE: u8 = 3;
/// A time limit has passed.
pub(crate) const TIME_LIMIT: u8 = 4;
/// The system does not permit it.
pub(crate) const NOT_PERMITTED: u8 = 5;
