//! The exit status of every verb, in one place.

/// Some member failed, or the work found a difference or something to repair.
pub const MEMBER_FAILED: u8 = 1;
/// Wrong usage: arguments, or the files that stand for them.
pub const USAGE: u8 = 2;
/// Some host could not be reached, or was lost.
pub const UNREACHABLE: u8 = 3;
/// What hosts deserve, with every verb: those that were lost while something was done count, and so do those that could not be
/// reached; but not those that `--min-hosts` has left out before anything was done, for whoever gave it said that the others
/// are enough.
pub(crate) fn of_hosts(any_lost: bool) -> u8 {
    if any_lost { UNREACHABLE } else { 0 }
}

/// A time limit has passed.
pub const TIME_LIMIT: u8 = 4;
/// The system does not permit it.
pub const NOT_PERMITTED: u8 = 5;
