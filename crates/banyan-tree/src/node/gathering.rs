//! The contributions of a node's children to the waves of one stream, until those of a wave are all there.
//!
//! Runs of different children overlap in any way. What is [`ready`](Gathering::ready) is cut so that all parts are of the
//! same waves; several waves are ready at once when children are ahead.
//!
//! Whom a node waits for is no question of correctness: the front-end knows who is missing in a wave. WaitingPacket is what makes
//! one packet of many.

use std::collections::VecDeque;

use crate::ids::{LinkId, WaveNumber};
use crate::run::Run;
use crate::sorted::SortedMap;

/// A child said what no child says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Violation {
    #[error("sent {first} when {expected} was next")]
    OutOfOrder { first: WaveNumber, expected: WaveNumber },
    #[error("went on to {until}, which is {ahead} waves ahead of what was acknowledged; {allowed} are allowed")]
    TooFarAhead { until: WaveNumber, ahead: u64, allowed: u64 },
    #[error("sent more, while {bytes} bytes of it wait for others; {allowed} are allowed")]
    TooMuch { bytes: usize, allowed: usize },
    #[error("sent a contribution of nobody, or of members that are not of the stream")]
    Strangers,
    #[error("sent none or several records of a wave")]
    Yields,
}

#[derive(Debug, Default)]
pub(super) struct Gathering {
    /// The first wave that was not given out.
    out: WaveNumber,
    sources: SortedMap<LinkId, ChildWaves>,
    /// The first wave that someone who is waited for may still contribute to, if anyone is.
    horizon: Option<WaveNumber>,
    /// Waves before this one do not wait for anyone.
    forced: WaveNumber,
    /// How many of those who are waited for have not contributed to that wave.
    missing: usize,
}

#[derive(Debug)]
struct ChildWaves {
    /// The first wave it has not sent.
    next: WaveNumber,
    is_waited_for: bool,
    runs: VecDeque<Run>,
    /// Of these.
    bytes: usize,
}

impl Gathering {
    /// The first wave that was not given out.
    pub(super) fn out(&self) -> WaveNumber {
        self.out
    }

    /// The first wave that no child has contributed to.
    pub(super) fn front(&self) -> WaveNumber {
        self.sources.values().map(|source| source.next).fold(self.out, WaveNumber::max)
    }

    /// Whether some child is waited for.
    pub(super) fn has_participants(&self) -> bool {
        self.horizon.is_some()
    }

    /// The children that the next wave waits for.
    pub(super) fn waits_for(&self) -> impl Iterator<Item = LinkId> {
        let slowest =
            self.sources.iter().filter(|(_, source)| source.is_waited_for && Some(source.next) == self.horizon);
        slowest.map(|(link, _)| *link)
    }

    /// The children that waves before this one wait for.
    pub(super) fn waits_for_before(&self, wave: WaveNumber) -> impl Iterator<Item = LinkId> {
        let behind = self.sources.iter().filter(move |(_, source)| source.is_waited_for && source.next < wave);
        behind.map(|(link, _)| *link)
    }

    /// Whether something waits for others.
    pub(super) fn has_begun(&self) -> bool {
        self.fronts().next().is_some()
    }

    /// Whether this child, which is waited for, has sent this wave.
    pub(super) fn has_from(&self, link: LinkId, wave: WaveNumber) -> bool {
        self.sources.get(&link).is_some_and(|source| source.next > wave)
    }

    /// Bytes that wait for others.
    pub(super) fn bytes(&self) -> usize {
        self.sources.values().map(|source| source.bytes).sum()
    }

    /// From now on this child is waited for, from this wave on.
    pub(super) fn participate(&mut self, link: LinkId, next: WaveNumber) {
        if self.sources.is_empty() {
            // Nobody will send the waves before.
            self.out = self.out.max(next);
        }
        let new = ChildWaves { next, is_waited_for: true, runs: VecDeque::new(), bytes: 0 };
        let source = self.sources.get_or_insert_with(link, || new);
        source.next = source.next.max(next);
        source.is_waited_for = true;
        self.find_horizon();
    }

