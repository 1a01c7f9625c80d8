//! The figures of layers: rows for programs, tables for people, and in words which layer takes most.

use serde::Serialize;

use super::Layer;
use crate::Environment;
use crate::pace::Spread;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// A message there and one back.
    Latency,
    /// Messages in one direction, as fast as they come.
    Throughput,
}

impl Measure {
    /// Both.
    pub const ALL: [Measure; 2] = [Measure::Latency, Measure::Throughput];

    /// The name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Latency => "latency",
            Measure::Throughput => "throughput",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Measure::Latency => "µs",
            Measure::Throughput => "MB/s",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Measure::Latency => "latency: µs of a round trip, and how many each layer adds",
            Measure::Throughput => "throughput: MB/s in one direction, and µs that each layer adds to a message",
        }
    }
}

/// One figure: the middle of some repetitions.
#[derive(Debug, Clone, Serialize, PartialEq)]
#[non_exhaustive]
pub struct LayerRow {
    /// The layer, by its name.
    pub layer: &'static str,
    /// `latency` or `throughput`.
    pub measure: &'static str,
    /// Bytes of a message.
    pub bytes: usize,
    /// The figure.
    pub value: f64,
    /// What it counts: microseconds of a round trip, or megabytes a second.
    pub unit: &'static str,
    /// A quarter of the repetitions gave less,
    pub low: f64,
    /// and a quarter more.
    pub high: f64,
    /// The layer that it stands on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over: Option<&'static str>,
    /// Microseconds that it adds to those of that layer: to a round trip, or to a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adds_us: Option<f64>,
    /// Whether the repetitions differ by more than that.
    pub within_noise: bool,
}

impl LayerRow {
    /// The figure of a layer, of the seconds that a round trip or a message took.
    pub(super) fn new(layer: Layer, measure: Measure, bytes: usize, seconds: Spread) -> LayerRow {
        let [low, value, high] = match measure {
            Measure::Latency => [seconds.low, seconds.middle, seconds.high].map(|seconds| seconds * 1e6),
            Measure::Throughput => {
                [seconds.high, seconds.middle, seconds.low].map(|seconds| bytes as f64 / 1e6 / seconds.max(1e-12))
            }
        };
        LayerRow {
            layer: layer.name(),
            measure: measure.name(),
            bytes,
            value,
            unit: measure.unit(),
            low,
            high,
            over: layer.below().map(Layer::name),
            adds_us: None,
            within_noise: false,
        }
    }

    /// Microseconds of a round trip, or of each message.
    pub(super) fn microseconds(&self) -> f64 {
        self.time_of(self.value)
    }

    fn time_of(&self, value: f64) -> f64 {
        // A megabyte a second is a byte a microsecond.
        if self.measure == Measure::Latency.name() { value } else { self.bytes as f64 / value }
    }

    /// Microseconds between the repetitions that say little and those that say much.
    fn spread(&self) -> f64 {
        (self.time_of(self.high) - self.time_of(self.low)).abs()
    }
}

/// The row of a layer.
pub(super) fn find(rows: &[LayerRow], layer: Layer, measure: Measure, bytes: usize) -> Option<&LayerRow> {
    rows.iter().find(|row| (row.layer, row.measure, row.bytes) == (layer.name(), measure.name(), bytes))
}

/// Notes in every row what its layer adds to the one below.
pub(super) fn compare(rows: &mut [LayerRow]) {
    let all = rows.to_vec();
    for row in rows.iter_mut() {
        let below = all
            .iter()
            .find(|below| (Some(below.layer), below.measure, below.bytes) == (row.over, row.measure, row.bytes));
        if let Some(below) = below {
            let adds = row.microseconds() - below.microseconds();
            row.adds_us = Some(adds);
            row.within_noise = adds.abs() <= (row.spread() + below.spread()) / 2.0;
        }
    }
}

/// All figures as one JSON object.
pub fn layers_json(rows: &[LayerRow], environment: &Environment) -> String {
    serde_json::json!({ "bench": "layers", "environment": environment, "rows": rows }).to_string()
}

/// The sizes in rows, each once, in their order.
pub(super) fn sizes(rows: &[LayerRow]) -> Vec<usize> {
    let mut sizes: Vec<usize> = rows.iter().map(|row| row.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// A size as people write it.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{} MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{} KiB", bytes >> 10),
        bytes => format!("{bytes} B"),
    }
}

/// Columns of the layer, of a figure and of what is added; five sizes fit 110 columns.
const LABEL: usize = 15;
const VALUE: usize = 9;
const ADDED: usize = 10;

