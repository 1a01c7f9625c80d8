//! Whole lines out of what members write: agents send a long line in pieces, and those of several members interleave.
//!
//! An unfinished line is kept until its end comes. All unfinished lines together are bounded; the line that would exceed
//! the bound is passed on in pieces.

use std::collections::BTreeMap;
use std::sync::Arc;

use banyan_boot::Lines;

/// Bytes of unfinished lines that are kept, of all members together.
pub(super) const KEPT_BYTES: usize = 16 << 20;

/// A line without its newline, or a piece of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) bytes: &'a [u8],
    /// Whether a newline followed. If not, the line goes on with the next piece, or the stream has ended.
    pub(super) is_ended: bool,
}

/// Who wrote something, and to which stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) rank: u32,
    pub(super) host: Arc<str>,
    /// Whether it is standard error.
    pub(super) errors: bool,
}

/// The unfinished lines of all members.
pub(super) struct Joiner {
    /// By rank, and whether it is standard error.
    unfinished: BTreeMap<(u32, bool), (Arc<str>, Vec<u8>)>,
    kept: usize,
    bound: usize,
}

impl Joiner {
    /// Keeps at most `bound` bytes; with 0 everything is passed on at once.
    pub(super) fn new(bound: usize) -> Joiner {
        Joiner { unfinished: BTreeMap::new(), kept: 0, bound }
    }

    /// Gives the lines that these bytes complete to `deliver`, and pieces of those that are too long to be kept.
    pub(super) fn take<E>(
        &mut self,
        lines: &Lines,
        mut deliver: impl FnMut(&Origin, Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let origin = Origin { rank: lines.rank, host: Arc::clone(&lines.host), errors: lines.errors };
        for bytes in lines.bytes.split_inclusive(|byte| *byte == b'\n') {
            let (bytes, is_ended) = bytes.strip_suffix(b"\n").map_or((bytes, false), |line| (line, true));
            let is_kept = !is_ended && self.kept + bytes.len() <= self.bound;
            let beginning = self.unfinished.remove(&(origin.rank, origin.errors));
            self.kept -= beginning.as_ref().map_or(0, |(_, beginning)| beginning.len());
            let line = match beginning {
                None if !is_kept => {
                    deliver(&origin, Piece { bytes, is_ended })?;
                    continue;
                }
                None => bytes.to_vec(),
                Some((_, mut beginning)) => {
                    beginning.extend_from_slice(bytes);
                    beginning
                }
            };
            if is_kept {
                self.kept += line.len();
                self.unfinished.insert((origin.rank, origin.errors), (Arc::clone(&origin.host), line));
            } else {
                deliver(&origin, Piece { bytes: &line, is_ended })?;
            }
        }
        Ok(())
    }

    /// A member has ended, or all have with `None`: what is kept of their last lines had no newline.
    pub(super) fn finish<E>(
        &mut self,
        rank: Option<u32>,
        mut deliver: impl FnMut(&Origin, Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let range = rank.map_or((0, false)..=(u32::MAX, true), |rank| (rank, false)..=(rank, true));
        let keys: Vec<(u32, bool)> = self.unfinished.range(range).map(|(key, _)| *key).collect();
        for (rank, errors) in keys {
            let Some((host, bytes)) = self.unfinished.remove(&(rank, errors)) else { continue };
            self.kept -= bytes.len();
            deliver(&Origin { rank, host, errors }, Piece { bytes: &bytes, is_ended: false })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// Pieces as they were delivered, and the most that was kept.
    fn join(bound: usize, pieces: &[(u32, Vec<u8>)]) -> (Vec<(u32, Vec<u8>, bool)>, usize) {
        let (mut joiner, mut delivered, mut most) = (Joiner::new(bound), Vec::new(), 0);
        for (rank, bytes) in pieces {
            let lines = Lines { rank: *rank, host: "n1".into(), errors: false, bytes: bytes.clone().into() };
            let Ok(()) = joiner.take(&lines, |origin, piece| {
                delivered.push((origin.rank, piece.bytes.to_vec(), piece.is_ended));
                Ok::<(), Infallible>(())
            });
            most = most.max(joiner.kept);
        }
        let Ok(()) = joiner.finish(None, |origin, piece| {
            delivered.push((origin.rank, piece.bytes.to_vec(), piece.is_ended));
            Ok::<(), Infallible>(())
        });
        (delivered, most)
    }

    proptest! {
        #[test]
        fn every_byte_of_every_member_comes_out_once_and_in_order(
            bound in 0..60_usize,
            pieces in prop::collection::vec((0..3_u32, prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'x'), any::<u8>()], 0..30)), 0..20),
        ) {
            let (delivered, most) = join(bound, &pieces);
            prop_assert!(most <= bound);
            for rank in 0..3 {
                let written: Vec<u8> =
                    pieces.iter().filter(|piece| piece.0 == rank).flat_map(|piece| piece.1.clone()).collect();
                let shown: Vec<u8> = delivered
                    .iter()
                    .filter(|piece| piece.0 == rank)
                    .flat_map(|(_, bytes, is_ended)| [bytes.as_slice(), if *is_ended { b"\n" } else { b"" }].concat())
                    .collect();
                prop_assert_eq!(shown, written);
            }
        }
    }

    #[test]
    fn lines_within_the_bound_are_whole_though_others_write_between_their_pieces() {
        let pieces = [(0, b"be".to_vec()), (1, b"other\n".to_vec()), (0, b"gun\nlast".to_vec())];
        let line = |rank, bytes: &[u8], is_ended| (rank, bytes.to_vec(), is_ended);
        assert_eq!(join(9, &pieces).0, [line(1, b"other", true), line(0, b"begun", true), line(0, b"last", false)]);
        assert_eq!(join(0, &pieces).0[0], line(0, b"be", false));
    }
}
