//! What a hop costs on this machine, measured between real processes over real sockets.
//!
//! The time of a hop comes from trees without branches; what a node pays comes from the processor time of a front-end with
//! many children, so that it is not disturbed by their having to share the machine's processors.

use std::time::{Duration, Instant};

use super::banyan::Banyan;
use super::model::Costs;
use super::{RunningError, Shape, WAVES, fill, median_of};
use crate::stopwatch::thread_cpu_nanoseconds;

/// A tree without branches, and how many levels it has.
const CHAIN: [u32; 2] = [1, 1];

/// Children of the node whose work is measured.
const CHILDREN: u32 = 16;

/// How long each cost is measured.
const WITHIN: Duration = Duration::from_millis(200);

/// Measures what Banyan's messages cost, in about a second.
///
/// # Errors
/// If a network cannot be started or does not answer.
pub fn calibrate() -> Result<Costs, RunningError> {
    let mut chain = Banyan::start(&Shape::of(&CHAIN))?.0;
    let round_trip_us = 1e6 * fill(WITHIN, 1, |count| Ok(median_of(chain.round_trips(count)?) * count as u32))?;
    drop(chain);
    let mut bush = Banyan::start(&Shape::of(&[CHILDREN, 1]))?.0;
    let (mut send_us, mut receive_us, mut wave_us) = (0.0, 0.0, 0.0);
    fill(WITHIN, 1, |count| {
        let begin = Instant::now();
        (send_us, receive_us) = bush.front_end_work(count)?;
        Ok(begin.elapsed())
    })?;
    fill(WITHIN, WAVES, |count| {
        let begin = thread_cpu_nanoseconds();
        let took = bush.waves(count)?;
        wave_us = (thread_cpu_nanoseconds() - begin) as f64 / 1e3 / (count * u64::from(CHILDREN)) as f64;
        Ok(took)
    })?;
    // The rest of a round trip is two hops a level; what whoever answers does itself is part of them.
    let hop_us = ((round_trip_us / CHAIN.len() as f64 - send_us - receive_us) / 2.0).max(0.0);
    Ok(Costs { hop_us, send_us, receive_us, wave_us })
}
