//! The agent's part in a network: an inner node of the tree, driven by a thread of its own beside the one that starts
//! and watches processes.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use banyan_boot::{AgentExtension, AgentInfo, ExtensionControl, GuardInfo};
use banyan_link::{Bell, SecretBytes};
use banyan_reduce::Filters;
use tracing::{info, info_span};

use crate::combiner::Combiners;
use crate::driver::{Credentials, Driver, Invited, Note};
use crate::format_book::FormatBook;
use crate::ids::{Level, LinkId, NodeId};
use crate::node::{Node, Report};
use crate::registered_filters::registered_filters;

/// How much longer than the front-end waits for those who are adrift an agent looks for a parent.
const ADRIFT_TIMES: u32 = 2;

/// How long an agent looks for a parent when the front-end has closed the session's link and cannot be reached: long enough to
/// find another one, if there is one. The closed link alone says little: it is cut where the agent was stopped for a while.
const CLOSED_PATIENCE: Duration = Duration::from_secs(1);

/// How often an agent without a parent, or a guard, looks whether it still has a reason to be there.
const LOOK: Duration = Duration::from_millis(100);

/// Becomes an agent and never returns, if this process was started as one; otherwise does nothing.
///
/// Call it first in `main` of a program that launches a [`Network`](crate::Network), before any thread is started: then
/// your own program is the agent, and hosts need nothing else. Filters of your own are brought before, by
/// [`register_filters`](crate::register_filters).
pub fn become_agent_if_asked() {
    banyan_boot::become_agent_if_asked_with(|| Box::new(TreeAgent::default()), guard);
}

/// See the module.
#[derive(Default)]
struct TreeAgent {
    running: Option<Running>,
}

struct Running {
    orders: Sender<Order>,
    bell: Arc<Bell>,
    thread: JoinHandle<()>,
    /// What members that attach need.
    invitations: Invitations,
}

/// Tells members who they are.
#[derive(Clone)]
struct Invitations {
    note: Note,
    first_member: u32,
    size: u32,
}

impl Invitations {
    fn of(&self, rank: u32) -> Note {
        self.note.for_member(Invited { node: NodeId(self.first_member + rank), rank, size: self.size, life: 0 })
    }
}

enum Order {
    Invite(u32, u32, OwnedFd),
    Ended(u32),
    FrontEndClosed,
    End,
}

impl AgentExtension for TreeAgent {
    fn begin(&mut self, agent: &AgentInfo, control: ExtensionControl) -> io::Result<SecretBytes> {
        let (mut driver, note) = driver(agent, NodeId(agent.node), Level(agent.level), registered_filters())?;
        let addresses = driver.listen(agent.is_one_host, note.only_tcp())?;
        if let Some(port) = driver.port().filter(|_| !agent.is_one_host) {
            control.listen(port);
            // Whoever has started this agent is the nearest of those above.
            note.above.first().into_iter().for_each(|above| driver.set_tunnel(above.node, control.clone()));
        }
        let note = note.below(NodeId(agent.node), Level(agent.level), addresses);
        let text = note.to_text();
        let bell = Arc::new(Bell::new()?);
        driver.watch_bell(&bell)?;
        driver.share();
        let (orders, receiver) = channel();
        let patience = note.options.adrift * ADRIFT_TIMES;
        let invitations = Invitations { note, first_member: agent.agents + 1, size: agent.size };
        let worker = Worker {
            driver,
            invitations: invitations.clone(),
            orders: receiver,
            links: HashMap::new(),
            patience,
            is_closed: false,
        };
        let span = info_span!("network", node = agent.node, host = agent.host, role = "agent");
        let thread = std::thread::Builder::new().name("banyan-tree".into()).spawn(move || {
            let _over = OverAtTheEnd(control);
            let _in_network = span.entered();
            worker.run();
        })?;
        self.running = Some(Running { orders, bell, thread, invitations });
        Ok(text)
    }

    fn note_for_member(&mut self, rank: u32, attaches: bool) -> SecretBytes {
        // Those that are started are invited by their sockets.
        let running = self.running.as_ref().filter(|_| attaches);
        running.map(|running| running.invitations.of(rank).to_text()).unwrap_or_default()
    }

    fn member_started(&mut self, rank: u32, process: u32, socket: OwnedFd) {
        self.order(Order::Invite(rank, process, socket));
    }

    fn member_ended(&mut self, rank: u32) {
        self.order(Order::Ended(rank));
    }

    fn front_end_closed(&mut self) {
        self.order(Order::FrontEndClosed);
    }

    fn end(&mut self) {
        self.order(Order::End);
        if let Some(running) = self.running.take() {
            // It does not panic without ending this process.
            let _ = running.thread.join();
        }
    }
}

