//! Streams of numbers from several children, added up place by place as they arrive.
//!
//! Whoever has sent nothing is waited for; then as much is added as all have sent, in the order of the children. That is
//! all a reduction costs when nothing is framed, checked or kept.

use std::io::{self, Read};

use super::order::INTEGER;

/// What is read at once when nothing says otherwise: as much as a socket hands over in one call.
pub(super) const PIECE: usize = 64 * 1024;

/// What is added up, all of it 8 bytes long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    Integers,
    Doubles,
}

impl Numbers {
    /// Adds numbers to as many others.
    fn add(self, sums: &mut [u8], numbers: &[u8]) {
        let (sums, _) = sums.as_chunks_mut::<INTEGER>();
        let (numbers, _) = numbers.as_chunks::<INTEGER>();
        let pairs = sums.iter_mut().zip(numbers);
        match self {
            Numbers::Integers => pairs.for_each(|(sum, number)| {
                *sum = u64::from_ne_bytes(*sum).wrapping_add(u64::from_ne_bytes(*number)).to_ne_bytes();
            }),
            Numbers::Doubles => pairs.for_each(|(sum, number)| {
                *sum = (f64::from_ne_bytes(*sum) + f64::from_ne_bytes(*number)).to_ne_bytes();
            }),
        }
    }
}

/// What a child has sent and nobody has added up yet.
pub(super) struct Inbox {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbox {
    pub(super) fn new() -> Inbox {
        Inbox { bytes: Vec::new(), start: 0, end: 0 }
    }

    /// Bytes of whole numbers that are here.
    fn whole(&self) -> usize {
        (self.end - self.start) / INTEGER * INTEGER
    }

    /// Waits until there is at least one number, and reads at most so many bytes at once.
    fn fill(&mut self, stream: &mut impl Read, piece: usize) -> io::Result<()> {
        // What is left of a number moves to the front, so that numbers stay where the processor likes them.
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        self.bytes.resize(piece.max(self.bytes.len()), 0);
        while self.end < INTEGER {
            match stream.read(&mut self.bytes[self.end..piece])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.end += read,
            }
        }
        Ok(())
    }
}

/// Adds up so many numbers of every child, and hands the sums over in order. At most `piece` bytes are read at once.
pub(super) fn sum<'c, S: Read + 'c>(
    numbers: Numbers,
    count: u64,
    piece: usize,
    children: &mut [(&'c mut S, &'c mut Inbox)],
    mut deliver: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut left = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(INTEGER);
    while left > 0 {
        let mut whole = left;
        for (stream, inbox) in &mut *children {
            if inbox.whole() == 0 {
                inbox.fill(*stream, piece)?;
            }
            whole = whole.min(inbox.whole());
        }
        let Some(((_, first), others)) = children.split_first_mut() else { return Ok(()) };
        let sums = &mut first.bytes[first.start..first.start + whole];
        for (_, other) in others {
            numbers.add(sums, &other.bytes[other.start..other.start + whole]);
            other.start += whole;
        }
        deliver(sums)?;
        first.start += whole;
        left -= whole;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what it has in pieces of a length that has nothing to do with numbers.
    struct Crumbs<'b>(&'b [u8], usize);

    impl Read for Crumbs<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(into.len());
            self.0.read(&mut into[..length])
        }
    }

    fn summed(numbers: Numbers, sent: &[Vec<u8>], count: u64, piece: usize) -> io::Result<Vec<u8>> {
        let mut streams: Vec<Crumbs<'_>> = sent.iter().enumerate().map(|(at, sent)| Crumbs(sent, 3 + at)).collect();
        let mut inboxes: Vec<Inbox> = sent.iter().map(|_| Inbox::new()).collect();
        let mut children: Vec<_> = streams.iter_mut().zip(&mut inboxes).collect();
        let mut out = Vec::new();
        sum(numbers, count, piece, &mut children, |sums| {
            out.extend_from_slice(sums);
            Ok(())
        })?;
        Ok(out)
    }

    #[test]
    fn numbers_are_added_place_by_place_however_they_arrive() {
        let sent = |child: u64| (0..100_u64).flat_map(|at| (at * child).to_ne_bytes()).collect::<Vec<u8>>();
        let expected: Vec<u8> = (0..100_u64).flat_map(|at| (at * 6).to_ne_bytes()).collect();
        for piece in [INTEGER, 20, PIECE] {
            let sums = summed(Numbers::Integers, &[sent(1), sent(2), sent(3)], 100, piece).expect("sums");
            assert_eq!(sums, expected, "at most {piece} bytes at once");
        }
    }

    #[test]
    fn doubles_are_added_as_doubles() {
        let sent = |value: f64| value.to_ne_bytes().to_vec();
        let sums = summed(Numbers::Doubles, &[sent(0.5), sent(1.25)], 1, PIECE).expect("a sum");
        assert_eq!(sums, 1.75_f64.to_ne_bytes());
    }

    #[test]
    fn a_child_that_ends_early_is_an_error() {
        let sent = [1_u64.to_ne_bytes().to_vec(), vec![0; 5]];
        let error = summed(Numbers::Integers, &sent, 1, PIECE).expect_err("half a number");
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
