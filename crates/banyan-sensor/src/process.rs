//! What this process has: its segment, its sensors, and the rings that no thread uses at the moment.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use banyan_ndr::Format;

use crate::error::SensorError;
use crate::knob::Adjustable;
use crate::layout::{self, sensor};
use crate::local::{Local, LocalRing};
use crate::mailbox;
use crate::memory::{self, Map};
use crate::policy::{Lane, Policy};
use crate::segment::{Maps, Segment};
use crate::sensor::Kind;
use crate::steering::memory::{SteeringMemory, quick as quick_of};
use crate::steering::report::Report;
use crate::steering::requests::{KnobDescription, Occasion, Requests, Run, Sender, Steerable, SteeringTarget, Todo};
use crate::steering::{self, Outcome, Quick, Refusal, emit, prepare, publish_held};
use crate::witness::set_number;

/// A sensor, as it is entered into segments.
#[derive(Debug, Clone)]
pub(crate) struct Description {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) description: String,
    pub(crate) kind: Kind,
    pub(crate) format: Option<&'static Format>,
    pub(crate) policy: Policy,
    pub(crate) always: bool,
    /// Words of its cell, if it keeps only the latest event; otherwise 0.
    pub(crate) cell_words: usize,
}

impl Description {
    fn is_same(&self, other: &Description) -> bool {
        self.kind == other.kind
            && self.format.map(Format::id) == other.format.map(Format::id)
            && (self.policy, self.always) == (other.policy, other.always)
    }
}

/// What a sensor has of the segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entered {
    pub(crate) index: u16,
    /// 0 while nobody wants its events.
    pub(crate) watched: &'static AtomicU64,
    pub(crate) entry: &'static [AtomicU64],
    pub(crate) cell: &'static [AtomicU64],
}

#[derive(Debug)]
struct Registered {
    description: Description,
    entered: Entered,
    cell: Option<&'static Map>,
}

/// The watched word of sensors that are written though nobody watches.
static ALWAYS: AtomicU64 = AtomicU64::new(1);

/// The watched word of sensors without a segment.
static NEVER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct Process {
    segment: Option<Result<Segment, io::Error>>,
    /// Where the segment was in memory when `fork` took it away.
    forked_from: Option<Maps>,
    sensors: Vec<Registered>,
    /// Knobs and actions, and what is asked of them.
    requests: Requests,
    /// Memory of the segment that they have, from the first of them on.
    steering: Option<&'static Map>,
    free: Vec<&'static Local>,
    /// Counts forks, so that rings of the parent are not used again.
    generation: u64,
}

static PROCESS: Mutex<Process> = Mutex::new(Process {
    segment: None,
    forked_from: None,
    sensors: Vec::new(),
    requests: Requests::new(),
    steering: None,
    free: Vec::new(),
    generation: 0,
});

fn lock() -> MutexGuard<'static, Process> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process can be watched.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// No sensor was made yet.
    Unused,
    /// It has this segment.
    Watchable(std::path::PathBuf),
    /// Sensors do nothing, and why.
    Unavailable(String),
}

/// Whether this process can be watched, and if not, why.
pub fn status() -> Status {
    match &lock().segment {
        None => Status::Unused,
        Some(Ok(segment)) if segment.maps.main.is_lost() || segment.maps.observers.is_lost() => {
            Status::Unavailable("the segment's file was truncated".into())
        }
        Some(Ok(segment)) => Status::Watchable(segment.directory.join(&segment.name)),
        Some(Err(error)) => Status::Unavailable(error.to_string()),
    }
}

/// Enters a sensor; one that is there already is found by its name.
pub(crate) fn enter(description: Description) -> Result<Entered, SensorError> {
    let mut process = lock();
    process.ensure_segment();
    if let Some(earlier) = process.sensors.iter().find(|other| other.description.name == description.name) {
        let same = earlier.description.is_same(&description);
        return if same { Ok(earlier.entered) } else { Err(SensorError::Contradicts { name: description.name }) };
    }
    let index = process.sensors.len();
    if index == layout::SENSOR_CAPACITY {
        return Err(SensorError::TooMany { name: description.name, most: layout::SENSOR_CAPACITY });
    }
    let registered = match process.segment.as_mut() {
        Some(Ok(segment)) => match segment.add_sensor(index, &description, None) {
            Ok(cell) => {
                let watched = if description.always { &ALWAYS } else { segment.watched(index) };
                let cell_words = cell.map_or(&[][..], |map| &map.words()[..description.cell_words]);
                let entered = Entered { index: index as u16, watched, entry: segment.sensor(index), cell: cell_words };
                Registered { entered, cell, description }
            }
            // There is no room for its description: it is not found, and does nothing.
            Err(_) => return Ok(unwatchable()),
        },
        _ => return Ok(unwatchable()),
    };
    let entered = registered.entered;
    process.sensors.push(registered);
    Ok(entered)
}

