//! Threads of many ranks.

use banyan_ranks::RankSet;

/// Some threads of some ranks. Those of a process are numbered from 0, the first one, in the order in which they were seen; so
/// what many ranks have alike takes little room, and putting sets together is a union.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Threads {
    /// The ranks whose thread of a number is among them; ascending, none without ranks.
    of_number: Vec<(u32, RankSet)>,
}

impl Threads {
    /// Adds the thread of this number of each of these ranks.
    pub fn add(&mut self, number: u32, ranks: &RankSet) {
        if ranks.is_empty() {
            return;
        }
        match self.of_number.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => self.of_number[at].1 = self.of_number[at].1.union(ranks),
            Err(at) => self.of_number.insert(at, (number, ranks.clone())),
        }
    }

    /// Adds all of others.
    pub fn merge(&mut self, others: &Threads) {
        others.iter().for_each(|(number, ranks)| self.add(number, ranks));
    }

    /// For each number the ranks whose thread of that number is among them.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &RankSet)> {
        self.of_number.iter().map(|(number, ranks)| (*number, ranks))
    }

    /// How many they are; none where threads were not asked for.
    pub fn count(&self) -> u64 {
        self.iter().map(|(_, ranks)| ranks.len()).sum()
    }

    /// How many of them are of these ranks.
    pub fn count_of(&self, ranks: &RankSet) -> u64 {
        self.iter().map(|(_, those)| those.intersection(ranks).len()).sum()
    }

    /// The ranks they are of.
    pub fn ranks(&self) -> RankSet {
        self.iter().fold(RankSet::new(), |all, (_, ranks)| all.union(ranks))
    }
}
