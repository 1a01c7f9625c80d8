//! What can be chosen for a link, and the bounds that hold for every link.

use std::time::Duration;

use crate::capabilities::Capabilities;
use crate::frame::frame_cost;
use crate::slab::Slabs;

/// Bytes of data that may be sent before the peer's hello has arrived. Every receiver grants at least these.
pub const INITIAL_CREDIT: usize = 64 << 10;

/// What can be chosen for a link. Both ends should be given the same.
///
/// Clones share their [`Slabs`]: make all links of a process from clones of one.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LinkOptions {
    /// Bytes of the longest payload, at most half of the window. Both ends must agree on it.
    pub max_payload: usize,
    /// Bytes of data the peer may have under way to this side and not yet [released](crate::Link::release).
    pub window: usize,
    /// Signs of life, both ways. `None` says and expects none: between a process and the parent that holds the other end
    /// of its socket, the system tells of deaths, and members are busy computing.
    pub heartbeat: Option<Heartbeat>,
    /// Formats the peer may teach this side, and this side the peer.
    pub formats: usize,
    /// How often this process has been started anew in its role. Peers notice when it changes.
    pub incarnation: u64,
    /// What users of the link can do on this side: what the peer can do, too, may be used.
    pub capabilities: Capabilities,
    /// Whether frames are encrypted. Opening a link proves the secret in any case.
    pub encryption: Encryption,
    /// How long dialling and opening may take.
    pub opening_time: Duration,
    /// Where memory comes from.
    pub slabs: Slabs,
}

banyan_ndr::setters!(LinkOptions {
    max_payload: usize,
    window: usize,
    heartbeat: impl Into<Option<Heartbeat>>,
    formats: usize,
    incarnation: u64,
    capabilities: Capabilities,
    encryption: Encryption,
    opening_time: Duration,
    slabs: Slabs,
});

/// When frames are encrypted. They are when either end wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encryption {
    /// Over TCP, not within the host.
    #[default]
    BetweenHosts,
    /// Always, but over inherited sockets and pipes, which nobody else can reach.
    Always,
    /// Never, for fabrics that are trusted.
    Never,
}

/// How often signs of life are given, and how long they may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Heartbeat {
    /// A heartbeat is sent when nothing else was for so long. Zero: none is sent, and the peer expects none; a process
    /// that computes without regard to its links can still notice that the peer is silent.
    pub every: Duration,
    /// The peer is lost when nothing came for so long (or for three of its own intervals, if that is longer).
    pub lost_after: Duration,
}

banyan_ndr::setters!(Heartbeat { every: Duration, lost_after: Duration });

impl Default for Heartbeat {
    fn default() -> Self {
        Heartbeat { every: Duration::from_secs(1), lost_after: Duration::from_secs(3) }
    }
}

impl Default for LinkOptions {
    fn default() -> Self {
        let max_payload = 1 << 20;
        LinkOptions {
            max_payload,
            window: 2 * frame_cost(max_payload),
            heartbeat: Some(Heartbeat::default()),
            formats: 1024,
            incarnation: 0,
            capabilities: Capabilities::NONE,
            encryption: Encryption::default(),
            opening_time: Duration::from_secs(5),
            slabs: Slabs::new(),
        }
    }
}

impl LinkOptions {
    /// The default ones without heartbeats, for sockets inherited from a parent on the same host.
    pub fn inherited() -> LinkOptions {
        LinkOptions { heartbeat: None, ..LinkOptions::default() }
    }

    /// Panics when the options contradict each other.
    pub(crate) fn check(&self) {
        assert!(
            u32::try_from(self.max_payload).is_ok() && 2 * frame_cost(self.max_payload) <= self.window,
            "a window of {} bytes is too small for payloads of {} bytes: two such frames must fit",
            self.window,
            self.max_payload
        );
        assert!(self.window >= INITIAL_CREDIT, "a window of {} bytes is less than {INITIAL_CREDIT}", self.window);
    }
}
