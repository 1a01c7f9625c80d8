//! The picture of exchanges: a bar for each layout and size, its parts in the order of time.

use super::Layout;
use super::rows::{ExchangePart, ExchangeRow, figure, sizes, time};
use crate::bars::{self, Bar, Group, Kind, Panel, svg};

/// The parts, in their order: what is done there in full colours, what is done back in lighter ones.
const KINDS: [Kind; ExchangePart::COUNT - 1] = [
    Kind { name: "encode there", colour: "#d55e00" },
    Kind { name: "network there", colour: "#0072b2" },
    Kind { name: "decode there", colour: "#009e73" },
    Kind { name: "encode back", colour: "#f0975a" },
    Kind { name: "network back", colour: "#56b4e9" },
    Kind { name: "decode back", colour: "#66c9a8" },
];

/// Draws the figures.
pub fn exchange_plot(rows: &[ExchangeRow]) -> String {
    let group = |bytes: usize| {
        let bars = Layout::ALL.into_iter().filter_map(|layout| bar(rows, layout, bytes)).collect();
        Group { name: format!("{bytes} B"), bars }
    };
    let groups = sizes(rows).into_iter().map(group).collect();
    let title = "Microseconds, from encoding a record to having decoded the answer".into();
    svg("The cost of one exchange, part by part", &KINDS, &[Panel { title, groups }])
}

fn bar(rows: &[ExchangeRow], layout: Layout, bytes: usize) -> Option<Bar> {
    let whole = time(rows, layout, ExchangePart::Whole, bytes)?;
    let parts = ExchangePart::ALL.into_iter().take(KINDS.len()).enumerate();
    let parts = parts.filter_map(|(kind, part)| {
        let value = time(rows, layout, part, bytes)?;
        Some(bars::BarPart { kind, value, label: figure(value) })
    });
    Some(Bar { name: layout.title().into(), parts: parts.collect(), end: format!("{} µs", figure(whole)) })
}
