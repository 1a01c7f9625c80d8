//! What this process has to be steered by, and the requests that it deals with. All of it is under the lock on the process.

use banyan_ndr::Format;

use super::answer::{Outcome, Refusal};
use super::letter::{Letter, When, label_text};
use super::memory::SteeringMemory;
use super::report::Report;
use super::{Steering, has_come_to, publish_held, who_may};
use crate::action::Work;
use crate::clock::stamp;
use crate::knob::Adjustable;
use crate::layout::{LABEL_WORDS, LONGEST_VALUE, MAIL_CAPACITY, WORD, knob};
use crate::mailbox::{self, Decision};
use crate::payload;

/// A knob or an action, as it is entered into segments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct KnobDescription {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) description: String,
    /// Of a knob's values; actions have none.
    pub(crate) format: Option<&'static Format>,
    /// See `layout::knob::FLAGS`.
    pub(crate) flags: u64,
    /// Bodies of the bounds; empty where there is none.
    pub(crate) low: Vec<u8>,
    pub(crate) high: Vec<u8>,
    /// Bytes of the longest value.
    pub(crate) longest: usize,
}

impl KnobDescription {
    pub(crate) fn new(name: &str) -> KnobDescription {
        KnobDescription {
            name: name.into(),
            unit: String::new(),
            description: String::new(),
            format: None,
            flags: 0,
            low: Vec::new(),
            high: Vec::new(),
            longest: 0,
        }
    }

    /// Whether another one is the same, whatever it is called and described as.
    fn is_same(&self, other: &KnobDescription) -> bool {
        self.format.map(Format::id) == other.format.map(Format::id)
            && (self.flags, &self.low, &self.high) == (other.flags, &other.low, &other.high)
    }
}

/// What is steered.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SteeringTarget {
    Knob(&'static dyn Adjustable),
    Action(&'static Work),
}

#[derive(Debug)]
pub(crate) struct Steerable {
    pub(crate) description: KnobDescription,
    pub(crate) entry: SteeringTarget,
    /// Which words of the steering chunk are the cell of its value.
    pub(crate) cell: std::ops::Range<usize>,
}

/// Who has set a knob.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sender {
    pub(crate) ticket: u64,
    pub(crate) pid: u64,
    pub(crate) label: [u64; LABEL_WORDS],
}

impl Sender {
    /// What it says about itself.
    pub(crate) fn name(&self) -> String {
        label_text(&self.label)
    }
}

/// A request that waits for its sender's decision, or for its moment.
#[derive(Debug)]
struct Held {
    slot: usize,
    sender: Sender,
    target: usize,
    when: When,
    is_committed: bool,
    /// The value's words, and its bytes.
    value: Vec<u64>,
    bytes: usize,
}

/// Requests that are held at the same time: those in the mailbox, and committed ones whose slots others have taken since.
const MOST_HELD: usize = 4 * MAIL_CAPACITY;

/// On what occasion the program looks at requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// A knob was got, anywhere.
    Get,
    /// At a steering point, and at which step.
    Point(Option<u64>),
}

/// What is to be done once the lock is released.
#[derive(Debug, Default)]
pub(crate) struct Todo {
    pub(crate) reports: Vec<Report>,
    pub(crate) runs: Vec<Run>,
    /// A change is held for this step and not decided.
    pub(crate) is_undecided: bool,
}

/// An action that is to be run.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) work: &'static Work,
    slot: usize,
    sender: Sender,
    target: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) entries: Vec<Steerable>,
    held: Vec<Held>,
    /// The ticket that was last taken from each slot.
    seen: [u64; MAIL_CAPACITY],
}

impl Requests {
    pub(crate) const fn new() -> Requests {
        Requests { entries: Vec::new(), held: Vec::new(), seen: [0; MAIL_CAPACITY] }
    }

    /// One that is there already, if it is the same; an error if it is not.
    pub(crate) fn find(&self, description: &KnobDescription) -> Option<Result<usize, ()>> {
        let index = self.entries.iter().position(|other| other.description.name == description.name)?;
        Some(if self.entries[index].description.is_same(description) { Ok(index) } else { Err(()) })
    }

    /// In a child of `fork`: what was asked of the parent is not asked of it.
    pub(crate) fn forget(&mut self) {
        self.held.clear();
        self.seen = [0; MAIL_CAPACITY];
    }

