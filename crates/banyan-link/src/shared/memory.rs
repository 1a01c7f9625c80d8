//! A piece of memory that several processes have mapped, as words that all of them may change at any time.
//!
//! The size is sealed, so that nobody can take pages away from under the others. Words are atomic and everything above
//! works on them: this is the only file of shared memory with `unsafe` in it.

#![expect(unsafe_code, reason = "mapping memory is; see the header")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Resource, getrlimit};

/// Mapped words.
#[derive(Debug)]
pub(super) struct Memory {
    base: NonNull<AtomicU32>,
    words: usize,
}

// SAFETY: the mapping belongs to its owner alone until it is dropped, and is not bound to a thread; what lies in it is
// changed through atomics only.
unsafe impl Send for Memory {}

// SAFETY: as above; a shared reference gives nothing but atomics.
unsafe impl Sync for Memory {}

impl Memory {
    /// New memory, all zeros, and the descriptor that others map it by.
    pub(super) fn create(words: usize) -> io::Result<(Memory, OwnedFd)> {
        let bytes = (words * size_of::<AtomicU32>()) as u64;
        // Such memory is a file to the system, which ends processes that make larger ones than they may.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < bytes) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let fd = sealable(c"banyan-shared")?;
        ftruncate(&fd, bytes)?;
        // All of it now, so that a system without memory says so here and does not end whoever first touches a page.
        fallocate(&fd, FallocateFlags::empty(), 0, bytes)?;
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok((Memory::open(&fd)?, fd))
    }

    /// The memory behind a descriptor that another process made. Its size cannot change.
    pub(super) fn open(fd: impl AsFd) -> io::Result<Memory> {
        if !fcntl_get_seals(&fd)?.contains(SealFlags::SHRINK) {
            return Err(io::Error::other("shared memory whose size is not sealed could vanish"));
        }
        let bytes = usize::try_from(fstat(&fd)?.st_size).map_err(io::Error::other)?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing. It is shared with processes that
        // may write to it at any time, which is why nothing but atomics is ever made of it.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &fd, 0) }?;
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Memory { base, words: bytes / size_of::<AtomicU32>() })
    }

    /// The words.
    pub(super) fn words(&self) -> &[AtomicU32] {
        // SAFETY: the mapping is as long as that, begins at a page, lives until this is dropped, and cannot shrink since
        // its size is sealed; any bits are a valid atomic.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.words) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `open` with this length; nothing borrows from it any more. Unmapping what is mapped does not
        // fail.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.words * size_of::<AtomicU32>()) };
    }
}

/// A file in memory whose size can be sealed, and that can never be executed where the system knows of that.
pub(crate) fn sealable(name: &CStr) -> Result<OwnedFd, Errno> {
    let create = |flags| memfd_create(name, MemfdFlags::CLOEXEC | flags);
    // Linux before 6.3 does not know the first.
    create(MemfdFlags::NOEXEC_SEAL).or_else(|_| create(MemfdFlags::ALLOW_SEALING))
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn two_mappings_are_one_memory_of_a_size_that_stays() {
        let (memory, fd) = Memory::create(5000).unwrap();
        let other = Memory::open(&fd).unwrap();
        memory.words()[4999].store(7, Ordering::Relaxed);
        assert_eq!(other.words()[4999].load(Ordering::Relaxed), 7);
        assert!(ftruncate(&fd, 0).is_err());
    }

    #[test]
    fn all_of_the_memory_is_there_before_anybody_touches_it() {
        let (_memory, fd) = Memory::create(50_000).unwrap();
        assert!(fstat(&fd).unwrap().st_blocks * 512 >= 200_000);
    }

    #[test]
    fn memory_that_could_shrink_is_refused() {
        let fd = memfd_create(c"test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&fd, 4096).unwrap();
        assert!(Memory::open(&fd).is_err());
    }
}
