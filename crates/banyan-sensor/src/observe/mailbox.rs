//! Sending requests to a process, deciding about them, and reading what it answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::board::Board;
use super::knobs::{ActionInfo, KnobInfo};
use super::observer::{is_dead, lease_ticks};
use super::segment::{Segment, SegmentError};
use crate::clock::Clock;
use crate::identity::start_time;
use crate::layout::{self, LABEL_WORDS, MAIL_CAPACITY, WORD, answer, header, letter, observers};
use crate::mailbox as protocol;
use crate::memory::Map;
use crate::steering::letter::{Letter, When, label_words, value_words};
use crate::steering::{NO_STEP, Outcome, Refusal};
use crate::{latest, payload};

/// What is asked of a process.
///
/// It is done when its moment comes. A [`proposed`](Self::proposed) one is only held until [`Mailbox::commit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    target: usize,
    body: Vec<u8>,
    when: When,
    is_proposed: bool,
}

impl Request {
    /// To set a knob. [`KnobInfo::body`] makes the body.
    pub fn set(knob: &KnobInfo, body: Vec<u8>) -> Request {
        Request { target: knob.index, body, when: When::AtOnce, is_proposed: false }
    }

    /// To run an action.
    pub fn run(action: &ActionInfo) -> Request {
        Request { target: action.index, body: Vec::new(), when: When::AtOnce, is_proposed: false }
    }

    /// When it is to be done.
    #[must_use]
    pub fn when(mut self, when: When) -> Request {
        self.when = when;
        self
    }

    /// The process checks it and answers, but does it only after [`Mailbox::commit`]: so that several processes do it or none.
    #[must_use]
    pub fn proposed(mut self) -> Request {
        self.is_proposed = true;
        self
    }
}

/// A request that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    slot: usize,
    number: u64,
}

impl Ticket {
    /// The number of the request, as values and events have it.
    pub fn number(&self) -> u64 {
        self.number
    }
}

/// What a process has answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// It has not looked yet.
    Waiting,
    /// It has checked the request, and waits for a decision.
    Held {
        /// The step that it had reached then.
        step: Option<u64>,
    },
    /// It knows that the request is decided, and does it when its moment comes.
    Committed {
        /// The step that it had reached when it heard of the decision.
        step: Option<u64>,
    },
    /// The knob is set, or the action was run.
    Done {
        /// The body of the value before; of an action empty.
        old: Vec<u8>,
        /// The step at which it was done.
        step: Option<u64>,
        /// When it was done, by the clock of the segment.
        stamp: u64,
    },
    /// It does not do it.
    Refused {
        /// Why not.
        why: Refusal,
        /// The step that it had reached then.
        step: Option<u64>,
    },
    /// It was cancelled: by its sender, or because the process has not heard of the sender in time.
    Cancelled,
    /// The process came to the step before it heard a decision. It has gone on without the change.
    Missed {
        /// The step.
        step: Option<u64>,
    },
    /// The slot is another request's by now: a final answer stays only until then.
    Gone,
}

impl Answer {
    /// Whether no other answer follows.
    pub fn is_final(&self) -> bool {
        !matches!(self, Answer::Waiting | Answer::Held { .. } | Answer::Committed { .. })
    }
}

/// Where requests to one process are put. Several observers have one at the same time.
///
/// [`answer`](Self::answer) must be called at least every few seconds for requests that are not final: a process cancels what it
/// holds when it has not heard of the sender for ten seconds. Dropping a mailbox takes back what is not decided.
///
/// ```no_run
/// use banyan_sensor::observe::{Mailbox, Request, Segment, find};
/// use std::time::Duration;
///
/// let segment = Segment::open(&find()[0].path)?;
/// let knobs = segment.knobs()?;
/// let dt = knobs.iter().find(|knob| knob.name == "solver.dt").ok_or("no such knob")?;
/// let mut mailbox = Mailbox::open(&segment, "an example")?;
/// let ticket = mailbox.send(&Request::set(dt, dt.body(0.25)?))?;
/// println!("{:?}", mailbox.wait(ticket, Duration::from_secs(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Mailbox {
    board: Board,
    answers: Map,
    /// The word of the map at which they begin, and words of one.
    answers_at: usize,
    stride: usize,
    clock: Clock,
    path: std::path::PathBuf,
    label: [u64; LABEL_WORDS],
    /// Requests that have no final answer.
    sent: Vec<Ticket>,
}

