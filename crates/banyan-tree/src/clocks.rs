//! What a node knows of its parent's clock and of the front-end's, and when it asks its parent for more.
//!
//! A node asks its parent ([`Message::ClockAsked`]), and the parent answers with two of the four times of an exchange and with
//! what it knows of the front-end's clock itself ([`Message::ClockTold`]). Both together are what the node knows of the
//! front-end's clock: [`Estimate::then`]. Nodes that read one and the same clock compare nothing, and take over what the parent
//! knows.
//!
//! A parent that is new is asked ten times in the first second. Later the node asks only when it is awake anyway,
//! about once a second. A node that has lost its parent goes on with what it knew, whose bound grows.
//!
//! There is neither a clock nor a link in here: times come as arguments, and what is to be said goes as results. So drivers
//! and the simulator run the same machine.
//!
//! [`Message::ClockAsked`]: crate::Message::ClockAsked
//! [`Message::ClockTold`]: crate::Message::ClockTold

use std::time::Duration;

use banyan_clock::{Estimate, Exchange, Limits, Observed, PeerClock};

use crate::ids::{LinkId, NodeId, Time};

/// How long a node pauses after its first exchange with a parent; each pause is twice as long as the one before, …
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// … up to this. It is a bit less than a second, so that a heartbeat a second later finds the next exchange due.
const EVERY: Duration = Duration::from_millis(900);

/// A question that was not answered within this time is asked again.
const PATIENCE: Duration = Duration::from_secs(4);

/// Children are told unasked when the bound is so many times smaller than when they were last told: a few times in all.
const NEWS: i64 = 4;

/// Which clock a process reads: that of its kernel, in a namespace of times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockId {
    /// The number of the kernel's run, or zeros where that is not known.
    pub boot: [u8; 16],
    /// The number of the namespace within that kernel.
    pub namespace: u64,
}

impl ClockId {
    /// Whether both are known to be one clock.
    pub fn is_same(&self, other: &ClockId) -> bool {
        self.boot != [0; 16] && self == other
    }
}

/// What a parent says of clocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockAnswer {
    /// The number of the child's question; 0 if the parent was not asked.
    pub question: u32,
    /// The clock that the parent reads.
    pub clock: ClockId,
    /// When the question came, by that clock, in nanoseconds.
    pub heard: i64,
    /// When the answer went.
    pub answered: i64,
    /// The front-end's clock, as the parent knows it.
    pub front_end: Option<Estimate>,
}

/// What a node knows of the clocks above it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NodeClock {
    /// Its parent.
    pub parent: NodeId,
    /// Whether the node and its parent read one and the same clock.
    pub is_same: bool,
    /// The parent's clock as the node sees it; `None` if it is the same one, or not known yet.
    pub of_parent: Option<Estimate>,
    /// The front-end's clock as the node sees it.
    pub front_end: Option<Estimate>,
    /// The shortest time that a question and its answer took.
    pub round_trip: Option<Duration>,
    /// Exchanges with this parent.
    pub exchanges: u64,
    /// How often a parent's clock, or the node's own, turned out to have been set, stopped or changed in its pace.
    pub steps: u64,
}

impl NodeClock {
    /// A node that knows nothing of clocks yet.
    pub(crate) fn unknown(parent: NodeId) -> NodeClock {
        let (of_parent, front_end, round_trip) = (None, None, None);
        NodeClock { parent, is_same: false, of_parent, front_end, round_trip, exchanges: 0, steps: 0 }
    }

    /// How many nanoseconds the node's clock is ahead of its parent's; `None` if nothing is known.
    pub fn offset(&self) -> Option<i64> {
        self.edge().map(|edge| edge.offset().saturating_neg())
    }

    /// How many nanoseconds the node's clock gains in a second on its parent's.
    pub fn drift(&self) -> Option<f64> {
        // A zero has no sign for people.
        self.edge().map(|edge| 0.0 - edge.drift())
    }

    /// By how many nanoseconds [`offset`](Self::offset) is wrong at most.
    pub fn bound(&self) -> Option<i64> {
        self.edge().map(|edge| edge.bound())
    }

