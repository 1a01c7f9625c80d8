//! What stands in the way of a conversion, or is lost by it, and where: the first of it, and how much more there is.
//!
//! A short description can mean thousands of fields, behind paths as long as the description itself. An item of a plan is
//! made once, but can be met in many places of a record: [`Routes`] finds them.

use std::collections::{HashMap, HashSet};

use super::build::join;
use super::steps::ItemId;

/// Most findings of one kind that are named.
const MOST_NAMED: usize = 64;

/// Most bytes of their paths.
const MOST_BYTES: usize = 1 << 20;

/// A place within an item, which can lie in many places of a record.
pub(super) struct ItemPath {
    pub(super) item: ItemId,
    pub(super) path: String,
}

/// Findings of one kind while a plan is made.
#[derive(Default)]
pub(super) struct Noted {
    found: Vec<(ItemPath, String)>,
    more: usize,
}

impl Noted {
    pub(super) fn add(&mut self, place: ItemPath, why: impl Into<String>) {
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
    pub(super) fn named(self, ways: &mut Routes, root: &str) -> NamedFields {
        let (mut named, mut seen, mut bytes) = (NamedFields { fields: Vec::new(), more: self.more }, HashSet::new(), 0);
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
pub(super) struct NamedFields {
    pub(super) fields: Vec<(String, String)>,
    /// How many more there are.
    pub(super) more: usize,
}

impl NamedFields {
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

/// Most places that are named for one finding in one item.
const MOST_PLACES: usize = 16;

/// Most steps in search of places, for all findings: their number can double with each definition. When they are used
/// up, only the place where an item was met first is named.
const MOST_STEPS: usize = 1 << 18;

/// For each item, the items that lead to it, and the paths within those. The root, item 0, is where ways begin.
pub(super) struct Routes {
    to: HashMap<ItemId, Vec<(ItemId, String)>>,
    steps_left: usize,
}

impl Default for Routes {
    fn default() -> Routes {
        Routes { to: HashMap::new(), steps_left: MOST_STEPS }
    }
}

impl Routes {
    /// The item was met at a path within another.
    pub(super) fn add(&mut self, item: ItemId, from: ItemId, path: &str) {
        self.to.entry(item).or_default().push((from, path.to_owned()));
    }

    /// All paths, from the root, of a place within an item; `root` is what the root itself is called.
    pub(super) fn paths(&mut self, item: ItemId, path: &str, root: &str) -> Vec<String> {
        let full = |way: &String| match join(way, path) {
            empty if empty.is_empty() => root.to_owned(),
            full => full,
        };
        self.search(item).iter().map(full).collect()
    }

    /// The ways from the root to an item that meet no item twice.
    fn search(&mut self, item: ItemId) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![(item, 0)];
        let mut parts: Vec<&str> = Vec::new();
        let mut met = HashSet::from([item]);
        while let Some((at, next)) = open.last_mut() {
            let edge = if *at == 0 { None } else { self.to.get(at).and_then(|edges| edges.get(*next)) };
            if *at == 0 {
                found.push(joined(&parts));
            }
            if self.steps_left == 0 || found.len() == MOST_PLACES {
                break;
            }
            self.steps_left -= 1;
            *next += 1;
            match edge {
                Some((from, path)) if met.insert(*from) => {
                    open.push((*from, 0));
                    parts.push(path);
                }
                Some(_) => {}
                None => {
                    met.remove(at);
                    open.pop();
                    parts.pop();
                }
            }
        }
        if found.is_empty() { vec![self.first(item)] } else { found }
    }

    /// The way on which an item was met first. It meets none twice: an item is met first by one that was there before.
    fn first(&self, item: ItemId) -> String {
        let mut parts: Vec<&str> = Vec::new();
        let mut at = item;
        while at != 0
            && let Some((from, path)) = self.to.get(&at).and_then(|edges| edges.first())
        {
            parts.push(path);
            at = *from;
        }
        joined(&parts)
    }
}

/// A path from its parts, the last of them first.
fn joined(parts: &[&str]) -> String {
    let mut path = String::new();
    for part in parts.iter().rev() {
        if !path.is_empty() && !part.is_empty() && !part.starts_with('[') {
            path.push('.');
        }
        path.push_str(part);
    }
    path
}
