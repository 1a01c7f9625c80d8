//! Collectives at a member.
//!
//! A call begins with [`Caller::begin`], which gives the frame that enters it. Then the driver sends what
//! [`Caller::next_chunk`] gives whenever its link has room, and hands in every frame that comes, until
//! [`Caller::take_result`] has a result or something has failed. Data that is sent is never copied; data that is received
//! is kept once.
//!
//! A call that has not completed in time goes on: the same call [takes it up again](Caller::is_in). Meanwhile
//! [`Caller::ask`] gives the frame that asks who has not entered.

mod early;
mod error;
mod receiving;
mod sending;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use self::early::early_at_most;

use banyan_link::Frame;
use bytes::Bytes;

pub use self::error::CollectiveError;
use self::{early::Early, error::check_length, receiving::Receiving, sending::Sending};
use super::{Absent, Call, EAGER, ElementKind, Number, PACE, ReduceOp, Reduction, entry::Entry};
use crate::message::{ASK_ENTERED, BROADCAST, FAILED, GATHER, GO, NOT_ENTERED, RESULT, SCATTER, SHARE};

/// What a member calls, with its own bytes.
#[derive(Clone, Debug)]
pub(crate) enum Own {
    /// Nothing is sent.
    Barrier,
    /// The master gives the bytes.
    Broadcast(Option<Bytes>),
    /// The master gives a part for each member.
    Scatter(Option<Vec<Bytes>>),
    /// Each gives its bytes.
    Gather(Bytes),
    /// Each gives its bytes.
    AllGather(Bytes),
    /// Each gives an array, all of the same length.
    AllReduce(ReduceOp, ElementKind, Bytes),
}

/// What a member gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// Of a barrier, and for those who only give.
    Done,
    /// Of a broadcast, a scatter, a reduction.
    Bytes(Bytes),
    /// Of everyone, by rank: of a gather at the master, of an `all_gather`.
    Parts(Vec<Bytes>),
}

/// The collectives of one member.
#[derive(Debug)]
pub(crate) struct Caller {
    rank: u32,
    size: u32,
    /// The next collective to enter.
    next: Number,
    /// Bytes sent without GO since the last GO, as many as any one receiver has got of them.
    spent: usize,
    part: Option<OwnCall>,
    early: Early,
    /// The first collective that fails, and why.
    failure: Option<(Number, String)>,
    /// The collective that it has asked about, until the answer has come.
    asked: Option<Number>,
    /// The answer, until it is taken.
    absent: Option<Absent>,
}

/// This member's part in the collective it is in.
#[derive(Debug)]
struct OwnCall {
    number: Number,
    call: Call,
    /// It ends after GO, not before.
    waits_for_go: bool,
    /// Its data begins after GO, not before.
    holds_data: bool,
    sending: Sending,
    receiving: Receiving,
}

impl OwnCall {
    fn is_complete(&self) -> bool {
        !self.waits_for_go && self.sending.is_done() && self.receiving.is_done()
    }
}

impl Caller {
    /// A member that has entered no collective yet. `rank` is less than `size`.
    pub(crate) fn new(rank: u32, size: u32) -> Self {
        let early = Early::new(size);
        let (part, failure, asked, absent) = (None, None, None, None);
        Self { rank, size, next: Number::default(), spent: 0, part, early, failure, asked, absent }
    }

    /// Begins the next collective, and gives the frame that enters it. An error that is not
    /// [`Failed`](CollectiveError::Failed) is the caller's mistake, and nothing has happened.
    pub(crate) fn begin(&mut self, own: Own) -> Result<Frame, CollectiveError> {
        if let Some(part) = &self.part {
            return Err(CollectiveError::Unfinished { number: part.number.0, call: part.call.to_string() });
        }
        let number = self.next;
        self.check_failure(number)?;
        let (call, sending, receiving) = self.roles(own)?;
        let waits_for_go = call == Call::Barrier || number.0.is_multiple_of(PACE);
        let holds_data = number == Number::default() || self.spent.saturating_add(sending.longest()) > EAGER;
        if !holds_data {
            self.spent += sending.longest();
        }
        let wants_go = waits_for_go || holds_data;
        let mut part = OwnCall { number, call, waits_for_go, holds_data, sending, receiving };
        for frame in self.early.take_next() {
            part.take(frame)?;
        }
        self.part = Some(part);
        self.next = number.next();
        Ok(Entry { call, wants_go }.frame(self.rank, number))
    }