/// A sensor that does nothing, but that counters and gauges can be written to.
fn unwatchable() -> Entered {
    let entry: Box<[AtomicU64]> = (0..sensor::WORDS).map(|_| AtomicU64::new(0)).collect();
    Entered { index: 0, watched: &NEVER, entry: Box::leak(entry), cell: &[] }
}

impl Process {
    fn ensure_segment(&mut self) {
        if self.segment.is_none() {
            let forked_from = self.forked_from.take();
            let segment = Segment::create(forked_from).and_then(|segment| self.enter_again(segment));
            if let (Err(_), Some(maps)) = (&segment, forked_from) {
                // What `fork` has set so that somebody comes here.
                maps.observers.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
            }
            prepare_for_fork_and_exit();
            self.segment = Some(segment);
        }
    }

    /// Enters the sensors of the parent into a child's segment.
    fn enter_again(&self, mut segment: Segment) -> io::Result<Segment> {
        for (index, sensor) in self.sensors.iter().enumerate() {
            segment.add_sensor(index, &sensor.description, sensor.cell)?;
        }
        for (index, registered) in self.requests.entries.iter().enumerate() {
            segment.make_steering(self.steering)?;
            segment.add_knob(index, registered)?;
        }
        Ok(segment)
    }
}

/// Makes the segment, if there can be one.
pub(crate) fn ensure() {
    lock().ensure_segment();
}

/// A place for a thread's rings, if the process has a segment.
pub(crate) fn take_local() -> Option<(&'static Local, u64)> {
    let mut process = lock();
    process.ensure_segment();
    if !matches!(process.segment, Some(Ok(_))) {
        return None;
    }
    let local = process.free.pop().unwrap_or_else(|| Box::leak(Box::new(Local::new())));
    Some((local, process.generation))
}

/// Takes back the rings of a thread that ends. The next thread goes on behind what is in them.
pub(crate) fn return_local(local: &'static Local, generation: u64) {
    let mut process = lock();
    if process.generation == generation {
        process.free.push(local);
    }
}

/// Makes a ring.
pub(crate) fn new_ring(lane: Lane) -> Option<LocalRing> {
    match &mut lock().segment {
        Some(Ok(segment)) => segment.add_ring(lane).ok(),
        _ => None,
    }
}

/// What a knob or action has of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnteredKnob {
    pub(crate) entry: SteeringTarget,
    /// Its index in the table, or one that no entry has.
    pub(crate) index: usize,
    /// Not 0 when something has come for this process.
    pub(crate) bell: &'static AtomicU64,
}

/// Enters a knob or an action; one that is there already is found by its name.
pub(crate) fn enter_knob(
    description: &KnobDescription,
    make: impl FnOnce() -> SteeringTarget,
) -> Result<EnteredKnob, SensorError> {
    let mut process = lock();
    process.ensure_segment();
    let name = || description.name.clone();
    let found = process.requests.find(description).transpose();
    let index = match found.map_err(|()| SensorError::Contradicts { name: name() })? {
        Some(index) => index,
        None => {
            let entry = make();
            let Some(index) = process.add_knob(description, entry)? else {
                return Ok(EnteredKnob { entry, index: usize::MAX, bell: &NEVER });
            };
            index
        }
    };
    let entry = process.requests.entries[index].entry;
    drop(process);
    // The sensor of changes, which takes the lock itself.
    prepare();
    let bell = quick().map_or(&NEVER, |quick| quick.bell);
    Ok(EnteredKnob { entry, index, bell })
}

impl Process {
    /// The index of a new knob or action; `None` where there is no segment.
    fn add_knob(&mut self, description: &KnobDescription, entry: SteeringTarget) -> Result<Option<usize>, SensorError> {
        let Some(Ok(segment)) = &mut self.segment else { return Ok(None) };
        let index = self.requests.entries.len();
        let too_many = || SensorError::TooManyKnobs { name: description.name.clone(), most: layout::KNOB_CAPACITY };
        if index == layout::KNOB_CAPACITY {
            return Err(too_many());
        }
        match segment.make_steering(self.steering) {
            Ok(chunk) => self.steering = Some(chunk),
            // There is no memory for it: it is not found, and cannot be steered.
            Err(_) => return Ok(None),
        }
        let cell = match entry {
            SteeringTarget::Knob(_) => segment.room_for_value(description.longest).ok_or_else(too_many)?,
            SteeringTarget::Action(_) => 0..0,
        };
        let registered = Steerable { description: description.clone(), entry, cell };
        if segment.add_knob(index, &registered).is_err() {
            return Ok(None);
        }
        self.requests.entries.push(registered);
        Ok(Some(index))
    }

