//! The formats that a process has heard of, or made: what nodes look up when runs name a format by its id.
//!
//! Drivers enter what their links bring, filters what they make. An id is a hash of its format, so an entry can be
//! neither wrong nor replaced, and none is ever dropped: runs that name it may be kept anywhere in the tree. There is a
//! bound instead, far above what programs use, which refuses further formats.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use banyan_link::LONGEST_DESCRIPTION;
use banyan_ndr::{Format, FormatId};

/// Formats that one process may know, and the bytes of their descriptions together.
pub(crate) const MOST_FORMATS: usize = 1 << 16;
const MOST_BYTES: usize = 64 << 20;

/// Formats that one member may send records of: far fewer than its agent passes on, so that others have room.
pub(crate) const MOST_OF_MEMBER: usize = 1 << 10;

/// Bytes of the descriptions of these together: some of the longest that links carry.
const BYTES_OF_MEMBER: usize = 4 * LONGEST_DESCRIPTION;

/// The formats that one process has sent records of.
#[derive(Debug, Default)]
pub(crate) struct SentFormats {
    ids: HashSet<FormatId>,
    bytes: usize,
}

impl SentFormats {
    /// Whether a member may send records of this format, too.
    pub(crate) fn has_room_for(&self, format: &Format) -> bool {
        let is_within = self.ids.len() < MOST_OF_MEMBER && self.bytes + format.encoded().len() <= BYTES_OF_MEMBER;
        is_within || self.ids.contains(&format.id())
    }

    pub(crate) fn add(&mut self, format: &Format) {
        if self.ids.insert(format.id()) {
            self.bytes += format.encoded().len();
        }
    }

    /// Whether these are more than a member may send.
    pub(crate) fn are_too_many(&self) -> bool {
        self.ids.len() > MOST_OF_MEMBER || self.bytes > BYTES_OF_MEMBER
    }
}

/// Formats by id. Clones are the same book.
#[derive(Debug, Clone, Default)]
pub struct FormatBook(Arc<RwLock<Entries>>);

#[derive(Debug, Default)]
struct Entries {
    formats: HashMap<FormatId, Format>,
    bytes: usize,
}

/// Why no records of a format can be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatRefused {
    /// There are too many formats.
    #[error("{formats} formats of {bytes} bytes are known, and no more are taken; send records of fewer formats")]
    Full {
        /// Formats that are known.
        formats: usize,
        /// Bytes of their descriptions.
        bytes: usize,
    },
    /// No link carries a description of this length.
    #[error(
        "format {name} has a description of {length} bytes; links carry at most {limit}; use fewer or shorter names"
    )]
    Long {
        /// The name of the format.
        name: String,
        /// Bytes of its description.
        length: usize,
        /// Bytes that links carry.
        limit: usize,
    },
}

impl FormatBook {
    /// A book without entries.
    pub fn new() -> FormatBook {
        FormatBook::default()
    }

    /// Enters a format, if it is not there.
    ///
    /// # Errors
    /// If there is no room for it, or its description is longer than links carry.
    pub fn learn(&self, format: &Format) -> Result<(), FormatRefused> {
        if self.get(format.id()).is_some() {
            return Ok(());
        }
        let (length, limit) = (format.encoded().len(), LONGEST_DESCRIPTION);
        if length > limit {
            return Err(FormatRefused::Long { name: format.name().to_owned(), length, limit });
        }
        let mut entries = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let (formats, bytes) = (entries.formats.len(), entries.bytes + format.encoded().len());
        if formats >= MOST_FORMATS || bytes > MOST_BYTES {
            return Err(FormatRefused::Full { formats, bytes: entries.bytes });
        }
        if entries.formats.insert(format.id(), format.clone()).is_none() {
            entries.bytes = bytes;
        }
        Ok(())
    }

    /// The format of an id, if it is known.
    pub fn get(&self, id: FormatId) -> Option<Format> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).formats.get(&id).cloned()
    }
}

#[cfg(test)]
mod tests {
    use banyan_ndr::CStruct;

    use super::*;

    #[test]
    fn what_one_clone_learns_all_know() {
        let book = FormatBook::new();
        let other = book.clone();
        let format = CStruct::new("R", 4, 4).int("x", 0, 4).build().unwrap();
        assert_eq!(other.get(format.id()), None);
        book.learn(&format).unwrap();
        book.learn(&format).unwrap();
        assert_eq!(other.get(format.id()), Some(format));
    }

    #[test]
    fn a_book_that_is_full_says_so_and_still_knows_what_it_has() {
        let book = FormatBook::new();
        let name = "x".repeat(1 << 10);
        let format = |number: usize| CStruct::new(&format!("{name}{number}"), 4, 4).int("x", 0, 4).build().unwrap();
        let refused = (0..MOST_FORMATS + 1).find(|number| book.learn(&format(*number)).is_err());
        let refused = refused.expect("the descriptions of so many formats are too long");
        assert!(book.learn(&format(0)).is_ok());
        assert!(book.get(format(refused).id()).is_none());
    }
}
