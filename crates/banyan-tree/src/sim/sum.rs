//! The simulator's own transformations: upwards sums of numbers of 64 bits, which wrap; downwards they are counted. Of records
//! without waves some are sifted: of a number come none, one or several.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use banyan_ndr::{FormatId, Record};
use banyan_reduce::{Bodies, FilterRole, Recovery};
use bytes::Bytes;

use super::reduction::REDUCE;
use crate::combiner::Combiners;
use crate::ids::WaveNumber;
use crate::run::Run;
use crate::transformation::{MissingField, Transformation, TransformationError, Transformations};
use crate::yields::Yields;

/// The transformations there are: sums, and counts of nodes that were passed, which may fail; and those of users.
#[derive(Debug)]
pub(super) struct Sums(pub(super) Combiners);

/// What members send and get. Nobody looks at it: bodies may be longer.
#[derive(Record)]
pub(super) struct Number {
    value: u64,
}

/// The format of the numbers.
pub(super) fn format() -> FormatId {
    Number::format().id()
}

impl Transformations for Sums {
    fn make(&self, text: &str) -> Result<Box<dyn Transformation>, TransformationError> {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        let place = match rest {
            AT_ROOT => Some(FilterRole::Root),
            BELOW_ROOT => Some(FilterRole::Inner),
            _ => None,
        };
        match name {
            REDUCE => self.0.make(text),
            HOPS => Ok(Box::new(Hop { fails: rest == FAILING })),
            SIFT | SIFT_FAILING => Ok(Box::new(Sum::new(name == SIFT_FAILING, true, place))),
            _ => Ok(Box::new(Sum::new(name == FAILING, false, place))),
        }
    }
}

/// Sums.
pub(super) const SUM: &str = "sum";
/// Sums that fail now and then.
pub(super) const FAILING: &str = "failing";
/// Makes [none or several](sifted) of each number that no other has seen.
pub(super) const SIFT: &str = "sift";
/// The same, and fails now and then.
pub(super) const SIFT_FAILING: &str = "sift-failing";
/// Counts the nodes that a number passes, in its [`HOP_BITS`].
pub(super) const HOPS: &str = "hops";
/// Of sums: they work at the front-end alone, or everywhere else.
pub(super) const AT_ROOT: &str = "at root";
pub(super) const BELOW_ROOT: &str = "below root";
/// What sums say when they work elsewhere.
pub(super) const MISPLACED: &str = "this is the filter of another place";

/// Where a number says how many nodes it has passed.
pub(super) const HOP_BITS: u64 = 0xff << 56;

struct Sum {
    fails: bool,
    sifts: bool,
    place: Option<FilterRole>,
    /// Members whose records were found to lack the field that some lack, and those of whom nobody was told.
    noted: BTreeSet<u32>,
    missing: Vec<MissingField>,
}

struct Hop {
    fails: bool,
}

/// Whether counts that fail now and then fail in a packet at agents.
pub(super) fn fails_downwards(packet: u64) -> bool {
    packet % 8 == 5
}

impl Transformation for Hop {
    fn combine(&mut self, parts: &[Run], place: FilterRole) -> Result<Bodies, TransformationError> {
        let sent = parts.first().map_or(0, |part| number(part.bodies.get(0)));
        if self.fails && place == FilterRole::Inner && fails_downwards(sent & 0xffff) {
            return Err(TransformationError("it fails now and then".into()));
        }
        let passed = std::iter::once(sent.wrapping_add(1 << HOP_BITS.trailing_zeros()));
        // Below the front-end it makes long ones short.
        let size = if place == FilterRole::Root {
            parts.first().map_or(NUMBER, |part| part.bodies.get(0).len())
        } else {
            NUMBER
        };
        padded(passed, size)
    }
}

/// The most that is made of one number.
pub(super) const SIFTED_MOST: usize = 3;

/// What becomes of a number where numbers are sifted.
pub(super) fn sifted(number: u64) -> impl Iterator<Item = u64> {
    let count = number % (SIFTED_MOST as u64 + 1);
    (0..count).map(move |more| number.wrapping_add(more))
}

/// Whether sums that fail now and then fail in a wave at the front-end, and with that everywhere.
pub(super) fn fails_at_front_end(wave: WaveNumber) -> bool {
    wave.0 % 8 == 3
}

/// Whether records of a member are said to lack a field.
pub(super) fn lacks_field(member: u32) -> bool {
    member % 3 == 1
}

