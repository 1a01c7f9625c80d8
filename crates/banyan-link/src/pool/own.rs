//! The pool of this process: memory that it alone can write.
//!
//! The memory is a memfd. When this process has mapped it, it is sealed: its size stays, and nobody can write to it or
//! map it writable any more, whoever has the descriptor. So it is memory like any other to this process, and slabs in it
//! are ordinary bytes. Units of it are taken from the system when they are first given out, so that a system without
//! memory says so then and does not end whoever touches it.
//!
//! A child of a fork that executes no other program does not have this memory: its parent goes on to write there. Long payloads
//! that it needs have to be copied before.

#![expect(unsafe_code, reason = "mapping memory is, and so is making slices of parts of it; see the header")]

use std::io;
use std::ops::{Deref, DerefMut, Range};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rustix::fs::{SealFlags, fcntl_add_seals, ftruncate};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::process::{Resource, getrlimit};

use super::units::Units;
use super::{POOL_BYTES, PoolSpan, UNIT};
use crate::frame::FRAME_ALIGN;
use crate::shared::sealable;

/// See the module. Clones are the same pool.
#[derive(Debug, Clone)]
pub(crate) struct OwnPool(Arc<PoolMemory>);

#[derive(Debug)]
struct PoolMemory {
    base: NonNull<u8>,
    fd: OwnedFd,
    state: Mutex<PoolState>,
}

#[derive(Debug)]
struct PoolState {
    units: Units,
    /// Units before this one have memory.
    reached: usize,
}

// SAFETY: the mapping belongs to this value until it is dropped and is not bound to a thread. Its first unit is changed
// through atomics only; every other belongs to at most one `PoolSlab`.
unsafe impl Send for PoolMemory {}

// SAFETY: as above.
unsafe impl Sync for PoolMemory {}

impl OwnPool {
    /// A pool of which nothing is used. Fails on systems that do not know of such memory (Linux before 5.14).
    pub(crate) fn create() -> io::Result<OwnPool> {
        // Such memory is a file to the system, which ends processes that make larger ones than they may.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < POOL_BYTES as u64) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let fd = sealable(c"banyan-pool")?;
        ftruncate(&fd, POOL_BYTES as u64)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe { mmap(std::ptr::null_mut(), POOL_BYTES, access, MapFlags::SHARED, &fd, 0) }?;
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        let state = Mutex::new(PoolState { units: Units::new(1..POOL_BYTES / UNIT), reached: 0 });
        let pool = OwnPool(Arc::new(PoolMemory { base, fd, state }));
        // Nobody else has seen the descriptor yet: from here on nobody can change what lies there but by this mapping.
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
        fcntl_add_seals(&pool.0.fd, seals)?;
        // SAFETY: all of the mapping, whose contents this does not change.
        unsafe { madvise(base.as_ptr().cast(), POOL_BYTES, Advice::LinuxDontFork) }?;
        // The unit of editions.
        pool.0.reach(&mut pool.0.state(), 1)?;
        Ok(pool)
    }

    /// What a peer maps it by.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.0.fd.as_fd()
    }

    /// Its bytes, the unit of editions included.
    pub(crate) fn size(&self) -> u64 {
        POOL_BYTES as u64
    }

    /// So many bytes, in whole units, if there are as many side by side.
    pub(crate) fn take(&self, bytes: usize) -> Option<PoolSlab> {
        let count = bytes.max(1).div_ceil(UNIT);
        let mut state = self.0.state();
        let units = state.units.take(count)?;
        if self.0.reach(&mut state, units.end).is_err() {
            state.units.give_back(units);
            return None;
        }
        let mut slab = PoolSlab { pool: OwnPool(Arc::clone(&self.0)), units };
        slab.renew();
        Some(slab)
    }

    /// Where a payload lies, if it lies here and begins where payloads may.
    pub(crate) fn place_of(&self, payload: &Bytes) -> Option<PoolSpan> {
        let at = payload.as_ptr().addr().checked_sub(self.0.base.as_ptr().addr())?;
        let is_here = (UNIT..POOL_BYTES).contains(&at) && at.is_multiple_of(FRAME_ALIGN);
        // It is part of a slab that is not given out again while the payload lives.
        is_here.then(|| PoolSpan { at: at as u64, edition: self.0.edition(at / UNIT).load(Ordering::Relaxed) })
    }
}

