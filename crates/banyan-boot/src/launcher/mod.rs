//! Launchers: how the agents of a session get started.
//!
//! There are two ways. *One by one*: each node starts its child agents itself, so the tree is built in parallel
//! ([`local`], [`ssh`]). *Together*: one command starts all agents, and each finds its parent from the roster it is
//! given ([`slurm`], [`command`]). A launcher is a small file that knows what to run; starting, watching, deadlines and
//! clean-up are the same for all of them and live elsewhere.

pub(crate) mod command;
pub(crate) mod content;
pub(crate) mod keep;
pub(crate) mod local;
pub(crate) mod packed;
pub(crate) mod program;
pub(crate) mod slurm;
pub(crate) mod ssh;
pub(crate) mod together;

use std::ffi::OsString;
use std::time::Duration;

use banyan_ndr::Record;

use crate::error::LaunchError;
use program::AgentProgram;

/// The name of the machine one is on.
pub(crate) const LOCALHOST: &str = "localhost";

/// How to start the agents of a session.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub enum Launcher {
    /// [`Local`](Launcher::Local) if no host has a name other than `localhost`; otherwise in a Slurm allocation
    /// [`Slurm`](Launcher::Slurm), and elsewhere [`Ssh`](Launcher::Ssh).
    #[default]
    Auto,
    /// All agents on this machine, acting as hosts of any name.
    Local,
    /// The system's OpenSSH with the user's configuration.
    Ssh(SshOptions),
    /// One `srun` for all agents, with these arguments before the program's.
    Slurm {
        /// Further arguments of `srun`, such as `--partition=debug`.
        arguments: Vec<String>,
    },
    /// Any command that runs one process per host. The agents read their roster from a file that only its owner can read,
    /// so the hosts must share the directory it is in (`BANYAN_ROSTER_DIR`, or the temporary directory).
    Command {
        /// The command line with `{hosts}`, `{count}` and, as a word of its own, `{agent}` in it.
        template: String,
    },
}

impl Launcher {
    /// How nodes start their children.
    pub(crate) fn way<'a>(&self, mut hosts: impl Iterator<Item = &'a str>) -> Result<Way, LaunchError> {
        match self {
            Launcher::Local => Ok(Way::Local),
            Launcher::Ssh(options) => Ok(Way::Ssh(options.clone())),
            Launcher::Auto if hosts.all(|host| host == LOCALHOST) => Ok(Way::Local),
            Launcher::Auto if slurm::inside_an_allocation() => Ok(Way::Together),
            Launcher::Auto => Ok(Way::Ssh(SshOptions::default())),
            Launcher::Slurm { .. } | Launcher::Command { .. } => Ok(Way::Together),
        }
    }
}

/// How `ssh` is called.
#[derive(Debug, Clone, PartialEq, Default, Record)]
#[non_exhaustive]
pub struct SshOptions {
    /// Arguments before the host, such as `-F` and a file.
    pub arguments: Vec<String>,
}

banyan_ndr::setters!(SshOptions {
    arguments: Vec<String>,
});

/// How nodes start their children: the part of a launcher that travels down the tree.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) enum Way {
    /// As processes of this machine.
    Local,
    /// By `ssh`.
    Ssh(SshOptions),
    /// Not at all: they were started together and come by themselves.
    Together,
}

/// A command that starts one agent or all of them.
#[derive(Debug)]
pub(crate) struct Starter {
    /// Program and arguments.
    pub(crate) command: Vec<OsString>,
    /// How to talk to what it starts.
    pub(crate) channel: Channel,
    /// What a person types to see the cause of a failure.
    pub(crate) check: String,
}

/// How a node talks to the agents it starts, until there is a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    /// One end of a socket pair is the agent's descriptor 3: already a link.
    Inherited,
    /// Standard input and output of the command lead to the agent's.
    Pipes,
    /// Standard input of the command reaches every agent; nothing comes back.
    Broadcast,
}

impl Way {
    /// The command that starts a child agent on a host, with how often it is to send heartbeats; `None` if it comes by
    /// itself.
    pub(crate) fn starter(&self, host: &str, agent: &AgentProgram, heartbeat: Duration) -> Option<Starter> {
        match self {
            Way::Local => Some(local::starter(agent, heartbeat)),
            Way::Ssh(options) => Some(options.starter(host, agent, heartbeat)),
            Way::Together => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_acted_out_here_only_if_all_are_this_machine() {
        let way = |hosts: &[&'static str]| Launcher::Auto.way(hosts.iter().copied()).unwrap();
        assert_eq!(way(&[]), Way::Local);
        assert_eq!(way(&[LOCALHOST, LOCALHOST]), Way::Local);
        let elsewhere = match slurm::inside_an_allocation() {
            true => Way::Together,
            false => Way::Ssh(SshOptions::default()),
        };
        for hosts in [&["n1"][..], &["n1", "n2"], &[LOCALHOST, "n1"], &["n1", LOCALHOST]] {
            assert_eq!(way(hosts), elsewhere, "{hosts:?}");
        }
    }
}
