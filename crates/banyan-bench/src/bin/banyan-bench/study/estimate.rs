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

/// How long these runs will take, by what is over.
pub(super) fn estimate(planned: &[&Planned], finished: &BTreeMap<u32, Run>) -> Estimate {
    let mut estimate = Estimate { seconds: 0.0, is_measured: true };
    for run in planned {
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

#[cfg(test)]
mod tests {
    use banyan_bench::Environment;
    use banyan_bench::study::Outcome;

    use super::super::plan::tests::read;
    use super::super::schedule::Schedule;
    use super::*;

    fn over(planned: &Planned, seconds: f64, outcome: Outcome) -> (u32, Run) {
        let run = Run {
            run: planned.number,
            bench: planned.bench.clone(),
            repetition: planned.repetition,
            parameters: planned.parameters.clone(),
            command: Vec::new(),
            working_directory: String::new(),
            began: String::new(),
            seconds,
            environment: Environment::observe(),
            outcome,
        };
        (planned.number, run)
    }

    #[test]
    fn earlier_runs_say_how_long_the_same_will_take() {
        let text = "[study]\nrepetitions = 3\n[[bench]]\nbench = \"tree\"\nshape = [\"1x2\", \"2x2\"]\n";
        let runs = Schedule::of(&read(text).unwrap()).runs;
        let estimate = |finished: &BTreeMap<u32, Run>| {
            let left: Vec<&Planned> = runs.iter().filter(|run| !finished.contains_key(&run.number)).collect();
            super::estimate(&left, finished)
        };
        let guessed = estimate(&BTreeMap::new());
        assert_eq!((guessed.seconds, guessed.is_measured), (6.0 * 7.0 * 10.0, false));
        let well = || Outcome::Output(serde_json::Value::Null);
        let mut finished: BTreeMap<u32, Run> = [over(&runs[0], 2.0, well()), over(&runs[2], 4.0, well())].into();
        assert!(!estimate(&finished).is_measured, "nothing is known of 2x2");
        finished.extend([over(&runs[1], 5.0, well())]);
        assert_eq!(estimate(&finished), Estimate { seconds: 3.0 + 5.0 + 5.0, is_measured: true });
        finished.extend([over(&runs[3], 900.0, Outcome::Error("late".into()))]);
        assert_eq!(estimate(&finished).seconds, 3.0 + 5.0, "what failed says nothing");
    }

    #[test]
    fn durations_are_told_in_a_fitting_unit() {
        assert_eq!([12.3, 600.0, 9000.0].map(told), ["12 s", "10 min", "2.5 h"]);
    }
}
