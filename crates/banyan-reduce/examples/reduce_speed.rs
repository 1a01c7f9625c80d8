//! What a reduction costs that was compiled from format and specification, beside one with a compiled Rust type.
//!
//! `cargo run --release -p banyan-tree --example reduce_speed [PART OF A ROW'S NAME]`. Both sides are filters: they take
//! the parts of a wave, reduce them and write what goes to the parent. What the compiled type writes is taken by a
//! reduction as the partial result of another node, and must give the same result to the bit. Thread CPU time, the median
//! of many batches that alternate; the ratio is the median of those of neighbouring batches.

use std::io::Write;
use std::marker::PhantomData;

use banyan_ndr::{Buffer, ByteOrder, Decoder, Format, PointerWidth, Record, typed};
use banyan_ranks::RankSet;
use banyan_reduce::{Filter, FilterError, FilterRole, Output, Part, Recovery, Reduction, ReductionLimits};
use rustix::time::{ClockId, clock_gettime};

/// Children of a node.
const MEMBERS: [u32; 4] = [2, 4, 16, 64];

/// Children that send arrays.
const SENDERS: u32 = 16;
const BATCHES: usize = 300;

/// CPU time of one batch.
const BATCH_NANOSECONDS: u64 = 1_000_000;

/// Elements of a megabyte.
const MEGABYTE: usize = (1 << 20) / 8;

type Failure = Box<dyn std::error::Error>;

/// 96 bytes, of which some fields are reduced.
#[derive(Record, Clone, Debug)]
struct Sample {
    id: i32,
    material: i32,
    coord: [f64; 3],
    disp: [f64; 3],
    stress: [f32; 6],
    energy: f64,
    flags: i16,
    node_count: i16,
    temp: f32,
}

/// Partial results of one, four and eight functions, as nodes of a tree send them.
#[derive(Record, Default)]
struct One {
    #[record(rename = "max(temp)")]
    max_temp: Option<f64>,
    #[record(rename = "max(temp).who")]
    max_temp_who: u32,
}

#[derive(Record, Default)]
struct Four {
    #[record(rename = "max(temp)")]
    max_temp: Option<f64>,
    #[record(rename = "max(temp).who")]
    max_temp_who: u32,
    #[record(rename = "avg(energy)")]
    energy: f64,
    #[record(rename = "avg(energy).count")]
    energy_count: u64,
    #[record(rename = "min(coord[0])")]
    min_x: Option<f64>,
    #[record(rename = "min(coord[0]).who")]
    min_x_who: u32,
    #[record(rename = "sum(id)")]
    ids: i128,
}

#[derive(Record, Default)]
struct Eight {
    #[record(rename = "max(temp)")]
    max_temp: Option<f64>,
    #[record(rename = "max(temp).who")]
    max_temp_who: u32,
    #[record(rename = "avg(energy)")]
    energy: f64,
    #[record(rename = "avg(energy).count")]
    energy_count: u64,
    #[record(rename = "min(coord[0])")]
    min_x: Option<f64>,
    #[record(rename = "min(coord[0]).who")]
    min_x_who: u32,
    #[record(rename = "sum(id)")]
    ids: i128,
    #[record(rename = "avg(flags)")]
    flags: i128,
    #[record(rename = "avg(flags).count")]
    flags_count: u64,
    #[record(rename = "max(node_count)")]
    max_nodes: Option<i128>,
    #[record(rename = "max(node_count).who")]
    max_nodes_who: u32,
    #[record(rename = "sum(disp[2])")]
    disp: f64,
    #[record(rename = "count()")]
    records: u64,
}

#[derive(Record)]
struct Array<'a> {
    load: &'a [f64],
}

fn sample(rank: u32) -> Sample {
    let float = f64::from(rank * 7 % 5);
    let (coord, disp, stress) = ([float; 3], [float / 2.0; 3], [1.0; 6]);
    Sample {
        id: rank as i32,
        material: 2,
        coord,
        disp,
        stress,
        energy: float,
        flags: 3,
        node_count: 8,
        temp: float as f32,
    }
}

