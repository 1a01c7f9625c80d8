//! Windows of time at a host: each with a reduction, and events that wait for it.
//!
//! Events are projected into a batch. When a batch is full its records go into the reduction group by group, which costs much
//! less than one by one: what a reduction computes depends on no order.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use banyan_ndr::{Buffer, Format};
use banyan_ranks::RankSet;
use banyan_reduce::{Part, Reduction, ReductionLimits};

use crate::encoded::{encode, stamped};
use crate::host::{HostLimits, Outcome};
use crate::plan::Form;
use crate::program::Source;
use crate::projection::{Projected, Projection, Written, write};
use crate::query::Windows;
use crate::selector::{Looking, Projecting, SelectedAs};
use crate::syntax::Context;

/// Records of a batch.
const BATCH: usize = 1024;

/// Bytes of a batch that is not full: keys and texts may be long.
const BATCH_BYTES: usize = 256 << 10;

/// Bytes of a key, or of a value in a set.
const MAX_VALUE: usize = 4096;

/// Bytes of keys whose numbers are remembered from one batch to the next.
const KEY_BYTES: usize = 128 << 10;

/// Formats of records that lack some values.
const MAX_PROJECTIONS: usize = 1024;

/// What a host has of one interval.
#[derive(Debug)]
#[non_exhaustive]
pub struct Piece {
    /// Which interval.
    pub interval: i64,
    /// Events that are in it.
    pub events: u64,
    /// The format of a partial result.
    pub format: Format,
    /// The partial result.
    pub body: Buffer,
}

/// The windows of a query at one host.
#[derive(Debug)]
pub(crate) struct OpenWindows {
    windows: Windows,
    members: RankSet,
    limits: ReductionLimits,
    most: usize,
    open: BTreeMap<i64, Open>,
    /// Intervals before this one are closed.
    until: i64,
    /// Reductions whose windows are over: what they have compiled is of use again.
    spare: Vec<Reduction>,
    projections: Projections,
    scratch: Scratch,
}

/// Formats of records that lack values, by selector and mask.
type Projections = HashMap<(u64, u128), Arc<Projection>, foldhash::fast::RandomState>;

/// Memory that is used for one event after the other.
#[derive(Debug, Default)]
struct Scratch {
    key: Vec<u8>,
    bytes: Vec<u8>,
}

/// A window that events still come into.
#[derive(Debug)]
struct Open {
    reduction: Reduction,
    events: u64,
    batch: Batch,
}

/// Projected records that wait.
#[derive(Debug, Default)]
struct Batch {
    bodies: Vec<u8>,
    entries: Vec<Entry>,
    formats: Vec<Format>,
    /// Numbers of keys.
    keys: HashMap<Box<[u8]>, u32, foldhash::fast::RandomState>,
    /// How long these are.
    key_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    format: u32,
    key: u32,
    start: u32,
    end: u32,
}

impl OpenWindows {
    pub(crate) fn new(windows: &Windows, rank: u32, limits: &HostLimits) -> OpenWindows {
        OpenWindows {
            windows: windows.clone(),
            members: RankSet::from_iter([rank]),
            limits: limits.reduction.clone(),
            most: limits.windows.max(1),
            open: BTreeMap::new(),
            until: i64::MIN,
            spare: Vec::new(),
            projections: HashMap::default(),
            scratch: Scratch::default(),
        }
    }

    /// All intervals before this one are over.
    pub(crate) fn until_interval(&self) -> i64 {
        self.until
    }

    /// Takes an event that was selected.
    #[inline]
    pub(crate) fn take(&mut self, looking: &Looking<'_>) -> Outcome {
        let SelectedAs::Projected(projecting) = &looking.selector.output else { return Outcome::Failed };
        let interval = self.windows.interval(looking.event.time);
        if interval < self.until {
            return Outcome::Late;
        }
        let is_full = self.open.len() >= self.most;
        let open = match self.open.get_mut(&interval) {
            Some(open) => open,
            None if is_full => return Outcome::Early,
            None => {
                let reduction = self.spare.pop();
                let new = || Reduction::new(self.windows.specification.clone(), self.limits.clone());
                let reduction = reduction.unwrap_or_else(new);
                self.open.entry(interval).or_insert(Open { reduction, events: 0, batch: Batch::default() })
            }
        };
        if let Err(outcome) = open.batch.project(looking, projecting, &mut self.scratch, &mut self.projections) {
            return outcome;
        }
        open.events += 1;
        if open.batch.entries.len() == BATCH || open.batch.bodies.len() > BATCH_BYTES {
            open.batch.flush(&mut open.reduction, &self.members);
        }
        Outcome::Selected
    }

    /// Closes all windows that are over at a time.
    pub(crate) fn close(&mut self, until: i64) -> Vec<Piece> {
        let until = match until {
            i64::MAX => i64::MAX,
            until => self.windows.first_from(until),
        };
        self.until = self.until.max(until);
        let rest = self.open.split_off(&self.until);
        let over = std::mem::replace(&mut self.open, rest);
        over.into_iter().filter_map(|(interval, open)| self.piece(interval, open)).collect()
    }

    fn piece(&mut self, interval: i64, mut open: Open) -> Option<Piece> {
        open.batch.flush(&mut open.reduction, &self.members);
        let mut body = Buffer::new();
        // None where all events of a window failed.
        let format = open.reduction.partial(&mut body).cloned();
        if self.spare.len() < self.most {
            self.spare.push(open.reduction);
        }
        Some(Piece { interval, events: open.events, format: format?, body })
    }
}

