//! The runs of a study, each with a number that it keeps, and the order in which they are done.

use std::collections::BTreeMap;
use std::path::Path;

use super::plan::{Plan, RunOrder};

/// What stands in a plan for the nodes of the job that the study runs in.
const NODES: &str = "{nodes}";

/// A run that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Planned {
    /// From 1, repetition by repetition as the plan has them.
    pub(super) number: u32,
    pub(super) bench: String,
    /// From 1.
    pub(super) repetition: u32,
    pub(super) parameters: BTreeMap<String, String>,
    /// What `banyan bench` is called with.
    pub(super) arguments: Vec<String>,
}

/// All runs in the order in which they are done.
#[derive(Debug)]
pub(super) struct Schedule {
    pub(super) runs: Vec<Planned>,
    /// Tells plans apart: the same for the same runs in the same order, whatever name, comments and deadlines there are.
    pub(super) hash: String,
}

impl Schedule {
    /// Repetition by repetition, so that a slow hour hits all configurations and a study that is ended has as many runs of
    /// each.
    pub(super) fn of(plan: &Plan) -> Schedule {
        let mut runs = Vec::new();
        for repetition in 1..=plan.repetitions {
            let first = runs.len();
            for configuration in &plan.configurations {
                runs.push(Planned {
                    number: runs.len() as u32 + 1,
                    bench: configuration.bench.clone(),
                    repetition,
                    parameters: configuration.options.iter().cloned().collect(),
                    arguments: configuration.arguments.clone(),
                });
            }
            if let RunOrder::Shuffled(seed) = plan.order {
                shuffle(&mut runs[first..], seed.wrapping_add(u64::from(repetition)));
            }
        }
        let hash = hash(&runs);
        Schedule { runs, hash }
    }

    /// Whether it can only be run in a job.
    pub(super) fn wants_nodes(&self) -> bool {
        self.runs.iter().any(|run| run.arguments.iter().any(|word| word.contains(NODES)))
    }
}

impl Planned {
    /// The program and the arguments of the run, on the nodes of a job if it runs in one.
    pub(super) fn command(&self, program: &Path, nodes: Option<&str>) -> Vec<String> {
        let here = |word: &String| nodes.map_or_else(|| word.clone(), |nodes| word.replace(NODES, nodes));
        let words = std::iter::once(program.display().to_string());
        words.chain(self.arguments.iter().map(here)).collect()
    }

    /// Its options as people write them.
    pub(super) fn told(&self) -> String {
        let words = self.arguments.iter().take_while(|word| *word != "--json" && *word != "--plot");
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

fn hash(runs: &[Planned]) -> String {
    let mut hasher = blake3::Hasher::new();
    for run in runs {
        hasher.update(format!("\n{} {}", run.number, run.arguments.len()).as_bytes());
        run.arguments.iter().for_each(|word| {
            hasher.update(format!(" {}:{word}", word.len()).as_bytes());
        });
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// Fisher and Yates, with the numbers of a seed: the same on every machine.
fn shuffle(runs: &mut [Planned], seed: u64) {
    let mut state = seed;
    for last in (1..runs.len()).rev() {
        let chosen = (random(&mut state) % (last as u64 + 1)) as usize;
        runs.swap(chosen, last);
    }
}

/// SplitMix64: small, and good enough for an order.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::read;
    use super::*;

    fn schedule(study: &str, shapes: &str) -> Schedule {
        let text = format!("[study]\nname = \"s\"\n{study}\n[[bench]]\nbench = \"tree\"\nshape = [{shapes}]\n");
        Schedule::of(&read(&text).unwrap())
    }

    fn numbers(schedule: &Schedule) -> Vec<u32> {
        schedule.runs.iter().map(|run| run.number).collect()
    }

    const SHAPES: &str = "\"1x2\", \"1x3\", \"1x4\", \"1x5\", \"1x6\", \"1x7\", \"1x8\", \"1x9\"";

    #[test]
    fn runs_keep_their_numbers_in_whatever_order_they_are_done() {
        assert_eq!(numbers(&schedule("repetitions = 2", SHAPES)), (1..=16).collect::<Vec<_>>());
        let shuffled = numbers(&schedule("repetitions = 2\norder = \"shuffled\"", SHAPES));
        let (first, second) = shuffled.split_at(8);
        let mut sorted = first.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, (1..=8).collect::<Vec<_>>(), "a repetition is over before the next begins");
        assert_ne!(first, sorted);
        assert_ne!(first, second.iter().map(|number| number - 8).collect::<Vec<_>>());
    }

    #[test]
    fn the_nodes_of_a_job_stand_in_the_command_and_not_in_the_plan() {
        let text = "[[bench]]\nbench = \"launch\"\nslurm-nodes = \"{nodes}\"\n";
        let schedule = Schedule::of(&read(text).unwrap());
        let run = &schedule.runs[0];
        assert!(schedule.wants_nodes() && !super::tests::schedule("", SHAPES).wants_nodes());
        assert_eq!(run.parameters["slurm-nodes"], "{nodes}");
        assert_eq!(run.command(Path::new("b"), None)[..4], ["b", "launch", "--slurm-nodes", "{nodes}"]);
        assert_eq!(run.command(Path::new("b"), Some("h[1-2]"))[3], "h[1-2]");
    }

    #[test]
    fn the_seed_is_the_order() {
        let of = |seed: u32| numbers(&schedule(&format!("order = \"shuffled\"\nseed = {seed}"), SHAPES));
        assert_eq!(of(5), of(5));
        assert_ne!(of(5), of(6));
    }

    #[test]
    fn another_plan_has_another_hash_but_for_comments_and_deadlines() {
        let hash = |study: &str, shapes: &str| schedule(study, shapes).hash;
        let usual = hash("", SHAPES);
        assert_eq!(hash("# a comment\ndeadline = \"5s\"", SHAPES), usual);
        for other in [hash("repetitions = 2", SHAPES), hash("order = \"shuffled\"", SHAPES), hash("", "\"1x2\"")] {
            assert_ne!(other, usual);
        }
    }
}