impl TreeAgent {
    fn order(&self, order: Order) {
        if let Some(running) = &self.running {
            // A worker that has ended needs no orders.
            let _ = running.orders.send(order);
            running.bell.ring();
        }
    }
}

/// The node of an agent or its guard, with its driver.
fn driver(agent: &AgentInfo, id: NodeId, level: Level, filters: Filters) -> io::Result<(Driver, Note)> {
    let text = std::str::from_utf8(&agent.note).unwrap_or_default();
    let note: Note = text.parse().map_err(io::Error::other)?;
    let formats = FormatBook::new();
    let transformations = Arc::new(Combiners::new(filters, formats.clone()));
    let node = Node::below(id, None, level, note.ancestry(), note.options.clone(), transformations);
    let mut driver = Driver::new(node, formats, Credentials::agent(&note, id))?;
    driver.learn_addresses(note.addresses());
    driver.set_first_member(NodeId(agent.agents + 1));
    Ok((driver, note))
}

/// The thread of an agent's node.
struct Worker {
    driver: Driver,
    invitations: Invitations,
    orders: Receiver<Order>,
    /// The sockets of members, while their processes run.
    links: HashMap<u32, LinkId>,
    /// How long it looks for a parent before the network counts as over.
    patience: Duration,
    /// The front-end has closed the session's link, and no parent was found since.
    is_closed: bool,
}

/// Says that the network is over when it is dropped. A thread that panics does not know that: it takes its process with it,
/// so that the members live on in the care of the keeper.
struct OverAtTheEnd(ExtensionControl);

impl Drop for OverAtTheEnd {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
        self.0.over();
    }
}

impl Worker {
    fn run(mut self) {
        while self.takes_orders() {
            let has_lost_all = self.is_closed && self.driver.misses_front_end();
            let patience = if has_lost_all { self.patience.min(CLOSED_PATIENCE) } else { self.patience };
            let is_over = has_ended(&mut self.driver, patience);
            let is_adrift = self.driver.adrift() > Duration::ZERO;
            let deadline = is_adrift.then(|| Instant::now() + LOOK);
            if is_over || self.driver.turn(deadline).is_err() {
                break;
            }
            // Whoever finds a parent has a front-end.
            self.is_closed &= !is_adrift || self.driver.adrift() > Duration::ZERO;
        }
        // What is under way to members still goes: they hear of the end.
        self.driver.finish(LOOK);
    }

    fn takes_orders(&mut self) -> bool {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Invite(rank, process, socket) => self.invite(rank, process, socket),
                Order::Ended(rank) => {
                    // One that is linked elsewhere, or to nobody, has ended unseen.
                    if self.links.remove(&rank).is_some_and(|link| !self.driver.ended(link)) {
                        self.driver.node_mut().witness([rank].into_iter().collect());
                    }
                }
                Order::FrontEndClosed => self.is_closed = true,
                Order::End => return false,
            }
        }
        true
    }

    fn invite(&mut self, rank: u32, process: u32, socket: OwnedFd) {
        // Without a descriptor for it the member hears nothing, and says so when it joins.
        if let Ok(link) = self.driver.invite(process, socket, &self.invitations.of(rank)) {
            self.links.insert(rank, link);
        }
    }
}

/// Whether the network is over, by its front-end's word or for want of anyone to turn to.
fn has_ended(driver: &mut Driver, patience: Duration) -> bool {
    let mut is_over = driver.is_front_end_gone() || driver.adrift() > patience;
    while let Some(report) = driver.report() {
        is_over |= matches!(report, Report::Over);
    }
    is_over
}

/// Keeps the members of an agent that was killed, as long as the network lives that they are part of, and says which have
/// ended.
fn guard(agent: &GuardInfo) {
    let id = NodeId(agent.agent.node).guard();
    // It has no children, so it may be below anyone.
    let Ok((mut driver, note)) = driver(&agent.agent, id, Level::LOWEST, Filters::default()) else { return };
    // Without this it looks now and then.
    let _ = driver.watch(agent);
    let patience = note.options.adrift * ADRIFT_TIMES;
    let (node, host) = (agent.agent.node, &*agent.agent.host);
    let _in_network = info_span!("network", node, host, role = "guard").entered();
    info!("keeps the members of an agent that was killed");
    while !has_ended(&mut driver, patience) {
        let (ended, is_anyone_left) = agent.look();
        if !ended.is_empty() {
            driver.node_mut().witness(ended.into_iter().collect());
        }
        let is_told = driver.node().parent().is_some() && !driver.has_unsent();
        if !is_anyone_left && is_told || driver.turn(Some(Instant::now() + LOOK)).is_err() {
            return;
        }
    }
}
