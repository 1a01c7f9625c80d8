//! Who has not entered a collective: the way of a question and of its answer.
//!
//! A member asks that has waited for too long. Its question goes up to the root, from each node only once. The root asks
//! the agents that have not entered, and these the agents below them. Each answers with its own members that have not
//! entered, and what came from below. An agent whose answer does not come in time is named with its members, of which
//! nobody knows. What the root has found goes down to those who have asked.
//!
//! A node keeps at most one question of each number that is alive, and of each question at most one answer of each child.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use banyan_link::Frame;
use bytes::Bytes;

use super::{Collectives, Out, To};
use crate::{
    collective::{ANSWER_TIME, Absent, Number, broken::Offence},
    message::{ASK_ENTERED, NOT_ENTERED},
};

/// Those whom a node asks have so much of the time that the node itself has: so it can answer although they do not.
const TIME_BELOW: (u32, u32) = (3, 4);

/// A question that was not answered yet.
#[derive(Debug, Default)]
pub(super) struct Question {
    /// Children that wait for the answer of the root.
    askers: Vec<usize>,
    /// What is being found out below this node.
    survey: Option<Survey>,
}

#[derive(Debug)]
struct Survey {
    /// Who has not answered then is named.
    until: Instant,
    answers: BTreeMap<usize, Absent>,
}

impl Collectives {
    /// A member that is below a child waits for a collective.
    pub(super) fn asked_below(&mut self, child: usize, number: Number, now: Instant, out: &mut Out) {
        if self.is_doomed(number) {
            return self.answer(child, number, out);
        }
        let question = self.questions.entry(number).or_default();
        let is_first = question.askers.is_empty();
        if !question.askers.contains(&child) {
            question.askers.push(child);
        }
        if self.is_root {
            self.survey(number, ANSWER_TIME, now, out);
        } else if is_first {
            out.push((To::Parent, Frame::new(ASK_ENTERED, self.children.lowest(), number.sequence(), Bytes::new())));
        }
    }

    /// The parent wants to know, within so many milliseconds.
    pub(super) fn asked_above(&mut self, number: Number, milliseconds: u32, now: Instant, out: &mut Out) {
        // What is doomed fails: nobody needs an answer.
        if !self.is_doomed(number) {
            let time = Duration::from_millis(milliseconds.into()).min(ANSWER_TIME);
            self.survey(number, time, now, out);
        }
    }

    /// Finds out who below this node has not entered, unless that is under way.
    fn survey(&mut self, number: Number, time: Duration, now: Instant, out: &mut Out) {
        let question = self.questions.entry(number).or_default();
        if question.survey.is_none() {
            question.survey = Some(Survey { until: now + time, answers: BTreeMap::new() });
            let (times, of) = TIME_BELOW;
            let below = (time * times / of).as_millis() as u32;
            for child in (0..self.children.len()).filter(|child| self.is_asked(*child, number)) {
                let frame = Frame::new(ASK_ENTERED, below, number.sequence(), Bytes::new());
                out.push((To::Child(child), frame));
            }
        }
        self.conclude(number, out);
    }

    /// Whether only a child itself knows which of its members have not entered.
    fn is_asked(&self, child: usize, number: Number) -> bool {
        self.children.is_agent(child) && self.children.members(child) > 0 && self.entered[child] <= number
    }

    /// A child has answered.
    pub(super) fn answered_below(
        &mut self,
        child: usize,
        number: Number,
        frame: &Frame,
        out: &mut Out,
    ) -> Result<(), Offence> {
        let absent = Absent::decode(&frame.payload, self.children.size()).ok_or(Offence::Payload("NOT_ENTERED"))?;
        if let Some(survey) = self.questions.get_mut(&number).and_then(|question| question.survey.as_mut()) {
            // Some of its members may be elsewhere by now.
            survey.answers.insert(child, absent.within(self.children.ranks(child)));
            self.conclude(number, out);
        }
        Ok(())
    }

    /// The root has answered.
    pub(super) fn answered_above(&mut self, number: Number, frame: &Frame, out: &mut Out) {
        if let Some(question) = self.questions.get_mut(&number) {
            let askers = std::mem::take(&mut question.askers);
            out.extend(askers.into_iter().map(|asker| (To::Child(asker), frame.clone())));
            if question.survey.is_none() {
                self.questions.remove(&number);
            }
        }
    }

    /// Answers if everyone has whom this node has asked, or has entered since.
    pub(super) fn conclude(&mut self, number: Number, out: &mut Out) {
        let survey = self.questions.get(&number).and_then(|question| question.survey.as_ref());
        let Some(survey) = survey else { return };
        let has_answered = |child: usize| !self.is_asked(child, number) || survey.answers.contains_key(&child);
        if (0..self.children.len()).all(has_answered) {
            self.answer_question(number, &|_| String::new(), out);
        }
    }

    /// When [`questions_due`](Self::questions_due) is to be called.
    pub(crate) fn question_timeout(&self) -> Option<Instant> {
        self.questions.values().filter_map(|question| Some(question.survey.as_ref()?.until)).min()
    }

    /// Answers questions whose time is over. `host_of` has the hosts of children.
    pub(crate) fn questions_due(&mut self, now: Instant, host_of: &dyn Fn(usize) -> String, out: &mut Out) {
        let is_due = |question: &Question| question.survey.as_ref().is_some_and(|survey| survey.until <= now);
        let due: Vec<Number> =
            self.questions.iter().filter(|(_, question)| is_due(question)).map(|(number, _)| *number).collect();
        due.into_iter().for_each(|number| self.answer_question(number, host_of, out));
    }

    /// Says who has not entered, as far as it is known here.
    fn answer_question(&mut self, number: Number, host_of: &dyn Fn(usize) -> String, out: &mut Out) {
        let Some(question) = self.questions.get_mut(&number) else { return };
        let mut answers = question.survey.take().map(|survey| survey.answers).unwrap_or_default();
        let askers = if self.is_root { std::mem::take(&mut question.askers) } else { Vec::new() };
        if question.askers.is_empty() {
            self.questions.remove(&number);
        }
        let mut absent = Absent::default();
        for child in (0..self.children.len()).filter(|child| self.entered[*child] <= number) {
            match answers.remove(&child) {
                Some(answer) => absent.add(&answer),
                None if self.is_asked(child, number) => absent.add_silent(&host_of(child), self.children.ranks(child)),
                None => absent.not_entered = absent.not_entered.union(self.children.ranks(child)),
            }
        }
        let answer = |absent: Absent| Frame::new(NOT_ENTERED, 0, number.sequence(), absent.encode());
        if self.is_root {
            let answer = answer(absent.cut());
            out.extend(askers.into_iter().map(|asker| (To::Child(asker), answer.clone())));
        } else {
            out.push((To::Parent, answer(absent)));
        }
    }
}