/// A table for each measure: a line for each layer, with its figure at each size and what it adds to the layer below.
/// `~` marks what is no more than noise.
pub fn layers_table(rows: &[LayerRow]) -> String {
    let sizes = sizes(rows);
    let mut out = String::new();
    for measure in Measure::ALL {
        out += &format!("{}\n{:<LABEL$}", measure.title(), "");
        sizes.iter().for_each(|bytes| out += &format!("{:>VALUE$}{:ADDED$}", size(*bytes), ""));
        end_line(&mut out);
        for layer in Layer::ALL {
            // Where the second stack begins.
            if layer == Layer::Tcp {
                out += "over TCP, as between hosts; TCP beside the Unix socket:\n";
            }
            out += &format!("{:<LABEL$}", format!("  {}", layer.title()));
            for bytes in &sizes {
                if let Some(row) = find(rows, layer, measure, *bytes) {
                    out += &format!("{:>VALUE$}{:>ADDED$}", figure(row.value), added(row));
                }
            }
            end_line(&mut out);
        }
        out += "\n";
    }
    out
}

fn end_line(out: &mut String) {
    out.truncate(out.trim_end().len());
    out.push('\n');
}

fn added(row: &LayerRow) -> String {
    let mark = if row.within_noise { "~" } else { " " };
    row.adds_us.map_or_else(String::new, |adds| {
        let sign = if adds < 0.0 { '-' } else { '+' };
        format!("{sign}{}{mark}", figure(adds.abs()))
    })
}

