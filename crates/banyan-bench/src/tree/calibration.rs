//! What a hop costs on this machine, measured between real processes over real sockets.
//!
//! The time of a hop comes from a front-end with one child; what a node pays comes from the processor time of a
//! front-end with many, so that it is not disturbed by its children having to share the machine's processors.

use std::io;
use std::time::Duration;

use super::floor::Floor;
use super::model::Costs;
use super::{Shape, fill, median_of};
use crate::stopwatch::thread_cpu_nanoseconds;

/// Children of the node whose work is measured.
const CHILDREN: u32 = 16;

/// How long each cost is measured.
const WITHIN: Duration = Duration::from_millis(150);

/// Measures the costs of messages without any protocol, in about a second.
///
/// # Errors
/// If processes cannot be started or do not answer.
pub fn calibrate() -> io::Result<Costs> {
    let mut one = Floor::start(&Shape::of(&[1]))?.0;
    let (count, seconds) = fill(WITHIN, |count| Ok::<_, io::Error>(median_of(one.round_trips(count)?) * count as u32))?;
    let round_trip_us = seconds * 1e6 / count as f64;
    drop(one);
    let mut many = Floor::start(&Shape::of(&[CHILDREN]))?.0;
    let mut work = (0.0, 0.0);
    fill(WITHIN, |count| {
        let begin = std::time::Instant::now();
        work = many.front_end_work(count)?;
        Ok::<_, io::Error>(begin.elapsed())
    })?;
    let (send_us, receive_us) = work;
    let mut of_wave = |is_batched: bool| {
        let mut each = 0.0;
        fill(WITHIN, |count| {
            let begin = thread_cpu_nanoseconds();
            let took = many.waves(count, is_batched)?;
            each = (thread_cpu_nanoseconds() - begin) as f64 / 1e3 / (count * u64::from(CHILDREN)) as f64;
            Ok::<_, io::Error>(took)
        })?;
        Ok::<_, io::Error>(each)
    };
    let (wave_us, wave_alone_us) = (of_wave(true)?, of_wave(false)?);
    // The rest of a round trip is two hops; what the child itself does is part of them.
    let hop_us = ((round_trip_us - send_us - receive_us) / 2.0).max(0.0);
    Ok(Costs { hop_us, send_us, receive_us, wave_us, wave_alone_us })
}
