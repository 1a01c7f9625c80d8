//! Partial results at the root: intervals come together, and windows are made of intervals.

use std::collections::BTreeMap;

use banyan_ndr::{Buffer, Format, RecordView};
use banyan_ranks::RankSet;
use banyan_reduce::{Part, ReduceError, Reduction};

use crate::plan::EVENTS;
use crate::query::Windows;
use crate::root::RootLimits;

/// Partial results that wait.
#[derive(Debug)]
pub(crate) struct Panes {
    reduction: Reduction,
    /// Intervals of a window, without its last.
    before: i64,
    /// Of intervals that are not over, by their lowest ranks.
    waiting: BTreeMap<i64, BTreeMap<u32, Partial>>,
    /// Of intervals that are over and belong to windows that are not.
    over: BTreeMap<i64, Partial>,
    /// The last interval of the next window.
    next: i64,
    /// Events of all intervals so far.
    events: u64,
}

#[derive(Debug)]
struct Partial {
    members: RankSet,
    format: Format,
    body: Buffer,
}

impl Partial {
    fn part(&self) -> Part<'_> {
        Part { members: &self.members, format: &self.format, body: &self.body, is_partial: true }
    }
}

/// The result of a window.
#[derive(Debug)]
pub(crate) struct WindowResult {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) format: Format,
    pub(crate) body: Buffer,
}

impl Panes {
    pub(crate) fn new(windows: &Windows, limits: &RootLimits) -> Panes {
        Panes {
            reduction: Reduction::new(windows.specification.clone(), limits.reduction.clone()),
            before: i64::try_from(windows.panes).map_or(0, |panes| panes - 1),
            waiting: BTreeMap::new(),
            over: BTreeMap::new(),
            next: i64::MIN,
            events: 0,
        }
    }

    /// Takes a partial result; false if there are too many intervals.
    pub(crate) fn take(&mut self, interval: i64, members: &RankSet, format: &Format, body: &[u8], most: usize) -> bool {
        if self.waiting.len() >= most && !self.waiting.contains_key(&interval) {
            return false;
        }
        let partial = Partial { members: members.clone(), format: format.clone(), body: Buffer::from_slice(body) };
        self.waiting.entry(interval).or_default().insert(members.first().unwrap_or(0), partial);
        true
    }

    /// The results of windows whose last interval is before this one.
    pub(crate) fn close(&mut self, until: i64) -> Result<Vec<WindowResult>, ReduceError> {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| *entry.key() < until) {
            let (interval, partials) = entry.remove_entry();
            let merged = partial_of(&mut self.reduction, partials.values())?;
            let events = merged.as_ref().and_then(|merged| events_of(&merged.format, &merged.body));
            self.events = self.events.saturating_add(events.unwrap_or(0));
            if let Some(merged) = merged.filter(|_| interval >= self.next.saturating_sub(self.before)) {
                self.over.insert(interval, merged);
            }
        }
        let mut windows = Vec::new();
        while self.next < until {
            // Windows without any events are left out.
            let begin = self.next.saturating_sub(self.before);
            let Some((first, _)) = self.over.range(begin..).next() else { break };
            self.next = self.next.max(*first);
            if self.next >= until {
                break;
            }
            windows.push(self.window(self.next)?);
            self.next += 1;
        }
        self.next = self.next.max(until);
        let needed = self.next.saturating_sub(self.before);
        self.over = self.over.split_off(&needed);
        Ok(windows)
    }

    /// Events of all intervals that are over.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// The window that ends with an interval.
    fn window(&mut self, last: i64) -> Result<WindowResult, ReduceError> {
        let first = last.saturating_sub(self.before);
        let parts: Vec<Part<'_>> = self.over.range(first..=last).map(|(_, partial)| partial.part()).collect();
        self.reduction.clear();
        self.reduction.add_own(&parts)?;
        let mut body = Buffer::new();
        let format = self.reduction.result(&mut body).expect("a window has an interval").clone();
        Ok(WindowResult { first, last, format, body })
    }
}

/// Events in a partial result, those of groups that did not fit among them.
fn events_of(format: &Format, body: &[u8]) -> Option<u64> {
    let record = RecordView::new(format, body).ok()?;
    let Ok(groups) = record.get("groups") else { return record.value(EVENTS).ok() };
    let ungrouped: u64 = record.value("ungrouped").ok()?;
    groups.iter().ok()?.try_fold(ungrouped, |events, group| {
        let group: u64 = group.ok()?.field(EVENTS).ok()?.get().ok()?;
        events.checked_add(group)
    })
}

/// What several partial results come to; none if there are none.
fn partial_of<'p>(
    reduction: &mut Reduction,
    partials: impl ExactSizeIterator<Item = &'p Partial>,
) -> Result<Option<Partial>, ReduceError> {
    let mut members = RankSet::new();
    let mut parts = Vec::with_capacity(partials.len());
    for partial in partials {
        members = members.union(&partial.members);
        parts.push(partial.part());
    }
    reduction.clear();
    reduction.add_all(&parts)?;
    let mut body = Buffer::new();
    let format = reduction.partial(&mut body).cloned();
    Ok(format.map(|format| Partial { members, format, body }))
}
