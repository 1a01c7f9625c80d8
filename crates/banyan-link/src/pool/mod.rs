//! Pools: memory of one process that its peers on the same host can read, and nobody but that process can write.
//!
//! A long payload that lies in the pool of its sender is not sent: the header goes over the socket as always, and says
//! where the payload lies. The receiver copies it from there into memory of its own, once, when its user takes the frame.
//! So a payload that was received into the pool is forwarded to any number of peers without being touched.
//!
//! A process has one pool for each supply of [slabs](crate::Slabs), made when it first sends much to a peer on its host,
//! and every such peer maps it. The system sees to it that nobody else writes there ([`own`]). What lies in the pool of
//! a peer may change at any time: it is copied by atomic words and looked at only afterwards ([`peer`]).
//!
//! The sender keeps a payload as it is until the receiver says that it has taken it ([`held`]). Should the sender be done
//! with the link before that, and use the memory again, the receiver notices by the *edition*: every unit of a pool has a
//! number that counts how often its memory was given out, and a payload is whole if the number was the same after it was
//! copied.

mod held;
mod own;
mod peer;
mod sharing;
mod units;

pub(crate) use held::Held;
pub(crate) use own::{OwnPool, PoolSlab};
pub(crate) use peer::{MapError, Overwritten, PeerPool};
pub(crate) use sharing::Sharing;

use std::sync::OnceLock;

use rustix::process::{Resource, getrlimit};

use crate::slab::SLAB_BYTES;

/// Payloads from this length on go by the pool: what no ordinary slab holds. For shorter ones a socket does as well.
pub(crate) const LONG: usize = SLAB_BYTES + 1;

/// Bytes of a unit. All that is given out begins and ends with one.
pub(crate) const UNIT: usize = SLAB_BYTES;

/// Bytes of a pool: addresses, of which those are memory that were ever used at the same time.
const POOL_BYTES: usize = 256 << 20;

/// Bytes of the largest pool of a peer that is mapped. The editions of all its units fit into the first.
const LARGEST_POOL: usize = 2 * POOL_BYTES;

const _: () = assert!(LARGEST_POOL / UNIT * size_of::<u32>() <= UNIT);

/// Whether this process has addresses to spare for the pools of all its peers.
pub(crate) fn has_room_for_pools() -> bool {
    static HAS_ROOM: OnceLock<bool> = OnceLock::new();
    *HAS_ROOM.get_or_init(|| cfg!(target_pointer_width = "64") && getrlimit(Resource::As).current.is_none())
}

/// Where in the pool of its sender a payload lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolSpan {
    /// Bytes from the beginning of the pool.
    pub(crate) at: u64,
    /// How often the memory there has been given out, modulo 2³².
    pub(crate) edition: u32,
}

impl PoolSpan {
    /// Bytes of a place behind a header.
    pub(crate) const BYTES: usize = 16;

    pub(crate) fn encode(self) -> [u8; PoolSpan::BYTES] {
        let mut bytes = [0; PoolSpan::BYTES];
        bytes[..8].copy_from_slice(&self.at.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.edition.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: [u8; PoolSpan::BYTES]) -> PoolSpan {
        let number = u128::from_le_bytes(bytes);
        PoolSpan { at: number as u64, edition: (number >> 64) as u32 }
    }
}
