//! Stand-in for the rank sets of another branch.

use std::{collections::BTreeSet, fmt, ops::RangeInclusive};

/// A set of ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankSet(BTreeSet<u32>);

impl RankSet {
    pub fn new() -> Self { Self::default() }
    pub fn insert(&mut self, r: u32) { self.0.insert(r); }
    pub fn insert_range(&mut self, r: std::ops::Range<u32>) { self.0.extend(r); }
    pub fn contains(&self, r: u32) -> bool { self.0.contains(&r) }
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ { self.0.iter().copied() }
    pub(crate) fn encode(&self) -> Vec<u8> { self.0.iter().flat_map(|r| r.to_le_bytes()).collect() }
    pub(crate) fn decode(b: &[u8]) -> Result<Self, ()> { Ok(Self(b.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect())) }
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn ranges(&self) -> impl Iterator<Item = RangeInclusive<u32>> + '_ {
        let mut ranges: Vec<RangeInclusive<u32>> = Vec::new();
        for &rank in &self.0 {
            match ranges.last_mut() {
                Some(last) if last.end() + 1 == rank => *last = *last.start()..=rank,
                _ => ranges.push(rank..=rank),
            }
        }
        ranges.into_iter()
    }
}

impl FromIterator<u32> for RankSet {
    fn from_iter<T: IntoIterator<Item = u32>>(ranks: T) -> Self {
        Self(ranks.into_iter().collect())
    }
}

impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.ranges().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match range.start() == range.end() {
                true => write!(f, "{comma}{}", range.start())?,
                false => write!(f, "{comma}{}-{}", range.start(), range.end())?,
            }
        }
        Ok(())
    }
}