    fn edge(&self) -> Option<Estimate> {
        if self.is_same { Some(Estimate::own(0)) } else { self.of_parent }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Clocks {
    own: ClockId,
    /// Whether this node wants to know the front-end's clock as well as it can at any time, because it may be asked.
    is_keen: bool,
    /// Whether its program has asked since the parent last answered.
    is_wanted: bool,
    front_end: Option<Estimate>,
    edge: Option<Edge>,
    /// The bound that children were last told of unasked.
    told: Option<i64>,
    /// The number of the last question.
    questions: u32,
    steps: u64,
}

/// The parent.
#[derive(Debug)]
struct Edge {
    link: LinkId,
    /// A question that was not answered yet: its number, when it went by the own clock, and until when it is waited for.
    asked: Option<(u32, i64, Time)>,
    /// When to ask next, unless the parent does not understand it.
    ask_at: Option<Time>,
    pause: Duration,
    is_same: bool,
    clock: Option<Box<PeerClock>>,
    /// The front-end's clock by the parent's.
    front_end: Option<Estimate>,
    round_trip: Option<i64>,
    exchanges: u64,
}

impl Clocks {
    /// Of the front-end, whose clock all others are compared with.
    pub(crate) fn front_end(own: ClockId) -> Clocks {
        Clocks { front_end: Some(Estimate::own(0)), told: Some(0), ..Clocks::below(own, false) }
    }

    /// Of another node, which may have children.
    pub(crate) fn below(own: ClockId, has_children: bool) -> Clocks {
        Clocks {
            own,
            is_keen: has_children,
            is_wanted: false,
            front_end: None,
            edge: None,
            told: None,
            questions: 0,
            steps: 0,
        }
    }

    /// The clock that this node reads.
    pub(crate) fn own(&self) -> ClockId {
        self.own
    }

    /// The link to the parent whose clock this is about.
    pub(crate) fn parent(&self) -> Option<LinkId> {
        self.edge.as_ref().map(|edge| edge.link)
    }

    /// There is another parent now, or none. One that does not know of clocks is not asked.
    pub(crate) fn follow(&mut self, parent: Option<LinkId>, knows_clocks: bool, now: Time) {
        self.edge = parent.map(|link| Edge {
            link,
            asked: None,
            ask_at: knows_clocks.then_some(now),
            pause: FIRST_PAUSE,
            is_same: false,
            clock: None,
            front_end: None,
            round_trip: None,
            exchanges: 0,
        });
    }

    /// Whether it is time to ask the parent.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        let Some(edge) = &self.edge else { return false };
        match edge.asked {
            Some((_, _, until)) => until <= now,
            None => edge.ask_at.is_some_and(|at| at <= now) && edge.has_more(self.is_keen || self.is_wanted),
        }
    }

    /// When to look again whether it is time, though nothing happens. Only while the parent is new: later this node asks when
    /// it is awake anyway.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let edge = self.edge.as_ref().filter(|edge| edge.asked.is_none() && edge.pause < EVERY)?;
        edge.ask_at.filter(|_| edge.has_more(self.is_keen || self.is_wanted))
    }

    /// The question that goes to the parent now: on which link, and its number.
    pub(crate) fn ask(&mut self, now: Time, sent: i64) -> Option<(LinkId, u32)> {
        let edge = self.edge.as_mut()?;
        self.questions = self.questions.checked_add(1).unwrap_or(1);
        edge.asked = Some((self.questions, sent, now.after(PATIENCE)));
        Some((edge.link, self.questions))
    }

    /// The answer to a child's question that came at this time, and is answered at this one.
    pub(crate) fn answer(&self, question: u32, heard: i64, answered: i64) -> ClockAnswer {
        ClockAnswer { question, clock: self.own, heard, answered, front_end: self.front_end }
    }

    /// What to tell all children unasked, if there is something new.
    pub(crate) fn news(&mut self) -> Option<ClockAnswer> {
        let bound = self.front_end?.bound();
        let is_news = self.told.is_none_or(|told| bound < told / NEWS);
        is_news.then(|| {
            self.told = Some(bound);
            self.answer(0, 0, 0)
        })
    }

