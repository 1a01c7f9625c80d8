//! Filters at work in a node: runs of waves are taken apart, given to a filter, and what it makes becomes a run again.
//!
//! The formats of a run are looked up once, not for each wave. Many waves go to the filter at once where it can take
//! them so ([`Filter::waves`]), and one by one otherwise.

use std::fmt;
use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use banyan_boot::RankSet;
use banyan_ndr::{Buffer, Format, FormatId};
use banyan_reduce::{Alignment, Bodies, COLLECT, Filter, FilterRole, Filters, Output, Part, PartRun, Recovery};

use crate::format_book::FormatBook;
use crate::ids::WaveNumber;
use crate::message::Opening;
use crate::recycled::Recycled;
use crate::run::Run;
use crate::synchronisation::Synchronisation;
use crate::transformation::{MissingField, Transformation, TransformationError, Transformations};
use crate::yields::Yields;

/// A run ends when its bodies have so many bytes, so that whoever waits for the first waves has them soon.
const RUN_BYTES: usize = 1 << 20;

/// Records that a filter may make of one, on a stream without waves. As many end a run.
const MOST_OF_RECORD: usize = 1 << 12;

/// Formats of which a combiner remembers more than their ids. Children rarely send more than two at a time.
const REMEMBERED: usize = 64;

/// Makes what streams ask for: the filters of a program, with the formats that its links have brought.
///
/// A stream is opened with the name of a filter and, behind a space, its parameters: `reduce max(temp), avg(load)`.
/// Without any text it gets [`COLLECT`]: all records of a wave in one, with who sent each.
///
/// ```
/// use banyan_tree::reduce::{Filters, ReductionLimits};
/// use banyan_tree::{Combiners, FormatBook, Transformations};
///
/// let combiners = Combiners::new(Filters::new(ReductionLimits::default()), FormatBook::new());
/// assert!(combiners.make("reduce sum(value)").is_ok());
/// assert!(combiners.make("").is_ok());
/// let error = combiners.make("reduse sum(value)").err().expect("nobody brought that");
/// assert_eq!(error.to_string(), "there is no filter reduse; this program has collect, partial, reduce");
/// ```
#[derive(Debug)]
pub struct Combiners {
    filters: Filters,
    formats: FormatBook,
    /// Nanoseconds in filters.
    time: Arc<AtomicU64>,
}

impl Combiners {
    /// Makes these filters; formats are looked up, and entered, in this book.
    pub fn new(filters: Filters, formats: FormatBook) -> Combiners {
        Combiners { filters, formats, time: Arc::default() }
    }
}

impl Combiners {
    /// What puts the records of a member into the intervals of a stream; none if the stream has no intervals.
    ///
    /// # Errors
    /// If there is no such filter, or no such field.
    pub fn alignment(&self, opening: &Opening, rank: u32) -> Result<Option<Alignment>, TransformationError> {
        let Synchronisation::Interval(interval) = &opening.options.synchronisation else { return Ok(None) };
        let (_, filter) = self.filter(opening.options.of_intervals())?;
        Alignment::new(interval.clone(), filter, rank).map(Some).map_err(failed)
    }

    /// The filter of a text, and its name.
    fn filter<'t>(&self, text: &'t str) -> Result<(&'t str, Box<dyn Filter>), TransformationError> {
        let text = text.trim();
        let (name, parameters) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let name = if name.is_empty() { COLLECT } else { name };
        let filter = self.filters.make(name, parameters.trim_start().as_bytes()).map_err(failed)?;
        Ok((name, filter))
    }
}

impl Transformations for Combiners {
    fn make(&self, text: &str) -> Result<Box<dyn Transformation>, TransformationError> {
        let (name, filter) = self.filter(text)?;
        let combiner = Combiner::new(name, filter, self.formats.clone());
        Ok(Box::new(Timed { combiner, time: Arc::clone(&self.time) }))
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.time.load(Ordering::Relaxed))
    }
}

/// A combiner whose time is counted.
struct Timed {
    combiner: Combiner,
    time: Arc<AtomicU64>,
}

impl Transformation for Timed {
    fn combine(&mut self, parts: &[Run], place: FilterRole) -> Result<Bodies, TransformationError> {
        let begin = Instant::now();
        let combined = self.combiner.combine(parts, place);
        // Runs of less than centuries.
        self.time.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
        combined
    }

    fn verify(&mut self, part: &Run) -> Result<(), TransformationError> {
        self.combiner.verify(part)
    }

