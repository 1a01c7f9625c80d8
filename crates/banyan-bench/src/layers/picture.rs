//! The stacked picture: for each size a bar of the layers on one host and one of those between hosts.
//!
//! A layer that was not slower than the one below has no part in its bar, and the next one begins where the slowest so
//! far ended: parts never overlap, and the end of a bar is the slowest layer in it.

use super::Layer;
use super::rows::{LayerRow, Measure, figure, find, size, sizes};
use crate::bars::{Bar, Group, Kind, Panel, Part, svg};

/// The colour of a layer.
fn colour(layer: Layer) -> &'static str {
    match layer {
        Layer::Copy => "#8a8a8a",
        Layer::Unix => "#0072b2",
        Layer::Link => "#56b4e9",
        Layer::Hop => "#d55e00",
        Layer::Filter => "#e69f00",
        Layer::Typed => "#009e73",
        Layer::Tcp => "#cc79a7",
        Layer::TcpLink => "#b39ddb",
        Layer::TcpEncrypted => "#7b55a8",
    }
}

/// Draws the figures.
pub fn layers_plot(rows: &[LayerRow]) -> String {
    let kinds = Layer::ALL.map(|layer| Kind { name: layer.title(), colour: colour(layer) });
    let panels = Measure::ALL.map(|measure| {
        let title = match measure {
            Measure::Latency => "Latency: microseconds of a round trip",
            Measure::Throughput => "Throughput: microseconds of each message, when they come as fast as they can",
        };
        let groups = sizes(rows).into_iter().map(|bytes| group(rows, measure, bytes)).collect();
        Panel { title: title.into(), groups }
    });
    svg("Where the performance goes: what each layer adds to the one below", &kinds, &panels)
}

fn group(rows: &[LayerRow], measure: Measure, bytes: usize) -> Group {
    let tops = Layer::ALL.into_iter().filter(|layer| layer.is_top());
    Group { name: size(bytes), bars: tops.filter_map(|top| bar(rows, top, measure, bytes)).collect() }
}

fn bar(rows: &[LayerRow], top: Layer, measure: Measure, bytes: usize) -> Option<Bar> {
    let mut parts = Vec::new();
    let mut until = 0.0;
    for layer in top.stack() {
        let reached = find(rows, layer, measure, bytes)?.microseconds();
        let value = reached - until;
        if value > 0.0 {
            let kind = Layer::ALL.iter().position(|known| *known == layer)?;
            parts.push(Part { kind, value, label: figure(value) });
            until = reached;
        }
    }
    let whole = find(rows, top, measure, bytes)?;
    let end = match measure {
        Measure::Latency => format!("{} µs", figure(whole.value)),
        Measure::Throughput => format!("{} µs: {} MB/s", figure(whole.microseconds()), figure(whole.value)),
    };
    let name = if top == Layer::Typed { "through the tree" } else { "between hosts" };
    Some(Bar { name: name.into(), parts, end })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pace::Spread;

    fn row(layer: Layer, microseconds: f64) -> LayerRow {
        let seconds = microseconds * 1e-6;
        LayerRow::new(layer, Measure::Latency, 64, Spread { low: seconds, middle: seconds, high: seconds })
    }

    #[test]
    fn a_layer_that_was_not_slower_has_no_part_and_the_bar_ends_at_the_slowest() {
        let stack = Layer::Typed.stack();
        let rows: Vec<LayerRow> =
            stack.iter().zip([1.0, 10.0, 8.0, 30.0, 31.0, 35.0]).map(|(layer, time)| row(*layer, time)).collect();
        let bar = bar(&rows, Layer::Typed, Measure::Latency, 64).expect("a bar");
        let parts: Vec<(usize, f64)> = bar.parts.iter().map(|part| (part.kind, part.value.round())).collect();
        assert_eq!(parts, [(0, 1.0), (1, 9.0), (3, 20.0), (4, 1.0), (5, 4.0)]);
        assert_eq!(bar.end, "35.0 µs");
    }

    #[test]
    fn no_two_layers_have_one_colour() {
        let mut colours = Layer::ALL.map(colour);
        colours.sort_unstable();
        assert!(colours.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
