//! Sets of ranks as text: `0-3,7,9-12`.

use std::fmt;
use std::str::FromStr;

use super::{RankSet, RankSetError, Run};

/// Characters of a wrong text that an error shows.
const SHOWN: usize = 40;

/// Folded: the same ranks give the same text.
impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Run { first, last }) in self.runs.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

/// Reads ranks and ranges in any order. An empty text is an empty set.
impl FromStr for RankSet {
    type Err = RankSetError;

    fn from_str(text: &str) -> Result<RankSet, RankSetError> {
        if text.trim_ascii().is_empty() {
            return Ok(RankSet::new());
        }
        let mut runs = Vec::new();
        let mut column = 1;
        for item in text.split(',') {
            let wrong = || RankSetError::Text { column, text: item.chars().take(SHOWN).collect() };
            runs.push(run(item.trim_ascii()).ok_or_else(wrong)?);
            column += item.chars().count() + 1;
        }
        runs.sort_unstable_by_key(|run| run.first);
        let mut set = RankSet::new();
        runs.into_iter().for_each(|run| set.append(run));
        Ok(set)
    }
}

/// Reads `7` or `0-3`.
fn run(item: &str) -> Option<Run> {
    let (first, last) = item.split_once('-').unwrap_or((item, item));
    let (first, last) = (rank(first)?, rank(last)?);
    (first <= last).then_some(Run { first, last })
}

fn rank(digits: &str) -> Option<u32> {
    // A sign is no part of a rank, though `parse` takes one.
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}