/// What a Rust program would make of the records of a wave, one by one.
trait Reduce: Record + Default {
    const SPECIFICATION: &str;
    /// Takes a record; none if a sum is too large.
    fn add(&mut self, sample: &Sample, rank: u32) -> Option<()>;
}

impl Reduce for One {
    const SPECIFICATION: &str = "max(temp)";

    #[inline]
    fn add(&mut self, sample: &Sample, rank: u32) -> Option<()> {
        largest(&mut self.max_temp, &mut self.max_temp_who, f64::from(sample.temp), rank);
        Some(())
    }
}

impl Reduce for Four {
    const SPECIFICATION: &str = "max(temp), avg(energy), min(coord[0]), sum(id)";

    #[inline]
    fn add(&mut self, sample: &Sample, rank: u32) -> Option<()> {
        largest(&mut self.max_temp, &mut self.max_temp_who, f64::from(sample.temp), rank);
        self.energy += sample.energy;
        self.energy_count += 1;
        smallest(&mut self.min_x, &mut self.min_x_who, sample.coord[0], rank);
        self.ids = self.ids.checked_add(sample.id.into())?;
        Some(())
    }
}

impl Reduce for Eight {
    const SPECIFICATION: &str =
        "max(temp), avg(energy), min(coord[0]), sum(id), avg(flags), max(node_count), sum(disp[2]), count()";

    #[inline]
    fn add(&mut self, sample: &Sample, rank: u32) -> Option<()> {
        largest(&mut self.max_temp, &mut self.max_temp_who, f64::from(sample.temp), rank);
        self.energy += sample.energy;
        self.energy_count += 1;
        smallest(&mut self.min_x, &mut self.min_x_who, sample.coord[0], rank);
        self.ids = self.ids.checked_add(sample.id.into())?;
        self.flags = self.flags.checked_add(sample.flags.into())?;
        self.flags_count += 1;
        let nodes = i128::from(sample.node_count);
        if self.max_nodes.is_none_or(|most| nodes > most) {
            (self.max_nodes, self.max_nodes_who) = (Some(nodes), rank);
        }
        self.disp += sample.disp[2];
        self.records += 1;
        Some(())
    }
}

#[inline]
fn largest(max: &mut Option<f64>, who: &mut u32, value: f64, rank: u32) {
    if max.is_none_or(|max| value > max) && !value.is_nan() {
        (*max, *who) = (Some(value), rank);
    }
}

#[inline]
fn smallest(min: &mut Option<f64>, who: &mut u32, value: f64, rank: u32) {
    if min.is_none_or(|min| value < min) && !value.is_nan() {
        (*min, *who) = (Some(value), rank);
    }
}

/// The bodies of a wave.
struct Wave {
    format: Format,
    bodies: Vec<(RankSet, Buffer)>,
}

impl Wave {
    fn new<T: Record>(members: u32, record: impl Fn(u32) -> T) -> Result<Wave, Failure> {
        let body = |rank| {
            let mut body = Vec::new();
            typed::encode_body_into(&record(rank), &mut body)?;
            Ok((RankSet::from_iter([rank]), Buffer::from_slice(&body)))
        };
        let bodies = (0..members).map(body).collect::<Result<_, Failure>>()?;
        Ok(Wave { format: T::format().clone(), bodies })
    }

    /// The same records as another machine would send them.
    fn converted(&self, order: ByteOrder, pointer: PointerWidth) -> Result<Wave, Failure> {
        let format = self.format.relaid(order, pointer)?;
        let plan = banyan_ndr::Plan::new(&self.format, &format, &Default::default())?;
        let body = |(members, body): &(RankSet, Buffer)| {
            let mut out = Buffer::new();
            plan.convert(body, &mut out)?;
            Ok((members.clone(), out))
        };
        let bodies = self.bodies.iter().map(body).collect::<Result<_, Failure>>()?;
        Ok(Wave { format, bodies })
    }

    fn bytes(&self) -> usize {
        self.bodies.iter().map(|(_, body)| body.len()).sum()
    }

