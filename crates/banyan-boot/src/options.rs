//! What can be chosen for a session.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use banyan_link::SecretBytes;
use banyan_ndr::Record;

use crate::agent_layout::AgentLayout;
use crate::agent_log::AgentLog;
use crate::assignment::Terms;
use crate::launcher::Launcher;
use crate::layout::MEMBERS_PER_AGENT;

/// Heartbeats that must be missed before a node counts as lost: one or two may come late.
const BEATS_IN_SILENCE: u32 = 3;

/// What can be chosen for a session; the defaults suit most.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionOptions {
    /// How agents are started.
    pub launcher: Launcher,
    /// Children of a node at most: the width of the tree between hosts. Not used with a [`layout`](Self::layout).
    pub fanout: u32,
    /// Agents that a node starts at the same time at most.
    pub concurrency: u32,
    /// Members that one agent starts at most; a host with more has several agents. Not used with a [`layout`](Self::layout).
    pub members_per_agent: u32,
    /// Every agent with its host, its members and how many are below it; `None`: agents are made as the hosts of the process
    /// distributions need them. The distributions with a program then have as many processes on each host as the agents there
    /// start, in the order of the agents. Behind them come those whose members attach, on hosts that have agents.
    pub layout: Option<Vec<AgentLayout>>,
    /// How long a host may take to answer.
    pub host_deadline: Duration,
    /// How long the launch may take in all; `None`: as long as the hosts.
    pub deadline: Option<Duration>,
    /// Go on without hosts that cannot be reached as long as so many remain; `None`: all are needed.
    pub min_hosts: Option<usize>,
    /// Whether members do not need each other: those that cannot be started count as ended, by
    /// [`ExitState::NeverStarted`](crate::ExitState::NeverStarted), and the others go on. Otherwise the launch fails.
    ///
    /// Without [`min_hosts`](Self::min_hosts), hosts do not wait for each other either. The launch returns at once, members
    /// start as their hosts answer, and those of a host that cannot be reached count as lost, with a
    /// [`Problem`](crate::Problem) among the events. Agents that one command starts, as Slurm's, are waited for all the same.
    pub independent: bool,
    /// What becomes of processes that members leave behind when they end, such as daemons.
    pub leftovers: Leftovers,
    /// How long members have between SIGTERM and SIGKILL when the session ends.
    pub grace: Duration,
    /// How often nodes say that they live; more often if [`silence`](Self::silence) is short.
    pub heartbeat: Duration,
    /// After how much silence a node counts as lost, and a front-end as gone.
    pub silence: Duration,
    /// Whether links between hosts are encrypted; they are authenticated in any case.
    pub encrypt: bool,
    /// The program to use as agent; `None`: this program, if it called
    /// [`become_agent_if_asked`](crate::become_agent_if_asked), or `banyan` in `PATH`.
    pub agent: Option<PathBuf>,
    /// A path at which every host has the agent program; `None`: with ssh and Slurm, hosts that lack it get it; with other
    /// commands all have it at its path here.
    pub installed_agent: Option<String>,
    /// The directory in which hosts keep the agent program that they get, from which programs must be allowed to start;
    /// variables such as `$USER` are the host's. `None`: `banyan/agents` in `XDG_CACHE_HOME`, or in `.cache` at home; where
    /// that cannot be used, a directory of the user's own in `$TMPDIR`, `/tmp`, `/dev/shm` or `$XDG_RUNTIME_DIR`.
    pub agent_directory: Option<String>,
    /// How long members that [attach](crate::ProcessDistribution::attached) may take to come; `None`: as long as the session
    /// lasts.
    pub attach_deadline: Option<Duration>,
    /// The directory for what is [staged](crate::Session::stage) into the cache, with `{host}` for the name of the host;
    /// `None`: `banyan/files` in `XDG_CACHE_HOME`, or in `.cache` at home.
    pub cache: Option<PathBuf>,
    /// The front-end's note for the [extension](crate::AgentExtension) of its agents, up to 64 KiB; `None`: they have none.
    ///
    /// The agent program must be one that calls [`become_agent_if_asked_with`](crate::become_agent_if_asked_with).
    pub extension: Option<SecretBytes>,
    /// Is told which hosts have not answered: after the first second of a launch, whenever that changes, and in the end that
    /// there are none. It is called by a thread of the session's.
    pub awaited: Option<fn(&[&str])>,
    /// The TCP port at which the front-end's part of the extension listens, also at the loopback address: the tunnels of agents
    /// right below the front-end ([`ExtensionControl::tunnel`](crate::ExtensionControl::tunnel)) lead there. `None`: they are
    /// closed.
    pub extension_port: Option<u16>,
    /// Is told what a launch waits for that may take long: that Slurm has put it into its queue, for example, where no host's
    /// deadline counts. It is called by a thread of the session's.
    pub notice: Option<fn(&str)>,
    /// What agents log, and who takes it; `None`: they log nothing.
    pub agent_log: Option<AgentLog>,
}

