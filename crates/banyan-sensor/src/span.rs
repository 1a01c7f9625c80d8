//! Spans, marks and single values: sensors for what programs say most often.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::Record;

use crate::error::SensorError;
use crate::sensor::{Kind, Sensor};

/// An event of a span: a thread enters or leaves it.
#[derive(Record, Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanEdge {
    /// Which entry, counted in the process from 1.
    pub span: u64,
    /// The entry of the span around it on the same thread; 0 if there is none.
    pub parent: u64,
    /// 0: enters; 1: leaves.
    pub leaves: u64,
}

/// A part of the program that threads enter and leave.
///
/// ```
/// let solve = banyan_sensor::Span::new("solver.solve")?;
/// {
///     let _inside = solve.enter();
///     // …
/// }
/// # Ok::<(), banyan_sensor::SensorError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Span(Sensor<SpanEdge>);

thread_local! {
    static INNERMOST: Cell<u64> = const { Cell::new(0) };
}

static ENTRIES: AtomicU64 = AtomicU64::new(1);

impl Span {
    /// Makes a span. One of the same name is the same span.
    ///
    /// # Errors
    /// As [`SensorOptions::build`](crate::SensorOptions::build).
    pub fn new(name: &str) -> Result<Span, SensorError> {
        Sensor::options_of(name, Kind::Span).build().map(Span)
    }

    /// Enters the span; dropping the guard leaves it. A span that was entered while nobody watched has no events.
    #[inline]
    pub fn enter(&self) -> InSpan<'_> {
        if self.0.is_watched() { self.enter_watched() } else { InSpan { span: self, edge: None, thread: PhantomData } }
    }

    fn enter_watched(&self) -> InSpan<'_> {
        let span = ENTRIES.fetch_add(1, Ordering::Relaxed);
        let edge = SpanEdge { span, parent: INNERMOST.replace(span), leaves: 0 };
        self.0.emit(&edge);
        InSpan { span: self, edge: Some(edge), thread: PhantomData }
    }
}

/// A thread is in a span until this is dropped.
#[derive(Debug)]
#[must_use = "the span is left when the guard is dropped"]
pub struct InSpan<'a> {
    span: &'a Span,
    edge: Option<SpanEdge>,
    /// The guard stays on its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for InSpan<'_> {
    fn drop(&mut self) {
        if let Some(edge) = self.edge {
            INNERMOST.set(edge.parent);
            self.span.0.emit(&SpanEdge { leaves: 1, ..edge });
        }
    }
}

/// A number that a program reports by [`event!`](crate::event!).
#[derive(Record, Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The number.
    pub value: f64,
}

/// A moment that a program reports by [`mark!`](crate::mark!).
#[derive(Record, Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// A number of the program's choice.
    pub number: u64,
}

/// Emits a number as an event. The sensor is made at the first call; the name is a literal.
///
/// ```
/// banyan_sensor::event!("solver.residual", 0.25);
/// ```
#[macro_export]
macro_rules! event {
    ($name:literal, $value:expr) => {{
        static SENSOR: ::std::sync::OnceLock<::std::option::Option<$crate::Sensor<$crate::Value>>> =
            ::std::sync::OnceLock::new();
        if let ::std::option::Option::Some(sensor) = SENSOR.get_or_init(|| $crate::Sensor::new($name).ok()) {
            sensor.emit(&$crate::Value { value: $value });
        }
    }};
}

/// Emits a moment as an event, with a number or without. The sensor is made at the first call; the name is a literal.
///
/// ```
/// banyan_sensor::mark!("checkpoint");
/// banyan_sensor::mark!("checkpoint.of_step", 17);
/// ```
#[macro_export]
macro_rules! mark {
    ($name:literal) => {
        $crate::mark!($name, 0)
    };
    ($name:literal, $number:expr) => {{
        static SENSOR: ::std::sync::OnceLock<::std::option::Option<$crate::Sensor<$crate::Mark>>> =
            ::std::sync::OnceLock::new();
        if let ::std::option::Option::Some(sensor) = SENSOR.get_or_init(|| $crate::Sensor::new($name).ok()) {
            sensor.emit(&$crate::Mark { number: $number });
        }
    }};
}
