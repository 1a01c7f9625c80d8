//! The processes of this machine: which there are, what they were started with, and who has started whom.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;

use crate::process::Status;

/// What says which boot of which machine this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// What this machine is, as far as numbers of processes go: two with the same name have the same processes. Empty if that
/// cannot be known.
pub fn machine() -> String {
    let boot = fs::read_to_string(BOOT).unwrap_or_default();
    match fs::read_link("/proc/self/ns/pid") {
        Ok(numbers) if !boot.is_empty() => format!("{} {}", boot.trim(), numbers.display()),
        _ => String::new(),
    }
}

/// Whether a process has the same host name as this one, and changes with it; true where that cannot be known.
pub(crate) fn shares_host_name(pid: u32) -> bool {
    let name = |whose: &str| fs::read_link(format!("/proc/{whose}/ns/uts")).ok();
    name(&pid.to_string()).is_none_or(|theirs| name("self").is_none_or(|ours| ours == theirs))
}

/// All processes.
pub(crate) fn all() -> io::Result<Vec<u32>> {
    let entries = fs::read_dir("/proc")?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// The command line, words divided by blanks.
pub(crate) fn command(pid: u32) -> String {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.trim_end_matches('\0').replace('\0', " ")
}

/// Whether the environment of a process may not be read: it is another user's, as a rule.
pub(crate) fn is_closed(pid: u32) -> bool {
    let opened = fs::File::open(format!("/proc/{pid}/environ"));
    opened.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
}

/// A variable of the environment a process was started with.
pub(crate) fn variable(pid: u32, name: &str) -> Option<String> {
    let [value] = variables(pid, [name]);
    value
}

/// Several of them, read at once.
pub(crate) fn variables<const COUNT: usize>(pid: u32, names: [&str; COUNT]) -> [Option<String>; COUNT] {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let value = |entry: &[u8], name: &str| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec());
    names.map(|name| {
        let entry = bytes.split(|byte| *byte == 0).find_map(|entry| value(entry, name))?;
        String::from_utf8(entry).ok()
    })
}

/// A process and all that led to it.
pub fn ancestors(pid: u32) -> HashSet<u32> {
    let mut chain = HashSet::new();
    let mut next = pid;
    while next != 0 && chain.insert(next) {
        next = Status::read(next).map_or(0, |status| status.parent);
    }
    chain
}

/// All that a process has started, and they in turn.
pub(crate) fn descendants(root: u32) -> io::Result<Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for pid in all()? {
        if let Ok(status) = Status::read(pid) {
            children.entry(status.parent).or_default().push(pid);
        }
    }
    let (mut open, mut found) = (vec![root], Vec::new());
    while let Some(pid) = open.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        found.extend(&below);
        open.extend(below);
    }
    Ok(found)
}