banyan_ndr::setters!(SessionOptions {
    launcher: Launcher,
    fanout: u32,
    concurrency: u32,
    members_per_agent: u32,
    host_deadline: Duration,
    deadline: impl Into<Option<Duration>>,
    min_hosts: impl Into<Option<usize>>,
    independent: bool,
    leftovers: Leftovers,
    grace: Duration,
    heartbeat: Duration,
    silence: Duration,
    encrypt: bool,
    attach_deadline: impl Into<Option<Duration>>,
    awaited: Option<fn(&[&str])>,
    extension_port: impl Into<Option<u16>>,
    notice: Option<fn(&str)>,
} some {
    layout: Vec<AgentLayout>,
    agent: impl Into<PathBuf>,
    installed_agent: impl Into<String>,
    agent_directory: impl Into<String>,
    cache: impl Into<PathBuf>,
    extension: impl Into<SecretBytes>,
    agent_log: AgentLog,
});

/// What becomes of processes that members leave behind when they end, such as daemons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Record)]
#[non_exhaustive]
pub enum Leftovers {
    /// They are ended with the session.
    #[default]
    End,
    /// The same, and each host with such processes names them in a [`Problem`](crate::Problem).
    Tell,
    /// They live on.
    Spare,
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            launcher: Launcher::Auto,
            fanout: 32,
            concurrency: 64,
            members_per_agent: MEMBERS_PER_AGENT,
            layout: None,
            host_deadline: Duration::from_secs(10),
            deadline: None,
            min_hosts: None,
            independent: false,
            leftovers: Leftovers::End,
            grace: Duration::from_secs(2),
            heartbeat: Duration::from_secs(1),
            silence: Duration::from_secs(3),
            encrypt: true,
            agent: None,
            installed_agent: None,
            agent_directory: None,
            attach_deadline: Some(Duration::from_secs(60)),
            cache: None,
            extension: None,
            awaited: None,
            extension_port: None,
            notice: None,
            agent_log: None,
        }
    }
}

impl SessionOptions {
    pub(crate) fn terms(&self) -> Terms {
        let milliseconds = |time: Duration| time.as_millis().try_into().unwrap_or(u64::MAX);
        Terms {
            concurrency: self.concurrency.max(1),
            host_deadline: milliseconds(self.host_deadline),
            grace: milliseconds(self.grace),
            heartbeat: milliseconds(self.heartbeat.min(self.silence / BEATS_IN_SILENCE)).max(1),
            silence: milliseconds(self.silence),
            encrypt: self.encrypt,
            attach_deadline: self.attach_deadline.map(milliseconds),
            cache: self.cache.as_ref().map(|cache| cache.as_os_str().as_bytes().to_vec()),
            leftovers: self.leftovers,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_silence_makes_nodes_speak_more_often() {
        let beats = |heartbeat, silence| {
            let [heartbeat, silence] = [heartbeat, silence].map(Duration::from_millis);
            SessionOptions { heartbeat, silence, ..SessionOptions::default() }.terms().heartbeat
        };
        assert_eq!([beats(1000, 3000), beats(1000, 300), beats(50, 300), beats(1000, 0)], [1000, 100, 50, 1]);
    }
}
