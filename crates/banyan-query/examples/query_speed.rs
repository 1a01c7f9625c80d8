//! What a query costs a host for each event, beside the same written in Rust for the type of the events.
//!
//! `cargo run --release -p banyan-query --example query_speed [PART OF A ROW'S NAME]`. Both sides take the bodies of the same
//! events, in batches that alternate. The floor reads the fields that it needs at their offsets, and keeps what the query
//! keeps: counters, or a hash map of them. Sums of floats are exact in a query and rounded in the floor. Thread CPU time, the
//! median of many batches; the ratio is the median of those of neighbouring batches.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::Write;

use banyan_ndr::{Record, typed};
use banyan_query::{Event, HostLimits, HostSide, Process, Query, Selector};
use rustix::time::{ClockId, clock_gettime};

/// Events of a batch: as many as stay in the first caches.
const EVENTS: usize = 512;
const BATCHES: usize = 300;

type Failure = Box<dyn std::error::Error>;

/// 32 bytes.
#[derive(Record, Clone, Copy)]
struct Step {
    n: u64,
    residual: f64,
    ms: f64,
    level: i32,
    rank: u32,
}

fn step(n: u64) -> Step {
    // Pseudo-random, so that no branch is foreseen.
    let random = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u32;
    Step {
        n,
        residual: f64::from(random) / 1e7,
        ms: f64::from(random % 1000),
        level: (random % 100) as i32,
        rank: random % 16,
    }
}

/// What a program would keep of a group.
#[derive(Default, Clone, Copy)]
struct Group {
    count: u64,
    sum: f64,
    max: f64,
}

impl Group {
    #[inline]
    fn add(&mut self, ms: f64) {
        self.count += 1;
        self.sum += ms;
        self.max = self.max.max(ms);
    }
}

fn main() -> Result<(), Failure> {
    let bodies: Vec<Vec<u8>> = (0..EVENTS as u64).map(|n| body(&step(n))).collect::<Result<_, _>>()?;
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut table = Table { out: std::io::stdout().lock(), wanted, bodies };
    writeln!(table.out, "{:<58}{:>10}{:>10}{:>8}", "an event", "by hand", "query", "ratio")?;
    let mut count = 0_u64;
    table.row("count() where level > 98", &mut |body| {
        count += u64::from(level(body) > 98);
    })?;
    table.row("count() where level > 98 and residual > 0.5", &mut |body| {
        count += u64::from(level(body) > 98 && float(body, 8) > 0.5);
    })?;
    table.row("count() where ms + residual > 998 or n < 2", &mut |body| {
        count += u64::from(float(body, 16) + float(body, 8) > 998.0 || word(body, 0) < 2);
    })?;
    table.row("count()", &mut |_| count += 1)?;
    let mut all = Group::default();
    table.row("count(), max(ms)", &mut |body| all.add(float(body, 16)))?;
    table.row("count(), avg(ms), max(ms)", &mut |body| all.add(float(body, 16)))?;
    let mut groups: HashMap<u32, Group> = HashMap::new();
    table.row("count(), max(ms) group by rank", &mut |body| {
        groups.entry(0).or_default().add(float(body, 16));
    })?;
    table.row("count(), max(n), max(ms) group by host", &mut |body| {
        groups.entry(0).or_default().add(float(body, 16));
    })?;
    table.row("count(), max(ms) group by \"rank\"", &mut |body| {
        groups.entry(word(body, 28) as u32).or_default().add(float(body, 16));
    })?;
    table.row("count(), avg(ms), max(ms) group by \"rank\"", &mut |body| {
        groups.entry(word(body, 28) as u32).or_default().add(float(body, 16));
    })?;
    table.row("count(), p99(ms) group by \"rank\"", &mut |body| {
        groups.entry(word(body, 28) as u32).or_default().add(float(body, 16));
    })?;
    black_box((count, all, groups));
    table.compilation()
}

fn body(step: &Step) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    typed::encode_body_into(step, &mut body)?;
    Ok(body)
}

fn level(body: &[u8]) -> i32 {
    i32::from_ne_bytes(body[24..28].try_into().expect("four bytes"))
}

fn float(body: &[u8], at: usize) -> f64 {
    f64::from_ne_bytes(body[at..at + 8].try_into().expect("eight bytes"))
}

fn word(body: &[u8], at: usize) -> u64 {
    let bytes = &body[at..(at + 8).min(body.len())];
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// What is printed.
struct Table<W> {
    out: W,
    /// A part of the names of the rows that are measured.
    wanted: String,
    bodies: Vec<Vec<u8>>,
}

impl<W: Write> Table<W> {
    fn row(&mut self, asked: &str, by_hand: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        if !asked.contains(&self.wanted) {
            return Ok(());
        }
        let (items, rest) = asked.find(" where").or(asked.find(" group")).map_or((asked, ""), |at| asked.split_at(at));
        let query: Query = format!("select {items} from step{rest} every 1s").parse()?;
        let selector = Selector::new(&query, "step", Step::format())?;
        let mut host = HostSide::new(&query, 0, HostLimits::default());
        let process = Process { host: "node17", job: Some("4711"), rank: Some(3), pid: 99 };
        let bodies = &self.bodies;
        let mut number = 0_i64;
        let mut ours = || {
            for body in bodies {
                number += 1;
                let event = Event { process: &process, thread: 1, sequence: number as u64, time: number, body };
                host.event(&selector, black_box(&event));
            }
        };
        let mut floor = || bodies.iter().for_each(|body| by_hand(black_box(body)));
        let [floor, ours, ratio] = alternate(&mut floor, &mut ours);
        writeln!(self.out, "{asked:<58}{floor:>7.1} ns{ours:>7.1} ns{ratio:>8.2}")?;
        if host.counts().failed > 0 { Err("events failed".into()) } else { Ok(()) }
    }

    /// Times what it takes from text to the first event.
    fn compilation(&mut self) -> Result<(), Failure> {
        for text in [
            "select * from step where level > 98",
            "select max(residual), p99(ms) from step where level > 2 group by host every 1s having max(residual) > 1e-3",
        ] {
            let mut compile = || {
                let query: Query = text.parse().expect("a query");
                black_box(Selector::new(&query, "step", Step::format()).expect("fields that are there"));
            };
            compile();
            let times = (0..BATCHES).map(|_| batch(&mut compile, 10));
            writeln!(self.out, "compiled in {:.0} us: {text}", median(times) / 1e3)?;
        }
        Ok(())
    }
}

/// Medians of both, in nanoseconds an event, and of their ratios.
fn alternate(floor: &mut dyn FnMut(), ours: &mut dyn FnMut()) -> [f64; 3] {
    (0..10).for_each(|_| {
        floor();
        ours();
    });
    let pairs: Vec<_> = (0..BATCHES).map(|_| (batch(floor, 100), batch(ours, 20))).collect();
    let event = |time: f64| time / EVENTS as f64;
    [
        event(median(pairs.iter().map(|(floor, _)| *floor))),
        event(median(pairs.iter().map(|(_, ours)| *ours))),
        median(pairs.iter().map(|(floor, ours)| ours / floor)),
    ]
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds of CPU that each of so many takes.
fn batch(operation: &mut dyn FnMut(), size: u32) -> f64 {
    let start = thread_cpu_nanoseconds();
    (0..size).for_each(|_| operation());
    (thread_cpu_nanoseconds() - start) as f64 / f64::from(size)
}

fn thread_cpu_nanoseconds() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