    fn sift(&mut self, run: &Run, place: FilterRole) -> Result<Run, TransformationError> {
        let begin = Instant::now();
        let sifted = self.combiner.sift(run, place);
        self.time.fetch_add(begin.elapsed().as_nanos() as u64, Ordering::Relaxed);
        sifted
    }

    fn missing_fields(&mut self) -> Vec<MissingField> {
        std::mem::take(&mut self.combiner.missing)
    }

    fn recovery(&self) -> Recovery {
        self.combiner.filter.recovery()
    }
}

/// What a filter made of a wave.
type Made = Result<(Format, Buffer), TransformationError>;

/// A format of parts.
struct KnownFormat {
    format: Format,
    /// Whether filters made the parts.
    is_partial: bool,
    /// Fields that the filter wants and does not find there.
    lacks: Vec<Arc<str>>,
    /// Members of whom that was noted.
    noted: RankSet,
}

/// A filter of one stream at one node.
struct Combiner {
    name: String,
    filter: Box<dyn Filter>,
    formats: FormatBook,
    /// Formats of parts, to be had without a lock.
    known: Vec<KnownFormat>,
    /// Fields that members lack, of which the node was not told.
    missing: Vec<MissingField>,
    /// The format of what the filter made last, which is in the book.
    made: Option<FormatId>,
    output: Output,
    /// Memory of large records that the filter has made.
    recycled: Recycled,
    /// A wave that the filter has seen and that could not be part of the run before, with what came of it.
    seen: Option<(WaveNumber, Made)>,
    /// On a stream without waves: a record that the filter has seen and that could not be part of the run before. What came of it
    /// is in the output.
    waiting: Option<(WaveNumber, Result<(), TransformationError>)>,
}

impl Combiner {
    fn combine(&mut self, parts: &[Run], place: FilterRole) -> Result<Bodies, TransformationError> {
        let first = parts.first().map_or(WaveNumber(0), |part| part.first);
        let places = self.find_formats(parts)?;
        // Taken out while the filter, which is a part of this as well, works.
        let known = std::mem::take(&mut self.known);
        let runs: Vec<PartRun<'_>> =
            parts.iter().zip(places).map(|(part, place)| part_run(part, &known[place].format)).collect();
        let seen = self.seen.take().filter(|(wave, _)| *wave == first).map(|(_, made)| made);
        let at_once = if seen.is_none() { self.filter.waves(&runs, place) } else { None };
        let combined = match at_once {
            Some((format, bodies)) => self.enter(&format).map(|()| bodies),
            None => self.one_by_one(&runs, first, place, seen),
        };
        self.known = known;
        combined
    }
}

impl Combiner {
    fn new(name: &str, filter: Box<dyn Filter>, formats: FormatBook) -> Combiner {
        let (known, missing, name) = (Vec::new(), Vec::new(), name.into());
        let (output, recycled) = (Output::new(), Recycled::default());
        Combiner { name, filter, formats, known, missing, made: None, output, recycled, seen: None, waiting: None }
    }

    /// Has the filter look at what a member made itself. Of a format that is not known here nothing is made.
    fn verify(&mut self, part: &Run) -> Result<(), TransformationError> {
        let Some(format) = self.formats.get(part.bodies.format()) else { return Ok(()) };
        let run = part_run(part, &format);
        (0..part.bodies.len()).try_for_each(|at| self.filter.verify(&run.wave(at))).map_err(failed)
    }

    /// What becomes of the first records of a run, on a stream without waves.
    fn sift(&mut self, run: &Run, place: FilterRole) -> Result<Run, TransformationError> {
        self.bound_formats();
        let at = self.find_format(run)?;
        // Taken out while the filter, which is a part of this as well, works.
        let known = std::mem::take(&mut self.known);
        let sifted = self.sift_records(run, &part_run(run, &known[at].format), place);
        self.known = known;
        sifted
    }

