//! A map of few entries: a list in the order of its keys.
//!
//! For what a node keeps of each child, link or stream. These are few, they come in the order of their numbers and are
//! looked at far more often than they come and go. A tree of the standard library would have room for eleven of each from the
//! first on, which is pages of memory for one stream of a member, and is compiled anew, and large, for every pair of types.
//! Entries are moved when one before them goes: large ones belong into boxes.

use std::ops::{Bound, RangeBounds};

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct SortedMap<K, V>(Vec<(K, V)>);

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap(Vec::new())
    }
}

impl<K: Ord + Copy, V> SortedMap<K, V> {
    pub(crate) const fn new() -> Self {
        SortedMap(Vec::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where a key is, or would be.
    fn place(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(other, _)| other.cmp(key))
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.place(key).is_ok()
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.place(key).ok().map(|at| &self.0[at].1)
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.place(key).ok().map(|at| &mut self.0[at].1)
    }

    /// The value of a key, made if there is none.
    pub(crate) fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let at = self.place(&key).unwrap_or_else(|at| {
            self.0.insert(at, (key, make()));
            at
        });
        &mut self.0[at].1
    }

    /// The value that the key had before.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.place(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.place(key).ok().map(|at| self.0.remove(at).1)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| keeps(key, value));
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (&K, &mut V)> {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &V> + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    pub(crate) fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    pub(crate) fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }

    /// Those whose keys lie within a range.
    pub(crate) fn range(&self, keys: impl RangeBounds<K>) -> impl DoubleEndedIterator<Item = (&K, &V)> + Clone {
        let begin = match keys.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(key) => self.place(key).unwrap_or_else(|at| at),
            Bound::Excluded(key) => self.place(key).map_or_else(|at| at, |at| at + 1),
        };
        let end = match keys.end_bound() {
            Bound::Unbounded => self.len(),
            Bound::Included(key) => self.place(key).map_or_else(|at| at, |at| at + 1),
            Bound::Excluded(key) => self.place(key).unwrap_or_else(|at| at),
        };
        self.0[begin..end.max(begin)].iter().map(|(key, value)| (key, value))
    }
}

impl<K: Ord + Copy, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<K: Ord + Copy, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SortedMap::new();
        map.extend(entries);
        map
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Operation {
        Insert(u8, u32),
        Remove(u8),
        Make(u8, u32),
        Keep(u8),
    }

    fn steps() -> impl Strategy<Value = Vec<Operation>> {
        let step = prop_oneof![
            (any::<u8>(), any::<u32>()).prop_map(|(key, value)| Operation::Insert(key, value)),
            any::<u8>().prop_map(Operation::Remove),
            (any::<u8>(), any::<u32>()).prop_map(|(key, value)| Operation::Make(key, value)),
            any::<u8>().prop_map(Operation::Keep),
        ];
        proptest::collection::vec(step, 0..200)
    }

    proptest! {
        #[test]
        fn it_is_what_a_map_of_the_standard_library_is(
            steps in steps(),
            range in any::<(Bound<u8>, Bound<u8>)>(),
        ) {
            let (mut map, mut model) = (SortedMap::new(), BTreeMap::new());
            for step in steps {
                match step {
                    Operation::Insert(key, value) => prop_assert_eq!(map.insert(key, value), model.insert(key, value)),
                    Operation::Remove(key) => prop_assert_eq!(map.remove(&key), model.remove(&key)),
                    Operation::Make(key, value) => {
                        prop_assert_eq!(map.get_or_insert_with(key, || value), model.entry(key).or_insert(value));
                    }
                    Operation::Keep(modulus) => {
                        map.retain(|key, _| key % (modulus | 1) != 0);
                        model.retain(|key, _| key % (modulus | 1) != 0);
                    }
                }
                prop_assert!(map.iter().eq(model.iter()));
            }
            for key in 0..=u8::MAX {
                prop_assert_eq!(map.get(&key), model.get(&key));
            }
            // What the standard library refuses with a panic is nothing here.
            let is_orderly = match range {
                (Bound::Included(from) | Bound::Excluded(from), Bound::Included(to) | Bound::Excluded(to)) => from < to,
                _ => true,
            };
            if is_orderly {
                prop_assert!(map.range(range).eq(model.range(range)));
            } else {
                prop_assert!(map.range(range).all(|(key, _)| range.contains(key)));
            }
        }
    }
}
