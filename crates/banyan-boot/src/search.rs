//! How an agent that was started together with all others finds its parent: by trying.
//!
//! All addresses and ports at which the parent may be are dialled side by side, again and again, until one of them opens:
//! only the right parent's handshake succeeds. What is refused is tried again after a pause, because the parent may just
//! not listen yet. Everything ends at the deadline, with a reason that names the parent's host.
//!
//! If the parent does not come for a while, its own ancestors are dialled, too. They do not take the place of the parent,
//! but learn that this agent is here: so they can tell which hosts are missing, and which only miss their parent.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

use banyan_link::{Address, Event, Link, LinkOptions, Opening, PeerId};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::listening::{self, ATTEMPTS};
use crate::roster::Roster;
use crate::shape;

/// The pause after the first round; each is twice as long as the one before, …
const FIRST_PAUSE: Duration = Duration::from_millis(4);
/// … up to this one.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Addresses of one host that are tried.
const ADDRESSES: usize = 4;

/// Rounds between the first try of one port and of the next: mostly the first one is right.
const ROUNDS_A_PORT: u32 = 2;

/// The part of the deadline after which ancestors hear of an agent without parent: late enough that most never need to,
/// early enough that they know before they give up.
const LONELY: u32 = 4;

/// Why there is no parent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SearchError {
    #[error("its parent, host {host}, has no address: {source}; check with: getent hosts {host}")]
    NoAddress { host: String, source: io::Error },
    #[error("its parent, {parent}, was not found within {seconds} s ({last})")]
    NotFound { parent: String, seconds: f64, last: String },
}

/// A place at which the parent may be.
struct Candidate {
    address: SocketAddr,
    /// It is not dialled before this round …
    from_round: u32,
    /// … and this time.
    from: Instant,
    link: Option<Link>,
}

/// Finds the parent of an agent. The link is open.
pub(crate) fn find_parent(roster: &Roster, agent: usize, options: &LinkOptions) -> Result<Link, SearchError> {
    let now = Instant::now();
    let ancestors = shape::ancestors(agent, roster.agents.len(), |agent| roster.agents[agent].below);
    let at = |node: &Option<usize>, from| match node {
        None => Ok(at_front_end(roster, from)),
        Some(agent) => at_agent(roster, *agent, from),
    };
    let (nearest, further) = ancestors.split_first().unwrap_or((&None, &[]));
    let parent =
        nearest.map_or_else(|| "the front-end".into(), |parent| format!("host {}", roster.agents[parent].host));
    let mut candidates = at(nearest, now)?;
    // Those without an address cannot be told.
    candidates.extend(further.iter().flat_map(|node| at(node, now + roster.host_deadline / LONELY)).flatten());
    let index = agent as u32;
    let secret = roster.secret.derive("agent", index);
    let peer = PeerId { session: roster.session, index, incarnation: 0 };
    let opening = Opening { peer, secret };
    let deadline = now + roster.host_deadline;
    let mut search = Search { candidates, opening, options: options.clone(), last: "nothing answered".into() };
    search.run(deadline).ok_or_else(|| {
        let seconds = roster.host_deadline.as_secs_f64();
        SearchError::NotFound { parent, seconds, last: std::mem::take(&mut search.last) }
    })
}

fn at_front_end(roster: &Roster, from: Instant) -> Vec<Candidate> {
    roster.front_end.iter().map(|address| Candidate { address: *address, from_round: 1, from, link: None }).collect()
}

fn at_agent(roster: &Roster, agent: usize, from: Instant) -> Result<Vec<Candidate>, SearchError> {
    let place = &roster.agents[agent];
    let name = if place.address.is_empty() { &place.host } else { &place.address };
    let found = (name.as_str(), 0).to_socket_addrs();
    let found = found.map_err(|source| SearchError::NoAddress { host: place.host.clone(), source })?;
    let ports = (0..ATTEMPTS).map(|attempt| (attempt, listening::port(&roster.secret, agent as u32, attempt)));
    let candidate = |ip, (attempt, port)| {
        let address = SocketAddr::new(ip, port);
        Candidate { address, from_round: 1 + attempt * ROUNDS_A_PORT, from, link: None }
    };
    let hosts: Vec<SocketAddr> = found.take(ADDRESSES).collect();
    Ok(hosts.iter().flat_map(|host| ports.clone().map(move |port| candidate(host.ip(), port))).collect())
}

struct Search {
    candidates: Vec<Candidate>,
    opening: Opening,
    options: LinkOptions,
    /// What the last failure said.
    last: String,
}

