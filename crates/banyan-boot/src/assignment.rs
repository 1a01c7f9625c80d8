//! What a node tells a child agent to do: the whole subtree's work, in one record.
//!
//! The agent takes the first plan for itself, cuts the rest into the subtrees of its own children, and passes those on.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use banyan_link::{Secret, SessionId};
use banyan_ndr::Record;
use zeroize::Zeroize;

use crate::distribution::{Input, Output, ProcessDistribution};
use crate::launcher::Way;
use crate::layout::AgentPlan;
use crate::options::Leftovers;

/// A subtree's work.
#[derive(Clone, PartialEq, Record)]
pub(crate) struct Assignment {
    /// The session.
    pub(crate) session: [u8; 16],
    /// The agent's node number; its subtree's are the following ones.
    pub(crate) node: u32,
    /// How far below the front-end: its children are at level 1.
    pub(crate) level: u16,
    /// Members of the whole session.
    pub(crate) size: u32,
    /// Agents of the whole session.
    pub(crate) agent_count: u32,
    /// Whether members wait for a release.
    pub(crate) held: bool,
    /// Agents of the subtree, the receiver first.
    pub(crate) agents: Vec<AgentPlan>,
    /// What to start, by number of the process distribution.
    pub(crate) images: Vec<Image>,
    /// How child agents are started.
    pub(crate) way: Way,
    /// What holds for every node.
    pub(crate) terms: Terms,
    /// What members that attach must know; `None` if nobody attaches.
    pub(crate) member_secret: Option<Vec<u8>>,
    /// BLAKE3 of the agent program in hexadecimal; empty where it need not travel.
    pub(crate) agent_hash: String,
    /// Its length.
    pub(crate) agent_length: u64,
    /// A path at which every host has it.
    pub(crate) installed_agent: Option<String>,
    /// The directory in which hosts keep it, if one was chosen.
    pub(crate) agent_directory: Option<String>,
    /// What the extension of the node above says to those below; `None` if the session has no extension.
    pub(crate) note: Option<Vec<u8>>,
}

impl Assignment {
    /// What members that attach must know.
    pub(crate) fn attach_secret(&self) -> Option<Secret> {
        let bytes = self.member_secret.as_deref()?;
        bytes.try_into().ok().map(Secret::from_bytes)
    }
}

/// Without secrets.
impl fmt::Debug for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = SessionId(self.session);
        f.debug_struct("Assignment").field("session", &session).field("node", &self.node).finish_non_exhaustive()
    }
}

impl Drop for Assignment {
    fn drop(&mut self) {
        self.member_secret.zeroize();
        self.note.zeroize();
    }
}

/// Settings that hold for every node of a session.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Terms {
    /// Agents a node starts at the same time at most.
    pub(crate) concurrency: u32,
    /// Milliseconds a host has to answer.
    pub(crate) host_deadline: u64,
    /// Milliseconds members have between the request to end and the order.
    pub(crate) grace: u64,
    /// Milliseconds between heartbeats.
    pub(crate) heartbeat: u64,
    /// Milliseconds of silence after which a node counts as lost.
    pub(crate) silence: u64,
    /// Whether links between hosts are encrypted.
    pub(crate) encrypt: bool,
    /// Milliseconds that members have to attach, if there is a limit.
    pub(crate) attach_deadline: Option<u64>,
    /// The directory for staged files, if one was chosen.
    pub(crate) cache: Option<Vec<u8>>,
    /// What becomes of processes that members leave behind.
    pub(crate) leftovers: Leftovers,
}

impl Terms {
    pub(crate) fn host_deadline(&self) -> Duration {
        Duration::from_millis(self.host_deadline)
    }

    pub(crate) fn heartbeat(&self) -> Duration {
        Duration::from_millis(self.heartbeat)
    }

    pub(crate) fn attach_deadline(&self) -> Option<Duration> {
        self.attach_deadline.map(Duration::from_millis)
    }

    pub(crate) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace)
    }
}

/// What agents need of a process distribution, as it travels: its hosts become [`AgentPlan`]s, and its texts bytes, since those of
/// records are UTF-8.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Image {
    /// Empty: its members attach.
    pub(crate) exe: Vec<u8>,
    pub(crate) args: Vec<Bytes>,
    pub(crate) env: Vec<Variable>,
    pub(crate) cwd: Option<Vec<u8>>,
    pub(crate) input: u8,
    pub(crate) forward: bool,
    /// Whether its members get no descriptors to join by.
    pub(crate) plain: bool,
    /// In the notation of [`Limits`](crate::process::limits::Limits).
    pub(crate) limits: String,
}

/// A string that need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Bytes {
    pub(crate) bytes: Vec<u8>,
}

/// A variable to set or to remove.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Variable {
    pub(crate) name: Vec<u8>,
    pub(crate) value: Option<Vec<u8>>,
}

impl Image {
    /// The part of a distribution that agents need.
    pub(crate) fn of(distribution: &ProcessDistribution) -> Image {
        let bytes = |text: &OsString| text.as_bytes().to_vec();
        Image {
            exe: distribution.exe.as_ref().map_or_else(Vec::new, |exe| exe.as_os_str().as_bytes().to_vec()),
            args: distribution.args.iter().map(|argument| Bytes { bytes: bytes(argument) }).collect(),
            env: distribution
                .env
                .iter()
                .map(|(name, value)| Variable { name: bytes(name), value: value.as_ref().map(bytes) })
                .collect(),
            cwd: distribution.cwd.as_ref().map(|cwd| cwd.as_os_str().as_bytes().to_vec()),
            input: match distribution.stdio.input {
                Input::Nobody => 0,
                Input::Master => 1,
                Input::Everyone => 2,
            },
            forward: distribution.stdio.output != Output::Discard,
            plain: distribution.plain,
            limits: distribution.limits.to_string(),
        }
    }

    /// Whether its members are started by someone else.
    pub(crate) fn attaches(&self) -> bool {
        self.exe.is_empty()
    }

    /// Whether a member of this rank has a standard input that leads to the front-end.
    pub(crate) fn wants_input(&self, rank: u32) -> bool {
        self.input == 2 || self.input == 1 && rank == 0
    }
}
