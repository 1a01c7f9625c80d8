//! Many problems for people: those with the same cause and remedy once, with all their hosts folded.
//!
//! Every host is named, however many there are: whoever repairs a cluster needs to know which to go to. What is bounded is
//! the number of causes that are shown.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::IpAddr;

use banyan_ranks::RankSet;

use crate::problem::{Problem, ProblemKind};
use banyan_hosts::HostSet;

/// Causes that a message shows in full; of the others it names the hosts.
const SHOWN: usize = 10;

/// Problems for people, one a line, each line after a line break and indented. Those with the same cause are one, with all
/// their hosts.
#[derive(Debug, Clone, Copy)]
pub struct ProblemSummary<'a>(pub &'a [Problem]);

/// Problems that differ in nothing but their hosts.
struct SimilarProblems<'a>(Vec<&'a Problem>);

impl fmt::Display for ProblemSummary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = grouped(self.0);
        let (shown, others) = groups.split_at(groups.len().min(SHOWN));
        for group in shown {
            write!(f, "\n  {}", group.merged())?;
        }
        if others.is_empty() {
            return Ok(());
        }
        let problems: Vec<&Problem> = others.iter().flat_map(|group| &group.0).copied().collect();
        let (count, hosts) = (others.len(), folded(&problems));
        write!(f, "\n  and {count} more {}, {hosts}", if count == 1 { "cause" } else { "causes" })
    }
}

/// In the order of the first of each group.
fn grouped(problems: &[Problem]) -> Vec<SimilarProblems<'_>> {
    let mut groups: Vec<SimilarProblems<'_>> = Vec::new();
    let common = texts_of_several_hosts(problems);
    let mut places = HashMap::new();
    for problem in problems {
        let likeness = [&*problem.cause, &*problem.remedy].map(|text| match common.contains(text) {
            true => text.to_owned(),
            false => likeness(text, &problem.host),
        });
        let place = *places.entry(likeness).or_insert(groups.len());
        if place == groups.len() {
            groups.push(SimilarProblems(Vec::new()));
        }
        groups[place].0.push(problem);
    }
    groups
}

/// What is said of several hosts in the same words, for example a command that names them all.
fn texts_of_several_hosts(problems: &[Problem]) -> HashSet<&str> {
    let mut hosts: HashMap<&str, &str> = HashMap::new();
    let texts =
        problems.iter().flat_map(|problem| [&problem.cause, &problem.remedy].map(|text| (&**text, &*problem.host)));
    texts.filter(|(text, host)| *hosts.entry(text).or_insert(host) != *host).map(|(text, _)| text).collect()
}

impl SimilarProblems<'_> {
    /// As one problem of several hosts; where the text names a host, it is that of the first.
    fn merged(&self) -> String {
        let [first, others @ ..] = &self.0[..] else { return String::new() };
        if others.is_empty() || first.kind == ProblemKind::FrontEnd {
            return first.to_string();
        }
        let all = Problem { members: members(&self.0), ..(*first).clone() };
        format!("{}: {}", folded(&self.0), all.what())
    }
}

/// `host a` or `hosts a[1-3]`.
fn folded(problems: &[&Problem]) -> String {
    let names = problems.iter().map(|problem| &problem.host);
    match HostSet::from_names(names) {
        Ok(hosts) => format!("host{} {hosts}", if hosts.len() == 1 { "" } else { "s" }),
        // What another process says need not be the name of a host.
        Err(_) => {
            let names: Vec<&str> = problems.iter().map(|problem| &*problem.host).collect();
            format!("hosts {}", names.join(","))
        }
    }
}

/// All their ranks.
fn members(problems: &[&Problem]) -> String {
    let mut all = RankSet::new();
    for problem in problems.iter().filter(|problem| !problem.members.is_empty()) {
        let Ok(ranks) = problem.members.parse::<RankSet>() else {
            let texts: Vec<&str> = problems.iter().map(|problem| &*problem.members).collect();
            return texts.join(",");
        };
        all = all.union(&ranks);
    }
    all.to_string()
}

