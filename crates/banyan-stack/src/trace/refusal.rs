//! Which setting of the system forbids tracing a process, and what to do about it.
//!
//! The kernel says no more than "not permitted". The rules it follows are in the manual page ptrace(2), under "Ptrace
//! access mode checking"; they are asked again here, in the order in which the kernel asks them.

use std::fmt;
use std::fs;

use crate::process::Status;

/// The setting of the Yama security module.
const YAMA: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// The bit of CAP_SYS_PTRACE in a set of capabilities.
const TRACING: u64 = 1 << 19;

/// Why the kernel forbids tracing a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It is another user's.
    OtherUser {
        /// Whose it is.
        owner: u32,
    },
    /// It has taken itself out of reach: it changed its user, its file may not be read, or it asked for it.
    NotDumpable,
    /// Yama allows it to parents only, to administrators only, or to nobody.
    Yama {
        /// The setting: 1, 2 or 3.
        scope: u8,
    },
    /// Something else: a seccomp filter or another security module, such as those of containers.
    Unknown {
        /// This process is under a seccomp filter.
        seccomp: bool,
    },
}

impl Refusal {
    /// Why this process must not trace that one.
    pub(super) fn of(target: &Status) -> Refusal {
        let Ok(own) = Status::read(std::process::id()) else { return Refusal::Unknown { seccomp: false } };
        Refusal::between(&own, target, yama_scope())
    }

    fn between(own: &Status, target: &Status, scope: u8) -> Refusal {
        let privileged = own.capabilities & TRACING != 0;
        let same_user = target.users.iter().all(|user| *user == own.users[0]);
        if !privileged && !same_user {
            return Refusal::OtherUser { owner: target.users[0] };
        }
        if !privileged && target.directory_owner != target.users[1] {
            return Refusal::NotDumpable;
        }
        match scope {
            3 => Refusal::Yama { scope },
            1 | 2 if !privileged => Refusal::Yama { scope },
            _ => Refusal::Unknown { seccomp: own.seccomp },
        }
    }
}

/// What Yama allows; without Yama, all that else is allowed.
fn yama_scope() -> u8 {
    fs::read_to_string(YAMA).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::OtherUser { owner } => write!(
                out,
                "it belongs to user {owner}; run this as that user, or as root, or give the program CAP_SYS_PTRACE"
            ),
            Refusal::NotDumpable => write!(
                out,
                "it is not dumpable (its program changed users, cannot be read, or called prctl(PR_SET_DUMPABLE)); run \
                 this as root, or give the program CAP_SYS_PTRACE"
            ),
            Refusal::Yama { scope: 1 } => write!(
                out,
                "{YAMA} is 1: only its parent may trace it; run this as root, or: sysctl kernel.yama.ptrace_scope=0"
            ),
            Refusal::Yama { scope: 2 } => write!(
                out,
                "{YAMA} is 2: only CAP_SYS_PTRACE may trace; run this as root, or: sysctl kernel.yama.ptrace_scope=0"
            ),
            Refusal::Yama { .. } => write!(
                out,
                "{YAMA} is 3: nobody may trace until the next boot; set kernel.yama.ptrace_scope to 0 in /etc/sysctl.d \
                 and boot"
            ),
            Refusal::Unknown { seccomp: true } => write!(
                out,
                "a seccomp filter or a security module forbids it, as in containers; start the container with \
                 --cap-add=SYS_PTRACE"
            ),
            Refusal::Unknown { seccomp: false } => write!(
                out,
                "a security module or a user namespace forbids it; run this in the namespace of the process, as root"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::State;

    fn process(user: u32, capabilities: u64) -> Status {
        Status {
            name: "x".into(),
            state: State::Sleeping,
            users: [user; 3],
            capabilities,
            directory_owner: user,
            ..Status::default()
        }
    }

    #[test]
    fn the_setting_that_forbids_is_the_one_that_is_named() {
        let root = process(0, u64::MAX);
        let [ann, bob] = [process(1000, 0), process(1001, 0)];
        let hidden = Status { directory_owner: 0, ..process(1000, 0) };
        assert_eq!(Refusal::between(&ann, &bob, 1), Refusal::OtherUser { owner: 1001 });
        assert_eq!(Refusal::between(&ann, &hidden, 0), Refusal::NotDumpable);
        assert_eq!(Refusal::between(&ann, &ann, 1), Refusal::Yama { scope: 1 });
        assert_eq!(Refusal::between(&ann, &ann, 2), Refusal::Yama { scope: 2 });
        assert_eq!(Refusal::between(&root, &ann, 3), Refusal::Yama { scope: 3 });
        assert_eq!(Refusal::between(&root, &ann, 2), Refusal::Unknown { seccomp: false });
        let confined = Status { seccomp: true, ..process(1000, 0) };
        assert_eq!(Refusal::between(&confined, &ann, 0), Refusal::Unknown { seccomp: true });
    }
}
