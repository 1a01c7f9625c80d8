//! Bodies of records of one format, one behind the other: what a run of waves carries.
//!
//! Their bytes are shared; cutting them into two copies nothing.

use std::num::NonZeroU32;
use std::ops::Range;
use std::sync::Arc;

use banyan_ndr::{Buffer, FormatId};
use bytes::Bytes;

/// Bodies of records of one format and with one tag, one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bodies {
    format: FormatId,
    tag: u32,
    bytes: Bytes,
    ends: Ends,
}

/// Stands where there is no record. No format has this hash.
const ABSENT: FormatId = FormatId::from_bytes([0xff; 16]);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Ends {
    /// All are of this size.
    Every { size: u32, count: u32 },
    /// Where each ends in what the bytes were before they were cut; `start` is where they begin now.
    At { ends: Arc<[u32]>, cut: Range<u32>, start: u32 },
}

/// Bodies whose lengths do not add up to the bytes there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{count} bodies do not fill {bytes} bytes; the sender is broken")]
pub struct BadBodies {
    count: usize,
    bytes: usize,
}

impl Bodies {
    /// Bodies that are all of one size.
    ///
    /// # Errors
    /// If they do not fill the bytes, or there is none.
    pub fn of_size(format: FormatId, size: u32, count: u32, bytes: Bytes) -> Result<Bodies, BadBodies> {
        let expected = u64::from(size) * u64::from(count);
        if count == 0 || expected != bytes.len() as u64 {
            return Err(BadBodies { count: count as usize, bytes: bytes.len() });
        }
        Ok(Bodies { format, tag: 0, bytes, ends: Ends::Every { size, count } })
    }

    /// Bodies of any sizes, by where each ends.
    ///
    /// # Errors
    /// If the ends are not ascending up to the last byte, or there is none.
    pub fn by_ends(format: FormatId, ends: Arc<[u32]>, bytes: Bytes) -> Result<Bodies, BadBodies> {
        let bad = BadBodies { count: ends.len(), bytes: bytes.len() };
        let Ok(count) = u32::try_from(ends.len()) else { return Err(bad) };
        if ends.last().is_none_or(|last| *last as usize != bytes.len()) || !ends.is_sorted() {
            return Err(bad);
        }
        Ok(Bodies { format, tag: 0, bytes, ends: Ends::At { ends, cut: 0..count, start: 0 } })
    }

    /// One body.
    pub fn one(format: FormatId, bytes: Bytes) -> Bodies {
        // A body is at most as long as a frame, which is far below 4 GiB.
        let size = bytes.len() as u32;
        Bodies { format, tag: 0, bytes, ends: Ends::Every { size, count: 1 } }
    }

    /// The bodies of waves to which a member contributes nothing.
    pub fn absent(count: NonZeroU32) -> Bodies {
        Bodies { format: ABSENT, tag: 0, bytes: Bytes::new(), ends: Ends::Every { size: 0, count: count.get() } }
    }

    /// Whether nothing is contributed: these are no records, and have no format.
    pub fn are_absent(&self) -> bool {
        self.format == ABSENT
    }

    /// The same with a tag, unless there are no records.
    #[must_use]
    pub fn tagged(self, tag: u32) -> Bodies {
        let tag = if self.are_absent() { 0 } else { tag };
        Bodies { tag, ..self }
    }

    /// The tag that the sender gave each of them; of several senders in one wave that of the lowest rank.
    pub fn tag(&self) -> u32 {
        self.tag
    }

    /// The format of each.
    pub fn format(&self) -> FormatId {
        self.format
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> u32 {
        match &self.ends {
            Ends::Every { count, .. } => *count,
            Ends::At { cut, .. } => cut.end - cut.start,
        }
    }

    /// Bytes of all.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes, one body behind the other.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The size of each, where all are known to be of one size.
    pub fn uniform_size(&self) -> Option<usize> {
        match &self.ends {
            Ends::Every { size, .. } => Some(*size as usize),
            Ends::At { .. } => None,
        }
    }

    /// The body of one wave, counted from the first.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn get(&self, index: u32) -> &[u8] {
        &self.bytes[self.offset(index)..self.offset(index + 1)]
    }

