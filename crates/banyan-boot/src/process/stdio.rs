//! The standard streams of a member: pipes, and lines out of what comes through them.
//!
//! Our end of a pipe never blocks. A [`Stream`] reads what is there and gives it line by line to the caller, with a
//! bound on the length of a line and on the bytes of one turn, so that no member can make its agent's memory grow or
//! keep it from the others. Nothing is lost at exit: when the member has ended, [`Stream::drain`] reads on until the
//! pipe is empty, even if a grandchild still holds it open, and then gives up the last line, complete or not.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;

/// The longest line by default; what is longer is cut.
pub const MAX_LINE: usize = 64 << 10;

/// Bytes of one read: what a pipe holds by default.
const READ_BYTES: usize = 64 << 10;

/// The most a full pipe of the largest size that users may make can hold: a drain is over after so many bytes, or a
/// grandchild that never stops writing would keep it going.
const DRAIN_BYTES: usize = 1 << 20;

/// Makes a pipe through which we read what a member writes: our end, which does not block, and the member's.
///
/// # Errors
/// If there is no descriptor left.
pub fn output_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, members) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((ours, members))
}

/// Makes a pipe through which a member reads what we write: our end, which does not block, and the member's.
///
/// # Errors
/// If there is no descriptor left.
pub fn input_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (members, ours) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&ours, OFlags::NONBLOCK)?;
    Ok((ours, members))
}

/// A line that a member wrote, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its bytes, whatever they are.
    pub bytes: &'a [u8],
    /// How it ended.
    pub end: LineEnd,
}

/// How a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineEnd {
    /// With a newline.
    Newline,
    /// It was too long and goes on with the next.
    Cut,
    /// The stream ended without a newline.
    StreamEnd,
}

/// Cuts a stream of bytes into lines. How the bytes arrive makes no difference to the lines.
#[derive(Debug)]
pub struct LineSplitter {
    /// The beginning of a line: at most `max` bytes, as the next may be its newline.
    partial: Vec<u8>,
    max: usize,
}

impl LineSplitter {
    /// One whose lines have at most `max` bytes, and at least one.
    pub fn new(max: usize) -> LineSplitter {
        LineSplitter { partial: Vec::new(), max: max.max(1) }
    }

