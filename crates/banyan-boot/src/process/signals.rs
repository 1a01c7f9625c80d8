//! Signal masks and dispositions by the kernel's own calls: the C library's leave its internal signals out.
//!
//! Nothing here allocates or takes a lock, so a child between `clone` and `execve` may call it.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// The highest signal number there is.
pub(super) const LAST_SIGNAL: c_int = 64;

/// Bytes of a set of signals, for the kernel.
const SET_BYTES: usize = if cfg!(any(target_arch = "mips", target_arch = "mips64")) { 16 } else { 8 };

/// A set of signals.
pub(super) type Set = [u8; SET_BYTES];

/// No signal.
pub(super) const NONE: Set = [0; SET_BYTES];

const ALL: Set = [0xff; SET_BYTES];

/// The kernel's `struct sigaction` for the default, with room to spare.
static DEFAULT_ACTION: [u64; 16] = [0; 16];

/// Blocks all signals and returns those that were blocked before.
pub(super) fn block_all() -> io::Result<Set> {
    let mut before = NONE;
    change_mask(&ALL, before.as_mut_ptr())?;
    Ok(before)
}

/// Blocks these signals and no others.
pub(super) fn set_mask(mask: &Set) -> io::Result<()> {
    change_mask(mask, ptr::null_mut())
}

/// `before` is null or has room for a set.
fn change_mask(mask: &Set, before: *mut u8) -> io::Result<()> {
    // SAFETY: the kernel reads a set from `mask` and writes one to `before` unless it is null; both have the size
    // given. It does not ask for alignment.
    let result =
        unsafe { libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, mask.as_ptr(), before, SET_BYTES) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A descriptor that is readable when a signal has come, all of which are blocked.
pub(super) fn open() -> io::Result<OwnedFd> {
    let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
    // SAFETY: the kernel reads a set of the size given, and makes a new descriptor.
    let made = unsafe { libc::syscall(libc::SYS_signalfd4, -1, ALL.as_ptr(), SET_BYTES, flags) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was made just now; nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(made as RawFd) })
}

/// Takes a signal from such a descriptor; `None` if there is none.
pub(super) fn take(from: &OwnedFd) -> io::Result<Option<c_int>> {
    let mut record = [0; size_of::<libc::signalfd_siginfo>()];
    match rustix::io::retry_on_intr(|| rustix::io::read(from, &mut record)) {
        Ok(_) => {
            let [a, b, c, d, ..] = record;
            // At most `LAST_SIGNAL`.
            Ok(Some(u32::from_ne_bytes([a, b, c, d]) as c_int))
        }
        Err(rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// All signals whose disposition in this process may be another one than the default. Where the kernel's form of an action
/// is not known, these are all.
pub(super) fn not_default() -> Vec<c_int> {
    (1..=LAST_SIGNAL)
        .filter(|signal| cfg!(any(target_arch = "mips", target_arch = "mips64")) || !is_default(*signal))
        .collect()
}

/// Whether a signal has its default disposition, as far as can be found out.
fn is_default(signal: c_int) -> bool {
    let mut action = [usize::MAX; 32];
    // SAFETY: the kernel writes its own form of an action, which is smaller than this everywhere, and reads none. Nothing is
    // changed.
    let asked =
        unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, ptr::null::<c_void>(), action.as_mut_ptr(), SET_BYTES) };
    // It begins with the handler, of which zero is the default.
    asked == 0 && action[0] == 0
}

/// Puts the disposition of a signal of this process to the default. Signals that have no other are left as they are.
pub(super) fn set_default(signal: c_int) {
    // SAFETY: the kernel reads its own form of an action, which differs between architectures but is smaller than this
    // everywhere, and of which all zeros means: the default, no flags, an empty mask. The old action is not asked for.
    // No handler is installed, so nothing can run that should not.
    unsafe {
        let (action, unused) = (DEFAULT_ACTION.as_ptr(), ptr::null_mut::<c_void>());
        libc::syscall(libc::SYS_rt_sigaction, signal, action, unused, SET_BYTES);
    }
}
