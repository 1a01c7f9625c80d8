//! What a program's agents do besides starting and watching processes: the seam for layers above this one.
//!
//! An agent that is asked to ([`SessionOptions::extension`](crate::SessionOptions::extension)) tells its extension what
//! happens at its host, and carries a *note* of each node, bytes that mean nothing here, to the nodes and members below
//! it. With a note a node says where it can be reached, so the extension can have links of its own. Where no connection
//! gets through, it can have a tunnel in the session's link to the node above ([`ExtensionControl::tunnel`]).
//!
//! What this layer promises such links: no agent ends because another one is lost. An agent without parent goes on, the
//! members of a killed agent go on under a *guard*, and all of them end when the extension says that it is over
//! ([`ExtensionControl::over`], the guard's return). Whether that is so is the extension's business alone.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use banyan_link::{SecretBytes, SessionId};
use banyan_ndr::Record;
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use zeroize::Zeroize;

use crate::described;
use crate::inherited::named_socket;
use crate::member::JoinError;
use crate::process::Left;
use crate::tunnel::TUNNELS;

/// The environment variable that tells a member where its socket to the agent's extension is: `protocol:1,fd:4,socket:4711`.
pub(crate) const EXTENSION_VARIABLE: &str = "BANYAN_TREE";

/// The descriptor of that socket.
pub(crate) const EXTENSION_DESCRIPTOR: i32 = 4;

/// Bytes of a note at most: it travels with the welcome of every member, in one frame.
pub(crate) const NOTE_BYTES: usize = 64 << 10;

/// What a program's agents do besides starting and watching processes. Given to
/// [`become_agent_if_asked_with`](crate::become_agent_if_asked_with).
///
/// Everything is called by the agent's own thread, which does nothing else meanwhile: what takes long, or waits, belongs
/// into a thread of the extension. What the process does with signals is not to be changed: members start with that.
pub trait AgentExtension: Send {
    /// The agent has its work and has started nothing yet. Returns the note for the agents below, which get it as
    /// [`AgentInfo::note`]. It has at most 64 KiB.
    ///
    /// # Errors
    /// The agent ends, and the front-end is told why.
    fn begin(&mut self, agent: &AgentInfo, control: ExtensionControl) -> io::Result<SecretBytes>;

    /// The note for a member, which gets it as [`Member::note`](crate::Member::note), before it has done anything. A member
    /// that attaches has nothing else of the extension; one that the agent has started has a socket to it. It has at most
    /// 64 KiB; a longer one is not sent.
    fn note_for_member(&mut self, rank: u32, attaches: bool) -> SecretBytes;

    /// A member was started, as this process. The other end of the socket is what [`extension_socket`] gives it; this end does
    /// not block.
    fn member_started(&mut self, rank: u32, process: u32, socket: OwnedFd);

    /// Its process has ended.
    fn member_ended(&mut self, rank: u32);

    /// The front-end has closed the session's link to this agent, without a word: it has ended, or whatever carried the link,
    /// such as an ssh. Only agents right below the front-end hear of it.
    fn front_end_closed(&mut self) {}

    /// The agent ends; nothing is called after this.
    fn end(&mut self);
}

/// What an agent knows of itself and its session.
#[derive(Clone, PartialEq, Eq, Record)]
#[non_exhaustive]
pub struct AgentInfo {
    /// The session.
    pub session: [u8; 16],
    /// The agent's number. The front-end is 0; agents are numbered from 1 on in the order of their subtrees.
    pub node: u32,
    /// How far below the front-end: its children are at level 1.
    pub level: u16,
    /// Agents of the whole session.
    pub agents: u32,
    /// Members of the whole session.
    pub size: u32,
    /// Agents and members directly below this one, as the session begins; without members that may attach.
    pub children: u32,
    /// The agent's host, as the launcher knows it.
    pub host: String,
    /// Whether all agents of the session are on the front-end's machine.
    pub is_one_host: bool,
    /// The note of the node above; the front-end's is [`SessionOptions::extension`](crate::SessionOptions::extension).
    pub note: Vec<u8>,
}

/// Without the note, which may hold a secret.
impl fmt::Debug for AgentInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = SessionId(self.session);
        f.debug_struct("AgentInfo")
            .field("session", &session)
            .field("node", &self.node)
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Drop for AgentInfo {
    fn drop(&mut self) {
        self.note.zeroize();
    }
}

