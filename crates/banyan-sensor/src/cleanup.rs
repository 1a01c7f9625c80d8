//! Removes segments of processes that have ended, when they are many, large or old.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::identity::start_time;
use crate::layout;
use crate::place::{OBSERVERS, Place, SEGMENT, UNFINISHED};

/// How many segments of ended processes are kept for whoever wants to read their last events.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Bounds {
    /// Since the segment was made.
    pub age: Duration,
    /// Segments of this user, the newest.
    pub count: usize,
    /// Bytes of them together.
    pub bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { age: Duration::from_secs(24 * 3600), count: 64, bytes: 256 << 20 }
    }
}

/// The name of a segment: which process made it, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    /// Nanoseconds of `CLOCK_MONOTONIC`; first, so that names sort by time.
    pub(crate) created: u64,
    pub(crate) pid: u32,
    pub(crate) start_time: u64,
    pub(crate) pid_namespace: u64,
}

impl Name {
    pub(crate) fn parse(name: &str) -> Option<Name> {
        let mut parts = name.strip_suffix(SEGMENT)?.split('-');
        let pid = parts.next()?.parse().ok()?;
        let [start_time, pid_namespace, created] = [(); 3].map(|()| parts.next()?.parse::<u64>().ok());
        let name = Name { created: created?, pid, start_time: start_time?, pid_namespace: pid_namespace? };
        parts.next().is_none().then_some(name)
    }

    /// Whether its process has ended, as far as this process can know.
    fn has_ended(&self, pid_namespace: u64) -> bool {
        self.pid_namespace == pid_namespace && start_time(self.pid) != Some(self.start_time)
    }
}

/// Removes what is beyond the bounds; returns how many segments.
pub(crate) fn remove_ended(place: &Place, bounds: &Bounds) -> usize {
    use std::os::unix::fs::MetadataExt;
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |metadata| metadata.ino());
    let mut ended: Vec<(Name, String, u64)> = names(&place.path)
        .into_iter()
        .filter(|(name, _)| name.has_ended(namespace))
        .map(|(name, text)| {
            let bytes = fs::metadata(place.path.join(&text)).map_or(0, |metadata| metadata.len());
            (name, text, bytes)
        })
        .collect();
    ended.sort_by_key(|(name, ..)| std::cmp::Reverse(*name));
    let now = crate::clock::monotonic();
    let (mut count, mut total, mut removed) = (0, 0, 0);
    for (name, text, bytes) in ended {
        // Without rings there is nothing to read, but for numbers.
        let is_empty = bytes <= layout::SEGMENT_BYTES as u64;
        let is_old = u128::from(now.saturating_sub(name.created)) > bounds.age.as_nanos();
        let fits = !is_empty && !is_old && count < bounds.count && total + bytes <= bounds.bytes;
        if fits {
            count += 1;
            total += bytes;
        } else {
            remove(place, &text);
            removed += 1;
        }
    }
    remove_unfinished(place, namespace);
    removed
}

/// Removes what processes left that were killed while they made a segment.
fn remove_unfinished(place: &Place, namespace: u64) {
    let Ok(entries) = fs::read_dir(&place.path) else { return };
    for text in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let finished = text.strip_prefix(UNFINISHED).unwrap_or(&text);
        let stem = finished.strip_suffix(SEGMENT).or_else(|| finished.strip_suffix(OBSERVERS));
        let Some(segment) = stem.map(|stem| format!("{stem}{SEGMENT}")) else { continue };
        let has_ended = Name::parse(&segment).is_some_and(|name| name.has_ended(namespace));
        if has_ended && !place.path.join(&segment).exists() {
            remove(place, &segment);
        }
    }
}

/// Removes a segment and what belongs to it.
pub(crate) fn remove(place: &Place, segment: &str) {
    place.remove(segment);
    if let Some(stem) = segment.strip_suffix(SEGMENT) {
        place.remove(&format!("{stem}{OBSERVERS}"));
    }
}

/// The segments in a directory.
pub(crate) fn names(directory: &Path) -> Vec<(Name, String)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let texts = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    texts.filter_map(|text| Some((Name::parse(&text)?, text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_are_not() {
        let name = Name { pid: 12, start_time: 34, pid_namespace: 56, created: 78 };
        assert_eq!(Name::parse("12-34-56-78.segment"), Some(name));
        for other in
            ["", ".segment", "12-34-56.segment", "12-34-56-78", "12-34-56-78-9.segment", ".new-1-2-3-4.segment"]
        {
            assert_eq!(Name::parse(other), None, "{other}");
        }
    }

    #[test]
    fn of_ended_processes_the_newest_are_kept_and_empty_ones_are_not() {
        let own = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        let directory = tempfile::Builder::new().permissions(own).tempdir().unwrap();
        let metadata = fs::metadata("/proc/self/ns/pid").unwrap();
        let namespace = std::os::unix::fs::MetadataExt::ino(&metadata);
        let make = |created: u64, bytes: u64| {
            let file = fs::File::create(directory.path().join(format!("1-1-{namespace}-{created}.segment"))).unwrap();
            file.set_len(bytes).unwrap();
        };
        for text in [format!(".new-1-1-{namespace}-5.segment"), format!("1-1-{namespace}-6.observers")] {
            fs::File::create(directory.path().join(text)).unwrap();
        }
        let large = layout::SEGMENT_BYTES as u64 + 1;
        let now = crate::clock::monotonic();
        (0..5).for_each(|age| make(now - age, large));
        make(now - 10, 1);
        let Ok(place) = Place::at(directory.path()) else { panic!("a directory of one's own") };
        let bounds = Bounds { count: 3, ..Bounds::default() };
        assert_eq!(remove_ended(&place, &bounds), 3);
        let mut left: Vec<u64> = names(directory.path()).into_iter().map(|(name, _)| now - name.created).collect();
        left.sort_unstable();
        assert_eq!(left, [0, 1, 2]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "what was never finished is gone");
        assert_eq!(remove_ended(&place, &Bounds { age: Duration::ZERO, ..bounds }), 3);
    }
}
