//! Slabs: the memory that links receive into and send from, shared by all links of a process.
//!
//! A link that is idle holds no slab. It takes one when bytes arrive or frames are queued, and gives it back when
//! nothing is left in it; payloads that were handed out keep theirs until the last of them is dropped, and then it comes
//! back here too. So thousands of links need as many slabs as there are bytes under way, and memory is neither cleared
//! nor asked for anew with every read.
//!
//! Long slabs lie in the process's [pool](crate::pool) once there is one.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use banyan_ndr::Buffer;
use bytes::Bytes;

use crate::frame::FRAME_ALIGN;
use crate::pool::{LONG, OwnPool, PoolSlab, PoolSpan};

/// Bytes of an ordinary slab: as much as one read or write usually moves. Frames that are longer get longer slabs.
pub const SLAB_BYTES: usize = 64 << 10;

/// Bytes of unused slabs that are kept for later, unless another number is chosen: enough for two pairs of the longest
/// frames on their way through.
const SPARE_BYTES: usize = 4 << 20;

/// A supply of slabs. Clones share it; links made with clones of the same options share theirs.
#[derive(Debug, Clone)]
pub struct Slabs(Arc<Mutex<Spare>>);

#[derive(Debug)]
struct Spare {
    receive: Vec<Slab>,
    send: Vec<Vec<u8>>,
    bytes: usize,
    bound: usize,
    /// Whether some peer can read a pool. The system may not know of such memory: then none can.
    shares: bool,
    /// Where long slabs lie then.
    pool: Option<OwnPool>,
}

impl Spare {
    /// One of this length that is kept, in the pool or not. The one that came back last is most likely in the cache.
    fn take(&mut self, length: usize, is_pooled: bool) -> Option<Slab> {
        let at = self.receive.iter().rposition(|slab| slab.len() == length && slab.is_pooled() == is_pooled)?;
        self.bytes -= length;
        Some(self.receive.remove(at).renewed())
    }

    /// The pool, made when it is first asked for.
    fn pool(&mut self) -> Option<OwnPool> {
        if self.shares && self.pool.is_none() {
            self.pool = OwnPool::create().ok();
            self.shares = self.pool.is_some();
        }
        self.pool.clone()
    }
}

/// Memory of one owner.
#[derive(Debug)]
pub(crate) enum Slab {
    Private(Buffer),
    Pooled(PoolSlab),
}

impl Slab {
    /// As it is given to its next owner: what peers know of its last contents holds no longer.
    fn renewed(mut self) -> Slab {
        if let Slab::Pooled(slab) = &mut self {
            slab.renew();
        }
        self
    }

    fn is_pooled(&self) -> bool {
        matches!(self, Slab::Pooled(_))
    }

    /// A copy of these bytes, as long as they are.
    pub(crate) fn from_slice(bytes: &[u8]) -> Slab {
        Slab::Private(Buffer::from_slice(bytes))
    }
}

impl Default for Slab {
    /// Without any bytes.
    fn default() -> Slab {
        Slab::Private(Buffer::new())
    }
}

impl Deref for Slab {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Slab::Private(buffer) => buffer,
            Slab::Pooled(slab) => slab,
        }
    }
}

impl DerefMut for Slab {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Slab::Private(buffer) => buffer,
            Slab::Pooled(slab) => slab,
        }
    }
}

impl AsRef<[u8]> for Slab {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl Default for Slabs {
    fn default() -> Slabs {
        Slabs::keeping(SPARE_BYTES)
    }
}

impl Slabs {
    /// An empty supply.
    pub fn new() -> Slabs {
        Slabs::default()
    }

    /// An empty supply that keeps up to so many bytes for later: a process that gathers large frames of many links needs
    /// as much as all of them have under way, or it asks the system for memory again and again.
    pub fn keeping(bytes: usize) -> Slabs {
        let spare = Spare { receive: Vec::new(), send: Vec::new(), bytes: 0, bound: bytes, shares: false, pool: None };
        Slabs(Arc::new(Mutex::new(spare)))
    }

