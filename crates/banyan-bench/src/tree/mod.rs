//! What a tree of processes costs: starting it, talking to all of its members, and reducing what they say.
//!
//! In one run, in turn, on the same shapes: the floor, which is the same tree of processes without any library, and
//! Banyan. Everything is repeated with new processes, and the median of the repetitions counts. Beside the figures stand
//! what Banyan promises and what MRNet was measured at elsewhere.
//!
//! From what a hop costs, trees are predicted that no machine here could hold: a model, with its assumptions written down.

mod calibration;
mod figures;
mod floor;
mod model;
mod op;
mod rows;
mod shape;

use std::io;
use std::time::Duration;

use floor::{ARRAY_BYTES, Floor};

pub use calibration::calibrate;
pub use figures::{FAN_OUTS, figures_plots, figures_table, predictions};
pub use floor::become_floor_process_if_asked;
pub use model::{Costs, Prediction};
pub use op::{Op, UnknownOp};
pub use rows::{TreeRow, tree_json, tree_plots, tree_table};
pub use shape::{Shape, ShapeError};

/// The shapes that are measured if nothing else is said.
pub const SHAPES: [&str; 6] = ["1x16", "1x64", "4x16", "8x8", "16x16", "8x8x8"];
/// Those for a first look.
pub const QUICK_SHAPES: [&str; 2] = ["1x16", "4x16"];

/// Why a bench could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeBenchError {
    /// A process of the floor could not be started or did not answer.
    #[error("the floor, {shape}: {source}; look at `ulimit -n` and `ulimit -u`")]
    Floor {
        /// Which tree.
        shape: Shape,
        /// Why.
        source: io::Error,
    },
}

/// How long to measure.
#[derive(Debug, Clone, Copy)]
pub struct TreeEffort {
    /// How often all of it is done, each time with new processes.
    pub repetitions: usize,
    /// How long one operation is repeated within that.
    pub within: Duration,
}

impl TreeEffort {
    /// For a first look.
    pub const QUICK: TreeEffort = TreeEffort { repetitions: 3, within: Duration::from_millis(100) };
    /// For figures worth publishing.
    pub const FULL: TreeEffort = TreeEffort { repetitions: 7, within: Duration::from_millis(400) };
}

/// What to measure.
#[derive(Debug, Clone)]
pub struct TreePlan {
    /// On which shapes.
    pub shapes: Vec<Shape>,
    /// Which operations.
    pub ops: Vec<Op>,
    /// How long.
    pub effort: TreeEffort,
}

/// Measures everything in the plan.
///
/// # Errors
/// If Banyan or the floor do not work here.
pub fn run(plan: &TreePlan, progress: &mut dyn FnMut(&str)) -> Result<Vec<TreeRow>, TreeBenchError> {
    let mut rows = Vec::new();
    for shape in &plan.shapes {
        let mut samples = Samples(Vec::new());
        for repetition in 1..=plan.effort.repetitions {
            progress(&format!("the floor, {shape}, {repetition} of {}", plan.effort.repetitions));
            floor(plan, shape, &mut samples)
                .map_err(|source| TreeBenchError::Floor { shape: shape.clone(), source })?;
        }
        rows.extend(samples.rows(shape));
    }
    rows::compare(&mut rows);
    Ok(rows)
}

/// Everything once with a new tree of the floor.
fn floor(plan: &TreePlan, shape: &Shape, samples: &mut Samples) -> io::Result<()> {
    let (mut floor, took) = Floor::start(shape)?;
    for op in &plan.ops {
        let mut many = |run: &mut dyn FnMut(&mut Floor, u64) -> io::Result<Duration>| {
            fill(plan.effort.within, |count| run(&mut floor, count))
        };
        let (count, seconds) = match op {
            Op::Instantiate => (1, took.as_secs_f64()),
            Op::RoundTrip => many(&mut |floor, count| Ok(median_of(floor.round_trips(count)?) * count as u32))?,
            Op::Waves => {
                let (count, seconds) = many(&mut |floor, count| floor.waves(count, false))?;
                samples.add("floor_unbatched", *op, op.value(shape, count, seconds));
                many(&mut |floor, count| floor.waves(count, true))?
            }
            Op::ArraySum => many(&mut |floor, count| floor.array_sums(count))?,
            Op::Broadcast => many(&mut |floor, count| floor.broadcasts(count))?,
        };
        samples.add("floor", *op, op.value(shape, count, seconds));
    }
    Ok(())
}

/// Does something more and more often until it takes about as long as it should; how often, and how long it took then.
/// Growing first also warms everything up.
fn fill<E>(within: Duration, mut run: impl FnMut(u64) -> Result<Duration, E>) -> Result<(u64, f64), E> {
    let mut count = 1;
    loop {
        let took = run(count)?;
        if took * 2 >= within {
            return Ok((count, took.as_secs_f64()));
        }
        // A very short run is not trusted further than this.
        let factor = within.as_secs_f64() / took.as_secs_f64().max(1e-9);
        count = (count as f64 * factor.clamp(2.0, 20.0)) as u64;
    }
}

fn median_of(mut durations: Vec<Duration>) -> Duration {
    durations.sort_unstable();
    durations.get(durations.len() / 2).copied().unwrap_or_default()
}

/// The figures of all repetitions of a shape.
struct Samples(Vec<(&'static str, Op, Vec<f64>)>);

impl Samples {
    fn add(&mut self, system: &'static str, op: Op, value: f64) {
        match self.0.iter_mut().find(|(with, of, _)| (*with, *of) == (system, op)) {
            Some((_, _, values)) => values.push(value),
            None => self.0.push((system, op, vec![value])),
        }
    }

    /// Their medians.
    fn rows(self, shape: &Shape) -> impl Iterator<Item = TreeRow> {
        let (shape, members) = (shape.to_string(), shape.leaves());
        self.0.into_iter().map(move |(system, op, mut values)| {
            values.sort_by(f64::total_cmp);
            let value = values[values.len() / 2];
            let (op, unit, shape) = (op.name(), op.unit(), shape.clone());
            TreeRow { system, op, shape, members, value, unit, times_floor: None }
        })
    }
}
