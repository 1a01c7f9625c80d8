//! The driver of a node: the [`Node`] decides, this does. Links, listeners and the clock meet here.
//!
//! One driver, one thread at a time. Whoever waits for something calls [`turn`](Driver::turn) until it is there: the
//! thread of an agent for ever, the front-end and members while their callers wait. Nothing is handed from thread to
//! thread on the way of a message.

mod alarm;
mod clocks;
mod closed_children;
mod credentials;
mod dialling;
mod figures;
mod hostile;
mod memory;
mod note;
mod stopped;
mod tree_link;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::listen_at;
use banyan_link::{Address, Bell, Frame, Heartbeat, Interest, Link, Listener, PeerId, Poller, Ready, Slabs};
use tracing::{debug, info, warn};

use alarm::Alarm;
use closed_children::{ClosedChildren, Fate};
pub(crate) use credentials::{Credentials, silent_links};
use dialling::{Attempts, Tunnel};
use memory::ChildrenMemory;
pub(crate) use note::{Invited, NodeAbove, Note, NoteError, secret_of};
use tree_link::{TreeLink, rank_of};

use crate::clocks::Clocks;
use crate::format_book::{FormatBook, MOST_OF_MEMBER};
use crate::ids::{LinkId, NodeId, Time};
use crate::link_protocol::{Arrival, End};
use crate::message::{Attach, Message};
use crate::node::{Action, Node, Report};
use crate::reports::Reports;
use crate::sorted::SortedMap;
use crate::wire::{AddressBook, INVITATION};

/// A caller that was elsewhere for longer has computed. One that sleeps on the poller is woken at least as often as this while
/// any time runs.
const LISTENS: Duration = Duration::from_secs(1);

/// A member with one link sleeps in a read that ends after this time at the latest.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tokens of listeners, of the bell, of shared memory, of processes that may have ended and of the alarm; links have their own
/// numbers.
const LISTENERS: u64 = 1 << 63;
const BELL: u64 = u64::MAX;
const MEMORY: u64 = u64::MAX - 1;
const PROCESS: u64 = u64::MAX - 2;
const ALARM: u64 = u64::MAX - 3;

/// See the module.
#[derive(Debug)]
pub(crate) struct Driver {
    node: Node,
    formats: FormatBook,
    book: AddressBook,
    credentials: Credentials,
    poller: Poller,
    /// Whether someone may ring.
    has_bell: bool,
    ready: Vec<Ready>,
    listeners: Vec<Listener>,
    links: SortedMap<LinkId, Box<TreeLink>>,
    /// Children whose links have ended, and perhaps they, too.
    closed_children: ClosedChildren,
    /// Members that were invited and speak another protocol, each once, and what is to be said of them.
    strangers: Vec<(NodeId, String)>,
    /// A link to the parent that is there before the node asks for one.
    inherited: Option<(NodeId, TreeLink)>,
    /// Memory that this node shares with its children.
    below: Option<ChildrenMemory>,
    /// The link to a parent that shares its memory with this node.
    above: Option<LinkId>,
    /// Ends its long sleeps, once it shares the memory of a parent, and so a host with many; and those of others on the poller.
    alarm: Option<Alarm>,
    /// Whether others wait on the poller, who do not know of shared memory.
    is_watched: bool,
    /// Empty: memory for those that share, while they are looked at.
    sharing: Vec<LinkId>,
    touched: Vec<LinkId>,
    /// Empty: memory for those that are flushed while others are touched.
    flushed: Vec<LinkId>,
    reports: Reports,
    begin: Instant,
    tick_at: Option<Instant>,
    /// When the node wanted to be woken, when it was last asked.
    node_at: Option<Instant>,
    /// How often this node has dialled: a peer that comes again must be known to be newer than before.
    dials: u64,
    /// When to look whether other hosts are cut off, if there are links to any.
    look_at: Option<Instant>,
    /// The node that is member 0, once it is known.
    first_member: Option<NodeId>,
    /// At how many of its addresses a node has not answered, the one or the other more than once: it is dialled at the next.
    unanswered: HashMap<NodeId, usize>,
    /// Who can be reached through the session's link.
    tunnel: Option<Tunnel>,
    /// When a connection that is not there by then is left for a tunnel.
    hurry_at: Option<Instant>,
    /// When links were last listened to.
    heard: Instant,
    /// How long a caller that has left may be asleep on the poller, until it comes back.
    listens_until: Option<Instant>,
    /// When the caller last came.
    prepared: Instant,
    /// Since when there is no parent, nor a front-end that only does not answer.
    adrift_since: Option<Instant>,
    front_end: Attempts,
    clocks: Clocks,
    /// When to compare clocks with the parent, while that is new.
    clock_at: Option<Instant>,
}

