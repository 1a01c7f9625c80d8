//! Counters and gauges: numbers that observers sample. Writing one makes no event.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::SensorError;
use crate::layout::sensor::VALUE;
use crate::policy::Policy;
use crate::process::{self, Description};
use crate::sensor::{Kind, check_name};

fn enter(name: &str, unit: &str, kind: Kind) -> Result<&'static AtomicU64, SensorError> {
    check_name(name)?;
    let description = Description {
        name: name.into(),
        unit: unit.into(),
        description: String::new(),
        kind,
        format: None,
        policy: Policy::default(),
        always: false,
        cell_words: 0,
    };
    Ok(&process::enter(description)?.entry[VALUE])
}

/// A number that only grows, such as bytes sent.
#[derive(Debug, Clone, Copy)]
pub struct Counter(&'static AtomicU64);

impl Counter {
    /// Makes a counter. One of the same name is the same counter.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn new(name: &str, unit: &str) -> Result<Counter, SensorError> {
        enter(name, unit, Kind::Counter).map(Counter)
    }

    /// Adds to it.
    #[inline]
    pub fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }
}

/// A number that goes up and down, such as the length of a queue.
#[derive(Debug, Clone, Copy)]
pub struct Gauge(&'static AtomicU64);

impl Gauge {
    /// Makes a gauge. One of the same name is the same gauge.
    ///
    /// # Errors
    /// What is wrong with the name.
    pub fn new(name: &str, unit: &str) -> Result<Gauge, SensorError> {
        enter(name, unit, Kind::Gauge).map(Gauge)
    }

    /// Sets it.
    #[inline]
    pub fn set(&self, number: f64) {
        self.0.store(number.to_bits(), Ordering::Relaxed);
    }
}
