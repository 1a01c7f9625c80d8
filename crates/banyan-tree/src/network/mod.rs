//! The front-end's side: one program talks to all members of a tree as if they were one.
//!
//! ```no_run
//! use banyan_boot::ProcessDistribution;
//! use banyan_ndr::Record;
//! use banyan_tree::{Network, NetworkOptions, become_agent_if_asked};
//!
//! #[derive(Record)]
//! struct Value { value: f64 }
//!
//! #[derive(Record)]
//! struct Hottest {
//!     #[record(rename = "max(value)")]
//!     value: f64,
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     become_agent_if_asked(); // first of all: this program is the agent, too
//!     let options = NetworkOptions::default().topology("4x16".parse()?);
//!     let network = Network::launch(&ProcessDistribution::new("./back-end", ["--quiet"]), &options)?;
//!     let stream = network.open(&network.everyone(), "max(value)")?;
//!     stream.send(0, &Value { value: 17.0 })?;
//!     let wave = stream.recv()?;
//!     println!("{} from members {}", wave.read::<Hottest>()?.value, wave.members());
//!     Ok(())
//! }
//! ```
//!
//! Whoever waits drives: there is no other thread on the way of a message. Several threads may use a network at once;
//! one of those that wait drives for all. [`Network::background`] drives while none does.

mod background;
mod clocks;
mod options;
mod root;
mod shape;
mod shared;
mod stream;

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_boot::{Deadline, Launch, ProcessDistribution, ProcessTable, RankSet, Session, Ticket};

pub use background::Background;
pub use clocks::ClockEdge;
pub use options::NetworkOptions;
use root::Root;
pub use shape::Shape;
use shared::{Core, SharedNetwork};
pub use stream::{Stream, Wave};

use crate::driver::{Invited, NodeAbove, Note};
use crate::error::TreeError;
use crate::ids::{NodeId, StreamId};
use crate::invitation::Invitation;
use crate::layout;
use crate::message::NodeInfo;
use crate::node::{Figures, NodeCounters, Report};
use crate::stream_options::StreamOptions;

/// How long the end of a network may take to reach everyone, before the session ends what is left.
const END_PATIENCE: Duration = Duration::from_millis(500);

/// A node takes so many times the children that the widest one starts with: its own, and those of another that has died.
const SPARE_TIMES: usize = 2;

/// A tree of processes and this program at its root. Dropping it ends everything that it started.
pub struct Network {
    shared: Arc<SharedNetwork>,
    /// What everyone below is told.
    note: Note,
    /// Ended last.
    session: Session,
}

/// Some members of a network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Communicator {
    members: Arc<RankSet>,
}

impl Communicator {
    /// Its members.
    pub fn members(&self) -> &RankSet {
        &self.members
    }
}

/// Its members, as a set: `0-3,7`.
impl fmt::Display for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.members.fmt(f)
    }
}

impl From<RankSet> for Communicator {
    fn from(members: RankSet) -> Communicator {
        Communicator { members: Arc::new(members) }
    }
}

impl Network {
    /// Starts members and the agents between, and returns when all members have joined. It does not wait for those that
    /// [attach](ProcessDistribution::attached): they come with the [`ticket`](Self::ticket), when they like.
    ///
    /// # Errors
    /// When processes cannot be started, or members do not join in time. Everything that was started is ended then.
    pub fn launch(back_ends: &ProcessDistribution, options: &NetworkOptions) -> Result<Network, TreeError> {
        Network::launch_several(std::slice::from_ref(back_ends), options)
    }

    /// As [`launch`](Self::launch), with several distributions, whose members have ranks in their order: several programs, or
    /// members that are started and others that attach later.
    ///
    /// The leaves of a [topology](NetworkOptions::topology) are the members of all distributions with a program, one after the
    /// other: first the processes of the first distribution. Each says by its hosts how many it has; one may have none, and takes
    /// what the others leave. Distributions that [attach](ProcessDistribution::attached) come behind them: to agents of their
    /// hosts, which the topology has to have.
    ///
    /// # Errors
    /// As [`launch`](Self::launch).
    pub fn launch_several(back_ends: &[ProcessDistribution], options: &NetworkOptions) -> Result<Network, TreeError> {
        let mut options = options.within_bounds();
        let (distributions, shape) = layout::of(back_ends, options.topology.as_ref())?;
        let mut start = options.session.clone();
        start.layout = shape.or(start.layout);
        let widest = layout::widest(&distributions, &start);
        options.node.capacity = options.node.capacity.max(widest.saturating_mul(SPARE_TIMES));
        let mut launch = Launch::new(&distributions, &start)?;
        // Agents of an attempt that failed know another network: what they still say is not heard.
        let (Root { mut driver, note }, session) = loop {
            let mut root = Root::new(&options, layout::is_this_host(launch.distributions()))?;
            start.extension = Some(root.note.to_text());
            start.extension_port = root.driver.port();
            if let Some(session) = root.attempt(&mut launch, &start)? {
                break (root, session);
            }
        };
        driver.set_first_member(first_member(&session));
        let starters = (0..session.size()).filter_map(|rank| session.agent_of(rank)).map(NodeId);
        driver.node_mut().set_starters(starters.collect());
        driver.share();
        let mut core = Core::new(driver, &session, start.attach_deadline);
        core.gather(&session, options.join_deadline)?;
        Ok(Network { shared: Arc::new(SharedNetwork::new(core)?), note, session })
    }

