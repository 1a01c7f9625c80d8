//! A line on the terminal that says how far long work has come. Nothing when standard error is no terminal, nor with
//! `--quiet`, nor before a second has passed.
//!
//! It is the last line on the terminal, and no longer than one: what is said meanwhile takes its place, and it comes again
//! below.

use std::io::{IsTerminal, StderrLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui_core::text::Span;
use rustix::termios::tcgetwinsize;

use crate::screen::harmless;
use crate::speech::is_quiet;

/// Work shorter than this needs no progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// The line is written anew this often.
const INTERVAL: Duration = Duration::from_millis(100);

/// To the first column, and nothing behind it.
const CLEAR: &str = "\r\x1b[K";

/// Whether the line is on the terminal; changed by whoever has standard error locked.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The line.
pub struct Progress {
    next: Instant,
    wanted: bool,
}

impl Progress {
    /// For work that begins now.
    pub fn start() -> Progress {
        let wanted = std::io::stderr().is_terminal() && !is_quiet();
        Progress { next: Instant::now() + PATIENCE, wanted }
    }

    /// For work whose results scroll by on the terminal anyway, when they do.
    pub fn beside_output() -> Progress {
        let mut progress = Progress::start();
        progress.wanted &= !std::io::stdout().is_terminal();
        progress
    }

    /// Says how far it is, if it is time to.
    pub fn tell(&mut self, text: impl FnOnce() -> String) {
        if self.wanted && Instant::now() >= self.next {
            self.next = Instant::now() + INTERVAL;
            write(&mut std::io::stderr().lock(), &text());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        clear(&mut std::io::stderr().lock());
    }
}

/// Writes the line, which ends with the next thing that is said.
pub fn write(terminal: &mut StderrLock<'_>, text: &str) {
    let columns = tcgetwinsize(&mut *terminal).map_or(0, |size| usize::from(size.ws_col));
    IS_SHOWN.store(true, Ordering::Relaxed);
    let _ = write!(terminal, "{CLEAR}{}", cut(text, columns));
}

/// Takes the line away, so that another can stand in its place.
pub(crate) fn clear(terminal: &mut StderrLock<'_>) {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        let _ = write!(terminal, "{CLEAR}");
    }
}

/// What of a text fits into one line of so many columns; all of it if nobody knows how many there are. The last column stays
/// free: where something stands in it, some terminals have gone on to the next line.
fn cut(text: &str, columns: usize) -> String {
    let text = harmless(text.as_bytes()).replace('\t', " ");
    if columns == 0 {
        return text;
    }
    let mut left = columns - 1;
    let fits = |letter: &char| {
        let rest = left.checked_sub(Span::raw(letter.to_string()).width());
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    text.chars().take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_leaves_the_last_column_free() {
        assert_eq!(cut("123 of 456 records", 80), "123 of 456 records");
        assert_eq!(cut("123 of 456 records", 8), "123 of ");
        assert_eq!(cut("记录.bny: 5 records", 5), "记录");
        assert_eq!(cut("记录.bny: 5 records", 4), "记");
        assert_eq!(cut("123 of 456 records", 0), "123 of 456 records", "nobody knows how wide it is");
        assert_eq!(cut("123", 1), "");
    }
}
