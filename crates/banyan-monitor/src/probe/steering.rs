//! Steering at the probe: requests go into the mailboxes of processes, and their answers to the observer.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use banyan_ndr::Value;
use banyan_sensor::observe::{Answer, KnobInfo, Mailbox, Request, Ticket, When};

use super::process::WatchedProcess;
use crate::message::{Ack, Acks, Phase, Steer, SteerValue};

/// Transactions that are open at a time.
const MOST_OPEN: usize = 256;

/// How often to look for answers while some are waited for.
const LOOK: Duration = Duration::from_micros(500);

/// What this probe tells about itself where a change is shown.
const LABEL: &str = "banyan observer";

/// A request to one process.
struct Sent {
    process: u32,
    ticket: Ticket,
    knob: Option<KnobInfo>,
    /// The new value, as text.
    new: String,
}

/// Answers that are waited for.
struct Awaited {
    serial: u64,
    transaction: u64,
    /// A check is enough; otherwise the end is waited for.
    is_check: bool,
    until: Instant,
    sent: Vec<Sent>,
    /// What is known already.
    acks: Vec<Ack>,
}

/// Requests of this probe that have no final answer.
#[derive(Default)]
pub(super) struct OpenRequests {
    awaited: Vec<Awaited>,
    /// Requests that are held, by transaction: they wait for a decision.
    held: BTreeMap<u64, Vec<Sent>>,
    mailboxes: BTreeMap<u32, Mailbox>,
}

