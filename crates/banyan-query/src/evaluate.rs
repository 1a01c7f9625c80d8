//! A query evaluated in one process, by the code that hosts and the root run.

use banyan_ranks::RankSet;

use crate::error::QueryError;
use crate::event::Event;
use crate::host::{HostLimits, HostSide};
use crate::query::Query;
use crate::root::{RootError, RootLimits, RootSide};
use crate::row::Row;
use crate::rows::RowBatch;
use crate::selector::Selector;

/// Why a query could not be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// The query does not fit the events of a sensor.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A result could not be read.
    #[error(transparent)]
    Root(#[from] RootError),
}

/// All rows that a query gives of these events, which come in any order; those of one thread in theirs.
///
/// ```
/// use banyan_ndr::{Record, typed};
/// use banyan_query::{Event, Process, Query, Selector, evaluate};
///
/// #[derive(Record)]
/// struct Step { level: u8, ms: f64 }
///
/// let query: Query = "select count(), max(ms) from step where level > 2 every 1s".parse()?;
/// let selector = Selector::new(&query, "step", Step::format())?;
/// let process = Process { host: "n1", job: None, rank: Some(0), pid: 7 };
/// let bodies: Vec<Vec<u8>> = [(1, 9.0), (3, 2.5), (4, 4.5)].iter().map(|&(level, ms)| {
///     let mut body = Vec::new();
///     typed::encode_body_into(&Step { level, ms }, &mut body).unwrap();
///     body
/// }).collect();
/// let events = bodies.iter().enumerate().map(|(number, body)| {
///     (&selector, Event { process: &process, thread: 1, sequence: number as u64, time: number as i64, body })
/// });
/// let rows = evaluate(&query, events)?;
/// assert_eq!(rows[0].to_json(), r#"{"version":0,"begin":0,"end":1000000000,"row":{"count()":2,"max(ms)":4.5}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If events do not fit in the default limits.
pub fn evaluate<'e>(
    query: &Query,
    events: impl IntoIterator<Item = (&'e Selector, Event<'e>)>,
) -> Result<Vec<Row>, EvaluateError> {
    let limits = HostLimits::default().windows(usize::MAX).row_bytes(usize::MAX);
    let mut host = HostSide::new(query, 0, limits);
    for (selector, event) in events {
        host.event(selector, &event);
    }
    let closed = host.close(i64::MAX);
    let mut root = RootSide::new(query, 0, RootLimits::default().intervals(usize::MAX));
    let members = RankSet::from_iter([0]);
    for piece in closed.pieces {
        root.partial(piece.interval, &members, &piece.format, &piece.body)?;
    }
    root.close(closed.until_interval)?;
    if let Some(batch) = closed.rows {
        root.rows(0, RowBatch::format(), &batch.body)?;
    }
    Ok(std::iter::from_fn(|| root.next_row()).collect())
}
