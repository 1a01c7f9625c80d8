//! Answers to hosts that offer files, written by a thread of its own: a host that does not read them holds up that thread,
//! not whoever takes what the others send and looks at the time. Other hosts wait for their answers then; none has more
//! of them open than it may.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;
use std::{io, thread};

/// Answers that a host may have open at most: it asks one thing after the other.
const OPEN: usize = 2;

/// Where answers are put; see the module.
pub(super) struct Answers {
    waiting: SyncSender<(u32, Vec<u8>)>,
    /// Answers of each host that are not written yet, by rank.
    open: Arc<[AtomicUsize]>,
    ended: Receiver<()>,
}

/// A host wants another answer without having waited for those before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overrun;

impl Answers {
    /// Starts the thread, which writes what it is given until there is nothing more to come.
    pub(super) fn start(hosts: usize, mut write: impl FnMut(&[u8]) + Send + 'static) -> io::Result<Answers> {
        let (waiting, queue) = sync_channel::<(u32, Vec<u8>)>(OPEN.saturating_mul(hosts.max(1)));
        let (end, ended) = channel();
        let open: Arc<[AtomicUsize]> = (0..hosts).map(|_| AtomicUsize::new(0)).collect();
        let written = Arc::clone(&open);
        thread::Builder::new().name("answers".into()).spawn(move || {
            for (rank, answer) in queue {
                write(&answer);
                if let Some(open) = written.get(rank as usize) {
                    open.fetch_sub(1, Ordering::AcqRel);
                }
            }
            // What it writes to is let go before that is told.
            drop(write);
            drop(end);
        })?;
        Ok(Answers { waiting, open, ended })
    }

    /// Has an answer to a host written, without waiting for it.
    pub(super) fn say(&self, rank: u32, answer: Vec<u8>) -> Result<(), Overrun> {
        let open = self.open.get(rank as usize).ok_or(Overrun)?;
        if open.fetch_add(1, Ordering::AcqRel) >= OPEN {
            open.fetch_sub(1, Ordering::AcqRel);
            return Err(Overrun);
        }
        match self.waiting.try_send((rank, answer)) {
            // The thread ends before only by a panic, and then nobody answers.
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
            Err(TrySendError::Full(_)) => Err(Overrun),
        }
    }

    /// Nothing more comes; waits no longer than this until the rest is written.
    pub(super) fn end(self, patience: Duration) {
        drop(self.waiting);
        // Either it has ended, or it hangs until the session does.
        let _ = self.ended.recv_timeout(patience);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_does_not_listen_holds_up_nobody() {
        let (release, held) = channel::<()>();
        let answers = Answers::start(3, move |_| assert!(held.recv().is_err())).unwrap();
        // One is being written; the others wait.
        let said = (0..100).filter(|_| answers.say(1, b"h1 send\n".to_vec()).is_ok()).count();
        assert_eq!(said, OPEN, "a host that asks on and on is refused");
        for (rank, other) in [(0, b"h0 send\n"), (2, b"h2 send\n")] {
            assert_eq!(answers.say(rank, other.to_vec()), Ok(()), "others are not, though nobody reads");
        }
        assert_eq!(answers.say(3, Vec::new()), Err(Overrun), "there is no such host");
        answers.end(Duration::from_millis(1));
        drop(release);
    }

    #[test]
    fn answers_are_written_in_order_before_the_end() {
        let (written, read) = channel();
        let answers = Answers::start(50, move |answer| written.send(answer.to_vec()).unwrap()).unwrap();
        (0..100).for_each(|number| answers.say(u32::from(number / 2), vec![number]).unwrap());
        answers.end(Duration::from_secs(60));
        assert_eq!(read.try_iter().flatten().collect::<Vec<u8>>(), (0..100).collect::<Vec<u8>>());
    }
}
