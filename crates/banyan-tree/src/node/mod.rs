//! A node of the tree as a state machine: events in, actions out, no clock, no socket.
//!
//! The front-end, agents and members are the same machine in different places. Its driver tells it what happened
//! ([`accepted`](Node::accepted), [`linked`](Node::linked), [`message`](Node::message), [`closed`](Node::closed),
//! [`wake`](Node::wake)) and then does what [`action`](Node::action) says until there is nothing left to do.
//!
//! # How nothing is lost
//!
//! *Upwards.* The k-th packets of all members form wave k. A node combines what its children send for a wave and
//! sends one packet on; it keeps what it sent until the front-end has taken that wave. An orphan sends everything it
//! keeps to its new parent, marked as not to be combined, and goes on with waves that it has never sent. So of two
//! contributions to a wave that hold the same member, one holds all of the other, and the front-end's [`ledger`] can
//! tell what it has. A wave is delivered when everyone is in it who is not known to be lost: exactly once, with exactly
//! those who are in it.
//!
//! *Downwards.* Packets of a stream are numbered, and every node keeps them until all below it have taken them ([`log`]).
//! An orphan says how far it is.
//!
//! *Who is where.* Every node knows its subtree ([`below`]). A node that has lost its parent is adrift; the front-end
//! waits for it for some time, and then goes on without it. Of two processes that are one member the later one counts
//! ([`succession`]).

mod ascent;
mod asking_received;
mod below;
mod catalogue;
mod chance;
mod children;
mod chosen;
mod clocks;
mod closed;
mod counters;
mod descent;
mod end;
mod failures;
mod figures;
mod front_end;
mod gathering;
mod holders;
mod joins;
mod kept;
mod ledger;
mod log;
mod missing_fields;
mod newcomer;
mod opening;
mod packets;
mod parent;
mod patience;
mod records;
mod reliable;
mod report;
mod resends;
mod role;
mod scatter;
mod slots;
mod stopped;
mod stream;
mod succession;
mod unanswered;
mod unopened;
mod waves;
mod witness;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ascent::{Ascent, State};
use below::Subtree;
use failures::ToldFailures;
use front_end::FrontEnd;
use joins::Joins;
use log::Log;
use role::NodeRole;
use stream::NodeStream;
use unanswered::Watch;
use unopened::Unopened;
use witness::Witnesses;

pub use chance::Chance;
pub use counters::{NodeCounters, StreamCounters, Traffic};
pub use figures::{Figures, LinkFigures};
pub use packets::{Received, SendError};
pub use records::RecordCounters;
pub use report::Report;
pub use waves::Delivery;

use crate::ids::{Epoch, Level, LinkId, NodeId, StreamId, Time};
use crate::message::{Ancestry, Candidate, Message, Opening, Succession};
use crate::sorted::SortedMap;
use crate::transformation::Transformations;

/// Bounds and patience.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NodeOptions {
    /// Children that a node takes, unless there is nobody else. A network takes twice as many as the widest node of its layout
    /// starts with, if that is more.
    pub capacity: usize,
    /// Waves that a member may be ahead of the front-end.
    pub window_waves: u64,
    /// Bytes of waves that a member may be ahead of the front-end; one packet may be larger.
    pub window_bytes: usize,
    /// Packets that the front-end may be ahead of the slowest member.
    pub ahead_packets: usize,
    /// Bytes of packets that the front-end may be ahead of the slowest member; one packet may be larger.
    pub ahead_bytes: usize,
    /// How long the front-end waits for a node that has lost its parent.
    pub adrift: Duration,
    /// How long the front-end waits for a member that is there and has not contributed to the next wave of a stream, to which
    /// others have contributed. Without a limit for as long as it takes: nobody can tell a member that computes from one that
    /// hangs, so this has to be longer than any member computes between two of its records.
    pub unanswered: Option<Duration>,
    /// How long the same is waited for a member whose process is stopped (SIGSTOP, or a frozen control group), as the node
    /// right above it sees if both are on one host: between seven eighths and five quarters of this. The same holds for a
    /// stopped member that keeps the front-end from sending. Without a limit for as long as it takes.
    pub stopped: Option<Duration>,
    /// How long a node without a parent keeps its children waiting.
    pub orphan: Duration,
    /// What pauses and the order of equals follow from, together with the node's id.
    pub seed: u64,
}

banyan_ndr::setters!(NodeOptions {
    capacity: usize,
    window_waves: u64,
    window_bytes: usize,
    ahead_packets: usize,
    ahead_bytes: usize,
    adrift: Duration,
    unanswered: impl Into<Option<Duration>>,
    stopped: impl Into<Option<Duration>>,
    orphan: Duration,
    seed: u64,
});

