//! What can be chosen for a network.

use std::time::Duration;

use banyan_boot::SessionOptions;

use super::Shape;
use crate::node::NodeOptions;

/// What can be chosen for a network; the defaults suit most.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NetworkOptions {
    /// The shape of the tree: `4x16`, say, or what a file says. Without one, agents follow the hosts of the members.
    pub topology: Option<Shape>,
    /// How processes are started.
    pub session: SessionOptions,
    /// Whether nodes dial each other over TCP within a host, too, as between hosts: to see on one host what a tree over several
    /// costs, and how it fares. Members that agents have started keep the sockets that they inherit.
    pub only_tcp: bool,
    /// Bounds and patience of all nodes.
    pub node: NodeOptions,
    /// How long members have to join after they were started.
    pub join_deadline: Duration,
    /// How often agents say that they live, …
    pub heartbeat: Duration,
    /// … and how long an agent may be silent before its children and its parent go on without it.
    pub silence: Duration,
}

banyan_ndr::setters!(NetworkOptions {
    session: SessionOptions,
    only_tcp: bool,
    node: NodeOptions,
    join_deadline: Duration,
    heartbeat: Duration,
    silence: Duration,
} some {
    topology: Shape,
});

impl Default for NetworkOptions {
    fn default() -> NetworkOptions {
        NetworkOptions {
            topology: None,
            session: SessionOptions::default(),
            only_tcp: false,
            node: NodeOptions::default(),
            join_deadline: Duration::from_secs(30),
            heartbeat: Duration::from_millis(250),
            silence: Duration::from_secs(1),
        }
    }
}

/// As long as for ever, and short enough to be counted by every clock.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Below this nobody can tell a silent node from a busy one.
const SHORTEST: Duration = Duration::from_millis(1);

impl NetworkOptions {
    /// The same, with times that clocks can count.
    pub(super) fn within_bounds(&self) -> NetworkOptions {
        let mut options = self.clone();
        for time in [&mut options.join_deadline, &mut options.node.adrift, &mut options.node.orphan] {
            *time = (*time).min(LONGEST);
        }
        let limits = options.node.unanswered.iter_mut().chain(&mut options.node.stopped);
        for time in [&mut options.heartbeat, &mut options.silence].into_iter().chain(limits) {
            *time = (*time).clamp(SHORTEST, LONGEST);
        }
        options
    }
}