    /// One record after the other, as long as they become records of one format.
    fn sift_records(&mut self, run: &Run, parts: &PartRun<'_>, place: FilterRole) -> Result<Run, TransformationError> {
        let (mut bodies, mut sources, mut record): (Option<(FormatId, Joined)>, _, _) = (None, Vec::new(), 0);
        while record < run.len() {
            let made = match self.waiting.take().filter(|(number, _)| *number == run.first.after(record)) {
                Some((_, made)) => made,
                None => self.make_any(parts, run.bodies_of(record), place),
            };
            let is_first = record == 0;
            let made = made.and_then(|()| self.enter_made());
            let format = match made {
                Ok(format) => format,
                Err(error) if is_first => return Err(error),
                Err(error) => {
                    self.waiting = Some((run.first.after(record), Err(error)));
                    break;
                }
            };
            if let Some(format) = format {
                let (known, joined) = bodies.get_or_insert_with(|| (format, Joined::empty(self.recycled.take())));
                if *known != format {
                    self.waiting = Some((run.first.after(record), Ok(())));
                    break;
                }
                self.output.records().iter().for_each(|(_, body)| joined.push(body));
                sources.extend(std::iter::repeat_n(record, self.output.records().len()));
            }
            record += 1;
            let bytes = bodies.as_ref().map_or(0, |(_, joined)| joined.bytes.len());
            if bytes >= RUN_BYTES || sources.len() >= MOST_OF_RECORD {
                break;
            }
        }
        let Some(count) = NonZeroU32::new(record) else { return Err(not_given(&self.name)) };
        let is_one_each = sources.len() == record as usize && sources.iter().zip(0..).all(|(source, at)| *source == at);
        let yields = if is_one_each { None } else { Yields::new(record, sources.into()) };
        let bodies = match bodies {
            Some((format, joined)) => joined.finish(format, &self.recycled)?,
            None => Bodies::absent(count),
        };
        let members = Arc::clone(&run.members);
        Ok(Run { members, is_partial: true, yields, bodies, ..*run })
    }

    /// Has the filter make any number of records of one: of each of its bodies. They are in the output.
    fn make_any(
        &mut self,
        parts: &PartRun<'_>,
        bodies: Range<u32>,
        place: FilterRole,
    ) -> Result<(), TransformationError> {
        self.output.clear();
        bodies
            .into_iter()
            .try_for_each(|at| self.filter.wave(&[parts.wave(at)], place, &mut self.output).map_err(failed))
    }

    /// The format of what the filter made of one record, which is entered into the book; none if it made nothing.
    fn enter_made(&mut self) -> Result<Option<FormatId>, TransformationError> {
        let records = self.output.records();
        let Some((format, _)) = records.first() else { return Ok(None) };
        if records.len() > MOST_OF_RECORD {
            return Err(too_many(&self.name, records.len()));
        }
        if records.iter().any(|(other, _)| other.id() != format.id()) {
            return Err(mixed(&self.name));
        }
        let id = format.id();
        if self.made != Some(id) {
            self.formats.learn(format).map_err(failed)?;
            self.made = Some(id);
        }
        Ok(Some(id))
    }

    /// Where among those that are known the formats of parts are.
    fn find_formats(&mut self, parts: &[Run]) -> Result<Vec<usize>, TransformationError> {
        self.bound_formats();
        parts.iter().map(|part| self.find_format(part)).collect()
    }

    /// Forgets what it knows of formats, if they are many.
    fn bound_formats(&mut self) {
        if self.known.len() > REMEMBERED {
            self.known.clear();
        }
    }

    fn find_format(&mut self, part: &Run) -> Result<usize, TransformationError> {
        let (id, is_partial) = (part.bodies.format(), part.is_partial);
        let is_of_part = |known: &KnownFormat| known.is_partial == is_partial && known.format.id() == id;
        let at = match self.known.iter().position(is_of_part) {
            Some(at) => at,
            None => {
                let format = self.formats.get(id).ok_or_else(|| unknown(part))?;
                let lacks = self.filter.lacks(&format, is_partial).into_iter().map(Arc::from).collect();
                self.known.push(KnownFormat { format, is_partial, lacks, noted: RankSet::new() });
                self.known.len() - 1
            }
        };
        if !self.known[at].lacks.is_empty() {
            self.note_missing(at, &part.members);
        }
        Ok(at)
    }

    /// A part in this format lacks fields. What was made of several members' records says nothing of each.
    #[cold]
    fn note_missing(&mut self, at: usize, members: &RankSet) {
        let KnownFormat { lacks, noted, .. } = &mut self.known[at];
        if let Some(member) = members.only().filter(|member| !noted.contains(*member)) {
            noted.insert(member);
            self.missing.extend(lacks.iter().map(|field| MissingField { field: Arc::clone(field), member }));
        }
    }

