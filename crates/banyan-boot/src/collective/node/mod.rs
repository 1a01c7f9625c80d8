//! Collectives at an inner node: the front-end, which is the root, and every agent.
//!
//! Takes frames of its neighbours and says which frames go where. Per child it remembers how many collectives it has
//! entered, and per collective one [`Round`](round::Round); data is passed on at once, except the pieces of a reduction
//! and short messages of which many come up ([`collecting`]).
//! An ENTER costs no search and, unless it is the last of its collective, no allocation.

mod asking;
mod children;
mod collecting;
mod failing;
mod reducing;
mod round;
mod routing;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::BTreeMap;
use std::time::Instant;

use banyan_link::Frame;
use bytes::Bytes;

pub(crate) use self::children::Subtree;
use self::{asking::Question, children::Children, failing::Failure, round::Rounds};
use super::{
    Broken, Call, Number, PACE,
    broken::{Neighbour, Offence},
    entry::Entry,
};
use crate::message::{
    ASK_ENTERED, BROADCAST, ENTER, FAILED, GATHER, GO, GONE, MISMATCH, NOT_ENTERED, REDUCE, RESULT, SCATTER, SHARE,
};

/// Where a frame goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// To the parent. Never at the root.
    Parent,
    /// To one child.
    Child(usize),
    /// To each child.
    AllChildren,
    /// To each child but one.
    AllChildrenBut(usize),
}

/// Frames to send, in this order on each link.
pub(crate) type Out = Vec<(To, Frame)>;

/// The collectives of a session at one node.
///
/// Children are known by their index. The driver keeps what it cannot send yet (a child that has not joined) and drops
/// what it can send no more (a child that is gone).
#[derive(Debug)]
pub(crate) struct Collectives {
    is_root: bool,
    children: Children,
    /// Collectives that each child has entered.
    entered: Vec<Number>,
    rounds: Rounds,
    /// The first collective that will fail, once that is known: here first, or from above.
    doomed: Option<Number>,
    /// What all were told.
    failure: Option<Failure>,
    /// Who wants to know who has not entered which collective.
    questions: BTreeMap<Number, Question>,
}

#[expect(clippy::wrong_self_convention, reason = "they take what comes from there")]
impl Collectives {
    /// At the front-end. Together the children have all ranks from 0 on, each of them once.
    pub(crate) fn root(children: Vec<Subtree>) -> Self {
        Self::new(true, Children::new(children, None))
    }

    /// At an agent, in a session of `size` members. No rank is in two of its children.
    pub(crate) fn inner(children: Vec<Subtree>, size: u32) -> Self {
        Self::new(false, Children::new(children, Some(size)))
    }

    fn new(is_root: bool, children: Children) -> Self {
        let entered = vec![Number::default(); children.len()];
        let (rounds, questions) = (Rounds::new(), BTreeMap::new());
        Self { is_root, children, entered, rounds, doomed: None, failure: None, questions }
    }

    /// Gives the children other ranks, and takes further ones in. That is possible as long as members have not all started,
    /// so nobody is further than the first collective.
    pub(crate) fn regroup(&mut self, children: Vec<Subtree>, out: &mut Out) {
        self.children = Children::new(children, Some(self.children.size()));
        self.entered.resize(self.children.len(), Number::default());
        let (first, peopled) = (Number::default(), self.children.peopled());
        let has_entered = |child: usize| self.children.members(child) > 0 && first < self.entered[child];
        let entered = (0..self.children.len()).filter(|child| has_entered(*child)).count();
        if self.rounds.next() != first || self.is_doomed(first) {
            return;
        }
        let round = self.rounds.at(first);
        round.entered = entered;
        if let Some(call) = round.call.filter(|_| entered == peopled && peopled > 0) {
            let wants_go = round.wants_go;
            self.all_entered(first, Entry { call, wants_go }, out);
        }
    }

    /// Takes a frame that came from a child. After an error the child is cut off: the driver reads no more of it and
    /// calls [`member_gone`](Self::member_gone) for its members.
    pub(crate) fn from_child(&mut self, child: usize, frame: Frame, now: Instant, out: &mut Out) -> Result<(), Broken> {
        let taken = match self.number(frame.sequence) {
            _ if self.children.members(child) == 0 => Err(Offence::Rank(frame.stream)),
            Err(offence) => Err(offence),
            Ok(number) => match frame.kind {
                ENTER => self.enter(child, number, &frame.payload, out),
                MISMATCH => self.mismatch_below(child, number, &frame.payload, out),
                GONE => self.gone_below(child, number, &frame, out),
                ASK_ENTERED => {
                    self.asked_below(child, number, now, out);
                    Ok(())
                }
                NOT_ENTERED if self.children.is_agent(child) => self.answered_below(child, number, &frame, out),
                BROADCAST | SCATTER | GATHER | SHARE | REDUCE => self.data_from_child(child, number, frame, out),
                kind => Err(Offence::Kind(kind.number())),
            },
        };
        let neighbour = |how| Broken { who: Neighbour::Child(child, self.children.ranks(child).to_string()), how };
        taken.map_err(neighbour)
    }

