//! The processes below this one, as `/proc` shows them.

use std::collections::HashMap;
use std::fs;

/// Kibibytes in a megabyte, as the kernel counts.
pub(crate) const KIB_IN_MB: f64 = 1024.0;

/// The processes below this one. What was left by processes that have ended belongs by now to the first process, or to a
/// process above this one that takes in orphans: with `orphans` all children of those count too, and the caller chooses by
/// the program they run.
pub(crate) fn descendants(orphans: bool) -> Vec<u32> {
    let ids: Vec<u32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let parents: HashMap<u32, u32> = ids.iter().filter_map(|id| Some((*id, parent(*id)?))).collect();
    let own = std::process::id();
    let above: Vec<u32> = std::iter::successors(parents.get(&own), |id| parents.get(id)).copied().chain([1]).collect();
    let is_below = |id: &u32| {
        let mut at = *id;
        while let Some(parent) = parents.get(&at) {
            if *parent == own {
                return true;
            }
            at = *parent;
        }
        orphans && *id != own && parents.get(id).is_some_and(|parent| above.contains(parent))
    };
    ids.into_iter().filter(is_below).collect()
}

/// Whose child it is.
pub(crate) fn parent(id: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name stands in parentheses and may hold anything, also parentheses.
    text.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// The arguments it was started with, without its own name.
pub(crate) fn arguments(id: u32) -> Vec<String> {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    let words = words.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    words.skip(1).filter(|word| !word.is_empty()).collect()
}

/// Whether it is the keeper or the worker of an agent.
pub(crate) fn is_agent(id: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    matches!(name.trim_end(), "banyan-agent" | "banyan-keeper")
}

/// A field of `smaps_rollup` in KiB; 0 for a process that is gone.
pub(crate) fn memory(id: u32, name: &str) -> f64 {
    let text = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}
