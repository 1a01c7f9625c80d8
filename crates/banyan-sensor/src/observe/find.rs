//! Which segments there are.

use std::path::{Path, PathBuf};

use crate::cleanup::{self, Bounds};
use crate::place::{self, Place};

/// A segment on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Where it is.
    pub path: PathBuf,
    /// Whose it is.
    pub pid: u32,
    /// When that process started, in clock ticks since the boot.
    pub start_time: u64,
    /// Whether its process has replaced it: it called `exec` and made another one.
    pub is_replaced: bool,
}

/// The segments of this user on this host, the oldest first.
pub fn find() -> Vec<Found> {
    let places = place::directories().into_iter().filter_map(|path| Place::open(&path).ok());
    found_in(places)
}

/// The segments in a directory of this user, such as one of a container.
pub fn find_in(directory: &Path) -> Vec<Found> {
    found_in(Place::at(directory).into_iter())
}

fn found_in(places: impl Iterator<Item = Place>) -> Vec<Found> {
    let mut all: Vec<_> = places
        .flat_map(|place| {
            cleanup::names(&place.path).into_iter().map(move |(name, text)| (name, place.path.join(text)))
        })
        .collect();
    all.sort();
    let is_replaced = |index: usize| {
        let name: &cleanup::Name = &all[index].0;
        let process = |other: &cleanup::Name| (other.pid, other.start_time, other.pid_namespace);
        all[index + 1..].iter().any(|(other, _)| process(other) == process(name))
    };
    let found = all.iter().enumerate().map(|(index, (name, path))| Found {
        path: path.clone(),
        pid: name.pid,
        start_time: name.start_time,
        is_replaced: is_replaced(index),
    });
    found.collect()
}

/// Removes segments of ended processes beyond the bounds; returns how many. Every new segment does the same with the
/// default bounds.
pub fn remove_ended(bounds: &Bounds) -> usize {
    let places = place::directories().into_iter().filter_map(|path| Place::open(&path).ok());
    places.map(|place| cleanup::remove_ended(&place, bounds)).sum()
}

/// The directories in which segments of this user may be, whether or not they exist: to be told of new ones by the system.
pub fn directories() -> Vec<PathBuf> {
    place::directories()
}
