//! A node of a session's tree: the front-end's root, or an agent. One thread, one loop.
//!
//! A node has one parent (for the root: the [`root_channel`]) and children: agents below it and members of its own host. It
//! starts both, passes frames between them, and ends everything when its parent is gone. What collectives do is decided
//! by [`collective`](crate::collective); this is the driver that feeds it.
//!
//! Memory is bounded: data is taken from a link only while those it may go to have room (see [`Acceptable`]), so a
//! reader that is slow slows its writers, and nothing piles up in between.

mod adopting;
mod agents;
pub(crate) mod attach;
mod awaiting;
pub(crate) mod child;
mod down;
mod ending;
mod extension;
mod flow;
pub(crate) mod greeting;
mod launch_keeper;
mod log;
pub(crate) mod member;
mod members;
mod order;
mod pause;
#[cfg(test)]
mod recordings;
pub(crate) mod root_channel;
mod shared;
mod staging;
mod start_queue;
mod streams;
pub(crate) mod together;
pub(crate) mod token;
mod tunnels;
mod unreported;
mod up;
mod wake;
pub(crate) mod wire;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_link::{
    Event as LinkEvent, Frame, Heartbeat, Interest, Kind, Link, LinkError, LinkOptions, Listener, Poller, Ready,
    SecretBytes, SessionId, frame_cost,
};
use rustix::fs::{Mode, OFlags};
use tracing::span::EnteredSpan;
use tracing::{Span, info, info_span};

use crate::agent_log::{AGENT_LOG, AgentLog};
use crate::assignment::Assignment;
use crate::collective::{Collectives, To};
use crate::extension::AgentExtension;
use crate::launcher::packed::Packing;
use crate::launcher::program::AgentProgram;
use crate::message::{self, CHUNK};
use crate::process::{KeeperSocket, Spawner};
use crate::shape;
use crate::tunnel::Tunnels;
use attach::Attaching;
use awaiting::Awaiting;
use child::ChildAgent;
use ending::Ending;
use extension::Extension;
use flow::Flow;
use launch_keeper::LaunchKeeper;
use member::{InputPipe, LocalMember};
use order::{Below, ChildOrder};
use root_channel::{Progress, RootChannel};
use shared::{Next, SHARED_FRAMES, SharedMembers};
use staging::Staging;
use start_queue::StartQueue;
use together::Together;
use token::Token;
use unreported::Unreported;
use wire::Wire;

/// Members started before the node looks at its descriptors again: long enough to start fast, short enough to answer.
const STARTS_AT_ONCE: usize = 8;

/// How long it may take to start them, or child agents. On a machine with far more to do than it can, each waits for its turn, and the node with
/// it; meanwhile it must not seem lost.
const STARTS_TIME: Duration = Duration::from_millis(100);

/// Where a node's own answers go.
pub(crate) enum Up {
    /// The parent's link.
    Parent(Box<Wire>),
    /// The front-end's callers.
    RootChannel(Arc<RootChannel>),
    /// The parent is gone.
    Nobody,
}

/// Which data of one link may be taken now.
#[derive(Debug, Clone, Copy)]
struct Acceptable {
    /// What comes from below and goes only up.
    up: bool,
    /// Everything: all it may go to have room.
    everywhere: bool,
}

impl Acceptable {
    const NOTHING: Acceptable = Acceptable { up: false, everywhere: false };

    fn takes(self, kind: Kind) -> bool {
        // These never go to a child: one that does not read does not hold them up.
        let only_up = matches!(kind, message::OUTPUT | message::EXITED | message::USER);
        self.everywhere || only_up && self.up
    }
}

/// See the module.
pub(crate) struct Node {
    up: Up,
    /// The name of this node's host.
    host: Arc<str>,
    assignment: Assignment,
    agent_program: AgentProgram,
    /// The same on its way to hosts that can unpack it, once one has asked for it.
    packings: Vec<Packing>,
    poller: Poller,
    spawner: Spawner,
    null: OwnedFd,
    member_options: LinkOptions,
    agent_options: LinkOptions,
    listener: Option<Listener>,
    /// Agents that are started together.
    together: Option<Together>,
    /// Ends what starts agents if this process, a front-end, is killed meanwhile.
    launch_keeper: Option<LaunchKeeper>,
    /// Of an agent, while it lives.
    keeper: Option<KeeperSocket>,
    extension: Option<Extension>,
    /// What it says to those below.
    note: SecretBytes,
    /// Where tunnels of agents lead that are right below a front-end.
    front_end_port: Option<u16>,
    /// What agents below log, and who takes it.
    log: Option<AgentLog>,
    in_session: EnteredSpan,
    /// Those of the extension to the node above.
    tunnels_above: Tunnels,

