//! A node of a session's tree: the front-end's root, or an agent. One thread, one loop.
//!
//! A node has one parent (for the root: the [`desk`]) and children: agents below it and members of its own host. It
//! starts both, passes frames between them, and ends everything when its parent is gone. What collectives do is decided
//! by [`collective`](crate::collective); this is the driver that feeds it.
//!
//! Memory is bounded: data is taken from a link only while those it may go to have room (see [`Node::may_take`]), so a
//! reader that is slow slows its writers, and nothing piles up in between.

mod agents;
pub(crate) mod child;
pub(crate) mod desk;
mod down;
mod ending;
pub(crate) mod greeting;
pub(crate) mod member;
mod members;
mod streams;
pub(crate) mod token;
mod up;

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use banyan_link::{Event as LinkEvent, Frame, Heartbeat, Interest, Link, LinkError, LinkOptions, Listener, Poller};
use rustix::fs::{Mode, OFlags};

use crate::assignment::Assignment;
use crate::collective::{Collectives, To};
use crate::launcher::program::AgentProgram;
use crate::layout::{ranks_of, split};
use crate::process::{ExitState, Prepared, Spawner};
use crate::rankset::RankSet;
use child::ChildAgent;
use desk::{Desk, Progress};
use ending::Ending;
use member::{InputPipe, Member};
use token::Token;

/// Members started before the node looks at its descriptors again: long enough to start fast, short enough to answer.
const STARTS_AT_ONCE: usize = 8;

/// Where a node's own answers go.
pub(crate) enum Up {
    /// The parent's link.
    Parent(Box<Link>),
    /// The front-end's callers.
    Desk(Arc<Desk>),
}

/// A child, as collectives number them: by lowest rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Below {
    Member(usize),
    Agent(usize),
}

/// See the module.
pub(crate) struct Node {
    up: Up,
    /// The name of this node's host.
    host: Arc<str>,
    assignment: Assignment,
    agent_program: AgentProgram,
    poller: Poller,
    spawner: Spawner,
    null: OwnedFd,
    member_options: LinkOptions,
    agent_options: LinkOptions,
    listener: Option<Listener>,
    keeper: Option<OwnedFd>,

    agents: Vec<ChildAgent>,
    members: Vec<Member>,
    commands: Vec<Option<Prepared>>,
    below: Vec<Below>,
    collectives: Collectives,
    outgoing: Vec<(To, Frame)>,

    members_to_start: VecDeque<usize>,
    agents_to_start: VecDeque<usize>,
    starting: usize,
    held: bool,

    own: Progress,
    told: Progress,
    exits: Vec<(u32, ExitState, u32)>,
    running: usize,

    /// Links with something to write.
    touched: Vec<Token>,
    /// Links with frames that could not be taken yet.
    waiting: Vec<Token>,
    /// Pipes that are not read since there is no room above.
    paused: Vec<Token>,
    /// Children that take no more for now.
    full: Vec<Token>,
    ending: Option<Ending>,
    detached: bool,
    read_buffer: Vec<u8>,
}

/// What a node is made of besides its parent and its work.
pub(crate) struct Setting {
    pub(crate) host: String,
    pub(crate) agent_program: AgentProgram,
    pub(crate) keeper: Option<OwnedFd>,
    pub(crate) spawner: Spawner,
    pub(crate) listener: Option<Listener>,
    /// Whether members wait for a release.
    pub(crate) held: bool,
}

