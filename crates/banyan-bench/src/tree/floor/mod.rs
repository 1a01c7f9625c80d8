//! The floor: the same tree of processes, written directly on Unix sockets, without frames, checks, records or filters,
//! and without anything that would survive a failure. What a tree costs beyond it is the price of all that.
//!
//! The front-end starts its children and they start theirs, each with one end of a socket pair as standard input. Before
//! every measurement an order goes down, so that everyone knows what the bytes mean that follow.

mod children;
mod order;
mod process;
mod sums;

use std::io;
use std::time::{Duration, Instant};

use children::Children;
use order::{FloorOrder, FloorWork, INTEGER};
use sums::{Numbers, PIECE};

use super::Shape;

pub(super) use process::{become_floor_process_if_asked, is_inner};

/// Numbers and bytes of an array: a megabyte of doubles.
pub(super) const ARRAY_NUMBERS: u64 = 125_000;
pub(super) const ARRAY_BYTES: u64 = ARRAY_NUMBERS * INTEGER as u64;

/// The array that everyone sends: each number is its place, so that sums are exact and known.
fn array() -> Vec<u8> {
    (0..ARRAY_NUMBERS).flat_map(|place| (place as f64).to_ne_bytes()).collect()
}

/// A running tree, seen from its front-end. All its processes end with it.
pub(super) struct TreeFloor {
    children: Children,
    leaves: u64,
}

impl TreeFloor {
    /// Starts the tree; returns when every leaf has said hello, with the time that took.
    pub(super) fn start(shape: &Shape) -> io::Result<(TreeFloor, Duration)> {
        let begin = Instant::now();
        let mut floor = TreeFloor { children: Children::start(shape.widths())?, leaves: shape.leaves() };
        floor.expect(1)?;
        Ok((floor, begin.elapsed()))
    }

    /// Round trips of one integer, each with its time.
    pub(super) fn round_trips(&mut self, count: u64) -> io::Result<Vec<Duration>> {
        self.order(FloorWork::RoundTrips, count)?;
        let round_trip = |value: u64| {
            let begin = Instant::now();
            self.children.tell(&value.to_ne_bytes())?;
            self.expect(value)?;
            Ok(begin.elapsed())
        };
        (0..count).map(round_trip).collect()
    }

    /// The time of so many waves of one integer, as many at once as come or one by one.
    pub(super) fn waves(&mut self, count: u64, is_batched: bool) -> io::Result<Duration> {
        let begin = Instant::now();
        let (work, piece) = if is_batched { (FloorWork::Waves, PIECE) } else { (FloorWork::WavesOneByOne, INTEGER) };
        self.order(work, count)?;
        let (leaves, mut wave) = (self.leaves, 0);
        self.children.sums(Numbers::Integers, count, piece, |sums| {
            let (sums, _) = sums.as_chunks::<INTEGER>();
            let is_right = sums.iter().zip(wave..).all(|(sum, wave)| u64::from_ne_bytes(*sum) == wave * leaves);
            wave += sums.len() as u64;
            if is_right { Ok(()) } else { Err(wrong()) }
        })?;
        Ok(begin.elapsed())
    }

    /// The time of so many sums of arrays.
    pub(super) fn array_sums(&mut self, count: u64) -> io::Result<Duration> {
        let begin = Instant::now();
        self.order(FloorWork::ArraySums, count)?;
        let (leaves, mut place) = (self.leaves as f64, 0);
        self.children.sums(Numbers::Doubles, count * ARRAY_NUMBERS, PIECE, |sums| {
            let (sums, _) = sums.as_chunks::<INTEGER>();
            // One of each piece is looked at: looking at all is no part of what is measured.
            let is_right = sums.first().is_some_and(|sum| f64::from_ne_bytes(*sum) == place as f64 * leaves);
            place = (place + sums.len() as u64) % ARRAY_NUMBERS;
            if is_right { Ok(()) } else { Err(wrong()) }
        })?;
        Ok(begin.elapsed())
    }

    /// The time until all have got so many arrays.
    pub(super) fn broadcasts(&mut self, count: u64) -> io::Result<Duration> {
        let array = array();
        let begin = Instant::now();
        self.order(FloorWork::Broadcasts, count)?;
        for _ in 0..count {
            // Piece by piece, so that the first child has no more to do than the last.
            array.chunks(PIECE).try_for_each(|piece| self.children.tell(piece))?;
        }
        self.expect(1)?;
        Ok(begin.elapsed())
    }

    fn order(&mut self, work: FloorWork, count: u64) -> io::Result<()> {
        self.children.tell(&FloorOrder { work, count }.to_bytes())
    }

    /// Hears this integer from every leaf.
    fn expect(&mut self, value: u64) -> io::Result<()> {
        if self.children.answers()? == value.wrapping_mul(self.leaves) { Ok(()) } else { Err(wrong()) }
    }
}

fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a sum is not what it should be")
}
