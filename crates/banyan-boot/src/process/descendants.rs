//! Everything that descends from this process, and the end of it.
//!
//! A process that is a subreaper becomes the parent of every descendant whose own parent has ended: daemons too. So
//! killing children, reaping them and looking for new ones until there are none ends all of them, in as many rounds as
//! the tree is deep.

use std::fs;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions};
use thiserror::Error;

/// How long one round waits for a killed process to end.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Rounds in which nothing ended, after which the rest is reported: five seconds. A process that does not die by
/// SIGKILL for so long hangs in the kernel, usually on a dead file system.
const IDLE_ROUNDS: usize = 50;

/// Letters of a command line that are shown.
const COMMAND_LETTERS: usize = 60;

/// Descendants that are still there.
#[derive(Debug, Error)]
pub enum LeftOver {
    /// They do not die.
    #[error(
        "processes {0:?} do not end by SIGKILL; they hang in the kernel (see their state with ps -o pid,stat,wchan)"
    )]
    Undead(Vec<Pid>),
    /// Nobody knows whether there are any.
    #[error("cannot list the processes of this host; is /proc mounted?")]
    Unlisted(#[from] io::Error),
}

/// Kills and reaps every child of this process but `except`, and every descendant that becomes a child by that.
/// Returns how many there were.
///
/// # Errors
/// If some do not end within five seconds, or `/proc` cannot be read.
pub fn end_descendants(except: &[Pid]) -> Result<usize, LeftOver> {
    let (mut ended, mut idle) = (0, 0);
    loop {
        let doomed = children(except)?;
        let Some(first) = doomed.first() else { return Ok(ended) };
        for child in &doomed {
            // They are children and not reaped yet, so the ids are theirs.
            let _ = rustix::process::kill_process(*child, Signal::KILL);
        }
        wait_a_round(*first);
        let reaped = doomed.iter().filter(|child| reap(**child)).count();
        ended += reaped;
        idle = if reaped == 0 { idle + 1 } else { 0 };
        if idle == IDLE_ROUNDS {
            return Err(LeftOver::Undead(doomed));
        }
    }
}

/// Reaps the children that have ended, but for `members`, whose exit states are somebody's business. For a subreaper,
/// now and then: orphans that were given to it end without a word.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn reap_orphans(members: impl Fn(Pid) -> bool) -> io::Result<usize> {
    Ok(children(&[])?.into_iter().filter(|child| !members(*child)).filter(|child| reap(*child)).count())
}

/// The children that live, but for those that `members` knows, with their command lines. Of a subreaper these are what its
/// members left behind. On a kernel without a list of children there are none. Those that are about to end are none: what has
/// ended a member may have reached them, too.
pub(crate) fn orphans(members: impl Fn(Pid) -> bool) -> Vec<(Pid, String)> {
    let others = listed_children().unwrap_or_default().into_iter().filter(|child| !members(*child));
    others.filter(|child| !is_dying(*child)).filter_map(|child| Some((child, command(child)?))).collect()
}

/// Whether a signal that ends a process has been sent to it, and it has not run since.
fn is_dying(process: Pid) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", process.as_raw_pid())).unwrap_or_default();
    let signals = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
    };
    let bit = |signal: Signal| 1 << (signal.as_raw() - 1);
    let is_handled = ["SigBlk", "SigIgn", "SigCgt"].into_iter().map(signals).fold(0, |all, some| all | some);
    let deadly = bit(Signal::KILL) | (bit(Signal::TERM) & !is_handled);
    (signals("SigPnd") | signals("ShdPnd")) & deadly != 0
}

/// The command line of a process that lives.
fn command(process: Pid) -> Option<String> {
    let line = fs::read(format!("/proc/{}/cmdline", process.as_raw_pid())).ok()?;
    // One that has ended has none.
    let words: Vec<_> = line.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    let text: String = String::from_utf8_lossy(&words.join(&b' ')).chars().take(COMMAND_LETTERS).collect();
    (!text.is_empty()).then_some(text)
}

