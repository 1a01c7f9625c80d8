//! What a host does with events: it selects, and keeps of them what has to travel.

use std::collections::HashMap;

use banyan_ndr::Buffer;

use crate::event::Event;
use crate::place::BadEvent;
use crate::query::Query;
use crate::rows::{RowBatch, RowWriter};
use crate::scalar::{self, Scalar};
use crate::selector::{Compiled, Looking, Selector};
use crate::syntax::{Arithmetic, Function};
use crate::windows::{OpenWindows, Piece};

/// Bounds on what a host keeps for one query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostLimits {
    /// Windows that are open at once. Events that lie in one more are not taken, and counted as `early`.
    pub windows: usize,
    /// Bytes of rows that wait to be fetched. Events that do not fit are not taken, and counted as `overflowed`.
    pub row_bytes: usize,
    /// Threads whose last values are remembered for `delta` and `rate`. In others these are missing.
    pub threads: usize,
    /// Bounds on the groups and lists of one window.
    pub reduction: banyan_reduce::ReductionLimits,
}

banyan_ndr::setters!(HostLimits {
    windows: usize,
    row_bytes: usize,
    threads: usize,
    reduction: banyan_reduce::ReductionLimits,
});

impl Default for HostLimits {
    fn default() -> Self {
        let reduction = banyan_reduce::ReductionLimits::default();
        HostLimits { windows: 64, row_bytes: 16 << 20, threads: 1 << 16, reduction }
    }
}

/// What became of the events that a host was given: each is counted once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostCounts {
    /// In a piece or a row.
    pub selected: u64,
    /// Left out by `where` or `sample`.
    pub filtered: u64,
    /// Of a window that was closed.
    pub late: u64,
    /// Of a window that could not be opened: [`HostLimits::windows`].
    pub early: u64,
    /// Without room for their rows: [`HostLimits::row_bytes`].
    pub overflowed: u64,
    /// With a record that is none of its format, or a key of more than 4096 bytes.
    pub failed: u64,
}

impl HostCounts {
    /// All events.
    pub fn total(&self) -> u64 {
        let HostCounts { selected, filtered, late, early, overflowed, failed } = *self;
        selected + filtered + late + early + overflowed + failed
    }
}

/// What a host hands on when time has come so far.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Closed {
    /// Partial results of windows that are over, in order. Those without events are left out.
    pub pieces: Vec<Piece>,
    /// All intervals before this one are over; of aggregating queries.
    pub until_interval: i64,
    /// Rows in order, if the query has rows; also if there are none, since it says how far the host is.
    pub rows: Option<RowBatch>,
}

/// The host's side of one version of a query.
///
/// Give it events of any sensor of the query, with the selector of the sensor and format, and close it again and again: then
/// it hands out what has to travel. It reads no clock; `close` says how far time has come.
#[derive(Debug)]
pub struct HostSide {
    limits: HostLimits,
    counts: HostCounts,
    kind: Kind,
    last: LastValues,
    /// What the values of one event have grown by.
    grown: Vec<Scalar<'static>>,
    /// Memory for records of other machines.
    converted: Buffer,
}

#[derive(Debug)]
enum Kind {
    Windows(Box<OpenWindows>),
    Rows(RowWriter),
}

/// Of each thread and selector the last event's values and time.
type LastValues = HashMap<(u64, u32, u64), (Vec<Scalar<'static>>, i64), foldhash::fast::RandomState>;

/// What becomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Selected,
    Filtered,
    Late,
    Early,
    Overflowed,
    Failed,
}

impl From<BadEvent> for Outcome {
    fn from(_: BadEvent) -> Outcome {
        Outcome::Failed
    }
}

impl HostSide {
    /// The side of the host that has this rank in the tree.
    pub fn new(query: &Query, rank: u32, limits: HostLimits) -> HostSide {
        let kind = match query.windows() {
            Some(windows) => Kind::Windows(OpenWindows::new(windows, rank, &limits).into()),
            None => Kind::Rows(RowWriter::new(limits.row_bytes)),
        };
        let (counts, last, converted) = (HostCounts::default(), LastValues::default(), Buffer::new());
        HostSide { limits, counts, kind, last, grown: Vec::new(), converted }
    }

    /// Takes an event. Events of one thread come in their order; otherwise any order will do.
    #[inline]
    pub fn event(&mut self, selector: &Selector, event: &Event<'_>) {
        let compiled = selector.compiled();
        let outcome = match compiled.conversion.is_none() && compiled.backs.is_empty() {
            true => self.kind.take(compiled, event, event.body, &[]),
            false => self.prepare(compiled, event),
        };
        let counter = match outcome {
            Outcome::Selected => &mut self.counts.selected,
            Outcome::Filtered => &mut self.counts.filtered,
            Outcome::Late => &mut self.counts.late,
            Outcome::Early => &mut self.counts.early,
            Outcome::Overflowed => &mut self.counts.overflowed,
            Outcome::Failed => &mut self.counts.failed,
        };
        *counter += 1;
    }