impl Driver {
    pub(crate) fn new(node: Node, formats: FormatBook, credentials: Credentials) -> io::Result<Driver> {
        // A process that is the same member as one before it counts on from above.
        let dials = u64::from(node.life()) << 32;
        let begin = Instant::now();
        let clocks = clocks::of(&node, &credentials);
        Ok(Driver {
            node,
            formats,
            book: AddressBook::new(),
            credentials,
            poller: Poller::new()?,
            has_bell: false,
            ready: Vec::new(),
            listeners: Vec::new(),
            links: SortedMap::new(),
            closed_children: ClosedChildren::default(),
            strangers: Vec::new(),
            inherited: None,
            below: None,
            above: None,
            alarm: None,
            is_watched: false,
            sharing: Vec::new(),
            touched: Vec::new(),
            flushed: Vec::new(),
            reports: Reports::default(),
            begin,
            tick_at: None,
            node_at: None,
            dials,
            look_at: None,
            first_member: None,
            unanswered: HashMap::new(),
            tunnel: None,
            hurry_at: None,
            heard: begin,
            listens_until: None,
            prepared: begin,
            adrift_since: None,
            front_end: Attempts::default(),
            clocks,
            clock_at: None,
        })
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    /// The node, to be told something. What it has to do then is done with the next [`prepare`](Self::prepare).
    pub(crate) fn node_mut(&mut self) -> &mut Node {
        &mut self.node
    }

    pub(crate) fn formats(&self) -> &FormatBook {
        &self.formats
    }

    /// What its links receive into and send from.
    pub(crate) fn slabs(&self) -> &Slabs {
        &self.credentials.links.slabs
    }

    pub(crate) fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Members are the nodes from this one on: whoever proves to be one of them has its rank and no other.
    pub(crate) fn set_first_member(&mut self, node: NodeId) {
        self.first_member = Some(node);
    }

    /// The rank of a node, if it is a member.
    pub(crate) fn rank_of(&self, node: NodeId) -> Option<u32> {
        self.first_member.and_then(|first| rank_of(node, first))
    }

    /// What users may want to know.
    pub(crate) fn report(&mut self) -> Option<Report> {
        self.reports.pop()
    }

    /// Where others are.
    pub(crate) fn learn_addresses(&mut self, addresses: impl Iterator<Item = (NodeId, Arc<[Address]>)>) {
        addresses.for_each(|(node, addresses)| self.book.set(node, addresses));
    }

    /// Where a node is, as far as this process has heard.
    pub(crate) fn addresses_of(&self, node: NodeId) -> Option<&Arc<[Address]>> {
        self.book.get(node)
    }

    /// Opens a listener for this host, unless all links are to be over TCP, and one for others, if there are any; returns where
    /// they are. The one for others is opened also where no other host knows an address of this one: tunnels lead there.
    pub(crate) fn listen(&mut self, is_one_host: bool, only_tcp: bool) -> io::Result<Vec<Address>> {
        let mut addresses = Vec::new();
        if !only_tcp {
            let name = format!("banyan-{}-{}", self.credentials.network, self.node.id().0);
            let local = Listener::bind(&Address::Abstract(name), &self.credentials.links)?;
            addresses.push(local.address().clone());
            self.add_listener(local)?;
        }
        if !is_one_host || only_tcp {
            let (listener, beyond) = if is_one_host {
                let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                let listener = Listener::bind(&Address::Tcp(loopback), &self.credentials.links)?;
                (listener, vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
            } else {
                (listen_at(0, &self.credentials.links)?, dialling::outside_addresses())
            };
            if let Address::Tcp(bound) = listener.address() {
                let port = bound.port();
                addresses.extend(beyond.iter().map(|address| Address::Tcp(SocketAddr::new(*address, port))));
            }
            self.add_listener(listener)?;
        }
        self.book.set(self.node.id(), addresses.clone());
        Ok(addresses)
    }

    /// Where connections from other hosts come in.
    pub(crate) fn port(&self) -> Option<u16> {
        self.listeners.iter().find_map(|listener| match listener.address() {
            Address::Tcp(address) => Some(address.port()),
            Address::Unix(_) | Address::Abstract(_) => None,
        })
    }

    fn add_listener(&mut self, listener: Listener) -> io::Result<()> {
        self.poller.register(&listener, LISTENERS + self.listeners.len() as u64, Interest::READ)?;
        self.listeners.push(listener);
        Ok(())
    }

    /// From now on whoever waits does so on the poller, and not in [`turn`](Self::turn).
    pub(crate) fn be_watched(&mut self) {
        self.is_watched = true;
        self.alarm = Alarm::new(&self.poller);
        self.doze_watched();
    }

    /// The caller goes elsewhere: nobody drives until the next [`prepare`](Self::prepare). What is under way goes, and the poller
    /// is ready when a time is over.
    pub(crate) fn leave(&mut self) {
        let timeout = self.prepare(None);
        self.listens_until = Some(self.prepared + LISTENS);
        if let (Some(timeout), Some(alarm)) = (timeout, &mut self.alarm) {
            alarm.ring_within(timeout.min(LISTENS), self.prepared);
        }
    }

    /// The caller may sleep on the poller for any time: it is ready when a time is over.
    pub(crate) fn set_alarm(&mut self) {
        let Some(timeout) = self.prepare(None) else { return };
        self.alarm = self.alarm.take().or_else(|| Alarm::new(&self.poller));
        if let Some(alarm) = &mut self.alarm {
            alarm.ring_within(timeout, self.prepared);
        }
    }

    /// Says in shared memory that this process may be asleep, if others wait on the poller; wakes them if there is something to
    /// look at.
    fn doze_watched(&mut self) {
        if self.is_watched
            && !self.doze()
            && let Some(below) = &mut self.below
        {
            below.call_oneself();
        }
    }

    /// Wakes up when the bell rings.
    pub(crate) fn watch_bell(&mut self, bell: &Bell) -> io::Result<()> {
        self.has_bell = true;
        self.poller.register_bell(bell.as_fd(), BELL)
    }

    /// Wakes up when there is something new to read here.
    pub(crate) fn watch(&mut self, descriptor: impl AsFd) -> io::Result<()> {
        self.poller.register_bell(descriptor, PROCESS)
    }

    /// Has memory to share with children, those that are there included. Where the system refuses there are sockets.
    pub(crate) fn share(&mut self) {
        let Ok(mut below) = ChildrenMemory::new() else { return };
        if self.poller.register_bell(below.bell(), MEMORY).is_err() {
            return;
        }
        let (links, node) = (&mut self.links, &self.node);
        for (id, link) in links.iter_mut().filter(|(id, _)| node.is_child(**id)) {
            link.offer_memory(&mut below);
            self.touched.push(*id);
        }
        self.below = Some(below);
    }

    /// The socket to the parent that this process inherited, with what was read from it already.
    pub(crate) fn inherit_parent(&mut self, parent: NodeId, link: Link) {
        let mut link = TreeLink::of_member(link);
        link.wait_at_most(PATIENCE);
        self.inherited = Some((parent, link));
    }

    /// A socket to a member that this program has started as this process: it gets its invitation, and becomes a child when it
    /// asks.
    pub(crate) fn invite(&mut self, process: u32, socket: OwnedFd, note: &Note) -> io::Result<LinkId> {
        let heartbeat = Heartbeat::default().every(note.members_heartbeat()).lost_after(note.members_silence());
        let options = self.credentials.links.clone().heartbeat(heartbeat);
        let mut link = TreeLink::new(Link::inherited(socket, &options), true);
        // It may take its time until it joins.
        link.link_mut().set_silence(note.members_silence());
        link.started = Some(process);
        link.invited = note.member.map(|invited| (invited.node, invited.rank));
        link.send_frame(Frame::new(INVITATION, 0, 0, note.to_text()));
        self.add_link(link)
    }

    fn add_link(&mut self, mut link: TreeLink) -> io::Result<LinkId> {
        let is_member = link.is_known_member(self.first_member);
        link.protocol_mut().set_member(is_member);
        let id = self.node.accepted();
        link.register(&self.poller, id.0)?;
        self.keep_link(id, link);
        Ok(id)
    }

    /// The process at the other end of this link has ended; false if it was not a child of this node any more.
    pub(crate) fn ended(&mut self, link: LinkId) -> bool {
        // What it sent before is part of its waves.
        let now = Instant::now();
        let place = self.links.get(&link).and_then(|link| link.place());
        if let (Some(below), Some(place)) = (&mut self.below, place) {
            below.begin_turn(place);
        }
        self.read(link, now);
        let is_closed = self.closed_children.remove(link);
        let is_child = self.node.is_child(link);
        if self.remove(link).is_some() || is_closed {
            let now = self.time(now);
            self.node.ended(link, now);
        }
        is_child
    }

    /// How long this node has been looking for a parent.
    pub(crate) fn adrift(&self) -> Duration {
        self.adrift_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Whether nobody listens any more where the front-end was: it has ended.
    pub(crate) fn is_front_end_gone(&self) -> bool {
        self.front_end.say_it_has_ended()
    }

    /// Whether the front-end could not be reached when it was last dialled.
    pub(crate) fn misses_front_end(&self) -> bool {
        self.front_end.are_vain()
    }

    fn time(&self, now: Instant) -> Time {
        let since = now.saturating_duration_since(self.begin);
        Time(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    fn touch(&mut self, link: LinkId) {
        if self.touched.last() != Some(&link) {
            self.touched.push(link);
        }
    }

    fn keep_link(&mut self, id: LinkId, link: TreeLink) {
        self.tick_at = self.tick_at.into_iter().chain(link.link().timeout()).min();
        if link.is_remote() {
            self.look_at.get_or_insert_with(|| Instant::now() + self.credentials.silence);
        }
        self.links.insert(id, Box::new(link));
        self.touch(id);
    }

    /// Does what the node wants, sends what there is to send, and waits for something to happen.
    pub(crate) fn turn(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let timeout = self.prepare(deadline);
        if let Some(link) = self.only_link(timeout) {
            self.read_patiently(link);
            return Ok(());
        }
        let is_due = timeout != Some(Duration::ZERO) && !self.doze();
        let timeout = if is_due { Some(Duration::ZERO) } else { timeout };
        let timeout = match &mut self.alarm {
            Some(alarm) => alarm.instead_of(timeout, self.prepared),
            None => timeout,
        };
        let mut ready = std::mem::take(&mut self.ready);
        let waited = self.poller.wait_asleep(timeout, &mut ready);
        self.handle(&ready);
        self.ready = ready;
        waited
    }

    /// Says in shared memory that this process goes to sleep; false if there is something to look at.
    fn doze(&mut self) -> bool {
        let (links, node) = (&self.links, &self.node);
        let shares = |link| links.get(&link).is_some_and(|link| link.place().is_some());
        self.below.as_mut().is_none_or(|below| below.doze(node.awaited(shares)))
    }

    /// The link that alone can end this wait, if it can be waited for by reading.
    fn only_link(&self, timeout: Option<Duration>) -> Option<LinkId> {
        let is_long = timeout.is_none_or(|timeout| timeout >= PATIENCE);
        let shares = self.below.is_some() || self.above.is_some();
        if !is_long || self.has_bell || shares || !self.listeners.is_empty() || self.links.len() != 1 {
            return None;
        }
        let (id, link) = self.links.iter().next()?;
        (link.can_wait() && !link.link().wants_write()).then_some(*id)
    }

    /// Waits by reading: one call to the system less than waiting first.
    fn read_patiently(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let now = link.link_mut().fill_patiently();
        self.touch(id);
        self.take(id, now);
        self.handle_at(&[], now);
    }

    /// Does what the node wants and sends what there is to send; how long to wait for something to happen.
    pub(crate) fn prepare(&mut self, deadline: Option<Instant>) -> Option<Duration> {
        let now = banyan_link::now();
        self.prepared = now;
        if let Some(listened) = self.listens_until.take().filter(|until| *until < now) {
            // Whoever came meanwhile had nobody to answer it.
            self.node.was_away(now - listened);
        }
        self.carry_out();
        self.keep_clocks(now);
        self.flush(now);
        self.doze_watched();
        self.node_at = self.node.deadline().map(|at| self.begin + Duration::from_nanos(at.0));
        let listeners = self.listeners.iter().filter_map(Listener::timeout).min();
        let closed_children = self.closed_children.deadline();
        let memory = self.below.as_ref().and_then(ChildrenMemory::deadline);
        let own = [self.node_at, self.tick_at, self.look_at, self.hurry_at, self.clock_at];
        let times = [deadline, listeners, closed_children, memory].into_iter().chain(own);
        let next = times.flatten().min()?;
        Some(next.saturating_duration_since(now))
    }

    /// For how long nobody has listened to the links.
    pub(crate) fn unheard(&self) -> Duration {
        banyan_link::now().saturating_duration_since(self.heard)
    }

    /// Something has happened, or time has passed.
    pub(crate) fn handle(&mut self, ready: &[Ready]) {
        self.handle_at(ready, banyan_link::now());
    }

    fn handle_at(&mut self, ready: &[Ready], now: Instant) {
        if let Some(parent) = self.above {
            self.take(parent, now);
        }
        if self.below.as_mut().is_some_and(|below| below.look(now)) {
            self.take_shared(now);
        }
        for Ready { token, readable, .. } in ready {
            match *token {
                BELL | MEMORY | PROCESS | ALARM => {}
                listener @ LISTENERS.. => self.accept_at((listener - LISTENERS) as usize, now),
                link => {
                    let link = LinkId(link);
                    self.touch(link);
                    if *readable {
                        self.read(link, now);
                    }
                }
            }
        }
        for listener in 0..self.listeners.len() {
            // Connections that say nothing have to go.
            if self.listeners[listener].timeout().is_some_and(|at| at <= now) {
                self.accept_at(listener, now);
            }
        }
        let is_told = ready.iter().any(|ready| ready.token == PROCESS);
        if is_told || self.closed_children.deadline().is_some_and(|at| at <= now) {
            self.part(now);
        }
        self.tick(now);
        self.hurry(now);
        if self.node_at.is_some_and(|at| at <= now) {
            self.node.wake(self.time(now));
        }
        self.carry_out();
        self.flush(now);
        self.heard = now;
        self.doze_watched();
    }

    /// Lets in who has proved itself.
    fn accept_at(&mut self, listener: usize, now: Instant) {
        let Some(all) = self.credentials.all.clone() else { return };
        let network = self.credentials.network;
        let Some(listener) = self.listeners.get_mut(listener) else { return };
        let is_local = !matches!(listener.address(), Address::Tcp(_));
        let mut find = |peer: &PeerId| (peer.session == network).then(|| secret_of(&all, NodeId(peer.index)));
        for link in listener.accept_ready(now, &mut find) {
            // Without a descriptor in the poller nobody would hear it; it asks again elsewhere.
            let _ = self.add_link(TreeLink::new(link, is_local));
        }
    }

    /// Takes what has arrived on a link.
    fn read(&mut self, id: LinkId, now: Instant) {
        let Some(link) = self.links.get_mut(&id) else { return };
        link.link_mut().fill(now);
        self.take(id, now);
    }

    /// Takes what children have written to shared memory.
    fn take_shared(&mut self, now: Instant) {
        let mut sharing = std::mem::take(&mut self.sharing);
        sharing.extend(self.links.iter().filter(|(_, link)| link.place().is_some()).map(|(id, _)| *id));
        for id in sharing.drain(..) {
            self.take(id, now);
            if self.links.get(&id).is_some_and(|link| link.protocol().has_received()) {
                // It may have been given credit for what it sent by the socket.
                self.touch(id);
            }
        }
        self.sharing = sharing;
    }

    fn take(&mut self, id: LinkId, now: Instant) {
        let time = self.time(now);
        loop {
            let Some(link) = self.links.get_mut(&id) else { return };
            match link.next(&mut self.book, &self.formats, &mut self.below) {
                None => return,
                Some(Arrival::Message(message)) if link.protocol().is_closing() => drop(message),
                Some(Arrival::Message(Message::Attach(attach))) => self.take_attach(id, attach, time),
                Some(Arrival::Message(message @ (Message::ClockAsked { .. } | Message::ClockTold(_)))) => {
                    self.clock_message(id, message, time);
                }
                Some(Arrival::Message(_)) if link.protocol().has_too_many_formats() && self.node.is_member(id) => {
                    let cause = format!(
                        "sent records of more than {MOST_OF_MEMBER} formats, or described in more than 16 MiB, the most for one member"
                    );
                    self.node.refuse(id, cause, time);
                    // Nothing else of it is heard.
                    self.carry_out();
                }
                Some(Arrival::Message(message)) => self.node.message(id, message, time),
                Some(Arrival::Opened) => self.opened(id, time),
                Some(Arrival::Offered(place)) => self.offered(id, place, time),
                Some(Arrival::Ended(end)) => return self.lost(id, end, time),
                Some(Arrival::Broken(cause)) => return self.cut_off(id, cause, time),
            }
        }
    }

    /// The peer of a link is there.
    #[cold]
    fn opened(&mut self, id: LinkId, time: Time) {
        let Some(link) = self.links.get_mut(&id) else { return };
        // From now on signs of life are due, which is sooner than what was due until now.
        self.tick_at = self.tick_at.into_iter().chain(link.link().timeout()).min();
        if let Some(dialling) = link.dialling.take() {
            debug!(node = self.node.id().0, to = dialling.to.0, "reached a node above");
            self.reached(&dialling);
            self.node.linked(id, time);
        }
    }

    /// The parent offers memory to share. Who is let go shares nothing any more.
    #[cold]
    fn offered(&mut self, id: LinkId, place: u32, time: Time) {
        if self.node.is_child(id) {
            return self.cut_off(id, "offered memory, as parents do".into(), time);
        }
        let Some(link) = self.links.get_mut(&id).filter(|link| !link.protocol().is_closing()) else { return };
        link.share_memory(place, &self.poller, MEMORY);
        if link.shares_above() {
            self.above = Some(id);
            self.alarm = self.alarm.take().or_else(|| Alarm::new(&self.poller));
        }
        self.touch(id);
    }

    /// Someone wants to become a child, and to share memory.
    #[cold]
    fn take_attach(&mut self, id: LinkId, attach: Attach, time: Time) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if !link.may_be(&attach.place, self.first_member) {
            // It proved to be someone else, or was invited as someone else.
            return self.cut_off(id, format!("says that it is {}", attach.place.node), time);
        }
        link.protocol_mut().set_member(attach.place.rank.is_some());
        self.node.message(id, Message::Attach(attach), time);
        self.offer_memory(id);
    }

    /// Offers memory to a child that was taken in just now.
    fn offer_memory(&mut self, id: LinkId) {
        if let (Some(link), Some(below), true) = (self.links.get_mut(&id), &mut self.below, self.node.is_child(id)) {
            link.offer_memory(below);
            self.touch(id);
        }
    }

    /// The peer of a link broke the protocol. One that is a child is named.
    #[cold]
    fn cut_off(&mut self, id: LinkId, cause: String, time: Time) {
        warn!(node = self.node.id().0, cause, "cuts a link off");
        self.node.refuse(id, cause, time);
        self.lost(id, End::Other, time);
    }

    /// A link has ended, or is not to be had.
    #[cold]
    fn lost(&mut self, id: LinkId, end: End, time: Time) {
        let Some(link) = self.remove(id) else { return };
        debug!(
            node = self.node.id().0,
            peer = link.link().peer_id().map(|peer| peer.index),
            ?end,
            "a link of the tree has ended"
        );
        if let Some(peer) = link.link().peer_id() {
            self.listeners.iter_mut().for_each(|listener| listener.forget(&peer));
        }
        if let (Some(other), Some((child, _))) = (link.protocol().other_protocol(), link.invited) {
            let remedy = other.remedy("the member's program", "the network's program");
            self.strangers.push((child, format!("{}; {remedy}", other.cause("its program", "its agent"))));
        }
        match link.dialling {
            _ if link.protocol().is_closing() => {}
            Some(mut dialling) => {
                dialling.is_refused &= end == End::Refused;
                self.dial_next(id, dialling, time);
            }
            None if end == End::Closed && self.node.is_child(id) => {
                let fate = self.closed_children.add(id, &link, &self.poller, PROCESS, Instant::now());
                fate.into_iter().for_each(|fate| self.tell_fate(id, fate, time));
            }
            None => self.node.closed(id, time),
        }
    }

    /// Tells the node of children of whom it is known by now whether they have ended.
    fn part(&mut self, now: Instant) {
        for (id, fate) in self.closed_children.settle(now) {
            let time = self.time(now);
            self.tell_fate(id, fate, time);
        }
    }

    fn tell_fate(&mut self, id: LinkId, fate: Fate, time: Time) {
        match fate {
            Fate::Ended => self.node.ended(id, time),
            Fate::Left => self.node.closed(id, time),
        }
    }

    /// Names members that could not be understood, as soon as there is somebody to tell.
    #[cold]
    fn name_strangers(&mut self) {
        if self.node.id() == NodeId::ROOT || self.node.parent().is_some() {
            let strangers = std::mem::take(&mut self.strangers);
            strangers.into_iter().for_each(|(child, cause)| self.node.refuse_stranger(child, cause));
        }
    }

    /// Does what the node says.
    fn carry_out(&mut self) {
        if !self.strangers.is_empty() {
            self.name_strangers();
        }
        while let Some(action) = self.node.action() {
            match action {
                Action::Send { link: id, message } => {
                    if let Some(link) = self.links.get_mut(&id) {
                        link.send(&message, &self.book);
                        self.touch(id);
                    }
                }
                action => self.carry_out_rare(action),
            }
        }
        self.note_adrift();
    }

    #[cold]
    fn carry_out_rare(&mut self, action: Action) {
        match action {
            Action::Send { .. } => debug_assert!(false, "is carried out at once"),
            Action::Dial { link, to } => self.dial(link, to),
            Action::Close(id) => self.close(id),
            Action::LetGo(id) => self.let_go(id),
            Action::Examine(id) => {
                let stopped = self.links.get(&id).and_then(|link| stopped::run_time_if_stopped(link));
                let now = self.time(Instant::now());
                self.node.examined(id, stopped, now);
            }
            Action::Drain(id) => {
                self.links.get_mut(&id).into_iter().for_each(|link| link.protocol_mut().tell_drained());
                self.touch(id);
            }
            Action::Count(question) => {
                let figures = self.link_figures();
                self.node.answer(question, figures);
            }
            Action::CountClocks(question) => self.answer_clocks(question),
            Action::Report(report) => {
                info!(node = self.node.id().0, "{report}");
                self.reports.push(report);
            }
        }
    }

    /// Closes a link when everything has gone that was sent on it; one that was not there in time at once.
    fn close(&mut self, id: LinkId) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let Some(dialling) = link.dialling.take() else {
            link.protocol_mut().close();
            return self.touch(id);
        };
        let is_there = link.is_connected();
        self.unanswered_by(&dialling, is_there);
        self.remove(id);
    }

    /// Closes a link at once.
    fn let_go(&mut self, id: LinkId) {
        self.remove(id);
    }

    fn remove(&mut self, id: LinkId) -> Option<Box<TreeLink>> {
        let link = self.links.remove(&id)?;
        link.unregister(&self.poller);
        if let (Some(below), Some(place)) = (&mut self.below, link.offered_place()) {
            below.close(place);
        }
        self.above.take_if(|above| *above == id);
        Some(link)
    }

    fn note_adrift(&mut self) {
        let is_settled = self.node.id() == NodeId::ROOT || self.node.parent().is_some();
        match (is_settled, self.adrift_since) {
            (true, _) => {
                self.adrift_since = None;
                self.front_end = Attempts::default();
            }
            (false, None) => {
                debug!(node = self.node.id().0, "looks for a node above");
                self.adrift_since = Some(Instant::now());
            }
            (false, Some(_)) => {}
        }
    }

    /// Sends what was queued.
    fn flush(&mut self, now: Instant) {
        while !self.touched.is_empty() {
            let mut flushed = std::mem::take(&mut self.flushed);
            std::mem::swap(&mut flushed, &mut self.touched);
            let shares = self.suits_memory(&flushed);
            for id in flushed.drain(..) {
                let Some(link) = self.links.get_mut(&id) else { continue };
                let has_sent = link.flush(&self.formats, self.below.as_mut().filter(|_| shares), now);
                if link.protocol_mut().take_drained() {
                    self.node.drained(id);
                }
                let is_watched = link.watch(&self.poller, id.0).is_ok();
                if !is_watched || (link.protocol().is_closing() && link.is_finished()) {
                    let time = self.time(now);
                    self.lost(id, End::Other, time);
                } else if has_sent {
                    // Writing may have found that the peer is gone, or read what it sent before.
                    self.take(id, now);
                }
            }
            self.flushed = flushed;
            self.carry_out();
        }
        if let Some(below) = &mut self.below {
            below.announce();
        }
    }

    /// Whether what these links have to send is better written to shared memory.
    fn suits_memory(&self, links: &[LinkId]) -> bool {
        let has_frames = |id: &&LinkId| {
            self.links.get(*id).is_some_and(|link| link.place().is_some() && link.protocol().has_frames())
        };
        self.below.as_ref().is_some_and(|below| below.suits(links.iter().filter(has_frames).count()))
    }

    /// Gives signs of life, and notices those that are missing.
    fn tick(&mut self, now: Instant) {
        self.look_for_cuts(now);
        if self.tick_at.is_none_or(|at| at > now) {
            return;
        }
        let is_due = |link: &TreeLink| link.link().timeout().is_some_and(|at| at <= now);
        let due: Vec<LinkId> = self.links.iter().filter(|(_, link)| is_due(link)).map(|(id, _)| *id).collect();
        if due.len() == self.links.len() {
            // Nobody has sent or received anything for a while.
            self.credentials.links.slabs.trim();
        }
        for id in due {
            // This process may have computed, or been stopped: what came meanwhile is a sign of life.
            self.read(id, now);
            if let Some(link) = self.links.get_mut(&id) {
                link.link_mut().tick(now);
                self.touch(id);
                self.take(id, now);
            }
        }
        self.tick_at = self.links.values().filter_map(|link| link.link().timeout()).min();
    }

    /// Gives up links whose other ends cannot be reached, though nobody has agreed to give signs of life on them.
    fn look_for_cuts(&mut self, now: Instant) {
        if self.look_at.is_none_or(|at| at > now) {
            return;
        }
        let silence = self.credentials.silence;
        let cut: Vec<LinkId> = self.links.iter().filter(|(_, link)| link.is_cut(silence)).map(|(id, _)| *id).collect();
        let time = self.time(now);
        cut.into_iter().for_each(|id| self.lost(id, End::Other, time));
        let is_any_remote = self.links.values().any(|link| link.is_remote());
        self.look_at = is_any_remote.then(|| now + silence / 2);
    }

    /// Waits until everything was sent, but no longer than this.
    pub(crate) fn finish(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.has_unsent() && Instant::now() < deadline {
            if self.turn(Some(deadline)).is_err() {
                return;
            }
        }
    }

    /// Whether something waits for credit, or for the system to take it.
    pub(crate) fn has_unsent(&mut self) -> bool {
        self.prepare(None);
        // Nothing is sent on links that are still dialled but what opens them.
        let mut open = self.links.values().filter(|link| link.dialling.is_none());
        open.any(|link| link.protocol().queued() > 0 || link.link().wants_write())
    }
}
