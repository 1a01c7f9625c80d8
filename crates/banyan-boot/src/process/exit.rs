//! What became of a member, as data: for messages, for the exit status of the whole session, and for the wire.

use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::process::{WaitId, WaitIdOptions, WaitIdStatus};

/// How a member ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExitState {
    /// It ended by itself with this code.
    Exited(u8),
    /// A signal ended it.
    Signalled {
        /// The signal's number.
        signal: u8,
        /// Whether it left a core file.
        core_dumped: bool,
    },
    /// Its limit of time had passed, and it ended when it was asked to, or was made to.
    OutOfTime,
    /// It was started by somebody else and left the session in good order. How its process ended, if it has, nobody can tell.
    Left,
    /// It never ran.
    NeverStarted(String),
    /// It ran, and nobody knows how it ended.
    Lost(String),
}

/// What shells return for a command they cannot start.
const STATUS_NEVER_STARTED: u8 = 127;

/// What `timeout` returns for a command that it has ended.
const STATUS_OUT_OF_TIME: u8 = 124;

/// No exit status says "unknown"; this is what ssh returns when the connection is lost.
const STATUS_LOST: u8 = 255;

/// What shells add to a signal's number.
const STATUS_SIGNALLED: u8 = 128;

// The kinds on the wire, in bits 16 to 23. Bits 0 to 7 are the code or signal, bit 8 is set for a core file.
const KIND_EXITED: u32 = 0;
const KIND_SIGNALLED: u32 = 1;
const KIND_NEVER_STARTED: u32 = 2;
const KIND_LOST: u32 = 3;
const KIND_OUT_OF_TIME: u32 = 4;
const KIND_LEFT: u32 = 5;
const CORE_DUMPED: u32 = 1 << 8;
const KIND_SHIFT: u32 = 16;

impl ExitState {
    /// Takes the exit state of a child that has ended, and its process id with it: nobody else can do so again.
    /// `None` while it runs.
    ///
    /// # Errors
    /// If the process is no child of ours, or the kernel reaped it itself because SIGCHLD is ignored.
    pub fn take(pidfd: BorrowedFd<'_>) -> io::Result<Option<ExitState>> {
        ExitState::wait_for(pidfd, WaitIdOptions::EXITED | WaitIdOptions::NOHANG)
    }

    /// As [`ExitState::take`], and waits for the child to end.
    ///
    /// # Errors
    /// As [`ExitState::take`].
    pub fn wait(pidfd: BorrowedFd<'_>) -> io::Result<ExitState> {
        let state = ExitState::wait_for(pidfd, WaitIdOptions::EXITED)?;
        Ok(state.unwrap_or_else(|| ExitState::Lost("the kernel said nothing".into())))
    }

    fn wait_for(pidfd: BorrowedFd<'_>, options: WaitIdOptions) -> io::Result<Option<ExitState>> {
        let status = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::PidFd(pidfd), options))?;
        Ok(status.as_ref().map(ExitState::from))
    }

    /// Whether nothing is known to have gone wrong.
    pub fn is_success(&self) -> bool {
        matches!(self, ExitState::Exited(0) | ExitState::Left)
    }

    /// As the exit status of a command, in the way of shells.
    pub fn status(&self) -> u8 {
        match self {
            ExitState::Exited(code) => *code,
            ExitState::Left => 0,
            ExitState::Signalled { signal, .. } => STATUS_SIGNALLED.saturating_add(*signal),
            ExitState::OutOfTime => STATUS_OUT_OF_TIME,
            ExitState::NeverStarted(_) => STATUS_NEVER_STARTED,
            ExitState::Lost(_) => STATUS_LOST,
        }
    }

    /// The one that says more about what went wrong: a lost member before one that never started, before one out of time,
    /// before a signal, before a code, and the higher number first. Of equals, `self`.
    #[must_use]
    pub fn worst(self, other: ExitState) -> ExitState {
        if other.severity().cmp(&self.severity()) == Ordering::Greater { other } else { self }
    }

    fn severity(&self) -> (u32, u8) {
        match self {
            ExitState::Exited(code) => (0, *code),
            ExitState::Left => (0, 0),
            ExitState::Signalled { signal, .. } => (1, *signal),
            ExitState::OutOfTime => (2, 0),
            ExitState::NeverStarted(_) => (3, 0),
            ExitState::Lost(_) => (4, 0),
        }
    }

    /// Why nobody knows how a lost member ended; empty for all others.
    pub(crate) fn reason(&self) -> &str {
        if let ExitState::Lost(reason) = self { reason } else { "" }
    }

    /// As a number for the wire. The reason of a member that was lost or never started does not fit; it travels
    /// beside it.
    pub fn to_wire(&self) -> u32 {
        match self {
            ExitState::Exited(code) => KIND_EXITED << KIND_SHIFT | u32::from(*code),
            ExitState::Signalled { signal, core_dumped } => {
                let core = if *core_dumped { CORE_DUMPED } else { 0 };
                KIND_SIGNALLED << KIND_SHIFT | core | u32::from(*signal)
            }
            ExitState::OutOfTime => KIND_OUT_OF_TIME << KIND_SHIFT,
            ExitState::Left => KIND_LEFT << KIND_SHIFT,
            ExitState::NeverStarted(_) => KIND_NEVER_STARTED << KIND_SHIFT,
            ExitState::Lost(_) => KIND_LOST << KIND_SHIFT,
        }
    }

    /// The state that a number from the wire and the reason beside it stand for; `None` if the number stands for none.
    pub fn from_wire(number: u32, reason: &str) -> Option<ExitState> {
        let low = (number & 0xff) as u8;
        let state = match number >> KIND_SHIFT {
            KIND_EXITED => ExitState::Exited(low),
            KIND_SIGNALLED => ExitState::Signalled { signal: low, core_dumped: number & CORE_DUMPED != 0 },
            KIND_OUT_OF_TIME => ExitState::OutOfTime,
            KIND_LEFT => ExitState::Left,
            KIND_NEVER_STARTED => ExitState::NeverStarted(reason.into()),
            KIND_LOST => ExitState::Lost(reason.into()),
            _ => return None,
        };
        // Each state has one number.
        (state.to_wire() == number).then_some(state)
    }
}