impl NodeOptions {
    /// How long the front-end waits for a node that has lost its parent, unless it is told otherwise.
    pub(crate) const ADRIFT: Duration = Duration::from_secs(10);
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions {
            capacity: 128,
            window_waves: 1280,
            window_bytes: 4 << 20,
            ahead_packets: 4096,
            ahead_bytes: 4 << 20,
            adrift: NodeOptions::ADRIFT,
            unanswered: None,
            stopped: Some(Duration::from_secs(4)),
            orphan: Duration::from_secs(4),
            seed: 0,
        }
    }
}

/// What the driver has to do.
#[derive(Debug, Clone)]
pub enum Action {
    /// Open a link to this node. [`Node::linked`] or [`Node::closed`] says what became of it.
    Dial {
        /// The link's name from now on.
        link: LinkId,
        /// Whom to dial.
        to: NodeId,
    },
    /// Send a message.
    Send {
        /// On this link.
        link: LinkId,
        /// The message.
        message: Message,
    },
    /// Close a link when what was sent on it has gone; [`Node::closed`] is not called for it.
    Close(LinkId),
    /// Close a link that was dialled and is not there yet, though it had time left: another one was there first. Nobody is to
    /// think less of who was dialled. [`Node::closed`] is not called for it.
    LetGo(LinkId),
    /// Tell the user.
    Report(Report),
    /// Look whether the process of this child, a member, is stopped, and say so by [`Node::examined`].
    Examine(LinkId),
    /// Say by [`Node::drained`] when everything has gone that was sent on this link.
    Drain(LinkId),
    /// Say what the links have done, by [`Node::answer`] to this question.
    Count(u32),
    /// Say what is known of clocks, by [`Node::answer_clocks`] to this question.
    CountClocks(u32),
}

/// A node; see the module.
pub struct Node {
    id: NodeId,
    role: NodeRole,
    epoch: Epoch,
    options: NodeOptions,
    transformations: Arc<dyn Transformations + Sync>,
    ascent: Ascent,
    below: Subtree,
    joins: Joins,
    /// Whether someone below has come or gone since this node last asked for a parent.
    is_below_changed: bool,
    /// The control stream: the same packets for all, taken at once.
    control: Log,
    /// What the parent was last told of it.
    control_reported: u64,
    /// Streams that the parent has listed, until it says that these are all.
    listed: SortedMap<StreamId, Arc<Opening>>,
    /// Whether the network has ended: whoever comes has to hear of that.
    is_over: bool,
    streams: SortedMap<StreamId, Box<NodeStream>>,
    unopened: Unopened,
    /// Members that another process is now, by the last of them: one entry for each member that was ever replaced.
    successions: BTreeMap<NodeId, Arc<Succession>>,
    /// If members are not waited for whatever they do.
    watch: Option<Watch>,
    /// If members are not waited for that are stopped.
    stopped: Option<Watch>,
    /// Members right below that were found to be stopped: how long they had run, and when that was first found.
    halted: SortedMap<LinkId, (u64, Time)>,
    /// What members right below were answered that may still wait for them.
    answers: SortedMap<LinkId, u64>,
    failures: ToldFailures,
    witnesses: Witnesses,
    links: u64,
    actions: VecDeque<Action>,
}

/// Children of a node that its grandchildren may turn to, at most.
const NAMED: usize = 8;

impl Node {
    /// The front-end.
    pub fn front_end(options: NodeOptions, transformations: Arc<dyn Transformations + Sync>) -> Node {
        let watch = options.unanswered.map(Watch::new);
        let role = NodeRole::FrontEnd(Box::default());
        Node { watch, ..Node::new(NodeId::ROOT, role, options, transformations, Ascent::root()) }
    }

    /// An agent, or with a rank a member. The first of its ancestors is the one it should become a child of.
    pub fn below(
        id: NodeId,
        rank: Option<u32>,
        level: Level,
        ancestry: Ancestry,
        options: NodeOptions,
        transformations: Arc<dyn Transformations + Sync>,
    ) -> Node {
        let chance = Chance::new(options.seed.rotate_left(32) ^ u64::from(id.0));
        let ascent = Ascent::seeking(level, ancestry, chance);
        let watch = options.unanswered.filter(|_| rank.is_none()).map(|patience| Watch::new(patience / 2));
        Node { watch, ..Node::new(id, NodeRole::below(rank), options, transformations, ascent) }
    }

    /// The same member, as its process of this number: 0 is the first. Whatever its predecessors have sent counts for it.
    #[must_use]
    pub fn in_life(mut self, life: u32) -> Node {
        self.epoch = Epoch::before(life);
        self
    }

