//! Steering at the observer: changes of knobs in many processes, at once or at one step in all of them.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use banyan_link::Deadline;
use banyan_ndr::Value;

use super::Observer;
use super::worker::Command;
use crate::catalogue::Process;
use crate::error::MonitorError;
use crate::message::{Ack, Phase, Steer, SteerValue};

/// How far ahead of the fastest process the common step lies at first; four times as far each time that one has passed it.
const AHEAD: u64 = 2;

/// How often a common step is looked for.
const ATTEMPTS: usize = 8;

/// How long processes may take to hear of a decision, beyond the limit of the change: some hold the value and wait for it.
const TO_DECIDE: Duration = Duration::from_secs(5);

/// As long as processes may take to answer without a limit.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// When a change is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum When {
    /// With the next `get` of each process, or its next steering point.
    #[default]
    AtOnce,
    /// At the next steering point of each process.
    NextPoint,
    /// In all processes at the same step, which none has reached yet, or in none. Processes must count steps.
    SameStep,
}

/// A knob of a process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Knob {
    /// The process.
    pub process: Arc<Process>,
    /// Its name.
    pub name: String,
    /// Its value, as text.
    pub value: String,
    /// The unit of the value; may be empty.
    pub unit: String,
    /// What the value does; may be empty.
    pub description: String,
    /// The values that it can be set to, as Rust writes a range; may be empty.
    pub range: String,
    /// Whether only the program sets it.
    pub is_read_only: bool,
    /// The step that the process has reached, if it counts steps.
    pub step: Option<u64>,
}

/// What became of a change.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Change {
    /// What each process that has the knob or action has answered.
    pub answers: Vec<Acknowledgement>,
    /// The step at which all of them do it, of [`When::SameStep`].
    pub step: Option<u64>,
    /// Hosts whose probes did not answer: what their processes do is not known.
    pub silent: Vec<String>,
}

impl Change {
    /// Whether every process has done it, and there is one at least.
    pub fn is_done(&self) -> bool {
        let all = self.answers.iter().all(|answer| answer.outcome == Outcome::Done);
        all && !self.answers.is_empty() && self.silent.is_empty()
    }
}

/// A sentence for each process that has not done it, or one for all.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = self.answers.iter().filter(|answer| answer.outcome == Outcome::Done).count();
        write!(f, "done in {done} of {} processes", self.answers.len())?;
        for answer in self.answers.iter().filter(|answer| answer.outcome != Outcome::Done) {
            write!(f, "; process {} on {}: {}", answer.process.pid, answer.process.host, answer.outcome)?;
        }
        self.silent.iter().try_for_each(|host| write!(f, "; {host}: its probe did not answer"))
    }
}

/// What a process has answered to a change.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Acknowledgement {
    /// The process.
    pub process: Arc<Process>,
    /// What it did.
    pub outcome: Outcome,
    /// The value before, as text.
    pub old: String,
    /// The value that was asked for, as text.
    pub new: String,
    /// The step at which it did that, if it counts steps.
    pub step: Option<u64>,
    /// When it did that, by the clock of the process.
    pub stamp: u64,
}

/// What a process did with a change.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// It has the value, or has run the action.
    Done,
    /// It refused, for this reason.
    Refused(String),
    /// It was told not to, since another process could not do it.
    Cancelled,
    /// It came to the step before it heard the decision, and has gone on without the change.
    Missed,
    /// It did not answer before the limit.
    Silent,
    /// It has ended.
    Ended,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Done => "done",
            Outcome::Refused(why) => return write!(f, "refused: {why}"),
            Outcome::Cancelled => "not done, since others could not do it",
            Outcome::Missed => "missed: it came to the step before it heard the decision",
            Outcome::Silent => "no answer before the deadline; does it come to steering points?",
            Outcome::Ended => "ended",
        })
    }
}

/// What all probes have answered to one phase.
struct Heard {
    acks: Vec<(u32, Ack)>,
    silent: Vec<String>,
}

