//! A query: its text, checked as far as that goes without the events.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use banyan_reduce::Specification;

use crate::error::{Fault, Problem, QueryError};
use crate::parse::parse;
use crate::plan::Plan;
use crate::syntax::{Expression, Items, Node, Syntax};

/// Panes of a sliding window: each is kept until all windows with it are over.
const MAX_PANES: i64 = 1000;

/// A question about events.
///
/// Made from text. Whether its fields are there shows when events come: [`Selector::new`](crate::Selector::new). Two queries
/// are equal if they ask the same; white space and the case of keywords do not matter. [`Display`](fmt::Display) writes the one
/// text that all equal queries have.
///
/// ```
/// use banyan_query::Query;
///
/// let query: Query = "SELECT max(ms), p99(ms) FROM solver.step WHERE level > 2 GROUP BY host EVERY 1s".parse()?;
/// assert_eq!(query.to_string(), "select max(ms), p99(ms) from solver.step where level > 2 group by host every 1s");
/// assert_eq!(query.sensors().collect::<Vec<_>>(), ["solver.step"]);
///
/// let error = "select max(ms) form solver.step".parse::<Query>().unwrap_err();
/// assert_eq!(error.range(), 15..19);
/// # Ok::<(), banyan_query::QueryError>(())
/// ```
#[derive(Clone)]
pub struct Query(Arc<Inner>);

struct Inner {
    text: Arc<str>,
    syntax: Syntax,
    kind: QueryKind,
    plan: Option<Plan>,
    columns: Arc<[String]>,
}

/// The two kinds of queries.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum QueryKind {
    /// Aggregates over windows of time: hosts and nodes reduce.
    Windows(Windows),
    /// Single events: hosts filter, and the root puts them in order.
    Rows,
}

/// How an aggregating query divides time, and how it is reduced.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Windows {
    /// Nanoseconds of a pane, the unit in which hosts send: interval k has the events from `k * pane` until `(k + 1) * pane`.
    /// None where one window has all events; its interval is 0.
    pub pane: Option<i64>,
    /// Panes of a window: one, unless windows slide.
    pub panes: u64,
    /// What nodes of the tree reduce the partial results of hosts by.
    pub specification: Specification,
}

impl Windows {
    /// The interval that a time lies in.
    pub fn interval(&self, time: i64) -> i64 {
        self.pane.map_or(0, |pane| time.div_euclid(pane))
    }

    /// The first interval that may have events from a time on.
    pub fn first_from(&self, time: i64) -> i64 {
        match self.pane {
            Some(_) => self.interval(time),
            None if time == i64::MAX => 1,
            None => 0,
        }
    }
}

impl Query {
    /// The text that it was made from.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The sensors whose events it is about.
    pub fn sensors(&self) -> impl Iterator<Item = &str> {
        self.0.syntax.sensors.iter().map(|sensor| &*sensor.name)
    }

    /// Which kind of query it is.
    pub fn kind(&self) -> &QueryKind {
        &self.0.kind
    }

    /// The names of the columns of its rows.
    pub fn columns(&self) -> &Arc<[String]> {
        &self.0.columns
    }

    pub(crate) fn syntax(&self) -> &Syntax {
        &self.0.syntax
    }

    pub(crate) fn plan(&self) -> Option<&Plan> {
        self.0.plan.as_ref()
    }

    pub(crate) fn windows(&self) -> Option<&Windows> {
        match &self.0.kind {
            QueryKind::Windows(windows) => Some(windows),
            QueryKind::Rows => None,
        }
    }

    pub(crate) fn error(&self, fault: Fault) -> QueryError {
        QueryError::new(&self.0.text, fault)
    }
}

/// Columns of `select *`.
pub(crate) const WHOLE_EVENTS: [&str; 8] = ["time", "host", "rank", "pid", "thread", "sequence", "sensor", "event"];

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Query, QueryError> {
        let text: Arc<str> = text.into();
        let syntax = parse(&text)?;
        let error = |fault| QueryError::new(&text, fault);
        check(&syntax).map_err(error)?;
        let is_aggregating = !syntax.keys.is_empty()
            || match &syntax.items {
                Items::All => false,
                Items::Columns(items) => items.iter().any(|item| item.expression.is_aggregate()),
            };
        let (kind, plan) = match is_aggregating {
            true => {
                let plan = Plan::new(&syntax).map_err(error)?;
                let windows = windows(&syntax, &plan).map_err(error)?;
                crate::projection::try_out(&plan, !syntax.keys.is_empty())
                    .map_err(|reason| error(Fault::new(whole(&syntax), Problem::Format(reason))))?;
                (QueryKind::Windows(windows), Some(plan))
            }
            false => {
                check_rows(&syntax).map_err(error)?;
                (QueryKind::Rows, None)
            }
        };
        let columns = columns(&syntax).map_err(error)?;
        Ok(Query(Arc::new(Inner { text, syntax, kind, plan, columns })))
    }
}