    /// How many are held.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Looks into the mailbox, and does what is due where the program is.
    pub(crate) fn look(&mut self, memory: &SteeringMemory, occasion: Occasion, todo: &mut Todo) {
        self.hear_decisions(memory, todo);
        let mut words = Vec::new();
        for slot in 0..MAIL_CAPACITY {
            if let Some(ticket) = mailbox::take(memory.mail_slot(slot), self.seen[slot], &mut words) {
                self.seen[slot] = ticket;
                if let Some(letter) = Letter::from_words(&words) {
                    self.receive(memory, slot, ticket, &letter, occasion, todo);
                }
            }
        }
        self.do_what_is_due(memory, occasion, todo);
    }

    /// Decisions about requests that are held, and senders that are gone.
    fn hear_decisions(&mut self, memory: &SteeringMemory, todo: &mut Todo) {
        let open: Vec<usize> = (0..self.held.len()).filter(|index| !self.held[*index].is_committed).collect();
        for index in open.into_iter().rev() {
            let held = &self.held[index];
            let cancelled = match mailbox::decision(memory.mail_slot(held.slot), held.sender.ticket) {
                Decision::Commit => {
                    self.answer(memory, held, Outcome::Committed, None, &[]);
                    self.held[index].is_committed = true;
                    false
                }
                Decision::Cancel => true,
                Decision::Open { lease } => lease < stamp(),
            };
            if cancelled {
                self.give_up(memory, index, Outcome::Cancelled, todo);
            }
        }
    }

    /// Does without a request that was held.
    fn give_up(&mut self, memory: &SteeringMemory, index: usize, outcome: Outcome, todo: &mut Todo) {
        let held = self.held.remove(index);
        self.answer(memory, &held, outcome, None, &[]);
        let new = payload::bytes(&held.value, held.bytes).to_vec();
        todo.reports.push(self.report(&held.sender, held.target, outcome, Vec::new(), new));
    }

    /// Takes a request in: refuses it, holds it, or does it.
    fn receive(
        &mut self,
        memory: &SteeringMemory,
        slot: usize,
        ticket: u64,
        letter: &Letter,
        occasion: Occasion,
        todo: &mut Todo,
    ) {
        let sender = Sender { ticket, pid: letter.pid, label: letter.label };
        match self.accept(slot, letter, sender, occasion) {
            Err(refusal) => memory.answer(slot, ticket, Outcome::Refused, Some(refusal), has_come_to(), &[]),
            Ok(held) if held.is_committed && is_due(held.when, occasion) => self.carry_out(memory, held, todo),
            Ok(held) => self.hold(memory, held, occasion),
        }
    }

    fn hold(&mut self, memory: &SteeringMemory, held: Held, occasion: Occasion) {
        let is_same_moment =
            |other: &Held| other.target == held.target && matches!(held.when, When::Step(_)) && other.when == held.when;
        if self.held.len() >= MOST_HELD || self.held.iter().any(is_same_moment) {
            return self.answer(memory, &held, Outcome::Refused, Some(Refusal::Busy), &[]);
        }
        publish_held(self.held.len() + 1);
        // The program may have come to the step in this very moment, on another thread, and not have seen that it is held.
        if is_passed(held.when, occasion) {
            return self.answer(memory, &held, Outcome::Refused, Some(Refusal::Passed), &[]);
        }
        let outcome = if held.is_committed { Outcome::Committed } else { Outcome::Held };
        self.answer(memory, &held, outcome, None, &[]);
        self.held.push(held);
    }

    fn accept(&self, slot: usize, letter: &Letter, sender: Sender, occasion: Occasion) -> Result<Held, Refusal> {
        if who_may() == Steering::Off {
            return Err(Refusal::Off);
        }
        let target = usize::try_from(letter.target).unwrap_or(usize::MAX);
        let registered = self.entries.get(target).ok_or(Refusal::Unknown)?;
        let bytes = usize::try_from(letter.bytes).unwrap_or(usize::MAX);
        if bytes > LONGEST_VALUE || bytes > letter.value.len() * WORD {
            return Err(Refusal::TooLong);
        }
        let when = When::from_words(letter.when, letter.step).ok_or(Refusal::NotAValue)?;
        let when = match (when, registered.entry) {
            // Actions are run at steering points only.
            (When::AtOnce, SteeringTarget::Action(_)) => When::NextPoint,
            (when, _) => when,
        };
        if let SteeringTarget::Knob(knob) = registered.entry {
            if registered.description.flags & knob::READ_ONLY != 0 {
                return Err(Refusal::ReadOnly);
            }
            knob.check(payload::bytes(&letter.value, bytes))?;
        }
        if is_passed(when, occasion) {
            return Err(Refusal::Passed);
        }
        let is_committed = letter.decision == mailbox::COMMIT;
        Ok(Held { slot, sender, target, when, is_committed, value: letter.value.clone(), bytes })
    }