    /// The session behind it: exit states and output of members, signals.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Which member is which process, where, and by which agent.
    pub fn processes(&self) -> ProcessTable {
        self.session.processes()
    }

    /// What processes need to [attach](crate::BackEnd::attach); `None` if all members are started by the network.
    pub fn ticket(&self) -> Option<&Ticket> {
        self.session.ticket()
    }

    /// What a process needs to take the place of a member that is lost, on whatever host and started by whomever: it is in
    /// the waves of all streams from the next record on that they are sent. It is not part of the session, which goes on
    /// to tell how the member's first process ended. Each process needs an invitation of its own.
    ///
    /// # Errors
    /// When there is no such member, or it is there.
    pub fn invitation(&self, rank: u32) -> Result<Invitation, TreeError> {
        let size = self.session.size();
        let mut core = self.shared.core();
        if rank >= size || core.driver.node().members().contains(rank) {
            return Err(TreeError::NotLost { rank, size });
        }
        let life = core.lives.entry(rank).or_default();
        *life += 1;
        let node = NodeId(first_member(&self.session).0 + rank);
        let mut note = self.note.for_member(Invited { node, rank, size, life: *life });
        // If its agent is there, that is the nearest.
        let agent = NodeId(self.session.agent_of(rank).unwrap_or_default());
        let place = core.driver.node().nodes().into_iter().find(|place| place.node == agent);
        if let (Some(place), Some(addresses)) = (place, core.driver.addresses_of(agent)) {
            let addresses = addresses.to_vec();
            note.above.insert(0, NodeAbove { node: agent, level: place.level, addresses });
        }
        Ok(Invitation { note })
    }

    /// All members, also those that have not attached yet.
    pub fn everyone(&self) -> Communicator {
        everyone(&self.session).into()
    }

    /// The members of a host.
    pub fn on_host(&self, host: &str) -> Communicator {
        self.those(|_, of| of == host)
    }

    /// The members that this is true of, given rank and host.
    pub fn those(&self, is: impl Fn(u32, &str) -> bool) -> Communicator {
        let members: RankSet =
            (0u32..).zip(self.session.hosts()).filter(|(rank, host)| is(*rank, host)).map(|(rank, _)| rank).collect();
        members.into()
    }

    /// The members that are there, or may come back.
    pub fn members(&self) -> RankSet {
        self.shared.core().driver.node().members()
    }

    /// Opens a stream: what its members send comes as waves, reduced as a text says (`max(temp), avg(load) by host`), or
    /// as [`StreamOptions`] do. Waits while some member has not heard of so many streams that were opened or closed before that it
    /// is too far behind ([`NodeOptions::ahead_packets`](crate::NodeOptions::ahead_packets)).
    ///
    /// # Errors
    /// When the text is no reduction, this program does not know the filter, or the network has ended.
    pub fn open(&self, communicator: &Communicator, options: impl Into<StreamOptions>) -> Result<Stream, TreeError> {
        self.open_timeout(communicator, options, Deadline::NEVER)
    }

    /// As [`open`](Self::open), but waits no longer than the limit. After it, no stream is opened.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`TreeError::Behind`] when a member is too far behind until the limit.
    pub fn open_timeout(
        &self,
        communicator: &Communicator,
        options: impl Into<StreamOptions>,
        limit: impl Into<Deadline>,
    ) -> Result<Stream, TreeError> {
        let options = options.into();
        let id = self.shared.wait_for_room(StreamId::CONTROL, limit.into(), |core| {
            if let Some(error) = core.nobody_left(&communicator.members) {
                return Some(Err(error));
            }
            let node = core.driver.node_mut();
            let opened = node.may_open().then(|| node.open(Arc::clone(&communicator.members), options.clone()))?;
            Some(opened.map_err(|error| TreeError::Open(error.to_string())))
        })?;
        Ok(Stream::new(&self.shared, id, &communicator.members))
    }

    /// Waits for the next wave of any stream: [`Wave::stream`] says of which. Streams have their turns.
    ///
    /// # Errors
    /// As [`Stream::recv`]; [`TreeError::Uncombined`] says of which stream. [`TreeError::NobodyLeft`] when no stream has a
    /// member left.
    pub fn recv_any(&self) -> Result<Wave, TreeError> {
        self.recv_any_timeout(Deadline::NEVER)
    }