fn whole(syntax: &Syntax) -> crate::error::Span {
    match &syntax.items {
        Items::Columns(items) if !items.is_empty() => {
            items[0].expression.span.to(items[items.len() - 1].expression.span)
        }
        _ => crate::error::Span::default(),
    }
}

/// What every query has to keep to.
fn check(syntax: &Syntax) -> Result<(), Fault> {
    if let Some(filter) = &syntax.filter {
        without_aggregates(filter, "where")?;
    }
    syntax.keys.iter().try_for_each(|key| without_aggregates(key, "group by"))?;
    let mut all: Vec<&Expression> = syntax.filter.iter().chain(&syntax.keys).chain(&syntax.having).collect();
    if let Items::Columns(items) = &syntax.items {
        all.extend(items.iter().map(|item| &item.expression));
    }
    all.into_iter().try_for_each(looks_back_once)?;
    match (&syntax.items, syntax.keys.first()) {
        (Items::All, Some(key)) => {
            let (clause, needed) = ("group by", "aggregates");
            Err(Fault::new(key.span, Problem::Clause { clause, needed, remedy: "write for example: select count()" }))
        }
        _ => Ok(()),
    }
}

fn without_aggregates(expression: &Expression, place: &'static str) -> Result<(), Fault> {
    let mut found = None;
    expression.walk(&mut |part| {
        if let Node::Aggregate(_) = part.node {
            found = found.or(Some(part));
        }
    });
    match found {
        Some(part) => Err(Fault::new(part.span, Problem::Misplaced { name: part.to_string(), place })),
        None => Ok(()),
    }
}

/// What looks back at the event before takes what that event has.
fn looks_back_once(expression: &Expression) -> Result<(), Fault> {
    let mut wrong = None;
    expression.walk(&mut |part| {
        if let Node::Call(function, of) = &part.node
            && function.looks_back()
        {
            of.walk(&mut |inner| match &inner.node {
                Node::Call(within, _) if within.looks_back() => wrong = Some((inner.span, *function)),
                Node::Aggregate(_) => wrong = Some((inner.span, *function)),
                _ => {}
            });
        }
    });
    match wrong {
        Some((span, function)) => {
            let reason = "takes a value of one event".into();
            let example = format!("{}(bytes)", function.word());
            Err(Fault::new(span, Problem::Arguments { function: function.word().into(), reason, example }))
        }
        None => Ok(()),
    }
}

fn check_rows(syntax: &Syntax) -> Result<(), Fault> {
    let remedy = "write aggregates, as in max(ms), or leave it out";
    if let Some(window) = &syntax.window {
        return Err(Fault::new(window.span, Problem::Clause { clause: "every", needed: "aggregates", remedy }));
    }
    match &syntax.having {
        Some(having) => {
            let remedy = "put conditions on single events behind where";
            Err(Fault::new(having.span, Problem::Clause { clause: "having", needed: "aggregates", remedy }))
        }
        None => Ok(()),
    }
}

fn windows(syntax: &Syntax, plan: &Plan) -> Result<Windows, Fault> {
    let specification = plan.specification.clone();
    let Some(window) = &syntax.window else { return Ok(Windows { pane: None, panes: 1, specification }) };
    let Some(slide) = window.slide else {
        return Ok(Windows { pane: Some(window.width), panes: 1, specification });
    };
    if window.width % slide != 0 {
        let (clause, needed) = ("sliding", "a part of the width");
        let remedy = "write for example: every 5s sliding 1s";
        return Err(Fault::new(window.span, Problem::Clause { clause, needed, remedy }));
    }
    let panes = window.width / slide;
    if panes > MAX_PANES {
        let (found, limit) = (usize::try_from(panes).unwrap_or(usize::MAX), MAX_PANES as usize);
        return Err(Fault::new(window.span, Problem::TooMany { what: "parts of a sliding window", found, limit }));
    }
    Ok(Windows { pane: Some(slide), panes: panes as u64, specification })
}

fn columns(syntax: &Syntax) -> Result<Arc<[String]>, Fault> {
    let Items::Columns(items) = &syntax.items else { return Ok(WHOLE_EVENTS.map(str::to_owned).into()) };
    let mut seen = std::collections::BTreeSet::new();
    for item in items {
        if !seen.insert(item.column()) {
            return Err(Fault::new(item.expression.span, Problem::Twice(item.column())));
        }
    }
    Ok(items.iter().map(|item| item.column()).collect())
}

impl PartialEq for Query {
    fn eq(&self, other: &Query) -> bool {
        self.0.syntax == other.0.syntax
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.syntax)
    }
}

impl fmt::Debug for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Query({self})")
    }
}
