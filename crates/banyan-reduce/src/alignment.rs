//! Records of one member, put together by intervals of a field: what a stream of intervals takes of it.
//!
//! A member's records of one interval become one, made by the stream's own filter, and that is the member's contribution
//! to the wave of the interval. An interval is over when a record of a later one comes, or when the program says so.

use banyan_ndr::{Buffer, Format, FormatId, RecordView};
use banyan_ranks::RankSet;

use super::input::{Resolved, Unresolved};
use super::specification::Path;
use super::value::{Datum, Kind};
use super::{Fault, Filter, FilterError, FilterRole, Output, Part, SpecificationError};
use crate::interval::Interval;

/// Records that wait to be put together, and their bytes: then they are, so that an interval may have any number.
const MOST_RECORDS: usize = 256;
const MOST_BYTES: usize = 1 << 20;

/// Intervals by which a record may be ahead. A member says of each that it has nothing for it, a window at a time, so that
/// these take thousands of round trips: whoever is farther ahead has another start in mind, or a wrong clock.
const FARTHEST: u64 = 1 << 24;

/// The contributions of one member to a stream of intervals.
pub struct Alignment {
    interval: Interval,
    path: Path,
    filter: Box<dyn Filter>,
    own: RankSet,
    /// Where the field lies in records of the last format.
    field: Option<(FormatId, Resolved)>,
    /// The interval of what waits.
    current: u64,
    /// The stream's next wave.
    reached: u64,
    waiting: Vec<Waiting>,
    bytes: usize,
    output: Output,
}

/// A record that waits.
struct Waiting {
    format: Format,
    body: Buffer,
    is_partial: bool,
}

/// What a member contributes to one wave.
#[derive(Debug, Clone)]
pub struct Aligned {
    /// The wave, which is the number of the interval.
    pub wave: u64,
    /// The format of what the filter made.
    pub format: Format,
    /// What the filter made of the records of the interval.
    pub body: Buffer,
}

/// Why a record was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlignmentError {
    /// It has no such field, or its bytes are wrong.
    #[error("the record cannot be put into an interval: {0}")]
    Field(#[source] Fault),
    /// It belongs to no interval.
    #[error("{field} is {value}, which is before the first interval, or no number")]
    Outside {
        /// The field.
        field: String,
        /// Its value.
        value: String,
    },
    /// Its interval is far ahead.
    #[error(
        "{field} is {value}, which lies {ahead} intervals ahead ({interval}), and {FARTHEST} are the most; if the value is \
         right, open the stream with a start near it: {}",
        .interval.with_start(*.value)
    )]
    Ahead {
        /// The field.
        field: String,
        /// Its value.
        value: f64,
        /// By how many intervals.
        ahead: u64,
        /// The intervals of the stream, with their start.
        interval: Interval,
    },
    /// Its interval is over.
    #[error("{field} lies in interval {interval}, and {current} has begun; send records in the order of {field}")]
    Late {
        /// The field.
        field: String,
        /// The interval of the record.
        interval: u64,
        /// The interval that has begun.
        current: u64,
    },
    /// The filter cannot put the records together.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

impl Alignment {
    /// Nothing yet of the member of this rank.
    ///
    /// # Errors
    /// If the field is no path.
    pub fn new(interval: Interval, filter: Box<dyn Filter>, rank: u32) -> Result<Alignment, SpecificationError> {
        let path = interval.field().parse()?;
        let (own, output) = (RankSet::from_iter([rank]), Output::new());
        let (field, current, reached, waiting) = (None, 0, 0, Vec::new());
        Ok(Alignment { interval, path, filter, own, field, current, reached, waiting, bytes: 0, output })
    }

    /// The stream's next wave is this one; records are expected from there on.
    pub fn reach(&mut self, wave: u64) {
        self.reached = wave;
    }

    /// The interval that has begun.
    pub fn current(&self) -> u64 {
        self.current
    }

    /// Takes a record. If it begins another interval, the one before is complete.
    ///
    /// # Errors
    /// If the record belongs to no interval, to one that is over, or to one far ahead; what has come before stays. If the filter fails, the
    /// records of the interval are gone.
    pub fn take(&mut self, format: &Format, body: &[u8]) -> Result<Option<Aligned>, AlignmentError> {
        let (interval, value) = self.interval_of(format, body)?;
        self.check_near(interval, value)?;
        if interval < self.current {
            let (field, current) = (self.path.to_string(), self.current);
            return Err(AlignmentError::Late { field, interval, current });
        }
        let complete = if interval > self.current { self.finish()? } else { None };
        self.current = interval;
        if self.waiting.len() >= MOST_RECORDS || self.bytes + body.len() > MOST_BYTES {
            self.fold()?;
        }
        self.bytes += body.len();
        self.waiting.push(Waiting { format: format.clone(), body: Buffer::from_slice(body), is_partial: false });
        Ok(complete)
    }

