//! Filters: what a node does with the parts of a wave. A [`Reduction`] is one; programs bring their own.
//!
//! A filter does no input or output and asks no clock: parts in, records out. It is made with its parameters, keeps
//! whatever state it likes between waves, and says how that state comes back when its node dies.

use banyan_ndr::typed::{Scratch, encode_body};
use banyan_ndr::{Buffer, DecodeError, Format, Record};
use banyan_ranks::RankSet;

use super::groups::What;
use super::{Part, ReduceError, Reduction, compiled};
use crate::bodies::Bodies;

/// What a node does with the parts of a wave.
///
/// Of a wave it makes exactly one record: none, or more, is an error of the wave, whose parts go on one by one. On a stream
/// without waves it gets each record as a wave of one part, and may make none, one or several records of it, of one format.
///
/// ```
/// use banyan_ndr::Record;
/// use banyan_reduce::{Filter, FilterError, Output, Part, FilterRole, Recovery};
///
/// /// What members send.
/// #[derive(Record)]
/// struct Sample { load: f64 }
///
/// /// What is made of samples, and of other ranges.
/// #[derive(Record)]
/// struct Range { low: f64, high: f64 }
///
/// struct Ranges;
///
/// impl Filter for Ranges {
///     fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
///         let mut all = Range { low: f64::INFINITY, high: f64::NEG_INFINITY };
///         for part in parts {
///             let range = if part.is_partial {
///                 part.read::<Range>()?
///             } else {
///                 let Sample { load } = part.read()?;
///                 Range { low: load, high: load }
///             };
///             all = Range { low: all.low.min(range.low), high: all.high.max(range.high) };
///         }
///         out.push_record(&all)
///     }
///
///     fn recovery(&self) -> Recovery {
///         Recovery::Recomputed
///     }
/// }
/// ```
pub trait Filter: Send {
    /// Makes records of the parts of one wave, one part for each child that contributed, in the order of their lowest
    /// ranks. After an error the records are discarded, and the filter must be ready for the next wave. A panic is an error,
    /// after which the next wave gets a new filter.
    fn wave(&mut self, parts: &[Part<'_>], place: FilterRole, out: &mut Output) -> Result<(), FilterError>;

    /// Makes the records of many waves at once, for filters that are quicker so: their format, and one body a wave, of
    /// all waves. `None` where it has not taken any, and gets them one by one.
    fn waves(&mut self, parts: &[PartRun<'_>], place: FilterRole) -> Option<(Format, Bodies)> {
        let _ = (parts, place);
        None
    }

    /// Looks at a partial result that a member made itself, when it comes: an error closes the member's link. Filters whose
    /// partial results name members refuse those that name others than [`Part::members`] here.
    fn verify(&mut self, part: &Part<'_>) -> Result<(), FilterError> {
        let _ = part;
        Ok(())
    }

    /// The fields that it wants and that parts of this format lack, for people: `temp of max(temp)`. The front-end is told whose
    /// records these are. It is asked once for each format that comes.
    fn lacks(&self, format: &Format, is_partial: bool) -> Vec<String> {
        let _ = (format, is_partial);
        Vec::new()
    }

    /// How its state comes back when its node dies.
    fn recovery(&self) -> Recovery;
}

/// What one child contributes to some waves, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct PartRun<'a> {
    /// The members that contributed to each.
    pub members: &'a RankSet,
    /// The format of the bodies.
    pub format: &'a Format,
    /// A record a wave; all parts have as many.
    pub bodies: &'a Bodies,
    /// Whether another node's filter made them.
    pub is_partial: bool,
}

impl<'a> PartRun<'a> {
    /// The part of one wave, counted from the first.
    pub fn wave(&self, at: u32) -> Part<'a> {
        let PartRun { members, format, bodies, is_partial } = *self;
        Part { members, format, body: bodies.get(at), is_partial }
    }
}

/// Where in the tree a filter works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterRole {
    /// At a member of a stream of intervals: the parts are its own records of one interval, in the order in which it sent
    /// them, with what was made of earlier ones first; what is made of them is a part of a wave at its parent.
    Member,
    /// At a node between members and root: its records are parts of a wave at its parent.
    Inner,
    /// At the root: its records are what the program receives.
    Root,
}

/// How the state of a filter comes back when its node dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// It has none beyond a wave: waves that are sent again give the same records.
    Recomputed,
    /// It has some, but taking a wave twice is the same as taking it once.
    Idempotent,
    /// It is lost, which is reported.
    Lost,
}

/// Records that a filter makes, in order. Its memory is used again for the next wave.
#[derive(Debug, Default)]
pub struct Output {
    records: Vec<(Format, Buffer)>,
    /// How many of them belong to this wave.
    used: usize,
    /// Memory for a record that is none of these.
    lent: Buffer,
}

impl Output {
    /// No records.
    pub const fn new() -> Output {
        Output { records: Vec::new(), used: 0, lent: Buffer::new() }
    }