impl Node {
    /// A node with work to do. `own` says whether the first agent of the assignment is this node (not for the root).
    pub(crate) fn new(up: Up, assignment: Assignment, setting: Setting) -> io::Result<Node> {
        let is_root = matches!(up, Up::Desk(_));
        let below_me = usize::from(!is_root)..assignment.agents.len();
        let agents: Vec<ChildAgent> = split(below_me, assignment.terms.fanout as usize)
            .into_iter()
            .map(|subtree| {
                let host = assignment.agents[subtree.start].host.clone();
                let ranks = ranks_of(&assignment.agents[subtree.clone()]);
                ChildAgent::new(subtree, host, ranks)
            })
            .collect();
        let members: Vec<Member> = if is_root { Vec::new() } else { members_of(&assignment) };
        let (below, ranks) = order_below(&members, &agents);
        let collectives = if is_root { Collectives::root(ranks) } else { Collectives::inner(ranks) };
        let commands = if is_root { Vec::new() } else { (0..assignment.images.len()).map(|_| None).collect() };
        let (member_options, agent_options) = link_options(&assignment);
        let mut node = Node {
            up,
            host: setting.host.into(),
            agent_program: setting.agent_program,
            poller: Poller::new()?,
            spawner: setting.spawner,
            null: rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?,
            member_options,
            agent_options,
            listener: setting.listener,
            keeper: setting.keeper,
            members_to_start: (0..members.len()).collect(),
            agents_to_start: (0..agents.len()).collect(),
            starting: 0,
            held: setting.held,
            agents,
            members,
            commands,
            below,
            collectives,
            outgoing: Vec::new(),
            own: Progress { agents: u32::from(!is_root), ..Progress::default() },
            told: Progress::default(),
            exits: Vec::new(),
            running: 0,
            touched: Vec::new(),
            waiting: Vec::new(),
            paused: Vec::new(),
            full: Vec::new(),
            ending: None,
            detached: false,
            read_buffer: Vec::new(),
            assignment,
        };
        node.register_own()?;
        Ok(node)
    }

    fn register_own(&mut self) -> io::Result<()> {
        match &self.up {
            Up::Parent(link) => link.register(&self.poller, Token::Parent.number())?,
            Up::Desk(desk) => self.poller.register(desk.bell(), Token::Desk.number(), Interest::READ)?,
        }
        if let Some(keeper) = &self.keeper {
            self.poller.register(keeper, Token::Keeper.number(), Interest::READ)?;
        }
        if let Some(listener) = &self.listener {
            self.poller.register(listener, Token::Listener.number(), Interest::READ)?;
        }
        Ok(())
    }

    /// Runs until the session is over and nothing of it is left below.
    pub(crate) fn run(&mut self) -> io::Result<()> {
        let mut ready = Vec::new();
        // What the parent sent together with the assignment has been read already.
        self.pump(Token::Parent);
        loop {
            self.start_agents();
            self.start_members();
            self.report();
            self.flush();
            if self.is_finished() {
                return Ok(());
            }
            let patience = self.patience();
            self.poller.wait(patience, &mut ready)?;
            for (token, readiness) in ready.drain(..) {
                if let Some(token) = Token::of(token) {
                    self.handle(token, readiness);
                }
            }
            self.tick(Instant::now());
            self.resume();
        }
    }

    fn handle(&mut self, token: Token, readiness: Interest) {
        match token {
            Token::Parent | Token::Agent(_) | Token::Member(_) => self.handle_link(token, readiness),
            Token::Desk => self.take_orders(),
            Token::Listener => self.accept(),
            Token::Keeper => self.keeper_gone(),
            Token::Greeting(index) => self.take_greeting(index as usize),
            Token::Upload(index) => self.go_on_with_upload(index as usize),
            Token::Complaint(index) => self.take_complaint(index as usize),
            Token::StarterExit(index) => self.starter_exited(index as usize),
            Token::Output(_) | Token::Errors(_) => self.take_output(token),
            Token::Input(index) => self.write_input(index as usize),
            Token::Exit(index) => self.member_exited(index as usize),
            Token::Signal => {}
        }
    }

    /// The link a token stands for.
    fn link(&mut self, token: Token) -> Option<&mut Link> {
        match token {
            Token::Parent => match &mut self.up {
                Up::Parent(link) => Some(link),
                Up::Desk(_) => None,
            },
            Token::Agent(index) => self.agents.get_mut(index as usize)?.link.as_mut(),
            Token::Member(index) => self.members.get_mut(index as usize)?.link.as_mut(),
            _ => None,
        }
    }

    fn handle_link(&mut self, token: Token, readiness: Interest) {
        let now = Instant::now();
        let Some(link) = self.link(token) else { return };
        let result = if readiness.is_readable() { link.fill(now) } else { Ok(()) };
        self.note_room(token);
        self.touch(token);
        // What came before the loss is delivered first.
        self.pump(token);
        if let Err(error) = result {
            self.link_lost(token, &error);
        }
    }