/// By this the extension of an agent says what it needs of the agent: tunnels to the node above, and the end. A handle: copies
/// belong to the same agent.
#[derive(Debug, Clone)]
pub struct ExtensionControl {
    bell: Arc<OwnedFd>,
    wishes: Arc<Mutex<Wishes>>,
}

/// What an extension has said.
#[derive(Debug, Default)]
struct Wishes {
    is_over: bool,
    /// Ends of tunnels that were not opened yet.
    tunnels: Vec<OwnedFd>,
    /// The session's link to the node above is gone.
    is_parted: bool,
    /// Where tunnels from below lead.
    port: Option<u16>,
}

impl ExtensionControl {
    pub(crate) fn new() -> io::Result<ExtensionControl> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(ExtensionControl { bell: Arc::new(bell), wishes: Arc::default() })
    }

    /// The network has ended, or cannot be reached: the agent ends everything below it, as when the session ends. From
    /// any thread; more than once is as good as once.
    pub fn over(&self) {
        self.wishes().is_over = true;
        self.ring();
    }

    /// Opens a connection to the extension of the node that has started this agent, through the session's link: it leads to
    /// the [port](Self::listen) there, whatever firewalls are between. For the extension there it is a TCP connection from
    /// its own machine. The socket does not block, and may be written at once; it is closed if nobody listens.
    ///
    /// At most four are open at a time; others are closed at once.
    ///
    /// # Errors
    /// [`ConnectionRefused`](io::ErrorKind::ConnectionRefused) when the session's link is gone.
    pub fn tunnel(&self) -> io::Result<OwnedFd> {
        let mut wishes = self.wishes();
        if wishes.is_parted {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        if wishes.tunnels.len() >= TUNNELS {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        wishes.tunnels.push(theirs);
        drop(wishes);
        self.ring();
        Ok(ours)
    }

    /// The extension listens at this TCP port, also at the loopback address: tunnels of agents below lead there.
    pub fn listen(&self, port: u16) {
        self.wishes().port = Some(port);
    }

    fn ring(&self) {
        // The counter can only be full if it was rung 2^64 times.
        let _ = rustix::io::write(&*self.bell, &1u64.to_ne_bytes());
    }

    fn wishes(&self) -> MutexGuard<'_, Wishes> {
        self.wishes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What becomes readable when something was said.
    pub(crate) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Ends of tunnels to open since the last call, and whether it is over.
    pub(crate) fn heed(&self) -> (Vec<OwnedFd>, bool) {
        let mut count = [0; 8];
        // Nothing to read only means that this was heeded before.
        let _ = rustix::io::read(&*self.bell, &mut count);
        let mut wishes = self.wishes();
        (std::mem::take(&mut wishes.tunnels), wishes.is_over)
    }

    /// There is no link to the node above any more.
    pub(crate) fn part(&self) {
        let mut wishes = self.wishes();
        wishes.is_parted = true;
        wishes.tunnels.clear();
    }

    pub(crate) fn port(&self) -> Option<u16> {
        self.wishes().port
    }
}

/// What the guard of an agent that was killed knows: what the agent knew, and whether anybody is left.
#[derive(Debug)]
#[non_exhaustive]
pub struct GuardInfo {
    /// The agent that was killed.
    pub agent: AgentInfo,
    left: Left,
}

impl GuardInfo {
    /// From the last word of the agent; `None` if it is none.
    pub(crate) fn new(word: &[u8], left: Left) -> Option<GuardInfo> {
        Some(GuardInfo { agent: described::decode(word).ok()?, left })
    }

    /// Members of the agent whose processes have ended since the last look, and whether any process lives that the agent, or
    /// what it started, has started. A guard that does not return some seconds after the last of them is ended.
    pub fn look(&self) -> (Vec<u32>, bool) {
        self.left.look()
    }
}

/// Ready to read when a look says something new.
impl AsFd for GuardInfo {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.left.as_fd()
    }
}

/// Takes this member's socket to the extension of its agent; once.
///
/// # Errors
/// When this process was not started by an agent that has an extension, or has taken it before.
pub fn extension_socket() -> Result<OwnedFd, JoinError> {
    let value = std::env::var(EXTENSION_VARIABLE).map_err(|_| JoinError::NoExtension)?;
    named_socket(&value).map_err(|reason| JoinError::Extension { value, reason })
}