/// What is said of a host, with a gap wherever it names the host or an address: what is said of several hosts for the same
/// reason has the same likeness.
pub fn likeness(text: &str, host: &str) -> String {
    let mut likeness = String::new();
    let is_of_address = |letter: char| letter.is_ascii_hexdigit() || ".:".contains(letter);
    for word in without_host(text, host).split_inclusive(|letter| !is_of_address(letter)) {
        let end = word.find(|letter| !is_of_address(letter)).unwrap_or(word.len());
        let is_address = word[..end].trim_end_matches(':').parse::<IpAddr>().is_ok();
        likeness.push_str(if is_address { "\0" } else { &word[..end] });
        likeness.push_str(&word[end..]);
    }
    likeness
}

/// A text with a gap wherever it names the host.
fn without_host(text: &str, host: &str) -> String {
    let continues =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || "-_".contains(letter));
    let mut gapped = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(host).filter(|_| !host.is_empty()) {
        let (before, after) = (&rest[..at], &rest[at + host.len()..]);
        let last = before.chars().next_back().or_else(|| gapped.chars().next_back());
        let is_name = !continues(last) && !continues(after.chars().next());
        gapped.push_str(before);
        gapped.push_str(if is_name { "\0" } else { host });
        rest = after;
    }
    gapped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(host: &str, cause: String, members: &str) -> Problem {
        let remedy = format!("check with: ssh -o BatchMode=yes {host} true");
        Problem { host: host.into(), kind: ProblemKind::Unreachable, cause, remedy, members: members.into() }
    }

    #[test]
    fn hosts_with_the_same_cause_share_a_line_and_all_are_named() {
        let dead = (1..=13).map(|host| problem(&format!("n{host}"), "no agent answered".into(), &host.to_string()));
        let refused = problem("m1", "ssh: connect to host m1: refused".into(), "");
        let problems: Vec<Problem> = dead.chain([refused]).collect();
        let said = ProblemSummary(&problems).to_string();
        let lines: Vec<&str> = said.lines().collect();
        let first = "  hosts n[1-13]: no agent answered (members 1-13); check with: ssh -o BatchMode=yes n1 true";
        let second = "  host m1: ssh: connect to host m1: refused; check with: ssh -o BatchMode=yes m1 true";
        assert_eq!(lines, ["", first, second]);
    }

    #[test]
    fn a_command_that_names_all_hosts_sets_none_of_them_apart() {
        let hosts = ["n1", "n2", "n3"];
        let remedy = "check with: pdsh -w n1,n2,n3 hostname".to_owned();
        let problems =
            hosts.map(|host| Problem { remedy: remedy.clone(), ..problem(host, format!("on {host}: why"), "") });
        assert_eq!(ProblemSummary(&problems).to_string(), format!("\n  hosts n[1-3]: on n1: why; {remedy}"));
    }

    #[test]
    fn an_address_sets_no_host_apart() {
        let refused = |host: &str, address: &str| {
            problem(host, format!("last words: \"root@{address}: Permission denied (publickey).\""), "")
        };
        let problems = [refused("n1", "10.0.0.1"), refused("n2", "10.0.0.2"), refused("n3", "fd00::3")];
        let said = ProblemSummary(&problems).to_string();
        assert!(said.starts_with("\n  hosts n[1-3]: last words: \"root@10.0.0.1: "), "{said}");
        assert_eq!(likeness("10.0.0.1: 10.0.0.1.2 is none, a: b ::1", "n1"), "\0 10.0.0.1.2 is none, a: b \0");
    }

    #[test]
    fn several_problems_of_one_host_are_of_one_host() {
        let problems = ["0-1", "2"].map(|members| problem("n1", "why".into(), members));
        assert!(ProblemSummary(&problems).to_string().starts_with("\n  host n1: why (members 0-2); check"));
    }

    #[test]
    fn causes_beyond_the_bound_are_counted_and_their_hosts_named() {
        let problems: Vec<Problem> =
            (1..=13).map(|host| problem(&format!("n{host}"), format!("cause number {host}0"), "")).collect();
        let said = ProblemSummary(&problems).to_string();
        assert_eq!(said.lines().count(), 1 + SHOWN + 1);
        assert!(said.ends_with("\n  and 3 more causes, hosts n[11-13]"), "{said}");
        let one = ProblemSummary(&problems[..SHOWN + 1]).to_string();
        assert!(one.ends_with("\n  and 1 more cause, host n11"), "{one}");
    }

    #[test]
    fn a_host_is_its_whole_name() {
        assert_eq!(without_host("n1: n10 x-n1 n1.example n1n1 (n1)", "n1"), "\0: n10 x-n1 \0.example n1n1 (\0)");
        assert_eq!(without_host("what", ""), "what");
    }
}