    /// Gives every line that these bytes complete to `deliver`, and keeps the rest.
    pub fn push(&mut self, mut bytes: &[u8], mut deliver: impl FnMut(Line<'_>)) {
        while !bytes.is_empty() {
            // A line of `max` bytes is whole if its newline follows, so it is cut only by another byte.
            let room = self.max - self.partial.len();
            let newline = bytes.iter().take(room + 1).position(|byte| *byte == b'\n');
            let (length, end) = match newline {
                Some(at) => (at, LineEnd::Newline),
                None if bytes.len() > room => (room, LineEnd::Cut),
                None => return self.partial.extend_from_slice(bytes),
            };
            let (line, rest) = bytes.split_at(length);
            self.deliver(line, end, &mut deliver);
            bytes = if end == LineEnd::Newline { &rest[1..] } else { rest };
        }
    }

    /// The stream has ended: gives the last line to `deliver`, if it has no newline.
    pub fn finish(&mut self, mut deliver: impl FnMut(Line<'_>)) {
        if !self.partial.is_empty() {
            self.deliver(&[], LineEnd::StreamEnd, &mut deliver);
        }
    }

    fn deliver(&mut self, rest: &[u8], end: LineEnd, deliver: &mut impl FnMut(Line<'_>)) {
        if self.partial.is_empty() {
            return deliver(Line { bytes: rest, end });
        }
        self.partial.extend_from_slice(rest);
        deliver(Line { bytes: &self.partial, end });
        // An idle member keeps no more than it needs for its next short line.
        self.partial.clear();
        self.partial.shrink_to(256);
    }
}

/// What is left to come from a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// Nothing now; maybe later.
    Waiting,
    /// There may be more at once; it is the turn of others.
    More,
    /// Nothing ever.
    Ended,
}

/// Our end of a member's output.
#[derive(Debug)]
pub struct Stream {
    pipe: OwnedFd,
    lines: LineSplitter,
}

impl Stream {
    /// Reads lines of at most `max_line` bytes from our end of an [`output_pipe`].
    pub fn new(pipe: OwnedFd, max_line: usize) -> Stream {
        Stream { pipe, lines: LineSplitter::new(max_line) }
    }

    /// Reads once and gives the complete lines to `deliver`. `buffer` is memory for that, the same for all streams;
    /// its contents mean nothing before and after.
    ///
    /// # Errors
    /// If the pipe cannot be read.
    pub fn read(&mut self, buffer: &mut Vec<u8>, mut deliver: impl FnMut(Line<'_>)) -> io::Result<StreamState> {
        buffer.resize(READ_BYTES, 0);
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.pipe, &mut *buffer)) {
            Ok(0) => {
                self.lines.finish(deliver);
                Ok(StreamState::Ended)
            }
            Ok(length) => {
                self.lines.push(&buffer[..length], &mut deliver);
                Ok(StreamState::More)
            }
            Err(Errno::AGAIN) => Ok(StreamState::Waiting),
            Err(error) => Err(error.into()),
        }
    }

    /// The member has ended: reads what it left in the pipe and closes it.
    ///
    /// # Errors
    /// If the pipe cannot be read.
    pub fn drain(mut self, buffer: &mut Vec<u8>, mut deliver: impl FnMut(Line<'_>)) -> io::Result<()> {
        for _ in 0..DRAIN_BYTES.div_ceil(READ_BYTES) {
            if self.read(buffer, &mut deliver)? != StreamState::More {
                break;
            }
        }
        self.lines.finish(deliver);
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Owned = Vec<(Vec<u8>, LineEnd)>;

    fn split(max: usize, pieces: &[&[u8]]) -> Owned {
        let (mut lines, mut splitter) = (Owned::new(), LineSplitter::new(max));
        let mut keep = |line: Line<'_>| {
            lines.push((line.bytes.to_vec(), line.end));
        };
        pieces.iter().for_each(|piece| splitter.push(piece, &mut keep));
        splitter.finish(&mut keep);
        lines
    }

    fn joined(lines: &Owned) -> Vec<u8> {
        let whole = |(bytes, end): &(Vec<u8>, LineEnd)| {
            let newline: &[u8] = if *end == LineEnd::Newline { b"\n" } else { b"" };
            [bytes, newline].concat()
        };
        lines.iter().flat_map(whole).collect()
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop_oneof![Just(b'\n'), any::<u8>(), Just(b'x')], 0..200)
    }

    proptest! {
        #[test]
        fn any_cutting_of_the_input_gives_the_same_lines(text in text(), cuts in prop::collection::vec(0..200_usize, 0..9), max in 1..40_usize) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).chain([0, text.len()]).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
            prop_assert_eq!(split(max, &pieces), split(max, &[&text]));
        }

        #[test]
        fn no_byte_is_lost_and_no_line_is_too_long(text in text(), max in 1..40_usize) {
            let lines = split(max, &[&text]);
            prop_assert_eq!(joined(&lines), text);
            prop_assert!(lines.iter().all(|(line, _)| line.len() <= max && !line.contains(&b'\n')));
            let cut = lines.iter().filter(|(_, end)| *end == LineEnd::Cut);
            prop_assert!(cut.into_iter().all(|(line, _)| line.len() == max));
        }
    }

    #[test]
    fn a_line_of_just_the_longest_length_is_not_cut() {
        let line = |bytes: &[u8], end| (bytes.to_vec(), end);
        assert_eq!(
            split(3, &[b"abc\nabcd\n"]),
            [line(b"abc", LineEnd::Newline), line(b"abc", LineEnd::Cut), line(b"d", LineEnd::Newline),]
        );
    }

    #[test]
    fn an_ended_member_is_drained_though_a_grandchild_holds_its_pipe() {
        let (ours, members) = output_pipe().unwrap();
        let grandchilds = members.try_clone().unwrap();
        rustix::io::write(&members, b"last words\nand half a").unwrap();
        drop(members);
        let mut lines = Vec::new();
        let keep = |line: Line<'_>| lines.push((line.bytes.to_vec(), line.end));
        Stream::new(ours, MAX_LINE).drain(&mut Vec::new(), keep).unwrap();
        assert_eq!(lines, [(b"last words".to_vec(), LineEnd::Newline), (b"and half a".to_vec(), LineEnd::StreamEnd),]);
        drop(grandchilds);
    }

    #[test]
    fn our_ends_do_not_block() {
        let (output, _writer) = output_pipe().unwrap();
        assert_eq!(rustix::io::read(&output, &mut [0; 1]), Err(Errno::AGAIN));
        let (input, _reader) = input_pipe().unwrap();
        let full = (0..64).find_map(|_| rustix::io::write(&input, &[0; READ_BYTES]).err());
        assert_eq!(full, Some(Errno::AGAIN));
    }
}
