//! The pool of a peer, mapped to be read.
//!
//! The peer may change it at any time, so nothing but atomic words is ever made of it: payloads are copied out of it and
//! looked at afterwards. Its size is sealed, so that it cannot be taken away from under who reads.

#![expect(unsafe_code, reason = "mapping memory is; see the header")]

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering, fence};

use rustix::fs::{SealFlags, fcntl_get_seals, fstat, fstatfs};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{LARGEST_POOL, PoolSpan, UNIT};
use crate::frame::FRAME_ALIGN;
use crate::shared::TMPFS_MAGIC;

/// Bytes of a word: as wide as loads can be that are nothing but loads, since this memory cannot be written.
const WORD: usize = size_of::<usize>();

/// Words copied at a time: a cache line, and few enough for the compiler to write them out.
const LINE: usize = 8;

/// See the module.
#[derive(Debug)]
pub(crate) struct PeerPool {
    base: NonNull<AtomicUsize>,
    words: usize,
}

// SAFETY: the mapping belongs to its owner alone until it is dropped, and is not bound to a thread.
unsafe impl Send for PeerPool {}

// SAFETY: a shared reference gives nothing but atomics that are read.
unsafe impl Sync for PeerPool {}

/// Why the pool of a peer is not mapped.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MapError {
    /// A correct peer does not offer such memory.
    #[error("{0}")]
    Unfit(&'static str),
    /// The system refused.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A payload was not there any more when it was taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Overwritten;

impl PeerPool {
    /// Maps the memory behind a descriptor that a peer has sent.
    pub(crate) fn open(fd: OwnedFd) -> Result<PeerPool, MapError> {
        // What cannot be sealed at all is no memory.
        let seals = fcntl_get_seals(&fd).map_err(|_| MapError::Unfit("it is no memory"))?;
        if !seals.contains(SealFlags::SHRINK | SealFlags::FUTURE_WRITE) {
            return Err(MapError::Unfit("it could be taken away: its size and its pages are not sealed"));
        }
        if fstatfs(&fd).map_err(io::Error::from)?.f_type as u64 != TMPFS_MAGIC {
            return Err(MapError::Unfit("it is not of ordinary pages"));
        }
        let bytes = usize::try_from(fstat(&fd).map_err(io::Error::from)?.st_size).unwrap_or(usize::MAX);
        if !(UNIT..=LARGEST_POOL).contains(&bytes) || !bytes.is_multiple_of(UNIT) {
            return Err(MapError::Unfit("it has a size that no pool has"));
        }
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing. The peer may write to it at any
        // time, which is why nothing but atomics is ever made of it.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::SHARED, &fd, 0) };
        let base = NonNull::new(base.map_err(io::Error::from)?.cast());
        let base = base.ok_or(MapError::Unfit("it was mapped at address 0"))?;
        Ok(PeerPool { base, words: bytes / WORD })
    }

    /// Its bytes.
    pub(crate) fn size(&self) -> u64 {
        (self.words * WORD) as u64
    }

    /// Whether a payload of so many bytes can lie there.
    pub(crate) fn has_room_for(&self, place: PoolSpan, length: usize) -> bool {
        let end = place.at.checked_add(length as u64);
        let is_within = place.at >= UNIT as u64 && end.is_some_and(|end| end <= self.size());
        is_within && place.at.is_multiple_of(FRAME_ALIGN as u64)
    }

    /// Copies the payload that lies there and fills `into`.
    ///
    /// # Panics
    /// When it has [no room](Self::has_room_for) for such a payload.
    pub(crate) fn copy(&self, place: PoolSpan, into: &mut [u8]) -> Result<(), Overwritten> {
        assert!(self.has_room_for(place, into.len()), "checked when the frame arrived");
        let at = place.at as usize;
        let words = &self.words()[at / WORD..];
        let (lines, rest) = into.as_chunks_mut::<{ LINE * WORD }>();
        let (whole, last) = words.split_at(lines.len() * LINE);
        for (line, words) in lines.iter_mut().zip(whole.as_chunks::<LINE>().0) {
            for (bytes, word) in line.as_chunks_mut::<WORD>().0.iter_mut().zip(words) {
                *bytes = word.load(Ordering::Relaxed).to_ne_bytes();
            }
        }
        for (bytes, word) in rest.chunks_mut(WORD).zip(last) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes()[..bytes.len()]);
        }
        // Whoever has read a byte of another edition sees its number, too.
        fence(Ordering::Acquire);
        let edition = self.edition(at / UNIT).load(Ordering::Relaxed);
        if edition == place.edition { Ok(()) } else { Err(Overwritten) }
    }

    /// How often the memory of a unit was given out.
    fn edition(&self, unit: usize) -> &AtomicU32 {
        assert!(unit < UNIT / size_of::<AtomicU32>(), "no pool has so many units");
        // SAFETY: all editions lie in the first unit, which every pool has and which is mapped as `words` says.
        unsafe { self.base.cast::<AtomicU32>().add(unit).as_ref() }
    }

    fn words(&self) -> &[AtomicUsize] {
        // SAFETY: the mapping is as long as that, begins at a page, lives until this is dropped, and cannot shrink since its
        // size is sealed; any bits are a valid atomic. It can only be read: nothing here stores, and relaxed loads of this
        // width are plain loads that do not write.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }
}