    /// This child is not waited for any more. What it has sent stays part of its waves.
    pub(super) fn withdraw(&mut self, link: LinkId) {
        if let Some(source) = self.sources.get_mut(&link) {
            source.is_waited_for = false;
        }
        self.forget_drained();
        self.find_horizon();
    }

    /// Takes what a child sent, unless more than so many bytes of it wait for others: the last of them may be of any length.
    /// What comes too late to be combined is given back.
    pub(super) fn push(&mut self, link: LinkId, run: Run, allowed: usize) -> Result<Option<Run>, Violation> {
        let Some(source) = self.sources.get_mut(&link) else {
            // It has withdrawn, or was never asked: whatever it sends goes on by itself.
            return Ok(Some(run));
        };
        if run.first != source.next {
            return Err(Violation::OutOfOrder { first: run.first, expected: source.next });
        }
        if source.bytes > allowed {
            return Err(Violation::TooMuch { bytes: source.bytes, allowed });
        }
        let was_missing = source.is_waited_for && Some(source.next) == self.horizon;
        source.next = run.end();
        let late = run.within(WaveNumber(0)..self.out);
        if let Some(in_time) = run.within(self.out..run.end()) {
            source.bytes += in_time.bodies.size();
            source.runs.push_back(in_time);
        }
        if was_missing {
            self.missing -= 1;
            if self.missing == 0 {
                self.find_horizon();
            }
        }
        Ok(late)
    }

    /// The parts of the next waves of which everything is there, in the order of their lowest members.
    pub(super) fn ready(&mut self) -> Option<Vec<Run>> {
        let horizon = self.horizon.unwrap_or(WaveNumber(u64::MAX)).max(self.forced);
        if self.out >= horizon {
            return None;
        }
        let first = self.fronts().map(|run| run.first).min()?;
        if first >= horizon {
            return None;
        }
        let ends = self.fronts().map(|run| if run.first > first { run.first } else { run.end() });
        let end = ends.min()?.min(horizon);
        let mut parts = Vec::with_capacity(self.sources.len());
        for source in self.sources.values_mut() {
            let Some(front) = source.runs.front_mut() else { continue };
            let before = front.bodies.size();
            parts.extend(front.within(first..end));
            let rest = front.within(end..front.end());
            source.bytes -= before - rest.as_ref().map_or(0, |rest| rest.bodies.size());
            match rest {
                Some(rest) => *front = rest,
                None => drop(source.runs.pop_front()),
            }
        }
        self.out = end;
        self.forget_drained();
        parts.sort_by_key(|part| part.members.first());
        Some(parts)
    }

    /// The waves before this one do not wait for anyone.
    pub(super) fn force(&mut self, until: WaveNumber) {
        self.forced = self.forced.max(until);
    }

    /// Moves on over waves of which nothing will come that could be combined: true if there were any.
    pub(super) fn skip_empty(&mut self) -> bool {
        let Some(horizon) = self.horizon.filter(|horizon| *horizon > self.out) else { return false };
        let first = self.fronts().map(|run| run.first).min().unwrap_or(horizon);
        let until = horizon.min(first);
        let skips = until > self.out;
        self.out = self.out.max(until);
        skips
    }

    fn fronts(&self) -> impl Iterator<Item = &Run> {
        self.sources.values().filter_map(|source| source.runs.front())
    }

    fn find_horizon(&mut self) {
        let waited_for = || self.sources.values().filter(|source| source.is_waited_for).map(|source| source.next);
        self.horizon = waited_for().min();
        self.missing = waited_for().filter(|next| Some(*next) == self.horizon).count();
    }

    fn forget_drained(&mut self) {
        self.sources.retain(|_, source| source.is_waited_for || !source.runs.is_empty());
    }
}
