//! How long runs will take: as long as earlier ones of the same configuration, or as long as a guess.

use std::collections::BTreeMap;

use banyan_bench::study::Run;

use super::schedule::Planned;

/// Seconds on two processors, in a release build: a bench of records, quick and not.
const RECORDS: (f64, f64) = (15.0, 90.0);
/// One operation of one tree.
const TREE: (f64, f64) = (1.5, 10.0);
/// One number of members.
const LAUNCH: (f64, f64) = (6.0, 15.0);
/// A bench that is not in this list.
const OTHER: (f64, f64) = (20.0, 60.0);

/// What is left to do, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Estimate {
    pub(super) seconds: f64,
    /// Whether earlier runs say so, all of it.
    pub(super) is_measured: bool,
}

/// How long the runs will take that are not over.
pub(super) fn estimate(planned: &[Planned], finished: &BTreeMap<u32, Run>) -> Estimate {
    let mut estimate = Estimate { seconds: 0.0, is_measured: true };
    for run in planned.iter().filter(|run| !finished.contains_key(&run.number)) {
        let same =
            |other: &&Run| other.bench == run.bench && other.parameters == run.parameters && other.error().is_none();
        let took: Vec<f64> = finished.values().filter(same).map(|run| run.seconds).collect();
        let mean = (!took.is_empty()).then(|| took.iter().sum::<f64>() / took.len() as f64);
        estimate.is_measured &= mean.is_some();
        estimate.seconds += mean.unwrap_or_else(|| guess(run));
    }
    estimate
}

fn guess(run: &Planned) -> f64 {
    let is_quick = run.parameters.get("quick").is_some_and(|quick| quick == "true");
    let of = |(quick, full): (f64, f64)| if is_quick { quick } else { full };
    // What is not chosen is everything: so many operations, trees or sizes.
    let all = |option: &str, quick: f64, full: f64| match run.parameters.contains_key(option) {
        true => 1.0,
        false => of((quick, full)),
    };
    match run.bench.as_str() {
        "records" => of(RECORDS),
        "tree" => of(TREE) * all("op", 7.0, 7.0) * all("shape", 2.0, 6.0),
        "launch" | "collectives" => of(LAUNCH) * all("members", 3.0, 6.0),
        _ => of(OTHER),
    }
}

/// A duration for people.
pub(super) fn told(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{seconds:.0} s"),
        seconds if seconds < 5400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}
