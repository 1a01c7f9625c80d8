//! Edges of the tree with the clocks at their ends, for people and for programs.

use std::fmt::Write as _;

use banyan_tree::{ClockEdge, Estimate, NodeId};
use serde_json::{Value, json};

use crate::hosts::THIS_MACHINE;
use crate::screen::harmless;

const HEAD: [&str; 8] = ["host", "parent", "offset", "drift", "bound", "round trip", "steps", "to this machine"];

/// What is not known yet.
const UNKNOWN: &str = "-";

/// Which columns are of text; the others are of numbers, which end in one column.
const TEXTS: usize = 2;

/// One line for each edge between hosts. A member whose clock is that of its agent has none: nothing could be seen there.
pub(super) fn of(edges: &[ClockEdge]) -> String {
    let shown = edges.iter().filter(|edge| edge.rank.is_none() || !edge.is_same);
    let head = HEAD.map(str::to_owned);
    let rows: Vec<[String; 8]> = std::iter::once(head).chain(shown.map(|edge| row(edge, edges))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = match column < TEXTS {
                true => write!(line, "{cell:<width$}  "),
                false => write!(line, "{cell:>width$}  "),
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn row(edge: &ClockEdge, edges: &[ClockEdge]) -> [String; 8] {
    let host = harmless(edge.host.as_bytes());
    let name = edge.rank.map_or_else(|| host.clone(), |rank| format!("{host}, member {rank}"));
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.into());
    let [offset, drift, bound] = match edge.is_same {
        true => ["same clock".into(), UNKNOWN.into(), UNKNOWN.into()],
        false => [
            or_unknown(edge.offset().map(signed)),
            or_unknown(edge.drift().map(|drift| format!("{:+.2} ppm", drift / 1_000.0))),
            or_unknown(edge.bound().map(unsigned)),
        ],
    };
    let round_trip = edge.round_trip.map(|time| unsigned(time.as_nanos().try_into().unwrap_or(i64::MAX)));
    let front_end = to_front_end(edge).map(|(offset, bound)| format!("{} ± {}", signed(offset), unsigned(bound)));
    let parent = harmless(parent_host(edge, edges).as_bytes());
    [name, parent, offset, drift, bound, or_unknown(round_trip), edge.steps.to_string(), or_unknown(front_end)]
}

/// One object.
pub(super) fn to_json(edge: &ClockEdge, edges: &[ClockEdge]) -> Value {
    let front_end = to_front_end(edge);
    json!({
        "event": "edge",
        "node": edge.node.0,
        "host": edge.host,
        "rank": edge.rank,
        "parent": edge.parent.0,
        "parent_host": parent_host(edge, edges),
        "same_clock": edge.is_same,
        "offset_ns": edge.offset(),
        "drift_ppm": edge.drift().map(|drift| drift / 1_000.0),
        "bound_ns": edge.bound(),
        "round_trip_ns": edge.round_trip.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        "exchanges": edge.exchanges,
        "steps": edge.steps,
        "front_end_offset_ns": front_end.map(|(offset, _)| offset),
        "front_end_bound_ns": front_end.map(|(_, bound)| bound),
    })
}

/// How far the node's clock is ahead of this machine's, and the bound of that.
fn to_front_end(edge: &ClockEdge) -> Option<(i64, i64)> {
    let known: Estimate = edge.front_end?;
    Some((known.offset().saturating_neg(), known.bound()))
}

fn parent_host<'e>(edge: &ClockEdge, edges: &'e [ClockEdge]) -> &'e str {
    let parent = edges.iter().find(|other| other.node == edge.parent);
    let unknown = if edge.parent == NodeId::ROOT { THIS_MACHINE } else { UNKNOWN };
    parent.map_or(unknown, |parent| &parent.host)
}

/// A time in the unit that suits it, with its sign.
fn signed(nanoseconds: i64) -> String {
    let sign = if nanoseconds < 0 { '-' } else { '+' };
    format!("{sign}{}", unsigned(nanoseconds.saturating_abs()))
}

/// A time in the unit that suits it. Seconds have as many digits as there is a point in.
fn unsigned(nanoseconds: i64) -> String {
    match nanoseconds {
        ..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => format!("{:.1} µs", nanoseconds as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.3} ms", nanoseconds as f64 / 1e6),
        _ => format!("{:.6} s", nanoseconds as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_unit_that_suits_them() {
        let shown = [7, -31_250, 4_000_000, -3_600_000_012_000].map(signed);
        assert_eq!(shown, ["+7 ns", "-31.2 µs", "+4.000 ms", "-3600.000012 s"]);
    }
}