    /// Gives back to the system what is more than an ordinary supply keeps.
    pub fn trim(&self) {
        let mut spare = self.spare();
        while spare.bytes > SPARE_BYTES {
            let freed = spare.receive.pop().map(|slab| slab.len());
            let Some(freed) = freed.or_else(|| spare.send.pop().map(|slab| slab.capacity())) else { return };
            spare.bytes -= freed;
        }
    }

    /// Bytes that are kept for later and used by nobody.
    pub fn spare_bytes(&self) -> usize {
        self.spare().bytes
    }

    /// Memory to receive at least so many bytes into, aligned, of a multiple of [`SLAB_BYTES`].
    pub(crate) fn take(&self, at_least: usize) -> Slab {
        let wanted = at_least.max(1).next_multiple_of(SLAB_BYTES);
        let pooled = if wanted > SLAB_BYTES { self.take_pooled(wanted) } else { None };
        pooled.or_else(|| self.spare().take(wanted, false)).unwrap_or_else(|| {
            let mut slab = Buffer::new();
            slab.set_len(wanted);
            Slab::Private(slab)
        })
    }

    /// So many bytes of the pool, a multiple of [`SLAB_BYTES`], if there is one with room for them.
    fn take_pooled(&self, wanted: usize) -> Option<Slab> {
        let mut spare = self.spare();
        let pool = spare.pool()?;
        spare.take(wanted, true).or_else(|| pool.take(wanted).map(Slab::Pooled))
    }

    /// There is a peer that can read a pool. Long slabs lie there from now on.
    pub(crate) fn share_with_peers(&self) {
        self.spare().shares = true;
    }

    /// The pool, if there can be one.
    pub(crate) fn pool(&self) -> Option<OwnPool> {
        self.spare().pool()
    }

    /// A payload as it lies in the pool, and where: itself if it does, else a copy. `None` when there is no room.
    pub(crate) fn in_pool(&self, payload: &Bytes) -> Option<(Bytes, PoolSpan)> {
        let pool = self.pool()?;
        if let Some(place) = pool.place_of(payload) {
            return Some((payload.clone(), place));
        }
        let mut slab = self.take_pooled(payload.len().next_multiple_of(SLAB_BYTES))?;
        slab[..payload.len()].copy_from_slice(payload);
        let copy = self.share(slab).slice(..payload.len());
        pool.place_of(&copy).map(|place| (copy, place))
    }

