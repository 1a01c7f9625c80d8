//! A process that no agent started becomes a member: it looks for an agent of its own host and shows its ticket.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use banyan_link::{Event, Frame, Link, Opening, PeerId, SessionId};

use crate::member::{JoinError, Member, WELCOME_DEADLINE};
use crate::message;
use crate::node::attach::ANY_RANK;
use crate::node::member_link_options;
use crate::ticket::{Endpoint, Ticket};

impl Member {
    /// Joins the session of a ticket, as any member of this host that nobody is yet.
    ///
    /// # Errors
    /// When no agent of this host waits for members: the ticket is for other hosts, it is too late, or everyone is there.
    pub fn attach(ticket: &Ticket) -> Result<Member, JoinError> {
        let mut random = [0; 4];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| JoinError::Agent(error.to_string()))?;
        attach(ticket, u32::from_ne_bytes(random) | ANY_RANK)
    }

    /// Joins the session of a ticket as this very member.
    ///
    /// # Errors
    /// As [`attach`](Member::attach); also when somebody else is this member already.
    pub fn attach_as(ticket: &Ticket, rank: u32) -> Result<Member, JoinError> {
        if rank & ANY_RANK != 0 {
            return Err(JoinError::NotAdmitted { reasons: format!("there is no member {rank}") });
        }
        attach(ticket, rank)
    }
}

/// Asks the agents of the ticket, one after the other: those of other hosts are not there and cost next to nothing.
fn attach(ticket: &Ticket, index: u32) -> Result<Member, JoinError> {
    let incarnation = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let peer = PeerId { session: SessionId(ticket.session), index, incarnation };
    let opening = Opening { peer, secret: ticket.secret.clone() };
    let mut reasons = String::new();
    for Endpoint { host, address } in &ticket.endpoints {
        let knocked = Link::dial(address, &opening, &member_link_options()).map_err(|error| error.to_string());
        match knocked.and_then(welcome) {
            Ok((link, frame)) => return Member::new(link, &frame, None),
            // The last is as good as any: they are mostly the same.
            Err(reason) => reasons = format!("{host}: {reason}"),
        }
    }
    Err(JoinError::NotAdmitted { reasons })
}

/// Waits for the agent's word who this member is.
fn welcome(mut link: Link) -> Result<(Link, Frame), String> {
    let deadline = Instant::now() + WELCOME_DEADLINE;
    loop {
        match link.wait(Some(deadline)) {
            Some(Event::Frame(frame)) if frame.kind == message::WELCOME => return Ok((link, frame)),
            Some(Event::Opened(_)) => {}
            Some(Event::Frame(frame)) => return Err(format!("its agent sent a frame of kind {}", frame.kind.number())),
            Some(Event::Closed) => return Err("its agent expects nobody else".into()),
            Some(Event::Lost(error)) => return Err(error.to_string()),
            None if Instant::now() < deadline => {}
            None => return Err("its agent was silent for too long".into()),
        }
    }
}