    /// The parent has said something, which came at this time by the own clock. By how much its clock has stepped against the
    /// own one, if it has.
    pub(crate) fn told(&mut self, answer: &ClockAnswer, received: i64, now: Time) -> Option<i64> {
        let edge = self.edge.as_mut()?;
        let mut step = None;
        if answer.question != 0 {
            let (_, sent, _) = edge.asked.take_if(|(number, _, _)| *number == answer.question)?;
            let exchange = Exchange { sent, heard: answer.heard, answered: answer.answered, received };
            step = edge.observe(&exchange, self.own.is_same(&answer.clock));
            edge.ask_at = Some(now.after(edge.pause));
            edge.pause = (edge.pause * 2).min(EVERY);
            self.is_wanted = false;
        }
        if step.is_some() {
            (self.steps, self.told) = (self.steps + 1, None);
        }
        edge.front_end = answer.front_end.or(edge.front_end);
        self.front_end = edge.compose(received).or(self.front_end);
        step
    }

    /// The front-end's clock, as this node knows it. From now on its program wants to know.
    pub(crate) fn want(&mut self) -> Option<Estimate> {
        self.is_wanted = true;
        self.front_end
    }

    /// What this node knows at this time, for those who look.
    pub(crate) fn known(&self, parent: NodeId, at: i64) -> NodeClock {
        let front_end = self.front_end.map(|clock| clock.at(at));
        let unknown = NodeClock { front_end, steps: self.steps, ..NodeClock::unknown(parent) };
        let Some(edge) = &self.edge else { return unknown };
        NodeClock {
            is_same: edge.is_same,
            of_parent: edge.clock.as_ref().and_then(|clock| clock.estimate(at)),
            round_trip: edge.round_trip.map(|time| Duration::from_nanos(time.max(0).unsigned_abs())),
            exchanges: edge.exchanges,
            ..unknown
        }
    }
}

impl Edge {
    /// Whether another exchange would tell more. What is known of one's own clock is exact.
    fn has_more(&self, is_wanted: bool) -> bool {
        let is_exact = |clock: &Estimate| clock.bound() == 0 && clock.wander == 0.0 && clock.slowest == clock.fastest;
        !self.is_same || (is_wanted && !self.front_end.as_ref().is_some_and(is_exact))
    }

    /// Takes an exchange; by how much the clock has stepped, if it has.
    fn observe(&mut self, exchange: &Exchange, is_said_to_be_same: bool) -> Option<i64> {
        // Two machines that were restored from one image may say so wrongly.
        let may_be_same = exchange.sent <= exchange.heard && exchange.answered <= exchange.received;
        self.exchanges += 1;
        self.is_same = is_said_to_be_same && may_be_same;
        let round_trip = exchange.round_trip();
        self.round_trip = Some(self.round_trip.map_or(round_trip, |least| least.min(round_trip)));
        if self.is_same {
            self.clock = None;
            return None;
        }
        let clock = self.clock.get_or_insert_with(|| Box::new(PeerClock::new(Limits::default())));
        match clock.observe(exchange) {
            Ok(Observed::Step { by }) => {
                self.pause = FIRST_PAUSE;
                Some(by)
            }
            // A parent that says what cannot be is one whose clock is not known.
            _ => None,
        }
    }