impl PoolMemory {
    /// Nothing that happens under the lock can leave it inconsistent.
    fn state(&self) -> std::sync::MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes memory from the system for the units before this one.
    fn reach(&self, state: &mut PoolState, end: usize) -> io::Result<()> {
        if end > state.reached {
            let start = self.base.as_ptr().wrapping_add(state.reached * UNIT);
            let bytes = (end - state.reached) * UNIT;
            // SAFETY: a part of the mapping, whose contents this does not change.
            unsafe { madvise(start.cast(), bytes, Advice::LinuxPopulateWrite) }?;
            state.reached = end;
        }
        Ok(())
    }

    /// How often a unit was given out.
    fn edition(&self, unit: usize) -> &AtomicU32 {
        assert!(unit < POOL_BYTES / UNIT, "a unit of the pool");
        // SAFETY: all editions lie in the first unit, which is mapped, begins at a page, is never given out, and is only
        // ever used as atomics.
        unsafe { self.base.cast::<AtomicU32>().add(unit).as_ref() }
    }
}

impl Drop for PoolMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `create` with this length; slabs keep this alive, so that nothing borrows from it any more.
        // Unmapping what is mapped does not fail.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), POOL_BYTES) };
    }
}

/// Some units of a pool. They are free again when it is dropped, and keep what lies in them until then.
#[derive(Debug)]
pub(crate) struct PoolSlab {
    pool: OwnPool,
    units: Range<usize>,
}

impl PoolSlab {
    /// Begins another edition of all its units: it is going to be written for another purpose.
    pub(crate) fn renew(&mut self) {
        for unit in self.units.clone() {
            // They belong to this value: there is one writer.
            let edition = self.pool.0.edition(unit);
            edition.store(edition.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
        // Whoever reads a byte that is written from now on also finds the new edition when it looks after that.
        fence(Ordering::Release);
    }

    fn start(&self) -> *mut u8 {
        self.pool.0.base.as_ptr().wrapping_add(self.units.start * UNIT)
    }

    fn bytes(&self) -> usize {
        self.units.len() * UNIT
    }
}

impl Deref for PoolSlab {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: these units are within the mapping, which lives as long as `pool`; they have memory and are initialised,
        // as all memory of a memfd is. `Units` gives no unit out twice, so that they belong to this value alone, and the
        // seals keep everybody else from writing to them.
        unsafe { std::slice::from_raw_parts(self.start(), self.bytes()) }
    }
}

impl DerefMut for PoolSlab {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and this value is borrowed exclusively. Peers may read meanwhile: they are other processes,
        // and what they make of it is their business.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.bytes()) }
    }
}

impl Drop for PoolSlab {
    fn drop(&mut self) {
        self.pool.0.state().units.give_back(self.units.clone());
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn nobody_else_can_write_to_a_pool_or_change_its_size() {
        let pool = OwnPool::create().unwrap();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping that nothing uses.
        let mapped = unsafe { mmap(std::ptr::null_mut(), UNIT, access, MapFlags::SHARED, pool.fd(), 0) };
        assert!(mapped.is_err());
        assert!(rustix::io::pwrite(pool.fd(), b"x", 0).is_err());
        assert!(ftruncate(pool.fd(), 0).is_err());
        let hole = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
        assert!(rustix::fs::fallocate(pool.fd(), hole, 0, UNIT as u64).is_err());
    }

    #[test]
    fn a_pool_takes_no_more_memory_than_was_used_at_once() {
        let pool = OwnPool::create().unwrap();
        let memory = || rustix::fs::fstat(pool.fd()).unwrap().st_blocks as usize * 512;
        // Emulated systems may give memory later.
        assert!(memory() <= UNIT);
        for _ in 0..10 {
            let slabs = [pool.take(1).unwrap(), pool.take(UNIT + 1).unwrap()];
            assert_eq!(slabs.map(|slab| slab.len()), [UNIT, 2 * UNIT]);
        }
        assert!(memory() <= 4 * UNIT);
    }

    #[test]
    fn a_pool_that_is_used_up_gives_nothing_until_something_comes_back() {
        let pool = OwnPool::create().unwrap();
        assert!(pool.take(POOL_BYTES).is_none());
        let slab = pool.take(UNIT).unwrap();
        assert_eq!(pool.0.state().units.take(POOL_BYTES / UNIT - 2), Some(2..POOL_BYTES / UNIT));
        assert!(pool.take(1).is_none());
        drop(slab);
        assert!(pool.take(1).is_some());
    }
}
