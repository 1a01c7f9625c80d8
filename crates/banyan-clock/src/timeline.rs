//! Events of many processes in one order.
//!
//! Each source gives its events in its own order, with corrected times. They come out by time, as soon as it is certain that
//! nothing earlier comes: every source has come further, which is the watermark. An event that names its cause never comes out
//! before it. Where the corrected clocks say otherwise, the effect is put right behind its cause, and what follows it in its
//! source is moved less and less (the controlled logical clock).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use crate::estimate::Corrected;

/// The part of the distance between two events of a source that stays when the first was moved.
const KEPT_OF_DISTANCE: f64 = 0.99;

/// An event of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<T> {
    /// Its number in its source. Numbers grow, and may have gaps.
    pub sequence: u64,
    /// When it was, by the observer's clock.
    pub time: Corrected,
    /// The event without which it would not have been.
    pub cause: Option<Cause>,
    /// What happened.
    pub what: T,
}

/// The name of an event that is the cause of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause {
    /// Its source.
    pub source: u32,
    /// Its number there.
    pub sequence: u64,
}

/// An event with its place in the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ordered<T> {
    /// Where it is from.
    pub source: u32,
    /// When it was in the order of all: no earlier than the one before, and later than its cause.
    pub at: i64,
    /// The event as it came.
    pub event: Event<T>,
}

/// Puts events of many sources into one order. See the module.
#[derive(Debug)]
pub struct Timeline<T> {
    sources: BTreeMap<u32, Source<T>>,
    /// The first event of every source that has one and does not wait for a cause.
    heads: BinaryHeap<Reverse<(i64, u32)>>,
    /// Up to where events have come out.
    out: i64,
    held: usize,
    most: usize,
    counts: Counts,
}

/// What a [`Timeline`] could not order as the clocks say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Effects that were earlier than their causes, and were put behind them.
    pub repaired: u64,
    /// Events that came when later ones were out already: their source was new.
    pub late: u64,
    /// Events that came out before it was certain that nothing earlier comes, as there were too many.
    pub early: u64,
}

#[derive(Debug)]
struct Source<T> {
    /// Events with their times in the order of all, as far as it is known.
    waiting: VecDeque<(i64, Event<T>)>,
    /// Nothing earlier comes.
    progress: i64,
    /// Nothing more comes.
    has_left: bool,
    /// The number of the last event that came in.
    last_in: Option<u64>,
    /// The corrected time of the last that came in, and its time in the order of all.
    last: Option<(i64, i64)>,
    /// What its first event waits for.
    awaited: Option<Cause>,
    /// Sources whose first event waits for one of this one.
    effects: Vec<u32>,
}

impl<T> Timeline<T> {
    /// An empty one that holds at most so many events.
    pub fn new(most: usize) -> Timeline<T> {
        let (sources, heads) = (BTreeMap::new(), BinaryHeap::new());
        Timeline { sources, heads, out: i64::MIN, held: 0, most, counts: Counts::default() }
    }

    /// From now on nothing comes out that is later than what this source has given.
    pub fn join(&mut self, source: u32) {
        self.source(source);
    }

    /// Nothing more comes from a source.
    pub fn leave(&mut self, source: u32) {
        self.source(source).has_left = true;
        self.wake_effects(source);
    }

    /// Nothing earlier comes from a source any more.
    pub fn progress(&mut self, source: u32, time: i64) {
        let source = self.source(source);
        source.progress = source.progress.max(time);
    }

    /// Takes an event. Events of one source come in their order.
    pub fn push(&mut self, source: u32, event: Event<T>) {
        let out = self.out;
        let of = self.source(source);
        let time = event.time.time;
        let at = of.last.map_or(time, |last| following(last, time)).max(out);
        of.last = Some((time, at));
        of.last_in = of.last_in.max(Some(event.sequence));
        of.progress = of.progress.max(at);
        let is_first = of.waiting.is_empty();
        of.waiting.push_back((at, event));
        self.held += 1;
        self.counts.late += u64::from(time < out);
        if is_first {
            self.heads.push(Reverse((at, source)));
        }
        self.wake_effects(source);
    }

    /// The order is final up to this time.
    pub fn watermark(&self) -> i64 {
        let live = self.sources.values().filter(|source| !source.has_left);
        live.map(|source| source.progress).min().unwrap_or(i64::MAX)
    }

