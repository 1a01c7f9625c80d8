//! A process that no agent started becomes a member: it looks for an agent of its own host, or else of another one, and
//! shows its ticket.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use banyan_link::{Address, Deadline, Event, Frame, Link, Opening, PeerId, SessionId};

use crate::member::{JoinError, Member, WELCOME_DEADLINE, patience};
use crate::message;
use crate::node::attach::{ANY_RANK, keep_alive};
use crate::node::member_link_options;
use crate::ticket::{Endpoint, Ticket};

/// How long an agent of another host may take: an address that leads nowhere must not keep a process from the next.
const ELSEWHERE_DEADLINE: Duration = Duration::from_secs(3);

impl Member {
    /// Joins the session of a ticket, as any member of this host that nobody is yet; of another host, if this one has no
    /// agent of the session.
    ///
    /// # Errors
    /// When no agent waits for members: it is too late, everyone is there, or no agent can be reached from here.
    pub fn attach(ticket: &Ticket) -> Result<Member, JoinError> {
        Member::attach_timeout(ticket, Deadline::NEVER)
    }

    /// As [`attach`](Member::attach), but waits no longer than the limit. Without a limit, an agent of this host has ten seconds,
    /// and each of another host three.
    ///
    /// # Errors
    /// As [`attach`](Member::attach), and when no agent lets it in before the limit.
    pub fn attach_timeout(ticket: &Ticket, limit: impl Into<Deadline>) -> Result<Member, JoinError> {
        let mut random = [0; 4];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| JoinError::Agent(error.to_string()))?;
        attach(ticket, u32::from_ne_bytes(random) | ANY_RANK, limit.into())
    }

    /// Joins the session of a ticket as this very member.
    ///
    /// # Errors
    /// As [`attach`](Member::attach); also when somebody else is this member already.
    pub fn attach_as(ticket: &Ticket, rank: u32) -> Result<Member, JoinError> {
        if rank & ANY_RANK != 0 {
            return Err(JoinError::NotAdmitted { reasons: format!("there is no member {rank}") });
        }
        attach(ticket, rank, Deadline::NEVER)
    }
}

/// Asks the agents of this host, one after the other: those of other hosts are not there and cost next to nothing. Where
/// there is none, asks those of other hosts.
fn attach(ticket: &Ticket, index: u32, deadline: Deadline) -> Result<Member, JoinError> {
    let incarnation = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let peer = PeerId { session: SessionId(ticket.session), index, incarnation };
    let opening = Opening { peer, secret: ticket.secret.clone() };
    let is_elsewhere = |endpoint: &&Endpoint| matches!(endpoint.address, Address::Tcp(_));
    let (elsewhere, here): (Vec<&Endpoint>, Vec<&Endpoint>) = ticket.endpoints.iter().partition(is_elsewhere);
    let mut refusal = Refusal { proved: false, reason: "it names no agent".into() };
    for (endpoints, at_most) in [(here, WELCOME_DEADLINE), (elsewhere, ELSEWHERE_DEADLINE)] {
        for endpoint in endpoints {
            let patience = patience(at_most, deadline);
            if patience.is_zero() {
                let reasons = format!("the deadline has passed; before that, {}", refusal.reason);
                return Err(JoinError::NotAdmitted { reasons });
            }
            match knock(endpoint, &opening, patience) {
                Ok((link, frame)) => return Member::new(link, &frame),
                // The last reason is as good as any: they are mostly the same.
                Err(last) => refusal = Refusal { proved: refusal.proved || last.proved, ..last },
            }
        }
        if refusal.proved {
            break;
        }
    }
    Err(JoinError::NotAdmitted { reasons: refusal.reason })
}

/// Why an agent did not let a process in.
struct Refusal {
    /// Whether it was an agent of the session.
    proved: bool,
    reason: String,
}

/// Asks one agent, and waits for its word who this member is.
fn knock(endpoint: &Endpoint, opening: &Opening, patience: Duration) -> Result<(Link, Frame), Refusal> {
    let mut proved = false;
    let options = member_link_options().opening_time(patience);
    let link = Link::dial(&endpoint.address, opening, &options).map_err(|error| error.to_string());
    link.and_then(|link| welcome(link, patience, &mut proved))
        .map_err(|reason| Refusal { proved, reason: format!("{}: {reason}", endpoint.host) })
}

fn welcome(mut link: Link, patience: Duration, proved: &mut bool) -> Result<(Link, Frame), String> {
    let deadline = Instant::now() + patience;
    loop {
        match link.wait(Some(deadline)) {
            Some(Event::Frame(frame)) if frame.kind == message::WELCOME => {
                keep_alive(&link);
                return Ok((link, frame));
            }
            Some(Event::Opened(_)) => *proved = true,
            Some(Event::Frame(frame)) => return Err(format!("its agent sent a frame of kind {}", frame.kind.number())),
            Some(Event::Closed) => return Err("its agent expects nobody else".into()),
            Some(Event::Lost(error)) => return Err(error.to_string()),
            None if Instant::now() < deadline => {}
            None => return Err("its agent was silent for too long".into()),
        }
    }
}
