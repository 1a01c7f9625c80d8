//! Questions about events, as text.
//!
//! A [`Query`] is made from text: `select max(ms) from solver.step where level > 2 group by host every 1s`. A [`Selector`] is a
//! query compiled for the events of a sensor in one format; what is wrong with it points into the text. A [`HostSide`] takes
//! events, throws away what nobody wants and keeps partial results of windows, or rows. A [`RootSide`] makes [`Row`]s of what
//! comes up the tree. In between, nodes reduce partial results by the specification of the query, and need not know of queries.
//! [`evaluate`] does all of that in one process.
//!
//! **What it promises.** The rows depend on the events only: not on how these are spread over hosts, on the shape of the tree,
//! or on who comes first. Sums of floats are exact until they are rounded once. Events are counted, each once
//! ([`HostCounts`]). Records of events are hostile until they are read: none makes a program panic or read outside.
//!
//! It reads no clock, no segment and no link. The way to read it: `token`, `syntax`, `parse` and `display` (text), `query` and
//! `plan` (what it comes to), `resolve`, `compile`, `place`, `scalar` and `program` (expressions), `selector`, `projection`,
//! `host`, `windows` and `rows` (on hosts), `root`, `panes`, `order`, `result` and `row` (at the root).
//! `docs/queries.md` in the repository is the guide.

#![forbid(unsafe_code)]

mod compile;
mod display;
mod encoded;
mod error;
mod evaluate;
mod event;
mod explain;
mod host;
mod order;
mod panes;
mod parse;
mod place;
mod plan;
mod program;
mod projection;
mod query;
mod resolve;
mod result;
mod root;
mod row;
mod rows;
mod scalar;
mod selector;
mod syntax;
mod token;
mod windows;

pub use error::{Problem, QueryError};
pub use evaluate::{EvaluateError, evaluate};
pub use event::{Event, Process};
pub use explain::explain;
pub use host::{Closed, HostCounts, HostLimits, HostSide};
pub use query::{Query, QueryKind, Windows};
pub use root::{RootCounts, RootError, RootLimits, RootSide};
pub use row::Row;
pub use rows::RowBatch;
pub use selector::Selector;
pub use windows::Piece;

/// The guide, whose example must compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/queries.md")]
pub struct Guide;
