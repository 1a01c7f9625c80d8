//! What `/proc` tells about a process to everybody, stopped or not.

use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use banyan_ndr::Record;

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Record)]
#[record(rename = "state")]
#[non_exhaustive]
pub enum State {
    /// It runs, or would like to.
    Running,
    /// It waits for something, and signals reach it.
    #[default]
    Sleeping,
    /// It waits for something, usually a disk or a file server, and nothing reaches it until that is there.
    Uninterruptible,
    /// A signal has stopped it.
    Stopped,
    /// A debugger has stopped it.
    Traced,
    /// It has ended, and its parent has not asked how.
    Zombie,
    /// It has ended.
    Dead,
}

impl State {
    fn from_letter(letter: char) -> State {
        match letter {
            'R' => State::Running,
            'D' => State::Uninterruptible,
            'T' => State::Stopped,
            't' => State::Traced,
            'Z' => State::Zombie,
            'X' | 'x' => State::Dead,
            _ => State::Sleeping,
        }
    }

    /// The word that stands in JSON.
    pub fn word(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Sleeping => "sleeping",
            State::Uninterruptible => "uninterruptible",
            State::Stopped => "stopped",
            State::Traced => "traced",
            State::Zombie => "zombie",
            State::Dead => "dead",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            State::Uninterruptible => "it waits uninterruptibly (state D), for a disk or a file server as a rule",
            State::Traced => "a debugger has stopped it",
            other => other.word(),
        })
    }
}

/// The file `status` of a process, and whose its directory is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Status {
    pub(crate) name: String,
    pub(crate) state: State,
    pub(crate) parent: u32,
    /// Real, effective and saved.
    pub(crate) users: [u32; 3],
    /// Who traces it; 0 for nobody.
    pub(crate) tracer: u32,
    pub(crate) capabilities: u64,
    /// It is under a seccomp filter.
    pub(crate) seccomp: bool,
    /// It has no memory of its own: a thread of the kernel, or one that has ended.
    pub(crate) is_kernel: bool,
    /// Root, where the kernel hides a process from its own user.
    pub(crate) directory_owner: u32,
}

impl Status {
    pub(crate) fn read(process: u32) -> io::Result<Status> {
        let text = fs::read_to_string(format!("/proc/{process}/status"))?;
        let directory_owner = fs::metadata(format!("/proc/{process}"))?.uid();
        Ok(Status { directory_owner, ..Status::parse(&text) })
    }

    fn parse(text: &str) -> Status {
        let mut status = Status { is_kernel: true, ..Status::default() };
        for (key, value) in text.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            match key {
                "Name" => status.name = value.into(),
                "State" => status.state = State::from_letter(value.chars().next().unwrap_or('S')),
                "PPid" => status.parent = value.parse().unwrap_or(0),
                "TracerPid" => status.tracer = value.parse().unwrap_or(0),
                "Uid" => {
                    for (user, text) in status.users.iter_mut().zip(value.split_whitespace()) {
                        *user = text.parse().unwrap_or(0);
                    }
                }
                "CapEff" => status.capabilities = u64::from_str_radix(value, 16).unwrap_or(0),
                "Seccomp" => status.seccomp = value == "2",
                "VmSize" => status.is_kernel = false,
                _ => {}
            }
        }
        status
    }
}

/// What is known of a process whose stack could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Record)]
#[record(rename = "facts")]
#[non_exhaustive]
pub struct Facts {
    /// The name of its program, as the kernel has it.
    pub name: String,
    /// What it does.
    pub state: State,
    /// The function of the kernel it waits in, where that may be known.
    pub waits_in: Option<String>,
    /// The number of the system call it is in, where that may be known.
    pub system_call: Option<u32>,
}

impl Facts {
    /// Reads what there is; `None` if there is no such process.
    pub fn read(process: u32) -> Option<Facts> {
        let status = Status::read(process).ok()?;
        let file = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).ok();
        let waits_in = file("wchan").filter(|name| !name.is_empty() && name != "0");
        let system_call = file("syscall").and_then(|text| text.split_whitespace().next()?.parse().ok());
        Some(Facts { name: status.name, state: status.state, waits_in, system_call })
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} is {}", self.name, self.state.word())?;
        if let Some(function) = &self.waits_in {
            write!(out, " in {function}")?;
        }
        if let Some(number) = self.system_call {
            write!(out, ", system call {number}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_by_its_names() {
        let text = "Name:\tsolver: x\nState:\tD (disk sleep)\nPPid:\t7\nTracerPid:\t12\nUid:\t1\t2\t3\t4\n\
                    VmSize:\t 100 kB\nCapEff:\t0000000000080000\nSeccomp:\t2\n";
        let status = Status::parse(text);
        assert_eq!(status.name, "solver: x");
        assert_eq!(status.state, State::Uninterruptible);
        assert_eq!((status.parent, status.tracer, status.users), (7, 12, [1, 2, 3]));
        assert!(status.seccomp && !status.is_kernel && status.capabilities == 1 << 19);
    }

    #[test]
    fn what_is_no_status_is_a_process_without_memory() {
        assert!(Status::parse("\n::\nState\nUid:\tx").is_kernel);
    }
}
