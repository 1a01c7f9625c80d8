//! Steering: changes that observers ask for, and the points at which the program makes them.
//!
//! Nothing here runs by itself. [`Knob::get`](crate::Knob::get), [`steering_point`] and [`step`] load a word, and look into
//! the mailbox when it is not 0. What is found there is copied, checked, and then applied, refused or kept until its step.
//! [Decision 017](../../../../docs/decisions/017-steering.md) says what is guaranteed.

mod answer;
pub(crate) mod letter;
pub(crate) mod memory;
mod point;
pub(crate) mod report;
pub(crate) mod requests;

pub(crate) use answer::Outcome;
pub use answer::Refusal;
pub(crate) use point::{NO_STEP, Quick, answer_bell, has_come_to, publish_held};
pub use point::{steering_point, step};
pub use report::SteeringEvent;
pub(crate) use report::{emit, prepare};

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::process;

/// Who may change knobs and run actions of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Steering {
    /// Nobody.
    Off = 0,
    /// Processes of the same user, and root.
    #[default]
    OwnUser = 1,
}

/// Forbids steering from outside: `off`. What the program says cannot allow it then.
const VARIABLE: &str = "BANYAN_STEERING";

static IS_OFF: AtomicBool = AtomicBool::new(false);

/// Decides who may steer this process from now on. The default is [`Steering::OwnUser`]. Where the environment has
/// `BANYAN_STEERING=off`, nobody may, whatever the program says.
pub fn steering(who: Steering) {
    IS_OFF.store(who == Steering::Off, Ordering::Relaxed);
    process::publish_steering();
}

/// Who may steer.
pub(crate) fn who_may() -> Steering {
    static FORBIDDEN: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    let forbidden = *FORBIDDEN.get_or_init(|| std::env::var_os(VARIABLE).is_some_and(|value| value == "off"));
    if forbidden || IS_OFF.load(Ordering::Relaxed) { Steering::Off } else { Steering::OwnUser }
}

/// How long a program waits at a step for a decision, unless it says otherwise.
const PATIENCE: Duration = Duration::from_millis(100);

static PATIENCE_NANOSECONDS: AtomicU64 = AtomicU64::new(PATIENCE.as_nanos() as u64);

/// Sets how long this process waits at most when it reaches a step for which it holds a change that is not decided yet:
/// 100 ms unless this is called. Then it goes on without the change. With zero it never waits.
pub fn steering_patience(limit: Duration) {
    PATIENCE_NANOSECONDS.store(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    process::publish_steering();
}

pub(crate) fn patience() -> Duration {
    Duration::from_nanos(PATIENCE_NANOSECONDS.load(Ordering::Relaxed))
}
