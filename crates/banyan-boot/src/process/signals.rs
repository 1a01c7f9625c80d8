//! Signal masks of this thread, by the kernel's own calls: the C library's leave its internal signals out.
//!
//! Nothing here allocates or takes a lock, so a child between `clone` and `execve` may call it.

use std::ffi::{c_int, c_void};
use std::io;
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

/// Waits for any signal, all of which are blocked, and takes it.
pub(super) fn wait() -> io::Result<c_int> {
    let unused = ptr::null_mut::<c_void>();
    loop {
        // SAFETY: the kernel reads a set of the size given; no details are asked for and no time limit is set.
        let signal = unsafe { libc::syscall(libc::SYS_rt_sigtimedwait, ALL.as_ptr(), unused, unused, SET_BYTES) };
        if signal >= 0 {
            // At most `LAST_SIGNAL`.
            return Ok(signal as c_int);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Puts the disposition of SIGCHLD to the default: a process that inherits "ignored" never learns how its children
/// ended.
pub(super) fn notice_children() {
    // SAFETY: all zeros is a valid value: the default action, no flags, an empty mask. Whoever calls this owns the
    // process, and has no handler for the signal yet.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGCHLD, &raw const default, ptr::null_mut());
    }
}