impl Batch {
    /// Appends what is asked of an event; nothing, if something is wrong with it.
    #[inline]
    fn project(
        &mut self,
        looking: &Looking<'_>,
        projecting: &Projecting,
        scratch: &mut Scratch,
        projections: &mut Projections,
    ) -> Result<(), Outcome> {
        let start = self.bodies.len();
        let written = self.write(looking, projecting, scratch, projections);
        if written.is_err() {
            self.bodies.truncate(start);
        }
        let (format, key) = written?;
        self.entries.push(Entry { format, key, start: start as u32, end: self.bodies.len() as u32 });
        Ok(())
    }

    /// Appends a record; the numbers of its format and key.
    #[inline]
    fn write(
        &mut self,
        looking: &Looking<'_>,
        projecting: &Projecting,
        scratch: &mut Scratch,
        projections: &mut Projections,
    ) -> Result<(u32, u32), Outcome> {
        let key = self.key(looking, projecting, scratch)?;
        let (start, columns) = (self.bodies.len(), projecting.columns.len());
        let mask = self.record(looking, projecting, &projecting.whole, None, scratch)?;
        if mask.count_ones() as usize == columns {
            return Ok((self.format(&projecting.whole.format), key));
        }
        // Some values are missing: the record has a format without them.
        self.bodies.truncate(start);
        let projection = lacking(looking.selector.id, projecting, mask, projections).ok_or(Outcome::Failed)?;
        self.record(looking, projecting, &projection, Some(mask), scratch)?;
        Ok((self.format(&projection.format), key))
    }

    /// The key of an event in the scratch, and its number in this batch.
    #[inline]
    fn key(&mut self, looking: &Looking<'_>, projecting: &Projecting, scratch: &mut Scratch) -> Result<u32, Outcome> {
        if projecting.keys.is_empty() {
            return Ok(0);
        }
        scratch.key.clear();
        for key in &projecting.keys {
            encode(key.value(looking)?, &mut scratch.key);
        }
        if scratch.key.len() > MAX_VALUE {
            return Err(Outcome::Failed);
        }
        if let Some(number) = self.keys.get(&scratch.key[..]) {
            return Ok(*number);
        }
        let number = self.keys.len() as u32;
        self.keys.insert(scratch.key.as_slice().into(), number);
        self.key_bytes += scratch.key.len() + size_of::<(Box<[u8]>, u32)>();
        Ok(number)
    }

    /// Appends a record with the values of a mask, or all, and returns which it has. The places of what is missing stay zero.
    #[inline]
    fn record(
        &mut self,
        looking: &Looking<'_>,
        projecting: &Projecting,
        projection: &Projection,
        wanted: Option<u128>,
        scratch: &mut Scratch,
    ) -> Result<u128, Outcome> {
        let start = self.bodies.len();
        self.bodies.resize(start + projection.format.size(), 0);
        if let Some(place) = projection.key {
            write(&mut self.bodies, start, place, crate::projection::Layout::Bytes, Written::Bytes(&scratch.key));
        }
        let mut mask = 0;
        let mut places = projection.places.iter();
        for (number, column) in projecting.columns.iter().enumerate() {
            if wanted.is_some_and(|wanted| wanted >> number & 1 == 0) {
                continue;
            }
            let Some(place) = places.next() else { break };
            let value = column.program.value(looking)?;
            let written = match column.form {
                _ if value.is_missing() => None,
                Form::Number | Form::Float => Written::number(column.layout, value),
                Form::Present => Some(Written::Flag),
                Form::Stamped => stamped(value, looking.event.time).map(Written::Integer),
                Form::Encoded | Form::Ranked => {
                    scratch.bytes.clear();
                    encode(value, &mut scratch.bytes);
                    if column.form == Form::Ranked {
                        encode(looking.context(Context::Rank), &mut scratch.bytes);
                    }
                    (scratch.bytes.len() <= MAX_VALUE).then_some(Written::Bytes(&scratch.bytes))
                }
            };
            let is_there =
                written.is_some_and(|written| write(&mut self.bodies, start, *place, column.layout, written));
            mask |= u128::from(is_there) << number;
        }
        Ok(mask)
    }

    /// The number of a format: nearly always the last one.
    #[inline]
    fn format(&mut self, format: &Format) -> u32 {
        let known = self.formats.iter().rposition(|known| known == format);
        known.unwrap_or_else(|| {
            self.formats.push(format.clone());
            self.formats.len() - 1
        }) as u32
    }

    /// Reduces the records.
    fn flush(&mut self, reduction: &mut Reduction, members: &RankSet) {
        self.entries.sort_unstable_by_key(|entry| (entry.format, entry.key));
        let part = |entry: &Entry| Part {
            members,
            format: &self.formats[entry.format as usize],
            body: &self.bodies[entry.start as usize..entry.end as usize],
            is_partial: false,
        };
        let parts: Vec<Part<'_>> = self.entries.iter().map(part).collect();
        reduction.add_own(&parts).expect("projected records fit their specification");
        self.entries.clear();
        self.bodies.clear();
        self.formats.clear();
        if self.key_bytes > KEY_BYTES {
            self.keys.clear();
            self.key_bytes = 0;
        }
    }
}

/// The format of records that have the values of a mask.
#[inline(never)]
fn lacking(selector: u64, projecting: &Projecting, mask: u128, known: &mut Projections) -> Option<Arc<Projection>> {
    if let Some(projection) = known.get(&(selector, mask)) {
        return Some(Arc::clone(projection));
    }
    let fields = projecting.fields.iter().enumerate().filter(|(number, _)| mask >> number & 1 == 1);
    let fields: Vec<Projected> = fields.map(|(_, field)| *field).collect();
    let projection = Arc::new(Projection::new(!projecting.keys.is_empty(), &fields).ok()?);
    if known.len() >= MAX_PROJECTIONS {
        known.clear();
    }
    known.insert((selector, mask), Arc::clone(&projection));
    Some(projection)
}
