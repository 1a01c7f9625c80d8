//! Copies of the stacks of running threads: each is stopped, its registers and its stack are copied, and it goes on.
//!
//! A stop takes as long as the copy. What does not stop in time is given up: a thread that waits for a disk that does not
//! answer stops when the disk does, and nobody waits for that. Threads that were stopped before are stopped afterwards.
//!
//! A thread that was asked to stop and has not cannot be let go, except by the end of whoever asked. So the asking is
//! done in a thread made for it, which ends when one is given up; a new one goes on with those that are left.

mod kernel;
mod refusal;

pub(crate) use kernel::{Registers, read_memory};
pub use refusal::Refusal;

use std::io;
use std::time::{Duration, Instant};

use crate::maps::{Map, Maps};
use crate::process::{State, Status};
use kernel::Sight;

/// How long a thread that cannot be interrupted is given to become interruptible: most wait for a disk that answers.
const STOP_LIMIT: Duration = Duration::from_millis(100);

/// How long any other thread may take to stop. It takes microseconds, unless the machine has so much to do that the
/// thread does not get its turn.
const TURN_LIMIT: Duration = Duration::from_secs(5);

/// How long another tracer is given to let a thread go: one like this does so at once, a debugger does not.
const TRACED_LIMIT: Duration = Duration::from_millis(500);

/// Refusals in a row, without another tracer to be seen, after which it is the system that forbids it.
const SURE: u32 = 8;

/// How long to look again and again. A processor that has nothing else to do has stopped a thread by then; on one that
/// has, whoever sleeps for a moment gets its turn before those that ask for it again and again.
const EAGER: Duration = Duration::from_micros(50);

/// The time between two looks after that, …
const PAUSE: Duration = Duration::from_micros(20);

/// … and once it takes longer than anything should.
const LONG_PAUSE: Duration = Duration::from_millis(2);

/// What is copied of a stack at most. It is the part in use that is copied, a few kilobytes as a rule; what is used
/// beyond this are the outer frames of a runaway recursion.
const MAX_STACK: u64 = 1 << 20;

/// What is copied where it is not known how far a stack reaches.
const UNKNOWN_STACK: u64 = 1 << 16;

/// Room for most stacks, which has been written to before the first process is stopped.
const ROOM: usize = 1 << 17;

/// Threads of a process that are looked at, at most.
const MAX_THREADS: usize = 4096;

/// The process that all threads of the kernel come from.
const KERNEL: u32 = 2;

/// Why a process, or a thread of it, was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// There is no such process, or no longer.
    #[error("there is no such process")]
    Gone,
    /// It has ended, and its parent has not asked how.
    #[error("it has ended and waits for its parent to ask how (a zombie); look at its parent")]
    Zombie,
    /// It is a part of the kernel.
    #[error("it is a thread of the kernel and has no stack of its own; read /proc/{0}/stack as root")]
    Kernel(u32),
    /// It did not stop in time.
    #[error("it did not stop within {:.1} s: {state}; it goes on by itself", limit.as_secs_f64())]
    DidNotStop {
        /// What it was doing instead.
        state: State,
        /// How long it was given.
        limit: Duration,
    },
    /// Someone else is tracing it.
    #[error("process {0} is tracing it already; only one can: end that one, or let it detach")]
    Traced(u32),
    /// The kernel forbids it.
    #[error("{0}")]
    Forbidden(Refusal),
    /// It runs code that cannot be unwound: of 32 bits, or on a processor that is not x86-64 or 64-bit ARM.
    #[error("it runs code of 32 bits, or this processor is neither x86-64 nor 64-bit ARM; use gdb")]
    Foreign,
    /// Its stack was copied, but could not be unwound within this time.
    #[error(
        "its stack was not unwound within {:.1} s: the unwinding tables of its program or of a library are damaged, or \
         enormous; look with: gdb -p {process}",
        limit.as_secs_f64()
    )]
    TookTooLong {
        /// Its number.
        process: u32,
        /// How long that was given.
        limit: Duration,
    },
    /// Its stack was copied, but not unwound within this time, which is less than it takes as a rule.
    #[error(
        "its stack was not unwound within {} s, its part of the time limit; give it longer with --timeout",
        .0.as_secs_f64()
    )]
    Hurried(Duration),
    /// Its stack was not unwound, since so many others took too long.
    #[error("its stack was not unwound: {0} other processes took too long; name it alone with --pid")]
    GivenUp(usize),
    /// Its stack was not unwound, since the time for all processes together was over.
    #[error(
        "its stack was not unwound: the time for all processes was over; name fewer, or give it longer with --timeout"
    )]
    OutOfTime,
    /// The stack of the process with this number was copied, but unwinding it has failed.
    #[error("the unwinding tables of its program or of a library are damaged; look with: gdb -p {0}")]
    Damaged(u32),
    /// Something else.
    #[error("{0}")]
    System(String),
}

