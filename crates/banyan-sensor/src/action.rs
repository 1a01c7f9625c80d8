//! Actions: what observers may have a program do.

use std::sync::{Mutex, PoisonError};

use crate::error::SensorError;
use crate::process;
use crate::sensor::check_name;
use crate::steering::requests::{KnobDescription, SteeringTarget};

/// Something that observers may have a program do, such as writing a checkpoint.
///
/// The program runs it at its own [`steering_point`](crate::steering_point) or [`step`](crate::step), on the thread that calls
/// that. A program without steering points runs no actions.
///
/// ```
/// use banyan_sensor::Action;
///
/// let _checkpoint = Action::new("checkpoint", || println!("written"))?;
/// for n in 0..10 {
///     banyan_sensor::step(n); // runs it when somebody has asked for it
/// }
/// # Ok::<(), banyan_sensor::SensorError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Action(#[expect(dead_code, reason = "an action is there for as long as the program runs")] &'static Work);

/// How an action is to be, from [`Action::options`].
#[derive(Debug)]
pub struct ActionOptions {
    description: KnobDescription,
    work: Work,
}

/// What an action does. A thread that comes while another one does it leaves it alone.
pub(crate) struct Work(Mutex<Box<dyn FnMut() + Send>>);

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Work")
    }
}

impl ActionOptions {
    /// What it does, in a sentence.
    #[must_use]
    pub fn description(mut self, description: &str) -> Self {
        self.description.description = description.into();
        self
    }

    /// Makes the action.
    ///
    /// # Errors
    /// When the name is no name, or a knob or action has it already.
    pub fn build(self) -> Result<Action, SensorError> {
        let ActionOptions { description, work } = self;
        check_name(&description.name)?;
        let work: &'static Work = Box::leak(Box::new(work));
        let entered = process::enter_knob(&description, || SteeringTarget::Action(work))?;
        match entered.entry {
            SteeringTarget::Action(entered) if std::ptr::eq(entered, work) => Ok(Action(work)),
            // It would do something else.
            _ => Err(SensorError::Contradicts { name: description.name }),
        }
    }
}

impl Action {
    /// Makes an action. It must not wait for anything that needs another steering point of the same thread.
    ///
    /// # Errors
    /// As [`ActionOptions::build`].
    pub fn new(name: &str, work: impl FnMut() + Send + 'static) -> Result<Action, SensorError> {
        Self::options(name, work).build()
    }

    /// The options of an action that is to be made.
    pub fn options(name: &str, work: impl FnMut() + Send + 'static) -> ActionOptions {
        ActionOptions { description: KnobDescription::new(name), work: Work(Mutex::new(Box::new(work))) }
    }
}

impl Work {
    /// Does it, unless a thread is at it: then this one was asked for within it, or beside it. Says whether it was done.
    pub(crate) fn run(&self) -> bool {
        match self.0.try_lock() {
            Ok(mut work) => work(),
            // It panicked before; the program has gone on.
            Err(std::sync::TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned)(),
            Err(std::sync::TryLockError::WouldBlock) => return false,
        }
        true
    }
}