/// Looks without sleep between them, some microseconds in all: a program that gets its knobs all the time answers as fast.
const QUICK_LOOKS: u32 = 64;

/// How long a waiting observer sleeps between looks after that.
const NAP: Duration = Duration::from_micros(50);

impl Mailbox {
    /// Opens the mailbox of a process. The label says who sends; its first 64 bytes stand with every change.
    ///
    /// # Errors
    /// When the process has no knobs and no actions, or its files are damaged.
    pub fn open(segment: &Segment, label: &str) -> Result<Mailbox, SegmentError> {
        let [offset, stride, capacity, count] = [0, 1, 2, 3].map(|word| segment.header(header::ANSWERS + word));
        if count == 0 {
            return Err(SegmentError::NothingToSteer { path: segment.path.clone() });
        }
        let least = (layout::ANSWER_WORDS * WORD) as u64;
        if stride != least || capacity < MAIL_CAPACITY as u64 || capacity > 1 << 16 {
            return Err(segment.damaged("the table of answers"));
        }
        let (answers, answers_at) = segment.map_words(offset, stride * MAIL_CAPACITY as u64)?;
        Ok(Mailbox {
            board: Board::open(segment)?,
            answers,
            answers_at,
            stride: stride as usize / WORD,
            clock: segment.clock,
            path: segment.path.clone(),
            label: label_words(label),
            sent: Vec::new(),
        })
    }

