//! Standard output or standard error of a run: lines of members, none within another.

use std::io::{self, BufWriter, Write};

use super::folded::TextStyle;
use super::joiner::Piece;
use super::stream::Stream;
use crate::screen::harmless;

/// One of the two streams.
pub(super) struct Side {
    pub(super) to: BufWriter<Stream<Box<dyn Write>>>,
    pub(super) look: TextStyle,
    /// Whose line has begun and has not ended.
    within: Option<u32>,
}

impl Side {
    pub(super) fn new(to: Box<dyn Write>, look: TextStyle) -> Side {
        Side { to: Stream::buffered(to), look, within: None }
    }

    /// Whether something was written that nobody will read.
    pub(super) fn is_unread(&self) -> bool {
        self.to.get_ref().is_unread()
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// A line of a member, or a piece of one. The label goes before the first piece of a line, and before the next one if
    /// another member has written since.
    pub(super) fn write(&mut self, rank: u32, label: impl FnOnce() -> String, piece: Piece<'_>) -> io::Result<()> {
        if self.within != Some(rank) {
            self.begin_line()?;
            self.to.write_all(label().as_bytes())?;
        }
        if self.look.terminal {
            self.to.write_all(harmless(piece.bytes).as_bytes())?;
        } else {
            self.to.write_all(piece.bytes)?;
        }
        self.within = Some(rank);
        if piece.is_ended { self.begin_line() } else { Ok(()) }
    }

    /// The line of a member, or with `None` of any, has an end here, whether it had one or not.
    pub(super) fn end_line_of(&mut self, rank: Option<u32>) -> io::Result<()> {
        if rank.is_none() || self.within == rank { self.begin_line() } else { Ok(()) }
    }

    /// What comes next begins a line.
    pub(super) fn begin_line(&mut self) -> io::Result<()> {
        if self.within.take().is_some() { self.to.write_all(b"\n") } else { Ok(()) }
    }
}
