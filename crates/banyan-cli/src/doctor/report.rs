//! Findings for people: those that are the same on several hosts once.

use std::io::{self, Write};

use banyan_boot::{HostSet, likeness};

use super::finding::{Finding, Level};
use crate::paint::{Paint, Style};
use crate::screen::harmless;

/// Different states of one thing that are shown; more are counted.
const SHOWN: usize = 3;

/// Findings that differ in host and state only.
struct GroupedFinding<'a> {
    finding: &'a Finding,
    hosts: Vec<&'a str>,
    states: Vec<&'a str>,
}

/// Writes all findings, in the order in which they were first made.
pub(super) fn write(out: &mut impl Write, findings: &[Finding], paint: Paint) -> io::Result<()> {
    let mut groups: Vec<GroupedFinding<'_>> = Vec::new();
    for finding in findings {
        let (key, state) = (key(finding), finding.state.as_str());
        match groups.iter_mut().find(|group| self::key(group.finding) == key) {
            Some(group) => {
                group.hosts.push(&finding.host);
                if !group.states.contains(&state) {
                    group.states.push(state);
                }
            }
            None => groups.push(GroupedFinding { finding, hosts: vec![&finding.host], states: vec![state] }),
        }
    }
    groups.iter().try_for_each(|group| write_group(out, group, paint))
}

/// What findings of several hosts have in common: causes and remedies may name the host.
fn key(finding: &Finding) -> (Level, &str, String, String) {
    let likeness = |text: &str| likeness(text, &finding.host);
    (finding.level, finding.name, likeness(&finding.cause), likeness(&finding.remedy))
}

fn write_group(out: &mut impl Write, group: &GroupedFinding<'_>, paint: Paint) -> io::Result<()> {
    let Finding { name, level, cause, remedy, .. } = group.finding;
    let style = match level {
        Level::Ok => Style::Good,
        Level::Warning => Style::Warning,
        Level::Problem => Style::Bad,
    };
    let hosts = HostSet::from_names(&group.hosts).map(|hosts| hosts.to_string()).unwrap_or_default();
    let mut states = group.states.iter().take(SHOWN).copied().collect::<Vec<_>>().join("; ");
    if group.states.len() > SHOWN {
        states += &format!("; and {} others", group.states.len() - SHOWN);
    }
    let level = paint.text(style, format_args!("{level:<8}"));
    // Hosts have said some of it.
    writeln!(out, "{level} {hosts}: {name}: {}", harmless(states.as_bytes()))?;
    for (what, text) in [("cause", cause), ("remedy", remedy)] {
        if !text.is_empty() {
            writeln!(out, "         {what}: {}", harmless(text.as_bytes()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_that_names_each_host_is_one_cause() {
        let finding = |host: &str| {
            let cause = format!("root@{host}: Permission denied");
            Finding::bad(Level::Problem, "reached", "no", cause, format!("check with: ssh {host} true")).on(host)
        };
        let mut out = Vec::new();
        write(&mut out, &[finding("n1"), finding("n2")], Paint(false)).unwrap();
        let said = String::from_utf8(out).unwrap();
        assert!(
            said.starts_with("problem  n[1-2]: reached: no\n         cause: root@n1: Permission denied\n"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 3, "{said}");
    }

    #[test]
    fn what_is_the_same_on_several_hosts_is_told_once() {
        let full = Finding::bad(Level::Problem, "cache", "full", "no room", "make room");
        let findings = [
            Finding::ok("clock", "+1 ms").on("n1"),
            full.clone().on("n1"),
            Finding::ok("clock", "+2 ms").on("n2"),
            full.on("n2"),
        ];
        let mut out = Vec::new();
        write(&mut out, &findings, Paint(false)).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "ok       n[1-2]: clock: +1 ms; +2 ms\nproblem  n[1-2]: cache: full\n         cause: no room\n         \
             remedy: make room\n"
        );
    }
}
