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

/// Whether this process runs in an allocation.
pub(crate) fn inside_an_allocation() -> bool {
    std::env::var_os(JOB).is_some()
}

/// The step that starts an agent on each of these hosts.
pub(crate) fn all(hosts: &str, count: usize, arguments: &[String], inside: bool, agent: &AgentProgram) -> Starter {
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
    if inside {
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

/// The addresses of nodes in the output of `scontrol show node --oneliner`: pairs of name and address.
pub(crate) fn addresses(shown: &str) -> Vec<(String, String)> {
    let value = |line: &str, key: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(key).and_then(|rest| rest.strip_prefix('=')).map(str::to_owned))
    };
    shown.lines().filter_map(|line| Some((value(line, "NodeName")?, value(line, "NodeAddr")?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_from_what_the_controller_shows() {
        let shown =
            "NodeName=n1 Arch=x86_64 NodeAddr=10.0.0.1 NodeHostName=n1 Port=0\nNodeName=n2 NodeAddr=10.0.0.2 X=1\n";
        let expected = [("n1", "10.0.0.1"), ("n2", "10.0.0.2")].map(|(name, at)| (name.to_owned(), at.to_owned()));
        assert_eq!(addresses(shown), expected);
    }
}
