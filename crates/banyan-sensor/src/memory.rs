//! Files that are mapped into memory, where the process survives their truncation.
//!
//! Touching a mapped page behind the end of its file raises SIGBUS. The handler here looks whether the address lies in
//! one of these mappings, puts zeroed private memory in the place of the whole mapping, and returns: the file is lost,
//! and nothing else happens. Any other SIGBUS goes to the handler that was there before.
//! [Decision 016](../../../docs/decisions/016-segments.md) says why.

use std::io;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::layout::WORD;

/// What a mapping is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reading another process's memory.
    Read,
    /// Writing to another process's observers' file.
    Write,
    /// This process's own sensors: a child made by `fork` gets other memory in its place.
    Own,
}

/// Part of a file in memory.
#[derive(Debug)]
pub(crate) struct Map {
    base: NonNull<AtomicU64>,
    bytes: usize,
    entry: &'static Entry,
}

// SAFETY: the memory is made of atomics, and lives as long as the value.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps part of a file. The offset is a multiple of the page size.
    pub(crate) fn new(file: impl AsFd, offset: u64, bytes: usize, access: Access) -> io::Result<Map> {
        install_handler()?;
        let entry = Entry::take().ok_or_else(|| io::Error::other("too many segments are mapped"))?;
        let protection = match access {
            Access::Read => ProtFlags::READ,
            Access::Write | Access::Own => ProtFlags::READ | ProtFlags::WRITE,
        };
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing. Other processes may write to the
        // file, so that nothing but atomics is ever made of it.
        let mapped = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, offset) };
        let Some(base) = mapped.ok().and_then(|base| NonNull::new(base.cast())) else {
            entry.release();
            return Err(mapped.err().map_or_else(|| io::Error::other("mapped at address 0"), io::Error::from));
        };
        entry.fill(base.as_ptr() as usize, bytes, access);
        Ok(Map { base, bytes, entry })
    }

    /// Puts part of another file in the place of this one.
    pub(crate) fn replace(&self, file: impl AsFd, offset: u64) -> io::Result<()> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the range is this mapping, which stays mapped without a gap. What is made of it are atomics, which
        // may change at any time.
        unsafe {
            mmap(self.base.as_ptr().cast(), self.bytes, protection, MapFlags::SHARED | MapFlags::FIXED, file, offset)
        }?;
        self.entry.lost.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// The words. Of a map that is to be read, they are only loaded.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is as long as that, begins at a page, and lives until this is dropped; any bits are a
        // valid atomic. Pages that a file has lost are replaced when they are touched.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.bytes / WORD) }
    }

    /// Whether the file was truncated, so that its memory is private zeros now.
    pub(crate) fn is_lost(&self) -> bool {
        self.entry.lost.load(Ordering::Relaxed)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        self.entry.release();
        // SAFETY: mapped by `new` with this length; nothing borrows from it any more. Unmapping what is mapped does not
        // fail.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// Mappings at the same time, of all segments that a process writes and watches.
const MAPPINGS: usize = 1 << 15;

/// A mapping, as the signal handler finds it. All zeros: free; length 1: taken, not yet filled.
#[derive(Debug)]
struct Entry {
    length: AtomicUsize,
    base: AtomicUsize,
    is_own: AtomicBool,
    lost: AtomicBool,
}

static ENTRIES: [Entry; MAPPINGS] = [const {
    Entry {
        length: AtomicUsize::new(0),
        base: AtomicUsize::new(0),
        is_own: AtomicBool::new(false),
        lost: AtomicBool::new(false),
    }
}; MAPPINGS];

impl Entry {
    fn take() -> Option<&'static Entry> {
        ENTRIES.iter().find(|entry| entry.length.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok())
    }

    fn fill(&self, base: usize, length: usize, access: Access) {
        self.lost.store(false, Ordering::Relaxed);
        self.is_own.store(access == Access::Own, Ordering::Relaxed);
        self.base.store(base, Ordering::Relaxed);
        self.length.store(length, Ordering::Release);
    }

    fn release(&self) {
        self.base.store(0, Ordering::Relaxed);
        self.length.store(0, Ordering::Release);
    }

    fn range(&self) -> Option<(usize, usize)> {
        let length = self.length.load(Ordering::Acquire);
        let base = self.base.load(Ordering::Relaxed);
        (length > 1 && base != 0).then_some((base, length))
    }

    /// Puts zeroed private memory in the place of the mapping. Makes one system call, and is called by signal handlers.
    fn replace_by_zeros(&self, base: usize, length: usize) -> bool {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::FIXED;
        // SAFETY: the range is a mapping that this entry stands for; it stays mapped without a gap, and atomics made of
        // it may change at any time.
        let replaced = unsafe { mmap_anonymous(base as *mut _, length, protection, flags) };
        self.lost.store(true, Ordering::Relaxed);
        replaced.is_ok()
    }
}

