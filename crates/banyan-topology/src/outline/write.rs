//! Writes an outline, with siblings that are alike in one line.

use std::fmt;

use banyan_hosts::HostSet;

use super::super::fold::{Alike, Siblings};
use super::super::{NodeId, Placing, Role, Topology};

/// A topology in Banyan's notation; see [`Topology::outline`]. Read again it gives the same tree on the same hosts.
#[derive(Debug, Clone, Copy)]
pub struct Outline<'a>(pub(in super::super) &'a Topology);

impl fmt::Display for Outline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let topology = self.0;
        f.write_str("front-end")?;
        if let Some(host) = topology.host(topology.root()) {
            write!(f, " on {host}")?;
        }
        f.write_str("\n")?;
        let writer = Writer { topology, alike: Alike::new(topology, |node| moved_to(topology, node)) };
        writer.below(f, topology.root(), 1)
    }
}

/// The host of a node as a number, or [`Placing::NOWHERE`] if it is where its parent is.
fn moved_to(topology: &Topology, node: NodeId) -> u32 {
    let host = |node: NodeId| topology.places.get(node.index()).map_or(Placing::NOWHERE, |place| place.host);
    let here = host(node);
    if topology.parent(node).is_some_and(|parent| host(parent) == here) { Placing::NOWHERE } else { here }
}

struct Writer<'a> {
    topology: &'a Topology,
    alike: Alike,
}

impl Writer<'_> {
    /// Writes all below a node. Nodes are as deep as topologies may be, so that calls are too.
    fn below(&self, f: &mut fmt::Formatter<'_>, node: NodeId, depth: usize) -> fmt::Result {
        let moved = |node| moved_to(self.topology, node);
        let joins = |one, other| (moved(one) == Placing::NOWHERE) == (moved(other) == Placing::NOWHERE);
        for siblings in self.alike.siblings(self.topology, node, joins) {
            for (count, hosts) in self.placed(&siblings) {
                let role = match (self.topology.role(siblings.first), count * hosts.len().max(1) as u32) {
                    (Role::Member, 1) => "member",
                    (Role::Member, _) => "members",
                    (_, 1) => "agent",
                    (_, _) => "agents",
                };
                write!(f, "{:width$}{role}", "", width = 2 * depth)?;
                if count > 1 {
                    write!(f, " {count}")?;
                }
                if !hosts.is_empty() {
                    write!(f, " on {}", in_order(&hosts))?;
                }
                f.write_str("\n")?;
                self.below(f, siblings.first, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The lines that siblings take: how many on each of which hosts; none for the host of their parent.
    fn placed(&self, siblings: &Siblings) -> Vec<(u32, Vec<&str>)> {
        if moved_to(self.topology, siblings.first) == Placing::NOWHERE {
            return vec![(siblings.count, Vec::new())];
        }
        let mut runs: Vec<(u32, &str)> = Vec::new();
        for host in siblings.nodes().filter_map(|node| self.topology.host(node)) {
            match runs.last_mut() {
                Some((count, same)) if *same == host => *count += 1,
                _ => runs.push((1, host)),
            }
        }
        let mut lines: Vec<(u32, Vec<&str>)> = Vec::new();
        let mut named = std::collections::HashSet::new();
        for (count, host) in runs {
            match lines.last_mut() {
                // A set names each host once.
                Some((same, hosts)) if *same == count && named.insert(host) => hosts.push(host),
                _ => {
                    named = std::collections::HashSet::from([host]);
                    lines.push((count, vec![host]));
                }
            }
        }
        lines
    }
}

/// Hosts folded, if that keeps their order, and one by one if not.
fn in_order(hosts: &[&str]) -> String {
    let folded = HostSet::from_names(hosts).map(|set| set.to_string()).unwrap_or_default();
    let keeps = HostSet::parse(&folded).is_ok_and(|read| read.iter().eq(hosts.iter().copied()));
    if keeps { folded } else { hosts.join(",") }
}