    /// The body of one wave, sharing the memory of all.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn body(&self, index: u32) -> Bytes {
        self.bytes.slice(self.offset(index)..self.offset(index + 1))
    }

    /// All bodies in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.get(index))
    }

    /// Some of the bodies, by their places, which ascend; none if there is none, or one is not there. Those side by side are not copied.
    pub fn select(&self, places: &[u32]) -> Option<Bodies> {
        let (first, last) = (*places.first()?, *places.last()?);
        if last >= self.len() {
            return None;
        }
        if (last - first) as usize + 1 == places.len() {
            return Some(self.slice(first..last + 1));
        }
        let mut bytes = Vec::with_capacity(places.iter().map(|place| self.get(*place).len()).sum());
        let mut ends = Vec::with_capacity(places.len());
        for place in places {
            bytes.extend_from_slice(self.get(*place));
            // Part of what was below 4 GiB.
            ends.push(bytes.len() as u32);
        }
        let ends = Ends::At { ends: ends.into(), cut: 0..places.len() as u32, start: 0 };
        Some(Bodies { format: self.format, tag: self.tag, bytes: bytes.into(), ends })
    }

    /// The bodies from this one on, if there are any.
    pub fn since(&self, index: u32) -> Option<Bodies> {
        (index < self.len()).then(|| self.slice(index..self.len()))
    }

    fn offset(&self, index: u32) -> usize {
        match &self.ends {
            Ends::Every { size, .. } => *size as usize * index as usize,
            Ends::At { ends, cut, start } => match cut.start + index {
                0 => 0,
                at => (ends[at as usize - 1] - start) as usize,
            },
        }
    }

    /// Some of the bodies, side by side, sharing the memory of all.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn slice(&self, range: Range<u32>) -> Bodies {
        let bytes = self.bytes.slice(self.offset(range.start)..self.offset(range.end));
        let ends = match &self.ends {
            Ends::Every { size, .. } => Ends::Every { size: *size, count: range.end - range.start },
            Ends::At { ends, cut, start } => Ends::At {
                ends: Arc::clone(ends),
                cut: cut.start + range.start..cut.start + range.end,
                start: start + self.offset(range.start) as u32,
            },
        };
        Bodies { format: self.format, tag: self.tag, bytes, ends }
    }
}

/// A buffer's bytes, to be shared without a copy.
pub fn shared(buffer: Buffer) -> Bytes {
    struct Shared(Buffer);

    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    Bytes::from_owner(Shared(buffer))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bodies(lengths: &[u8]) -> Bodies {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for (at, length) in lengths.iter().enumerate() {
            bytes.extend(std::iter::repeat_n(at as u8, *length as usize));
            ends.push(bytes.len() as u32);
        }
        Bodies::by_ends(FormatId::from_bytes([1; 16]), ends.into(), bytes.into()).unwrap()
    }

    proptest! {
        #[test]
        fn bodies_are_selected_by_their_places(
            lengths in prop::collection::vec(0u8..9, 1..20), chosen in prop::collection::btree_set(0u32..20, 0..20),
        ) {
            let whole = bodies(&lengths);
            let places: Vec<u32> = chosen.into_iter().filter(|place| *place < whole.len()).collect();
            let selected = whole.select(&places);
            prop_assert_eq!(selected.is_none(), places.is_empty());
            if let Some(selected) = selected {
                let expected: Vec<&[u8]> = places.iter().map(|place| whole.get(*place)).collect();
                prop_assert_eq!(selected.iter().collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn bodies_that_do_not_fill_their_bytes_are_refused() {
        let format = FormatId::from_bytes([1; 16]);
        let bytes = Bytes::from_static(&[0; 8]);
        assert!(Bodies::of_size(format, 3, 3, bytes.clone()).is_err());
        assert!(Bodies::of_size(format, 8, 0, Bytes::new()).is_err());
        assert!(Bodies::by_ends(format, [4, 2, 8].into(), bytes.clone()).is_err());
        assert!(Bodies::by_ends(format, [4, 7].into(), bytes.clone()).is_err());
        assert!(Bodies::by_ends(format, [].into(), Bytes::new()).is_err());
        assert_eq!(Bodies::by_ends(format, [4, 8].into(), bytes).unwrap().len(), 2);
    }
}