    agents: Vec<ChildAgent>,
    members: Vec<LocalMember>,
    order: ChildOrder,
    /// Agents of the whole subtree, this one among them.
    agent_count: usize,
    /// Members of the whole subtree.
    ranks_below: usize,
    /// Levels of agents in the subtree.
    levels: u32,
    /// The host of every member; known to the root alone.
    hosts: Vec<Arc<str>>,
    collectives: Collectives,
    outgoing: Vec<(To, Frame)>,
    /// What this node shares with its members, if the system lets it.
    shared: Option<SharedMembers>,

    to_start: StartQueue,
    awaiting: Awaiting,
    /// The progress of the launch at this node itself.
    progress: Progress,
    unreported: Unreported,
    running: usize,

    flow: Flow,
    ending: Option<Ending>,
    staging: Staging,
    attaching: Attaching,
    detached: bool,
    has_time_limits: bool,
    /// When to look for orphans next.
    reap_at: Instant,
    read_buffer: Vec<u8>,
}

/// What a node is made of besides its parent and its work.
pub(crate) struct Setting {
    pub(crate) host: String,
    pub(crate) agent_program: AgentProgram,
    pub(crate) keeper: Option<KeeperSocket>,
    pub(crate) spawner: Spawner,
    pub(crate) listener: Option<Listener>,
    /// For agents that are started together.
    pub(crate) together: Option<Together>,
    /// The host of every member; for the root.
    pub(crate) hosts: Vec<Arc<str>>,
    /// Whether members wait for a release.
    pub(crate) held: bool,
    /// What an agent's program does besides.
    pub(crate) extension: Option<Box<dyn AgentExtension>>,
    /// Where the front-end's extension listens; for the root.
    pub(crate) extension_port: Option<u16>,
    /// What agents log, and who takes it; for the root.
    pub(crate) log: Option<AgentLog>,
}

impl Node {
    /// A node with work to do. The first agent of the assignment is this node, unless it is the root.
    fn with(up: Up, poller: Poller, assignment: Assignment, setting: Setting) -> io::Result<Node> {
        let is_root = matches!(up, Up::RootChannel(_));
        let below = |agent: usize| assignment.agents[agent].below;
        let levels = shape::levels(0..assignment.agents.len(), below);
        let subtrees = shape::subtrees(usize::from(!is_root)..assignment.agents.len(), below).into_iter();
        let agents: Vec<ChildAgent> = subtrees.map(|subtree| ChildAgent::new(subtree, &assignment)).collect();
        let members: Vec<LocalMember> = if is_root { Vec::new() } else { members_of(&assignment) };
        let order = ChildOrder::new(&members, &agents);
        let ranks = order.subtrees(&members, &agents);
        let collectives = if is_root { Collectives::root(ranks) } else { Collectives::inner(ranks, assignment.size) };
        let to_start = StartQueue::new(members.len(), agents.len(), assignment.images.len(), setting.held);
        let (member_options, agent_options) = link_options(&assignment);
        let mut node = Node {
            up,
            host: setting.host.into(),
            agent_program: setting.agent_program,
            packings: Vec::new(),
            poller,
            spawner: setting.spawner,
            null: rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?,
            member_options,
            agent_options,
            listener: setting.listener,
            together: setting.together,
            launch_keeper: None,
            keeper: setting.keeper,
            extension: None,
            note: assignment.note.clone().unwrap_or_default().into(),
            front_end_port: setting.extension_port,
            log: setting.log,
            in_session: Span::none().entered(),
            tunnels_above: Tunnels::default(),
            to_start,
            awaiting: Awaiting::new(),
            progress: Progress { agents: u32::from(!is_root), ..Progress::default() },
            unreported: Unreported::default(),
            running: 0,
            flow: Flow::default(),
            ending: None,
            staging: Staging::default(),
            attaching: Attaching::default(),
            detached: false,
            reap_at: Instant::now(),
            read_buffer: Vec::new(),
            hosts: setting.hosts,
            ranks_below: members.len() + agents.iter().map(|agent| agent.ranks.len() as usize).sum::<usize>(),
            agent_count: assignment.agents.len(),
            levels,
            has_time_limits: assignment.images.iter().any(|image| image.limits.contains("time")),
            shared: SharedMembers::new(members.len()),
            agents,
            members,
            order,
            collectives,
            outgoing: Vec::new(),
            assignment,
        };
        node.register_own()?;
        if !is_root {
            node.begin_extension(setting.extension);
        }
        Ok(node)
    }

