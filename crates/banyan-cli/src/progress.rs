//! A line on the terminal that says how far long work has come. Nothing when standard error is no terminal, nor before
//! a second has passed.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// Work shorter than this needs no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// The line is written anew this often.
const INTERVAL: Duration = Duration::from_millis(100);

/// The line.
pub(crate) struct Progress {
    shown: bool,
    next: Instant,
    terminal: bool,
}

impl Progress {
    /// For work that begins now.
    pub(crate) fn new() -> Progress {
        Progress { shown: false, next: Instant::now() + PATIENCE, terminal: std::io::stderr().is_terminal() }
    }

    /// For work whose results scroll by on the terminal anyway, when they do.
    pub(crate) fn beside_output() -> Progress {
        let mut progress = Progress::new();
        progress.terminal &= !std::io::stdout().is_terminal();
        progress
    }

    /// Says how far it is, if it is time to.
    pub(crate) fn tell(&mut self, text: impl FnOnce() -> String) {
        if self.terminal && Instant::now() >= self.next {
            self.next = Instant::now() + INTERVAL;
            self.shown = true;
            let _ = write!(std::io::stderr(), "\r\x1b[K{}", text());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
