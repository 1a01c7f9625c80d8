//! Sensors: where a program emits events.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::Record;

use crate::clock::stamp;
use crate::error::SensorError;
use crate::layout::sensor as entry;
use crate::policy::Policy;
use crate::process::{self, Description, Entered};
use crate::ring::Head;
use crate::{latest, local, payload};

/// What a sensor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Events.
    Event = 1,
    /// Entries to a part of the program and exits from it.
    Span = 2,
    /// A number that only grows.
    Counter = 3,
    /// A number.
    Gauge = 4,
}

impl Kind {
    pub(crate) fn from_number(number: u64) -> Option<Kind> {
        [Kind::Event, Kind::Span, Kind::Counter, Kind::Gauge].into_iter().find(|kind| *kind as u64 == number)
    }
}

/// A place in a program that emits events of one type.
///
/// While nobody watches, [`emit`](Self::emit) is one load and a branch. Sensors are made once, at the start or when they
/// are first needed, and can be copied and shared by threads.
///
/// ```
/// use banyan_ndr::Record;
/// use banyan_sensor::Sensor;
///
/// #[derive(Record)]
/// struct Step { n: u64, residual: f64 }
///
/// let step = Sensor::<Step>::new("solver.step")?;
/// for n in 0..100 {
///     step.emit(&Step { n, residual: 1.0 / (n + 1) as f64 });
/// }
/// # Ok::<(), banyan_sensor::SensorError>(())
/// ```
#[derive(Debug)]
pub struct Sensor<T> {
    watched: &'static AtomicU64,
    index: u16,
    /// Whether events go to the ring that is overwritten, all of them.
    is_quick: bool,
    policy: Policy,
    entered: Entered,
    events: PhantomData<fn(&T)>,
}

impl<T> Clone for Sensor<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Sensor<T> {}

/// How a sensor is to be, from [`Sensor::options`].
#[derive(Debug, Clone)]
pub struct SensorOptions<T> {
    description: Description,
    events: PhantomData<fn(&T)>,
}

impl<T: Record> SensorOptions<T> {
    /// The unit of what is measured: `ms`, `bytes`, `1`.
    #[must_use]
    pub fn unit(mut self, unit: &str) -> Self {
        self.description.unit = unit.into();
        self
    }

    /// What the events mean, in a sentence.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.description.description = description.into();
        self
    }

    /// What happens when there is no room.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.description.policy = policy;
        self
    }

    /// Events are written though nobody watches, so that the last ones can be read after a crash.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.description.always = true;
        self
    }

    /// Makes the sensor. One of the same name, type and options is the same sensor.
    ///
    /// # Errors
    /// What is wrong with the name or the options. Where the process cannot have a segment there is no error: the sensor
    /// does nothing, and [`status`](crate::status) says why.
    pub fn build(mut self) -> Result<Sensor<T>, SensorError> {
        let name = &self.description.name;
        let policy = self.description.policy;
        check_name(name)?;
        if policy == Policy::LatestOnly {
            if !T::IN_PLACE || T::SIZE > LARGEST_LATEST {
                return Err(SensorError::NotFixed { name: name.clone() });
            }
            self.description.cell_words = latest::cell_words(T::SIZE);
        }
        let entered = process::enter(self.description)?;
        let Entered { index, watched, .. } = entered;
        let is_quick = policy == Policy::DropOldest;
        Ok(Sensor { watched, index, is_quick, policy, entered, events: PhantomData })
    }
}

/// Bytes of the largest record of which the latest alone is kept.
const LARGEST_LATEST: usize = 32 << 10;

/// Bytes of the longest name.
const LONGEST_NAME: usize = 255;

pub(crate) fn check_name(name: &str) -> Result<(), SensorError> {
    let fits = !name.is_empty() && name.len() <= LONGEST_NAME && !name.contains(char::is_control);
    if fits { Ok(()) } else { Err(SensorError::Name { name: name.into() }) }
}

thread_local! {
    /// Records with padding or references are encoded here.
    static ENCODED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl<T: Record> Sensor<T> {
    /// Makes a sensor that drops its oldest events.
    ///
    /// # Errors
    /// As [`SensorOptions::build`].
    pub fn new(name: &str) -> Result<Sensor<T>, SensorError> {
        Self::options(name).build()
    }

    /// The options of a sensor that is to be made.
    pub fn options(name: &str) -> SensorOptions<T> {
        Self::options_of(name, Kind::Event)
    }

    pub(crate) fn options_of(name: &str, kind: Kind) -> SensorOptions<T> {
        let description = Description {
            name: name.into(),
            unit: String::new(),
            description: String::new(),
            kind,
            format: Some(T::format()),
            policy: Policy::default(),
            always: false,
            cell_words: 0,
        };
        SensorOptions { description, events: PhantomData }
    }

    /// Whether anybody wants the events: for programs that do much work to make one.
    #[inline]
    pub fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed) != 0
    }

    /// Emits an event, if anybody watches. Takes no lock, makes no system call and does not wait, unless the policy is
    /// [`Policy::Block`].
    ///
    /// The first event of a thread is an exception: its ring is made then. [`prepare_thread`](crate::prepare_thread) does
    /// that before. A record with texts or lists is encoded into memory of the thread, which grows to the longest one.
    /// Signal handlers may emit on threads that have emitted before, records without texts or lists.
    #[inline]
    pub fn emit(&self, record: &T) {
        if self.is_watched() {
            self.emit_watched(record);
        }
    }

    #[inline(never)]
    fn emit_watched(&self, record: &T) {
        if T::PLAIN {
            let store = |words: &[AtomicU64]| payload::store(record, words);
            let written = self.is_quick
                && local::current().is_some_and(|local| local.write_quickly(self.index, size_of::<T>(), store));
            if !written {
                self.emit_slowly(size_of::<T>(), &store);
            }
        } else {
            self.emit_encoded(record);
        }
    }

    fn emit_encoded(&self, record: &T) {
        let encoded = ENCODED.try_with(|bytes| {
            let mut bytes = bytes.try_borrow_mut().ok()?;
            bytes.clear();
            banyan_ndr::typed::encode_body_into(record, &mut bytes).ok()?;
            self.emit_slowly(bytes.len(), &|words| payload::store_bytes(&bytes, words));
            Some(())
        });
        if !matches!(encoded, Ok(Some(()))) {
            self.entered.entry[entry::NO_ROOM].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Everything but the usual case.
    #[inline(never)]
    fn emit_slowly(&self, length: usize, store: &dyn Fn(&[AtomicU64])) {
        let local = local::current().unwrap_or_else(local::attach);
        // In a child of `fork` the word was set to bring the thread here.
        if !self.is_watched() {
            return;
        }
        if self.policy == Policy::LatestOnly {
            let head =
                Head { length: length as u16, sensor: self.index, thread: local.thread(), stamp: stamp(), sequence: 0 };
            if !latest::write(self.entered.cell, head, store) {
                self.entered.entry[entry::CONTENDED].fetch_add(1, Ordering::Relaxed);
            }
        } else if !local.write(self.index, self.policy, length, store) {
            self.entered.entry[entry::NO_ROOM].fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Makes the ring of this thread, so that its first event costs no more than others.
pub fn prepare_thread() {
    local::current().unwrap_or_else(local::attach).prepare();
}
