//! What is known of a host: the names of the numbers in a [`Sample`](super::sample::Sample), and how people read them.

/// A number of each host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Metric {
    /// As records and JSON call it.
    pub(super) name: &'static str,
    /// As tables call it.
    pub(super) title: &'static str,
    pub(super) unit: Unit,
    /// Where there is room for few: 1 for the most useful.
    pub(super) useful: u8,
}

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Percent,
    Tasks,
    BytesPerSecond,
}

const fn metric(name: &'static str, title: &'static str, unit: Unit, useful: u8) -> Metric {
    Metric { name, title, unit, useful }
}

/// All that is shown, in this order.
pub(super) const METRICS: [Metric; 10] = [
    metric("cpu", "CPU", Unit::Percent, 1),
    metric("memory", "memory", Unit::Percent, 2),
    metric("run_queue", "runnable", Unit::Tasks, 8),
    metric("pressure_cpu", "wait:cpu", Unit::Percent, 9),
    metric("pressure_memory", "wait:mem", Unit::Percent, 10),
    metric("pressure_io", "wait:io", Unit::Percent, 7),
    metric("network_in", "net in", Unit::BytesPerSecond, 3),
    metric("network_out", "net out", Unit::BytesPerSecond, 4),
    metric("disk_read", "disk rd", Unit::BytesPerSecond, 5),
    metric("disk_write", "disk wr", Unit::BytesPerSecond, 6),
];

impl Metric {
    /// The number for people.
    pub(super) fn show(self, value: f64) -> String {
        match self.unit {
            Unit::Percent => format!("{value:.1}%"),
            Unit::Tasks => format!("{value:.0}"),
            Unit::BytesPerSecond => bytes(value),
        }
    }

    /// Whether a host stands out that has this value where half of all have less than `median`: more than twice as much,
    /// and enough to matter.
    pub(super) fn stands_out(self, value: f64, median: f64) -> bool {
        let matters = match self.unit {
            Unit::Percent => 5.0,
            Unit::Tasks => 4.0,
            Unit::BytesPerSecond => 1e6,
        };
        value > 2.0 * median && value - median > matters
    }

    /// How hot a value is, from 0 to 1. Rates have no bound that would be known here, and so no heat.
    pub(super) fn heat(self, value: f64) -> Option<f64> {
        (self.unit == Unit::Percent).then(|| (value / 100.0).clamp(0.0, 1.0))
    }
}

/// Bytes with four letters at most before the unit.
pub(super) fn bytes(value: f64) -> String {
    let mut value = value;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 {
            let digits = usize::from(value < 9.95 && unit != "B");
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.1} TB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let [cpu, .., disk] = METRICS;
        assert_eq!((cpu.show(99.96), cpu.show(0.0)), ("100.0%".into(), "0.0%".into()));
        let shown = [0.0, 999.4, 999.6, 1500.0, 12_345.0, 9.99e6, 1e12].map(|value| disk.show(value));
        assert_eq!(shown, ["0 B", "999 B", "1.0 kB", "1.5 kB", "12 kB", "10 MB", "1.0 TB"]);
    }

    #[test]
    fn only_what_matters_stands_out() {
        let [cpu, .., disk] = METRICS;
        assert!(cpu.stands_out(50.0, 10.0) && !cpu.stands_out(15.0, 10.0) && !cpu.stands_out(3.0, 0.1));
        assert!(disk.stands_out(5e6, 1e3) && !disk.stands_out(5e5, 1e3));
    }

    #[test]
    fn shares_have_heat_and_rates_have_none() {
        let [cpu, .., disk] = METRICS;
        assert_eq!((cpu.heat(50.0), cpu.heat(250.0), disk.heat(5.0)), (Some(0.5), Some(1.0), None));
    }
}