    /// One wave after the other, as long as they become records of one format.
    fn one_by_one(
        &mut self,
        parts: &[PartRun<'_>],
        first: WaveNumber,
        place: FilterRole,
        seen: Option<Made>,
    ) -> Result<Bodies, TransformationError> {
        let count = parts.first().map_or(0, |part| part.bodies.len());
        let mut wave: Vec<Part<'_>> = Vec::with_capacity(parts.len());
        let (format, body) = match seen {
            Some(made) => made?,
            None => {
                wave.extend(parts.iter().map(|part| part.wave(0)));
                // The run takes the memory of its first record with it.
                self.output.lend(self.recycled.take());
                self.make(&wave, place)?;
                self.take_made()?
            }
        };
        self.enter(&format)?;
        let mut bodies = Joined::new(body);
        for at in 1..count {
            if bodies.bytes.len() >= RUN_BYTES {
                break;
            }
            wave.clear();
            wave.extend(parts.iter().map(|part| part.wave(at)));
            let made = self.make(&wave, place);
            let [(made_format, body)] = self.output.records() else {
                self.seen = made.err().map(|error| (first.after(at), Err(error)));
                break;
            };
            if made_format.id() != format.id() {
                self.seen = Some((first.after(at), self.take_made()));
                break;
            }
            bodies.push(body);
        }
        bodies.finish(format.id(), &self.recycled)
    }

    /// Has the filter make a record of a wave: it is the only one in the output, or there is none.
    fn make(&mut self, wave: &[Part<'_>], place: FilterRole) -> Result<(), TransformationError> {
        self.output.clear();
        let made = self.filter.wave(wave, place, &mut self.output).map_err(failed);
        let count = self.output.records().len();
        let made = made.and_then(|()| if count == 1 { Ok(()) } else { Err(not_one(&self.name, count)) });
        made.inspect_err(|_| self.output.clear())
    }

    fn take_made(&mut self) -> Made {
        let made = self.output.take().next();
        made.ok_or_else(|| not_one(&self.name, 0))
    }

    /// Enters a format that the filter made into the book.
    fn enter(&mut self, format: &Format) -> Result<(), TransformationError> {
        if self.made != Some(format.id()) {
            self.formats.learn(format).map_err(failed)?;
            self.made = Some(format.id());
        }
        Ok(())
    }
}

/// Bodies of a run that is being made.
struct Joined {
    bytes: Buffer,
    ends: Vec<usize>,
}

impl Joined {
    /// No body yet; they get this memory.
    fn empty(memory: Buffer) -> Joined {
        Joined { bytes: memory, ends: Vec::new() }
    }

    /// The first body; its memory becomes that of all.
    fn new(first: Buffer) -> Joined {
        Joined { ends: vec![first.len()], bytes: first }
    }

    fn push(&mut self, body: &[u8]) {
        self.bytes.extend_from_slice(body);
        self.ends.push(self.bytes.len());
    }

    fn finish(self, format: FormatId, recycled: &Recycled) -> Result<Bodies, TransformationError> {
        let Joined { bytes, ends } = self;
        let too_long = |_| TransformationError(format!("a record of {} bytes is too long for a wave", bytes.len()));
        let end = |end: &usize| u32::try_from(*end).map_err(too_long);
        let size = ends.first().copied().unwrap_or(0);
        let is_uniform = ends.iter().enumerate().all(|(at, end)| *end == (at + 1) * size);
        let bodies = if is_uniform {
            Bodies::of_size(format, end(&size)?, end(&ends.len())?, recycled.share(bytes))
        } else {
            let ends = ends.iter().map(end).collect::<Result<Arc<[u32]>, _>>()?;
            Bodies::by_ends(format, ends, recycled.share(bytes))
        };
        bodies.map_err(failed)
    }
}

fn failed(error: impl fmt::Display) -> TransformationError {
    TransformationError(error.to_string())
}

#[cold]
fn unknown(part: &Run) -> TransformationError {
    let (members, format) = (&part.members, part.bodies.format());
    TransformationError(format!("members {members} send records of format {format}, which nobody has described here"))
}

#[cold]
fn not_one(name: &str, count: usize) -> TransformationError {
    TransformationError(format!(
        "filter {name} made {count} records of a wave; on a stream with waves a filter makes exactly one of each"
    ))
}

#[cold]
fn too_many(name: &str, count: usize) -> TransformationError {
    TransformationError(format!("filter {name} made {count} records of one; it may make {MOST_OF_RECORD}"))
}

#[cold]
fn mixed(name: &str) -> TransformationError {
    TransformationError(format!("filter {name} made records of several formats of one; give them one format"))
}

#[cold]
fn not_given(name: &str) -> TransformationError {
    TransformationError(format!("filter {name} was given no record"))
}

/// A run of waves as filters take it; its format is known.
fn part_run<'a>(run: &'a Run, format: &'a Format) -> PartRun<'a> {
    PartRun { members: &run.members, format, bodies: &run.bodies, is_partial: run.is_partial }
}
