//! `slurm`: one `srun` for all agents.
//!
//! Inside an allocation (`SLURM_JOB_ID`) the step shares it with what runs there already (`--overlap`); outside, `srun`
//! makes the allocation itself, so hosts and processes come in one step. `srun` copies its standard input to every
//! task: by that way the roster, and with it the secret, reaches the agents and nobody else.

use std::ffi::OsString;

use super::program::AgentProgram;
use super::{Channel, Starter};

/// The variable that says that this process runs in an allocation.
const JOB: &str = "SLURM_JOB_ID";
/// The variable with the hosts of the allocation.
pub(crate) const HOSTS: &str = "SLURM_JOB_NODELIST";
/// The variable with the tasks of each of them.
pub(crate) const TASKS: &str = "SLURM_TASKS_PER_NODE";

/// The argument that makes a step one of an allocation that is there already.
const JOB_ARGUMENT: &str = "--jobid";

/// Whether this process runs in an allocation.
pub(crate) fn inside_an_allocation() -> bool {
    std::env::var_os(JOB).is_some()
}

/// Whether a step with these arguments has its nodes already.
pub(crate) fn has_nodes(arguments: &[String]) -> bool {
    inside_an_allocation() || arguments.iter().any(|argument| argument.starts_with(JOB_ARGUMENT))
}

/// The step that starts an agent on each of these hosts; whether it shares them with other steps of its allocation.
pub(crate) fn all(hosts: &str, count: usize, arguments: &[String], shares: bool, agent: &AgentProgram) -> Starter {
    let mut command: Vec<OsString> = vec!["srun".into()];
    command.extend(arguments.iter().map(Into::into));
    command.extend(
        [
            format!("--nodes={count}"),
            format!("--ntasks={count}"),
            "--ntasks-per-node=1".into(),
            format!("--nodelist={hosts}"),
            "--input=all".into(),
            "--mpi=none".into(),
            "--kill-on-bad-exit=0".into(),
            "--wait=0".into(),
            // The agent is one task, but its members are to use all processors.
            "--cpu-bind=none".into(),
        ]
        .map(OsString::from),
    );
    if shares {
        command.push("--overlap".into());
    }
    command.push(agent.path_on_hosts());
    command.extend(["agent", "--roster=-"].map(OsString::from));
    Starter {
        command,
        env: Vec::new(),
        channel: Channel::Broadcast,
        check: format!("srun --nodes={count} --ntasks={count} --nodelist={hosts} hostname"),
    }
}

/// A node, as Slurm's controller knows it.
#[derive(Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) address: String,
    /// Its state and who gives which reason for it, if no job gets it until somebody changes that.
    pub(crate) unusable: Option<String>,
}

/// What Slurm puts behind a state, each with a meaning of its own; `*` is for a node that does not answer.
const MARKS: [char; 9] = ['*', '~', '#', '!', '%', '$', '@', '^', '-'];

/// A state of nodes that Slurm starts when they are needed. Meanwhile they do not answer.
const STARTS: [&str; 2] = ["POWERING_UP", "POWERED_DOWN"];

/// States in which a node gets no jobs, however long one waits. Slurm puts several together with `+`.
const UNUSABLE: [&str; 7] = ["DOWN", "DRAIN", "DRAINED", "DRAINING", "FAIL", "FAILING", "NOT_RESPONDING"];

/// The nodes in the output of `scontrol show node --oneliner`.
pub(crate) fn nodes(shown: &str) -> Vec<Node> {
    shown.lines().filter_map(node).collect()
}

fn node(line: &str) -> Option<Node> {
    let value = |key: &str| {
        line.split_whitespace().find_map(|word| word.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')))
    };
    let state = value("State").unwrap_or_default();
    let has = |states: &[&str]| state.split('+').any(|part| states.contains(&part.trim_end_matches(MARKS)));
    let is_unusable = (state.contains('*') || has(&UNUSABLE)) && !has(&STARTS);
    // The reason has spaces, and its author and time behind it.
    let reason = line.split_once(" Reason=").map(|(_, behind)| behind.split_inclusive(']').next().unwrap_or(behind));
    let unusable = is_unusable.then(|| match reason {
        Some(reason) => format!("{state}, {}", reason.trim()),
        None => state.to_owned(),
    });
    Some(Node { name: value("NodeName")?.to_owned(), address: value("NodeAddr")?.to_owned(), unusable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_states_come_from_what_the_controller_shows() {
        let shown = "NodeName=n1 Arch=x86_64 NodeAddr=10.0.0.1 NodeHostName=n1 Port=0 State=MIXED+PLANNED\n\
                     NodeName=n2 NodeAddr=10.0.0.2 State=IDLE+DRAIN X=1 Reason=bad fan [root@2026-01-02T03:04:05] Y=2\n\
                     NodeName=n3 NodeAddr=n3 State=IDLE*\n\
                     NodeName=n4 NodeAddr=n4 State=DOWN$\n\
                     NodeName=n5 NodeAddr=n5 State=IDLE+CLOUD+NOT_RESPONDING+POWERING_UP\n";
        let node = |name: &str, address: &str, unusable: Option<&str>| Node {
            name: name.into(),
            address: address.into(),
            unusable: unusable.map(str::to_owned),
        };
        let drained = "IDLE+DRAIN, bad fan [root@2026-01-02T03:04:05]";
        let expected = [
            node("n1", "10.0.0.1", None),
            node("n2", "10.0.0.2", Some(drained)),
            node("n3", "n3", Some("IDLE*")),
            node("n4", "n4", Some("DOWN$")),
            node("n5", "n5", None),
        ];
        assert_eq!(nodes(shown), expected);
    }
}
