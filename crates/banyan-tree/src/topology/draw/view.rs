//! What a picture shows: branches, each one node or several siblings that have the same below them.

use std::collections::VecDeque;

use banyan_boot::HostSet;

use super::super::fold::{Alike, Siblings};
use super::super::{Role, Topology};

/// Characters of a set of hosts that a label shows.
const HOST_CHARACTERS: usize = 48;

/// How much a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folding {
    /// Siblings with the same below them that are drawn one by one; more are drawn as one with their number.
    pub apart: usize,
    /// Branches of the whole picture. What is below the last of them is told in numbers.
    pub branches: usize,
    /// Branches below one node; the others are told in numbers.
    pub siblings: usize,
}

impl Default for Folding {
    /// As text on a screen.
    fn default() -> Folding {
        Folding { apart: 1, branches: 400, siblings: 40 }
    }
}

impl Folding {
    /// As a picture that still fits a page.
    pub fn for_pictures() -> Folding {
        Folding { apart: 4, branches: 120, siblings: 24 }
    }
}

/// One node of a topology, or several siblings that have the same below them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// What each of them is; `None` for siblings of several kinds that are only counted.
    pub role: Option<Role>,
    /// How many nodes they are.
    pub count: u32,
    /// Their hosts: `node1:0` for one node, folded for several, and empty if nothing is known of them.
    pub hosts: String,
    /// Agents among them and below all of them.
    pub agents: u64,
    /// Members among them and below all of them.
    pub members: u64,
    /// What each of them has below it, as numbers in [`View::branches`].
    pub children: Vec<usize>,
    /// Whether they, or what is below them, are only counted.
    pub is_cut: bool,
}

/// What a picture of a topology shows. The first branch is the front-end.
#[derive(Debug, Clone)]
pub struct View<'a> {
    topology: &'a Topology,
    branches: Vec<Branch>,
}

impl<'a> View<'a> {
    pub(in super::super) fn new(topology: &'a Topology, folding: Folding) -> View<'a> {
        let alike = Alike::new(topology, |_| 0);
        let agents = agents_of(topology);
        let branch = |siblings: &Siblings| branch(topology, &agents, siblings);
        let mut view = View { topology, branches: vec![branch(&Siblings { first: topology.root(), count: 1 })] };
        let mut waiting = VecDeque::from([(0, topology.root())]);
        while let Some((at, node)) = waiting.pop_front() {
            let below = shown(alike.siblings(topology, node, |_, _| true), folding.apart);
            let room = folding.siblings.min(folding.branches.saturating_sub(view.branches.len()));
            // The last place is for all that have none.
            let kept = if below.len() <= room { below.len() } else { room.saturating_sub(1) };
            if kept == 0 {
                view.branches[at].is_cut = true;
                continue;
            }
            for siblings in &below[..kept] {
                let child = view.branches.len();
                view.branches.push(branch(siblings));
                view.branches[at].children.push(child);
                if topology.degree(siblings.first) > 0 {
                    waiting.push_back((child, siblings.first));
                }
            }
            if let Some(rest) = rest(&below[kept..], branch) {
                let child = view.branches.len();
                view.branches.push(rest);
                view.branches[at].children.push(child);
            }
        }
        view
    }

    /// The topology.
    pub fn topology(&self) -> &'a Topology {
        self.topology
    }

    /// All branches; the first is the front-end.
    pub fn branches(&self) -> &[Branch] {
        &self.branches
    }
}

/// Siblings one by one where they are few.
fn shown(groups: Vec<Siblings>, apart: usize) -> Vec<Siblings> {
    let mut shown = Vec::new();
    for group in groups {
        if group.count as usize <= apart {
            shown.extend(group.nodes().map(|first| Siblings { first, count: 1 }));
        } else {
            shown.push(group);
        }
    }
    shown
}

/// Agents below each node, itself included.
fn agents_of(topology: &Topology) -> Vec<u32> {
    let mut counts: Vec<u32> = topology.nodes().map(|node| (topology.role(node) == Role::Agent).into()).collect();
    for node in topology.nodes().rev() {
        let Some(parent) = topology.parent(node) else { break };
        counts[parent.index()] += counts[node.index()];
    }
    counts
}

fn branch(topology: &Topology, agents: &[u32], siblings: &Siblings) -> Branch {
    let count = u64::from(siblings.count);
    let role = topology.role(siblings.first);
    let members = topology.members_below(siblings.first);
    Branch {
        role: Some(role),
        count: siblings.count,
        hosts: hosts(topology, siblings),
        agents: count * u64::from(agents[siblings.first.index()]),
        members: count * u64::from(members.end - members.start),
        children: Vec::new(),
        is_cut: false,
    }
}

fn hosts(topology: &Topology, siblings: &Siblings) -> String {
    if siblings.count == 1 {
        return topology.place(siblings.first).map(|place| place.to_string()).unwrap_or_default();
    }
    // Siblings next to each other are mostly on the same host: each is looked at once.
    let mut names: Vec<&str> = siblings.nodes().filter_map(|node| topology.host(node)).collect();
    names.dedup();
    let folded = HostSet::from_names(names).map(|set| set.to_string()).unwrap_or_default();
    if folded.chars().count() <= HOST_CHARACTERS {
        return folded;
    }
    folded.chars().take(HOST_CHARACTERS - 1).chain(['…']).collect()
}

/// One branch for siblings that there is no room for.
fn rest(siblings: &[Siblings], branch: impl Fn(&Siblings) -> Branch) -> Option<Branch> {
    let add = |one: Branch, other: Branch| Branch {
        role: one.role.filter(|role| other.role == Some(*role)),
        count: one.count + other.count,
        hosts: String::new(),
        agents: one.agents + other.agents,
        members: one.members + other.members,
        children: Vec::new(),
        is_cut: true,
    };
    let mut all = siblings.iter().map(branch);
    let first = all.next()?;
    Some(all.fold(first, add))
}

impl Branch {
    /// What they are: `front-end`, `agent node1:0`, `16 members on node1`.
    pub fn label(&self) -> String {
        let (one, several) = match self.role {
            Some(Role::FrontEnd) => ("front-end", "front-ends"),
            Some(Role::Agent) => ("agent", "agents"),
            Some(Role::Member) => ("member", "members"),
            None => ("node", "nodes"),
        };
        match (self.count, self.hosts.as_str()) {
            (1, "") => one.into(),
            (1, place) => format!("{one} {place}"),
            (count, "") => format!("{count} {several}"),
            (count, hosts) => format!("{count} {several} on {hosts}"),
        }
    }

    /// What is below all of them, in numbers, or what they are if they are of several kinds; empty for members.
    pub fn below(&self) -> String {
        let agents = self.agents - if self.role == Some(Role::Agent) { u64::from(self.count) } else { 0 };
        match (agents, self.members) {
            _ if self.role == Some(Role::Member) => String::new(),
            (0, members) => counted(members, "member"),
            (agents, members) => format!("{}, {}", counted(agents, "agent"), counted(members, "member")),
        }
    }
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