    /// Adds a record that is a value of a Rust type.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn push_record<R: Record>(&mut self, record: &R) -> Result<(), FilterError> {
        let mut scratch = Scratch::new();
        let body = encode_body(record, &mut scratch).map_err(|error| FilterError::Custom(error.to_string()))?;
        let buffer = self.add(R::format());
        body.slices().for_each(|slice| buffer.extend_from_slice(slice));
        Ok(())
    }

    /// Adds a record with this body.
    pub fn push(&mut self, format: &Format, body: &[u8]) {
        self.add(format).extend_from_slice(body);
    }

    /// Adds a record whose body is to be written into the buffer, which is empty.
    pub fn add(&mut self, format: &Format) -> &mut Buffer {
        let buffer = self.next(format);
        buffer.clear();
        buffer
    }

    /// Adds a record with the memory of one before, and whatever is in it.
    #[inline]
    fn next(&mut self, format: &Format) -> &mut Buffer {
        if self.records.get(self.used).is_none_or(|(known, _)| known != format) {
            self.expect(format);
        }
        self.used += 1;
        &mut self.records[self.used - 1].1
    }

    /// The next record will have another format than the one that was in its place.
    #[cold]
    fn expect(&mut self, format: &Format) {
        match self.records.get_mut(self.used) {
            Some((known, _)) => known.clone_from(format),
            None => self.records.push((format.clone(), std::mem::take(&mut self.lent))),
        }
    }

    /// Gives memory for a record, if there is none of one before.
    pub fn lend(&mut self, memory: Buffer) {
        self.lent = memory;
    }

    /// The buffer that the next record will have.
    fn spare(&mut self) -> Buffer {
        let known = self.records.get_mut(self.used).map(|(_, buffer)| buffer);
        std::mem::take(known.unwrap_or(&mut self.lent))
    }

    fn add_written(&mut self, format: &Format, body: Buffer) {
        *self.next(format) = body;
    }

    /// The records of this wave, in order.
    pub fn records(&self) -> &[(Format, Buffer)] {
        &self.records[..self.used]
    }

    /// Takes the records out, with their memory.
    pub fn take(&mut self) -> impl Iterator<Item = (Format, Buffer)> + '_ {
        let used = std::mem::take(&mut self.used);
        self.records.drain(..used)
    }

    /// Forgets the records; keeps the memory.
    pub fn clear(&mut self) {
        self.used = 0;
    }
}

/// Why a filter made no records of a wave.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A reduction could not take a part.
    #[error(transparent)]
    Reduce(#[from] ReduceError),
    /// Nobody brought a filter of that name.
    #[error("there is no filter {name}; this program has {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A filter cannot be made with these parameters.
    #[error("filter {name}: {reason}")]
    Parameters {
        /// The filter.
        name: String,
        /// What is wrong with them.
        reason: String,
    },
    /// A filter panicked. The next wave gets a new one.
    #[error("filter {name} panicked: {text}{}", if *.is_state_lost { " (what it knew is lost; it begins anew)" } else { "" })]
    Panicked {
        /// The filter.
        name: String,
        /// What it panicked with.
        text: String,
        /// Whether it had a state that nobody can compute again.
        is_state_lost: bool,
    },
    /// A part is not the record that the filter wants.
    #[error("members {members}: {error}")]
    Read {
        /// Whose part.
        members: RankSet,
        /// What is wrong.
        #[source]
        error: DecodeError,
    },
    /// A filter of one's own says why.
    #[error("{0}")]
    Custom(String),
}

impl Reduction {
    /// Makes a record of the parts of a wave, one after the other. Not in line: few waves need it, and the others would
    /// have to save registers for it.
    #[inline(never)]
    fn wave_by_parts(&mut self, parts: &[Part<'_>], place: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let mut taken = match place {
            FilterRole::Member => self.add_own(parts),
            FilterRole::Inner | FilterRole::Root => self.add_all(parts),
        };
        if let Err(ReduceError::Order { .. }) = taken {
            // Rarely: a node keeps its children in order.
            self.clear();
            let mut sorted = parts.to_vec();
            sorted.sort_by_key(|part| part.members.first());
            taken = self.add_all(&sorted);
        }
        if let Err(error) = taken {
            self.clear();
            return Err(error.into());
        }
        if let (FilterRole::Root, Some(fault)) = (place, self.missing()) {
            self.clear();
            let members = parts.iter().fold(RankSet::new(), |all, part| all.union(part.members));
            return Err(ReduceError::Part { members, fault }.into());
        }
        // The format is known only when the body has been written.
        let mut body = out.spare();
        let format = match place {
            FilterRole::Member | FilterRole::Inner => self.partial(&mut body),
            FilterRole::Root => self.result(&mut body),
        };
        if let Some(format) = format {
            out.add_written(format, body);
        }
        Ok(())
    }
}

/// The order of the parts does not matter: they are taken in the order of their lowest ranks.
impl Filter for Reduction {
    fn wave(&mut self, parts: &[Part<'_>], place: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let what = match place {
            FilterRole::Inner => What::Partial,
            FilterRole::Root => What::Result,
            // Its parts are all of one rank.
            FilterRole::Member => return self.wave_by_parts(parts, place, out),
        };
        match self.whole(parts) {
            Some(whole) => {
                whole.run(parts, out.next(whole.format(what)), what);
                Ok(())
            }
            None => self.wave_by_parts(parts, place, out),
        }
    }

    fn waves(&mut self, parts: &[PartRun<'_>], place: FilterRole) -> Option<(Format, Bodies)> {
        self.strips(parts, place)
    }

    fn verify(&mut self, part: &Part<'_>) -> Result<(), FilterError> {
        Ok(Reduction::verify(self, part)?)
    }

    fn lacks(&self, format: &Format, is_partial: bool) -> Vec<String> {
        compiled::lacks(self.specification(), format, is_partial)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}
