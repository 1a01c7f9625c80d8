//! The child's side of a spawn: from `clone` to `execve` without copying anything of the parent.
//!
//! The child runs in the parent's memory, on a stack of its own, while the parent's thread is suspended. If the kernel
//! allows, it even begins with the parent's own table of descriptors, and gives itself a private one that holds the
//! low slots only. So a spawn costs the same in a process of 2 MB and of 2 GB, with 5 descriptors and with 20,000.
//!
//! Promise: until `execve` the child writes to nothing but its stack, [`Job::failure`] and `errno`; it takes no lock,
//! allocates nothing and cannot panic. No signal handler of the parent runs in it: all signals are blocked from before
//! the clone until the child has put their dispositions back to the default.
//!
//! What a command means and what an error says is not decided here.

use std::cell::Cell;
use std::ffi::{CString, c_char, c_int, c_long, c_void};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
use rustix::process::Pid;

use super::command::Command;
use super::limits::{Limits, Resource};
use super::signals;
use super::spawn_error::SpawnStage;

/// How many descriptors a child can be given: its three standard ones, and those in [`Given`].
pub(super) const SLOTS: usize = 3 + MORE;

/// How many it can be given from [`CONTROL`] on: the control link, the extension's socket.
pub(super) const MORE: usize = 2;

/// Which of these it gets.
pub(super) type Given = [bool; MORE];

/// The child's descriptor for the control link.
pub(super) const CONTROL: RawFd = 3;

/// Bytes of the child's stack. It needs about 2 KiB; handlers, which would need more, do not run on it.
const STACK_BYTES: usize = 64 << 10;

/// A page without access below the stack, at least as large as a page is anywhere.
const GUARD_BYTES: usize = 64 << 10;

/// How the child comes by a descriptor table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    /// It begins with its parent's and keeps the low slots of it.
    Shared,
    /// The kernel copies all of it, and `execve` closes what is close-on-exec: where `close_range` is missing.
    Copied,
}

/// Strings as the kernel takes them: an array of addresses that ends with a zero.
pub(super) struct Strings<'a> {
    addresses: Vec<*const c_char>,
    strings: PhantomData<&'a [CString]>,
}

impl<'a> Strings<'a> {
    pub(super) fn new(strings: &'a [CString]) -> Strings<'a> {
        let addresses = strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect();
        Strings { addresses, strings: PhantomData }
    }

    fn as_ptr(&self) -> *const *const c_char {
        self.addresses.as_ptr()
    }
}

/// What one child has to do, besides what its command says for all of them.
pub(super) struct Job<'a> {
    pub(super) table: Table,
    /// Where the parent staged the child's descriptors, in ascending order, none below [`CONTROL`].
    pub(super) slots: [RawFd; SLOTS],
    /// Which descriptors it gets from [`CONTROL`] on.
    pub(super) given: Given,
    /// Signals to put back to their default.
    pub(super) signals: &'a [c_int],
    /// What is executed; without it the child ends at once, with a descriptor table of its own.
    pub(super) command: Option<&'a Command>,
    pub(super) arguments: Strings<'a>,
    pub(super) environment: Strings<'a>,
    pub(super) parent: Pid,
    /// Where the child got stuck, and the system's reason.
    pub(super) failure: Cell<Option<(SpawnStage, i32)>>,
}

/// The child's stack, mapped once and used by one child at a time.
#[derive(Debug)]
pub(super) struct Stack {
    base: *mut c_void,
}

// SAFETY: a stack is a mapping that belongs to its owner alone; nothing in it is bound to a thread.
unsafe impl Send for Stack {}

impl Stack {
    pub(super) fn new() -> io::Result<Stack> {
        let (access, kind) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new anonymous mapping at an address of the kernel's choice overlaps nothing.
        let base = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), GUARD_BYTES + STACK_BYTES, access, kind) }?;
        let stack = Stack { base };
        // SAFETY: the guard lies at the beginning of the mapping made above, in which nothing lives yet.
        unsafe { rustix::mm::mprotect(base, GUARD_BYTES, MprotectFlags::empty()) }?;
        Ok(stack)
    }

    fn top(&self) -> *mut c_void {
        self.base.wrapping_byte_add(GUARD_BYTES + STACK_BYTES)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this size; no child runs on it, since `clone` returns only when
        // the child has left it. Unmapping what is mapped does not fail.
        let _ = unsafe { rustix::mm::munmap(self.base, GUARD_BYTES + STACK_BYTES) };
    }
}

/// Starts a child that does the job, and returns when it has executed its program or failed ([`Job::failure`]).
pub(super) fn run(job: &Job<'_>, stack: &mut Stack) -> io::Result<(Pid, OwnedFd)> {
    let own_table = match job.table {
        Table::Shared => libc::CLONE_FILES,
        Table::Copied => 0,
    };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | own_table | libc::SIGCHLD;
    let argument: *mut c_void = ptr::from_ref(job).cast_mut().cast();
    let mut pidfd: c_int = -1;
    let before = signals::block_all()?;
    // SAFETY: the child runs `child` on its own stack, which is exclusively borrowed until it has left it (CLONE_VFORK
    // suspends this thread until then), so `job` outlives its use; `job` is not written to but through its cell, and
    // not by both sides at once. The address of `pidfd` is valid for the kernel to store into. All signals are
    // blocked, so that no handler runs in the child. No thread-local storage is set up, so the child shares this
    // thread's, which only `errno` is written to in.
    let pid = unsafe { libc::clone(child, stack.top(), flags, argument, &raw mut pidfd) };
    let error = io::Error::last_os_error();
    // Blocking them succeeded, and this asks for less.
    let _ = signals::set_mask(&before);
    let Some(pid) = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw) else { return Err(error) };
    if pidfd < 0 {
        return Ok((pid, open_pidfd(pid)?));
    }
    // SAFETY: the kernel has just made this descriptor for us; nobody else knows it.
    Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
}