    /// The front-end's clock by the own one.
    fn compose(&self, at: i64) -> Option<Estimate> {
        let by_parent = self.front_end?;
        if self.is_same {
            return Some(by_parent);
        }
        Some(by_parent.then(&self.clock.as_ref()?.estimate(at)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;
    const WAY: i64 = 40_000;
    const PARENT: LinkId = LinkId(1);

    fn clock(boot: u8) -> ClockId {
        ClockId { boot: [boot; 16], namespace: 1 }
    }

    /// A child that has just got a parent.
    fn child(own: ClockId) -> Clocks {
        let mut child = Clocks::below(own, true);
        child.follow(Some(PARENT), true, Time(0));
        child
    }

    /// The child asks at this time if it is due, and the parent, whose clock is so much ahead, answers.
    fn exchange(child: &mut Clocks, parent: &Clocks, at: i64, ahead: i64) -> bool {
        let now = Time(at.unsigned_abs());
        if !child.is_due(now) {
            return false;
        }
        let (_, question) = child.ask(now, at).expect("it has a parent");
        let answer = parent.answer(question, at + ahead + WAY, at + ahead + WAY + 1_000);
        child.told(&answer, at + 2 * WAY + 1_000, now);
        true
    }

    #[test]
    fn a_child_of_another_clock_asks_often_at_first_and_then_about_once_a_second() {
        let (mut child, front_end) = (child(clock(1)), Clocks::front_end(clock(2)));
        let asked = (0..10_000).filter(|ms| exchange(&mut child, &front_end, ms * 1_000_000, SECOND)).count();
        assert!((17..=20).contains(&asked), "{asked}");
        let known = child.want().expect("it was told").at(10 * SECOND);
        assert!((known.offset() - SECOND).abs() <= known.bound() && known.bound() <= WAY + 10_000, "{known:?}");
        assert_eq!(child.deadline(), None, "only while the parent is new");
    }

    #[test]
    fn a_child_of_the_same_clock_asks_once_and_knows_what_its_parent_knows() {
        let (mut child, front_end) = (child(clock(1)), Clocks::front_end(clock(1)));
        let asked = (0..10_000).filter(|ms| exchange(&mut child, &front_end, ms * 1_000_000, 0)).count();
        assert_eq!((asked, child.want()), (1, Some(Estimate::own(0))));
        assert!(child.known(NodeId(0), SECOND).is_same);
    }

    #[test]
    fn machines_that_only_say_that_they_have_one_clock_are_compared() {
        let (mut child, front_end) = (child(clock(1)), Clocks::front_end(clock(1)));
        exchange(&mut child, &front_end, 0, SECOND);
        let known = child.known(NodeId(0), SECOND);
        assert!(!known.is_same && (known.offset().unwrap_or(0) + SECOND).abs() <= known.bound().unwrap_or(0));
    }

    #[test]
    fn who_loses_its_parent_goes_on_with_a_bound_that_grows_until_another_one_answers() {
        let (mut child, front_end) = (child(clock(1)), Clocks::front_end(clock(2)));
        (0..3_000).for_each(|ms| _ = exchange(&mut child, &front_end, ms * 1_000_000, SECOND));
        let before = child.want().expect("it was told").at(3 * SECOND);
        child.follow(None, false, Time(0));
        child.follow(Some(LinkId(2)), true, Time(4 * SECOND.unsigned_abs()));
        let alone = child.want().expect("it is kept").at(60 * SECOND);
        assert!(alone.bound() > before.bound() && (alone.offset() - SECOND).abs() <= alone.bound());
        exchange(&mut child, &front_end, 60 * SECOND, SECOND);
        let after = child.want().expect("it was told").at(60 * SECOND);
        assert!(after.bound() < alone.bound(), "{after:?}");
    }

    #[test]
    fn a_clock_that_was_set_is_noticed_and_compared_anew() {
        let (mut child, front_end) = (child(clock(1)), Clocks::front_end(clock(2)));
        (0..3_000).for_each(|ms| _ = exchange(&mut child, &front_end, ms * 1_000_000, SECOND));
        assert!(child.news().is_some() && child.news().is_none(), "what was told is no news");
        (3_000..6_000).for_each(|ms| _ = exchange(&mut child, &front_end, ms * 1_000_000, 3 * SECOND));
        assert_eq!(child.known(NodeId(0), 6 * SECOND).steps, 1);
        assert!(child.news().is_some(), "children are told at once");
        let known = child.want().expect("it was told").at(6 * SECOND);
        assert!((known.offset() - 3 * SECOND).abs() <= known.bound());
    }

    #[test]
    fn questions_and_answers_that_do_not_match_tell_nothing() {
        let (mut child, front_end) = (child(clock(1)), Clocks::front_end(clock(2)));
        let now = Time(0);
        let (_, question) = child.ask(now, 0).expect("it has a parent");
        assert!(!child.is_due(now), "one question at a time");
        child.told(&front_end.answer(question + 1, 5, 6), 10, now);
        assert_eq!(child.want(), None);
        let later = now.after(PATIENCE);
        assert!(child.is_due(later), "an answer that never comes is not waited for");
        let (_, again) = child.ask(later, 10).expect("it has a parent");
        child.told(&front_end.answer(question, 5, 6), 20, later);
        assert_eq!((child.want(), again), (None, question + 1));
        child.follow(Some(PARENT), false, later);
        assert!(!child.is_due(later.after(PATIENCE)), "an older parent is not asked");
    }
}
