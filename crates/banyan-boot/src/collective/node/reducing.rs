//! A reduction at one node: piece by piece, the contributions of all children become one.
//!
//! What can be combined in any order is combined as it comes, so a node holds one piece. Sums of floats are made in the
//! order of the children, so their pieces wait for each other. No child can be more than [`PIPELINE`] pieces ahead.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::collective::{PIPELINE, Reduction, combine::combine};

/// The state of a reduction.
#[derive(Debug)]
pub(super) struct Reducing {
    reduction: Reduction,
    /// Pieces that each child has sent.
    sent: Vec<u32>,
    /// Pieces that are complete and gone.
    done: u32,
    /// Bytes in all pieces begun so far.
    begun: u64,
    /// Pieces that are not complete.
    pieces: VecDeque<Piece>,
}

#[derive(Debug)]
struct Piece {
    length: usize,
    is_last: bool,
    missing: usize,
    so_far: PieceState,
}

#[derive(Debug)]
enum PieceState {
    Combined(Vec<u8>),
    /// One from each child, by place.
    Waiting(Vec<Bytes>),
}

/// A piece that does not fit: of another length than those of others, or too far ahead of them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PieceMisfit;

impl Reducing {
    pub(super) fn new(reduction: Reduction, children: usize) -> Self {
        Self { reduction, sent: vec![0; children], done: 0, begun: 0, pieces: VecDeque::new() }
    }

    /// Takes the next piece of the child at `place` and gives the combined piece that it completes, if it does, with
    /// whether it is the last.
    pub(super) fn take(
        &mut self,
        place: usize,
        bytes: Bytes,
        is_last: bool,
    ) -> Result<Option<(Bytes, bool)>, PieceMisfit> {
        let at = (self.sent[place] - self.done) as usize;
        if at >= PIPELINE {
            return Err(PieceMisfit);
        }
        if at == self.pieces.len() {
            self.begin(bytes.len(), is_last)?;
        }
        let piece = &mut self.pieces[at];
        if bytes.len() != piece.length || is_last != piece.is_last {
            return Err(PieceMisfit);
        }
        self.sent[place] += 1;
        piece.missing -= 1;
        piece.so_far.add(&self.reduction, place, bytes);
        if piece.missing > 0 {
            return Ok(None);
        }
        // Every child sends its pieces in order, so the first is complete before the others.
        self.done += 1;
        Ok(self.pieces.pop_front().map(|piece| (piece.so_far.result(&self.reduction), is_last)))
    }

    /// Whether the piece that was completed last is not the first.
    pub(super) fn is_continued(&self) -> bool {
        self.done > 1
    }

    /// A piece is begun by whoever sends it first; its length and end must agree with the length all have entered.
    fn begin(&mut self, length: usize, is_last: bool) -> Result<(), PieceMisfit> {
        let is_whole = length.is_multiple_of(self.reduction.of().size());
        let begun = self.begun + length as u64;
        let fits =
            if is_last { begun == self.reduction.length() } else { begun < self.reduction.length() && length > 0 };
        if !is_whole || !fits || self.pieces.back().is_some_and(|piece| piece.is_last) {
            return Err(PieceMisfit);
        }
        self.begun = begun;
        let missing = self.sent.len();
        let so_far = match self.reduction.needs_order() {
            true => PieceState::Waiting(vec![Bytes::new(); missing]),
            false => PieceState::Combined(Vec::new()),
        };
        self.pieces.push_back(Piece { length, is_last, missing, so_far });
        Ok(())
    }

    /// Bytes held for pieces that are not complete.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let held = |piece: &Piece| match &piece.so_far {
            PieceState::Combined(bytes) => bytes.len(),
            PieceState::Waiting(pieces) => pieces.iter().map(Bytes::len).sum(),
        };
        self.pieces.iter().map(held).sum()
    }
}