    /// Takes an event that has to be converted, or of which something is remembered.
    #[inline(never)]
    fn prepare(&mut self, selector: &Compiled, event: &Event<'_>) -> Outcome {
        let body = match &selector.conversion {
            None => event.body,
            Some(plan) => match plan.convert(event.body, &mut self.converted) {
                Ok(_) => &self.converted[..],
                Err(_) => return Outcome::Failed,
            },
        };
        if !selector.format.fits(body.len()) {
            return Outcome::Failed;
        }
        let most = self.limits.threads;
        match grow(&mut self.last, most, selector, event, body, &mut self.grown) {
            Ok(()) => self.kind.take(selector, event, body, &self.grown),
            Err(bad) => bad.into(),
        }
    }

    /// Time has come so far: no event before `until` comes any more, or it is late. Hands out all windows that are over, and all
    /// rows before that time; with `i64::MAX`, all.
    pub fn close(&mut self, until: i64) -> Closed {
        match &mut self.kind {
            Kind::Windows(windows) => {
                let pieces = windows.close(until);
                Closed { pieces, until_interval: windows.until_interval(), rows: None }
            }
            Kind::Rows(rows) => Closed { pieces: Vec::new(), until_interval: 0, rows: Some(rows.close(until)) },
        }
    }

    /// A process has ended: another one may have its number from now on.
    pub fn forget(&mut self, pid: u32) {
        self.last.retain(|(_, of, _), _| *of != pid);
    }

    /// What became of the events so far.
    pub fn counts(&self) -> HostCounts {
        self.counts
    }
}

impl Kind {
    /// Decides about an event.
    #[inline]
    fn take(&mut self, selector: &Compiled, event: &Event<'_>, body: &[u8], grown: &[Scalar<'_>]) -> Outcome {
        if !selector.format.fits(body.len()) {
            return Outcome::Failed;
        }
        let looking = Looking { selector, event, body, grown };
        if let Some(filter) = &selector.filter {
            match filter.holds(&looking) {
                Ok(true) => {}
                Ok(false) => return Outcome::Filtered,
                Err(bad) => return bad.into(),
            }
        }
        if selector.sample.is_some_and(|one_in| !is_sampled(event, one_in)) {
            return Outcome::Filtered;
        }
        match self {
            Kind::Windows(windows) => windows.take(&looking),
            Kind::Rows(rows) => rows.take(&looking),
        }
    }
}

/// Whether an event is one of so many. That depends on the event alone: not on what came before it, nor on who looks.
fn is_sampled(event: &Event<'_>, one_in: u64) -> bool {
    let mut mixed = 0_u64;
    let mut mix = |number: u64| {
        // The finaliser of SplitMix64: every bit of the input changes half of the bits.
        let mut bits = (mixed ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed = bits ^ bits >> 31;
    };
    event.process.host.bytes().for_each(|byte| mix(byte.into()));
    [event.process.pid.into(), event.thread, event.sequence].into_iter().for_each(&mut mix);
    mixed.is_multiple_of(one_in)
}

/// Writes what the values of an event have grown by since the event before, and remembers them.
fn grow(
    last: &mut LastValues,
    most: usize,
    selector: &Compiled,
    event: &Event<'_>,
    body: &[u8],
    grown: &mut Vec<Scalar<'static>>,
) -> Result<(), BadEvent> {
    let looking = Looking { selector, event, body, grown: &[] };
    grown.clear();
    for back in &selector.backs {
        grown.push(back.program.value(&looking)?.to_number());
    }
    let key = (selector.id, event.process.pid, event.thread);
    match last.get_mut(&key) {
        Some((values, time)) => {
            for ((now, before), back) in grown.iter_mut().zip(values).zip(&selector.backs) {
                let before = std::mem::replace(before, *now);
                *now = back.function.grown(before, *now, *time, event.time);
            }
            *time = event.time;
        }
        None => {
            if last.len() < most {
                last.insert(key, (grown.clone(), event.time));
            }
            grown.fill(Scalar::Missing);
        }
    }
    Ok(())
}

impl Function {
    /// What `delta` and `rate` make of two values.
    fn grown(self, before: Scalar<'_>, now: Scalar<'_>, then: i64, time: i64) -> Scalar<'static> {
        let delta = scalar::compute(Arithmetic::Subtract, now, before);
        match self {
            Function::Rate if time > then => {
                let seconds = (i128::from(time) - i128::from(then)) as f64 / 1e9;
                scalar::compute(Arithmetic::Divide, delta, Scalar::Float(seconds))
            }
            Function::Rate => Scalar::Missing,
            _ => delta,
        }
    }
}
