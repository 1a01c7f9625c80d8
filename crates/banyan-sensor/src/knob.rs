//! Knobs: values of a program that observers may change while it runs.

use std::any::Any;
use std::fmt::{self, Debug, Formatter};
use std::ops::{Bound, RangeBounds};
use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::typed::{Read, Wire, encode_body_into};
use banyan_ndr::{DecodeError, EncodeError, Record, read_native};

use crate::error::SensorError;
use crate::layout::{LONGEST_VALUE, WORD, knob};
use crate::ring::Head;
use crate::sensor::check_name;
use crate::steering::requests::{KnobDescription, SteeringTarget};
use crate::steering::{self, Refusal};
use crate::{latest, payload, process};

/// What a knob can hold: numbers, `bool`, text, enumerations and records, of at most 1,024 bytes in all.
///
/// Everything that can stand in a record can be the value of a knob: `#[derive(Record)]` makes it so for your types.
pub trait Setting: Wire + for<'a> Read<'a> + 'static {}

impl<T: Wire + for<'a> Read<'a> + 'static> Setting for T {}

/// The record that a knob's value travels and is shown as.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
pub struct KnobValue<T> {
    /// The value.
    pub value: T,
}

/// A value of a program that observers may change while it runs.
///
/// [`get`](Self::get) costs two loads and a branch. A change is seen whole, by all threads. When it is seen is the observer's
/// choice: at the next `get` of any thread, at the program's next [`steering_point`](crate::steering_point), or at a
/// [`step`](crate::step), in all processes of a job.
///
/// ```
/// use banyan_sensor::Knob;
///
/// let dt = Knob::options("solver.dt", 0.5).range(1e-6..=1.0).unit("s").build()?;
/// let mut time = 0.0;
/// for n in 0..100 {
///     banyan_sensor::step(n);
///     time += dt.get();
/// }
/// assert_eq!(time, 50.0, "nobody has changed it");
/// # Ok::<(), banyan_sensor::SensorError>(())
/// ```
#[derive(Debug)]
pub struct Knob<T: 'static> {
    /// Not 0 when something has come for this process.
    bell: &'static AtomicU64,
    state: &'static State<T>,
    index: usize,
}

impl<T> Clone for Knob<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Knob<T> {}

/// How a knob is to be, from [`Knob::options`].
#[derive(Debug)]
pub struct KnobOptions<T> {
    initial: T,
    description: KnobDescription,
    range: Option<Range<T>>,
}

impl<T: Setting> KnobOptions<T> {
    /// The unit of the value: `s`, `bytes`, `1`.
    #[must_use]
    pub fn unit(mut self, unit: &str) -> Self {
        self.description.unit = unit.into();
        self
    }

    /// What the value does, in a sentence.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.description.description = description.into();
        self
    }

    /// Which values it can have. Others are refused. `NaN` lies in no range.
    #[must_use]
    pub fn range(mut self, range: impl RangeBounds<T>) -> Self
    where
        T: PartialOrd + Clone + Send + Sync,
    {
        let bounds = (range.start_bound().cloned(), range.end_bound().cloned());
        let excluded = |bound: &Bound<T>, flag| if matches!(bound, Bound::Excluded(_)) { flag } else { 0 };
        let flags = knob::LOW_EXCLUDED | knob::HIGH_EXCLUDED;
        self.description.flags = self.description.flags & !flags
            | excluded(&bounds.0, knob::LOW_EXCLUDED)
            | excluded(&bounds.1, knob::HIGH_EXCLUDED);
        let body = |bound: &Bound<T>| match bound {
            Bound::Included(value) | Bound::Excluded(value) => body(value.clone()).unwrap_or_default(),
            Bound::Unbounded => Vec::new(),
        };
        (self.description.low, self.description.high) = (body(&bounds.0), body(&bounds.1));
        self.range = Some(Range(Box::new(move |value: &T| bounds.contains(value))));
        self
    }

    /// Observers see it and cannot change it. The program can, by [`Knob::set`].
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.description.flags |= knob::READ_ONLY;
        self
    }

    /// Makes the knob. One of the same name, type and options is the same knob, and keeps its value.
    ///
    /// # Errors
    /// What is wrong with the name, the initial value or the options. Where the process cannot have a segment there is no
    /// error: the knob keeps its initial value, and [`status`](crate::status) says why.
    pub fn build(self) -> Result<Knob<T>, SensorError> {
        let KnobOptions { initial, mut description, range } = self;
        let name = description.name.clone();
        check_name(&name)?;
        if range.as_ref().is_some_and(|range| !(range.0)(&initial)) {
            return Err(SensorError::OutOfRange { name });
        }
        let too_long = || SensorError::TooLong { name: name.clone() };
        let initial = body(initial).map_err(|_| too_long())?;
        if initial.len() > LONGEST_VALUE {
            return Err(too_long());
        }
        let is_fixed = KnobValue::<T>::IN_PLACE;
        description.longest = if is_fixed { KnobValue::<T>::SIZE } else { LONGEST_VALUE };
        let make = || {
            let state = State::<T>::new(&name, &initial, description.longest, range);
            SteeringTarget::Knob(Box::leak(Box::new(state)))
        };
        let entered = process::enter_knob(&description, make)?;
        let state = match entered.entry {
            SteeringTarget::Knob(state) => state.as_any().downcast_ref::<State<T>>(),
            SteeringTarget::Action(_) => None,
        };
        let state = state.ok_or_else(|| SensorError::Contradicts { name: name.clone() })?;
        Ok(Knob { bell: entered.bell, state, index: entered.index })
    }
}

