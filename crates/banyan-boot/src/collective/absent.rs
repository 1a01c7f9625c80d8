//! Who has not entered a collective, as its nodes find out together for a member that has waited for too long.
//!
//! In a NOT_ENTERED frame: the set of members that have not entered, the set of those of whom nobody knows, then how many
//! agents did not answer (4 bytes, little-endian), and the hosts of the first of them, each its length (1 byte) and text.

use std::fmt;

use banyan_ranks::RankSet;
use bytes::{Buf, BufMut};

use super::known_calls::{Run, is_one, members};

/// Hosts of agents without an answer that are named; of further ones only the number is.
const NAMED: usize = 16;

/// Bytes of the longest name that is passed on. Longer ones are cut.
const NAME_LIMIT: usize = u8::MAX as usize;

/// Bytes that a set may take in the answer to a member: two of them fit one frame of its link. Of a set that would take more
/// the highest ranks are left out.
const SET_LIMIT: usize = 48 * 1024;

/// The members for which a collective waits that has not completed in time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Absent {
    /// Members that have not entered it.
    pub not_entered: RankSet,
    /// Members that may have entered or not: their agents did not answer.
    pub unknown: RankSet,
    /// The hosts of the agents that did not answer: the first 16 of them.
    pub silent_hosts: Vec<String>,
    /// How many agents did not answer.
    pub silent_agents: u32,
}

impl Absent {
    /// Adds what others know.
    pub(super) fn add(&mut self, other: &Absent) {
        self.not_entered = self.not_entered.union(&other.not_entered);
        self.unknown = self.unknown.union(&other.unknown);
        let room = NAMED.saturating_sub(self.silent_hosts.len());
        self.silent_hosts.extend(other.silent_hosts.iter().take(room).cloned());
        self.silent_agents = self.silent_agents.saturating_add(other.silent_agents);
    }

    /// Adds an agent that did not answer.
    pub(super) fn add_silent(&mut self, host: &str, ranks: &RankSet) {
        let host = host[..host.floor_char_boundary(NAME_LIMIT)].to_owned();
        self.add(&Absent { unknown: ranks.clone(), silent_hosts: vec![host], silent_agents: 1, ..Absent::default() });
    }

    /// What of it is true of these ranks.
    pub(super) fn within(self, ranks: &RankSet) -> Absent {
        let (not_entered, unknown) = (self.not_entered.intersection(ranks), self.unknown.intersection(ranks));
        Absent { not_entered, unknown, ..self }
    }

    /// What of it fits one frame for a member.
    pub(super) fn cut(self) -> Absent {
        Absent { not_entered: cut(self.not_entered), unknown: cut(self.unknown), ..self }
    }

    /// The payload of a frame.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        self.not_entered.encode(&mut payload);
        self.unknown.encode(&mut payload);
        payload.put_u32_le(self.silent_agents);
        for host in &self.silent_hosts {
            payload.put_u8(host.len() as u8);
            payload.put_slice(host.as_bytes());
        }
        payload
    }

    /// Reads a payload, all of it, in a session of `size` members.
    pub(super) fn decode(payload: &[u8], size: u32) -> Option<Absent> {
        let set = |payload: &[u8]| {
            let (ranks, length) = RankSet::decode(payload).ok()?;
            ranks.last().is_none_or(|last| last < size).then_some((ranks, length))
        };
        let (not_entered, length) = set(payload)?;
        let mut rest = &payload[length..];
        let (unknown, length) = set(rest)?;
        rest = &rest[length..];
        let silent_agents = rest.try_get_u32_le().ok()?;
        let mut silent_hosts = Vec::new();
        while let Some((length, behind)) = rest.split_first() {
            let (host, behind) = behind.split_at_checked(usize::from(*length))?;
            silent_hosts.push(str::from_utf8(host).ok()?.to_owned());
            rest = behind;
        }
        let fits = silent_hosts.len() <= NAMED.min(silent_agents as usize);
        fits.then_some(Absent { not_entered, unknown, silent_hosts, silent_agents })
    }
}

/// The lowest of these ranks, as many as fit.
fn cut(mut ranks: RankSet) -> RankSet {
    let is_long = |ranks: &RankSet| {
        let mut bytes = Vec::new();
        ranks.encode(&mut bytes);
        bytes.len() > SET_LIMIT
    };
    while is_long(&ranks) {
        let half = ranks.len() / 2;
        ranks = ranks.iter().take(half as usize).collect();
    }
    ranks
}

