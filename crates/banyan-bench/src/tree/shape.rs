//! The shape of a tree that is measured: how many children the nodes of each level have.

use std::fmt;
use std::str::FromStr;

use banyan_tree::topology::{Spec, TopologyError};

/// The most processes of a tree. More measure the machine's limits, not the tree.
const PROCESSES: u64 = 4096;

/// Level widths: `4x16` is a front-end with 4 inner processes that have 16 leaves each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape(Vec<u32>);

/// Why a text is no shape.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// It is no topology at all.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// It is a topology of another kind.
    #[error("{0}: only level widths are measured, such as 4x16 or 8x8x8")]
    NoWidths(String),
    /// It has too many processes.
    #[error("{0}: more than {PROCESSES} processes on one machine")]
    TooLarge(String),
}

impl Shape {
    /// The shape of these widths, from the front-end down.
    pub(super) fn of(widths: &[u32]) -> Shape {
        Shape(widths.to_vec())
    }

    /// Children of the front-end, of each of those, and so on.
    pub(super) fn widths(&self) -> &[u32] {
        &self.0
    }

    /// Those at the bottom: the members.
    pub fn leaves(&self) -> u64 {
        self.0.iter().map(|width| u64::from(*width)).product()
    }
}

impl FromStr for Shape {
    type Err = ShapeError;

    fn from_str(text: &str) -> Result<Shape, ShapeError> {
        let Spec::Widths(widths) = text.parse()? else { return Err(ShapeError::NoWidths(text.into())) };
        let (mut level, mut all) = (1_u64, 0_u64);
        for width in &widths {
            level = level.saturating_mul((*width).into());
            all = all.saturating_add(level);
        }
        if all > PROCESSES { Err(ShapeError::TooLarge(text.into())) } else { Ok(Shape(widths)) }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.iter().map(u32::to_string).collect::<Vec<_>>().join("x"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_written_as_it_is_read() {
        for (text, leaves) in [("4x16", 64), ("8x8x8", 512), ("16", 16)] {
            let shape: Shape = text.parse().expect("a shape");
            assert_eq!((shape.to_string().as_str(), shape.leaves()), (text, leaves));
        }
    }

    #[test]
    fn what_cannot_be_measured_here_is_refused() {
        for text in ["", "4x", "0x3", "fanout:4:16", "4096x2", "99999x99999x99999"] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }
}
