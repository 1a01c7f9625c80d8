//! Members that attach: processes that nobody here started come with the session's ticket, prove that they have it, and
//! get a rank of this host, each rank once.
//!
//! Those of this host come through a Unix socket, whose name follows from the session. Those of hosts that have no agent
//! come through TCP, encrypted, at a port that the front-end is told for the ticket.
//!
//! Those of this host are watched as processes, too, so that it is known how they end, as far as the kernel tells strangers;
//! of others nothing is known but whether they said goodbye. When the session ends their links are closed, and they go on.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use banyan_link::{Frame, Interest, Link, Listener, PeerId, Secret, SessionId};
use banyan_ranks::RankSet;
use rustix::net::{AddressFamily, sockopt};

use super::token::Token;
use super::wire::Wire;
use super::{Below, Node};
use crate::launcher::Way;
use crate::listening::{listen_at, port_of};
use crate::machine;
use crate::message;
use crate::problem::{Problem, ProblemKind};
use crate::process::{ExitState, Stranger};
use crate::ticket::attach_address;

/// Set in a peer's number when any rank will do; the other bits are then random. Without it the number is the rank that
/// the peer asks for.
pub(crate) const ANY_RANK: u32 = 1 << 31;

/// How long the other end of a TCP connection may say nothing before the kernel asks whether it is still there, …
const ASKED_AFTER: Duration = Duration::from_secs(10);
/// … how long it waits for an answer, …
const ASKED_EVERY: Duration = Duration::from_secs(5);
/// … and how often it asks.
const ASKED: u32 = 3;

/// Lets the kernel find out whether the other host is gone. Members cannot give signs of life: they are busy computing.
pub(crate) fn keep_alive(link: &Link) {
    let (socket, _) = link.fds();
    // Unix sockets have no use for it, and say so.
    let _ = sockopt::set_tcp_keepidle(socket, ASKED_AFTER)
        .and_then(|()| sockopt::set_tcp_keepintvl(socket, ASKED_EVERY))
        .and_then(|()| sockopt::set_tcp_keepcnt(socket, ASKED))
        .and_then(|()| sockopt::set_socket_keepalive(socket, true));
}

/// How long a process may take to end after its link did, and the system to say how.
const EXIT_PATIENCE: Duration = Duration::from_secs(1);

/// A member that attached, and whose link has ended.
#[derive(Debug)]
struct PendingExit {
    index: usize,
    /// How it ended, if its process says nothing until then.
    state: ExitState,
    until: Instant,
}

/// Members of this host that attach.
#[derive(Debug, Default)]
pub(super) struct Attaching {
    /// Where they connect, while some are awaited.
    listeners: Option<AttachListeners>,
    /// Members whose links have ended, and whose exit states are not known yet.
    pending_exits: Vec<PendingExit>,
    /// Processes that wanted to attach and could not.
    sent_away: u64,
}

impl Attaching {
    /// When there is something to do although nobody came.
    pub(super) fn timeout(&self) -> Option<Instant> {
        let listeners = self.listeners.as_ref().and_then(AttachListeners::timeout);
        listeners.into_iter().chain(self.pending_exits.iter().map(|pending| pending.until)).min()
    }
}

/// The listeners for members that attach.
#[derive(Debug)]
struct AttachListeners {
    /// By Unix socket, and by TCP unless all hosts are acted out on one machine.
    listeners: Vec<Listener>,
    session: [u8; 16],
    secret: Secret,
    deadline: Option<Instant>,
}

impl AttachListeners {
    fn timeout(&self) -> Option<Instant> {
        self.listener_timeout().into_iter().chain(self.deadline).min()
    }

    fn listener_timeout(&self) -> Option<Instant> {
        self.listeners.iter().filter_map(Listener::timeout).min()
    }
}

impl Node {
    /// Opens the listener, if members of this host attach.
    pub(super) fn listen_for_attaching(&mut self) -> io::Result<()> {
        let Some(secret) = self.assignment.attach_secret() else { return Ok(()) };
        if !(0..self.members.len()).any(|index| self.attaches(index)) {
            return Ok(());
        }
        let session = self.assignment.session;
        let mut listeners =
            vec![Listener::bind(&attach_address(&session, self.assignment.node), &self.member_options)?];
        if self.assignment.way != Way::Local {
            let listener = listen_at(0, &self.member_options)?;
            self.announce_attaching(port_of(&listener));
            listeners.push(listener);
        }
        for listener in &listeners {
            self.poller.register(listener, Token::AttachListeners.number(), Interest::READ)?;
        }
        let deadline = self.assignment.terms.attach_deadline().map(|time| Instant::now() + time);
        self.attaching.listeners = Some(AttachListeners { listeners, session, secret, deadline });
        Ok(())
    }

