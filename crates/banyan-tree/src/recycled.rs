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

/// See the module. Clones share what is kept.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recycled(Arc<Mutex<Spare>>);

/// What is kept: all empty, with the bytes that all have room for.
#[derive(Debug, Default)]
struct Spare {
    memory: Vec<Buffer>,
    bytes: usize,
}

impl Recycled {
    /// Memory that held a large record before, or none: empty in any case.
    pub(crate) fn take(&self) -> Buffer {
        let mut spare = self.spare();
        let Some(memory) = spare.memory.pop() else { return Buffer::new() };
        spare.bytes -= memory.capacity();
        memory
    }

    /// Makes bytes shared. Their memory comes back if it is large.
    pub(crate) fn share(&self, memory: Buffer) -> Bytes {
        let home = self.clone();
        Bytes::from_owner(Lent { memory, home })
    }

    fn give_back(&self, mut memory: Buffer) {
        // Not by what it holds now: it may have held more before.
        let capacity = memory.capacity();
        let mut spare = self.spare();
        if capacity >= LARGE && spare.bytes + capacity <= KEPT {
            memory.clear();
            spare.bytes += capacity;
            spare.memory.push(memory);
        }
    }

    /// Nothing that happens under the lock can leave it inconsistent.
    fn spare(&self) -> std::sync::MutexGuard<'_, Spare> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory that others look at.
struct Lent {
    memory: Buffer,
    home: Recycled,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.memory
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.give_back(std::mem::take(&mut self.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(bytes: usize) -> Buffer {
        Buffer::from_slice(&vec![1; bytes])
    }

    #[test]
    fn large_memory_comes_back_empty_when_the_last_part_of_it_is_dropped() {
        let recycled = Recycled::default();
        let bytes = recycled.share(filled(LARGE));
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
        let recycled = Recycled::default();
        let roomy = |bytes| {
            let mut roomy = filled(bytes);
            roomy.set_len(LARGE);
            roomy
        };
        drop(recycled.share(roomy(2 * KEPT)));
        assert_eq!(recycled.take().capacity(), 0, "more than is kept");
        drop(recycled.share(roomy(KEPT / 2)));
        assert_eq!(recycled.spare().bytes, KEPT / 2);
    }

    #[test]
    fn small_memory_and_what_is_beyond_the_bound_is_not_kept() {
        let recycled = Recycled::default();
        drop(recycled.share(filled(100)));
        assert_eq!(recycled.spare().memory.len(), 0);
        let shared: Vec<Bytes> = (0..7).map(|_| recycled.share(filled(1 << 20))).collect();
        drop(shared);
        assert_eq!(recycled.spare().bytes, KEPT);
    }
}