    /// Whether this is the call of the collective in progress, which goes on with the bytes that it was begun with.
    pub(crate) fn is_in(&self, own: &Own) -> Result<bool, CollectiveError> {
        let Some(part) = &self.part else { return Ok(false) };
        let (call, ..) = self.roles(own.clone())?;
        Ok(call == part.call)
    }

    /// The number of the collective in progress.
    pub(crate) fn number(&self) -> Option<u64> {
        self.part.as_ref().map(|part| part.number.0)
    }

    /// Asks who has not entered the collective in progress; none if that was asked, and not answered yet.
    pub(crate) fn ask(&mut self) -> Option<Frame> {
        let number = self.part.as_ref()?.number;
        let is_new = self.asked != Some(number);
        self.asked = Some(number);
        is_new.then(|| Frame::new(ASK_ENTERED, self.rank, number.sequence(), Bytes::new()))
    }

    /// The answer to that, if it has come.
    pub(crate) fn take_absent(&mut self) -> Option<Absent> {
        self.absent.take()
    }

    /// Who sends and gets what.
    fn roles(&self, own: Own) -> Result<(Call, Sending, Receiving), CollectiveError> {
        let (rank, size) = (self.rank, self.size);
        let is_master = rank == 0;
        let nothing = || Sending::none();
        let one = |kind, bytes: Bytes| check_length(&bytes).map(|()| Sending::new(kind, [(rank, bytes)]));
        Ok(match own {
            Own::Barrier => (Call::Barrier, nothing(), Receiving::nothing(CallOutcome::Done)),
            Own::Broadcast(Some(bytes)) if is_master => {
                let own = Receiving::nothing(CallOutcome::Bytes(bytes.clone()));
                (Call::Broadcast, one(BROADCAST, bytes)?, own)
            }
            Own::Broadcast(None) if !is_master => (Call::Broadcast, nothing(), Receiving::one(BROADCAST)),
            Own::Scatter(Some(parts)) if is_master => {
                if parts.len() != size as usize {
                    return Err(CollectiveError::Parts { given: parts.len(), members: size });
                }
                parts.iter().try_for_each(check_length)?;
                let mut parts = (0..).zip(parts);
                let own = parts.next().map_or(CallOutcome::Done, |(_, part)| CallOutcome::Bytes(part));
                (Call::Scatter, Sending::new(SCATTER, parts), Receiving::nothing(own))
            }
            Own::Scatter(None) if !is_master => (Call::Scatter, nothing(), Receiving::one(SCATTER)),
            Own::Broadcast(given) => return Err(CollectiveError::not_the_master("broadcast", given.is_some())),
            Own::Scatter(given) => return Err(CollectiveError::not_the_master("scatter", given.is_some())),
            Own::Gather(bytes) if is_master => {
                check_length(&bytes)?;
                (Call::Gather, nothing(), Receiving::each(GATHER, size, Some(bytes)))
            }
            Own::Gather(bytes) => (Call::Gather, one(GATHER, bytes)?, Receiving::nothing(CallOutcome::Done)),
            Own::AllGather(bytes) => (Call::AllGather, one(SHARE, bytes)?, Receiving::each(SHARE, size, None)),
            Own::AllReduce(what, of, bytes) => {
                let reduction = Reduction::new(what, of, bytes.len() as u64)?;
                (Call::AllReduce(reduction), Sending::reduction(rank, bytes, size), Receiving::one(RESULT))
            }
        })
    }