impl Sum {
    fn new(fails: bool, sifts: bool, place: Option<FilterRole>) -> Sum {
        Sum { fails, sifts, place, noted: BTreeSet::new(), missing: Vec::new() }
    }

    fn note_missing(&mut self, part: &Run) {
        let member = part.members.only().filter(|member| lacks_field(*member) && self.noted.insert(*member));
        self.missing.extend(member.map(|member| MissingField { field: "what some lack".into(), member }));
    }

    fn fails(&self, wave: WaveNumber, place: FilterRole) -> bool {
        let fails_below = wave.0 % 8 == 5 && place == FilterRole::Inner;
        self.fails && (fails_at_front_end(wave) || fails_below)
    }
}

impl Transformation for Sum {
    /// Those that fail now and then say so, for the sake of what is told of it; they keep nothing.
    fn recovery(&self) -> Recovery {
        if self.fails { Recovery::Lost } else { Recovery::Recomputed }
    }

    fn missing_fields(&mut self) -> Vec<MissingField> {
        std::mem::take(&mut self.missing)
    }

    fn sift(&mut self, run: &Run, place: FilterRole) -> Result<Run, TransformationError> {
        self.note_missing(run);
        match self.place.is_some_and(|expected| expected != place) {
            true => Err(TransformationError(MISPLACED.into())),
            false => self.sift_run(run, place),
        }
    }

    fn combine(&mut self, parts: &[Run], place: FilterRole) -> Result<Bodies, TransformationError> {
        parts.iter().for_each(|part| self.note_missing(part));
        let Some(part) = parts.first() else { return Err(TransformationError("there is nothing to add".into())) };
        if self.place.is_some_and(|expected| expected != place) {
            return Err(TransformationError(MISPLACED.into()));
        }
        let fails = |at: &u32| self.fails(part.first.after(*at), place);
        let count = (0..part.bodies.len()).find(fails).unwrap_or(part.bodies.len());
        if count == 0 {
            return Err(TransformationError("it fails now and then".into()));
        }
        let sums =
            (0..count).map(|wave| parts.iter().map(|part| number(part.bodies.get(wave))).fold(0, u64::wrapping_add));
        bodies(sums)
    }
}

impl Sum {
    /// What becomes of the records of a run before the first in which this fails.
    fn sift_run(&self, run: &Run, place: FilterRole) -> Result<Run, TransformationError> {
        let fails = |at: &u32| self.fails(run.first.after(*at), place);
        let count = (0..run.len()).find(fails).unwrap_or(run.len());
        let Some(run) = run.within(run.first..run.first.after(count)) else {
            return Err(TransformationError("it fails now and then".into()));
        };
        if !self.sifts || run.is_partial {
            return Ok(Run { is_partial: true, ..run });
        }
        let numbers = run.bodies.iter().map(number).zip(0..);
        let made: Vec<(u32, u64)> =
            numbers.flat_map(|(number, at)| sifted(number).map(move |number| (at, number))).collect();
        let yields = Yields::new(run.len(), made.iter().map(|(at, _)| *at).collect());
        let bodies = match (&yields, NonZeroU32::new(run.len())) {
            (None, Some(count)) => Bodies::absent(count),
            _ => bodies(made.into_iter().map(|(_, number)| number))?,
        };
        Ok(Run { is_partial: true, yields, bodies, ..run })
    }
}

/// Bytes of a number.
pub(super) const NUMBER: usize = 8;

/// Numbers as bodies.
pub(super) fn bodies(numbers: impl Iterator<Item = u64>) -> Result<Bodies, TransformationError> {
    padded(numbers, NUMBER)
}

/// Numbers as bodies of so many bytes each.
pub(super) fn padded(numbers: impl Iterator<Item = u64>, size: usize) -> Result<Bodies, TransformationError> {
    let size = size.max(NUMBER);
    let (mut bytes, mut count) = (Vec::new(), 0);
    for number in numbers {
        bytes.extend_from_slice(&number.to_le_bytes());
        count += 1;
        bytes.resize(size * count, 0);
    }
    let made = Bodies::of_size(format(), size as u32, count as u32, Bytes::from(bytes));
    made.map_err(|error| TransformationError(error.to_string()))
}

/// A body as a number.
pub(super) fn number(body: &[u8]) -> u64 {
    body.first_chunk().map_or(0, |number| u64::from_le_bytes(*number))
}
