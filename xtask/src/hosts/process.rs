//! Processes of this machine: who they are, in which network namespace they run, and how they are ended.
//!
//! A process is its number together with the time at which it started, because numbers are used again.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
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

/// Network namespaces, held: they cannot end, so that no other gets the number of one of them.
pub(super) struct Namespaces {
    /// Where in the list of files it was, by the number of the namespace.
    places: HashMap<u64, usize>,
    _held: Vec<File>,
}

impl Namespaces {
    /// Those of these files that are there.
    pub(super) fn hold(files: impl IntoIterator<Item = PathBuf>) -> Result<Namespaces, String> {
        let (mut places, mut held) = (HashMap::new(), Vec::new());
        for (place, path) in files.into_iter().enumerate() {
            let open = || -> io::Result<(u64, File)> {
                let file = File::open(&path)?;
                Ok((file.metadata()?.ino(), file))
            };
            match open() {
                Ok((number, file)) => {
                    places.insert(number, place);
                    held.push(file);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(format!("{}: {error}", path.display())),
            }
        }
        Ok(Namespaces { places, _held: held })
    }

    /// The processes inside, each with the place of its namespace, found by one walk over all processes of the machine.
    pub(super) fn processes(&self) -> Vec<(usize, Process)> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let place = |number: u32| {
            // In this order: if it is this process still when someone acts on it, the namespace was its own.
            let process = Process::of(number)?;
            let link = fs::read_link(format!("/proc/{number}/ns/net")).ok()?;
            Some((*self.places.get(&inode(link.to_str()?)?)?, process))
        };
        numbers.filter_map(place).collect()
    }
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
        let files = ["/no/such/namespace", "/proc/self/ns/net"].map(PathBuf::from);
        let found = Namespaces::hold(files).expect("can be opened").processes();
        assert!(found.iter().any(|(place, process)| (*place, process.number) == (1, std::process::id())));
    }
}
