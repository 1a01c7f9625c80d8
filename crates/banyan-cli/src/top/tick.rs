//! What comes of all hosts at a tick: reduced on the way, and one value of each host for the strip and the table.

use std::fmt::Write as _;

use banyan_boot::RankSet;
use banyan_ndr::{DynRecord, Value};

use super::metric::METRICS;

/// Hosts that are named for each number.
const NAMED: usize = 5;

/// Numbers that are reduced, and not shown in tables.
const OWN_CPU: &str = "own_cpu";
const OWN_MEMORY: &str = "own_memory";

/// A number of a host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Of {
    pub(super) value: f64,
    pub(super) rank: u32,
}

/// One number over all hosts.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct NumberSummary {
    pub(super) min: Option<Of>,
    pub(super) median: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) max: Option<Of>,
    /// The largest, in order.
    pub(super) top: Vec<Of>,
}

/// All numbers of a host, in the order of [`METRICS`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Host {
    pub(super) rank: u32,
    pub(super) values: [Option<f64>; METRICS.len()],
}

/// What came of a tick.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tick {
    /// In the order of [`METRICS`].
    pub(super) summaries: Vec<NumberSummary>,
    /// In the order of ranks.
    pub(super) hosts: Vec<Host>,
    /// The most of a core that this tool uses on a host, in percent.
    pub(super) own_cpu: Option<f64>,
    /// The most memory that this tool uses on a host, in bytes.
    pub(super) own_memory: Option<f64>,
}

/// The reduction: see `docs/reductions.md`.
pub(super) fn reduction() -> String {
    let mut text = format!("max({OWN_CPU}), max({OWN_MEMORY})");
    for metric in METRICS {
        let name = metric.name;
        let _ = write!(
            text,
            ", min({name}), quantile(0.5, 0.99, {name}), max({name}), top({NAMED}, {name}), concat({name})"
        );
    }
    text
}

impl Tick {
    /// Takes the result of the reduction apart. What it lacks is missing here too.
    pub(super) fn read(record: &DynRecord, members: &RankSet) -> Tick {
        let fields = Fields(record);
        let mut tick = Tick {
            own_cpu: fields.number(&format!("max({OWN_CPU})")),
            own_memory: fields.number(&format!("max({OWN_MEMORY})")),
            hosts: members.iter().map(|rank| Host { rank, ..Host::default() }).collect(),
            ..Tick::default()
        };
        for (at, metric) in METRICS.iter().enumerate() {
            let name = metric.name;
            tick.summaries.push(fields.summary(name));
            for Of { value, rank } in fields.many(&format!("concat({name})")) {
                if let Ok(place) = tick.hosts.binary_search_by_key(&rank, |host| host.rank) {
                    tick.hosts[place].values[at] = Some(value);
                }
            }
        }
        tick
    }
}

/// The fields of a result, by name.
struct Fields<'r>(&'r DynRecord);

impl Fields<'_> {
    fn field(&self, name: &str) -> &Value {
        match self.0.resolve(&self.0.root) {
            Value::Record(fields) => {
                let found = fields.iter().find(|(field, _)| field == name);
                found.map_or(&Value::Null, |(_, value)| self.0.resolve(value))
            }
            _ => &Value::Null,
        }
    }

    fn number(&self, name: &str) -> Option<f64> {
        number(self.0.resolve(self.field(name)))
    }

    fn one(&self, name: &str) -> Option<Of> {
        let value = self.number(name)?;
        Some(Of { value, rank: rank(self.field(&format!("{name}.who")))? })
    }

    /// Quantiles are known within one percent, and so may be beyond what anyone has: nobody wants to see that.
    fn summary(&self, name: &str) -> NumberSummary {
        let (min, max) = (self.one(&format!("min({name})")), self.one(&format!("max({name})")));
        let quantile = |share: &str| {
            let value = self.number(&format!("quantile({share}, {name})"))?;
            Some(value.max(min?.value).min(max?.value))
        };
        let (median, p99) = (quantile("0.5"), quantile("0.99"));
        NumberSummary { min, median, p99, max, top: self.many(&format!("top({NAMED}, {name})")) }
    }

    fn many(&self, name: &str) -> Vec<Of> {
        let (Value::List(values), Value::List(ranks)) = (self.field(name), self.field(&format!("{name}.who"))) else {
            return Vec::new();
        };
        let of = |(value, of): (&Value, &Value)| Some(Of { value: number(self.0.resolve(value))?, rank: rank(of)? });
        values.iter().zip(ranks).filter_map(of).collect()
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::F64(number) => Some(*number),
        Value::F32(number) => Some(f64::from(*number)),
        _ => None,
    }
}

fn rank(value: &Value) -> Option<u32> {
    match value {
        Value::Int(number) => u32::try_from(*number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use banyan_ndr::{Buffer, Limits, Record, typed};
    use banyan_tree::reduce::{Part, Reduction, ReductionLimits};

    use super::super::sample::Sampler;
    use super::*;

    #[test]
    fn samples_are_reduced_to_a_tick_of_all_hosts() {
        let mut sampler = Sampler::new();
        let specification = reduction().parse().expect("a reduction");
        let mut node = Reduction::new(specification, ReductionLimits::default());
        let format = super::super::sample::Sample::format();
        for rank in 0..3 {
            let mut body = Vec::new();
            typed::encode_body_into(&sampler.sample(), &mut body).expect("a record");
            let members = RankSet::from_iter([rank]);
            node.add(&Part { members: &members, format, body: &body, is_partial: false }).expect("it fits");
        }
        let mut body = Buffer::new();
        let format = node.result(&mut body).expect("there were parts").clone();
        let record = DynRecord::from_body(&format, &body, &Limits::default()).expect("a result");
        let tick = Tick::read(&record, &RankSet::from_iter([0, 1, 2]));
        assert_eq!((tick.hosts.len(), tick.summaries.len()), (3, METRICS.len()));
        assert!(tick.own_cpu.is_some() && tick.own_memory.is_some(), "{tick:?}");
        // Memory is told by every kernel.
        let memory = &tick.summaries[1];
        let (min, max) = (memory.min.expect("a value"), memory.max.expect("a value"));
        assert!(min.value <= max.value && memory.top.len() == 3 && memory.top[0] == max, "{memory:?}");
        let within = |value: Option<f64>| value.is_some_and(|value| (min.value..=max.value).contains(&value));
        assert!(within(memory.median) && within(memory.p99), "{memory:?}");
        assert!(tick.hosts.iter().all(|host| host.values[1].is_some_and(|value| value <= max.value)));
    }

    #[test]
    fn a_result_without_fields_is_a_tick_without_numbers() {
        let format = banyan_ndr::CStruct::new("empty", 8, 8).build().expect("a format");
        let tick = Tick::read(&DynRecord::new(&format), &RankSet::from_iter([4]));
        assert_eq!(tick.hosts, [Host { rank: 4, ..Host::default() }]);
        assert_eq!(tick.summaries, vec![NumberSummary::default(); METRICS.len()]);
    }
}
