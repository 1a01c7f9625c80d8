//! Unwinding with a limit: it is done in a thread of its own, which is left behind when it takes too long.
//!
//! The tables that are followed come from the files of whoever runs the process, and hold programs of a kind: one that
//! goes in a circle keeps whoever follows it for ever. A thread that is left behind cannot be ended; it costs a
//! processor until this process ends. So only few are left behind, and then nothing is unwound any more.

use std::collections::HashMap;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::{Unwinder, Unwound};
use crate::allowance::Allowance;
use crate::sampler::PATIENCE;
use crate::trace::{Copied, Unreadable};

/// Threads that are left behind at most, each of which may cost a processor: one damaged file should not keep the stacks
/// of all other programs from being seen.
const MAX_LEFT_BEHIND: usize = 4;

/// Unwinds copies of stacks, none for longer than a given time.
pub(crate) struct PatientUnwinder {
    with_lines: bool,
    helper: Option<Helper>,
    /// Processes that took too long, with the time they were given; each has left a thread behind, and would leave
    /// another one if it were tried again.
    slow: HashMap<u32, Duration>,
}

/// A thread that unwinds, and remembers what it found in files. It ends when nothing can come any more.
struct Helper {
    copies: SyncSender<(u32, Copied)>,
    stacks: Receiver<Unwound>,
}

impl PatientUnwinder {
    /// With or without the lines of the source.
    pub(crate) fn new(with_lines: bool) -> PatientUnwinder {
        PatientUnwinder { with_lines, helper: None, slow: HashMap::new() }
    }

    /// The stacks of a process; fails only if no thread can be started.
    pub(crate) fn stacks(
        &mut self,
        process: u32,
        copied: Copied,
        left: Allowance,
    ) -> io::Result<Result<Unwound, Unreadable>> {
        if let Some(&limit) = self.slow.get(&process) {
            return Ok(Err(too_slow(process, limit)));
        }
        if self.slow.len() == MAX_LEFT_BEHIND {
            return Ok(Err(Unreadable::GivenUp(MAX_LEFT_BEHIND)));
        }
        let Some(patience) = left.next() else { return Ok(Err(Unreadable::OutOfTime)) };
        let helper = match self.helper.take() {
            Some(helper) => helper,
            None => Helper::start(self.with_lines)?,
        };
        // One that has panicked takes nothing, and is noticed when it gives nothing.
        let _ = helper.copies.send((process, copied));
        match helper.stacks.recv_timeout(patience) {
            Ok(stacks) => {
                self.helper = Some(helper);
                Ok(Ok(stacks))
            }
            Err(RecvTimeoutError::Timeout) => {
                self.slow.insert(process, patience);
                Ok(Err(too_slow(process, patience)))
            }
            Err(RecvTimeoutError::Disconnected) => Ok(Err(Unreadable::Damaged(process))),
        }
    }
}

/// Only a process that had as much time as any needs has its tables to blame.
fn too_slow(process: u32, limit: Duration) -> Unreadable {
    if limit < PATIENCE { Unreadable::Hurried(limit) } else { Unreadable::TookTooLong { process, limit } }
}

impl Helper {
    fn start(with_lines: bool) -> io::Result<Helper> {
        let (copies, incoming) = sync_channel::<(u32, Copied)>(1);
        let (outgoing, stacks) = sync_channel(1);
        thread::Builder::new().name("unwinder".into()).spawn(move || {
            let mut unwinder = Unwinder::new(with_lines);
            while let Ok((process, copied)) = incoming.recv()
                && outgoing.send(unwinder.stacks(process, &copied)).is_ok()
            {}
        })?;
        Ok(Helper { copies, stacks })
    }
}
