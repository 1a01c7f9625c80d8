//! How many processes this machine can have: a session that wants more is refused before it starts any.
//!
//! Without this, a number with a digit too many keeps a machine busy for minutes with starting what it cannot have. It
//! is asked for sessions whose members are all on this machine; of other hosts only their agents could know.

use std::fmt;

/// Settings of the kernel that bound how many processes a machine has, below `/proc/sys/kernel`.
const BOUNDS: [&str; 2] = ["pid_max", "threads-max"];

/// The most processes a machine can have, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimit {
    /// How many.
    pub processes: u64,
    /// The setting of the kernel that says so.
    setting: &'static str,
}

impl ProcessLimit {
    /// That of this machine; `None` if its kernel does not tell.
    pub(crate) fn here() -> Option<ProcessLimit> {
        ProcessLimit::least(|setting| std::fs::read_to_string(format!("/proc/sys/kernel/{setting}")).ok())
    }

    fn least(read: impl Fn(&str) -> Option<String>) -> Option<ProcessLimit> {
        let limits = BOUNDS.into_iter().filter_map(|setting| {
            let processes = read(setting)?.trim().parse().ok()?;
            Some(ProcessLimit { processes, setting })
        });
        limits.min_by_key(|limit| limit.processes)
    }
}

impl fmt::Display for ProcessLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ProcessLimit { processes, setting } = self;
        write!(f, "{processes} processes (kernel.{setting})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_bound_is_the_limit() {
        let machine = |pids: &'static str, threads: &'static str| {
            ProcessLimit::least(|setting| Some(if setting == "pid_max" { pids } else { threads }.to_owned()))
        };
        assert_eq!(
            machine("32768\n", "192686\n").map(|limit| limit.to_string()).as_deref(),
            Some("32768 processes (kernel.pid_max)")
        );
        assert_eq!(machine("4194304", "9000").map(|limit| limit.processes), Some(9000));
        assert_eq!(machine("?", "9000").map(|limit| limit.processes), Some(9000));
        assert_eq!(ProcessLimit::least(|_| None), None);
    }
}
