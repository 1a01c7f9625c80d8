//! Which part of a query runs where, for people.

use std::fmt::Write;

use crate::query::Query;
use crate::syntax::{Expression, Items, Window};

/// Says which part of a query runs on hosts, in the tree and at the root.
///
/// ```
/// use banyan_query::explain;
///
/// let query = "select max(ms) from solver.step where level > 2 group by host every 1s having max(ms) > 5".parse()?;
/// let text = explain(&query);
/// assert!(text.contains("each host   selects solver.step where level > 2"));
/// assert!(text.contains("the root    withholds rows unless max(ms) > 5"));
/// # Ok::<(), banyan_query::QueryError>(())
/// ```
pub fn explain(query: &Query) -> String {
    let syntax = query.syntax();
    let mut text = String::new();
    let mut line = |place: &str, what: &str| {
        writeln!(text, "{place:<12}{what}").expect("memory takes what is written");
    };
    let sensors = query.sensors().collect::<Vec<_>>().join(", ");
    match &syntax.filter {
        Some(filter) => line("each host", &format!("selects {sensors} where {filter}")),
        None => line("each host", &format!("selects all of {sensors}")),
    }
    if let Some((one_in, _)) = syntax.sample {
        line("", &format!("samples 1 in {one_in} of these"));
    }
    match (query.plan(), query.windows()) {
        (Some(plan), Some(windows)) => {
            let columns: Vec<String> = plan.columns.iter().map(|column| column.expression.to_string()).collect();
            if !syntax.keys.is_empty() {
                line("", &format!("groups by {}", list(&syntax.keys)));
            }
            match columns.is_empty() {
                true => line("", "counts"),
                false => line("", &format!("aggregates {}", columns.join(", "))),
            }
            match windows.pane {
                Some(_) => line("", &format!("sends a partial result {}", every(syntax.window, windows.panes))),
                None => line("", "sends one partial result, at the end"),
            }
            line("each node", &format!("reduces partial results: {}", windows.specification));
            if windows.panes > 1 {
                line("the root", &format!("makes each window of {} intervals", windows.panes));
            }
            if let Some(having) = &syntax.having {
                line("the root", &format!("withholds rows unless {having}"));
            }
        }
        _ => {
            match &syntax.items {
                Items::All => line("", "sends whole events"),
                Items::Columns(_) => line("", "sends the columns of rows"),
            }
            line("each node", "passes rows on");
            line("the root", "orders rows by time");
        }
    }
    match &syntax.items {
        Items::Columns(_) => line("the root", &format!("computes {}", query.columns().join(", "))),
        Items::All => {}
    }
    if let Some(limit) = syntax.limit {
        line("the root", &format!("ends after {limit} rows"));
    }
    text
}

fn list(all: &[Expression]) -> String {
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn every(window: Option<Window>, panes: u64) -> String {
    let Some(window) = window else { return String::new() };
    let width = window.width / i64::try_from(panes).unwrap_or(1);
    format!("every {}", crate::display::Duration(width))
}
