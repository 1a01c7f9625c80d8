//! Memory of large records, used again: the system would otherwise be asked for every megabyte anew, and clear it page by
//! page.
//!
//! What is shared comes back when the last who shares it is done. No more is kept than a bound, and nothing of records
//! that are small, for which the allocator is quick enough.

use std::sync::{Arc, Mutex, PoisonError};

use banyan_ndr::Buffer;
use bytes::Bytes;

/// Memory of fewer bytes is left to the allocator, which has it at hand.
const LARGE: usize = 64 << 10;

/// Bytes that are kept unused: what a member may be ahead of the front-end, unless its options say otherwise.
const KEPT: usize = 4 << 20;

/// Bytes that can be filled, and emptied without losing their memory.
pub(crate) trait Memory: AsRef<[u8]> + Default + Send + 'static {
    /// Forgets the bytes.
    fn empty(&mut self);

    /// Bytes that there is memory for.
    fn capacity(&self) -> usize;
}

impl Memory for Vec<u8> {
    fn empty(&mut self) {
        self.clear();
    }

    fn capacity(&self) -> usize {
        Vec::capacity(self)
    }
}

/// A buffer, aligned.
#[derive(Debug, Default)]
pub(crate) struct Aligned(pub(crate) Buffer);

impl AsRef<[u8]> for Aligned {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Memory for Aligned {
    fn empty(&mut self) {
        self.0.clear();
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }
}

/// See the module. Clones share what is kept.
#[derive(Debug)]
pub(crate) struct Recycled<M>(Arc<Mutex<Spare<M>>>);

/// What is kept: all empty, with the bytes that all have room for.
#[derive(Debug)]
struct Spare<M> {
    memory: Vec<M>,
    bytes: usize,
}

impl<M> Clone for Recycled<M> {
    fn clone(&self) -> Recycled<M> {
        Recycled(Arc::clone(&self.0))
    }
}

impl<M> Default for Recycled<M> {
    fn default() -> Recycled<M> {
        Recycled(Arc::new(Mutex::new(Spare { memory: Vec::new(), bytes: 0 })))
    }
}

impl<M: Memory> Recycled<M> {
    /// Memory that held a large record before, or none: empty in any case.
    pub(crate) fn take(&self) -> M {
        let mut spare = self.spare();
        let Some(memory) = spare.memory.pop() else { return M::default() };
        spare.bytes -= memory.capacity();
        memory
    }

    /// Makes bytes shared. Their memory comes back if it is large.
    pub(crate) fn share(&self, memory: M) -> Bytes {
        let home = self.clone();
        Bytes::from_owner(Lent { memory, home })
    }

    fn give_back(&self, mut memory: M) {
        // Not by what it holds now: it may have held more before.
        let capacity = memory.capacity();
        let mut spare = self.spare();
        if capacity >= LARGE && spare.bytes + capacity <= KEPT {
            memory.empty();
            spare.bytes += capacity;
            spare.memory.push(memory);
        }
    }

    /// Nothing that happens under the lock can leave it inconsistent.
    fn spare(&self) -> std::sync::MutexGuard<'_, Spare<M>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory that others look at.
struct Lent<M: Memory> {
    memory: M,
    home: Recycled<M>,
}

impl<M: Memory> AsRef<[u8]> for Lent<M> {
    fn as_ref(&self) -> &[u8] {
        self.memory.as_ref()
    }
}

impl<M: Memory> Drop for Lent<M> {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_memory_comes_back_empty_when_the_last_part_of_it_is_dropped() {
        let recycled = Recycled::<Vec<u8>>::default();
        let bytes = recycled.share(vec![1; LARGE]);
        let (place, part) = (bytes.as_ptr(), bytes.slice(5..6));
        drop(bytes);
        assert_eq!(recycled.take().capacity(), 0);
        drop(part);
        let again = recycled.take();
        assert!(again.is_empty());
        assert_eq!(again.as_ptr(), place);
    }

    #[test]
    fn memory_counts_as_it_is_and_not_as_it_is_filled() {
        let recycled = Recycled::<Vec<u8>>::default();
        let mut roomy = Vec::with_capacity(2 * KEPT);
        roomy.resize(LARGE, 1);
        drop(recycled.share(roomy));
        assert_eq!(recycled.take().capacity(), 0, "more than is kept");
        let mut roomy = Vec::with_capacity(KEPT / 2);
        roomy.push(1);
        drop(recycled.share(roomy));
        assert_eq!(recycled.spare().bytes, KEPT / 2);
    }

    #[test]
    fn small_memory_and_what_is_beyond_the_bound_is_not_kept() {
        let recycled = Recycled::<Aligned>::default();
        drop(recycled.share(Aligned(Buffer::from_slice(&[1; 100]))));
        assert_eq!(recycled.spare().memory.len(), 0);
        let shared: Vec<Bytes> = (0..7).map(|_| recycled.share(Aligned(Buffer::from_slice(&[1; 1 << 20])))).collect();
        drop(shared);
        assert_eq!(recycled.spare().bytes, KEPT);
    }
}
