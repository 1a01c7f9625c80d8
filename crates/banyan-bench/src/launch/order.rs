//! The bytes by which the benches and their members understand each other.

/// A member of the floor is there.
pub(super) const HELLO: u8 = b'h';
/// All members have come to the barrier.
pub(super) const THROUGH: u8 = b't';
/// Broadcast and barrier, so many times.
pub(super) const BROADCAST: u8 = b'b';
/// Scatter and gather, so many times.
pub(super) const SCATTER: u8 = b's';
/// It is done.
pub(super) const DONE: u8 = b'd';
/// Nothing more will be asked for.
pub(super) const END: u8 = b'e';

/// Bytes for each member in every collective.
pub(super) const PAYLOAD: usize = 128;
/// Bytes of a message to a member of the floor: what to do, and the payload.
pub(super) const MESSAGE: usize = 1 + PAYLOAD;
