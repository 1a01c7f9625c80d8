//! Sets of ranks as bytes: the count of runs, then for each the ranks missing before it and its ranks less one.
//!
//! All are variable-length integers: seven bits a byte, the lowest first, the high bit on all bytes but the last.
//! The missing ranks are counted from 0 for the first run, and less one, which is always missing, for those after it:
//! every sequence of numbers within the bounds is a set, and every set is written in one way. 2,800 ranks in one run
//! are four bytes.

use super::{RankSet, RankSetError, Run};

/// Bytes of the longest number: 33 bits, the count of runs among them, fit into five times seven.
const MAX_NUMBER_BYTES: usize = 5;

/// Bytes of the shortest run.
const MIN_RUN_BYTES: usize = 2;

impl RankSet {
    /// Appends the set to `bytes`.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        push(bytes, self.runs.len() as u64);
        let mut next = 0;
        for run in &self.runs {
            push(bytes, u64::from(run.first) - next);
            push(bytes, run.len() - 1);
            next = u64::from(run.last) + 2;
        }
    }

    /// Reads a set from the beginning of `bytes`, and says how many bytes it took.
    pub fn decode(bytes: &[u8]) -> Result<(RankSet, usize), RankSetError> {
        let mut reader = Reader { bytes, at: 0, run: 0, runs: 0 };
        let runs = reader.number()?;
        reader.runs = runs;
        // Memory is taken for runs that can be there, not for runs that are announced.
        let possible = (bytes.len() - reader.at) / MIN_RUN_BYTES;
        let mut set = RankSet { runs: Vec::with_capacity(possible.min(usize::try_from(runs).unwrap_or(possible))) };
        let mut next = 0;
        for run in 0..runs {
            reader.run = run;
            let start = reader.at;
            let first = next + reader.number()?;
            let last = first + reader.number()?;
            let (Ok(first), Ok(last)) = (u32::try_from(first), u32::try_from(last)) else {
                return Err(RankSetError::Malformed(start));
            };
            set.runs.push(Run { first, last });
            next = u64::from(last) + 2;
        }
        Ok((set, reader.at))
    }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The run being read, of how many: for the error.
    run: u64,
    runs: u64,
}

impl Reader<'_> {
    /// Reads a number of at most [`MAX_NUMBER_BYTES`] bytes that is not written longer than it must be.
    fn number(&mut self) -> Result<u64, RankSetError> {
        let start = self.at;
        let mut number = 0;
        for index in 0..MAX_NUMBER_BYTES {
            let Some(byte) = self.bytes.get(self.at) else {
                return Err(RankSetError::Cut { run: self.run, runs: self.runs });
            };
            self.at += 1;
            number |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                let is_shortest = *byte != 0 || index == 0;
                return if is_shortest { Ok(number) } else { Err(RankSetError::Malformed(start)) };
            }
        }
        Err(RankSetError::Malformed(start))
    }
}