impl<T: Setting> Knob<T> {
    /// Makes a knob without a range.
    ///
    /// # Errors
    /// As [`KnobOptions::build`].
    pub fn new(name: &str, initial: T) -> Result<Knob<T>, SensorError> {
        Self::options(name, initial).build()
    }

    /// The options of a knob that is to be made.
    pub fn options(name: &str, initial: T) -> KnobOptions<T> {
        let format = Some(KnobValue::<T>::format());
        KnobOptions { initial, description: KnobDescription { format, ..KnobDescription::new(name) }, range: None }
    }

    /// The value.
    ///
    /// Numbers, `bool` and other values of up to 8 bytes take a few nanoseconds. Longer ones are copied, those with texts or
    /// lists into new memory. Never waits, but for the moment in which another thread applies a change of a longer value.
    #[inline]
    pub fn get(&self) -> T {
        if self.bell.load(Ordering::Relaxed) != 0 {
            steering::answer_bell();
        }
        self.state.get()
    }

    /// Sets the value, as observers do: for programs that choose it themselves. Read-only knobs can be set like that.
    ///
    /// # Errors
    /// When it lies outside the range, or is too long.
    pub fn set(&self, value: T) -> Result<(), SensorError> {
        let name = || self.state.name.clone();
        let body = body(value).map_err(|_| SensorError::TooLong { name: name() })?;
        process::set_knob(self.index, self.state, &body).map_err(|refusal| match refusal {
            Refusal::Range => SensorError::OutOfRange { name: name() },
            _ => SensorError::TooLong { name: name() },
        })
    }
}

/// A value as the body of a record.
fn body<T: Wire>(value: T) -> Result<Vec<u8>, EncodeError> {
    let mut body = Vec::new();
    encode_body_into(&KnobValue { value }, &mut body)?;
    Ok(body)
}

/// Which values a knob can have.
struct Range<T>(Box<dyn Fn(&T) -> bool + Send + Sync>);

impl<T> Debug for Range<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Range")
    }
}

/// What a knob is set by, whatever the type of its value.
pub(crate) trait Adjustable: Any + Debug + Send + Sync {
    /// Sets it, if the body is a value that it can have. The body may come from anywhere. Returns the body before and the body
    /// now. Only one thread at a time calls this.
    fn replace(&self, body: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Refusal>;

    /// Whether a body is a value that it can have; it may come from anywhere.
    fn check(&self, body: &[u8]) -> Result<(), Refusal>;

    /// The body of its value.
    fn body(&self) -> Vec<u8>;

    fn as_any(&self) -> &dyn Any;
}

/// A knob in memory that nobody else can write.
struct State<T> {
    name: String,
    range: Option<Range<T>>,
    /// The value, if it fits.
    word: AtomicU64,
    /// The body of a longer value; see `latest`.
    cell: Box<[AtomicU64]>,
}

impl<T> Debug for State<T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<T: Setting> State<T> {
    /// Whether values lie in [`word`](State::word).
    const IS_WORD: bool = KnobValue::<T>::IN_PLACE && KnobValue::<T>::SIZE <= WORD;

    fn new(name: &str, initial: &[u8], longest: usize, range: Option<Range<T>>) -> State<T> {
        let words = if Self::IS_WORD { 0 } else { latest::cell_words(longest) };
        let cell = (0..words).map(|_| AtomicU64::new(0)).collect();
        let state = State { name: name.into(), range, word: 0.into(), cell };
        state.store(initial);
        state
    }

    #[inline]
    fn get(&self) -> T {
        let value = if Self::IS_WORD { payload::load(self.word.load(Ordering::Relaxed)) } else { self.read() };
        let KnobValue { value } = value.expect("only what was checked is stored");
        value
    }

    fn read(&self) -> Result<KnobValue<T>, DecodeError> {
        let (words, length) = self.words();
        read_native(payload::bytes(&words, length))
    }

    /// The words of the body, and its length in bytes.
    fn words(&self) -> (Vec<u64>, usize) {
        if Self::IS_WORD {
            return (vec![self.word.load(Ordering::Relaxed)], KnobValue::<T>::SIZE);
        }
        let mut words = Vec::new();
        loop {
            // Fails only while changes come faster than a copy is made.
            if let Some(head) = latest::read(&self.cell, &mut words) {
                return (words, head.length.into());
            }
        }
    }

    /// Only one thread at a time calls this.
    fn store(&self, body: &[u8]) {
        if Self::IS_WORD {
            return payload::store_bytes(body, std::slice::from_ref(&self.word));
        }
        let head = Head { length: body.len() as u16, sensor: 0, thread: 0, stamp: 0, sequence: 0 };
        let stored = latest::write(&self.cell, head, |words| payload::store_bytes(body, words));
        assert!(stored, "one thread at a time changes knobs");
    }

    fn checked(&self, body: &[u8]) -> Result<KnobValue<T>, Refusal> {
        let value: KnobValue<T> = read_native(body).map_err(|_| Refusal::NotAValue)?;
        let is_in_range = self.range.as_ref().is_none_or(|range| (range.0)(&value.value));
        if is_in_range { Ok(value) } else { Err(Refusal::Range) }
    }
}

impl<T: Setting> Adjustable for State<T> {
    fn replace(&self, body: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Refusal> {
        // Written anew: a body may have bytes that belong to nothing.
        let new = self::body(self.checked(body)?.value).map_err(|_| Refusal::NotAValue)?;
        if new.len() > LONGEST_VALUE {
            return Err(Refusal::TooLong);
        }
        let old = self.body();
        self.store(&new);
        Ok((old, new))
    }

    fn check(&self, body: &[u8]) -> Result<(), Refusal> {
        self.checked(body).map(|_| ())
    }

    fn body(&self) -> Vec<u8> {
        let (words, length) = self.words();
        payload::bytes(&words, length).to_vec()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
