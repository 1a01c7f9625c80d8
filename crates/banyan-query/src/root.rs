//! What the root does: results become rows, and rows of events come into one order.

use std::collections::VecDeque;
use std::sync::Arc;

use banyan_ndr::{DecodeError, DynRecord, Format, FormatError, Limits, Value};
use banyan_ranks::RankSet;
use banyan_reduce::{ReduceError, ReductionLimits};

use crate::order::RowOrder;
use crate::panes::Panes;
use crate::place::{BadEvent, Place};
use crate::plan::RowItem;
use crate::program::Source;
use crate::query::Query;
use crate::result;
use crate::row::Row;
use crate::scalar::Scalar;
use crate::syntax::Context;

/// Bounds on what the root keeps for one query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootLimits {
    /// Rows that wait for hosts that are behind. When there are more, the first come out before it is certain that nothing
    /// earlier comes.
    pub rows: usize,
    /// Intervals of which partial results wait.
    pub intervals: usize,
    /// Bounds on the groups and lists of one window: those of the hosts.
    pub reduction: ReductionLimits,
}

banyan_ndr::setters!(RootLimits { rows: usize, intervals: usize, reduction: ReductionLimits });

impl Default for RootLimits {
    fn default() -> Self {
        RootLimits { rows: 1 << 20, intervals: 4096, reduction: ReductionLimits::default() }
    }
}

