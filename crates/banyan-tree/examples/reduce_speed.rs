//! What a reduction costs that was compiled from format and specification, beside one with a compiled Rust type.
//!
//! `cargo run --release -p banyan-tree --example reduce_speed`. Both sides are filters: they take the parts of a wave of
//! 16 members, reduce them and write what goes to the parent. Thread CPU time, the best of many batches that alternate.

use std::io::Write;

use banyan_boot::RankSet;
use banyan_ndr::{Buffer, ByteOrder, Decoder, Format, PointerWidth, Record, typed};
use banyan_tree::reduce::{Filter, FilterError, Output, Part, Place, Recovery, Reduction, ReductionLimits};
use rustix::time::{ClockId, clock_gettime};

const MEMBERS: u32 = 16;
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

#[derive(Record, Default)]
struct Few {
    max: Option<f64>,
    who: u32,
    sum: f64,
    count: u64,
}

#[derive(Record, Default)]
struct Many {
    few: Few,
    min: Option<f64>,
    min_who: u32,
    ids: i128,
    flags: i128,
    flags_count: u64,
    nodes: Option<i128>,
    nodes_who: u32,
    disp: f64,
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

impl Few {
    #[inline]
    fn add(&mut self, sample: &Sample, rank: u32) {
        let temp = f64::from(sample.temp);
        if self.max.is_none_or(|max| temp > max) && !temp.is_nan() {
            (self.max, self.who) = (Some(temp), rank);
        }
        self.sum += sample.energy;
        self.count += 1;
    }
}

impl Many {
    #[inline]
    fn add(&mut self, sample: &Sample, rank: u32) -> Option<()> {
        self.few.add(sample, rank);
        let x = sample.coord[0];
        if self.min.is_none_or(|min| x < min) && !x.is_nan() {
            (self.min, self.min_who) = (Some(x), rank);
        }
        self.ids = self.ids.checked_add(sample.id.into())?;
        self.flags = self.flags.checked_add(sample.flags.into())?;
        self.flags_count += 1;
        let nodes = i128::from(sample.node_count);
        if self.nodes.is_none_or(|most| nodes > most) {
            (self.nodes, self.nodes_who) = (Some(nodes), rank);
        }
        self.disp += sample.disp[2];
        self.records += 1;
        Some(())
    }
}

/// The bodies of a wave.
struct Wave {
    format: Format,
    bodies: Vec<(RankSet, Buffer)>,
}

impl Wave {
    fn new<T: Record>(record: impl Fn(u32) -> T) -> Result<Wave, Failure> {
        let body = |rank| {
            let mut body = Vec::new();
            typed::encode_body_into(&record(rank), &mut body)?;
            Ok((RankSet::from_iter([rank]), Buffer::from_slice(&body)))
        };
        let bodies = (0..MEMBERS).map(body).collect::<Result<_, Failure>>()?;
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
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<44}{:>14}{:>14}{:>8}", "a wave of 16 members", "compiled type", "specification", "ratio")?;
    let native = Wave::new(sample)?;
    let foreign = native.converted(ByteOrder::Big, PointerWidth::Four)?;
    for (name, wave) in [("96 B", &native), ("96 B, big-endian", &foreign)] {
        let (typed, ours) = few(wave)?;
        row(&mut out, &format!("{name}: max, avg"), typed, ours)?;
        let (typed, ours) = many(wave)?;
        row(&mut out, &format!("{name}: eight functions"), typed, ours)?;
    }
    for (name, length) in [("64 KB", MEGABYTE / 16), ("1 MB", MEGABYTE)] {
        let load: Vec<f64> = (0..length).map(|index| index as f64).collect();
        let wave = Wave::new(|_| Array { load: &load })?;
        let bytes = wave.bytes();
        let (typed, ours) = array(&wave)?;
        row(&mut out, &format!("{name} arrays of f64: sum"), typed, ours)?;
        writeln!(out, "{:<44}{:>9.1} GB/s{:>9.1} GB/s", "", bytes as f64 / typed, bytes as f64 / ours)?;
        let wave = wave.converted(ByteOrder::Big, PointerWidth::Four)?;
        let (typed, ours) = array(&wave)?;
        row(&mut out, &format!("{name} arrays of f64, big-endian: sum"), typed, ours)?;
        writeln!(out, "{:<44}{:>9.1} GB/s{:>9.1} GB/s", "", bytes as f64 / typed, bytes as f64 / ours)?;
    }
    Ok(())
}

fn row(out: &mut impl Write, what: &str, typed: f64, ours: f64) -> std::io::Result<()> {
    writeln!(out, "{what:<44}{typed:>11.0} ns{ours:>11.0} ns{:>8.2}", ours / typed)
}

fn few(wave: &Wave) -> Result<(f64, f64), Failure> {
    compare(wave, "max(temp), avg(energy)", &mut FewFilter(Typed::new(wave)?))
}

fn many(wave: &Wave) -> Result<(f64, f64), Failure> {
    let specification =
        "max(temp), avg(energy), min(coord[0]), sum(id), avg(flags), max(node_count), sum(disp[2]), count()";
    compare(wave, specification, &mut ManyFilter(Typed::new(wave)?))
}

fn array(wave: &Wave) -> Result<(f64, f64), Failure> {
    compare(wave, "sum(load)", &mut ArrayFilter { typed: Typed::new(wave)?, sums: Vec::new() })
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

    fn each(&mut self, parts: &[Part<'_>], mut each: impl FnMut(&Sample, u32)) -> Result<(), FilterError> {
        for part in parts {
            let sample = self.decoder.view(part.format.id(), part.body).map_err(custom)?;
            each(sample, part.members.first().unwrap_or(0));
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

struct FewFilter(Typed);

impl Filter for FewFilter {
    fn wave(&mut self, parts: &[Part<'_>], _: Place, out: &mut Output) -> Result<(), FilterError> {
        let mut few = Few::default();
        self.0.each(parts, |sample, rank| few.add(sample, rank))?;
        self.0.write(&few, out)
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

struct ManyFilter(Typed);

impl Filter for ManyFilter {
    fn wave(&mut self, parts: &[Part<'_>], _: Place, out: &mut Output) -> Result<(), FilterError> {
        let (mut many, mut fits) = (Many::default(), true);
        self.0.each(parts, |sample, rank| fits &= many.add(sample, rank).is_some())?;
        if fits { self.0.write(&many, out) } else { Err(custom("overflow")) }
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
    fn wave(&mut self, parts: &[Part<'_>], _: Place, out: &mut Output) -> Result<(), FilterError> {
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

/// Times a filter for a Rust type and a reduction.
fn compare(wave: &Wave, specification: &str, typed: &mut dyn Filter) -> Result<(f64, f64), Failure> {
    let mut reduction = Reduction::new(specification.parse()?, ReductionLimits::default());
    let parts = wave.parts();
    let (mut one, mut other) = (Output::new(), Output::new());
    Ok(alternate(&mut || run(typed, &parts, &mut one), &mut || run(&mut reduction, &parts, &mut other)))
}

fn run(filter: &mut dyn Filter, parts: &[Part<'_>], out: &mut Output) {
    out.clear();
    filter.wave(parts, Place::Inner, out).expect("valid parts");
    std::hint::black_box(out.records());
}

/// The best batch of each, in nanoseconds an operation.
fn alternate(one: &mut dyn FnMut(), other: &mut dyn FnMut()) -> (f64, f64) {
    let sizes = [batch_size(one), batch_size(other)];
    let mut best = [f64::INFINITY; 2];
    for _ in 0..BATCHES {
        best[0] = best[0].min(batch(one, sizes[0]));
        best[1] = best[1].min(batch(other, sizes[1]));
    }
    (best[0], best[1])
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