/// The stack of one thread, as it was in one moment.
#[derive(Debug)]
pub(crate) struct Copy {
    /// Its number.
    pub(crate) thread: u32,
    pub(crate) registers: Registers,
    /// The bytes from `registers.stack` on.
    pub(crate) bytes: Vec<u8>,
    /// How long the thread was kept from running, at most.
    pub(crate) stopped: Duration,
}

impl Copy {
    /// The word at an address.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let at = usize::try_from(address.checked_sub(self.registers.stack)?).ok()?;
        let bytes = self.bytes.get(at..at.checked_add(8)?)?;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// What was copied of one process.
#[derive(Debug)]
pub(crate) struct Copied {
    pub(crate) maps: Maps,
    pub(crate) threads: Vec<Copy>,
}

/// What came of one process.
pub(crate) type Outcome = Result<Copied, Unreadable>;

/// Copies the stacks of these processes, one after the other, of all their threads or of the main ones.
pub(crate) fn copy_all(processes: &[u32], all_threads: bool) -> io::Result<Vec<Outcome>> {
    let mut outcomes = Vec::with_capacity(processes.len());
    while outcomes.len() < processes.len() {
        let rest = &processes[outcomes.len()..];
        let tracer = std::thread::Builder::new().name("tracer".into());
        let done = std::thread::scope(|scope| {
            let tracer = tracer.spawn_scoped(scope, move || Tracer::new().copy(rest, all_threads))?;
            tracer.join().map_err(|_| io::Error::other("the thread that copies stacks has panicked"))
        })?;
        outcomes.extend(done);
    }
    Ok(outcomes)
}

/// Stops threads. There is one in each thread that does so.
struct Tracer {
    /// Room for the largest stack so far, so that no thread is stopped while memory is found.
    room: Vec<u8>,
    /// A thread was asked to stop and did not: it is let go when this thread ends.
    gave_up: bool,
}

impl Tracer {
    fn new() -> Tracer {
        Tracer { room: vec![0; ROOM], gave_up: false }
    }

    /// Copies these processes until one does not stop; that one included.
    fn copy(mut self, processes: &[u32], all_threads: bool) -> Vec<Outcome> {
        kernel::be_preferred();
        let mut outcomes = Vec::with_capacity(processes.len());
        for &process in processes {
            outcomes.push(self.process(process, all_threads));
            if self.gave_up {
                break;
            }
        }
        outcomes
    }

