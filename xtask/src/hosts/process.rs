//! Processes of this machine: who they are, in which network namespace they run, and how they are ended.
//!
//! A process is its number together with the time at which it started, because numbers are used again.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) number: u32,
    /// In clock ticks since the machine came up.
    pub(super) started: u64,
}

impl Process {
    /// The process that has this number now.
    pub(super) fn of(number: u32) -> Option<Process> {
        Some(Process { number, started: parse(&stat(number)?)?.1 })
    }

    /// Whether it still runs. One that has ended and is only waited for does not.
    pub(super) fn is_alive(self) -> bool {
        let now = stat(self.number).and_then(|text| parse(&text));
        now.is_some_and(|(state, started)| started == self.started && !matches!(state, 'Z' | 'X'))
    }

    /// What it was started as, on one line.
    pub(super) fn command(self) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.number)).unwrap_or_default();
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        words.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    }
}

fn stat(number: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{number}/stat")).ok()
}

/// State and start time out of `/proc/PID/stat`.
fn parse(stat: &str) -> Option<(char, u64)> {
    // "pid (name) state …"; the name can hold anything, so look behind its last parenthesis.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

/// Sends a signal to processes, those among them that are still the same.
pub(super) fn signal(processes: &[Process], signal: &str) -> Result<(), String> {
    let alive = processes.iter().filter(|process| process.is_alive());
    let numbers: Vec<String> = alive.map(|process| process.number.to_string()).collect();
    if numbers.is_empty() {
        return Ok(());
    }
    // The shell's own `kill`: it is everywhere. One that ended meanwhile is no failure; the caller looks again.
    let script = format!("kill -{signal} {} 2>/dev/null || true", numbers.join(" "));
    Command::new("sh").args(["-c", &script]).status().map_err(|error| format!("sh: {error}"))?;
    Ok(())
}

/// The processes inside each of these network namespaces, found by one walk over all processes of the machine.
pub(super) fn inside(namespaces: &[&Path]) -> Vec<(usize, Process)> {
    let number = |(index, path): (usize, &&Path)| Some((fs::metadata(path).ok()?.ino(), index));
    let wanted: HashMap<u64, usize> = namespaces.iter().enumerate().filter_map(number).collect();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let namespace = fs::read_link(entry.path().join("ns/net")).ok().and_then(|link| inode(&link.to_string_lossy()));
        let Some(index) = namespace.and_then(|inode| wanted.get(&inode)) else { continue };
        found.extend(Process::of(process).map(|process| (*index, process)));
    }
    found
}

/// The number in `net:[4026531840]`.
fn inode(link: &str) -> Option<u64> {
    link.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_and_start_are_read_behind_any_name() {
        let stat = "17 (a) b (c) S 1 17 17 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 98765 4 5\n";
        assert_eq!(parse(stat), Some(('S', 98765)));
        assert_eq!(parse("17 (short) S 1"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let this = Process::of(std::process::id()).expect("runs");
        assert!(this.is_alive());
        assert!(!Process { started: this.started + 1, ..this }.is_alive());
        // Only the one that is meant gets the signal; this test would not survive it.
        signal(&[Process { started: this.started + 1, ..this }], "KILL").expect("nobody to end");
    }

    #[test]
    fn what_has_ended_is_not_alive_while_nobody_has_waited_for_it() {
        let mut child = Command::new("sleep").arg("1000").spawn().expect("starts");
        let process = Process::of(child.id()).expect("runs");
        assert!(process.is_alive());
        child.kill().expect("ends");
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while process.is_alive() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(!process.is_alive());
        child.wait().expect("ended");
    }

    #[test]
    fn this_process_is_found_in_its_own_namespace() {
        let own = Path::new("/proc/self/ns/net");
        assert!(inside(&[own]).iter().any(|(_, process)| process.number == std::process::id()));
    }
}
