//! The calls of the kernel that stop a thread, look at it and let it go. All `unsafe` of this crate is here.
//!
//! Everything here returns at once: nothing waits, so that nothing can hang. Who stops a thread must be the thread that
//! looks at it and lets it go; what it has not let go when it ends, the kernel lets go.

use std::io;
use std::mem::MaybeUninit;

/// A stop in which the kernel tells of something that happened to the tracee, instead of a signal for it.
const EVENT_STOP: i32 = libc::PTRACE_EVENT_STOP;

/// Requests as the C library has them.
#[cfg(target_env = "musl")]
type Request = libc::c_int;
#[cfg(not(target_env = "musl"))]
type Request = libc::c_uint;

/// What one finds when looking after a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// It still runs.
    Running,
    /// It has stopped. The signal was on its way to it, and must be given to it when it is let go; 0 if there was none.
    Stopped {
        /// What to pass to [`release`].
        signal: i32,
    },
    /// It has ended.
    Ended,
}

/// The registers that unwinding begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Registers {
    /// The next instruction.
    pub(crate) instruction: u64,
    /// The lowest address of the stack in use.
    pub(crate) stack: u64,
    /// The frame pointer, or whatever the program keeps in that register.
    pub(crate) frame: u64,
    /// The return address, on processors that have a register for it.
    pub(crate) link: u64,
}

/// Becomes the tracer of a thread, without stopping it.
pub(super) fn seize(thread: u32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, thread, 0)
}

/// Asks a thread of ours to stop.
pub(super) fn interrupt(thread: u32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, thread, 0)
}

/// Lets a thread go on that has stopped, with this signal. One that was stopped before it was seized stays stopped.
pub(super) fn release(thread: u32, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_DETACH, thread, i64::from(signal))
}

/// A request without an address.
fn request(what: Request, thread: u32, data: i64) -> io::Result<()> {
    // SAFETY: None of these requests reads or writes memory of this process: address and data are numbers.
    let result = unsafe { libc::ptrace(what, thread as libc::pid_t, 0_usize, data as usize) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether a thread of ours has stopped yet. What the kernel has to tell about it is left for others to wait for, as its
/// parent may be this very process.
pub(super) fn look(thread: u32) -> io::Result<Sight> {
    let mut found = MaybeUninit::<libc::siginfo_t>::zeroed();
    let how = libc::WSTOPPED | libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: The kernel writes one siginfo_t, for which there is room.
    let result = unsafe { libc::waitid(libc::P_PID, thread, found.as_mut_ptr(), how) };
    if result == -1 {
        return match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ECHILD) => Ok(Sight::Ended),
            error if error.kind() == io::ErrorKind::Interrupted => Ok(Sight::Running),
            error => Err(error),
        };
    }
    // SAFETY: All zero is a valid siginfo_t, and so is what the kernel has written.
    let found = unsafe { found.assume_init() };
    // SAFETY: waitid fills these fields, or leaves them zero.
    let (process, status) = unsafe { (found.si_pid(), found.si_status()) };
    Ok(match (process, found.si_code) {
        (0, _) => Sight::Running,
        (_, libc::CLD_TRAPPED | libc::CLD_STOPPED) if status >> 8 == EVENT_STOP => Sight::Stopped { signal: 0 },
        (_, libc::CLD_TRAPPED | libc::CLD_STOPPED) => Sight::Stopped { signal: status & 0x7f },
        _ => Sight::Ended,
    })
}

/// The registers of a thread of ours that has stopped; `None` on a processor whose stacks cannot be unwound.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) fn registers(_: u32) -> io::Result<Option<Registers>> {
    Ok(None)
}

/// The registers of a thread of ours that has stopped; `None` if it runs code of another word size.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) fn registers(thread: u32) -> io::Result<Option<Registers>> {
    let mut room = MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: size_of::<libc::user_regs_struct>() };
    // SAFETY: The kernel writes at most `iov_len` bytes to `iov_base`, and how many it wrote into the vector.
    let result = unsafe {
        libc::ptrace(
            libc::PTRACE_GETREGSET,
            thread as libc::pid_t,
            libc::NT_PRSTATUS as usize,
            std::ptr::from_mut(&mut vector),
        )
    };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    if vector.iov_len != size_of::<libc::user_regs_struct>() {
        return Ok(None);
    }
    // SAFETY: It consists of integers: all zero is valid, and so is what the kernel has written.
    Ok(Some(of_interest(&unsafe { room.assume_init() })))
}

#[cfg(target_arch = "x86_64")]
fn of_interest(all: &libc::user_regs_struct) -> Registers {
    Registers { instruction: all.rip, stack: all.rsp, frame: all.rbp, link: 0 }
}

#[cfg(target_arch = "aarch64")]
fn of_interest(all: &libc::user_regs_struct) -> Registers {
    Registers { instruction: all.pc, stack: all.sp, frame: all.regs[29], link: all.regs[30] }
}

/// Lets this thread go before others until it ends, where that is permitted: whoever it has stopped waits for it.
pub(super) fn be_preferred() {
    // SAFETY: It takes numbers only. That it is refused, as it is to most users, does no harm.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
}

/// As long as it lives this thread goes before all ordinary ones. It is not to be kept for longer than somebody is stopped.
pub(super) struct Hurry {
    is_permitted: bool,
}

/// Begins to hurry, where that is permitted. Being preferred alone is not enough on a busy machine, where this thread still waits
/// for its turn, some milliseconds.
pub(super) fn hurry() -> Hurry {
    Hurry { is_permitted: schedule(libc::SCHED_RR, 1) }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        if self.is_permitted {
            schedule(libc::SCHED_OTHER, 0);
        }
    }
}

/// Whether the scheduler treats this thread so from now on.
fn schedule(policy: libc::c_int, priority: libc::c_int) -> bool {
    let parameter = [priority];
    // SAFETY: The kernel reads a sched_param, which is one int, the priority. The C library of musl does not have this call.
    unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, parameter.as_ptr()) == 0 }
}

/// Copies memory of another process. Gives how many bytes there were: fewer if what follows is not mapped.
pub(crate) fn read_memory(process: u32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let here = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let there = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
    // SAFETY: The kernel writes at most `into.len()` bytes to `into`, and checks the address in the other process.
    let result = unsafe { libc::process_vm_readv(process as libc::pid_t, &here, 1, &there, 1, 0) };
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How the scheduler treats this thread: the 41st word of its `stat`.
    fn policy() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("/proc");
        let (_, behind_the_name) = stat.rsplit_once(") ").expect("a name");
        behind_the_name.split(' ').nth(41 - 3).and_then(|word| word.parse().ok()).expect("a number")
    }

    #[test]
    fn a_thread_goes_before_others_only_while_it_hurries() {
        let hurry = hurry();
        let is_hurried = policy() == libc::SCHED_RR;
        assert_eq!(is_hurried, hurry.is_permitted, "{}", policy());
        drop(hurry);
        assert_ne!(policy(), libc::SCHED_RR);
    }
}