fn reap(child: Pid) -> bool {
    matches!(rustix::process::waitpid(Some(child), WaitOptions::NOHANG), Ok(Some(_)))
}

fn wait_a_round(child: Pid) {
    let Ok(pidfd) = rustix::process::pidfd_open(child, PidfdFlags::empty()) else { return };
    // An interruption makes the round shorter, no more.
    let _ = rustix::event::poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&ROUND));
}

/// The children of this process but `except`, those that have ended and are not reaped among them.
pub(super) fn children(except: &[Pid]) -> io::Result<Vec<Pid>> {
    let others = |mut children: Vec<Pid>| {
        children.retain(|child| !except.contains(child));
        children
    };
    // The kernel's own list is fast but not there everywhere, and may miss some while others end. The slow way asks every
    // process of the host for its parent: for a thousand agents that end at once, that would be a million questions.
    match listed_children().map(others) {
        Ok(children) if !children.is_empty() => Ok(children),
        _ if has_none() => Ok(Vec::new()),
        _ => scanned_children().map(others),
    }
}

/// Whether this process has no children at all, not even ended ones that are not reaped.
fn has_none() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(rustix::process::waitid(WaitId::All, look), Err(Errno::CHILD))
}

fn listed_children() -> io::Result<Vec<Pid>> {
    let mut children = Vec::new();
    for thread in fs::read_dir("/proc/self/task")? {
        let text = fs::read_to_string(thread?.path().join("children"))?;
        children.extend(text.split_ascii_whitespace().filter_map(pid));
    }
    Ok(children)
}

fn scanned_children() -> io::Result<Vec<Pid>> {
    let me = rustix::process::getpid();
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(process) = entry.file_name().to_str().and_then(pid) else { continue };
        // It may have ended since it was listed.
        let Ok(stat) = fs::read(entry.path().join("stat")) else { continue };
        if parent(&stat) == Some(me) {
            children.push(process);
        }
    }
    Ok(children)
}

/// The parent in a `/proc/PID/stat`: the second field after the name, which stands in parentheses and can hold
/// anything, parentheses too.
fn parent(stat: &[u8]) -> Option<Pid> {
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().nth(1).and_then(pid)
}

fn pid(text: &str) -> Option<Pid> {
    text.parse().ok().filter(|number| *number > 0).and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent(b"12 (a) b) 7 (x) S 34 12 12 0"), Pid::from_raw(34));
        assert_eq!(parent(b"1 (init) S 0 1"), None);
        assert_eq!(parent(b"12 (cut"), None);
    }

    #[test]
    fn a_process_that_has_been_sent_a_signal_which_ends_it_is_dying_and_others_are_not() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let stat = || fs::read(format!("/proc/{}/stat", child.id())).unwrap();
        let state = |wanted: &[u8]| stat().windows(wanted.len()).any(|part| part == wanted);
        let before = is_dying(pid);
        // It does not run, so the signal stays.
        rustix::process::kill_process(pid, Signal::STOP).unwrap();
        while !state(b") T ") {
            std::thread::yield_now();
        }
        let stopped = is_dying(pid);
        rustix::process::kill_process(pid, Signal::TERM).unwrap();
        let asked = is_dying(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!([before, stopped, asked, is_dying(pid)], [false, false, true, false]);
    }

    #[test]
    fn both_ways_to_list_children_find_a_child() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let pid = Pid::from_child(&child);
        let (listed, scanned, none) = (listed_children(), scanned_children(), has_none());
        child.kill().unwrap();
        let none_that_lives = has_none();
        child.wait().unwrap();
        assert!(!none && !none_that_lives, "one that ends is a child until it is reaped");
        assert!(scanned.unwrap().contains(&pid));
        // A kernel without the list says so.
        assert!(listed.is_err() || listed.unwrap().contains(&pid));
    }
}