/// Takes this process's own segment away from a child that was just made by `fork`: its memory becomes private zeros.
pub(crate) fn leave_to_parent() {
    for entry in ENTRIES.iter().filter(|entry| entry.is_own.load(Ordering::Relaxed)) {
        if let Some((base, length)) = entry.range() {
            entry.replace_by_zeros(base, length);
        }
    }
}

/// The handler that was there before: the address of a function, or `SIG_DFL` or `SIG_IGN`.
static EARLIER: AtomicUsize = AtomicUsize::new(0);

/// Its flags.
static EARLIER_FLAGS: AtomicUsize = AtomicUsize::new(0);

fn install_handler() -> io::Result<()> {
    static ONCE: Once = Once::new();
    static DONE: AtomicBool = AtomicBool::new(false);
    ONCE.call_once(|| {
        // SAFETY: zeros are a valid `sigaction`: no handler, no flags, no signals.
        let (mut action, mut earlier): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        // SAFETY: both are valid for the call; the handler has the signature that `SA_SIGINFO` asks for.
        let known = unsafe { libc::sigaction(libc::SIGBUS, std::ptr::null(), &mut earlier) } == 0;
        EARLIER.store(earlier.sa_sigaction, Ordering::Relaxed);
        EARLIER_FLAGS.store(earlier.sa_flags as usize, Ordering::Relaxed);
        // SAFETY: as above.
        let set = known && unsafe { libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut()) } == 0;
        DONE.store(set, Ordering::Release);
    });
    if DONE.load(Ordering::Acquire) { Ok(()) } else { Err(io::Error::other("no handler for SIGBUS can be set")) }
}

/// Async-signal-safe: loads atomics and makes one system call.
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid description of the signal.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    // Positive codes are the kernel's own: a signal that was sent has no address.
    let ours = ENTRIES.iter().find_map(|entry| {
        let (base, length) = entry.range()?;
        (code > 0 && (base..base + length).contains(&address)).then_some((entry, base, length))
    });
    if ours.is_some_and(|(entry, base, length)| entry.replace_by_zeros(base, length)) {
        return;
    }
    hand_on(signal, info, context);
}

/// Does what would have happened without the handler above.
fn hand_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let earlier = EARLIER.load(Ordering::Relaxed);
    if earlier == libc::SIG_DFL || earlier == libc::SIG_IGN {
        // SAFETY: the default ends the process as soon as the instruction runs again, or the signal is raised again.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if (*info).si_code <= 0 {
                libc::raise(signal);
            }
        }
    } else if EARLIER_FLAGS.load(Ordering::Relaxed) as libc::c_int & libc::SA_SIGINFO != 0 {
        // SAFETY: it was installed as a handler of this signature.
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            unsafe { std::mem::transmute(earlier) };
        handler(signal, info, context);
    } else {
        // SAFETY: it was installed as a handler of this signature.
        let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(earlier) };
        handler(signal);
    }
}

/// Has functions called around `fork`: before it, and after it in parent and child.
pub(crate) fn at_fork(before: extern "C" fn(), in_parent: extern "C" fn(), in_child: extern "C" fn()) {
    // SAFETY: the functions are there as long as the program, and take nothing. Without memory for them nothing happens.
    unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
}

/// Has a function called when the program ends by itself.
pub(crate) fn at_exit(last: extern "C" fn()) {
    // SAFETY: the function is there as long as the program, and takes nothing.
    unsafe { libc::atexit(last) };
}
