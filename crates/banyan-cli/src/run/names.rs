//! Members by name: where a set of ranks is, for people.

use banyan_boot::{HostSet, RankSet};

/// The hosts of all members, by rank.
pub(super) struct MemberNames {
    hosts: Vec<String>,
    distinct: usize,
    /// Each member has a host of its own, which says as much as its rank.
    one_a_host: bool,
}

impl MemberNames {
    pub(super) fn new(hosts: Vec<String>) -> MemberNames {
        let distinct = hosts.iter().collect::<std::collections::HashSet<_>>().len();
        let one_a_host = distinct == hosts.len();
        MemberNames { hosts, distinct, one_a_host }
    }

    /// How many hosts there are.
    pub(super) fn hosts(&self) -> usize {
        self.distinct
    }

    /// How many members there are.
    pub(super) fn len(&self) -> usize {
        self.hosts.len()
    }

    /// The hosts of members, folded.
    pub(super) fn hosts_of(&self, members: &RankSet) -> String {
        let names = members.iter().filter_map(|rank| self.hosts.get(rank as usize));
        HostSet::from_names(names).map(|hosts| hosts.to_string()).unwrap_or_default()
    }

    /// Members as people know them: by host, and by rank too where a host has several.
    pub(super) fn title(&self, members: &RankSet) -> String {
        let hosts = self.hosts_of(members);
        if self.one_a_host { hosts } else { format!("{members} on {hosts}") }
    }
}
