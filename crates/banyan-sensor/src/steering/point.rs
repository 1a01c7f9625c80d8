//! Steering points: where a program lets its observers in.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::requests::{Occasion, Todo};
use super::{emit, patience};
use crate::process;

/// What the quick way looks at, without a lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quick {
    /// Not 0 when something has come.
    pub(crate) bell: &'static AtomicU64,
    /// Where observers read the step, and the number of steering points.
    pub(crate) step: &'static AtomicU64,
    pub(crate) points: &'static AtomicU64,
}

static QUICK: OnceLock<Quick> = OnceLock::new();

/// The step that the program has reached. What stands in the segment is a copy.
static STEP: AtomicU64 = AtomicU64::new(NO_STEP);

/// The program has not said a step.
pub(crate) const NO_STEP: u64 = u64::MAX;

/// Requests that are held.
static HELD: AtomicU64 = AtomicU64::new(0);

/// A steering point: changes that were asked for the next one are made, and actions are run, on this thread.
///
/// Costs a few nanoseconds while nothing was asked for. A program that counts its steps calls [`step`] instead.
#[inline]
pub fn steering_point() {
    come_to(None);
}

/// A steering point at the beginning of a step. Observers see the number; changes for this step are made here, in all
/// processes of a job.
///
/// Numbers grow. If a change is held for this step and its observer has not decided yet, this waits for the decision, at most as
/// long as [`steering_patience`](crate::steering_patience) says.
#[inline]
pub fn step(number: u64) {
    // Before it looks: whoever takes in a request for this step now finds that it has begun.
    STEP.store(number, Ordering::SeqCst);
    come_to(Some(number));
}

#[inline]
fn come_to(step: Option<u64>) {
    let Some(quick) = QUICK.get().or_else(find) else { return };
    if quick.bell.load(Ordering::Relaxed) != 0 || HELD.load(Ordering::SeqCst) != 0 {
        slowly(Occasion::Point(step));
    }
    if let Some(step) = step {
        quick.step.store(step, Ordering::Relaxed);
    }
    // Several threads may come to points: the number is for people, and they have none to lose.
    quick.points.store(quick.points.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// The first time that the process has a segment.
#[inline(never)]
fn find() -> Option<&'static Quick> {
    let found = process::quick()?;
    Some(QUICK.get_or_init(|| found))
}

/// The step that the program has reached.
pub(crate) fn has_come_to() -> Option<u64> {
    Some(STEP.load(Ordering::SeqCst)).filter(|step| *step != NO_STEP)
}

/// How many requests are held, for threads that come to a point.
pub(crate) fn publish_held(count: usize) {
    HELD.store(count as u64, Ordering::SeqCst);
}

/// In `get`: something has come. What another thread is at is seen by the next `get`.
#[cold]
#[inline(never)]
pub(crate) fn answer_bell() {
    if let Some(todo) = process::look(Occasion::Get, false) {
        emit(&todo.reports);
    }
}

/// How long a thread sleeps between looks at whether a decision has come.
const NAP: Duration = Duration::from_micros(50);

#[cold]
#[inline(never)]
fn slowly(occasion: Occasion) {
    let mut since = None;
    loop {
        let Some(todo) = process::look(occasion, true) else { return };
        let is_undecided = todo.is_undecided;
        finish(todo);
        if !is_undecided {
            return;
        }
        let since = *since.get_or_insert_with(Instant::now);
        if since.elapsed() >= patience() {
            break finish(process::miss(occasion));
        }
        std::thread::sleep(NAP);
    }
}

/// Runs actions and emits events, without the lock.
fn finish(mut todo: Todo) {
    for run in &todo.runs {
        let was_done = run.work.run();
        todo.reports.extend(process::ran(run, was_done));
    }
    emit(&todo.reports);
}
