//! How a node finds out that a collective cannot complete, and who is told.
//!
//! Below the root, bad news goes up at once, and everything it dooms is dropped here from then on. The root decides: its
//! FAILED goes down to every subtree and to every single member that waits. Members that do not wait are told when they
//! enter, so that the last members of a session may leave one after the other without waking the others.

use banyan_link::Frame;
use bytes::Bytes;

use super::{Collectives, Out, To};
use crate::{
    collective::{Call, Number, broken::Offence, known_calls::KnownCalls, loss::Loss},
    message::{FAILED, GONE, MISMATCH},
};

/// What members are told.
#[derive(Debug)]
pub(super) struct Failure {
    number: Number,
    reason: Bytes,
}

impl Failure {
    fn frame(&self) -> Frame {
        Frame::new(FAILED, 0, self.number.sequence(), self.reason.clone())
    }
}

impl Collectives {
    /// A member that is a child of this node, or below a child that is lost, takes part no more. `why` names it: `member
    /// 5 on host n3 exited with status 1`. To be called after its last frame was taken, since what it has sent counts.
    /// News of it goes up by itself: only the node that has lost it knows what it owes.
    pub(crate) fn member_gone(&mut self, rank: u32, why: String, out: &mut Out) {
        let Some(child) = self.children.of(rank) else { return };
        let owed = self.owed(child);
        let number = owed.unwrap_or(self.entered[child]);
        if !self.is_doomed(number) {
            self.lose(child, Loss::new(rank, number, owed.is_some(), why), out);
        }
    }

    /// The parent is gone for good, but not the members below: no collective can complete any more.
    pub(crate) fn parent_gone(&mut self, why: String, out: &mut Out) {
        let oldest = self.rounds.alive().next().map(|(number, _)| number);
        let number = oldest.unwrap_or_else(|| self.rounds.next());
        self.failed(number, Bytes::from(why), out);
    }

    pub(super) fn gone_below(
        &mut self,
        child: usize,
        number: Number,
        frame: &Frame,
        out: &mut Out,
    ) -> Result<(), Offence> {
        let loss = Loss::decode(frame.stream, number, &frame.payload).ok_or(Offence::Payload("GONE"))?;
        self.check_are_of(child, &loss.known)?;
        if self.children.of(loss.rank) != Some(child) {
            return Err(Offence::Rank(loss.rank));
        }
        match self.is_doomed(number) {
            true => self.answer(child, number, out),
            false => self.lose(child, loss, out),
        }
        Ok(())
    }

    /// The first collective that a child has entered but not sent all its data for.
    fn owed(&self, child: usize) -> Option<Number> {
        let owes = |(number, round): &(Number, &super::round::Round)| {
            let messages = round.call.map_or(0, |call| self.children.messages(&call, child));
            *number < self.entered[child] && round.finished(child) < messages
        };
        self.rounds.alive().find(owes).map(|(number, _)| number)
    }

    fn lose(&mut self, child: usize, mut loss: Loss, out: &mut Out) {
        self.add_known(child, loss.number, &mut loss.known);
        let number = loss.number;
        match self.is_root {
            true => self.failed(number, Bytes::from(loss.reason()), out),
            false => self.report(Frame::new(GONE, loss.rank, number.sequence(), loss.encode()), number, out),
        }
    }

    pub(super) fn mismatch_here(&mut self, child: usize, number: Number, call: Call, out: &mut Out) {
        let mut known = KnownCalls::default();
        known.add(call, self.children.runs_of(|of| of == child));
        self.disagree(child, number, known, out);
    }

    pub(super) fn mismatch_below(
        &mut self,
        child: usize,
        number: Number,
        payload: &Bytes,
        out: &mut Out,
    ) -> Result<(), Offence> {
        let mut rest = &payload[..];
        let known = KnownCalls::decode(&mut rest).filter(|_| rest.is_empty()).ok_or(Offence::Payload("MISMATCH"))?;
        self.check_are_of(child, &known)?;
        match self.is_doomed(number) {
            true => self.answer(child, number, out),
            false => self.disagree(child, number, known, out),
        }
        Ok(())
    }

    fn disagree(&mut self, child: usize, number: Number, mut known: KnownCalls, out: &mut Out) {
        self.add_known(child, number, &mut known);
        if self.is_root {
            let reason = format!("collective {number}: {}", known.sentence());
            self.failed(number, Bytes::from(reason), out);
        } else {
            let mut payload = Vec::new();
            known.encode(&mut payload);
            self.report(Frame::new(MISMATCH, self.children.lowest(), number.sequence(), payload), number, out);
        }
    }

    fn check_are_of(&self, child: usize, known: &KnownCalls) -> Result<(), Offence> {
        let stranger = known.runs().find(|run| !self.children.has(child, *run));
        stranger.map_or(Ok(()), |(rank, _)| Err(Offence::Rank(rank)))
    }

    /// Adds the other children that have entered.
    fn add_known(&self, child: usize, number: Number, known: &mut KnownCalls) {
        if let Some(call) = self.rounds.get(number).and_then(|round| round.call) {
            known.add(call, self.children.runs_of(|other| other != child && number < self.entered[other]));
        }
    }

    /// Sends bad news up. FAILED will come back.
    fn report(&mut self, news: Frame, number: Number, out: &mut Out) {
        self.doom(number);
        out.push((To::Parent, news));
    }

    fn doom(&mut self, number: Number) {
        self.doomed = Some(self.doomed.map_or(number, |doomed| doomed.min(number)));
        self.rounds.discard_from(number);
        // Who has asked is told why it fails.
        self.questions.split_off(&number);
    }

    /// It is decided that a collective and all later ones fail. What was told before about these still stands.
    pub(super) fn failed(&mut self, number: Number, reason: Bytes, out: &mut Out) {
        if self.failure.as_ref().is_some_and(|failure| failure.number <= number) {
            return;
        }
        self.doom(number);
        let failure = Failure { number, reason };
        for child in 0..self.children.len() {
            let waits = number < self.entered[child];
            if self.children.members(child) > 1 || waits {
                out.push((To::Child(child), failure.frame()));
            }
        }
        self.failure = Some(failure);
    }

    /// Tells a child that waits for what will fail: it may have joined after the others were told. If the reason is not
    /// known yet it will be told with the others.
    pub(super) fn answer(&self, child: usize, number: Number, out: &mut Out) {
        if let Some(failure) = self.failure.as_ref().filter(|failure| failure.number <= number) {
            out.push((To::Child(child), failure.frame()));
        }
    }
}
