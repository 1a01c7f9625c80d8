//! Times of records: the values of one field, comparable with each other whatever their types.
//!
//! A time is a number without a unit: the file does not know whether it counts seconds or steps. Integers and floats
//! are compared exactly, not through a rounding to either.
//!
//! [`Timeline`] finds records by time, whether or not times only grow. Blocks know their earliest and latest time. The
//! latest time *so far* only grows from block to block, and so does the earliest time *from here on*; both are searched by
//! halving. Between the two places found, blocks that do not overlap the range are left out one by one.

use std::cmp::Ordering;
use std::io::IoSlice;
use std::ops::{Bound, RangeBounds};

use banyan_ndr::wire::{read_int, read_uint};
use banyan_ndr::{ByteOrder, DefId, Format, Type};

use super::reader::Reader;
use super::reader::{BlockWalk, RecordRef};

/// A time: an integer of 64 bits, or a float that is a number.
#[derive(Debug, Clone, Copy)]
pub struct Time(Number);

#[derive(Debug, Clone, Copy)]
enum Number {
    /// From `i64::MIN` to `u64::MAX`.
    Int(i128),
    /// Not NaN.
    Float(f64),
}

/// How a time is stored in eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum TimeKind {
    None = 0,
    Signed = 1,
    Unsigned = 2,
    Float = 3,
}

impl TimeKind {
    pub(super) fn from_code(code: u8) -> Option<TimeKind> {
        [TimeKind::None, TimeKind::Signed, TimeKind::Unsigned, TimeKind::Float].get(usize::from(code)).copied()
    }
}

impl Time {
    /// A float as a time; `None` for NaN, which no time can be compared with.
    pub fn from_f64(time: f64) -> Option<Time> {
        (!time.is_nan()).then_some(Time(Number::Float(time)))
    }

    /// The nearest float.
    pub fn to_f64(self) -> f64 {
        match self.0 {
            Number::Int(int) => int as f64,
            Number::Float(float) => float,
        }
    }

    fn from_int(int: i128) -> Option<Time> {
        (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&int).then_some(Time(Number::Int(int)))
    }

    /// Kind and bits. Integers are signed wherever they can be.
    pub(super) fn encode(self) -> (TimeKind, u64) {
        match self.0 {
            Number::Int(int) if int > i128::from(i64::MAX) => (TimeKind::Unsigned, int as u64),
            Number::Int(int) => (TimeKind::Signed, int as u64),
            Number::Float(float) => (TimeKind::Float, float.to_bits()),
        }
    }

    /// The inverse of [`encode`](Self::encode); the outer `None` for bits that are no time.
    pub(super) fn decode(kind: TimeKind, bits: u64) -> Option<Option<Time>> {
        match kind {
            TimeKind::None => (bits == 0).then_some(None),
            TimeKind::Signed => Some(Some(Time(Number::Int(i128::from(bits as i64))))),
            TimeKind::Unsigned => Some(Some(Time(Number::Int(i128::from(bits))))),
            TimeKind::Float => Time::from_f64(f64::from_bits(bits)).map(Some),
        }
    }
}

impl From<i64> for Time {
    fn from(time: i64) -> Time {
        Time(Number::Int(time.into()))
    }
}

impl From<u64> for Time {
    fn from(time: u64) -> Time {
        Time(Number::Int(time.into()))
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Number::Int(int) => int.fmt(f),
            Number::Float(float) => float.fmt(f),
        }
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Time) -> Ordering {
        match (self.0, other.0) {
            (Number::Int(a), Number::Int(b)) => a.cmp(&b),
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(&b).expect("a time is never NaN"),
            (Number::Int(a), Number::Float(b)) => int_with_float(a, b),
            (Number::Float(a), Number::Int(b)) => int_with_float(b, a).reverse(),
        }
    }
}

/// Compares exactly: `int` has at most 65 bits, so a float beyond that decides by itself, and any other is an integer
/// of fewer than 128 bits and a fraction.
fn int_with_float(int: i128, float: f64) -> Ordering {
    const BEYOND: f64 = (1_u128 << 66) as f64;
    if float >= BEYOND {
        return Ordering::Less;
    }
    if float <= -BEYOND {
        return Ordering::Greater;
    }
    let whole = float.floor();
    int.cmp(&(whole as i128)).then(if float > whole { Ordering::Less } else { Ordering::Equal })
}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Time) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Time) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Time {}

/// Where a format has its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimePlace {
    offset: usize,
    width: usize,
    number: Class,
    order: ByteOrder,
}

#[derive(Debug, Clone, Copy)]
enum Class {
    Signed,
    Unsigned,
    Float,
}

impl TimePlace {
    /// Finds the field by its path (`time`, or `header.time` through records in place). `None` when the format has no
    /// such field, or one that is no integer, `f32` or `f64`.
    pub(super) fn find(format: &Format, path: &str) -> Option<TimePlace> {
        let mut definition = DefId::ROOT;
        let mut offset = 0;
        let mut names = path.split('.').peekable();
        loop {
            let name = names.next()?;
            let (_, field) = format.field_of(definition, name)?;
            offset += field.offset as usize;
            match (&field.ty, names.peek()) {
                (Type::Record(inner), Some(_)) => definition = *inner,
                (ty, None) => {
                    let (width, number) = match ty {
                        Type::Int { width, signed: true } => (*width, Class::Signed),
                        Type::Int { width, signed: false } => (*width, Class::Unsigned),
                        Type::Float { width: width @ (4 | 8) } => (*width, Class::Float),
                        _ => return None,
                    };
                    return Some(TimePlace { offset, width: width.into(), number, order: format.order() });
                }
                _ => return None,
            }
        }
    }

