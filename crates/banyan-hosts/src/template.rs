//! A name with numbers in brackets: how many names it stands for, and which.

use super::number::push_padded;

/// A name some parts of which take several values.
pub(super) struct Template<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
}

pub(super) enum Piece<'a> {
    Text(&'a str),
    Numbers(Vec<Range>),
}

/// `first-last/step`, with zeros in front up to `width` digits. `first` is not above `last`, `step` not zero.
pub(super) struct Range {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) step: u64,
    pub(super) width: usize,
}

impl Range {
    fn count(&self) -> u64 {
        ((self.last - self.first) / self.step).saturating_add(1)
    }

    fn values(&self) -> impl Iterator<Item = u64> {
        let next = |value: &u64| value.checked_add(self.step).filter(|next| *next <= self.last);
        std::iter::successors(Some(self.first), next)
    }

    fn longest(&self) -> usize {
        self.width.max(self.last.checked_ilog10().unwrap_or(0) as usize + 1)
    }
}

impl Template<'_> {
    /// Names this stands for, a name that two ranges hold counted twice. As many as can be counted, or more.
    pub(super) fn count(&self) -> u64 {
        let choices = |piece: &Piece<'_>| match piece {
            Piece::Text(_) => 1,
            Piece::Numbers(ranges) => ranges.iter().map(Range::count).fold(0, u64::saturating_add),
        };
        self.pieces.iter().map(choices).fold(1, u64::saturating_mul)
    }

    /// Bytes of the longest name.
    pub(super) fn longest(&self) -> usize {
        let longest = |piece: &Piece<'_>| match piece {
            Piece::Text(text) => text.len(),
            Piece::Numbers(ranges) => ranges.iter().map(Range::longest).max().unwrap_or(0),
        };
        self.pieces.iter().map(longest).sum()
    }

    /// Gives all names to `visit`, the last number changing fastest, until it fails.
    pub(super) fn expand<E>(&self, mut visit: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        if let [Piece::Text(name)] = self.pieces[..] {
            return visit(name);
        }
        expand(&self.pieces, &mut String::new(), &mut visit)
    }
}

/// As deep as a name has pieces, of which there are fewer than bytes in a name.
fn expand<E>(pieces: &[Piece<'_>], name: &mut String, visit: &mut impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
    let Some((piece, rest)) = pieces.split_first() else {
        return visit(name);
    };
    let start = name.len();
    match piece {
        Piece::Text(text) => {
            name.push_str(text);
            expand(rest, name, visit)?;
        }
        Piece::Numbers(ranges) => {
            for range in ranges {
                for value in range.values() {
                    name.truncate(start);
                    push_padded(name, value, range.width);
                    expand(rest, name, visit)?;
                }
            }
        }
    }
    name.truncate(start);
    Ok(())
}