    /// Takes a frame that came from the parent. After an error the session is over for this node.
    pub(crate) fn from_parent(&mut self, frame: Frame, now: Instant, out: &mut Out) -> Result<(), Broken> {
        let taken = match self.number(frame.sequence) {
            _ if self.is_root => Err(Offence::Kind(frame.kind.number())),
            // Nobody here takes part.
            _ if self.children.peopled() == 0 => Ok(()),
            Err(offence) => Err(offence),
            Ok(number) => match frame.kind {
                GO if number < self.rounds.next() => {
                    out.push((To::AllChildren, frame));
                    Ok(())
                }
                GO => Err(self.out_of_order(frame.sequence)),
                FAILED => {
                    self.failed(number, frame.payload, out);
                    Ok(())
                }
                ASK_ENTERED => {
                    self.asked_above(number, frame.stream, now, out);
                    Ok(())
                }
                NOT_ENTERED => {
                    self.answered_above(number, &frame, out);
                    Ok(())
                }
                BROADCAST | SCATTER | GATHER | SHARE | RESULT => self.data_from_parent(number, frame, out),
                kind => Err(Offence::Kind(kind.number())),
            },
        };
        taken.map_err(|how| Broken { who: Neighbour::Parent, how })
    }

    fn number(&self, sequence: u32) -> Result<Number, Offence> {
        self.rounds.number(sequence).ok_or_else(|| self.out_of_order(sequence))
    }

    fn out_of_order(&self, sequence: u32) -> Offence {
        Offence::Number { sequence, expected: self.rounds.next().0 }
    }

    /// Whether a collective will fail: nothing is done for it any more.
    fn is_doomed(&self, number: Number) -> bool {
        self.doomed.is_some_and(|doomed| doomed <= number)
    }

    fn enter(&mut self, child: usize, number: Number, payload: &Bytes, out: &mut Out) -> Result<(), Offence> {
        let entry = Entry::decode(payload).ok_or(Offence::Payload("ENTER"))?;
        if number != self.entered[child] {
            let expected = self.entered[child].0;
            return Err(Offence::Number { sequence: number.sequence(), expected });
        }
        self.entered[child] = number.next();
        if self.is_doomed(number) {
            self.answer(child, number, out);
            return Ok(());
        }
        let round = self.rounds.at(number);
        if *round.call.get_or_insert(entry.call) != entry.call {
            self.mismatch_here(child, number, entry.call, out);
            return Ok(());
        }
        round.entered += 1;
        round.wants_go |= entry.wants_go;
        let (entered, wants_go) = (round.entered, round.wants_go);
        if entered == self.children.peopled() {
            self.all_entered(number, Entry { wants_go, ..entry }, out);
        }
        if !self.questions.is_empty() {
            self.conclude(number, out);
        }
        Ok(())
    }

    fn all_entered(&mut self, number: Number, entry: Entry, out: &mut Out) {
        self.rounds.pass();
        if !self.is_root {
            out.push((To::Parent, entry.frame(self.children.lowest(), number)));
        } else if entry.wants_go {
            out.push((To::AllChildren, Frame::new(GO, 0, number.sequence(), Bytes::new())));
        }
    }

    /// Whether nobody but the master waits for a frame that goes to everyone: for GO where the master alone has data. The
    /// others may get it together with that data.
    pub(crate) fn is_for_master(&self, frame: &Frame) -> bool {
        let Some(number) = self.rounds.number(frame.sequence).filter(|_| frame.kind == GO) else { return false };
        let call = self.rounds.get(number).and_then(|round| round.call);
        matches!(call, Some(Call::Broadcast | Call::Scatter)) && !number.0.is_multiple_of(PACE)
    }

    /// Whether a child has not entered the next collective that not all have entered.
    pub(crate) fn awaits(&self, child: usize) -> bool {
        self.entered[child] <= self.rounds.next()
    }

    /// Bytes of data that are kept here.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let of_round = |round: &round::Round| {
            round.collected.held() + round.reducing.as_ref().map_or(0, |reducing| reducing.held())
        };
        self.rounds.alive().map(|(_, round)| of_round(round)).sum()
    }
}
