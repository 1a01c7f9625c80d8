//! Standard input on its way to the members.

use std::io::{self, IsTerminal, Read, StdinLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::termios::tcgetpgrp;

use super::SharedSession;
use super::job::Job;

/// Bytes read at once.
const CHUNK: usize = 1 << 16;

/// How long a command in the background does not look at what is typed, which is for others.
const NOT_OURS: Duration = Duration::from_millis(200);

/// Forwards standard input until it ends. Nobody waits for the thread: it may sit at a terminal for ever.
///
/// # Errors
/// When this user has as many processes and threads as the system allows.
pub(super) fn forward(shared: SharedSession) -> io::Result<()> {
    let run = move || {
        let mut chunk = vec![0; CHUNK];
        let mut input = std::io::stdin().lock();
        loop {
            wait_for_turn(&input);
            // Input that cannot be read has ended.
            let count = input.read(&mut chunk).unwrap_or(0);
            match &*shared.read() {
                Some(session) if count > 0 => session.write_input(&chunk[..count]),
                Some(session) => return session.close_input(),
                None => return,
            }
        }
    };
    std::thread::Builder::new().name("banyan-input".into()).spawn(run).map(drop)
}

/// At a terminal, waits until there is something to read for a command in the foreground: the system stops those that read
/// in the background, and a read that waits could get there.
fn wait_for_turn(input: &StdinLock<'_>) {
    let is_readable = || poll(&mut [PollFd::new(input, PollFlags::IN)], None).is_ok_and(|ready| ready > 0);
    while input.is_terminal() && (!is_readable() || is_in_background(input)) {
        std::thread::sleep(NOT_OURS);
    }
}

/// Whether another command has the terminal. Terminals other than one's own have no foreground.
fn is_in_background(input: &StdinLock<'_>) -> bool {
    tcgetpgrp(input).is_ok() && Job::of_this_process().is_some_and(|job| job.is_in_background())
}
