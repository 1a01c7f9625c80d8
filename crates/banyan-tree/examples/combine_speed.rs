//! What a node pays to combine the runs of its children, in the two cases that the tree is measured by: many waves of one
//! small number, and one wave of large arrays.
//!
//! `cargo run --release -p banyan-tree --example combine_speed`. Thread CPU time, the best of many batches.

use std::io::Write;
use std::sync::Arc;

use banyan_boot::RankSet;
use banyan_ndr::{Buffer, CStruct, Format, Record, typed};
use banyan_tree::reduce::{FilterRole, Filters, ReductionLimits};
use banyan_tree::{Bodies, Combiners, FormatBook, Run, StreamId, Transformation, Transformations, WaveNumber};
use rustix::time::{ClockId, clock_gettime};

const CHILDREN: u32 = 16;
const WAVES: u32 = 256;
const BATCHES: usize = 200;

/// Elements of a megabyte.
const MEGABYTE: usize = (1 << 20) / 8;

type Failure = Box<dyn std::error::Error>;

#[derive(Record)]
struct Array<'a> {
    load: &'a [f64],
}

fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let formats = FormatBook::new();
    let combiners = Combiners::new(Filters::new(ReductionLimits::default()), formats.clone());
    writeln!(out, "{CHILDREN} children, runs of {WAVES} waves of one i32")?;
    let numbers = numbers(&formats)?;
    for text in ["reduce sum(value)", "reduce max(value)", "reduce sum(value), count(), avg(value)"] {
        let mut members = combiners.make(text)?;
        let nanoseconds = best(&mut *members, &numbers)? / f64::from(WAVES);
        let partials = partials(&mut *combiners.make(text)?, &numbers)?;
        let above = best(&mut *combiners.make(text)?, &partials)? / f64::from(WAVES);
        writeln!(out, "{text:<44}{nanoseconds:>9.1} ns a wave{above:>9.1} ns of partial results")?;
    }
    writeln!(out, "{CHILDREN} children, arrays of f64")?;
    for length in [MEGABYTE / 16, MEGABYTE, 4 * MEGABYTE] {
        let arrays = arrays(&formats, length)?;
        let bytes: usize = arrays.iter().map(|run| run.bodies.size()).sum();
        let mut members = combiners.make("reduce sum(load)")?;
        let nanoseconds = best(&mut *members, &arrays)?;
        let partials = partials(&mut *combiners.make("reduce sum(load)")?, &arrays)?;
        let above = best(&mut *combiners.make("reduce sum(load)")?, &partials)?;
        let (rate, above) = (bytes as f64 / nanoseconds, bytes as f64 / above);
        writeln!(
            out,
            "sum of {:>5} KB{:<29}{rate:>9.1} GB/s      {above:>9.1} GB/s of partial results",
            length >> 7,
            ""
        )?;
    }
    Ok(())
}

fn run(rank: u32, bodies: Bodies) -> Run {
    let members = Arc::new(RankSet::from_iter([rank]));
    Run { stream: StreamId(1), first: WaveNumber(0), members, is_fresh: true, is_partial: false, yields: None, bodies }
}

fn numbers(formats: &FormatBook) -> Result<Vec<Run>, Failure> {
    let format: Format = CStruct::new("number", 4, 4).int("value", 0, 4).build()?;
    formats.learn(&format)?;
    let bodies = |rank: u32| {
        let bytes: Vec<u8> = (0..WAVES).flat_map(|wave| (wave as i32 * rank as i32).to_ne_bytes()).collect();
        Ok(run(rank, Bodies::of_size(format.id(), 4, WAVES, bytes.into())?))
    };
    (0..CHILDREN).map(bodies).collect()
}

fn arrays(formats: &FormatBook, length: usize) -> Result<Vec<Run>, Failure> {
    formats.learn(Array::format())?;
    let load: Vec<f64> = (0..length).map(|index| index as f64).collect();
    let bodies = |rank| {
        let mut body = Vec::new();
        typed::encode_body_into(&Array { load: &load }, &mut body)?;
        Ok(run(rank, Bodies::one(Array::format().id(), Buffer::from_slice(&body).to_vec().into())))
    };
    (0..CHILDREN).map(bodies).collect()
}

/// What as many nodes below would send.
fn partials(combiner: &mut dyn Transformation, runs: &[Run]) -> Result<Vec<Run>, Failure> {
    let partial = |run: &Run| {
        let bodies = combiner.combine(std::slice::from_ref(run), FilterRole::Inner)?;
        Ok(Run { is_partial: true, bodies, ..run.clone() })
    };
    runs.iter().map(partial).collect()
}

/// The best batch, in nanoseconds a run.
fn best(combiner: &mut dyn Transformation, runs: &[Run]) -> Result<f64, Failure> {
    let waves = combiner.combine(runs, FilterRole::Inner)?.len();
    assert_eq!(waves, runs[0].bodies.len(), "all waves at once");
    let mut best = f64::INFINITY;
    for _ in 0..BATCHES {
        let start = thread_cpu_nanoseconds();
        for _ in 0..4 {
            std::hint::black_box(combiner.combine(std::hint::black_box(runs), FilterRole::Inner)?);
        }
        best = best.min((thread_cpu_nanoseconds() - start) as f64 / 4.0);
    }
    Ok(best)
}

fn thread_cpu_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