    /// There are no records before this time. What is complete by that, and the interval that the time lies in.
    ///
    /// # Errors
    /// If the time lies before the first interval, or far ahead. If the filter fails, the records of the interval are gone.
    pub fn pass(&mut self, time: f64) -> Result<(Option<Aligned>, u64), AlignmentError> {
        let outside = || AlignmentError::Outside { field: self.path.to_string(), value: time.to_string() };
        let interval = self.interval.of_float(time).ok_or_else(outside)?;
        self.check_near(interval, time)?;
        let complete = if interval > self.current { self.finish()? } else { None };
        self.current = self.current.max(interval);
        Ok((complete, interval))
    }

    /// The interval that has begun is over: what there is of it.
    ///
    /// # Errors
    /// If the filter fails.
    pub fn finish(&mut self) -> Result<Option<Aligned>, AlignmentError> {
        self.fold()?;
        let wave = self.current;
        self.bytes = 0;
        let made = self.waiting.pop();
        if made.is_some() {
            self.current = wave + 1;
        }
        Ok(made.map(|Waiting { format, body, .. }| Aligned { wave, format, body }))
    }

    /// Makes one of all records that wait.
    fn fold(&mut self) -> Result<(), FilterError> {
        if let [] | [Waiting { is_partial: true, .. }] = self.waiting[..] {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let members = &self.own;
        let parts: Vec<Part<'_>> = waiting
            .iter()
            .map(|Waiting { format, body, is_partial }| Part { members, format, body, is_partial: *is_partial })
            .collect();
        self.output.clear();
        self.filter.wave(&parts, FilterRole::Member, &mut self.output)?;
        let count = self.output.records().len();
        let made = self.output.take().next().filter(|_| count == 1);
        let (format, body) = made.ok_or_else(|| FilterError::Custom(not_one(count)))?;
        self.bytes = body.len();
        self.waiting.push(Waiting { format, body, is_partial: true });
        Ok(())
    }

    fn check_near(&self, interval: u64, value: f64) -> Result<(), AlignmentError> {
        let ahead = interval.saturating_sub(self.current.max(self.reached));
        if ahead <= FARTHEST {
            return Ok(());
        }
        let (field, interval) = (self.path.to_string(), self.interval.clone());
        Err(AlignmentError::Ahead { field, value, ahead, interval })
    }

    /// The interval that a record lies in, and the value of its field.
    fn interval_of(&mut self, format: &Format, body: &[u8]) -> Result<(u64, f64), AlignmentError> {
        if self.field.as_ref().is_none_or(|(known, _)| *known != format.id()) {
            let refused = |unresolved: Unresolved| {
                let reason = unresolved.reason();
                let (name, format) = (self.path.to_string(), format.name().into());
                AlignmentError::Field(Fault::Path { name, format, reason })
            };
            self.field = Some((format.id(), Resolved::new(format, &self.path, true).map_err(refused)?));
        }
        let Some((_, Resolved { access, kind, .. })) = &self.field else { unreachable!("found or made above") };
        let record = RecordView::new(format, body).map_err(|error| AlignmentError::Field(error.into()))?;
        let (mut found, mut value) = (None, None);
        let number = &mut |datum: Datum<'_>| {
            found = match kind {
                Kind::Integer => self.interval.of_integer(datum.integer()),
                _ => self.interval.of_float(datum.float()),
            };
            value = Some(datum.float());
            Ok(())
        };
        access.each(record, number).map_err(AlignmentError::Field)?;
        found.zip(value).ok_or_else(|| {
            let value = value.map_or_else(|| "absent".into(), |value| value.to_string());
            AlignmentError::Outside { field: self.path.to_string(), value }
        })
    }
}

#[cold]
fn not_one(count: usize) -> String {
    format!("the filter made {count} records of an interval; a filter makes exactly one")
}

impl std::fmt::Debug for Alignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Alignment")
            .field("interval", &self.interval)
            .field("current", &self.current)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}