    /// Whether there is data to send now.
    pub(crate) fn has_chunk(&self) -> bool {
        self.part.as_ref().is_some_and(|part| !part.holds_data && !part.sending.is_done())
    }

    /// The next frame of data to send, if there is one now and its payload has at most `room` bytes. A link whose
    /// room is never [`CHUNK`](crate::message::CHUNK) may never get it.
    pub(crate) fn next_chunk(&mut self, room: usize) -> Option<Frame> {
        let part = self.part.as_mut().filter(|part| !part.holds_data)?;
        part.sending.next(part.number, room)
    }

    /// Takes a frame of collectives that came from the agent. [`Failed`](CollectiveError::Failed) ends the collective in
    /// progress and all later ones; after another error the agent cannot be trusted.
    pub(crate) fn handle(&mut self, frame: Frame) -> Result<(), CollectiveError> {
        let number = self.next.nearest(frame.sequence).ok_or(CollectiveError::protocol(&frame))?;
        match frame.kind {
            FAILED => self.fail(number, &frame.payload),
            GO => self.go(number).ok_or(CollectiveError::protocol(&frame)),
            NOT_ENTERED => self.answered(number, &frame).ok_or(CollectiveError::protocol(&frame)),
            BROADCAST | SCATTER | GATHER | SHARE | RESULT => self.data(number, frame),
            _ => Err(CollectiveError::protocol(&frame)),
        }
    }

    fn data(&mut self, number: Number, frame: Frame) -> Result<(), CollectiveError> {
        match &mut self.part {
            Some(part) if part.number == number => part.take(frame),
            _ if number >= self.next => self.early.keep((number.0 - self.next.0) as usize, frame),
            // Of members that were in another collective than this one; they will fail.
            _ => Ok(()),
        }
    }

    /// Everyone has entered: nothing that was sent before is early for anybody.
    fn go(&mut self, number: Number) -> Option<()> {
        if let Some(part) = self.part.as_mut().filter(|part| part.number == number) {
            part.waits_for_go = false;
            part.holds_data = false;
            self.spent = 0;
        }
        (number < self.next).then_some(())
    }

    /// An answer to a question about a collective that is over is of no use any more.
    fn answered(&mut self, number: Number, frame: &Frame) -> Option<()> {
        let absent = Absent::decode(&frame.payload, self.size)?;
        if self.asked.take_if(|asked| *asked == number).is_some() {
            self.absent = Some(absent).filter(|_| self.part.as_ref().is_some_and(|part| part.number == number));
        }
        (number < self.next).then_some(())
    }

    fn fail(&mut self, number: Number, reason: &[u8]) -> Result<(), CollectiveError> {
        if self.failure.as_ref().is_none_or(|(first, _)| number < *first) {
            self.failure = Some((number, String::from_utf8_lossy(reason).into_owned()));
        }
        match &self.part {
            Some(part) if !part.is_complete() => {
                let failed = self.check_failure(part.number);
                if failed.is_err() {
                    self.part = None;
                }
                failed
            }
            _ => Ok(()),
        }
    }

    fn check_failure(&self, number: Number) -> Result<(), CollectiveError> {
        match &self.failure {
            Some((first, reason)) if *first <= number => Err(CollectiveError::Failed(reason.clone())),
            _ => Ok(()),
        }
    }

    /// Whether the collective in progress is complete.
    pub(crate) fn has_result(&self) -> bool {
        self.part.as_ref().is_some_and(OwnCall::is_complete)
    }

    /// The result of the collective in progress, once it is complete.
    pub(crate) fn take_result(&mut self) -> Option<CallOutcome> {
        self.part.take_if(|part| part.is_complete()).map(|part| part.receiving.outcome())
    }

    /// Bytes kept for collectives that this member has not entered.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.early.bytes()
    }
}

impl OwnCall {
    fn take(&mut self, frame: Frame) -> Result<(), CollectiveError> {
        if frame.kind == RESULT {
            self.sending.advance();
        }
        self.receiving.take(frame)
    }
}