impl PieceState {
    fn add(&mut self, reduction: &Reduction, place: usize, bytes: Bytes) {
        match self {
            PieceState::Combined(so_far) if so_far.is_empty() => so_far.extend_from_slice(&bytes),
            PieceState::Combined(so_far) => combine(reduction, so_far, &bytes),
            PieceState::Waiting(pieces) => pieces[place] = bytes,
        }
    }

    fn result(self, reduction: &Reduction) -> Bytes {
        match self {
            PieceState::Combined(result) => result.into(),
            PieceState::Waiting(pieces) => {
                let mut pieces = pieces.into_iter();
                let mut result = pieces.next().map(Vec::from).unwrap_or_default();
                pieces.for_each(|piece| combine(reduction, &mut result, &piece));
                result.into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::{ElementKind, ReduceOp};

    fn reducing(what: ReduceOp, of: ElementKind, length: u64) -> Reducing {
        Reducing::new(Reduction::new(what, of, length).unwrap(), 2)
    }

    fn bytes(byte: u8, length: usize) -> Bytes {
        vec![byte; length].into()
    }

    #[test]
    fn a_piece_is_done_when_all_children_have_sent_it() {
        let mut reducing = reducing(ReduceOp::Sum, ElementKind::U8, 6);
        assert_eq!(reducing.take(0, bytes(1, 4), false), Ok(None));
        assert_eq!(reducing.take(0, bytes(2, 2), true), Ok(None));
        assert_eq!(reducing.held(), 6);
        assert_eq!(reducing.take(1, bytes(5, 4), false), Ok(Some((bytes(6, 4), false))));
        assert_eq!(reducing.take(1, bytes(5, 2), true), Ok(Some((bytes(7, 2), true))));
        assert_eq!(reducing.held(), 0);
    }

    #[test]
    fn floats_are_added_in_the_order_of_places() {
        let big = |place: usize| Bytes::copy_from_slice(&[1e16_f64, 1.0, -1e16][place].to_le_bytes());
        let sum = |order: [usize; 3]| {
            let mut reducing = Reducing::new(Reduction::new(ReduceOp::Sum, ElementKind::F64, 8).unwrap(), 3);
            order.map(|place| reducing.take(place, big(place), true).unwrap()).into_iter().flatten().next().unwrap().0
        };
        let expected = Bytes::copy_from_slice(&((1e16_f64 + 1.0) - 1e16).to_le_bytes());
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(sum(order), expected);
        }
    }

    #[test]
    fn pieces_that_do_not_fit_are_refused() {
        let first = |piece: Bytes, is_last| reducing(ReduceOp::Sum, ElementKind::U32, 8).take(0, piece, is_last);
        assert_eq!(first(bytes(1, 4), true), Err(PieceMisfit), "too short for the last");
        assert_eq!(first(bytes(1, 8), false), Err(PieceMisfit), "too long for more to follow");
        assert_eq!(first(bytes(1, 12), true), Err(PieceMisfit), "too long");
        assert_eq!(first(bytes(1, 6), false), Err(PieceMisfit), "part of an element");
        assert_eq!(first(bytes(1, 0), false), Err(PieceMisfit), "endless empty pieces");
        let mut reducing = reducing(ReduceOp::Sum, ElementKind::U32, 8);
        assert_eq!(reducing.take(0, bytes(1, 8), true), Ok(None));
        assert_eq!(reducing.take(0, bytes(1, 0), true), Err(PieceMisfit), "more after the last");
        assert_eq!(reducing.take(1, bytes(1, 4), false), Err(PieceMisfit), "cut differently");
    }

    #[test]
    fn a_child_cannot_run_ahead_of_the_others() {
        let mut reducing = reducing(ReduceOp::Sum, ElementKind::U8, 100);
        for _ in 0..PIPELINE {
            assert_eq!(reducing.take(0, bytes(1, 1), false), Ok(None));
        }
        assert_eq!(reducing.take(0, bytes(1, 1), false), Err(PieceMisfit));
    }
}
