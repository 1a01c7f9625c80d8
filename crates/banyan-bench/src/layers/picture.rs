//! The stacked picture: for each size a bar of the layers of a tree on one host, and one of those of a link over TCP.
//!
//! A bar is as long as its top layer takes; a layer that was not slower than those below has no part in it.

use super::Layer;
use super::rows::{LayerRow, Measure, figure, find, shares, size, sizes};
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
    let parts = shares(rows, top, measure, bytes)?.into_iter().filter_map(|(layer, value)| {
        let kind = Layer::ALL.iter().position(|known| *known == layer)?;
        Some(Part { kind, value, label: figure(value) })
    });
    let parts = parts.collect();
    let whole = find(rows, top, measure, bytes)?;
    let end = match measure {
        Measure::Latency => format!("{} µs", figure(whole.value)),
        Measure::Throughput => format!("{} µs: {} MB/s", figure(whole.microseconds()), figure(whole.value)),
    };
    let name = if top == Layer::Typed { "through the tree" } else { "link over TCP" };
    Some(Bar { name: name.into(), parts, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_layers_have_one_colour() {
        let mut colours = Layer::ALL.map(colour);
        colours.sort_unstable();
        assert!(colours.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
