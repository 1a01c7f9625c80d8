//! Where results go: standard output, or a file that has its name only once it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::escaped::Escaping;
use crate::failure::Failure;
use crate::speech::is_json;
use crate::unfinished::Unfinished;

/// Results gathered before they are handed to the system.
const BUFFER: usize = 1 << 16;

/// Standard output. When whoever reads it has gone away, a command that only shows something ends there and then, quietly
/// and well: the reader has seen enough. One that does something goes on.
pub struct Stdout {
    out: io::StdoutLock<'static>,
    ends: bool,
    escaping: Escaping,
}

/// Buffered standard output of a command that shows something.
pub fn stdout() -> BufWriter<Stdout> {
    BufWriter::with_capacity(BUFFER, Stdout::new(true))
}

/// Buffered standard output of a command whose work does not end with its reader.
pub fn stdout_of_work() -> BufWriter<Stdout> {
    BufWriter::with_capacity(BUFFER, Stdout::new(false))
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match is_json() {
            true => self.escaping.write(&mut self.out, bytes).map(|()| bytes.len()),
            false => self.out.write(bytes),
        };
        match written {
            Err(error) if self.has_no_reader(&error) => Ok(bytes.len()),
            Ok(count) => {
                if let Some(last) = bytes[..count].last() {
                    IS_WITHIN_LINE.store(*last != b'\n', Ordering::Relaxed);
                }
                Ok(count)
            }
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.out.flush() {
            Err(error) if self.has_no_reader(&error) => Ok(()),
            other => other,
        }
    }
}

impl Stdout {
    fn new(ends: bool) -> Stdout {
        Stdout { out: io::stdout().lock(), ends, escaping: Escaping::default() }
    }

    /// Whether the reader has gone away and the work goes on all the same.
    fn has_no_reader(&self, error: &io::Error) -> bool {
        if self.ends {
            end_if_unread(error);
        }
        is_unread(error)
    }
}

/// Whether whoever reads has gone away.
fn is_unread(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::BrokenPipe
}

/// Ends a command that only shows something, once nobody reads it.
fn end_if_unread(error: &io::Error) {
    if is_unread(error) {
        std::process::exit(0);
    }
}

/// A device or a pipe that was named. Its reader may go away, like that of standard output, which it may be.
pub(crate) struct Special(File);

impl Write for Special {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).inspect_err(end_if_unread)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Whether what has been written to standard output ends within a line.
static IS_WITHIN_LINE: AtomicBool = AtomicBool::new(false);

/// A last line on standard output, of a process that is about to end, while others of its threads may be writing there. A reader
/// that does not read is not waited for.
pub(crate) fn last_words(line: &str) {
    let begin = if IS_WITHIN_LINE.load(Ordering::Relaxed) { "\n" } else { "" };
    let stdout = io::stdout();
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut [PollFd::new(&stdout, PollFlags::OUT)], Some(&at_once)) == Ok(1) {
        // Where nobody reads it, standard error and the exit status still tell.
        let _ = rustix::io::write(&stdout, format!("{begin}{line}\n").as_bytes());
    }
}

/// What a command writes into: standard output, or a file. Dropped before [`keep`](Output::keep), a file leaves
/// nothing behind, and what had its name before is untouched.
pub(crate) enum Output {
    Stdout(BufWriter<Stdout>),
    /// A device or a pipe, which cannot be replaced.
    Special(BufWriter<Special>),
    File(Unfinished),
}

impl Output {
    /// A file, or standard output for `-`.
    pub(crate) fn create(name: &str) -> Result<Output, Failure> {
        if name == "-" {
            return Ok(Output::Stdout(stdout()));
        }
        let refused = |error| Failure::system(format_args!("{name}: cannot be written"), &error);
        // What a link leads to is replaced, not the link.
        let path = fs::canonicalize(name).unwrap_or_else(|_| PathBuf::from(name));
        let there = fs::metadata(&path);
        if there.as_ref().is_ok_and(fs::Metadata::is_dir) {
            return Err(Failure::new(format!("{name}: is a directory; give the name of a file in it")));
        }
        if there.is_ok_and(|there| !there.is_file()) {
            let file = OpenOptions::new().write(true).open(&path).map_err(refused)?;
            return Ok(Output::Special(BufWriter::with_capacity(BUFFER, Special(file))));
        }
        Unfinished::create(path, BUFFER).map(Output::File).map_err(refused)
    }

    /// Hands everything over, and gives a file its name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        match self {
            Output::Stdout(mut out) => Ok(out.flush()?),
            Output::Special(mut out) => Ok(out.flush()?),
            Output::File(unfinished) => Ok(unfinished.keep()?),
        }
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            Output::Stdout(out) => out,
            Output::Special(out) => out,
            Output::File(unfinished) => unfinished,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}
