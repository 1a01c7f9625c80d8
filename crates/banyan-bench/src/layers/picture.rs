//! The stacked picture: for each size a bar of the layers of a tree on one host, and one of those of a tree over TCP.
//!
//! A bar is as long as its top layer takes; a layer that was not slower than those below has no part in it.

use super::Layer;
use super::rows::{LayerRow, Measure, figure, find, shares, size, sizes};
use crate::bars::{Bar, BarPart, Group, Kind, Panel, svg};

/// The colour of a layer.
fn colour(layer: Layer) -> &'static str {
    match layer {
        Layer::Copy => "#8a8a8a",
        Layer::Unix => "#0072b2",
        Layer::Tcp => "#cc79a7",
        Layer::Link | Layer::TcpLink => "#56b4e9",
        Layer::TcpEncrypted => "#7b55a8",
        Layer::Hop | Layer::TcpHop => "#d55e00",
        Layer::Filter | Layer::TcpFilter => "#e69f00",
        Layer::Typed | Layer::TcpTyped => "#009e73",
    }
}

/// Draws the figures.
pub fn layers_plot(rows: &[LayerRow]) -> String {
    // That of TCP has all kinds of layers.
    let kinds: Vec<Kind> =
        Layer::TcpTyped.stack().into_iter().map(|layer| Kind { name: layer.title(), colour: colour(layer) }).collect();
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
        let kind = Layer::TcpTyped.stack().iter().position(|known| known.title() == layer.title())?;
        Some(BarPart { kind, value, label: figure(value) })
    });
    let parts = parts.collect();
    let whole = find(rows, top, measure, bytes)?;
    let end = match measure {
        Measure::Latency => format!("{} µs", figure(whole.value)),
        Measure::Throughput => format!("{} µs: {} MB/s", figure(whole.microseconds()), figure(whole.value)),
    };
    let name = if top == Layer::Typed { "tree on one host" } else { "tree over TCP" };
    Some(Bar { name: name.into(), parts, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_have_one_colour_if_they_have_one_title() {
        for one in Layer::ALL {
            for other in Layer::ALL {
                assert_eq!(colour(one) == colour(other), one.title() == other.title(), "{one}, {other}");
            }
        }
    }
}
