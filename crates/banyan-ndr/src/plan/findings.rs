//! What stands in the way of a conversion, or is lost by it, and where: the first of it, and how much more there is.
//!
//! A short description can mean thousands of fields, behind paths as long as the description itself.

use std::collections::HashSet;

use super::steps::ItemId;
use super::ways::Ways;

/// Most findings of one kind that are named.
const MOST_NAMED: usize = 64;

/// Most bytes of their paths.
const MOST_BYTES: usize = 1 << 20;

/// A place within an item, which can lie in many places of a record.
pub(super) struct Place {
    pub(super) item: ItemId,
    pub(super) path: String,
}

/// Findings of one kind while a plan is made.
#[derive(Default)]
pub(super) struct Noted {
    found: Vec<(Place, String)>,
    more: usize,
}

impl Noted {
    pub(super) fn add(&mut self, place: Place, why: impl Into<String>) {
        if self.found.len() < MOST_NAMED {
            self.found.push((place, why.into()));
        } else {
            self.more += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// By their paths in the record. `root` is what the root itself is called.
    pub(super) fn named(self, ways: &mut Ways, root: &str) -> Named {
        let (mut named, mut seen, mut bytes) = (Named { fields: Vec::new(), more: self.more }, HashSet::new(), 0);
        for (place, why) in self.found {
            if bytes > MOST_BYTES {
                named.more += 1;
                continue;
            }
            for path in ways.paths(place.item, &place.path, root) {
                bytes += path.len() + why.len();
                let field = (path, why.clone());
                if seen.insert(field.clone()) {
                    named.fields.push(field);
                }
            }
        }
        named
    }
}

/// Fields by their paths, and what is the matter with each.
pub(super) struct Named {
    pub(super) fields: Vec<(String, String)>,
    /// How many more there are.
    pub(super) more: usize,
}

impl Named {
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}