    /// Takes what a link has received: control always, data while there is room where it may go.
    fn pump(&mut self, token: Token) {
        loop {
            let may_take = self.may_take(token);
            let Some(link) = self.link(token) else { return };
            let event = match link.poll_control() {
                Some(event) => Some(event),
                None if may_take => link.poll(),
                None => {
                    if link.has_data() && !self.waiting.contains(&token) {
                        self.waiting.push(token);
                    }
                    return;
                }
            };
            match event {
                None => return,
                Some(LinkEvent::Opened(_)) => self.opened(token),
                Some(LinkEvent::Frame(frame)) => self.take(token, frame),
                Some(LinkEvent::Closed) => return self.link_closed(token),
            }
        }
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
            && let Some(link) = self.link(token)
        {
            link.release(cost);
            self.touch(token);
        }
    }

    /// Whether data of this link may be taken: everyone it could go to has room.
    fn may_take(&self, token: Token) -> bool {
        let up = || match &self.up {
            Up::Parent(link) => link.room() > 0,
            Up::Desk(desk) => desk.has_room(),
        };
        self.full.is_empty() && (token == Token::Parent || up())
    }

    /// Remembers whether a child takes no more for now.
    fn note_room(&mut self, token: Token) {
        let full = match token {
            Token::Input(index) => self.members[index as usize].input.as_ref().is_some_and(InputPipe::is_full),
            Token::Agent(_) | Token::Member(_) => self.link(token).is_some_and(|link| link.room() == 0),
            _ => return,
        };
        let known = self.full.iter().position(|other| *other == token);
        match known {
            None if full => self.full.push(token),
            Some(at) if !full => {
                self.full.swap_remove(at);
            }
            _ => {}
        }
    }

    /// Asks to be told when the link can be written again, if it still has something.
    fn watch(&mut self, token: Token) {
        self.note_room(token);
        let poller = &self.poller;
        let link = match token {
            Token::Parent => match &mut self.up {
                Up::Parent(link) => Some(&mut **link),
                Up::Desk(_) => None,
            },
            Token::Agent(index) => self.agents[index as usize].link.as_mut(),
            Token::Member(index) => self.members[index as usize].link.as_mut(),
            _ => None,
        };
        if let Some(link) = link
            && let Err(error) = link.watch(poller, token.number())
        {
            let error = LinkError::from(error);
            self.link_lost(token, &error);
        }
    }

    fn touch(&mut self, token: Token) {
        if self.touched.last() != Some(&token) {
            self.touched.push(token);
        }
    }

    /// Writes what waits in the links that were given something.
    fn flush(&mut self) {
        let now = Instant::now();
        let mut touched = std::mem::take(&mut self.touched);
        for token in touched.drain(..) {
            let Some(link) = self.link(token) else { continue };
            if let Err(error) = link.flush(now) {
                self.link_lost(token, &error);
                continue;
            }
            self.watch(token);
        }
        if self.touched.is_empty() {
            self.touched = touched;
        }
    }
}

fn members_of(assignment: &Assignment) -> Vec<Member> {
    let own = assignment.agents.first().map_or(&[][..], |agent| &agent.groups[..]);
    own.iter().flat_map(|group| (group.first..group.first + group.count).map(|rank| Member::new(rank, group.image))).collect()
}

/// The children in the order of their lowest ranks, and their ranks.
fn order_below(members: &[Member], agents: &[ChildAgent]) -> (Vec<Below>, Vec<RankSet>) {
    let one = |rank: u32| {
        let mut ranks = RankSet::new();
        ranks.insert(rank);
        ranks
    };
    let members = members.iter().enumerate().map(|(index, member)| (member.rank, Below::Member(index), one(member.rank)));
    let agents = agents.iter().enumerate().map(|(index, agent)| {
        (agent.ranks.iter().next().unwrap_or(u32::MAX), Below::Agent(index), agent.ranks.clone())
    });
    let mut all: Vec<(u32, Below, RankSet)> = members.chain(agents).collect();
    all.sort_by_key(|(lowest, ..)| *lowest);
    all.into_iter().map(|(_, below, ranks)| (below, ranks)).unzip()
}
