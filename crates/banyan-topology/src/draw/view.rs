//! What a picture shows: branches, each one node or several siblings that have the same below them.

use std::collections::VecDeque;

use banyan_hosts::HostSet;

use super::super::fold::{Alike, Siblings};
use super::super::{NodeId, Role, Topology, span};

/// Characters of a set of hosts that a label shows.
const HOST_CHARACTERS: usize = 48;

/// How much a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
        Folding { apart: 1, branches: 80, siblings: 40 }
    }
}

impl Folding {
    /// The same with this value of the field `apart`.
    #[must_use]
    pub fn apart(self, apart: usize) -> Folding {
        Folding { apart, ..self }
    }

    /// The same with this value of the field `branches`.
    #[must_use]
    pub fn branches(self, branches: usize) -> Folding {
        Folding { branches, ..self }
    }

    /// The same with this value of the field `siblings`.
    #[must_use]
    pub fn siblings(self, siblings: usize) -> Folding {
        Folding { siblings, ..self }
    }
}

impl Folding {
    /// As a picture that still fits a page.
    pub fn for_pictures() -> Folding {
        Folding { apart: 4, branches: 64, siblings: 24 }
    }
}

/// One node of a topology, or several siblings that have the same below them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Branch {
    /// What each of them is; `None` for siblings of several kinds that are only counted.
    pub role: Option<Role>,
    /// How many nodes they are.
    pub count: u32,
    /// How many nodes the branch stands for: those below each of the nodes that the branch above stands for.
    pub stands_for: u32,
    /// Where these are: `node1:0` for one node, `node[1-4]` for several; empty if nothing is known of them.
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
        let branch = |copies: &Copies| branch(topology, &agents, copies);
        let front_end = Copies { nodes: vec![topology.root()], count: 1 };
        let mut view = View { topology, branches: vec![branch(&front_end)] };
        let mut waiting = VecDeque::from([(0, front_end)]);
        while let Some((at, above)) = waiting.pop_front() {
            let groups = alike.siblings(topology, above.nodes[0], |_, _| true);
            let mut below: VecDeque<Copies> = above.below(topology, &shown(groups, folding.apart)).into();
            let room = folding.siblings.min(folding.branches.saturating_sub(view.branches.len()));
            // The last place is for all that have none.
            let kept = if below.len() <= room { below.len() } else { room.saturating_sub(1) };
            let rest = below.split_off(kept);
            view.branches[at].is_cut = kept == 0 && !rest.is_empty();
            for copies in below {
                let child = view.branches.len();
                view.branches.push(branch(&copies));
                view.branches[at].children.push(child);
                if topology.degree(copies.nodes[0]) > 0 {
                    waiting.push_back((child, copies));
                }
            }
            if let Some(rest) = together(rest.iter().map(branch)).filter(|_| kept > 0) {
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

/// The nodes that a branch stands for: so many siblings, below each of the nodes that the branch above stands for.
struct Copies {
    nodes: Vec<NodeId>,
    count: u32,
}

impl Copies {
    /// What all of the nodes have below them. `groups` are the children of the first, and the others have the like.
    fn below(&self, topology: &Topology, groups: &[Siblings]) -> Vec<Copies> {
        let mut start = 0;
        let mut below = Vec::with_capacity(groups.len());
        for Siblings { count, .. } in groups {
            let children = |node: &NodeId| {
                let first = topology.children[node.index()] + start;
                span(first..first + count)
            };
            below.push(Copies { nodes: self.nodes.iter().flat_map(children).collect(), count: *count });
            start += count;
        }
        below
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

fn branch(topology: &Topology, agents: &[u32], copies: &Copies) -> Branch {
    let (first, count) = (copies.nodes[0], u64::from(copies.count));
    let members = topology.members_below(first);
    Branch {
        role: Some(topology.role(first)),
        count: copies.count,
        stands_for: copies.nodes.len() as u32,
        hosts: hosts(topology, &copies.nodes),
        agents: count * u64::from(agents[first.index()]),
        members: count * u64::from(members.end - members.start),
        children: Vec::new(),
        is_cut: false,
    }
}

fn hosts(topology: &Topology, nodes: &[NodeId]) -> String {
    if let [node] = nodes {
        return topology.place(*node).map(|place| place.to_string()).unwrap_or_default();
    }
    // Nodes next to each other are mostly on the same host, which is looked at once.
    let mut names: Vec<&str> = nodes.iter().filter_map(|node| topology.host(*node)).collect();
    names.dedup();
    let folded = HostSet::from_names(names).map(|set| set.to_string()).unwrap_or_default();
    if folded.chars().count() <= HOST_CHARACTERS {
        return folded;
    }
    folded.chars().take(HOST_CHARACTERS - 1).chain(['…']).collect()
}

/// One branch for siblings that there is no room for.
fn together(siblings: impl Iterator<Item = Branch>) -> Option<Branch> {
    siblings.reduce(|one, other| Branch {
        role: one.role.filter(|role| other.role == Some(*role)),
        count: one.count + other.count,
        stands_for: one.stands_for + other.stands_for,
        hosts: String::new(),
        agents: one.agents + other.agents,
        members: one.members + other.members,
        children: Vec::new(),
        is_cut: true,
    })
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
        let what = if self.count == 1 { one.into() } else { format!("{} {several}", self.count) };
        match (self.hosts.as_str(), self.stands_for) {
            ("", _) => what,
            (place, 1) => format!("{what} {place}"),
            (hosts, _) => format!("{what} on {hosts}"),
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
