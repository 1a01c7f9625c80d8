//! Starting members as fast as the kernel can.
//!
//! Making a process usually copies its parent's descriptor table, which is most of the cost when an agent holds
//! thousands. Here the child begins with the parent's own table and gives itself a private one that holds the low
//! slots only. So the [`Spawner`] keeps a few low slots occupied: before a spawn it puts the child's descriptors there,
//! the child (`clone.rs`) takes them from there, and afterwards the slots hold `/dev/null` again, so that no pipe of a
//! member stays open in the agent.
//!
//! Each member leads a session and a process group of its own, has default signal dispositions and an empty mask, no
//! descriptor but those given to it, and dies when the thread that spawned it does: spawn from a thread that lives as
//! long as its members may. SIGCHLD must not be ignored in this process, or exit states are lost.

use std::cell::Cell;
use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::DupFlags;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::clone::{self, CONTROL, Given, Job, MORE, SLOTS, Stack, Strings, Table};
use super::command::Command;
use super::signals::{self, LAST_SIGNAL};
use super::spawn_error::{SpawnError, SpawnStage};

/// Starts processes. Make it early, while low descriptors are free: the lower its slots, the faster it is.
#[derive(Debug)]
pub struct Spawner {
    table: Table,
    stack: Stack,
    null: OwnedFd,
    /// In ascending order, at 3 or above.
    slots: [OwnedFd; SLOTS],
    /// Signals that a child puts back to their default.
    signals: Vec<c_int>,
}

/// What the child has open, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct ChildDescriptors<'a> {
    /// Its descriptor 0.
    pub stdin: BorrowedFd<'a>,
    /// Its descriptor 1.
    pub stdout: BorrowedFd<'a>,
    /// Its descriptor 2.
    pub stderr: BorrowedFd<'a>,
    /// Its descriptor 3.
    pub control: Option<BorrowedFd<'a>>,
    /// Its descriptor 4.
    pub extension: Option<BorrowedFd<'a>>,
}

/// A process that runs its program. Dropping this neither ends nor reaps it.
#[derive(Debug)]
pub struct Child {
    /// Its process id, which is also the id of its group and its session.
    pub pid: Pid,
    /// Readable when it has ended; signals sent through it never reach another process.
    pub pidfd: OwnedFd,
}

impl Spawner {
    /// Reserves the slots and finds out which way the kernel allows.
    ///
    /// # Errors
    /// If there is no descriptor or memory left, or if the kernel has no pidfd (before Linux 5.3, or forbidden).
    pub fn new() -> io::Result<Spawner> {
        let mut spawner = Spawner::with(Table::Shared)?;
        if spawner.try_out().is_err() {
            spawner.table = Table::Copied;
            spawner.try_out()?;
        }
        Ok(spawner)
    }

    /// One that lets the kernel copy the descriptor table, as it must where `close_range` is missing or forbidden.
    /// Its children inherit what other code of this process opened without close-on-exec.
    ///
    /// # Errors
    /// As [`Spawner::new`].
    pub fn copying_the_table() -> io::Result<Spawner> {
        let mut spawner = Spawner::with(Table::Copied)?;
        spawner.try_out()?;
        Ok(spawner)
    }

    /// From now on children put back to their default only those signals that have another disposition now. That saves
    /// them a system call for each of the others; it is for processes that change no disposition any more.
    pub fn remember_signals(&mut self) {
        self.signals = signals::not_default();
    }

    /// Whether a spawn costs the same however many descriptors this process holds.
    pub fn shares_the_table(&self) -> bool {
        self.table == Table::Shared
    }

    fn with(table: Table) -> io::Result<Spawner> {
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        // Each takes the lowest free descriptor, so they ascend.
        let slot = || rustix::io::fcntl_dupfd_cloexec(&null, CONTROL);
        let slots = [slot()?, slot()?, slot()?, slot()?, slot()?];
        // Not in the way of the next spawner, and never in a low place itself.
        let null = rustix::io::fcntl_dupfd_cloexec(&null, CONTROL)?;
        Ok(Spawner { table, stack: Stack::new()?, null, slots, signals: (1..=LAST_SIGNAL).collect() })
    }

    /// Starts the program. Returns when the child executes it, so an error is an error of this very program.
    ///
    /// # Errors
    /// Says which step failed and what to do; the child is gone and reaped then.
    pub fn spawn(&mut self, command: &Command, descriptors: ChildDescriptors<'_>) -> Result<Child, SpawnError> {
        let ChildDescriptors { stdin, stdout, stderr, control, extension } = descriptors;
        let given = [control, extension].map(|descriptor| descriptor.is_some());
        let staged = self.stage([Some(stdin), Some(stdout), Some(stderr), control, extension]);
        let child = match staged {
            Ok(()) => self.run(Some(command), given),
            Err(error) => Err((SpawnStage::Stage, error)),
        };
        let cleared = self.clear();
        let child = child.map_err(|(step, error)| SpawnError::new(step, error, command))?;
        if let Err(error) = cleared {
            // A slot that stays as it is would hold the member's pipes open for ever.
            let _ = rustix::process::pidfd_send_signal(&child.pidfd, Signal::KILL);
            let _ = reap(&child.pidfd);
            return Err(SpawnError::new(SpawnStage::Stage, error, command));
        }
        Ok(child)
    }

    /// Whether a child can be made this way at all.
    fn try_out(&mut self) -> io::Result<()> {
        let child = self.run(None, [false; MORE]).map_err(|(_, error)| error)?;
        reap(&child.pidfd)
    }

    fn run(&mut self, command: Option<&Command>, given: Given) -> Result<Child, (SpawnStage, io::Error)> {
        let job = Job {
            table: self.table,
            slots: self.slots.each_ref().map(AsRawFd::as_raw_fd),
            given,
            signals: &self.signals,
            command,
            arguments: Strings::new(command.map_or(&[], |command| &command.arguments)),
            environment: Strings::new(command.map_or(&[], |command| &command.environment)),
            parent: rustix::process::getpid(),
            failure: Cell::new(None),
        };
        let (pid, pidfd) = clone::run(&job, &mut self.stack).map_err(|error| (SpawnStage::Clone, error))?;
        match job.failure.get() {
            None => Ok(Child { pid, pidfd }),
            Some((step, errno)) => {
                reap(&pidfd).map_err(|error| (SpawnStage::Clone, error))?;
                Err((step, io::Error::from_raw_os_error(errno)))
            }
        }
    }

    fn stage(&mut self, descriptors: [Option<BorrowedFd<'_>>; SLOTS]) -> io::Result<()> {
        for (descriptor, slot) in descriptors.iter().zip(&mut self.slots) {
            if let Some(descriptor) = descriptor {
                rustix::io::dup3(descriptor, slot, DupFlags::CLOEXEC)?;
            }
        }
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        for slot in &mut self.slots {
            rustix::io::dup3(&self.null, slot, DupFlags::CLOEXEC)?;
        }
        Ok(())
    }
}

/// Waits for a child that is about to end.
fn reap(pidfd: &OwnedFd) -> io::Result<()> {
    rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED))?;
    Ok(())
}