impl Drop for PeerPool {
    fn drop(&mut self) {
        // SAFETY: mapped by `open` with this length; nothing borrows from it any more. Unmapping what is mapped does not
        // fail.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.words * WORD) };
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::pool::OwnPool;
    use crate::slab::Slab;
    use bytes::Bytes;
    use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};

    fn mapped(pool: &OwnPool) -> PeerPool {
        PeerPool::open(pool.fd().try_clone_to_owned().unwrap()).unwrap()
    }

    fn payload(pool: &OwnPool, length: usize) -> Bytes {
        let mut slab = pool.take(length + FRAME_ALIGN).unwrap();
        slab.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7 % 251) as u8);
        Bytes::from_owner(Slab::Pooled(slab)).slice(FRAME_ALIGN..FRAME_ALIGN + length)
    }

    #[test]
    fn a_payload_of_any_length_is_copied_as_it_is() {
        let pool = OwnPool::create().unwrap();
        let peer = mapped(&pool);
        for length in [0, 1, 7, 8, 9, 63, 64, 65, 1000, UNIT, 3 * UNIT + 5] {
            let payload = payload(&pool, length);
            let mut copy = vec![0; length];
            peer.copy(pool.place_of(&payload).unwrap(), &mut copy).unwrap();
            assert_eq!(payload, copy, "{length} bytes");
        }
    }

    #[test]
    fn a_payload_whose_memory_was_given_out_again_is_not_taken_for_the_new_one() {
        let pool = OwnPool::create().unwrap();
        let peer = mapped(&pool);
        let (old, kept) = (payload(&pool, 2 * UNIT), payload(&pool, 10));
        // A part in the middle of a slab has another unit than its beginning.
        let places = [pool.place_of(&old).unwrap(), pool.place_of(&old.slice(UNIT..)).unwrap()];
        let kept_place = pool.place_of(&kept).unwrap();
        drop(old);
        places.iter().for_each(|place| assert_eq!(peer.copy(*place, &mut [0; 10]), Ok(())));
        let _new = payload(&pool, 2 * UNIT);
        places.iter().for_each(|place| assert_eq!(peer.copy(*place, &mut [0; 10]), Err(Overwritten)));
        assert_eq!(peer.copy(kept_place, &mut [0; 10]), Ok(()));
    }

    #[test]
    fn places_that_are_no_part_of_the_pool_are_known() {
        let peer = mapped(&OwnPool::create().unwrap());
        let fits = |at, length| peer.has_room_for(PoolSpan { at, edition: 0 }, length);
        assert!(fits(UNIT as u64, 100) && fits(peer.size() - 112, 112));
        assert!(!fits(0, 1) && !fits(UNIT as u64 + 8, 1) && !fits(peer.size() - 112, 113));
        assert!(!fits(u64::MAX - 15, 100) && !fits(peer.size(), 1));
    }

    #[test]
    fn memory_that_is_no_pool_is_refused() {
        let made = |bytes: usize, seals| {
            let fd = memfd_create(c"test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
            ftruncate(&fd, bytes as u64).unwrap();
            fcntl_add_seals(&fd, seals).unwrap();
            PeerPool::open(fd)
        };
        let sealed = SealFlags::SHRINK | SealFlags::FUTURE_WRITE;
        assert!(made(2 * UNIT, sealed).is_ok());
        assert!(matches!(made(2 * UNIT, SealFlags::SHRINK), Err(MapError::Unfit(_))));
        assert!(matches!(made(2 * UNIT, SealFlags::FUTURE_WRITE), Err(MapError::Unfit(_))));
        for bytes in [0, 1, UNIT + 1, LARGEST_POOL + UNIT] {
            assert!(matches!(made(bytes, sealed), Err(MapError::Unfit(_))), "{bytes}");
        }
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(matches!(PeerPool::open(file.into()), Err(MapError::Unfit(_))));
    }
}