impl Search {
    /// Dials in rounds until a link is open, or the deadline has passed.
    fn run(&mut self, deadline: Instant) -> Option<Link> {
        let mut pause = FIRST_PAUSE;
        for round in 1.. {
            let now = Instant::now();
            if now >= deadline {
                return None;
            }
            // A later one counts as another incarnation: the parent may still think that it knows an earlier one.
            self.opening.peer.incarnation = u64::from(round);
            self.options.opening_time = deadline - now;
            self.dial(round, now);
            if let Some(link) = self.wait(deadline.min(now + pause)) {
                return Some(link);
            }
            pause = LONGEST_PAUSE.min(2 * pause);
        }
        None
    }

    fn dial(&mut self, round: u32, now: Instant) {
        for candidate in &mut self.candidates {
            if candidate.link.is_none() && round >= candidate.from_round && now >= candidate.from {
                let link = Link::dial(&Address::Tcp(candidate.address), &self.opening, &self.options);
                candidate.link = link.map_err(|error| self.last = format!("{}: {error}", candidate.address)).ok();
            }
        }
    }

    /// Waits for one of those that were dialled to open.
    fn wait(&mut self, until: Instant) -> Option<Link> {
        loop {
            let now = Instant::now();
            if let Some(link) = self.advance(now) {
                return Some(link);
            }
            let left = until.checked_duration_since(now).filter(|left| !left.is_zero())?;
            let mut watched: Vec<PollFd<'_>> = self.candidates.iter().filter_map(watch).collect();
            // What cannot be waited for is found by looking again.
            let _ = poll(&mut watched, Timespec::try_from(left).ok().as_ref());
        }
    }

    fn advance(&mut self, now: Instant) -> Option<Link> {
        for candidate in &mut self.candidates {
            let Some(link) = &mut candidate.link else { continue };
            link.tick(now);
            link.flush(now);
            link.fill(now);
            match link.poll() {
                None => {}
                Some(Event::Opened(_)) => return candidate.link.take(),
                Some(Event::Lost(error)) => {
                    self.last = format!("{}: {error}", candidate.address);
                    candidate.link = None;
                }
                // Nobody of ours closes a link, or says anything, before it is open.
                Some(Event::Closed | Event::Frame(_)) => candidate.link = None,
            }
        }
        None
    }
}

fn watch(candidate: &Candidate) -> Option<PollFd<'_>> {
    let link = candidate.link.as_ref()?;
    let flags = if link.wants_write() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
    Some(PollFd::from_borrowed_fd(link.fds().0, flags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roster::tests::roster;
    use banyan_link::Listener;
    use std::net::TcpListener;

    /// Two hosts, of which the second is the first one's child; both are this machine.
    fn parent_and_child() -> Roster {
        let mut roster = roster(&["a", "b"]);
        roster.secret = banyan_link::Secret::random().unwrap();
        roster.agents[0].below = 1;
        roster.agents.iter_mut().for_each(|place| place.address = "127.0.0.1".into());
        roster
    }

    fn accept_one(mut listener: Listener, roster: &Roster) -> Link {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            assert!(Instant::now() < deadline, "nobody came");
            let secret = |peer: &PeerId| (peer.index == 1).then(|| roster.secret.derive("agent", 1));
            if let Some(mut link) = listener.accept_ready(Instant::now(), &mut { secret }).pop() {
                link.flush(Instant::now());
                return link;
            }
            let wait = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
            poll(&mut [PollFd::new(&listener, PollFlags::IN)], Some(&wait)).unwrap();
        }
    }

    #[test]
    fn a_parent_that_comes_late_and_finds_its_port_taken_is_found() {
        let roster = parent_and_child();
        let stranger = TcpListener::bind(("0.0.0.0", listening::port(&roster.secret, 0, 0)));
        std::thread::scope(|scope| {
            let child = scope.spawn(|| find_parent(&roster, 1, &roster.link_options()));
            // The child has been at the stranger's listener before the parent opens its own, if there is a stranger.
            let _guest = stranger.as_ref().ok().map(|stranger| stranger.accept().unwrap());
            let listener = listening::listen(&roster.secret, 0, &roster.link_options()).unwrap();
            let _parents_end = accept_one(listener, &roster);
            assert!(child.join().unwrap().is_ok());
        });
    }

    #[test]
    fn a_parent_that_never_comes_is_named_at_the_deadline() {
        let mut roster = parent_and_child();
        roster.host_deadline = Duration::from_millis(50);
        let error = find_parent(&roster, 1, &roster.link_options()).unwrap_err().to_string();
        assert!(error.contains("host a") && error.contains("0.05 s"), "{error}");
    }
}
