//! The process table of a session: which member is which process, where.

use std::fmt;

use banyan_ndr::Record;

/// A member of a session as a process. As a record it has a JSON form
/// ([`banyan_text`](https://docs.rs/banyan-text)).
#[derive(Debug, Clone, PartialEq, Eq, Record)]
#[non_exhaustive]
pub struct MemberProcess {
    /// Its rank.
    pub rank: u32,
    /// Its host, as the launcher knows it.
    pub host: String,
    /// Its process id there; none if it was never started, has not attached yet, or attached from another host.
    pub pid: Option<u32>,
    /// Its program; empty for members that somebody else starts.
    pub image: String,
    /// The node that is its agent ([`Session::agent_of`](crate::Session::agent_of)).
    pub agent: u32,
}

/// The processes of all members, by rank. Its `Display` is a table for people.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ProcessTable {
    /// By rank.
    pub members: Vec<MemberProcess>,
}

const TITLES: [&str; 5] = ["RANK", "HOST", "PID", "AGENT", "IMAGE"];

impl fmt::Display for ProcessTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.members.iter().map(|member| {
            let pid = member.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string());
            let image = if member.image.is_empty() { "-".to_owned() } else { member.image.clone() };
            [member.rank.to_string(), member.host.clone(), pid, member.agent.to_string(), image]
        });
        let rows: Vec<[String; 5]> = std::iter::once(TITLES.map(str::to_owned)).chain(rows).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
        let [rank, host, pid, agent] = [0, 1, 2, 3].map(width);
        for [r, h, p, a, image] in &rows {
            writeln!(f, "{r:>rank$}  {h:host$}  {p:>pid$}  {a:>agent$}  {image}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_every_member_under_titles() {
        let member =
            |rank, pid, image: &str| MemberProcess { rank, host: "n1".into(), pid, image: image.into(), agent: 1 };
        let table = ProcessTable { members: vec![member(0, Some(4711), "./solver"), member(10, None, "")] };
        let text = "RANK  HOST   PID  AGENT  IMAGE\n   0  n1    4711      1  ./solver\n  10  n1       -      1  -\n";
        assert_eq!(table.to_string(), text);
    }
}
