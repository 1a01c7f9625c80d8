//! Strips: the state of one function in many waves at once.
//!
//! Where bodies are of one size and their numbers in fixed places, a reduction takes all waves of one child before those
//! of the next: a short loop over numbers at equal distances, instead of many small steps for every wave. Within a wave
//! the order of children stays the same, so every bit of the result does.
//!
//! Whatever is unusual is left to the reduction of single waves, errors as well: it does not need to be quick.

use banyan_ranks::RankSet;

use super::PartRun;
use super::body::{Reader, Writer};
use super::cell::Cell;
use super::cell::scalar::{Number, Scalar};
use super::groups::What;
use super::layout::{Places, Shape};

/// A function's state in each of some waves.
#[derive(Debug)]
pub(super) enum Strip {
    Count(Vec<u64>),
    Integer(Scalars<i128>),
    Float(Scalars<f64>),
}

/// Scalars of waves, and one that has seen nothing.
#[derive(Debug)]
pub(super) struct Scalars<N> {
    empty: Scalar<N>,
    waves: Vec<Scalar<N>>,
}

/// Bodies of one size, side by side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    bytes: &'a [u8],
    size: usize,
}

impl<'a> Rows<'a> {
    /// The bodies of a part; none unless each has room for the fixed part of its format, and nothing behind that
    /// where nothing can be.
    pub(super) fn of(part: &PartRun<'a>) -> Option<Rows<'a>> {
        let (size, fixed) = (part.bodies.uniform_size()?, part.format.size());
        let fits = size == fixed || size > fixed && part.format.has_references();
        (fits && size > 0).then(|| Rows { bytes: part.bodies.bytes(), size })
    }

    pub(super) fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        self.bytes.chunks_exact(self.size)
    }
}

impl Strip {
    /// The strip of a function whose state this is, if there is one.
    pub(super) fn like(cell: &Cell) -> Option<Strip> {
        match cell {
            Cell::Count(_) => Some(Strip::Count(Vec::new())),
            Cell::Integer(scalar) => Some(Strip::Integer(Scalars::like(scalar))),
            Cell::Float(scalar) => Some(Strip::Float(Scalars::like(scalar))),
            _ => None,
        }
    }

    /// Nothing was seen of so many waves.
    pub(super) fn begin(&mut self, waves: usize) {
        match self {
            Strip::Count(counts) => {
                counts.clear();
                counts.resize(waves, 0);
            }
            Strip::Integer(scalars) => scalars.begin(waves),
            Strip::Float(scalars) => scalars.begin(waves),
        }
    }

    /// A record in each wave. None if this counts no records.
    pub(super) fn count(&mut self) -> Option<()> {
        let Strip::Count(counts) = self else { return None };
        counts.iter_mut().for_each(|count| *count = count.saturating_add(1));
        Some(())
    }

    /// Merges partial results. None if one of them is wrong, or too large.
    pub(super) fn merge(&mut self, rows: Rows<'_>, at: Places<'_>, members: &RankSet) -> Option<()> {
        match self {
            Strip::Count(counts) => {
                for (count, body) in counts.iter_mut().zip(rows.iter()) {
                    *count = count.saturating_add(Reader::new(body).u64(at.field(0)));
                }
                Some(())
            }
            Strip::Integer(scalars) => scalars.merge(rows, at, members),
            Strip::Float(scalars) => scalars.merge(rows, at, members),
        }
    }

    /// Writes states, or results, to the bodies of a shape that lie side by side.
    pub(super) fn write(&self, out: &mut Writer<'_>, shape: &Shape, at: Places<'_>, what: What) {
        let size = shape.format.size();
        match self {
            Strip::Count(counts) => {
                for (wave, count) in counts.iter().enumerate() {
                    out.put(at.field(0) + wave * size, count.to_ne_bytes());
                }
            }
            Strip::Integer(scalars) => scalars.write(out, size, at, what),
            Strip::Float(scalars) => scalars.write(out, size, at, what),
        }
    }
}

impl<N: Number> Scalars<N> {
    fn like(scalar: &Scalar<N>) -> Scalars<N> {
        let mut empty = *scalar;
        empty.clear();
        Scalars { empty, waves: Vec::new() }
    }

    fn begin(&mut self, waves: usize) {
        self.waves.clear();
        self.waves.resize(waves, self.empty);
    }

    pub(super) fn waves(&mut self) -> &mut [Scalar<N>] {
        &mut self.waves
    }

    fn merge(&mut self, rows: Rows<'_>, at: Places<'_>, members: &RankSet) -> Option<()> {
        for (scalar, body) in self.waves.iter_mut().zip(rows.iter()) {
            scalar.merge(&Reader::of_members(body, members), at).ok()?;
        }
        Some(())
    }

    fn write(&self, out: &mut Writer<'_>, size: usize, at: Places<'_>, what: What) {
        for (wave, scalar) in self.waves.iter().enumerate() {
            scalar.write(out.body(), at.moved(wave * size).ends(), what);
        }
    }
}