impl From<&WaitIdStatus> for ExitState {
    fn from(status: &WaitIdStatus) -> ExitState {
        // The kernel keeps eight bits of a code and knows 64 signals.
        if let Some(code) = status.exit_status() {
            return ExitState::Exited((code & 0xff) as u8);
        }
        match status.terminating_signal().and_then(|signal| u8::try_from(signal).ok()) {
            Some(signal) => ExitState::Signalled { signal, core_dumped: status.dumped() },
            None => ExitState::Lost(format!("the kernel reported {status:?}")),
        }
    }
}

impl fmt::Display for ExitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExitState::Exited(code) => write!(f, "exited with status {code}"),
            ExitState::Signalled { signal, core_dumped } => {
                write!(f, "killed by signal {signal}")?;
                signal_name(*signal).map_or(Ok(()), |name| write!(f, " ({name})"))?;
                f.write_str(if *core_dumped { ", core dumped" } else { "" })
            }
            ExitState::OutOfTime => f.write_str("ended by its limit of time"),
            ExitState::Left => f.write_str("left the session; how its process ended is not known"),
            ExitState::NeverStarted(reason) => write!(f, "never started: {reason}"),
            ExitState::Lost(reason) => write!(f, "lost: {reason}"),
        }
    }
}

fn signal_name(signal: u8) -> Option<&'static str> {
    let name = match i32::from(signal) {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGKILL => "SIGKILL",
        libc::SIGUSR1 => "SIGUSR1",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGUSR2 => "SIGUSR2",
        libc::SIGPIPE => "SIGPIPE",
        libc::SIGALRM => "SIGALRM",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU",
        libc::SIGXFSZ => "SIGXFSZ",
        libc::SIGSYS => "SIGSYS",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_state() -> impl Strategy<Value = ExitState> {
        prop_oneof![
            any::<u8>().prop_map(ExitState::Exited),
            (1..=64_u8, any::<bool>()).prop_map(|(signal, core_dumped)| ExitState::Signalled { signal, core_dumped }),
            Just(ExitState::OutOfTime),
            Just(ExitState::Left),
            ".*".prop_map(ExitState::NeverStarted),
            ".*".prop_map(ExitState::Lost),
        ]
    }

    #[test]
    fn states_read_as_sentences_and_count_as_in_shells() {
        let killed = ExitState::Signalled { signal: 9, core_dumped: false };
        assert_eq!((killed.to_string().as_str(), killed.status()), ("killed by signal 9 (SIGKILL)", 137));
        let crashed = ExitState::Signalled { signal: 11, core_dumped: true };
        assert_eq!(crashed.to_string(), "killed by signal 11 (SIGSEGV), core dumped");
        let unnamed = ExitState::Signalled { signal: 40, core_dumped: false };
        assert_eq!(unnamed.to_string(), "killed by signal 40");
        assert_eq!(ExitState::Exited(3).to_string(), "exited with status 3");
        assert_eq!(ExitState::NeverStarted("no such file".into()).status(), 127);
    }

    proptest! {
        #[test]
        fn a_state_comes_back_from_the_wire(state in any_state()) {
            let reason = match &state {
                ExitState::NeverStarted(reason) | ExitState::Lost(reason) => reason.clone(),
                _ => String::new(),
            };
            prop_assert_eq!(ExitState::from_wire(state.to_wire(), &reason), Some(state));
        }

        #[test]
        fn a_number_stands_for_one_state_or_none(number: u32) {
            if let Some(state) = ExitState::from_wire(number, "") {
                prop_assert_eq!(state.to_wire(), number);
            }
        }

        #[test]
        fn the_worst_of_many_does_not_depend_on_their_order(mut states in prop::collection::vec(any_state(), 1..8)) {
            let worst = |states: &[ExitState]| {
                states.iter().cloned().reduce(ExitState::worst).unwrap().severity()
            };
            let forward = worst(&states);
            states.reverse();
            prop_assert_eq!(worst(&states), forward);
            prop_assert!(states.iter().all(|state| state.severity() <= forward));
        }
    }
}