    /// One payload of all these pieces, which are so many bytes together. Long ones lie in memory that is used again and
    /// that peers on this host take them from, if there are such: nobody copies them once more to send them.
    pub fn join<'p>(&self, length: usize, pieces: impl IntoIterator<Item = &'p [u8]>) -> Bytes {
        let pieces = pieces.into_iter();
        if length < LONG {
            let mut bytes = Vec::with_capacity(length);
            pieces.for_each(|piece| bytes.extend_from_slice(piece));
            return bytes.into();
        }
        let mut slab = self.take(length);
        let mut at = 0;
        for piece in pieces {
            slab[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        self.share(slab).slice(..at)
    }

    /// Takes back what [`take`](Self::take) gave. What is of another size is not kept.
    pub(crate) fn give_back(&self, slab: Slab) {
        let mut spare = self.spare();
        // Where long slabs lie in a pool, others are not asked for again.
        let is_shut_out = spare.pool.is_some() && slab.len() > SLAB_BYTES && !slab.is_pooled();
        let useful = !slab.is_empty() && slab.len().is_multiple_of(SLAB_BYTES) && !is_shut_out;
        if useful && spare.bytes + slab.len() <= spare.bound {
            spare.bytes += slab.len();
            spare.receive.push(slab);
        }
    }

    /// An empty vector with room for [`SLAB_BYTES`] to send.
    pub(crate) fn take_for_sending(&self) -> Vec<u8> {
        let mut spare = self.spare();
        match spare.send.pop() {
            Some(slab) => {
                spare.bytes -= slab.capacity();
                slab
            }
            None => Vec::with_capacity(SLAB_BYTES),
        }
    }

    /// Takes back what [`take_for_sending`](Self::take_for_sending) gave.
    pub(crate) fn give_back_sent(&self, mut slab: Vec<u8>) {
        slab.clear();
        let mut spare = self.spare();
        if slab.capacity() >= SLAB_BYTES && spare.bytes + slab.capacity() <= spare.bound {
            spare.bytes += slab.capacity();
            spare.send.push(slab);
        }
    }

    /// Makes a slab shared and immutable. It comes back when the last part of it is dropped.
    pub(crate) fn share(&self, slab: Slab) -> Bytes {
        Bytes::from_owner(SharedSlab { slab, home: self.clone() })
    }

    /// A copy that belongs to no supply and begins at a multiple of [`FRAME_ALIGN`]. The allocator aligns so by itself;
    /// asked for more, as slabs do, it would take a way several times as long, which is most of what a short frame costs.
    pub(crate) fn own(bytes: &[u8]) -> Bytes {
        let mut memory = Vec::<u8>::with_capacity(bytes.len() + FRAME_ALIGN - 1);
        let skipped = memory.as_ptr().align_offset(FRAME_ALIGN);
        memory.resize(skipped, 0);
        memory.extend_from_slice(bytes);
        Bytes::from(memory).slice(skipped..)
    }

    /// Nothing that happens under the lock can leave it inconsistent.
    fn spare(&self) -> std::sync::MutexGuard<'_, Spare> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the parts of a slab have in common.
struct SharedSlab {
    slab: Slab,
    home: Slabs,
}

impl AsRef<[u8]> for SharedSlab {
    fn as_ref(&self) -> &[u8] {
        &self.slab
    }
}

impl Drop for SharedSlab {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.slab));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slab_comes_back_when_its_last_part_is_dropped() {
        let slabs = Slabs::new();
        let shared = slabs.share(slabs.take(1));
        let part = shared.slice(100..200);
        drop(shared);
        assert_eq!(slabs.spare_bytes(), 0);
        drop(part);
        assert_eq!(slabs.spare_bytes(), SLAB_BYTES);
        assert_eq!(slabs.take(SLAB_BYTES).len(), SLAB_BYTES);
        assert_eq!(slabs.spare_bytes(), 0);
    }

    #[test]
    fn a_copy_begins_where_payloads_may() {
        for length in [0, 1, 15, 16, 17, 5000] {
            let bytes = vec![7; length];
            let copy = Slabs::own(&bytes);
            assert_eq!(copy, bytes);
            assert!(copy.as_ptr().addr().is_multiple_of(FRAME_ALIGN), "{length} bytes");
        }
    }

    #[test]
    fn no_more_is_kept_than_the_bound() {
        let slabs = Slabs::new();
        let taken: Vec<Slab> = (0..100).map(|_| slabs.take(SLAB_BYTES)).collect();
        taken.into_iter().for_each(|slab| slabs.give_back(slab));
        assert_eq!(slabs.spare_bytes(), SPARE_BYTES);
    }

    #[test]
    fn a_larger_supply_keeps_more_until_it_is_trimmed() {
        let slabs = Slabs::keeping(2 * SPARE_BYTES);
        let taken: Vec<Slab> = (0..200).map(|_| slabs.take(SLAB_BYTES)).collect();
        taken.into_iter().for_each(|slab| slabs.give_back(slab));
        assert_eq!(slabs.spare_bytes(), 2 * SPARE_BYTES);
        slabs.trim();
        assert_eq!(slabs.spare_bytes(), SPARE_BYTES);
    }

    #[test]
    fn long_frames_get_long_slabs() {
        let slabs = Slabs::new();
        let slab = slabs.take((1 << 20) + 32);
        assert_eq!(slab.len(), (1 << 20) + SLAB_BYTES);
        slabs.give_back(slab);
        assert_eq!(slabs.take(1).len(), SLAB_BYTES);
    }

    #[test]
    fn send_buffers_are_used_again_and_come_back_empty() {
        let slabs = Slabs::new();
        let mut buffer = slabs.take_for_sending();
        buffer.extend_from_slice(&[1; 100]);
        let memory = buffer.as_ptr();
        slabs.give_back_sent(buffer);
        let again = slabs.take_for_sending();
        assert!(again.is_empty());
        assert_eq!(again.as_ptr(), memory);
    }
}