    /// Tells the front-end where members of other hosts find this one's.
    fn announce_attaching(&mut self, port: u16) {
        let others = machine::local_addresses().into_iter().filter(|address| !address.is_loopback());
        let addresses: Vec<String> = others.map(|address| SocketAddr::new(address, port).to_string()).collect();
        self.pass_up(Frame::new(message::ATTACH_ADDRESSES, self.assignment.node, 0, addresses.join(" ")));
    }

    /// Whether a member is started by someone else.
    pub(super) fn attaches(&self, index: usize) -> bool {
        let image = self.members[index].image as usize;
        self.assignment.images.get(image).is_some_and(|image| image.attaches())
    }

    /// Connections have come for members that attach.
    pub(super) fn accept_attaching(&mut self) {
        let Some(listener) = &mut self.attaching.listeners else { return };
        let (session, secret) = (listener.session, &listener.secret);
        let mut find = |peer: &PeerId| (peer.session == SessionId(session)).then(|| secret.clone());
        let now = Instant::now();
        let came: Vec<Link> =
            listener.listeners.iter_mut().flat_map(|listener| listener.accept_ready(now, &mut find)).collect();
        listener
            .listeners
            .iter_mut()
            .for_each(|listener| self.unreported.refused += listener.take_refused().strangers());
        came.into_iter().for_each(|link| self.admit(link));
        if !(0..self.members.len()).any(|index| self.is_awaited(index)) {
            self.stop_attaching();
        }
    }

    /// Whether this member attaches and has not come yet.
    pub(super) fn is_awaited(&self, index: usize) -> bool {
        let member = &self.members[index];
        self.attaches(index) && !member.joined && member.state.is_none()
    }

    /// Keeps a frame for a member that has not come yet. Once there is data for it no more is taken from anyone: the
    /// senders wait as they do for a slow member.
    pub(super) fn keep_for_later(&mut self, index: usize, frame: Frame) {
        let token = Token::Member(index as u32);
        if frame.kind.is_data() {
            self.flow.set_full(token, true);
        }
        self.members[index].early.push(frame);
    }

    /// Gives a rank to somebody who has the ticket. Who asks for one that is taken, or comes when all are, is sent away.
    fn admit(&mut self, link: Link) {
        let Some(peer) = link.peer_id() else { return };
        let any = peer.index & ANY_RANK != 0;
        let place = (0..self.members.len())
            .find(|index| self.is_awaited(*index) && (any || self.members[*index].rank == peer.index));
        let Some(index) = place else { return self.count_refusal(peer.index) };
        let token = Token::Member(index as u32);
        keep_alive(&link);
        // A descriptor that cannot be watched is closed: the process learns of it and may try again.
        let Ok(wire) = Wire::new(link, &self.poller, token.number()) else { return };
        self.members[index].wire = Some(wire);
        self.watch_stranger(index);
        self.running += 1;
        self.member_joined(index);
        self.welcome(index);
        for frame in std::mem::take(&mut self.members[index].early) {
            self.send_below(Below::Member(index), frame);
        }
        self.note_full(token);
        self.pump(token);
    }

    /// Counts those that were sent away; the first is reported, for a rank that two want is a mistake somewhere.
    fn count_refusal(&mut self, asked: u32) {
        self.attaching.sent_away += 1;
        if self.attaching.sent_away > 1 {
            return;
        }
        let cause = match asked & ANY_RANK {
            0 => format!("a process wanted to attach as member {asked}, which is taken or not of this host"),
            _ => "a process wanted to attach, but every member of this host is there".to_owned(),
        };
        self.attach_problem(cause, "start as many processes as members were declared, each once", String::new());
    }

    /// Watches the process of a member that has just come, if it is on this host.
    fn watch_stranger(&mut self, index: usize) {
        let member = &mut self.members[index];
        let socket = member.wire.as_ref().map(|wire| wire.link.fds().0);
        // Only sockets within a host have a process at their other end.
        let local = socket.filter(|socket| sockopt::socket_domain(socket) == Ok(AddressFamily::UNIX));
        let peer = local.and_then(|socket| sockopt::socket_peercred(socket).ok());
        let Some(stranger) = peer.and_then(|peer| Stranger::watch(peer.pid)) else { return };
        if self.poller.register_bell(&stranger, Token::Exit(index as u32).number()).is_ok() {
            self.unreported.processes.push((member.rank, stranger.pid.as_raw_nonzero().get().cast_unsigned()));
            member.stranger = Some(stranger);
        }
    }

