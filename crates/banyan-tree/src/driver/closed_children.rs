//! Children whose sockets were closed at their other ends, until it is known what that means.
//!
//! A process that ends closes its sockets; one that lives does so when it gives up a parent that was silent, and is elsewhere
//! by then, or soon. Whoever took it for dead would have waves delivered without it. The system says within moments which of
//! the two it is: by a descriptor of the process, or to the one that has started it ([`Driver::ended`](super::Driver::ended)).

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use banyan_link::{Interest, Poller};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::tree_link::TreeLink;
use crate::ids::LinkId;

/// How long a process may take to end after its sockets were closed, and whoever has started it to say so, on a machine where
/// thousands do so at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// What has become of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Ended,
    /// It lives, or nobody knows better.
    Left,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct ClosedChildren(Vec<ClosedChild>);

#[derive(Debug)]
struct ClosedChild {
    link: LinkId,
    /// Its process, unless this program has started it: then it is told of its end.
    process: Option<OwnedFd>,
    until: Instant,
}

impl ClosedChildren {
    /// The other end of a child's socket was closed. What has become of the child, if that is known at once; the poller wakes up
    /// when it is.
    pub(super) fn add(
        &mut self,
        id: LinkId,
        link: &TreeLink,
        poller: &Poller,
        token: u64,
        now: Instant,
    ) -> Option<Fate> {
        let process = match link.invited {
            Some(_) => None,
            None => match peer(link).and_then(|peer| pidfd_open(peer, PidfdFlags::empty())) {
                Ok(process) => Some(process),
                Err(Errno::SRCH) => return Some(Fate::Ended),
                Err(_) => return Some(Fate::Left),
            },
        };
        if process.as_ref().is_some_and(|process| poller.register(process, token, Interest::READ).is_err()) {
            return Some(Fate::Left);
        }
        self.0.push(ClosedChild { link: id, process, until: now + PATIENCE });
        None
    }

    /// Whether it was not known what has become of this child, which is now.
    pub(super) fn remove(&mut self, link: LinkId) -> bool {
        let before = self.0.len();
        self.0.retain(|closed| closed.link != link);
        self.0.len() < before
    }

    /// Those of whom it is known by now.
    pub(super) fn settle(&mut self, now: Instant) -> Vec<(LinkId, Fate)> {
        let mut settled = Vec::new();
        self.0.retain(|closed| {
            let fate = if closed.has_ended() { Some(Fate::Ended) } else { (closed.until <= now).then_some(Fate::Left) };
            settled.extend(fate.map(|fate| (closed.link, fate)));
            fate.is_none()
        });
        settled
    }

    /// When to look again at the latest.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|closed| closed.until).min()
    }
}

impl ClosedChild {
    fn has_ended(&self) -> bool {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_over =
            |process| poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0);
        self.process.as_ref().is_some_and(is_over)
    }
}

/// The process that has dialled; it may be one that has its number now, which only means that nobody knows better.
pub(super) fn peer(link: &TreeLink) -> rustix::io::Result<Pid> {
    let (socket, _) = link.link().fds();
    Ok(rustix::net::sockopt::socket_peercred(socket)?.pid)
}