    fn parts(&self) -> Vec<Part<'_>> {
        let part = |(members, body)| Part { members, format: &self.format, body, is_partial: false };
        self.bodies.iter().map(|(members, body)| part((members, &body[..]))).collect()
    }
}

fn main() -> Result<(), Failure> {
    let mut table = Table { out: std::io::stdout().lock(), wanted: std::env::args().nth(1).unwrap_or_default() };
    writeln!(table.out, "{:<50}{:>14}{:>14}{:>8}", "a wave", "compiled type", "specification", "ratio")?;
    for members in MEMBERS {
        let native = Wave::new(members, sample)?;
        let foreign = native.converted(ByteOrder::Big, PointerWidth::Four)?;
        for (name, wave) in [("96 B", &native), ("96 B, big-endian", &foreign)] {
            table.rows::<One>(&format!("{members} x {name}: one function"), wave)?;
            table.rows::<Four>(&format!("{members} x {name}: four functions"), wave)?;
            table.rows::<Eight>(&format!("{members} x {name}: eight functions"), wave)?;
        }
    }
    for (name, length) in [("64 KB", MEGABYTE / 16), ("1 MB", MEGABYTE)] {
        let load: Vec<f64> = (0..length).map(|index| index as f64).collect();
        let wave = Wave::new(SENDERS, |_| Array { load: &load })?;
        table.arrays(&format!("{SENDERS} x {name} arrays of f64: sum"), &wave)?;
        let wave = wave.converted(ByteOrder::Big, PointerWidth::Four)?;
        table.arrays(&format!("{SENDERS} x {name} arrays of f64, big-endian: sum"), &wave)?;
    }
    Ok(())
}

/// What is printed.
struct Table<W> {
    out: W,
    /// A part of the names of the rows that are measured.
    wanted: String,
}

impl<W: Write> Table<W> {
    fn rows<R: Reduce>(&mut self, name: &str, wave: &Wave) -> Result<(), Failure> {
        if name.contains(&self.wanted) {
            let mut filter = Compiled::<R> { typed: Typed::new(wave)?, reduce: PhantomData };
            check(wave, R::SPECIFICATION, &mut filter)?;
            self.row(name, &compare(wave, R::SPECIFICATION, &mut filter)?)?;
        }
        Ok(())
    }

    fn arrays(&mut self, name: &str, wave: &Wave) -> Result<(), Failure> {
        if name.contains(&self.wanted) {
            let mut filter = ArrayFilter { typed: Typed::new(wave)?, sums: Vec::new() };
            let times = compare(wave, "sum(load)", &mut filter)?;
            self.row(name, &times)?;
            let speed = |time| wave.bytes() as f64 / time;
            writeln!(self.out, "{:<50}{:>9.1} GB/s{:>9.1} GB/s", "", speed(times.typed), speed(times.ours))?;
        }
        Ok(())
    }

    fn row(&mut self, name: &str, times: &Times) -> std::io::Result<()> {
        let Times { typed, ours, ratio } = times;
        writeln!(self.out, "{name:<50}{typed:>11.0} ns{ours:>11.0} ns{ratio:>8.2}")
    }
}

/// What a filter for one Rust type keeps between waves.
struct Typed {
    decoder: Decoder,
    out: Vec<u8>,
}

impl Typed {
    fn new(wave: &Wave) -> Result<Typed, Failure> {
        let mut decoder = Decoder::new();
        decoder.learn(&wave.format)?;
        Ok(Typed { decoder, out: Vec::new() })
    }