    fn new(
        id: NodeId,
        role: NodeRole,
        options: NodeOptions,
        transformations: Arc<dyn Transformations + Sync>,
        ascent: Ascent,
    ) -> Node {
        let stopped = options.stopped.filter(|_| !role.is_member()).map(|patience| Watch::new(patience / 2));
        Node {
            id,
            role,
            epoch: Epoch(0),
            options,
            transformations,
            below: Subtree::new(Candidate { node: id, level: ascent.level() }),
            ascent,
            joins: Joins::default(),
            is_below_changed: false,
            control: Log::from_the_first(),
            control_reported: 0,
            listed: SortedMap::new(),
            is_over: false,
            streams: SortedMap::new(),
            unopened: Unopened::new(),
            successions: BTreeMap::new(),
            watch: None,
            stopped,
            halted: SortedMap::new(),
            answers: SortedMap::new(),
            failures: ToldFailures::default(),
            witnesses: Witnesses::default(),
            links: 0,
            actions: VecDeque::new(),
        }
    }

    /// Its id.
    pub fn id(&self) -> NodeId {
        self.id
    }

    /// Which of the processes that have been this member it is.
    pub(crate) fn life(&self) -> u32 {
        self.epoch.life()
    }

    /// Its parent, while it has one.
    pub fn parent(&self) -> Option<NodeId> {
        match self.ascent.state() {
            State::Attached { parent, .. } => Some(parent),
            _ => None,
        }
    }

    /// The link to its parent, while it has one.
    pub(crate) fn parent_link(&self) -> Option<LinkId> {
        self.ascent.link()
    }

    /// How many children it has.
    pub fn degree(&self) -> usize {
        self.below.degree()
    }

    /// The next thing to do.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When to call [`wake`](Self::wake), if nothing happens before.
    pub fn deadline(&self) -> Option<Time> {
        let release = self.release_at();
        let adrift = self.role.front_end().and_then(FrontEnd::deadline);
        let waves = self.streams.values().filter_map(|stream| stream.patience.as_ref()?.deadline()).min();
        [self.ascent.deadline(), release, adrift, waves, self.look_at()].into_iter().flatten().min()
    }

    /// Time has passed.
    pub fn wake(&mut self, now: Time) {
        self.seek(now);
        if self.release_at().is_some_and(|at| at <= now) {
            self.release_children(now);
        }
        self.give_up_lost(now);
        self.give_up_late(now);
        self.look_for_unanswered(now);
        self.look_for_stopped(now);
    }

    /// Someone has linked to this node: the link's name from now on.
    pub fn accepted(&mut self) -> LinkId {
        self.new_link()
    }

    /// A link that was dialled is there.
    pub fn linked(&mut self, link: LinkId, now: Time) {
        self.ask(link, now);
    }

    /// A message has come.
    pub fn message(&mut self, link: LinkId, message: Message, now: Time) {
        let is_parents = match self.ascent.state() {
            State::Attached { link: parent, .. } | State::Asking { link: parent, .. } => parent == link,
            State::Root | State::Pausing { .. } | State::Dialling { .. } => false,
        };
        if is_parents { self.parents_message(link, message, now) } else { self.childs_message(link, message, now) }
    }

    /// A link has ended, or could not be opened.
    pub fn closed(&mut self, link: LinkId, now: Time) {
        match self.ascent.state() {
            State::Attached { link: parent, .. } if parent == link => self.orphaned(now),
            _ if self.ascent.closed(link, now) => self.seek(now),
            _ => self.child_closed(link, false, now),
        }
    }

    /// The child of this link is known to have ended: nobody needs to wait for it to come back.
    pub fn ended(&mut self, link: LinkId, now: Time) {
        self.child_closed(link, true, now);
    }

    fn new_link(&mut self) -> LinkId {
        self.links += 1;
        LinkId(self.links)
    }

    fn send(&mut self, link: LinkId, message: Message) {
        self.actions.push_back(Action::Send { link, message });
    }

    /// Sends to the parent, if there is one.
    pub(crate) fn send_up(&mut self, message: Message) {
        if let Some(link) = self.ascent.link() {
            self.send(link, message);
        }
    }

    fn report(&mut self, report: Report) {
        self.actions.push_back(Action::Report(report));
    }

    fn log_mut(&mut self, stream: StreamId) -> Option<&mut Log> {
        match stream {
            StreamId::CONTROL => Some(&mut self.control),
            _ => self.streams.get_mut(&stream).map(|stream| &mut stream.log),
        }
    }

    /// The streams there are, and the control stream first.
    fn stream_ids(&self) -> Vec<StreamId> {
        std::iter::once(StreamId::CONTROL).chain(self.streams.keys().copied()).collect()
    }

    fn itself(&self) -> Candidate {
        Candidate { node: self.id, level: self.ascent.level() }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("id", &self.id)
            .field("ascent", &self.ascent)
            .field("below", &self.below)
            .field("streams", &self.streams)
            .finish_non_exhaustive()
    }
}
