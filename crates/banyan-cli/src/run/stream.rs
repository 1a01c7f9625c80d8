//! Standard output and standard error of a run. Their reader may go away, which is told, and is no failure.

use std::io::{self, BufWriter, Write};

/// Bytes gathered before they are handed to the system.
const BUFFER: usize = 1 << 16;

/// See the module.
pub(super) struct Stream<W> {
    to: W,
    is_unread: bool,
}

impl<W: Write> Stream<W> {
    pub(super) fn buffered(to: W) -> BufWriter<Stream<W>> {
        BufWriter::with_capacity(BUFFER, Stream { to, is_unread: false })
    }

    /// Whether something was written that nobody will read.
    pub(super) fn is_unread(&self) -> bool {
        self.is_unread
    }

    /// What came of writing; where the reader has gone away, what would have come of it otherwise.
    fn forgive<T>(&mut self, written: io::Result<T>, otherwise: T) -> io::Result<T> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_unread = true;
                Ok(otherwise)
            }
            other => other,
        }
    }
}

impl<W: Write> Write for Stream<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.forgive(written, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.forgive(flushed, ())
    }
}