    /// The link of a member that attached has ended, and with it the member, as far as the session knows. How, its process may
    /// say better.
    pub(super) fn attached_gone(&mut self, index: usize, state: ExitState) {
        let member = &mut self.members[index];
        if !member.joined || member.state.is_some() {
            return;
        }
        member.state = Some(state.clone());
        let rank = member.rank;
        self.close_member_link(index);
        let why = format!("member {rank} on host {}, which had attached, {state}", self.host);
        self.collectives.member_gone(rank, why, &mut self.outgoing);
        self.deliver();
        self.attaching.pending_exits.push(PendingExit { index, state, until: Instant::now() + EXIT_PATIENCE });
        self.report_pending_exits(Instant::now());
    }

    /// The process of a member that attached has ended, or its parent knows of that.
    pub(super) fn stranger_ended(&mut self, index: usize) {
        if self.members[index].state.is_none() {
            // What it has sent comes first; with that comes the end of its link, unless it has left that to another process.
            self.handle_link(Token::Member(index as u32), true);
            self.attached_gone(index, ExitState::Lost("its process ended without a goodbye".into()));
        }
        self.report_pending_exits(Instant::now());
    }

    /// Reports how those have ended of whom it is known by now, or will not be.
    pub(super) fn report_pending_exits(&mut self, now: Instant) {
        for mut pending in std::mem::take(&mut self.attaching.pending_exits) {
            let member = &mut self.members[pending.index];
            let known = member.stranger.as_ref().map(Stranger::exit_state);
            match known {
                Some(None) if now < pending.until && self.ending.is_none() => {
                    self.attaching.pending_exits.push(pending);
                    continue;
                }
                Some(Some(state)) => pending.state = state,
                _ => {}
            }
            if let Some(stranger) = member.stranger.take() {
                let _ = self.poller.remove(&stranger);
            }
            member.state = Some(pending.state.clone());
            self.running -= 1;
            self.unreported.exits.push((member.rank, pending.state));
        }
    }

    /// Says goodbye to members that attached: the session ends, they go on.
    pub(super) fn let_attached_go(&mut self) {
        self.stop_attaching();
        for index in 0..self.members.len() {
            if self.attaches(index)
                && self.members[index].state.is_none()
                && let Some(wire) = &mut self.members[index].wire
            {
                wire.link.close();
                wire.link.flush(Instant::now());
                self.attached_gone(index, ExitState::Lost("the session ended first".into()));
            }
        }
    }

    /// Reports those that did not come in time.
    pub(super) fn check_attaching(&mut self, now: Instant) {
        let Some(listener) = &self.attaching.listeners else { return };
        if listener.deadline.is_none_or(|deadline| now < deadline) {
            if listener.listener_timeout().is_some_and(|timeout| timeout <= now) {
                self.accept_attaching();
            }
            return;
        }
        self.stop_attaching();
        let mut ranks = RankSet::new();
        for index in 0..self.members.len() {
            if self.is_awaited(index) {
                let state = ExitState::NeverStarted("it did not attach in time".into());
                self.members[index].state = Some(state.clone());
                self.members[index].early = Vec::new();
                self.flow.set_full(Token::Member(index as u32), false);
                let rank = self.members[index].rank;
                ranks.insert(rank);
                let why = format!("member {rank} on host {} did not attach in time", self.host);
                self.collectives.member_gone(rank, why, &mut self.outgoing);
                self.unreported.exits.push((rank, state));
            }
        }
        self.deliver();
        let waited = self.assignment.terms.attach_deadline().unwrap_or_default().as_secs_f64();
        let cause = format!("{} members did not attach within {waited} s", ranks.len());
        self.attach_problem(cause, "start them with the session's ticket, or allow more time", ranks.to_string());
    }

    fn stop_attaching(&mut self) {
        for listener in self.attaching.listeners.take().into_iter().flat_map(|listener| listener.listeners) {
            let _ = self.poller.remove(&listener);
        }
    }

    fn attach_problem(&mut self, cause: String, remedy: &str, members: String) {
        let host = self.host.to_string();
        self.problem(Problem { host, kind: ProblemKind::NotAttached, cause, remedy: remedy.to_owned(), members });
    }
}