    fn do_what_is_due(&mut self, memory: &SteeringMemory, occasion: Occasion, todo: &mut Todo) {
        let mut index = 0;
        while index < self.held.len() {
            let held = &self.held[index];
            let is_due = is_due(held.when, occasion);
            if is_due && held.is_committed {
                let held = self.held.remove(index);
                self.carry_out(memory, held, todo);
            } else {
                // Only a step is waited for: at other moments a decision may come later.
                todo.is_undecided |= is_due && matches!(held.when, When::Step(_));
                index += 1;
            }
        }
    }

    fn carry_out(&mut self, memory: &SteeringMemory, held: Held, todo: &mut Todo) {
        match self.entries[held.target].entry {
            SteeringTarget::Action(work) => {
                todo.runs.push(Run { work, slot: held.slot, sender: held.sender, target: held.target });
            }
            SteeringTarget::Knob(_) => {
                match self.set(memory, held.target, payload::bytes(&held.value, held.bytes), &held.sender) {
                    Ok((old, new)) => {
                        self.answer(memory, &held, Outcome::Done, None, &old);
                        todo.reports.push(self.report(&held.sender, held.target, Outcome::Done, old, new));
                    }
                    Err(refusal) => self.answer(memory, &held, Outcome::Refused, Some(refusal), &[]),
                }
            }
        }
    }

    /// Sets a knob; returns the bodies of the value before and of the one now.
    pub(crate) fn set(
        &self,
        memory: &SteeringMemory,
        target: usize,
        body: &[u8],
        sender: &Sender,
    ) -> Result<(Vec<u8>, Vec<u8>), Refusal> {
        let registered = &self.entries[target];
        let SteeringTarget::Knob(knob) = registered.entry else { return Err(Refusal::Unknown) };
        let (old, new) = knob.replace(body)?;
        memory.show(registered.cell.clone(), &new, sender, has_come_to());
        Ok((old, new))
    }

    /// Without a decision until now: goes on without the changes that are due at this step.
    pub(crate) fn miss(&mut self, memory: &SteeringMemory, occasion: Occasion, todo: &mut Todo) {
        for index in (0..self.held.len()).rev() {
            let held = &self.held[index];
            if !held.is_committed && is_due(held.when, occasion) && matches!(held.when, When::Step(_)) {
                self.give_up(memory, index, Outcome::Missed, todo);
            }
        }
    }

    /// An action was run, or was not because a thread is at it.
    pub(crate) fn ran(&self, memory: &SteeringMemory, run: &Run, was_done: bool) -> Option<Report> {
        let (outcome, refusal) = if was_done { (Outcome::Done, None) } else { (Outcome::Refused, Some(Refusal::Busy)) };
        if was_done {
            memory.count_run(run.target);
        }
        if self.seen[run.slot] == run.sender.ticket {
            memory.answer(run.slot, run.sender.ticket, outcome, refusal, has_come_to(), &[]);
        }
        was_done.then(|| self.report(&run.sender, run.target, outcome, Vec::new(), Vec::new()))
    }

    /// Answers a request, unless its slot has another one by now.
    fn answer(&self, memory: &SteeringMemory, held: &Held, outcome: Outcome, refusal: Option<Refusal>, old: &[u8]) {
        if self.seen[held.slot] == held.sender.ticket {
            memory.answer(held.slot, held.sender.ticket, outcome, refusal, has_come_to(), old);
        }
    }

    pub(crate) fn report(
        &self,
        sender: &Sender,
        target: usize,
        outcome: Outcome,
        old: Vec<u8>,
        new: Vec<u8>,
    ) -> Report {
        let KnobDescription { name, format, .. } = &self.entries[target].description;
        let who = if sender.ticket == 0 { "program".into() } else { sender.name() };
        let (pid, ticket, step) = (sender.pid, sender.ticket, has_come_to());
        Report { name: name.clone(), outcome, format: *format, old, new, step, who, pid, ticket }
    }
}

/// Whether the moment of a request is over before the request was held.
fn is_passed(when: When, occasion: Occasion) -> bool {
    let When::Step(step) = when else { return false };
    match occasion {
        // What is held now is done now.
        Occasion::Point(Some(now)) => step < now,
        // A program that counts no steps never comes to one.
        _ => has_come_to().is_none_or(|now| step <= now),
    }
}

/// Whether the moment of a request has come.
fn is_due(when: When, occasion: Occasion) -> bool {
    match (when, occasion) {
        (When::AtOnce, _) | (When::NextPoint, Occasion::Point(_)) => true,
        (When::Step(step), Occasion::Point(Some(now))) => step <= now,
        (When::NextPoint | When::Step(_), _) => false,
    }
}