    fn with_requests<R>(&mut self, act: impl FnOnce(&mut Requests, &SteeringMemory) -> R) -> Option<R> {
        let Some(Ok(segment)) = &self.segment else { return None };
        let done = act(&mut self.requests, segment.steering()?);
        publish_held(self.requests.held());
        Some(done)
    }
}

/// Looks into the mailbox. Without `wait` it leaves that to another thread that has the lock.
pub(crate) fn look(occasion: Occasion, wait: bool) -> Option<Todo> {
    let mut process = if wait { lock() } else { PROCESS.try_lock().ok()? };
    process.ensure_segment();
    if let Some(Ok(segment)) = &process.segment {
        // What comes from now on rings again.
        mailbox::hear(quick_of(segment.maps).bell);
    }
    let mut todo = Todo::default();
    process.with_requests(|requests, memory| requests.look(memory, occasion, &mut todo));
    Some(todo)
}

/// Goes on without what is not decided.
pub(crate) fn miss(occasion: Occasion) -> Todo {
    let mut todo = Todo::default();
    lock().with_requests(|requests, memory| requests.miss(memory, occasion, &mut todo));
    todo
}

/// An action was run, or could not be.
pub(crate) fn ran(run: &Run, was_done: bool) -> Option<Report> {
    lock().with_requests(|requests, memory| requests.ran(memory, run, was_done))?
}

/// The program sets a knob of its own.
pub(crate) fn set_knob(index: usize, knob: &dyn Adjustable, body: &[u8]) -> Result<(), Refusal> {
    let mut process = lock();
    let program = Sender { pid: std::process::id().into(), ..Sender::default() };
    let set = process.with_requests(|requests, memory| {
        let known = requests.entries.get(index).is_some();
        known.then(|| {
            let (old, new) = requests.set(memory, index, body, &program)?;
            Ok(requests.report(&program, index, Outcome::Done, old, new))
        })
    });
    // Nobody else sets it either: the lock is held.
    let Some(set) = set.flatten() else { return knob.replace(body).map(|_| ()) };
    drop(process);
    emit(&[set?]);
    Ok(())
}

/// What threads look at without the lock, if there is a segment.
pub(crate) fn quick() -> Option<Quick> {
    match &lock().segment {
        Some(Ok(segment)) => Some(quick_of(segment.maps)),
        _ => None,
    }
}

/// Tells observers what the program says about steering.
pub(crate) fn publish_steering() {
    if let Some(Ok(segment)) = &lock().segment {
        steering::memory::publish(segment.maps);
    }
}

thread_local! {
    /// The lock on the process while `fork` runs, so that no other thread has it in the child.
    static HELD: RefCell<Option<MutexGuard<'static, Process>>> = const { RefCell::new(None) };
}

fn prepare_for_fork_and_exit() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        memory::at_fork(before_fork, after_fork_in_parent, after_fork_in_child);
        memory::at_exit(at_exit);
    });
}

/// A program that ends by itself leaves nothing behind but events that are written though nobody watches. Observers that
/// are there have the file open, and read the last events of the others.
extern "C" fn at_exit() {
    // Another thread may be held up with the lock.
    if let Ok(process) = PROCESS.try_lock()
        && let Some(Ok(segment)) = &process.segment
        && (segment.is_empty() || !process.sensors.iter().any(|sensor| sensor.description.always))
    {
        segment.remove();
    }
}

extern "C" fn before_fork() {
    let _ = HELD.try_with(|held| *held.borrow_mut() = Some(lock()));
}

extern "C" fn after_fork_in_parent() {
    let _ = HELD.try_with(|held| held.borrow_mut().take());
}

/// The child has sensors, but no segment until one of them is used.
extern "C" fn after_fork_in_child() {
    memory::leave_to_parent();
    crate::local::forget();
    let _ = HELD.try_with(|held| {
        let Some(mut process) = held.borrow_mut().take() else { return };
        process.generation += 1;
        process.free.clear();
        process.requests.forget();
        publish_held(0);
        set_number(0);
        if let Some(Ok(segment)) = process.segment.take() {
            // The next event of any sensor leads to `ensure_segment`.
            let maps = segment.leave();
            let watched = &maps.observers.words()[layout::WATCHED_AT / layout::WORD..];
            watched[..process.sensors.len()].iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
            // So does the next look at a knob.
            maps.observers.words()[layout::observers::BELL].store(u64::MAX, Ordering::Relaxed);
            process.forked_from = Some(maps);
        }
    });
}