impl Heard {
    fn is_held_by_all(&self) -> bool {
        self.silent.is_empty() && self.acks.iter().all(|(_, ack)| ack.outcome == Ack::HELD)
    }

    /// Whether a process refused since it had reached the step, and would not have refused a later one.
    fn has_passed(&self, step: u64) -> bool {
        let mut refused = self.acks.iter().filter(|(_, ack)| ack.outcome == Ack::REFUSED);
        refused.any(|(_, ack)| ack.step.is_some_and(|reached| reached >= step))
    }
}

/// A request of one phase.
fn steer(transaction: u64, phase: Phase, knob: &str, left: Duration) -> Steer {
    Steer {
        serial: 0,
        transaction,
        phase: phase as u32,
        knob: knob.into(),
        is_action: false,
        value: SteerValue::default(),
        when: 0,
        step: 0,
        limit: left.as_millis().try_into().unwrap_or(u64::MAX),
    }
}

/// How long is left.
fn left(limit: Option<Instant>) -> Duration {
    limit.map_or(LONGEST, |limit| limit.saturating_duration_since(Instant::now()))
}

impl Observer {
    /// The knobs that processes have now, with their values.
    ///
    /// # Errors
    /// When a probe does not answer before the limit, or the observer has ended.
    pub fn knobs(&self, limit: impl Into<Deadline>) -> Result<Vec<Knob>, MonitorError> {
        let left = left(limit.into().instant());
        let Heard { acks, silent } = self.ask_all(steer(0, Phase::Look, "", left), left)?;
        if !silent.is_empty() {
            return Err(MonitorError::Silent { hosts: silent });
        }
        let knob = |(probe, ack): (u32, Ack)| {
            Some(Knob {
                process: self.process(probe, ack.process)?,
                name: ack.knob,
                value: ack.old,
                unit: ack.unit,
                description: ack.description,
                range: ack.range,
                is_read_only: ack.is_read_only,
                step: ack.step,
            })
        };
        Ok(acks.into_iter().filter_map(knob).collect())
    }

    /// Sets a knob in all processes that have it, and says what each has answered. Text stands for cases of enumerations, too.
    ///
    /// With [`When::SameStep`], all processes hold the value for a step that none has reached. When all of them do, it is
    /// decided, and otherwise taken back: also when a process refuses or ends before the decision. A process that waits at the
    /// step for the decision and does not hear it in time goes on without the change ([`Outcome::Missed`]).
    ///
    /// ```no_run
    /// # fn halve(observer: &banyan_monitor::Observer) -> Result<(), banyan_monitor::MonitorError> {
    /// use banyan_monitor::When;
    /// use std::time::Duration;
    ///
    /// let change = observer.set("solver.dt", 0.25, When::SameStep, Duration::from_secs(5))?;
    /// println!("{change}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the value is a list or record, or the observer has ended. What processes refuse is in the [`Change`].
    pub fn set(
        &self,
        knob: &str,
        value: impl Into<Value>,
        when: When,
        limit: impl Into<Deadline>,
    ) -> Result<Change, MonitorError> {
        let limit = limit.into().instant();
        let value = plain(value.into())?;
        if when == When::SameStep {
            return self.set_together(knob, &value, limit);
        }
        let time = left(limit);
        let when = u32::from(when == When::NextPoint);
        let heard = self.ask_all(Steer { value, when, ..steer(0, Phase::Set, knob, time) }, time)?;
        Ok(self.change(heard, None))
    }

    /// Runs an action in all processes that have it, each at its next steering point.
    ///
    /// # Errors
    /// When the observer has ended. What processes refuse is in the [`Change`].
    pub fn run(&self, action: &str, limit: impl Into<Deadline>) -> Result<Change, MonitorError> {
        let time = left(limit.into().instant());
        let heard = self.ask_all(Steer { is_action: true, ..steer(0, Phase::Set, action, time) }, time)?;
        Ok(self.change(heard, None))
    }

