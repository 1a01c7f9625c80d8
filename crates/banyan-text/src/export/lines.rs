//! Which line a byte of a text stands on, for a reader that tells only how many bytes it has taken.
//!
//! The `csv` crate counts lines, too, but takes the end of a line that is `\r\n` for the beginning of the next row, and
//! blank lines as well: the number is that of a line before.

use std::collections::VecDeque;
use std::io::{self, Read};

/// A source that remembers where the lines end that were read from it and not asked for yet.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    /// Bytes read.
    read: u64,
    /// Ends of lines before those in `ends`.
    passed: u64,
    /// Line ends and blank lines that follow each other, as one.
    ends: VecDeque<Ends>,
}

/// Bytes that are all `\r` or `\n`.
#[derive(Debug)]
struct Ends {
    from: u64,
    to: u64,
    newlines: u64,
}

impl<R> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines { input, read: 0, passed: 0, ends: VecDeque::new() }
    }

    /// The line, from 1, of the first byte from `at` on that ends no line. What lies before is forgotten.
    pub(super) fn line(&mut self, at: u64) -> u64 {
        while let Some(ends) = self.ends.pop_front_if(|ends| ends.from <= at) {
            self.passed += ends.newlines;
        }
        self.passed + 1
    }
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        for (at, byte) in (self.read..).zip(&buffer[..count]) {
            if !matches!(byte, b'\r' | b'\n') {
                continue;
            }
            let newlines = u64::from(*byte == b'\n');
            match self.ends.back_mut() {
                Some(ends) if ends.to == at => {
                    ends.to += 1;
                    ends.newlines += newlines;
                }
                _ => self.ends.push_back(Ends { from: at, to: at + 1, newlines }),
            }
        }
        self.read += count as u64;
        Ok(count)
    }
}