/// Kernels before 5.2 do not know CLONE_PIDFD and ignore it. A child that cannot be watched does not stay.
fn open_pidfd(pid: Pid) -> io::Result<OwnedFd> {
    let opened = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    if opened.is_err() {
        // It is our child and nobody has reaped it: the id is still its own.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    }
    Ok(opened?)
}

extern "C" fn child(job: *mut c_void) -> c_int {
    // SAFETY: `run` passes a pointer to a job that outlives the child's use of it.
    let job = unsafe { &*job.cast_const().cast::<Job<'_>>() };
    if let Err(step) = work(job) {
        job.failure.set(Some((step, io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))));
    }
    // SAFETY: ends this process only, without running anything of the parent's.
    unsafe { libc::_exit(127) }
}

/// Returns only to fail, and leaves the reason in `errno`.
fn work(job: &Job<'_>) -> Result<(), SpawnStage> {
    take_descriptors(job).ok_or(SpawnStage::Descriptors)?;
    let Some(command) = job.command else { return Ok(()) };
    // Ignored signals would stay ignored after `execve`, and handlers would run before it. SIGKILL and SIGSTOP are
    // refused, and have no other disposition.
    job.signals.iter().for_each(|signal| signals::set_default(*signal));
    // SAFETY: makes this process, which is no group leader yet, the leader of a new session.
    ok(unsafe { libc::setsid() }).ok_or(SpawnStage::Session)?;
    if !command.outlives_parent {
        die_with(job.parent).ok_or(SpawnStage::Parent)?;
    }
    apply_limits(&command.limits)?;
    if let Some(directory) = &command.directory {
        // SAFETY: `directory` ends with a zero. The working directory is not shared with the parent.
        ok(unsafe { libc::chdir(directory.as_ptr()) }).ok_or(SpawnStage::Directory)?;
    }
    signals::set_mask(&signals::NONE).map_err(|_| SpawnStage::Signals)?;
    // SAFETY: the path is a string that ends with a zero, arguments and environment are arrays of such that do.
    unsafe { libc::execve(command.path.as_ptr(), job.arguments.as_ptr(), job.environment.as_ptr()) };
    Err(SpawnStage::Execute)
}

/// Gives this process its own table of descriptors with the staged ones in their places, and nothing else that the
/// program could inherit.
fn take_descriptors(job: &Job<'_>) -> Option<()> {
    let [stdin, stdout, stderr, more @ ..] = job.slots;
    let [.., last] = more;
    if job.table == Table::Shared {
        // From here on the table is our own, with what lies above the slots left behind.
        close_range(last + 1, RawFd::MAX, libc::CLOSE_RANGE_UNSHARE)?;
    }
    for (slot, place) in [(stdin, 0), (stdout, 1), (stderr, 2)] {
        // SAFETY: the table is this process's own: nothing of the parent is replaced.
        ok(unsafe { libc::dup2(slot, place) })?;
    }
    // The first place that it does not get, and what was not closed yet from there on.
    let mut unused = CONTROL;
    for ((slot, place), given) in more.into_iter().zip(CONTROL..).zip(job.given) {
        if !given {
            continue;
        }
        if job.table == Table::Shared && unused < place {
            close_range(unused, place - 1, 0)?;
        }
        // SAFETY: as above. The slots ascend, so the only ones that can lie here have been copied already.
        ok(unsafe { libc::dup2(slot, place) })?;
        unused = place + 1;
    }
    if job.table == Table::Shared {
        close_range(unused, last, 0)?;
    }
    Some(())
}

fn close_range(first: RawFd, last: RawFd, flags: libc::c_uint) -> Option<()> {
    // SAFETY: called in the child only, to make its table its own or after that; it owns nothing that would be closed
    // under it.
    ok(unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } as c_int)
}

/// Asks the kernel to kill this process when its parent ends, and notices if that was before it asked.
fn die_with(parent: Pid) -> Option<()> {
    // SAFETY: sets an attribute of this process; the unused arguments are zero as they must be.
    ok(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as c_long, 0, 0, 0) })?;
    // SAFETY: has no arguments and does not fail.
    (unsafe { libc::getppid() } == parent.as_raw_nonzero().get()).then_some(())
}

/// Soft and hard limit are the same, as with `ulimit`. Only processor time leaves a second between them, so that the
/// process ends by SIGXCPU, which says why, and not by SIGKILL.
fn soft_and_hard(resource: Resource, value: u64) -> [u64; 2] {
    let hard = if resource == Resource::ProcessorTime { value.saturating_add(1) } else { value };
    [value, hard]
}

fn apply_limits(limits: &Limits) -> Result<(), SpawnStage> {
    let unused = ptr::null_mut::<c_void>();
    for (resource, value) in &limits.resources {
        let (number, limit) = (resource.number(), soft_and_hard(*resource, *value));
        // SAFETY: `limit` is what the kernel reads: two numbers of 64 bits on all architectures. The old limits are
        // not asked for.
        ok(unsafe { libc::syscall(libc::SYS_prlimit64, 0, number, ptr::from_ref(&limit), unused) } as c_int)
            .ok_or(SpawnStage::Limits)?;
    }
    if let Some(nice) = limits.nice {
        // SAFETY: changes the priority of this process only.
        ok(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, nice) } as c_int)
            .ok_or(SpawnStage::Nice)?;
    }
    Ok(())
}

fn ok(result: c_int) -> Option<()> {
    (result >= 0).then_some(())
}
