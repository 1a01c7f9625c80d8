//! The bounds on sets of hosts. Each is checked before the memory it bounds is taken.

/// Hosts of one set: ten times the largest machines there are, so that a slip such as `n[1-9999999999]` is an error at
/// once and not a machine out of memory.
pub const MAX_HOSTS: usize = 1_000_000;

/// Bytes of one name: what DNS allows.
pub const MAX_NAME_BYTES: usize = 253;

/// Bytes of all names of one set, and of one host file: a million names of a usual length.
pub const MAX_TEXT_BYTES: usize = 64 << 20;

/// Names that one expression may spell out, counting each as often as it is spelled out. A short text can name a
/// million hosts again and again (`n[1-1000000]!n[1-1000000],…`); this bounds the time that takes.
pub const MAX_EXPANDED: usize = 4 * MAX_HOSTS;

/// Digits of a number in brackets, and of a number that folding puts into brackets. Such numbers fit, with their count
/// of digits, into 64 bits.
pub const MAX_DIGITS: usize = 17;