    /// Ends with the first record that cannot be taken: what is made of all stays in registers so.
    fn each(
        &mut self,
        parts: &[Part<'_>],
        mut each: impl FnMut(&Sample, u32) -> Option<()>,
    ) -> Result<(), FilterError> {
        for part in parts {
            let sample = self.decoder.view(part.format.id(), part.body).map_err(custom)?;
            each(sample, part.members.first().unwrap_or(0)).ok_or_else(|| custom("overflow"))?;
        }
        Ok(())
    }

    fn write<T: Record>(&mut self, partial: &T, out: &mut Output) -> Result<(), FilterError> {
        self.out.clear();
        typed::encode_body_into(partial, &mut self.out).map_err(custom)?;
        out.push(T::format(), &self.out);
        Ok(())
    }
}

fn custom(error: impl std::fmt::Display) -> FilterError {
    FilterError::Custom(error.to_string())
}

struct Compiled<R> {
    typed: Typed,
    reduce: PhantomData<fn() -> R>,
}

impl<R: Reduce> Filter for Compiled<R> {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let mut partial = R::default();
        self.typed.each(parts, |sample, rank| partial.add(sample, rank))?;
        self.typed.write(&partial, out)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

struct ArrayFilter {
    typed: Typed,
    sums: Vec<f64>,
}

impl Filter for ArrayFilter {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        self.sums.clear();
        for part in parts {
            let array: Array<'_> = self.typed.decoder.decode(part.format.id(), part.body).map_err(custom)?;
            match self.sums.is_empty() {
                true => self.sums.extend_from_slice(array.load),
                false => self.sums.iter_mut().zip(array.load).for_each(|(sum, load)| *sum += load),
            }
        }
        self.typed.write(&Array { load: &self.sums }, out)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

/// Fails unless a reduction makes the same result of what the filter wrote as of the records.
fn check(wave: &Wave, specification: &str, typed: &mut dyn Filter) -> Result<(), Failure> {
    let mut reduction = Reduction::new(specification.parse()?, ReductionLimits::default());
    let (mut partial, mut from_partial, mut from_records) = (Output::new(), Buffer::new(), Buffer::new());
    reduction.add_all(&wave.parts())?;
    reduction.result(&mut from_records);
    typed.wave(&wave.parts(), FilterRole::Inner, &mut partial)?;
    let (format, body) = partial.take().next().ok_or("the filter wrote nothing")?;
    let members: RankSet = (0..wave.bodies.len() as u32).collect();
    reduction.add(&Part { members: &members, format: &format, body: &body, is_partial: true })?;
    reduction.result(&mut from_partial);
    if from_partial[..] == from_records[..] { Ok(()) } else { Err(format!("{specification}: results differ").into()) }
}

/// Medians, in nanoseconds a wave, and the median of the ratios.
struct Times {
    typed: f64,
    ours: f64,
    ratio: f64,
}

/// Times a filter for a Rust type and a reduction.
fn compare(wave: &Wave, specification: &str, typed: &mut dyn Filter) -> Result<Times, Failure> {
    let mut reduction = Reduction::new(specification.parse()?, ReductionLimits::default());
    let parts = wave.parts();
    let (mut one, mut other) = (Output::new(), Output::new());
    Ok(alternate(&mut || run(typed, &parts, &mut one), &mut || run(&mut reduction, &parts, &mut other)))
}

fn run(filter: &mut dyn Filter, parts: &[Part<'_>], out: &mut Output) {
    out.clear();
    filter.wave(parts, FilterRole::Inner, out).expect("valid parts");
    std::hint::black_box(out.records());
}

fn alternate(typed: &mut dyn FnMut(), ours: &mut dyn FnMut()) -> Times {
    let sizes = [batch_size(typed), batch_size(ours)];
    let pairs: Vec<_> = (0..BATCHES).map(|_| (batch(typed, sizes[0]), batch(ours, sizes[1]))).collect();
    Times {
        typed: median(pairs.iter().map(|(typed, _)| *typed)),
        ours: median(pairs.iter().map(|(_, ours)| *ours)),
        ratio: median(pairs.iter().map(|(typed, ours)| ours / typed)),
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn batch_size(operation: &mut dyn FnMut()) -> u64 {
    operation();
    let mut size = 1;
    while batch(operation, size) * (size as f64) < BATCH_NANOSECONDS as f64 {
        size *= 2;
    }
    size
}

fn batch(operation: &mut dyn FnMut(), size: u64) -> f64 {
    let start = thread_cpu_nanoseconds();
    (0..size).for_each(|_| operation());
    (thread_cpu_nanoseconds() - start) as f64 / size as f64
}

fn thread_cpu_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