/// Why what came from the tree could not be taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RootError {
    /// A partial result that is none of this query.
    #[error("a partial result could not be reduced: {0}")]
    Reduce(#[from] ReduceError),
    /// A record that is none of its format.
    #[error("a record from the tree could not be read: {0}")]
    Decode(#[from] DecodeError),
    /// A format that is none.
    #[error("the format of a row could not be read: {0}")]
    Format(#[from] FormatError),
    /// A result or batch that another query made.
    #[error("this is not {wanted} of the query {query}; do all nodes run the same version?")]
    Stranger {
        /// What it should be.
        wanted: &'static str,
        /// The query.
        query: String,
    },
    /// More intervals at once than are kept.
    #[error("partial results of more than {0} intervals wait (RootLimits::intervals); close those that are over")]
    Intervals(usize),
}

/// What came in, and what became of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootCounts {
    /// Events in the results and rows that came.
    pub events: u64,
    /// Rows that came out.
    pub rows: u64,
    /// Rows that `having` left out.
    pub withheld: u64,
    /// Events of groups for which a window had no room.
    pub ungrouped: u64,
    /// Lists of results that were cut.
    pub cut: u64,
    /// Rows that came out before it was certain that nothing earlier comes.
    pub early: u64,
    /// Rows that came when later ones were out.
    pub late: u64,
}

/// The root's side of one version of a query.
///
/// Give it what comes up the tree, and take rows with [`RootSide::next_row`]. For windows that do not slide these may be the
/// results of a stream ([`RootSide::result`]); partial results ([`RootSide::partial`], [`RootSide::close`]) do for all windows.
#[derive(Debug)]
pub struct RootSide {
    query: Query,
    version: u32,
    limits: RootLimits,
    counts: RootCounts,
    ready: VecDeque<Row>,
    /// Of aggregating queries.
    panes: Option<Panes>,
    /// Of queries with rows.
    order: RowOrder,
}

impl RootSide {
    /// The side of the root, for this version of a query.
    pub fn new(query: &Query, version: u32, limits: RootLimits) -> RootSide {
        let panes = query.windows().map(|windows| Panes::new(windows, &limits));
        let order = RowOrder::new(limits.rows);
        let (counts, ready) = (RootCounts::default(), VecDeque::new());
        RootSide { query: query.clone(), version, limits, counts, ready, panes, order }
    }

    /// Takes the result of an interval, as a stream with the filter `reduce SPECIFICATION` gives it. Of windows that slide, partial
    /// results are needed instead.
    ///
    /// # Errors
    /// If it is no result of this query.
    pub fn result(&mut self, interval: i64, format: &Format, body: &[u8]) -> Result<(), RootError> {
        let events = self.rows_of(interval, interval, format, body)?;
        self.counts.events = self.counts.events.saturating_add(events);
        Ok(())
    }

    /// Takes the partial result that these members have made of an interval.
    ///
    /// # Errors
    /// If too many intervals wait. What is wrong with the partial result shows in [`RootSide::close`].
    pub fn partial(&mut self, interval: i64, members: &RankSet, format: &Format, body: &[u8]) -> Result<(), RootError> {
        let most = self.limits.intervals;
        let Some(panes) = &mut self.panes else { return Err(self.stranger("a partial result")) };
        match panes.take(interval, members, format, body, most) {
            true => Ok(()),
            false => Err(RootError::Intervals(most)),
        }
    }

    /// All partial results of intervals before this one are there: makes the rows of windows that are over.
    ///
    /// # Errors
    /// If one of them could not be reduced. Its interval is lost then; call again for the others.
    pub fn close(&mut self, until_interval: i64) -> Result<(), RootError> {
        let Some(panes) = &mut self.panes else { return Ok(()) };
        let windows = panes.close(until_interval)?;
        self.counts.events = panes.events();
        for window in windows {
            self.rows_of(window.first, window.last, &window.format, &window.body)?;
        }
        Ok(())
    }

    /// From now on no row comes out that is later than what this host has closed.
    pub fn join(&mut self, host: u32) {
        self.order.join(host);
    }

    /// No rows come from this host any more.
    pub fn leave(&mut self, host: u32) {
        self.order.leave(host);
    }

    /// Takes rows of a host: the body of a [`RowBatch`](crate::RowBatch).
    ///
    /// # Errors
    /// If it is none.
    pub fn rows(&mut self, host: u32, format: &Format, body: &[u8]) -> Result<(), RootError> {
        if self.panes.is_some() {
            return Err(self.stranger("a batch of rows"));
        }
        let stranger = self.stranger("a batch of rows");
        let taken = self.order.take(host, format, body, self.query.columns().len(), stranger)?;
        self.counts.events = self.counts.events.saturating_add(taken);
        Ok(())
    }

    /// The next row, if it is certain that nothing earlier comes, and if `limit` allows one more.
    pub fn next_row(&mut self) -> Option<Row> {
        if self.is_done() {
            return None;
        }
        let row = match self.ready.pop_front() {
            Some(row) => row,
            None => {
                let (time, values) = self.order.next()?;
                let columns = Arc::clone(self.query.columns());
                Row { version: self.version, begin: Some(time), end: Some(time), columns, values }
            }
        };
        self.counts.rows += 1;
        Some(row)
    }

    /// Whether all rows that `limit` allows have come out.
    pub fn is_done(&self) -> bool {
        self.query.syntax().limit.is_some_and(|limit| self.counts.rows >= limit)
    }

    /// What came in, and what became of it.
    pub fn counts(&self) -> RootCounts {
        let (early, late) = self.order.counts();
        RootCounts { early, late, ..self.counts }
    }

    fn stranger(&self, wanted: &'static str) -> RootError {
        RootError::Stranger { wanted, query: self.query.to_string() }
    }

    /// Makes the rows of the result of these intervals, and returns how many events they have.
    fn rows_of(&mut self, first: i64, last: i64, format: &Format, body: &[u8]) -> Result<u64, RootError> {
        let (Some(plan), Some(windows)) = (self.query.plan(), self.query.windows()) else {
            return Err(self.stranger("a result"));
        };
        let begin = windows.pane.map(|pane| first.saturating_mul(pane));
        let end = windows.pane.map(|pane| last.saturating_add(1).saturating_mul(pane));
        let record = DynRecord::from_body(format, body, &Limits::default())?;
        let keys = self.query.syntax().keys.len();
        let result = result::read(plan, keys, &record.root).ok_or_else(|| self.stranger("a result"))?;
        self.counts.ungrouped = self.counts.ungrouped.saturating_add(result.ungrouped);
        self.counts.cut = self.counts.cut.saturating_add(result.cut);
        for group in &result.groups {
            let scalars: Vec<Scalar<'_>> = group.iter().map(Scalar::of).collect();
            let inputs = Inputs(&scalars);
            if plan.having.as_ref().is_some_and(|having| having.holds(&inputs) != Ok(true)) {
                self.counts.withheld += 1;
                continue;
            }
            let values = plan.items.iter().map(|item| match item {
                RowItem::Output(number) => group[keys + number].clone(),
                RowItem::Program(program) => program.value(&inputs).map_or(Value::Null, Scalar::to_value),
            });
            let (columns, values) = (Arc::clone(self.query.columns()), values.collect());
            self.ready.push_back(Row { version: self.version, begin, end, columns, values });
        }
        Ok(result.events.saturating_add(result.ungrouped))
    }
}

/// Keys and aggregates, as programs see them.
struct Inputs<'a>(&'a [Scalar<'a>]);

impl<'a> Source<'a> for Inputs<'a> {
    fn place(&self, _: &Place) -> Result<Scalar<'a>, BadEvent> {
        Err(BadEvent)
    }

    fn integer(&self, _: &Place) -> i128 {
        0
    }

    fn context(&self, _: Context) -> Scalar<'a> {
        Scalar::Missing
    }

    fn path(&self, _: u16) -> Result<Scalar<'a>, BadEvent> {
        Err(BadEvent)
    }

    fn input(&self, number: u16) -> Scalar<'a> {
        self.0.get(usize::from(number)).copied().unwrap_or(Scalar::Missing)
    }
}
