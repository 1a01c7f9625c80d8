//! What knobs cost: a program that gets values and comes to steering points, and an observer that sets them.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use banyan_sensor::observe::{Answer, Mailbox, Request, Segment};
use banyan_sensor::{Knob, step};

use super::{EventRow, EventsError, Step};
use crate::{Contestant, Effort, Timing, compare};

/// Measures them; the process has the segment at this path.
pub(super) fn measure(effort: Effort, path: &Path) -> Result<Vec<EventRow>, EventsError> {
    let number = Knob::options("bench.number", 0.5).range(0.0..=1.0).build()?;
    let record = Knob::new("bench.record", Step { number: 1, residual: 0.5 })?;
    let mut reached = 0;
    let mut contestants = [
        Contestant::new(|| number.get()),
        Contestant::new(|| record.get()),
        Contestant::new(|| {
            reached += 1;
            step(reached);
        }),
    ];
    let times = compare(effort, &mut contestants);
    let names = ["knob_get", "knob_get_record", "step"];
    let mut rows: Vec<EventRow> =
        names.iter().zip(&times).map(|(op, time)| EventRow::nanoseconds("banyan", op, *time)).collect();
    rows.push(EventRow::nanoseconds("banyan", "knob_set", set(effort, number, path)?));
    Ok(rows)
}

/// How long a change may take before the program counts as stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// From sending a value to its acknowledgement, by the clock on the wall, while another thread gets the value all the time.
fn set(effort: Effort, knob: Knob<f64>, path: &Path) -> Result<Timing, EventsError> {
    let segment = Segment::open(path)?;
    let known = segment.knobs()?.into_iter().find(|known| known.name == "bench.number").ok_or(EventsError::Unset)?;
    let mut mailbox = Mailbox::open(&segment, "banyan bench events")?;
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Ordering::Relaxed) {
                std::hint::black_box(knob.get());
            }
        });
        let mut times = Vec::new();
        let mut change = |value: f64| {
            let body = known.body(value).map_err(|_| EventsError::Unset)?;
            let start = Instant::now();
            let ticket = mailbox.send(&Request::set(&known, body))?;
            let answer = mailbox.wait(ticket, PATIENCE);
            times.push(start.elapsed().as_nanos() as f64);
            if matches!(answer, Answer::Done { .. }) { Ok(()) } else { Err(EventsError::Unset) }
        };
        let changed = (0..effort.batches * 10).try_for_each(|number| change((number % 8) as f64 / 8.0));
        end.store(true, Ordering::Relaxed);
        changed?;
        times.sort_by(f64::total_cmp);
        Ok(Timing { best: times[0], median: times[times.len() / 2] })
    })
}