    fn process(&mut self, process: u32, all_threads: bool) -> Outcome {
        let status = Status::read(process).map_err(|error| why_not(process, &error))?;
        if let Some(why) = without_memory(process, &status) {
            return Err(why);
        }
        let maps = Maps::read(process).map_err(|error| why_not(process, &error))?;
        let threads = if all_threads { threads_of(process) } else { vec![process] };
        let mut copies = Vec::with_capacity(threads.len());
        for thread in threads {
            match self.thread(process, thread, &maps) {
                Ok(copy) => copies.push(copy),
                // Threads come and go; the main one stays as long as its process.
                Err(Unreadable::Gone | Unreadable::Zombie) if thread != process => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Copied { maps, threads: copies })
    }

    fn thread(&mut self, process: u32, thread: u32, maps: &Maps) -> Result<Copy, Unreadable> {
        seize(thread)?;
        let hurry = kernel::hurry();
        // Not if it has ended in the meantime, which is seen next.
        let _ = kernel::interrupt(thread);
        let (signal, begin) = self.stopped(thread)?;
        let copied = self.copy_stopped(process, thread, maps);
        // Not if it was killed while stopped: then it is gone, and nothing is left to release.
        let _ = kernel::release(thread, signal);
        let stopped = begin.elapsed();
        drop(hurry);
        let (registers, length) = copied?;
        let bytes = self.room.get(..length).unwrap_or_default().to_vec();
        Ok(Copy { thread, registers, bytes, stopped })
    }

    /// Waits until a thread has stopped; gives the signal that was on its way to it, and when it was last seen running.
    fn stopped(&mut self, thread: u32) -> Result<(i32, Instant), Unreadable> {
        let begin = Instant::now();
        let mut ran = begin;
        loop {
            let now = Instant::now();
            match kernel::look(thread).map_err(|error| why_not(thread, &error))? {
                Sight::Stopped { signal } => return Ok((signal, ran)),
                Sight::Ended => {
                    // It stays with this thread as long as that lives, and its parent waits for it.
                    self.gave_up = true;
                    return Err(Unreadable::Gone);
                }
                Sight::Running => {}
            }
            ran = now;
            let waited = now.duration_since(begin);
            if waited > STOP_LIMIT {
                let state = Status::read(thread).map_or(State::Dead, |status| status.state);
                if state == State::Uninterruptible || waited > TURN_LIMIT {
                    self.gave_up = true;
                    return Err(Unreadable::DidNotStop { state, limit: waited });
                }
            }
            match waited {
                _ if waited < EAGER => std::thread::yield_now(),
                _ if waited < STOP_LIMIT => std::thread::sleep(PAUSE),
                _ => std::thread::sleep(LONG_PAUSE),
            }
        }
    }

    /// The registers of a thread that has stopped, and how much of its stack is in the room now.
    fn copy_stopped(&mut self, process: u32, thread: u32, maps: &Maps) -> Result<(Registers, usize), Unreadable> {
        let registers = kernel::registers(thread).map_err(|error| why_not(thread, &error))?;
        let registers = registers.ok_or(Unreadable::Foreign)?;
        let reach = maps.stack_at(registers.stack).map_or(UNKNOWN_STACK, |map: &Map| map.end - registers.stack);
        let length = reach.min(MAX_STACK) as usize;
        if self.room.len() < length {
            self.room.resize(length.next_power_of_two(), 0);
        }
        // A stack that cannot be read has one frame: the instruction.
        let read = read_memory(process, registers.stack, &mut self.room[..length]).unwrap_or(0);
        Ok((registers, read))
    }
}

/// Becomes the tracer of a thread, when whoever else looks at it in the same way has let it go.
fn seize(thread: u32) -> Result<(), Unreadable> {
    let begin = Instant::now();
    let mut refusals = 0;
    loop {
        let Err(error) = kernel::seize(thread) else { return Ok(()) };
        let why = why_not(thread, &error);
        refusals = match why {
            Unreadable::Traced(_) => 0,
            // It may have been another tracer, which was gone when it was looked for.
            Unreadable::Forbidden(_) if refusals < SURE => refusals + 1,
            _ => return Err(why),
        };
        if begin.elapsed() > TRACED_LIMIT {
            return Err(why);
        }
        std::thread::sleep(PAUSE);
    }
}

/// All threads of a process, the main one first.
fn threads_of(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let others = numbers.filter(|&thread| thread != process).take(MAX_THREADS - 1);
    std::iter::once(process).chain(others).collect()
}

/// Why the kernel refused something about a thread.
fn why_not(thread: u32, error: &io::Error) -> Unreadable {
    let code = error.raw_os_error();
    if error.kind() == io::ErrorKind::NotFound || code == Some(libc::ESRCH) {
        return Unreadable::Gone;
    }
    if !matches!(code, Some(libc::EPERM | libc::EACCES)) {
        return Unreadable::System(error.to_string());
    }
    match Status::read(thread) {
        Err(_) => Unreadable::Gone,
        Ok(status) if status.tracer != 0 => Unreadable::Traced(status.tracer),
        Ok(status) => without_memory(thread, &status).unwrap_or_else(|| Unreadable::Forbidden(Refusal::of(&status))),
    }
}

/// Why a process has no stack to look at, if it has none.
fn without_memory(process: u32, status: &Status) -> Option<Unreadable> {
    let is_of_kernel = process == KERNEL || status.parent == KERNEL;
    match status.state {
        State::Zombie | State::Dead => Some(Unreadable::Zombie),
        _ if status.is_kernel && is_of_kernel => Some(Unreadable::Kernel(process)),
        // On its way to be a zombie.
        _ if status.is_kernel => Some(Unreadable::Zombie),
        _ => None,
    }
}
