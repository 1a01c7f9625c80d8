//! Memory that an agent and the members it has started share: small frames go through it, in one order with those that take
//! the socket ([`banyan_link::shared`]).
//!
//! What that saves is system calls and turns of the processor. The agent wakes all its members with one call. A member that
//! contributes to a wave makes none at all, unless it is the last that the agent waits for; so an agent sleeps until a wave
//! is there, and not until the next member has spoken.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use banyan_link::shared::{Hub, SharedError, Spoke};
use banyan_link::{Bell, Frame, Kind};

use crate::wire::is_contribution;

/// From a member: it reads what its agent writes there.
pub(super) const SHARES: Kind = Kind::data(62);

/// Frames of one member that an agent takes before others have their turn: more than a ring holds, unless the member writes
/// while they are read.
const FRAMES_AT_ONCE: u32 = 256;

/// What the other side has written.
#[derive(Debug)]
pub(super) enum Next {
    Frame(Frame),
    /// Nothing whose turn has come.
    Nothing,
    /// There may be more, but it is the turn of others; nothing may be taken from the socket before.
    Later,
}

/// One side of it.
#[derive(Debug)]
pub(super) enum Memory {
    /// The agent's.
    Hub {
        hub: Hub,
        /// By which members wake it.
        call: Bell,
        /// Members that have a place there.
        places: u32,
        /// Something was written that nobody was woken for.
        is_unread: bool,
        /// The member that is read, and how many more of its frames.
        turn: (u32, u32),
        /// A member may have written more than was taken.
        is_unfinished: bool,
    },
    /// A member's.
    Spoke {
        spoke: Spoke,
        /// By which it wakes the agent.
        call: Bell,
        /// Something was written that the agent does not count on.
        is_urgent: bool,
    },
}

impl Memory {
    /// For an agent that starts so many members; none if it starts none, or the system refuses.
    pub(super) fn for_members(members: u32) -> Option<Memory> {
        let hub = (members > 0).then(|| Hub::new(members).ok())??;
        let (turn, is_unread, is_unfinished) = ((0, FRAMES_AT_ONCE), false, false);
        Some(Memory::Hub { hub, call: Bell::new().ok()?, places: 0, is_unread, turn, is_unfinished })
    }

    /// For the member with this number.
    pub(super) fn of_agent([memory, bell, call]: [OwnedFd; 3], number: u32) -> io::Result<Memory> {
        Ok(Memory::Spoke { spoke: Spoke::new(memory, bell, number)?, call: call.into(), is_urgent: false })
    }

    /// What members need of it.
    pub(super) fn descriptors(&self) -> Option<[BorrowedFd<'_>; 3]> {
        match self {
            Memory::Hub { hub, call, .. } => {
                let [memory, bell] = hub.descriptors();
                Some([memory, bell, call.as_fd()])
            }
            Memory::Spoke { .. } => None,
        }
    }

    /// What wakes this side.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        match self {
            Memory::Hub { call, .. } => call.as_fd(),
            Memory::Spoke { spoke, .. } => spoke.bell(),
        }
    }

    /// At an agent: a place for one more member.
    pub(super) fn place(&mut self) -> Option<u32> {
        match self {
            Memory::Hub { places, .. } => {
                *places += 1;
                Some(*places - 1)
            }
            Memory::Spoke { .. } => None,
        }
    }

    /// At an agent: this member reads there.
    pub(super) fn open(&mut self, member: u32) {
        if let Memory::Hub { hub, .. } = self {
            hub.open(member);
        }
    }

    /// At an agent: it is the turn of this member, again.
    pub(super) fn begin_turn(&mut self, member: u32) {
        if let Memory::Hub { turn, .. } = self {
            *turn = (member, FRAMES_AT_ONCE);
        }
    }

    /// The other side is gone; whether nobody else shares this memory.
    pub(super) fn close(&mut self, member: u32) -> bool {
        match self {
            Memory::Hub { hub, .. } => {
                hub.close(member);
                false
            }
            Memory::Spoke { .. } => true,
        }
    }

    /// Whether frames for so many peers are better written here: an agent wakes all when it wakes one.
    pub(super) fn suits(&self, peers: usize) -> bool {
        match self {
            Memory::Hub { hub, .. } => 2 * peers >= hub.open_spokes() as usize,
            Memory::Spoke { .. } => true,
        }
    }

    /// Writes a frame, when so many have gone by the socket; false where there is no room for it.
    pub(super) fn send(&mut self, member: u32, frame: &Frame, by_socket: u32) -> bool {
        match self {
            Memory::Hub { hub, is_unread, .. } => {
                let written = hub.send_in_order(member, frame, by_socket);
                *is_unread |= written;
                written
            }
            Memory::Spoke { spoke, is_urgent, .. } => {
                let written = spoke.send_in_order(frame, by_socket);
                *is_urgent |= written && !is_contribution(frame);
                written
            }
        }
    }

    /// The next frame, if its turn has come: so many were taken from the socket.
    pub(super) fn receive(&mut self, member: u32, from_socket: u32) -> Result<Next, SharedError> {
        let frame = match self {
            Memory::Hub { hub, turn, is_unfinished, .. } => {
                if turn.0 != member {
                    *turn = (member, FRAMES_AT_ONCE);
                }
                if turn.1 == 0 {
                    *is_unfinished = true;
                    return Ok(Next::Later);
                }
                let frame = hub.receive_in_order(member, from_socket)?;
                turn.1 -= u32::from(frame.is_some());
                frame
            }
            Memory::Spoke { spoke, .. } => spoke.receive_in_order(from_socket)?,
        };
        Ok(frame.map_or(Next::Nothing, Next::Frame))
    }

    /// Lets the other side know of what was written, if anything was.
    pub(super) fn announce(&mut self) {
        match self {
            Memory::Hub { hub, is_unread, .. } => {
                if std::mem::take(is_unread) {
                    hub.ring();
                }
            }
            Memory::Spoke { spoke, call, is_urgent } => {
                if spoke.announce(std::mem::take(is_urgent)) {
                    call.ring();
                }
            }
        }
    }

    /// Whether the other side may have written something. At an agent it will be found from now on.
    pub(super) fn look(&mut self) -> bool {
        match self {
            Memory::Hub { hub, turn, is_unfinished, .. } => {
                let is_due = std::mem::take(is_unfinished) || hub.is_due(1);
                if is_due {
                    hub.look();
                    turn.1 = FRAMES_AT_ONCE;
                }
                is_due
            }
            Memory::Spoke { .. } => true,
        }
    }

    /// At an agent: it goes to sleep, and wants to be woken when so many members have written something; false if they have.
    pub(super) fn doze(&mut self, awaited: u32) -> bool {
        match self {
            Memory::Hub { hub, is_unfinished, .. } => !*is_unfinished && hub.doze(awaited),
            Memory::Spoke { .. } => true,
        }
    }
}