    /// The next event, once nothing earlier can come.
    pub fn next_final(&mut self) -> Option<Ordered<T>> {
        let watermark = self.watermark();
        loop {
            let Some(Reverse((at, source))) = self.heads.peek().copied() else {
                self.release()?;
                continue;
            };
            let is_early = at > watermark;
            if is_early && self.held <= self.most {
                return None;
            }
            self.heads.pop();
            if !self.has_to_wait(source) {
                self.counts.early += u64::from(is_early);
                return self.take(source);
            }
        }
    }

    /// What could not be ordered as the clocks say.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    fn source(&mut self, source: u32) -> &mut Source<T> {
        self.sources.entry(source).or_insert_with(Source::new)
    }

    /// Whether the first event of a source has to wait for its cause, which then wakes it.
    fn has_to_wait(&mut self, source: u32) -> bool {
        let first = self.sources.get(&source).and_then(|of| of.waiting.front());
        let cause = first.and_then(|(_, event)| event.cause).filter(|cause| cause.source != source);
        let Some(cause) = cause.filter(|cause| self.will_give(*cause)) else { return false };
        self.source(source).awaited = Some(cause);
        self.source(cause.source).effects.push(source);
        true
    }

    fn will_give(&self, cause: Cause) -> bool {
        self.sources.get(&cause.source).is_some_and(|of| of.has(cause.sequence) || of.may_give(cause.sequence))
    }

    /// Gives out the first event of a source.
    fn take(&mut self, source: u32) -> Option<Ordered<T>> {
        let of = self.source(source);
        let (at, event) = of.waiting.pop_front()?;
        if let Some((next, _)) = of.waiting.front() {
            let next = *next;
            self.heads.push(Reverse((next, source)));
        }
        self.held -= 1;
        self.out = at;
        self.wake_effects(source);
        Some(Ordered { source, at, event })
    }

    /// Those whose cause is out go on behind it, and those whose cause does not come any more.
    fn wake_effects(&mut self, source: u32) {
        let effects = std::mem::take(&mut self.source(source).effects);
        for effect in effects {
            let awaited = self.source(effect).awaited;
            if awaited.is_some_and(|cause| self.will_give(cause)) {
                self.source(source).effects.push(effect);
            } else {
                self.wake(effect);
            }
        }
    }

    fn wake(&mut self, source: u32) {
        let out = self.out;
        let of = self.source(source);
        of.awaited = None;
        let is_moved = of.move_behind(out);
        if let Some((at, _)) = of.waiting.front() {
            let at = *at;
            self.heads.push(Reverse((at, source)));
        }
        self.counts.repaired += u64::from(is_moved);
    }

    /// Where every first event waits for another one that is here, some wait for each other. They have no order, and the
    /// earliest goes on. Where more are held than may be, it goes on without its cause.
    fn release(&mut self) -> Option<()> {
        let awaited = || self.sources.values().filter_map(|of| of.awaited);
        let is_here = |cause: Cause| self.sources.get(&cause.source).is_some_and(|of| of.has(cause.sequence));
        if !awaited().all(is_here) && self.held <= self.most {
            return None;
        }
        let waiting = self.sources.iter().filter(|(_, of)| of.awaited.is_some());
        let (_, source, cause) = waiting
            .filter_map(|(source, of)| Some((of.waiting.front()?.0, *source, of.awaited?)))
            .min_by_key(|first| first.0)?;
        if let Some((_, event)) = self.source(source).waiting.front_mut() {
            event.cause = None;
        }
        self.source(cause.source).effects.retain(|effect| *effect != source);
        self.counts.early += 1;
        self.wake(source);
        Some(())
    }
}

impl<T> Source<T> {
    fn new() -> Source<T> {
        Source {
            waiting: VecDeque::new(),
            progress: i64::MIN,
            has_left: false,
            last_in: None,
            last: None,
            awaited: None,
            effects: Vec::new(),
        }
    }

    /// Whether the event of this number has come, and is not out.
    fn has(&self, sequence: u64) -> bool {
        self.waiting.binary_search_by_key(&sequence, |(_, event)| event.sequence).is_ok()
    }

    /// Whether the event of this number may still come. One that was lost on the way does not.
    fn may_give(&self, sequence: u64) -> bool {
        !self.has_left && self.last_in.is_none_or(|last| last < sequence)
    }

