//! `banyan bench events`: what it costs a program to emit events and to have knobs, and an observer to take events and to set
//! knobs.
//!
//! Beside it, in turn, the floor: a ring by hand that stores a counter, a stamp and the payload, with no reader in mind. And
//! the crate `tracing` with a subscriber that writes into memory, and LTTng-UST where it is installed.

mod floor;
mod knobs;
mod lttng_rival;
mod rows;
mod tracing_rival;

use std::hint::black_box;
use std::time::{Duration, Instant};

use banyan_ndr::Record;
use banyan_sensor::observe::{Observer, Segment};
use banyan_sensor::{Gauge, Policy, Sensor, Status};

use crate::launch::LeftOut;
use crate::{Contestant, Effort, compare};
use floor::{EventFloor, Stamp};
pub use rows::{EventFigures, EventRow, Promise, events_json, events_table, promises};

/// 16 bytes.
#[derive(Record, Debug, Clone, Copy)]
struct Step {
    number: u64,
    residual: f64,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// This process cannot have a segment.
    #[error("this process cannot be watched: {0}")]
    Unwatchable(String),
    /// A sensor was refused.
    #[error(transparent)]
    Sensor(#[from] banyan_sensor::SensorError),
    /// The segment cannot be observed.
    #[error(transparent)]
    Segment(#[from] banyan_sensor::observe::SegmentError),
    /// A knob was not set.
    #[error("the machine is too busy: a knob was not set within ten seconds; measure again")]
    Unset,
    /// The observer was not heard of for so long that nothing was written for it any more.
    #[error("the machine is too busy: the observer had no turn for ten seconds; measure again")]
    Lapsed,
}

/// Measures everything; `progress` is told what comes next.
///
/// # Errors
/// When this process cannot have a segment, or cannot observe it.
pub fn run(effort: Effort, progress: &mut dyn FnMut(&str)) -> Result<EventFigures, EventsError> {
    let watched = Sensor::<Step>::new("bench.watched")?;
    let unwatched = Sensor::<Step>::new("bench.unwatched")?;
    let latest = Sensor::<Step>::options("bench.latest").policy(Policy::LatestOnly).build()?;
    let gauge = Gauge::new("bench.gauge", "1")?;
    let path = match banyan_sensor::status() {
        Status::Watchable(path) => path,
        Status::Unavailable(why) => return Err(EventsError::Unwatchable(why)),
        _ => return Err(EventsError::Unwatchable("no sensor is there".into())),
    };
    let mut observer = Segment::open(&path)?.observe()?;
    ["bench.watched", "bench.latest"].iter().for_each(|name| {
        observer.watch(name);
    });
    progress("emit");
    let mut rows = emit(effort, &watched, &unwatched, &latest, gauge);
    check_watched(&mut observer)?;
    progress("drain");
    rows.extend(drain(effort, &watched, &mut observer)?);
    progress("knobs");
    rows.extend(knobs::measure(effort, &path)?);
    progress("deliver");
    let delivered = Sensor::<Step>::options("bench.delivered").policy(Policy::Block(PATIENCE)).build()?;
    rows.extend(deliver(effort, delivered, &mut observer)?);
    progress("LTTng-UST");
    let mut left_out = Vec::new();
    match lttng_rival::measure(effort) {
        Ok(more) => rows.extend(more),
        Err(reason) => left_out.push(LeftOut { system: "lttng_ust".into(), reason }),
    }
    Ok(EventFigures { rows, left_out })
}

/// Events that were to be observed were.
fn check_watched(observer: &mut Observer) -> Result<(), EventsError> {
    observer.drain(|_| ())?;
    let is_watched = observer.accounts().iter().all(|account| account.emitted > 0 && account.in_flight() == 0);
    if is_watched && observer.lapses() == 0 { Ok(()) } else { Err(EventsError::Lapsed) }
}

/// What one event costs its program.
fn emit(
    effort: Effort,
    watched: &Sensor<Step>,
    unwatched: &Sensor<Step>,
    latest: &Sensor<Step>,
    gauge: Gauge,
) -> Vec<EventRow> {
    let mut number = 0;
    let mut next = || {
        number += 1;
        Step { number, residual: 0.5 }
    };
    let mut steps = [next(); 8];
    steps.iter_mut().for_each(|step| *step = next());
    let step = |at: &mut usize| {
        *at = (*at + 1) % 8;
        black_box(steps[*at])
    };
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g] = [0; 7];
    let (counter, clock, plain) = (EventFloor::new(), EventFloor::new(), EventFloor::new());
    let tracing = tracing_rival::TracingRival::new();
    let mut contestants = [
        Contestant::new(|| watched.emit(&step(&mut a))),
        Contestant::new(|| unwatched.emit(&step(&mut b))),
        Contestant::new(|| latest.emit(&step(&mut c))),
        Contestant::new(|| gauge.set(black_box(0.5))),
        Contestant::new(|| counter.put(Stamp::Own, step(&mut d))),
        Contestant::new(|| clock.put(Stamp::ClockGettime, step(&mut e))),
        Contestant::new(|| plain.put(Stamp::None, step(&mut f))),
        Contestant::new(|| tracing.event(step(&mut g))),
    ];
    let names = [
        ("banyan", "emit_observed"),
        ("banyan", "emit_unobserved"),
        ("banyan", "emit_latest_only"),
        ("banyan", "gauge_set"),
        ("floor", "emit_observed"),
        ("floor_clock_gettime", "emit_observed"),
        ("floor_unstamped", "emit_observed"),
        ("tracing", "emit_observed"),
    ];
    let times = compare(effort, &mut contestants);
    let row = |((system, op), time): (&(&'static str, &'static str), &crate::Timing)| {
        EventRow::nanoseconds(system, op, *time)
    };
    names.iter().zip(&times).map(row).collect()
}

/// Events that are written before an observer drains: fewer than a ring holds.
const BATCH: u64 = 4000;

/// What one event costs its observer.
fn drain(effort: Effort, watched: &Sensor<Step>, observer: &mut Observer) -> Result<Vec<EventRow>, EventsError> {
    observer.drain(|_| ())?;
    let mut times = Vec::new();
    let mut sum = 0;
    for _ in 0..effort.batches {
        (0..BATCH).for_each(|number| watched.emit(&Step { number, residual: 0.5 }));
        let start = crate::stopwatch::thread_cpu_nanoseconds();
        let count = observer.drain(|event| sum += event.stamp & 1)?;
        times.push((crate::stopwatch::thread_cpu_nanoseconds() - start) as f64 / count.max(1) as f64);
    }
    black_box(sum);
    times.sort_by(f64::total_cmp);
    let timing = crate::Timing { best: times[0], median: times[times.len() / 2] };
    Ok(vec![
        EventRow::nanoseconds("banyan", "drain", timing),
        EventRow::rate("banyan", "drain_rate", 1e3 / timing.median),
    ])
}

/// How long a thread waits for the observer at most: in this bench nothing is to be lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// One thread emits as fast as it can, and another takes the events as fast as it can; by the clock on the wall.
fn deliver(effort: Effort, sensor: Sensor<Step>, observer: &mut Observer) -> Result<Vec<EventRow>, EventsError> {
    let events = 100_000 * effort.batches as u64;
    observer.drain(|_| ())?;
    observer.watch("bench.delivered");
    let start = Instant::now();
    let writer =
        std::thread::spawn(move || (0..events).for_each(|number| sensor.emit(&Step { number, residual: 0.5 })));
    let (mut sum, mut lost) = (0, 0);
    let mut count = 0;
    while count + lost < events {
        count += observer.drain(|event| sum += event.stamp & 1)?;
        let account = observer.accounts().into_iter().find(|account| account.sensor == "bench.delivered");
        lost = account.map_or(0, |account| account.dropped.total());
    }
    black_box(sum);
    let rate = count as f64 / start.elapsed().as_secs_f64() / 1e6;
    // It has emitted everything.
    let _ = writer.join();
    Ok(vec![EventRow::rate("banyan", "deliver_rate", rate), EventRow::count("banyan", "deliver_lost", lost)])
}