    /// Reads the time of a body that is given in parts. `None` for NaN and for integers of more than 64 bits.
    pub(super) fn read(self, parts: &[IoSlice<'_>]) -> Option<Time> {
        let mut bytes = [0; 16];
        let bytes = &mut bytes[..self.width];
        gather(parts, self.offset, bytes);
        match self.number {
            Class::Signed => Time::from_int(read_int(bytes, self.order)),
            Class::Unsigned => i128::try_from(read_uint(bytes, self.order)).ok().and_then(Time::from_int),
            Class::Float if self.width == 4 => {
                Time::from_f64(f32::from_bits(read_uint(bytes, self.order) as u32).into())
            }
            Class::Float => Time::from_f64(f64::from_bits(read_uint(bytes, self.order) as u64)),
        }
    }
}

/// Copies the bytes from `at` on out of a sequence of parts that is long enough.
fn gather(parts: &[IoSlice<'_>], mut at: usize, mut out: &mut [u8]) {
    for part in parts {
        let there = part.get(at..).unwrap_or_default();
        let count = there.len().min(out.len());
        out[..count].copy_from_slice(&there[..count]);
        out = &mut out[count..];
        at = at.saturating_sub(part.len());
    }
}

/// The blocks that have times.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    entries: Vec<BlockTimes>,
}

#[derive(Debug)]
struct BlockTimes {
    block: usize,
    times: (Time, Time),
    latest_so_far: Time,
    earliest_from_here: Time,
}

impl Timeline {
    fn new(reader: &Reader) -> Timeline {
        let timed =
            reader.blocks.iter().enumerate().filter_map(|(block, b)| b.header.times.map(|times| (block, times)));
        let mut entries: Vec<BlockTimes> = timed
            .map(|(block, times)| BlockTimes { block, times, latest_so_far: times.1, earliest_from_here: times.0 })
            .collect();
        for i in 1..entries.len() {
            entries[i].latest_so_far = entries[i].latest_so_far.max(entries[i - 1].latest_so_far);
        }
        for i in (1..entries.len()).rev() {
            entries[i - 1].earliest_from_here = entries[i - 1].earliest_from_here.min(entries[i].earliest_from_here);
        }
        Timeline { entries }
    }
}

impl Reader {
    /// The records whose time lies in the range, in the order of their numbers. Lost records and those without time
    /// are left out.
    pub fn seek_time(&self, range: impl RangeBounds<Time>) -> InTime<'_> {
        let entries = &self.timeline.get_or_init(|| Timeline::new(self)).entries;
        let range = (range.start_bound().cloned(), range.end_bound().cloned());
        let from = entries.partition_point(|entry| before(entry.latest_so_far, range.0));
        let to = entries.partition_point(|entry| !behind(entry.earliest_from_here, range.1));
        InTime { reader: self, ahead: entries.get(from..to).unwrap_or_default(), range, current: None }
    }
}

fn before(time: Time, start: Bound<Time>) -> bool {
    match start {
        Bound::Included(start) => time < start,
        Bound::Excluded(start) => time <= start,
        Bound::Unbounded => false,
    }
}

fn behind(time: Time, end: Bound<Time>) -> bool {
    match end {
        Bound::Included(end) => time > end,
        Bound::Excluded(end) => time >= end,
        Bound::Unbounded => false,
    }
}

/// The records of a range of time; made by [`Reader::seek_time`].
#[derive(Debug, Clone)]
pub struct InTime<'a> {
    reader: &'a Reader,
    ahead: &'a [BlockTimes],
    range: (Bound<Time>, Bound<Time>),
    current: Option<BlockWalk<'a>>,
}

impl<'a> Iterator for InTime<'a> {
    type Item = RecordRef<'a>;

    fn next(&mut self) -> Option<RecordRef<'a>> {
        let range = self.range;
        loop {
            let hit = |record: &RecordRef<'_>| record.time.is_some_and(|time| range.contains(&time));
            if let Some(record) = self.current.as_mut().and_then(|walk| walk.find(hit)) {
                return Some(record);
            }
            let (entry, ahead) = self.ahead.split_first()?;
            self.ahead = ahead;
            let (earliest, latest) = entry.times;
            self.current = (!before(latest, range.0) && !behind(earliest, range.1))
                .then(|| BlockWalk::new(self.reader, &self.reader.blocks[entry.block], 0))
                .flatten();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbouring_integers_beyond_the_precision_of_floats_are_told_apart() {
        let big = 1_u64 << 60;
        let float = Time::from_f64(big as f64).unwrap();
        assert_eq!(Time::from(big), float);
        assert!(Time::from(big + 1) > float);
        assert!(Time::from(u64::MAX) < Time::from_f64(u64::MAX as f64).unwrap());
        assert!(Time::from(i64::MIN) > Time::from_f64(f64::NEG_INFINITY).unwrap());
        assert!(Time::from(-1_i64) > Time::from_f64(-1.5).unwrap());
    }

    #[test]
    fn a_time_that_straddles_parts_is_read_whole() {
        let body: Vec<u8> = (0..32).collect();
        for cut in 0..=32 {
            let parts = [IoSlice::new(&body[..cut]), IoSlice::new(&[]), IoSlice::new(&body[cut..])];
            let mut out = [0; 8];
            gather(&parts, 12, &mut out);
            assert_eq!(out, body[12..20]);
        }
    }

    proptest! {
        #[test]
        fn a_stored_time_is_read_back(int in any::<i64>(), float in any::<f64>()) {
            for time in [Some(Time::from(int)), Some(Time::from(int as u64)), Time::from_f64(float)].into_iter().flatten() {
                let (kind, bits) = time.encode();
                prop_assert_eq!(Time::decode(kind, bits), Some(Some(time)));
            }
        }
    }
}