impl OpenRequests {
    /// When to look for answers next.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.awaited.is_empty()).then(|| Instant::now() + LOOK)
    }

    /// A process has ended.
    pub(super) fn forget(&mut self, process: u32) {
        self.mailboxes.remove(&process);
    }

    /// Begins with what the observer asks for.
    pub(super) fn obey(&mut self, steer: &Steer, processes: &BTreeMap<u32, WatchedProcess>) {
        let until = Instant::now() + Duration::from_millis(steer.limit);
        let (serial, transaction) = (steer.serial, steer.transaction);
        let is_check = steer.phase == Phase::Propose as u32;
        let mut awaited = Awaited { serial, transaction, is_check, until, sent: Vec::new(), acks: Vec::new() };
        match steer.phase {
            phase if phase == Phase::Look as u32 => {
                awaited.acks = processes.values().flat_map(|process| knobs(process, &steer.knob)).collect();
            }
            phase if phase == Phase::Commit as u32 || phase == Phase::Cancel as u32 => {
                let is_commit = phase == Phase::Commit as u32;
                awaited.sent = self.held.remove(&transaction).unwrap_or_default();
                for sent in &awaited.sent {
                    let Some(mailbox) = self.mailboxes.get_mut(&sent.process) else { continue };
                    // Whether it came in time, the answer says.
                    let _ = if is_commit { mailbox.commit(sent.ticket) } else { mailbox.cancel(sent.ticket) };
                }
            }
            _ if self.awaited.len() + self.held.len() >= MOST_OPEN => {}
            _ => {
                for process in processes.values() {
                    self.request(process, steer, &mut awaited);
                }
            }
        }
        self.awaited.push(awaited);
    }

    /// Sends a request to a process, if it has the knob or action.
    fn request(&mut self, process: &WatchedProcess, steer: &Steer, awaited: &mut Awaited) {
        let segment = process.observer.segment();
        let refuse = |why: String| Ack { outcome: Ack::REFUSED, why, ..Ack::of(process.number, &steer.knob) };
        let (request, knob, new) = if steer.is_action {
            let actions = segment.actions().unwrap_or_default();
            let Some(action) = actions.iter().find(|action| action.name == steer.knob) else { return };
            (Request::run(action), None, String::new())
        } else {
            let knobs = segment.knobs().unwrap_or_default();
            let Some(knob) = knobs.into_iter().find(|knob| knob.name == steer.knob) else { return };
            let body = match knob.body(value(&steer.value)) {
                Ok(body) => body,
                Err(error) => return awaited.acks.push(refuse(error.to_string())),
            };
            let new = knob.text(&body);
            (Request::set(&knob, body), Some(knob), new)
        };
        let request = match steer.when {
            0 => request.when(When::AtOnce),
            1 => request.when(When::NextPoint),
            _ => request.when(When::Step(steer.step)),
        };
        let request = if awaited.is_check { request.proposed() } else { request };
        let opened = match self.mailboxes.get_mut(&process.number) {
            Some(mailbox) => Ok(mailbox),
            None => {
                Mailbox::open(segment, LABEL).map(|mailbox| self.mailboxes.entry(process.number).or_insert(mailbox))
            }
        };
        match opened.and_then(|mailbox| mailbox.send(&request)) {
            Ok(ticket) => awaited.sent.push(Sent { process: process.number, ticket, knob, new }),
            Err(error) => awaited.acks.push(refuse(error.to_string())),
        }
    }

    /// Looks for answers; those that are complete, or as far as they came in time.
    pub(super) fn answers(&mut self, processes: &BTreeMap<u32, WatchedProcess>) -> Vec<Acks> {
        // Those that are held must hear that this probe lives.
        for sent in self.held.values().flatten() {
            self.mailboxes.get_mut(&sent.process).into_iter().for_each(|mailbox| _ = mailbox.answer(sent.ticket));
        }
        let now = Instant::now();
        let mut answered = Vec::new();
        for mut awaited in std::mem::take(&mut self.awaited) {
            for sent in std::mem::take(&mut awaited.sent) {
                self.look(sent, &mut awaited, processes, now);
            }
            if awaited.sent.is_empty() {
                answered.push(Acks { serial: awaited.serial, acks: awaited.acks });
            } else {
                self.awaited.push(awaited);
            }
        }
        answered
    }

    /// Looks for one answer.
    fn look(&mut self, sent: Sent, awaited: &mut Awaited, processes: &BTreeMap<u32, WatchedProcess>, now: Instant) {
        let mailbox = self.mailboxes.get_mut(&sent.process);
        let name = sent.knob.as_ref().map(|knob| knob.name.clone()).unwrap_or_default();
        let ack = Ack { new: sent.new.clone(), ..Ack::of(sent.process, &name) };
        let (Some(mailbox), true) = (mailbox, processes.contains_key(&sent.process)) else {
            awaited.acks.push(Ack { outcome: Ack::ENDED, ..ack });
            return;
        };
        let answer = mailbox.answer(sent.ticket);
        let is_late = now >= awaited.until;
        let ack = match answer {
            Answer::Held { step } if awaited.is_check => {
                self.held.entry(awaited.transaction).or_default().push(sent);
                Ack { outcome: Ack::HELD, step, ..ack }
            }
            Answer::Done { old, step, stamp } => {
                let old = sent.knob.as_ref().map(|knob| knob.text(&old)).unwrap_or_default();
                Ack { outcome: Ack::DONE, old, step, stamp, ..ack }
            }
            Answer::Refused { why, step } => Ack { outcome: Ack::REFUSED, why: why.to_string(), step, ..ack },
            Answer::Cancelled => Ack { outcome: Ack::CANCELLED, ..ack },
            Answer::Missed { step } => Ack { outcome: Ack::MISSED, step, ..ack },
            _ if is_late => {
                // It is taken back; if it is committed, it stays so.
                let _ = mailbox.cancel(sent.ticket);
                Ack { outcome: Ack::SILENT, ..ack }
            }
            _ => return awaited.sent.push(sent),
        };
        awaited.acks.push(ack);
    }
}

/// What a process says of its knobs of this name, or of all.
fn knobs(process: &WatchedProcess, name: &str) -> Vec<Ack> {
    let segment = process.observer.segment();
    let knobs = segment.knobs().unwrap_or_default();
    let wanted = knobs.into_iter().filter(|knob| name.is_empty() || knob.name == name);
    let tell = |knob: KnobInfo| {
        let shown = segment.shown_value(&knob).ok();
        Ack {
            outcome: Ack::SHOWN,
            old: shown.as_ref().map(|shown| knob.text(&shown.body)).unwrap_or_default(),
            step: segment.step(),
            unit: knob.unit.clone(),
            description: knob.description.clone(),
            range: knob.range_text(),
            is_read_only: knob.read_only,
            ..Ack::of(process.number, &knob.name)
        }
    };
    wanted.map(tell).collect()
}

fn value(value: &SteerValue) -> Value {
    match value.kind {
        SteerValue::INTEGER => Value::Int(value.integer.into()),
        SteerValue::FLOAT => Value::F64(value.float),
        SteerValue::TRUTH => Value::Bool(value.integer != 0),
        _ => Value::Str(value.text.clone()),
    }
}
