//! Sets of ranks as text: `0-3,7,9-12`, and `0-998/2` for every second, as in sets of hosts.

use std::fmt;
use std::str::FromStr;

use super::progression::Progression;
use super::{RankSet, RankSetError};

/// Characters of a wrong text that an error shows.
const SHOWN: usize = 40;

/// Ranks of strides in a text that lie within other ranges of it. Such strides are worked out rank by rank: a few
/// characters must not mean billions of steps. Folded sets have none of them.
pub(super) const MAX_INTERLEAVED: u64 = 1 << 24;

/// Folded: the same ranks give the same text.
impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Progression { first, last, step }) in self.pieces.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match (first == last, step) {
                (true, _) => write!(f, "{comma}{first}")?,
                (false, 1) => write!(f, "{comma}{first}-{last}")?,
                (false, _) => write!(f, "{comma}{first}-{last}/{step}")?,
            }
        }
        Ok(())
    }
}

/// Reads ranks, ranges and ranges with a step in any order. An empty text is an empty set.
impl FromStr for RankSet {
    type Err = RankSetError;

    fn from_str(text: &str) -> Result<RankSet, RankSetError> {
        if text.trim_ascii().is_empty() {
            return Ok(RankSet::new());
        }
        let mut items = Vec::new();
        let mut column = 1;
        for item in text.split(',') {
            let wrong = || RankSetError::Text { column, text: item.chars().take(SHOWN).collect() };
            items.push((progression(item.trim_ascii()).ok_or_else(wrong)?, column));
            column += item.chars().count() + 1;
        }
        items.sort_unstable_by_key(|(ranks, _)| ranks.first);
        check_work(&items)?;
        Ok(together(&items))
    }
}

/// Refuses strides that interleave for too long.
fn check_work(items: &[(Progression, usize)]) -> Result<(), RankSetError> {
    let mut left = MAX_INTERLEAVED;
    let mut end_before = None;
    for (index, (ranks, column)) in items.iter().enumerate() {
        let next = items.get(index + 1).map(|(next, _)| next.first);
        let overlaps = end_before >= Some(ranks.first) || next.is_some_and(|next| next <= ranks.last);
        if overlaps && !ranks.is_run() {
            left = left.checked_sub(ranks.len()).ok_or(RankSetError::Interleaved { column: *column })?;
        }
        end_before = end_before.max(Some(ranks.last));
    }
    Ok(())
}

/// All items in one set, uniting halves: each is looked at as often as the count can be halved.
fn together(items: &[(Progression, usize)]) -> RankSet {
    match items {
        [] => RankSet::new(),
        [(ranks, _)] => {
            let mut folder = super::Folder::default();
            folder.push(*ranks);
            RankSet { pieces: folder.finish() }
        }
        _ => {
            let (one, other) = items.split_at(items.len() / 2);
            together(one).union(&together(other))
        }
    }
}

/// Reads `7`, `0-3` or `0-98/2`.
fn progression(item: &str) -> Option<Progression> {
    let (range, step) = item.split_once('/').unwrap_or((item, "1"));
    let (first, last) = match range.split_once('-') {
        Some(ends) => ends,
        None if range.len() == item.len() => (range, range),
        None => return None,
    };
    let step = number(step).filter(|step| *step > 0)?;
    Progression::up_to(number(first)?, number(last)?, step)
}

fn number(digits: &str) -> Option<u32> {
    // A sign is no part of a rank, though `parse` takes one.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