    /// The node of an agent.
    pub(crate) fn agent(link: Link, assignment: Assignment, setting: Setting) -> io::Result<Node> {
        let poller = Poller::new()?;
        let wire = Wire::new(link, &poller, Token::Parent.number())?;
        Node::with(Up::Parent(Box::new(wire)), poller, assignment, setting)
    }

    /// The root, in the front-end.
    pub(crate) fn root(channel: Arc<RootChannel>, assignment: Assignment, setting: Setting) -> io::Result<Node> {
        Node::with(Up::RootChannel(channel), Poller::new()?, assignment, setting)
    }

    fn register_own(&mut self) -> io::Result<()> {
        match &self.up {
            Up::Parent(_) | Up::Nobody => {}
            Up::RootChannel(channel) => {
                self.poller.register(channel.bell(), Token::RootChannel.number(), Interest::READ)?
            }
        }
        if let Some(keeper) = &self.keeper {
            self.poller.register(keeper, Token::Keeper.number(), Interest::READ)?;
        }
        if let Some(listener) = &self.listener {
            self.poller.register(listener, Token::Listener.number(), Interest::READ)?;
        }
        self.listen_for_attaching()
    }

    /// Runs until the session is over and nothing of it is left below.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        self.enter_session();
        info!(agents = self.agent_count, members = self.assignment.size, "the session begins here");
        // After an error, members with an extension live on in the care of the keeper.
        self.work()?;
        info!("the session is over here");
        self.end_extension();
        if let Up::Parent(wire) = &mut self.up {
            wire.link.close();
            wire.link.flush(Instant::now());
        }
        Ok(())
    }

    /// What is logged from now on is about this session.
    fn enter_session(&mut self) {
        let role = if matches!(self.up, Up::RootChannel(_)) { "front-end" } else { "agent" };
        let (session, node, host) = (SessionId(self.assignment.session), self.assignment.node, &self.host);
        self.in_session = info_span!("session", %session, node, %host, role).entered();
    }

    fn work(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        // What the parent sent together with the assignment has been read already.
        self.pump(Token::Parent);
        self.start_together();
        loop {
            self.start_agents();
            self.start_members();
            self.stage_down();
            self.report();
            self.flush();
            if self.is_finished() {
                return Ok(());
            }
            let mut patience = self.patience();
            if patience != Some(Duration::ZERO) && self.shared.as_mut().is_some_and(|shared| !shared.doze()) {
                patience = Some(Duration::ZERO);
            }
            self.poller.wait(patience, &mut ready)?;
            for ready in ready.drain(..) {
                if let Some(token) = Token::of(ready.token) {
                    self.handle(token, ready);
                }
            }
            self.look_at_shared();
            self.tick(Instant::now());
            self.resume();
        }
    }

    fn handle(&mut self, token: Token, ready: Ready) {
        match token {
            Token::Parent | Token::Agent(_) | Token::Member(_) => self.handle_link(token, ready.readable),
            Token::RootChannel => self.take_orders(),
            Token::Listener => self.accept(),
            Token::Keeper => self.hear_keeper(),
            Token::Extension => self.heed_extension(),
            Token::CommonInput => self.write_roster(),
            Token::CommonComplaint => self.take_common_complaint(),
            Token::CommonExit => self.common_starter_exited(),
            Token::Staging => self.stage_bell(),
            Token::Packing => self.packed(),
            Token::AttachListeners => self.accept_attaching(),
            Token::Greeting(index) => self.take_greeting(index as usize),
            Token::Upload(index) => self.go_on_with_upload(index as usize),
            Token::Complaint(index) => self.take_complaint(index as usize),
            Token::StarterExit(index) => self.starter_exited(index as usize),
            Token::Output(_) | Token::Errors(_) => self.take_output(token),
            Token::Input(index) => self.write_input(index as usize),
            Token::Exit(index) => self.member_exited(index as usize),
            Token::TunnelAbove(_) | Token::TunnelBelow(_) => self.tunnel_ready(token),
        }
    }

    /// The link a token stands for.
    fn wire(&mut self, token: Token) -> Option<&mut Wire> {
        match token {
            Token::Parent => match &mut self.up {
                Up::Parent(wire) => Some(wire),
                Up::RootChannel(_) | Up::Nobody => None,
            },
            Token::Agent(index) => self.agents.get_mut(index as usize)?.wire.as_mut(),
            Token::Member(index) => self.members.get_mut(index as usize)?.wire.as_mut(),
            _ => None,
        }
    }

    fn handle_link(&mut self, token: Token, readable: bool) {
        let Some(wire) = self.wire(token) else { return };
        if readable {
            wire.link.fill(Instant::now());
        }
        self.note_full(token);
        self.flow.touch(token);
        self.pump(token);
    }

    /// Takes what a link has received: control always, data while there is room where it may go.
    fn pump(&mut self, token: Token) {
        let mut shared_frames = 0;
        loop {
            let mut acceptable = self.acceptable(token);
            if let Token::Member(index) = token {
                // What it put into shared memory it did before it sent what came over the link.
                match self.next_shared(index as usize, acceptable.everywhere) {
                    Next::Taken if shared_frames < SHARED_FRAMES => {
                        shared_frames += 1;
                        continue;
                    }
                    // The others have their turn first, and so has what came over the link after these.
                    Next::Taken => return self.block(token),
                    Next::Blocked => {
                        acceptable = Acceptable::NOTHING;
                        self.block(token);
                    }
                    Next::Nothing => {}
                }
            }
            let Some(wire) = self.wire(token) else { return };
            match wire.next(|kind| acceptable.takes(kind)) {
                Some(LinkEvent::Opened(_)) => self.opened(token),
                Some(LinkEvent::Frame(frame)) => self.take(token, frame),
                Some(LinkEvent::Closed) => return self.link_closed(token),
                Some(LinkEvent::Lost(error)) => return self.link_lost(token, &error),
                None => {
                    if wire.first_data().is_some() {
                        self.block(token);
                    }
                    return;
                }
            }
        }
    }

    /// Remembers that there is data that could not be taken yet.
    fn block(&mut self, token: Token) {
        self.flow.block(token);
    }

    /// Hands a frame on, and gives its credit back.
    fn take(&mut self, token: Token, frame: Frame) {
        let cost = frame.kind.is_data().then(|| frame.cost());
        match token {
            Token::Parent => self.from_parent(frame),
            Token::Agent(index) => self.from_agent(index as usize, frame),
            Token::Member(index) => self.from_member(index as usize, frame),
            _ => {}
        }
        if let Some(cost) = cost
            && let Some(wire) = self.wire(token)
        {
            wire.link.release(cost);
            self.flow.touch(token);
        }
    }

    /// What data of this link may be taken: that for which everyone it could go to has room.
    fn acceptable(&self, token: Token) -> Acceptable {
        let disk = || self.staging.has_room();
        // Members that are about to start have nowhere to take it yet.
        let members = || self.to_start.held || self.to_start.members.is_empty();
        match (token, &self.up) {
            (Token::Parent, _) => Acceptable {
                up: false,
                everywhere: self.flow.is_clear() && disk() && members() && self.awaiting.has_room(),
            },
            (_, up) => {
                let up = match up {
                    // What comes from below goes nowhere.
                    _ if self.detached => true,
                    Up::Parent(wire) => wire.link.credit_left() > 0,
                    Up::RootChannel(channel) => channel.has_room(),
                    Up::Nobody => true,
                };
                Acceptable { up, everywhere: up && self.flow.is_clear() }
            }
        }
    }

    /// Whether data that waits in a link may be taken by now.
    fn may_take(&self, token: Token) -> bool {
        let wire = match (token, &self.up) {
            (Token::Parent, Up::Parent(wire)) => Some(&**wire),
            (Token::Agent(index), _) => self.agents[index as usize].wire.as_ref(),
            (Token::Member(index), _) => self.members[index as usize].wire.as_ref(),
            _ => None,
        };
        let acceptable = self.acceptable(token);
        if matches!((token, &self.shared), (Token::Member(index), Some(shared)) if shared.is_blocked(index)) {
            // It comes before what is on the link.
            return acceptable.everywhere;
        }
        let first = wire.and_then(Wire::first_data);
        // A link without anything, or that is gone, need not be looked at again.
        first.is_none_or(|kind| acceptable.takes(kind))
    }

    /// Remembers whether a child takes no more for now.
    fn note_full(&mut self, token: Token) {
        let full = match token {
            Token::Input(index) => self.members[index as usize].input.as_ref().is_some_and(InputPipe::is_full),
            Token::Agent(_) | Token::Member(_) => self.wire(token).is_some_and(|wire| wire.link.credit_left() == 0),
            _ => return,
        };
        self.flow.set_full(token, full);
    }

    /// Asks to be told when the link can be written again, if it still has something.
    fn watch(&mut self, token: Token) {
        self.note_full(token);
        let poller = &self.poller;
        let wire = match token {
            Token::Parent => match &mut self.up {
                Up::Parent(wire) => Some(&mut **wire),
                Up::RootChannel(_) | Up::Nobody => None,
            },
            Token::Agent(index) => self.agents[index as usize].wire.as_mut(),
            Token::Member(index) => self.members[index as usize].wire.as_mut(),
            _ => None,
        };
        if let Some(wire) = wire
            && let Err(error) = wire.watch(poller, token.number())
        {
            self.link_lost(
                token,
                &LinkError::System { doing: "watching a descriptor", kind: error.kind(), message: error.to_string() },
            );
        }
    }

    /// Writes what waits in the links that were given something.
    fn flush(&mut self) {
        let now = Instant::now();
        loop {
            let touched = self.flow.take_touched();
            if touched.is_empty() {
                break;
            }
            // In their order: the first has the master below it, and what that does next is what all others wait for.
            for token in touched {
                if let Some(wire) = self.wire(token) {
                    wire.link.flush(now);
                    self.watch(token);
                    self.pump(token);
                }
            }
        }
        let has_master = self.has_master();
        if let Some(shared) = &mut self.shared {
            shared.ring_members(has_master, now);
        }
    }
}