    /// Sends a request.
    ///
    /// # Errors
    /// When no slot is free, or an observer that has stopped has the lock.
    pub fn send(&mut self, request: &Request) -> Result<Ticket, SegmentError> {
        let _locked = self.board.lock()?;
        let now = self.clock.now();
        let free = (0..MAIL_CAPACITY).find(|slot| self.is_free(*slot, now));
        let full = || SegmentError::MailboxFull { path: self.path.clone(), most: MAIL_CAPACITY };
        let slot = free.ok_or_else(full)?;
        let mut random = [0; 8];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| SegmentError::Io { path: self.path.clone(), source: error.into() })?;
        let number = u64::from_ne_bytes(random) | 1;
        let (when, step) = request.when.to_words();
        let pid = std::process::id();
        let letter = Letter {
            pid: pid.into(),
            start_time: start_time(pid).unwrap_or(0),
            lease: now.saturating_add(lease_ticks(self.clock)),
            decision: if request.is_proposed { protocol::OPEN } else { protocol::COMMIT },
            target: request.target as u64,
            when,
            step,
            bytes: request.body.len() as u64,
            label: self.label,
            value: value_words(&request.body),
        };
        protocol::put(self.slot(slot), number, &letter.to_words());
        self.ring();
        let ticket = Ticket { slot, number };
        self.sent.push(ticket);
        Ok(ticket)
    }

    /// What the process has answered by now. Says also that this observer lives. A final answer frees the slot.
    pub fn answer(&mut self, ticket: Ticket) -> Answer {
        let slot = self.slot(ticket.slot);
        let is_ours = slot[letter::TICKET].load(Ordering::Acquire) == ticket.number;
        if is_ours {
            let lease = self.clock.now().saturating_add(lease_ticks(self.clock));
            slot[letter::LEASE].store(lease, Ordering::Relaxed);
        }
        let answer = match self.read(ticket.slot) {
            Some((number, answer)) if number == ticket.number => answer,
            _ if is_ours => Answer::Waiting,
            _ => Answer::Gone,
        };
        if answer.is_final() {
            let _ = slot[letter::TICKET].compare_exchange(ticket.number, 0, Ordering::AcqRel, Ordering::Relaxed);
            self.sent.retain(|other| *other != ticket);
        }
        answer
    }

    /// Waits for a final answer, at most so long; then says what the answer is so far.
    pub fn wait(&mut self, ticket: Ticket, limit: Duration) -> Answer {
        self.wait_until(ticket, limit, Answer::is_final)
    }

    /// Waits until the process has checked a request: it holds or refuses it.
    pub fn wait_for_check(&mut self, ticket: Ticket, limit: Duration) -> Answer {
        self.wait_until(ticket, limit, |answer| *answer != Answer::Waiting)
    }

    fn wait_until(&mut self, ticket: Ticket, limit: Duration, is_enough: impl Fn(&Answer) -> bool) -> Answer {
        let since = Instant::now();
        let mut looks = 0;
        loop {
            let answer = self.answer(ticket);
            if is_enough(&answer) || since.elapsed() >= limit {
                return answer;
            }
            looks += 1;
            if looks < QUICK_LOOKS {
                std::thread::yield_now();
            } else {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Decides that a proposed request is to be done. False if the slot is another request's by now. Whether the decision came
    /// in time, the answer says.
    ///
    /// # Errors
    /// When an observer that has stopped has the lock.
    pub fn commit(&mut self, ticket: Ticket) -> Result<bool, SegmentError> {
        self.decide(ticket, protocol::COMMIT)
    }

    /// Decides that a proposed request is not to be done. One that is committed stays so.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn cancel(&mut self, ticket: Ticket) -> Result<bool, SegmentError> {
        self.decide(ticket, protocol::CANCEL)
    }

    fn decide(&mut self, ticket: Ticket, decision: u64) -> Result<bool, SegmentError> {
        // Others take slots under the lock: nobody else's request is decided.
        let _locked = self.board.lock()?;
        let slot = self.slot(ticket.slot);
        let is_ours = slot[letter::TICKET].load(Ordering::Acquire) == ticket.number;
        let is_open = slot[letter::DECISION].load(Ordering::Relaxed) == protocol::OPEN;
        if is_ours && is_open {
            protocol::decide(slot, decision);
            self.ring();
        }
        Ok(is_ours)
    }

    fn slot(&self, slot: usize) -> &[AtomicU64] {
        &self.board.words()[layout::MAILBOX_AT / WORD + slot * letter::WORDS..][..letter::WORDS]
    }

    fn ring(&self) {
        protocol::ring(&self.board.words()[observers::BELL]);
    }

    /// Whether nobody needs a slot: it is empty, or its sender is dead and the process does not have to hear of it any more.
    fn is_free(&self, slot: usize, now: u64) -> bool {
        let words = self.slot(slot);
        let word = |at: usize| words[at].load(Ordering::Acquire);
        let number = word(letter::TICKET);
        if number == 0 {
            return true;
        }
        let is_heard = match self.read(slot) {
            Some((answered, answer)) if answered == number => !matches!(answer, Answer::Held { .. }),
            _ => false,
        };
        let is_dead = is_dead([letter::PID, letter::START_TIME, letter::LEASE].map(word), now);
        is_dead && (is_heard || word(letter::DECISION) != protocol::COMMIT)
    }

    /// The last answer that concerned a slot, and the number of its request.
    fn read(&self, slot: usize) -> Option<(u64, Answer)> {
        let cell = &self.answers.words()[self.answers_at + slot * self.stride..][..layout::ANSWER_WORDS];
        let mut words = Vec::new();
        let head = latest::read(cell, &mut words)?;
        let (said, old) = words.split_at_checked(answer::HEAD_WORDS)?;
        let length = usize::from(head.length);
        if length > old.len() * WORD {
            return None;
        }
        let step = Some(said[answer::STEP]).filter(|step| *step != NO_STEP);
        let answer = match Outcome::from_number(said[answer::OUTCOME])? {
            Outcome::Held => Answer::Held { step },
            Outcome::Committed => Answer::Committed { step },
            Outcome::Done => Answer::Done { old: payload::bytes(old, length).to_vec(), step, stamp: head.stamp },
            Outcome::Refused => Answer::Refused { why: Refusal::from_number(said[answer::REASON])?, step },
            Outcome::Cancelled => Answer::Cancelled,
            Outcome::Missed => Answer::Missed { step },
        };
        Some((said[answer::TICKET], answer))
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        for ticket in std::mem::take(&mut self.sent) {
            let _ = self.cancel(ticket);
            let slot = self.slot(ticket.slot);
            // What is committed stays until the process has heard of it.
            if slot[letter::DECISION].load(Ordering::Relaxed) != protocol::COMMIT {
                let _ = slot[letter::TICKET].compare_exchange(ticket.number, 0, Ordering::AcqRel, Ordering::Relaxed);
            }
        }
    }
}
