//! A piece of memory that several processes have mapped, as words that others may change at any time.
//!
//! The size is sealed, so that nobody can take pages away from under the others. Memory that its maker alone writes is sealed
//! against that, too, once it is mapped there. Words are atomic and everything above works on them: this is the only file of
//! shared memory with `unsafe` in it.

#![expect(unsafe_code, reason = "mapping memory is; see the header")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, fcntl_get_seals, fstat, fstatfs, ftruncate,
    memfd_create,
};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Resource, getrlimit};

/// What `statfs` says of memory in pages of the ordinary size. A page of it that was taken away is a new one when it is next
/// touched; of huge pages there might be none left, which ends who touches it.
pub(crate) const TMPFS_MAGIC: u64 = 0x0102_1994;

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

/// Who may write to new memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writers {
    /// Everyone who is given the descriptor.
    All,
    /// Who makes it, alone.
    Maker,
}

impl Memory {
    /// New memory, all zeros, and the descriptor that others map it by.
    pub(super) fn create(name: &CStr, words: usize, writers: Writers) -> io::Result<(Memory, OwnedFd)> {
        let bytes = (words * size_of::<AtomicU32>()) as u64;
        // Such memory is a file to the system, which ends processes that make larger ones than they may.
        if getrlimit(Resource::Fsize).current.is_some_and(|limit| limit < bytes) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let fd = sealable(name)?;
        ftruncate(&fd, bytes)?;
        // All of it now, so that a system without memory says so here and does not end whoever first touches a page.
        fallocate(&fd, FallocateFlags::empty(), 0, bytes)?;
        let memory = Memory::map(&fd, words, ProtFlags::READ | ProtFlags::WRITE)?;
        let writing = if writers == Writers::Maker { SealFlags::FUTURE_WRITE } else { SealFlags::empty() };
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL | writing)?;
        Ok((memory, fd))
    }

    /// Memory of so many words behind a descriptor that another process made, to be read and written.
    pub(super) fn open(fd: impl AsFd, words: usize) -> io::Result<Memory> {
        check(fd.as_fd(), words)?;
        Memory::map(fd, words, ProtFlags::READ | ProtFlags::WRITE)
    }

    /// As [`open`](Self::open), only to be read: nothing may be stored there.
    pub(super) fn open_to_read(fd: impl AsFd, words: usize) -> io::Result<Memory> {
        check(fd.as_fd(), words)?;
        Memory::map(fd, words, ProtFlags::READ)
    }

    fn map(fd: impl AsFd, words: usize, access: ProtFlags) -> io::Result<Memory> {
        let bytes = words * size_of::<AtomicU32>();
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing. It is shared with processes that
        // may write to it at any time, which is why nothing but atomics is ever made of it.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, &fd, 0) }?;
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Memory { base, words })
    }

    /// The words.
    pub(super) fn words(&self) -> &[AtomicU32] {
        // SAFETY: the mapping is as long as that, begins at a page, lives until this is dropped, and cannot shrink since
        // its size is sealed; any bits are a valid atomic. Of what was mapped to be read, words are only loaded, which at this
        // width does not write.
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

/// Refuses what could be taken away from under who reads it, and what has another size than it should.
fn check(fd: BorrowedFd<'_>, words: usize) -> io::Result<()> {
    // What cannot be sealed at all is no memory.
    if !fcntl_get_seals(fd)?.contains(SealFlags::SHRINK) {
        return Err(io::Error::other("shared memory whose size is not sealed could vanish"));
    }
    if fstatfs(fd)?.f_type as u64 != TMPFS_MAGIC {
        return Err(io::Error::other("shared memory that is not of ordinary pages could vanish"));
    }
    if usize::try_from(fstat(fd)?.st_size) != Ok(words * size_of::<AtomicU32>()) {
        return Err(io::Error::other("shared memory has another size than it should"));
    }
    Ok(())
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
        let (memory, fd) = Memory::create(c"test", 5000, Writers::All).unwrap();
        let other = Memory::open(&fd, 5000).unwrap();
        memory.words()[4999].store(7, Ordering::Relaxed);
        assert_eq!(other.words()[4999].load(Ordering::Relaxed), 7);
        assert!(ftruncate(&fd, 0).is_err());
    }

    #[test]
    fn memory_that_its_maker_alone_writes_can_be_read_by_others_and_not_written() {
        let (memory, fd) = Memory::create(c"test", 1024, Writers::Maker).unwrap();
        let other = Memory::open_to_read(&fd, 1024).unwrap();
        memory.words()[3].store(7, Ordering::Relaxed);
        assert_eq!(other.words()[3].load(Ordering::Relaxed), 7);
        assert!(Memory::open(&fd, 1024).is_err());
        assert!(rustix::io::pwrite(&fd, b"x", 0).is_err());
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        assert!(fallocate(&fd, hole, 0, 4096).is_err());
    }

    #[test]
    fn all_of_the_memory_is_there_before_anybody_touches_it() {
        let (_memory, fd) = Memory::create(c"test", 50_000, Writers::All).unwrap();
        assert!(fstat(&fd).unwrap().st_blocks * 512 >= 200_000);
    }

    #[test]
    fn memory_that_could_vanish_or_has_another_size_is_refused() {
        let made = |flags, bytes, seals| {
            let fd = memfd_create(c"test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | flags).ok()?;
            ftruncate(&fd, bytes).ok()?;
            fcntl_add_seals(&fd, seals).unwrap();
            Some(Memory::open(&fd, 1024).map_err(|error| error.to_string()))
        };
        assert!(made(MemfdFlags::empty(), 4096, SealFlags::SHRINK).unwrap().is_ok());
        let error = made(MemfdFlags::empty(), 4096, SealFlags::empty()).unwrap().unwrap_err();
        assert!(error.contains("not sealed"), "{error}");
        for bytes in [0, 4095, 8192] {
            let error = made(MemfdFlags::empty(), bytes, SealFlags::SHRINK).unwrap().unwrap_err();
            assert!(error.contains("another size"), "{bytes} bytes: {error}");
        }
        // Where the system has huge pages.
        if let Some(huge) = made(MemfdFlags::HUGETLB, 2 << 20, SealFlags::SHRINK) {
            let error = huge.unwrap_err();
            assert!(error.contains("ordinary pages"), "{error}");
        }
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert!(Memory::open(&file, 1024).is_err());
    }
}
