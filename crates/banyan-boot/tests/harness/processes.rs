//! Looking for processes, as the machine knows them, and waiting until they are gone.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, ExitStatus};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::process::{Pid, PidfdFlags, Signal};

/// The environment variable that every process of a test carries.
pub(crate) const MARKER: &str = "BANYAN_TEST_ID";

/// Between two looks at all processes: the kernel has no event for "the last of these is gone".
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// Processes that carry this marker, but for those that have ended.
pub(crate) fn marked(marker: &str) -> Vec<Pid> {
    with_variable(MARKER, OsStr::new(marker))
}

fn with_variable(name: &str, value: &OsStr) -> Vec<Pid> {
    let wanted = [name.as_bytes(), b"=", value.as_bytes()].concat();
    all().filter(|pid| environment(*pid).split(|byte| *byte == 0).any(|variable| variable == wanted)).collect()
}

/// All processes that there are.
pub(crate) fn all() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

/// The variables that a process was started with, each with a zero behind it.
pub(crate) fn environment(pid: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{}/environ", pid.as_raw_pid())).unwrap_or_default()
}

/// The words of a process's command line.
pub(crate) fn words(pid: Pid) -> Vec<String> {
    let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_pid())).unwrap_or_default();
    line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// What the system calls a process for short.
pub(crate) fn name(pid: Pid) -> String {
    let name = fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_pid())).unwrap_or_default();
    name.trim_end().to_owned()
}

/// State and parent of a process.
pub(crate) fn status(pid: Pid) -> Option<(char, i32)> {
    let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Says that this process has no children, not even ended ones.
pub(crate) fn assert_no_children() {
    let me = std::process::id() as i32;
    let children: Vec<Pid> = all().filter(|pid| status(*pid).is_some_and(|(_, parent)| parent == me)).collect();
    assert!(children.is_empty(), "children of the test are left:\n{}", describe(&children));
}

/// Looks until nothing is found any more; what is still there at the deadline.
pub(crate) fn wait_until_gone(find: impl Fn() -> Vec<Pid>, deadline: Instant) -> Vec<Pid> {
    loop {
        let found = find();
        let Some(first) = found.first().filter(|_| Instant::now() < deadline) else { return found };
        // The others may end first, and new ones may come: so nobody waits for one process for long.
        if let Ok(pidfd) = rustix::process::pidfd_open(*first, PidfdFlags::empty()) {
            let _ = rustix::event::poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&LOOK));
        }
    }
}

/// Kills processes.
pub(crate) fn end(processes: &[Pid]) {
    for pid in processes {
        // It may have ended meanwhile.
        let _ = rustix::process::kill_process(*pid, Signal::KILL);
    }
}

/// For people.
pub(crate) fn describe(processes: &[Pid]) -> String {
    let lines = processes.iter().map(|pid| {
        let (state, parent) = status(*pid).unwrap_or(('?', 0));
        format!("  {} (parent {parent}, state {state}, {}): {}", pid.as_raw_pid(), name(*pid), words(*pid).join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Waits for a child of ours; `None` when it has not ended by the deadline.
pub(crate) fn wait_for_child(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    let pid = Pid::from_child(child);
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        let left = Timespec::try_from(left).ok()?;
        let _ = rustix::event::poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&left));
    }
}