    fn set_together(&self, knob: &str, value: &SteerValue, limit: Option<Instant>) -> Result<Change, MonitorError> {
        let mut ahead = AHEAD;
        for attempt in 1.. {
            let looked = self.ask_all(steer(0, Phase::Look, knob, left(limit)), left(limit))?;
            let fastest = looked.acks.iter().filter_map(|(_, ack)| ack.step).max().unwrap_or(0);
            let step = fastest.saturating_add(ahead);
            let transaction = self.next_transaction();
            let proposal = steer(transaction, Phase::Propose, knob, left(limit));
            let heard = self.ask_all(Steer { value: value.clone(), when: 2, step, ..proposal }, left(limit))?;
            let is_decided = heard.is_held_by_all();
            let phase = if is_decided { Phase::Commit } else { Phase::Cancel };
            let time = left(limit) + TO_DECIDE;
            let Heard { acks, silent } = self.ask_all(steer(transaction, phase, knob, time), time)?;
            if is_decided {
                return Ok(self.change(Heard { acks, silent }, Some(step)));
            }
            if !heard.has_passed(step) || attempt == ATTEMPTS || left(limit).is_zero() {
                // Those that held it have answered to the decision.
                let others = heard.acks.into_iter().filter(|(_, ack)| ack.outcome != Ack::HELD);
                let all = others.chain(acks).collect();
                return Ok(self.change(Heard { acks: all, silent: heard.silent }, None));
            }
            ahead = ahead.saturating_mul(4);
        }
        Err(MonitorError::TimedOut)
    }

    /// Asks all probes, and waits until they have answered, or a little longer than they may take.
    fn ask_all(&self, steer: Steer, time: Duration) -> Result<Heard, MonitorError> {
        let (reply, answers) = channel();
        let until = Instant::now() + time + self.patience;
        self.ask(Command::Steer { steer, until, reply })?;
        let mut acks = Vec::new();
        loop {
            // The thread answers by its last word, or has ended.
            match answers.recv() {
                Ok(Ok((probe, more))) => acks.extend(more.into_iter().map(|ack| (probe, ack))),
                Ok(Err(silent)) => return Ok(Heard { acks, silent }),
                Err(_) => return Err(MonitorError::Ended(None)),
            }
        }
    }

    fn change(&self, heard: Heard, step: Option<u64>) -> Change {
        let answers = heard.acks.into_iter().filter_map(|(probe, ack)| {
            let outcome = match ack.outcome {
                Ack::DONE => Outcome::Done,
                Ack::REFUSED => Outcome::Refused(ack.why),
                Ack::CANCELLED | Ack::HELD => Outcome::Cancelled,
                Ack::MISSED => Outcome::Missed,
                Ack::ENDED => Outcome::Ended,
                _ => Outcome::Silent,
            };
            let process = self.process(probe, ack.process)?;
            let Ack { old, new, step, stamp, .. } = ack;
            Some(Acknowledgement { process, outcome, old, new, step, stamp })
        });
        Change { answers: answers.collect(), step, silent: heard.silent }
    }
}

/// A value as it travels.
fn plain(value: Value) -> Result<SteerValue, MonitorError> {
    let nothing = SteerValue::default();
    let integer = |number: i128| {
        let integer = i64::try_from(number).map_err(|_| MonitorError::Value(number.to_string()))?;
        Ok(SteerValue { kind: SteerValue::INTEGER, integer, ..SteerValue::default() })
    };
    match value {
        Value::Int(number) => integer(number),
        Value::UInt(number) => integer(i128::try_from(number).unwrap_or(i128::MAX)),
        Value::F64(float) => Ok(SteerValue { kind: SteerValue::FLOAT, float, ..nothing }),
        Value::F32(float) => Ok(SteerValue { kind: SteerValue::FLOAT, float: float.into(), ..nothing }),
        Value::Bool(truth) => Ok(SteerValue { kind: SteerValue::TRUTH, integer: truth.into(), ..nothing }),
        Value::Str(text) | Value::Enum(text) => Ok(SteerValue { kind: SteerValue::TEXT, text, ..nothing }),
        other => Err(MonitorError::Value(format!("{other:?}"))),
    }
}