/// A figure with three digits that mean something.
pub(super) fn figure(value: f64) -> String {
    let decimals = match value {
        value if value < 0.9995 => 3,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// How the time of a stack is shared between its layers, from the bottom, in microseconds. No layer can take longer than
/// one that stands on it: what was measured longer was disturbed, and is cut. So the sum is the time of the top.
pub(super) fn shares(rows: &[LayerRow], top: Layer, measure: Measure, bytes: usize) -> Option<Vec<(Layer, f64)>> {
    let stack = top.stack();
    let mut times = Vec::with_capacity(stack.len());
    for layer in &stack {
        times.push(find(rows, *layer, measure, bytes)?.microseconds());
    }
    for at in (1..times.len()).rev() {
        times[at - 1] = times[at - 1].min(times[at]);
    }
    let below = std::iter::once(0.0).chain(times.clone());
    Some(stack.into_iter().zip(times.into_iter().zip(below).map(|(time, below)| time - below)).collect())
}

/// In words, at the smallest and the largest size: how the time of each stack is shared, and which layer takes most.
pub fn layers_words(rows: &[LayerRow]) -> String {
    let sizes = sizes(rows);
    let ends: Vec<usize> = sizes.first().into_iter().chain(sizes.last().filter(|_| sizes.len() > 1)).copied().collect();
    let mut out = String::new();
    for top in Layer::ALL.into_iter().filter(|layer| layer.is_top()) {
        for measure in Measure::ALL {
            for bytes in &ends {
                out += &sentence(rows, top, measure, *bytes).unwrap_or_default();
            }
        }
    }
    let differences = rows.iter().filter(|row| row.adds_us.is_some()).count();
    match rows.iter().filter(|row| row.within_noise).count() {
        0 => out,
        noise => out + &format!("{noise} of {differences} differences are no more than repetitions differ by (~).\n"),
    }
}

/// Parts of a whole that fit into a line.
const PARTS: usize = 6;

fn sentence(rows: &[LayerRow], top: Layer, measure: Measure, bytes: usize) -> Option<String> {
    let shares = shares(rows, top, measure, bytes)?;
    let whole: f64 = shares.iter().map(|(_, share)| share).sum();
    let (most, _) = shares.iter().max_by(|one, other| one.1.total_cmp(&other.1))?;
    let way = if top == Layer::Typed { "through an agent" } else { "through an agent over TCP" };
    let what = match measure {
        Measure::Latency => "there and back",
        Measure::Throughput => "in a stream",
    };
    let mark = |layer: Layer| {
        let is_noise = find(rows, layer, measure, bytes).is_some_and(|row| row.within_noise);
        if is_noise { "~" } else { "" }
    };
    let part =
        |(layer, share): &(Layer, f64)| format!("{} {}{:.0} %", layer.title(), mark(*layer), 100.0 * share / whole);
    let parts: Vec<String> = shares.iter().map(part).collect();
    let lines: Vec<String> = parts.chunks(PARTS).map(|parts| parts.join(", ")).collect();
    let (size, whole) = (size(bytes), figure(whole));
    Some(format!(
        "{size} {what}, {way}, takes {whole} µs; the layer that takes most: {}{}.\n    {}\n",
        mark(*most),
        most.title(),
        lines.join(",\n    ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows in which every layer takes a microsecond more than the one below, but for the hop, which takes ten.
    pub(in crate::layers) fn rows() -> Vec<LayerRow> {
        let mut rows = Vec::new();
        for bytes in [64, 1 << 20] {
            for layer in Layer::ALL {
                let has_hop = layer.stack().iter().any(|below| below.title() == Layer::Hop.title());
                let height = layer.stack().len() as f64 + if has_hop { 9.0 } else { 0.0 };
                let seconds = |microseconds: f64| microseconds * 1e-6;
                let (low, middle, high) = (seconds(height - 0.1), seconds(height), seconds(height + 0.1));
                let spread = Spread { low, middle, high };
                rows.extend(Measure::ALL.map(|measure| LayerRow::new(layer, measure, bytes, spread)));
            }
        }
        compare(&mut rows);
        rows
    }

    #[test]
    fn a_layer_adds_what_it_takes_more_than_the_one_below_in_both_measures() {
        let rows = rows();
        for measure in Measure::ALL {
            for (layer, adds) in [(Layer::Hop, 10.0), (Layer::Filter, 1.0), (Layer::Tcp, 1.0)] {
                let row = find(&rows, layer, measure, 64).expect("a row");
                assert!(row.adds_us.is_some_and(|added| (added - adds).abs() < 1e-6), "{row:?}");
                assert!(row.low < row.value && row.value < row.high && !row.within_noise, "{row:?}");
            }
            assert_eq!(find(&rows, Layer::Copy, measure, 64).expect("a row").adds_us, None);
        }
    }

    #[test]
    fn what_is_less_than_repetitions_differ_by_is_called_noise() {
        let spread = |middle: f64| Spread { low: middle - 2e-6, middle, high: middle + 2e-6 };
        let mut rows = vec![
            LayerRow::new(Layer::Unix, Measure::Latency, 64, spread(10e-6)),
            LayerRow::new(Layer::Link, Measure::Latency, 64, spread(11e-6)),
            LayerRow::new(Layer::Hop, Measure::Latency, 64, spread(21e-6)),
        ];
        compare(&mut rows);
        assert_eq!(rows.iter().map(|row| row.within_noise).collect::<Vec<_>>(), [false, true, false]);
        assert!(layers_table(&rows).contains("+1.00~"), "{}", layers_table(&rows));
        assert_eq!(layers_words(&rows), "1 of 2 differences are no more than repetitions differ by (~).\n");
    }

    #[test]
    fn the_words_name_the_layer_that_takes_most() {
        let words = layers_words(&rows());
        assert_eq!(words.lines().count(), 4 * (2 + 3), "{words}");
        assert!(
            words.starts_with("64 B there and back, through an agent, takes 15.0 µs; the layer that takes most: hop."),
            "{words}"
        );
        assert!(words.contains("link 7 %, hop 67 %, filter 7 %"), "{words}");
        assert!(words.contains("through an agent over TCP, takes 17.0 µs"), "{words}");
        assert!(words.contains("link 6 %, encryption 6 %, hop 59 %,\n    filter 6 %, typed value 6 %\n"), "{words}");
    }

    #[test]
    fn a_layer_that_was_slower_than_what_stands_on_it_is_cut_and_the_sum_is_the_top() {
        let stack = Layer::Typed.stack();
        let row = |(layer, time): (&Layer, f64)| {
            let spread = Spread { low: time * 1e-6, middle: time * 1e-6, high: time * 1e-6 };
            LayerRow::new(*layer, Measure::Latency, 64, spread)
        };
        let rows: Vec<LayerRow> = stack.iter().zip([1.0, 10.0, 8.0, 30.0, 31.0, 35.0]).map(row).collect();
        let shares = shares(&rows, Layer::Typed, Measure::Latency, 64).expect("all layers");
        let shares: Vec<f64> = shares.into_iter().map(|(_, share)| share.round()).collect();
        assert_eq!(shares, [1.0, 7.0, 0.0, 22.0, 1.0, 4.0]);
    }

    #[test]
    fn the_table_fits_a_terminal() {
        let mut rows = rows();
        for bytes in [1 << 10, 16 << 10, 64 << 10] {
            let more: Vec<LayerRow> = rows.iter().filter(|row| row.bytes == 64).cloned().collect();
            rows.extend(more.into_iter().map(|row| LayerRow { bytes, value: 123_456.0, ..row }));
        }
        let table = layers_table(&rows);
        assert!(table.lines().all(|line| line.chars().count() <= 110), "{table}");
        assert!(layers_words(&rows).lines().all(|line| line.chars().count() <= 110));
    }
}