/// `members 4,9-12 have not entered; members 13-20 are unknown: no answer from the agent on n3`.
impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = |ranks: &RankSet| ranks.ranges().map(|range| (*range.start(), *range.end())).collect::<Vec<Run>>();
        let (not_entered, unknown) = (runs(&self.not_entered), runs(&self.unknown));
        if not_entered.is_empty() && unknown.is_empty() {
            return f.write_str("all members have entered, and data is still on its way");
        }
        if !not_entered.is_empty() {
            let verb = if is_one(&not_entered) { "has" } else { "have" };
            write!(f, "{} {verb} not entered", members(&not_entered))?;
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let separator = if not_entered.is_empty() { "" } else { "; " };
        let verb = if is_one(&unknown) { "is" } else { "are" };
        let agents = if self.silent_agents == 1 { "agent" } else { "agents" };
        let hosts = self.silent_hosts.join(", ");
        write!(f, "{separator}{} {verb} unknown: no answer from the {agents} on {hosts}", members(&unknown))?;
        match self.silent_agents.saturating_sub(self.silent_hosts.len() as u32) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(ranks: &[u32]) -> RankSet {
        ranks.iter().copied().collect()
    }

    fn absent() -> Absent {
        let mut absent = Absent { not_entered: set(&[4, 9, 10, 11, 12]), ..Absent::default() };
        absent.add_silent("n3", &(13..=20).collect());
        absent
    }

    #[test]
    fn a_sentence_names_those_who_have_not_entered_and_those_of_whom_nobody_knows() {
        let mut one = Absent { not_entered: set(&[7]), ..Absent::default() };
        assert_eq!(one.to_string(), "member 7 has not entered");
        assert_eq!(
            absent().to_string(),
            "members 4,9-12 have not entered; members 13-20 are unknown: no answer from the agent on n3"
        );
        assert_eq!(Absent::default().to_string(), "all members have entered, and data is still on its way");
        one.not_entered = RankSet::new();
        (0..18).for_each(|agent| one.add_silent(&format!("n{agent}"), &set(&[agent * 2])));
        let text = one.to_string();
        assert!(text.starts_with("members 0,2,4,") && text.ends_with(", n15 and 2 more"), "{text}");
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let mut silent = Absent::default();
        silent.add_silent(&"ä".repeat(NAME_LIMIT), &set(&[1]));
        assert_eq!(silent.silent_hosts, ["ä".repeat(NAME_LIMIT / 2)]);
        assert_eq!(Absent::decode(&silent.encode(), 2), Some(silent));
    }

    #[test]
    fn what_a_member_is_told_fits_one_frame_whoever_is_missing() {
        // No runs, no strides: one bit a rank.
        let scattered: RankSet =
            (0..1 << 20).filter(|rank: &u32| rank.wrapping_mul(2_654_435_761) >> 31 == 0).collect();
        let absent = Absent { unknown: scattered.clone(), not_entered: scattered.clone(), ..absent() };
        assert!(absent.encode().len() > crate::message::CHUNK);
        let cut = absent.cut();
        assert!(cut.encode().len() <= crate::message::CHUNK);
        assert!(cut.not_entered.is_subset(&scattered) && cut.not_entered.first() == scattered.first());
    }

    proptest! {
        #[test]
        fn what_is_absent_is_what_was_encoded_and_nothing_longer(
            not_entered in prop::collection::btree_set(0u32..90, 0..20),
            unknown in prop::collection::btree_set(0u32..90, 0..20),
        ) {
            let sets = Absent { not_entered: not_entered.into_iter().collect(), ..absent() };
            let absent = Absent { unknown: unknown.into_iter().collect(), ..sets };
            let payload = absent.encode();
            prop_assert_eq!(Absent::decode(&payload, 90), Some(absent.clone()));
            prop_assert_eq!(Absent::decode(&[&payload[..], &[0]].concat(), 90), None);
            prop_assert_eq!(Absent::decode(&payload[..payload.len() - 1], 90), None);
            let last = absent.not_entered.last().max(absent.unknown.last());
            prop_assert!(last.is_none_or(|last| Absent::decode(&payload, last).is_none()), "beyond the session");
        }

        #[test]
        fn damaged_answers_do_no_harm(at in any::<prop::sample::Index>(), byte: u8) {
            let mut payload = absent().encode();
            let at = at.index(payload.len());
            payload[at] = byte;
            if let Some(absent) = Absent::decode(&payload, 30) {
                prop_assert!(absent.to_string().len() < 1000);
            }
        }
    }
}