    /// As [`recv_any`](Self::recv_any), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv_any`](Self::recv_any), and [`TreeError::TimedOut`] after the limit.
    pub fn recv_any_timeout(&self, limit: impl Into<Deadline>) -> Result<Wave, TreeError> {
        let next = |core: &mut Core| core.take_any().or_else(|| core.nobody_left_anywhere().map(Err));
        Ok(Wave::new(&self.shared, self.shared.wait(limit.into(), next)?))
    }

    /// The next wave of any stream that has come already, if there is one.
    ///
    /// # Errors
    /// As [`recv_any`](Self::recv_any).
    pub fn try_recv_any(&self) -> Result<Option<Wave>, TreeError> {
        come(self.recv_any_timeout(Instant::now()))
    }

    /// Waits for what happens to the tree next: members and agents join and are lost, nodes move. Of events that nobody has
    /// asked for in time only the number is known ([`Report::Dropped`]).
    ///
    /// # Errors
    /// When the network has ended.
    pub fn recv_event(&self) -> Result<Report, TreeError> {
        self.recv_event_timeout(Deadline::NEVER)
    }

    /// As [`recv_event`](Self::recv_event), but waits no longer than the limit.
    ///
    /// # Errors
    /// As [`recv_event`](Self::recv_event), and [`TreeError::TimedOut`] after the limit.
    pub fn recv_event_timeout(&self, limit: impl Into<Deadline>) -> Result<Report, TreeError> {
        self.shared.wait(limit.into(), |core| core.events.pop().map(Ok))
    }

    /// The event that has come already, if there is one.
    ///
    /// # Errors
    /// As [`recv_event`](Self::recv_event).
    pub fn try_recv_event(&self) -> Result<Option<Report>, TreeError> {
        come(self.recv_event_timeout(Instant::now()))
    }

    /// Waits until the system has taken everything that was sent. Call it before computing for long.
    ///
    /// # Errors
    /// When the network has ended.
    pub fn flush(&self) -> Result<(), TreeError> {
        self.flush_timeout(Deadline::NEVER)
    }

    /// As [`flush`](Self::flush), but waits no longer than the limit. What has not gone by then goes later.
    ///
    /// # Errors
    /// As [`flush`](Self::flush), and [`TreeError::TimedOut`] after the limit.
    pub fn flush_timeout(&self, limit: impl Into<Deadline>) -> Result<(), TreeError> {
        self.shared.wait(limit.into(), |core| (!core.driver.has_unsent()).then_some(Ok(())))
    }

    /// The tree as it is now: every node below the front-end with its parent, by number. Agents have the numbers of
    /// [`Session::layout`], from 1 on; members have a rank.
    pub fn nodes(&self) -> Vec<NodeInfo> {
        let mut places: Vec<NodeInfo> = self.shared.core().driver.node().nodes();
        places.sort_by_key(|place| place.node);
        places
    }

    /// What every node of the tree has done, asked for through the tree itself. Members answer when they next wait or
    /// send. After the limit: of those who have answered.
    ///
    /// # Errors
    /// When the network has ended.
    pub fn figures(&self, limit: impl Into<Deadline>) -> Result<BTreeMap<NodeId, Figures>, TreeError> {
        self.shared.core().driver.node_mut().ask_figures();
        let answered = |core: &mut Core| {
            let node = core.driver.node();
            let answers = node.figures()?;
            (answers.len() > node.nodes().len()).then(|| Ok(answers.clone()))
        };
        match self.shared.wait(limit.into(), answered) {
            Err(TreeError::TimedOut) => Ok(self.shared.core().driver.node().figures().cloned().unwrap_or_default()),
            answers => answers,
        }
    }

    /// What the front-end's own node has done so far.
    pub fn counters(&self) -> NodeCounters {
        self.shared.core().driver.node().counters()
    }
}

/// What has come, if it did not have to be waited for.
fn come<T>(received: Result<T, TreeError>) -> Result<Option<T>, TreeError> {
    match received {
        Err(TreeError::TimedOut) => Ok(None),
        received => received.map(Some),
    }
}

fn everyone(session: &Session) -> RankSet {
    let mut members = RankSet::new();
    if let Some(last) = session.size().checked_sub(1) {
        members.insert_range(0..=last);
    }
    members
}

/// The node that is member 0: those before it are the front-end and the agents.
fn first_member(session: &Session) -> NodeId {
    NodeId(session.layout().len() as u32 + 1)
}

impl Drop for Network {
    fn drop(&mut self) {
        let mut core = self.shared.core();
        core.is_over = true;
        self.shared.changed.notify_all();
        core.driver.node_mut().end();
        let deadline = Instant::now() + END_PATIENCE;
        while !core.driver.node().is_control_taken() && Instant::now() < deadline {
            if core.driver.turn(Some(deadline)).is_err() {
                break;
            }
        }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("session", &self.session).finish_non_exhaustive()
    }
}

/// Ready to read when there may be something to receive, or a time is over that the network waits for: whoever sleeps on it may
/// do so without a limit.
impl AsFd for Network {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.descriptor.as_fd()
    }
}