fn members_of(assignment: &Assignment) -> Vec<LocalMember> {
    let own = assignment.agents.first().map_or(&[][..], |agent| &agent.groups[..]);
    own.iter()
        .flat_map(|group| (group.first..group.first + group.count).map(|rank| LocalMember::new(rank, group.image)))
        .collect()
}

/// How links to members and to agents are set up.
fn link_options(assignment: &Assignment) -> (LinkOptions, LinkOptions) {
    let terms = &assignment.terms;
    let heartbeat = Heartbeat::default()
        .every(Duration::from_millis(terms.heartbeat))
        .lost_after(Duration::from_millis(terms.silence));
    let agents = agent_link_options().heartbeat(heartbeat);
    let members = member_link_options().slabs(agents.slabs.clone());
    (members, agents)
}

/// Links between nodes: work for many thousands of agents fits one frame.
pub(crate) fn agent_link_options() -> LinkOptions {
    let max_payload = 8 << 20;
    let capabilities = AGENT_LOG;
    LinkOptions::default().max_payload(max_payload).window(2 * frame_cost(max_payload)).capabilities(capabilities)
}

/// Links between agents and members: a chunk fits a frame, and two of them are under way.
pub(crate) fn member_link_options() -> LinkOptions {
    let capabilities = message::SHARED_MEMORY;
    LinkOptions::inherited().max_payload(CHUNK).window(2 * frame_cost(CHUNK)).capabilities(capabilities)
}
