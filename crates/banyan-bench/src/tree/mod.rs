//! What a tree of processes costs: starting it, talking to all of its members, and reducing what they say.
//!
//! In one run, in turn, on the same shapes: the floor, which is the same tree of processes without any library, and
//! Banyan. Everything is repeated with new processes, and the median of the repetitions counts. Beside the figures stand
//! what Banyan promises and what MRNet was measured at elsewhere.
//!
//! From what a hop costs, trees are predicted that no machine here could hold: a model, with its assumptions written down.

mod banyan;
mod calibration;
mod figures;
mod floor;
mod model;
mod op;
mod rows;
mod running;
mod shape;

use std::time::Duration;

use banyan::Banyan;
use banyan_tree::NodeOptions;
use floor::{ARRAY_BYTES, ARRAY_NUMBERS};
use running::{Running, System};

pub use calibration::calibrate;
pub use figures::{FAN_OUTS, figures_plots, figures_table, predictions};
pub use model::{Costs, Prediction};
pub use op::{Op, UnknownOp};
pub use rows::{TreeRow, tree_json, tree_plots, tree_table};
pub use running::RunningError;
pub use shape::{Shape, ShapeError};

/// The shapes that are measured if nothing else is said.
pub const SHAPES: [&str; 6] = ["1x16", "1x64", "4x16", "8x8", "16x16", "8x8x8"];
/// Those for a first look.
pub const QUICK_SHAPES: [&str; 2] = ["1x16", "4x16"];

/// Waves are first measured by so many: with few the time is that of their way, not of their number.
const WAVES: u64 = 1000;

/// Arrays that every member sends or gets first: more than may be under way at once, so that all memory for them is there
/// when the measurement begins. Pages that are touched for the first time cost more than all the rest.
const ARRAYS: u64 = 8;

/// Waves flow for about so long while an agent is killed: longer than any pause that there should be. There are also many
/// times more of them than can be under way when that happens.
const RECOVERY: Duration = Duration::from_millis(1500);

/// Why a bench could not be run.
#[derive(Debug, thiserror::Error)]
#[error("{shape}: {cause}")]
#[non_exhaustive]
pub struct TreeBenchError {
    /// Which tree did not work.
    pub shape: Shape,
    /// Why.
    #[source]
    pub cause: Box<RunningError>,
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

/// Never returns in a process that a bench has started as part of a tree. Call it first of all in `main`: there are
/// hundreds of them, and they need nothing of what follows.
pub fn become_process_if_asked() {
    floor::become_floor_process_if_asked();
    banyan::become_member_if_asked();
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
            for system in [System::Floor, System::Banyan] {
                progress(&format!("{}, {shape}, {repetition} of {}", system.name(), plan.effort.repetitions));
                measure(plan, shape, system, &mut samples)
                    .map_err(|cause| TreeBenchError { shape: shape.clone(), cause: Box::new(cause) })?;
            }
        }
        rows.extend(samples.rows(shape));
    }
    rows::compare(&mut rows);
    Ok(rows)
}

/// Everything in the plan once, with new processes.
fn measure(plan: &TreePlan, shape: &Shape, system: System, samples: &mut Samples) -> Result<(), RunningError> {
    let within = plan.effort.within;
    let bytes = (shape.leaves() * ARRAY_BYTES) as f64;
    let (mut tree, took) = Running::start(system, shape)?;
    for op in &plan.ops {
        let value = match op {
            Op::Instantiate => took.as_secs_f64() * 1e3,
            Op::RoundTrip => 1e6 * fill(within, 1, |count| Ok(median_of(tree.round_trips(count)?) * count as u32))?,
            Op::Waves => 1.0 / fill(within, WAVES, |count| tree.waves(count))?,
            Op::ArraySum => bytes / 1e9 / fill(within, ARRAYS, |count| tree.array_sums(count))?,
            Op::Broadcast => bytes / 1e9 / fill(within, ARRAYS, |count| tree.broadcasts(count))?,
            // These want a tree that nobody has used, or leave one that nobody can.
            Op::Recovery | Op::Memory => continue,
        };
        samples.add(system.name(), *op, value);
        if let (Op::Waves, Running::Floor(floor)) = (op, &mut tree) {
            let each = fill(within, 1, |count| Ok(floor.waves(count, false)?))?;
            samples.add("floor_unbatched", *op, 1.0 / each);
        }
    }
    drop(tree);
    if plan.ops.contains(&Op::Memory) {
        let mut tree = Running::start(system, shape)?.0;
        fill(within, WAVES, |count| tree.waves(count))?;
        samples.add(system.name(), Op::Memory, tree.inner_memory());
    }
    if plan.ops.contains(&Op::Recovery) && system == System::Banyan {
        samples.add(system.name(), Op::Recovery, recovery(within, shape)?.as_secs_f64() * 1e3);
    }
    Ok(())
}

/// The longest pause after an agent was killed while waves flow.
fn recovery(within: Duration, shape: &Shape) -> Result<Duration, RunningError> {
    let mut tree = Banyan::start(shape)?.0;
    let each = fill(within, WAVES, |count| Ok(tree.waves(count)?))?;
    let waves = (RECOVERY.as_secs_f64() / each) as u64;
    let under_way = NodeOptions::default().window_waves;
    Ok(tree.recovery(waves.max(12 * under_way))?)
}

/// Does something more and more often until it takes about as long as it should; the seconds that each took then.
fn fill(
    within: Duration,
    first: u64,
    run: impl FnMut(u64) -> Result<Duration, RunningError>,
) -> Result<f64, RunningError> {
    crate::pace::fill(within, first, run)
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