    /// Moves the first event behind a time if it is not later, and those that follow it with it; whether it was moved.
    fn move_behind(&mut self, time: i64) -> bool {
        let is_moved = self.waiting.front().is_some_and(|(at, _)| *at <= time);
        let mut last = None;
        for (at, event) in self.waiting.iter_mut().filter(|_| is_moved) {
            let corrected = event.time.time;
            *at = last.map_or(time.saturating_add(1), |last| following(last, corrected)).max(*at);
            last = Some((corrected, *at));
        }
        self.last = last.or(self.last);
        self.progress = self.progress.max(last.map_or(i64::MIN, |(_, at)| at));
        is_moved
    }
}

/// The least time in the order of all of an event with this corrected time, after one with these two in the same source.
fn following((corrected, ordered): (i64, i64), time: i64) -> i64 {
    let distance = time.saturating_sub(corrected).max(0);
    ordered.saturating_add((distance as f64 * KEPT_OF_DISTANCE) as i64).max(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(sequence: u64, time: i64) -> Event<&'static str> {
        Event { sequence, time: Corrected { time, bound: 0 }, cause: None, what: "" }
    }

    fn effect(sequence: u64, time: i64, source: u32, cause: u64) -> Event<&'static str> {
        Event { cause: Some(Cause { source, sequence: cause }), ..event(sequence, time) }
    }

    fn all(timeline: &mut Timeline<&'static str>) -> Vec<(u32, u64, i64)> {
        std::iter::from_fn(|| timeline.next_final()).map(|next| (next.source, next.event.sequence, next.at)).collect()
    }

    #[test]
    fn events_come_out_by_time_up_to_the_source_that_is_behind() {
        let mut timeline = Timeline::new(100);
        [0, 1].into_iter().for_each(|source| timeline.join(source));
        timeline.push(0, event(0, 10));
        timeline.push(0, event(1, 30));
        assert_eq!(all(&mut timeline), []);
        timeline.push(1, event(0, 20));
        assert_eq!((all(&mut timeline), timeline.watermark()), (vec![(0, 0, 10), (1, 0, 20)], 20));
        timeline.progress(1, 40);
        assert_eq!(all(&mut timeline), [(0, 1, 30)]);
        timeline.leave(0);
        timeline.leave(1);
        assert_eq!((all(&mut timeline), timeline.counts()), (vec![], Counts::default()));
    }

    #[test]
    fn an_effect_is_put_behind_its_cause_and_what_follows_it_less_and_less() {
        let mut timeline = Timeline::new(100);
        timeline.push(1, effect(0, 100, 0, 7));
        timeline.push(1, event(1, 1_100));
        timeline.push(1, event(2, 100_000));
        timeline.push(0, event(7, 2_000));
        [0, 1].into_iter().for_each(|source| timeline.leave(source));
        let expected = [(0, 7, 2_000), (1, 0, 2_001), (1, 1, 2_991), (1, 2, 100_902)];
        assert_eq!((&all(&mut timeline)[..], timeline.counts().repaired), (&expected[..], 1));
    }

    #[test]
    fn causes_that_never_come_hold_nothing_up() {
        let mut timeline = Timeline::new(100);
        timeline.join(2);
        timeline.push(1, effect(0, 10, 0, 7));
        timeline.push(2, effect(0, 11, 9, 7));
        timeline.push(0, event(3, 12));
        timeline.push(0, event(9, 20));
        [0, 1, 2].into_iter().for_each(|source| timeline.leave(source));
        assert_eq!(all(&mut timeline), [(1, 0, 10), (2, 0, 11), (0, 3, 12), (0, 9, 20)], "7 was lost");
    }

    #[test]
    fn events_that_wait_for_each_other_come_out_nevertheless() {
        let mut timeline = Timeline::new(100);
        timeline.push(0, effect(0, 10, 1, 0));
        timeline.push(1, effect(0, 20, 0, 0));
        [0, 1].into_iter().for_each(|source| timeline.leave(source));
        assert_eq!(all(&mut timeline).len(), 2);
        assert_eq!(timeline.counts().early, 1);
    }

    #[test]
    fn no_more_are_held_than_may_be() {
        let mut timeline = Timeline::new(2);
        timeline.join(1);
        (0..5).for_each(|number| timeline.push(0, event(number, number as i64)));
        assert_eq!((all(&mut timeline).len(), timeline.counts().early), (3, 3));
        timeline.push(1, event(0, 0));
        assert_eq!(timeline.counts().late, 1);
        let at = all(&mut timeline);
        assert_eq!(at, [(1, 0, 2)], "no earlier than what is out");
    }
}
