//! Which hosts, and how to reach them: the arguments of every verb that starts something there.

mod allocation;
mod clustershell;
mod groups;
mod least;
mod missing;
mod named;
mod slurm;
mod yaml;

use std::cell::OnceCell;
use std::time::{Duration, Instant};

use banyan_boot::process::Limits;
use banyan_boot::{HostSet, LaunchError, Launcher, ProblemKind, SessionOptions, SshOptions};
use clap::Args;

use crate::arrival;
use crate::config::Config;
use crate::failure::{Failure, warn};
use crate::log;
use crate::status;
use allocation::Allocation;
pub(crate) use groups::check as check_groups;
pub(crate) use least::Least;
pub(crate) use missing::Missing;
pub(crate) use named::NamedHosts;
pub(crate) use slurm::nodes_of_job;

/// The heading of options that name and reach hosts.
pub(crate) const HEADING: &str = "Hosts";

/// The variable with the hosts of a Slurm allocation.
pub const ALLOCATION: &str = "SLURM_JOB_NODELIST";

/// How long a host may be silent while it works: a switch that restarts, or a link that flaps, is no reason to end a job.
const PATIENCE: Duration = Duration::from_secs(60);

/// The host that is meant when none is named.
pub(crate) const THIS_MACHINE: &str = "localhost";

/// Hosts, how agents are started there, and how long that and everything may take. What is not given is as the
/// configuration file says.
#[derive(Args)]
pub(crate) struct HostChoice {
    #[command(flatten)]
    pub(crate) named: NamedHosts,
    /// Run on N nodes chosen by Slurm, from the current allocation or a new one
    ///
    /// salloc makes a new allocation. Set its other options by its variables, such as SALLOC_PARTITION.
    #[arg(short = 'N', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["hosts", "groups", "hostfile"])]
    nodes: Option<u32>,
    #[arg(skip)]
    allocation: OnceCell<Allocation>,
    /// How to start agents: auto, local, ssh, slurm, or command:TEMPLATE such as 'command:pdsh -w {hosts} {agent}'
    ///
    /// auto is slurm in an allocation, ssh if hosts other than this one are named, and local otherwise. local simulates
    /// hosts of any name on this machine.
    #[arg(long, value_name = "LAUNCHER", value_parser = launcher)]
    launcher: Option<Launcher>,
    /// Pass an argument to ssh, such as -Fconfig; may be given several times
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    ssh_arg: Vec<String>,
    /// At most N children per node in the tree of agents [default: 32]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    fanout: Option<u32>,
    /// End everything after this time, such as 30s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// Give up a host that does not answer within this time [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    host_timeout: Option<Duration>,
    /// Count a connected host as lost after this time of silence [default: 60s with run and copy, 3s with others]
    #[arg(long, value_name = "TIME", value_parser = time)]
    silence: Option<Duration>,
    /// Start only if at least N hosts, or P% of them, have answered
    ///
    /// The verb waits until every host has answered or was given up. Hosts that are left out are listed, and do not change the
    /// exit status. Use 100% for all or nothing. Without this option, run and copy start on each host as soon as it answers;
    /// top and stack wait for all. The exit status is then 3 if some host did not answer.
    #[arg(long, value_name = "N|P%")]
    min_hosts: Option<Least>,
    /// The directory on each host for the agent program, such as '/scratch/$USER/banyan'
    ///
    /// Its file system must permit execution. The default is banyan/agents in the user's cache directory. If that is full or
    /// unusable, a private directory in $TMPDIR, /tmp or /dev/shm is used.
    #[arg(long, value_name = "DIR")]
    agent_dir: Option<String>,
    /// Do not encrypt connections between hosts; they are still authenticated
    #[arg(long)]
    no_encrypt: bool,
}

impl HostChoice {
    /// The hosts, at least one: those named, or those of the allocation, or this machine.
    pub(crate) fn hosts(&self) -> Result<HostSet, Failure> {
        match self.named.named()? {
            Some(hosts) => Ok(hosts),
            None => self.named.left_of(match self.nodes {
                Some(count) => self.nodes_of_slurm(count)?,
                None => self.unnamed()?,
            }),
        }
    }

    /// Whether any were asked for, by name or number.
    pub(crate) fn names_some(&self) -> bool {
        self.named.names_some() || self.nodes.is_some()
    }

    /// So many nodes: of the allocation that this command is in, or of one that is made for it.
    fn nodes_of_slurm(&self, count: u32) -> Result<HostSet, Failure> {
        let Launcher::Slurm { .. } = self.launcher()? else {
            return Err(Failure::usage("--nodes is for nodes of Slurm; name other hosts with -w, -g or --hostfile"));
        };
        if std::env::var_os(ALLOCATION).is_some() {
            let all = self.unnamed()?;
            if all.len() < count as usize {
                return Err(Failure::usage(format!("--nodes {count}: this allocation has {} ({all})", all.len())));
            }
            let some = HostSet::from_names(all.iter().take(count as usize));
            return some.map_err(|error| Failure::usage(format!("{ALLOCATION}: {error}")));
        }
        if self.allocation.get().is_none() {
            // Nobody else has set it meanwhile.
            let _ = self.allocation.set(Allocation::of(count, self.timeout()?)?);
        }
        Ok(self.allocation.get().map_or_else(HostSet::default, |allocation| allocation.hosts().clone()))
    }

    /// How a session on so many hosts is opened. A configured least number may be more: then none may be missing.
    pub(crate) fn options(&self, hosts: usize) -> Result<SessionOptions, Failure> {
        if let Some(least) = self.min_hosts.filter(|least| least.of(hosts) > hosts) {
            let there = if hosts == 1 { "there is 1 host".to_owned() } else { format!("there are {hosts} hosts") };
            let remedy = "write a smaller number, or name more hosts with -w, -g or --hostfile";
            return Err(Failure::usage(format!("--min-hosts {least}: {there}; {remedy}")));
        }
        let (mut options, configured) = (SessionOptions::default(), &Config::get()?.defaults);
        let waited = self.allocation.get().map_or(Duration::ZERO, Allocation::waited);
        options.launcher = self.launcher()?;
        options.fanout = self.fanout.or(configured.fanout).unwrap_or(options.fanout);
        options.host_deadline = self.host_timeout.or(configured.host_timeout).unwrap_or(options.host_deadline);
        options.deadline = self.timeout()?.map(|limit| limit.saturating_sub(waited));
        options.silence = self.silence.or(configured.silence).unwrap_or(options.silence);
        options.min_hosts = self.least()?.map(|least| least.of(hosts));
        options.agent_directory = self.agent_dir.clone().or_else(|| configured.agent_dir.clone());
        options.encrypt = !self.no_encrypt;
        options.awaited = Some(arrival::awaited);
        options.notice = Some(|text| warn(text));
        options.agent_log = log::of_agents();
        Ok(options)
    }

    /// The same on hosts that were found, such as those of a job: they are reached as if they had been named.
    pub(crate) fn options_on(&self, hosts: &HostSet) -> Result<SessionOptions, Failure> {
        let mut options = self.options(hosts.len())?;
        let is_elsewhere = hosts.iter().any(|host| host != THIS_MACHINE) && std::env::var_os(ALLOCATION).is_none();
        options.launcher = match options.launcher {
            Launcher::Auto if is_elsewhere => Launcher::Ssh(SshOptions::default().arguments(self.ssh_arguments()?)),
            other => other,
        };
        Ok(options)
    }

    /// How many hosts are enough, if that was said: those that are left out then do not change the exit status.
    pub(crate) fn least(&self) -> Result<Option<Least>, Failure> {
        Ok(self.min_hosts.or(Config::get()?.defaults.min_hosts))
    }

    /// The same for a network, whose tree is made of hosts that are known to be there: it begins when all have answered or were
    /// given up.
    pub(crate) fn network_options(&self, hosts: &HostSet) -> Result<SessionOptions, Failure> {
        let mut options = self.options_on(hosts)?;
        options.min_hosts = options.min_hosts.or(Some(1));
        Ok(options)
    }

    /// The same for work that a short outage of the network must not end.
    pub(crate) fn patient_options(&self, hosts: usize) -> Result<SessionOptions, Failure> {
        let silence = self.silence.or(Config::get()?.defaults.silence).unwrap_or(PATIENCE);
        Ok(self.options(hosts)?.silence(silence))
    }

    /// When everything has to end that begins now.
    pub(crate) fn deadline(&self, begin: Instant) -> Result<Option<Instant>, Failure> {
        Ok(self.timeout()?.and_then(|time| begin.checked_add(time)))
    }

    /// The limit for everything, if the user has given one.
    pub(crate) fn timeout(&self) -> Result<Option<Duration>, Failure> {
        // What was given holds whatever is wrong with the configuration.
        self.timeout.map_or_else(|| Ok(Config::get()?.defaults.timeout), |given| Ok(Some(given)))
    }

    /// The arguments of ssh.
    pub(crate) fn ssh_arguments(&self) -> Result<Vec<String>, Failure> {
        match &self.ssh_arg[..] {
            [] => Ok(Config::get()?.defaults.ssh_args.clone().unwrap_or_default()),
            given => Ok(given.to_vec()),
        }
    }

    fn launcher(&self) -> Result<Launcher, Failure> {
        let chosen = self.launcher.as_ref().or(Config::get()?.defaults.launcher.as_ref());
        let arguments = self.ssh_arguments()?;
        Ok(match chosen.cloned().unwrap_or_default() {
            Launcher::Auto | Launcher::Slurm { .. } if self.nodes.is_some() => {
                Launcher::Slurm { arguments: self.allocation.get().map(Allocation::argument).into_iter().collect() }
            }
            Launcher::Ssh(_) => Launcher::Ssh(SshOptions::default().arguments(arguments)),
            Launcher::Auto if !self.ssh_arg.is_empty() => Launcher::Ssh(SshOptions::default().arguments(arguments)),
            Launcher::Auto if !self.named.names_some() && std::env::var_os(ALLOCATION).is_some() => {
                Launcher::Slurm { arguments: Vec::new() }
            }
            // Configured arguments are for when it comes to ssh; this machine and allocations need none.
            Launcher::Auto if !arguments.is_empty() && self.comes_to_ssh()? => {
                Launcher::Ssh(SshOptions::default().arguments(arguments))
            }
            other => other,
        })
    }

    /// Whether agents are started by ssh.
    pub(crate) fn uses_ssh(&self) -> Result<bool, Failure> {
        Ok(match self.launcher()? {
            Launcher::Ssh(_) => true,
            Launcher::Auto => self.comes_to_ssh()?,
            _ => false,
        })
    }

    fn comes_to_ssh(&self) -> Result<bool, Failure> {
        let elsewhere = self.named.named()?.is_some_and(|hosts| hosts.iter().any(|host| host != THIS_MACHINE));
        Ok(elsewhere && std::env::var_os(ALLOCATION).is_none())
    }

    /// The hosts of the allocation, or this machine.
    fn unnamed(&self) -> Result<HostSet, Failure> {
        let allocated = match self.launcher()? {
            Launcher::Slurm { .. } => std::env::var(ALLOCATION).ok(),
            _ => None,
        };
        let text = allocated.as_deref().unwrap_or(THIS_MACHINE);
        HostSet::parse(text).map_err(|error| Failure::usage(format!("{ALLOCATION}: {error}")))
    }
}

/// How a launcher is written.
pub(crate) fn launcher(text: &str) -> Result<Launcher, String> {
    match (text, text.split_once(':')) {
        ("auto", _) => Ok(Launcher::Auto),
        ("local", _) => Ok(Launcher::Local),
        ("ssh", _) => Ok(Launcher::Ssh(SshOptions::default())),
        ("slurm", _) => Ok(Launcher::Slurm { arguments: Vec::new() }),
        (_, Some(("command", template))) if !template.trim().is_empty() => {
            Ok(Launcher::Command { template: template.into() })
        }
        _ => {
            Err("there are auto, local, ssh, slurm and command:TEMPLATE, for example 'command:pdsh -w {hosts} {agent}'"
                .into())
        }
    }
}

/// A time as limits are written, so that there is one way to write it.
pub fn time(text: &str) -> Result<Duration, String> {
    let limits: Limits = format!("time={text}").parse().map_err(|_| "write for example 500ms, 1.5s, 10m or 2h")?;
    limits.time.filter(|time| !time.is_zero()).ok_or_else(|| "write more than nothing, for example 30s".into())
}

/// The exit status of a launch that failed.
pub(crate) fn launch_status(error: &LaunchError) -> u8 {
    match error {
        LaunchError::NoHosts
        | LaunchError::BadHost(..)
        | LaunchError::TooMany
        | LaunchError::TooManyProcesses { .. }
        | LaunchError::Launcher(_) => status::USAGE,
        LaunchError::Problems { problems, .. } => {
            let only_members = problems.iter().all(|problem| problem.kind == ProblemKind::NotStarted);
            if only_members { status::MEMBER_FAILED } else { status::UNREACHABLE }
        }
        LaunchError::TooSlow { .. } => status::TIME_LIMIT,
        _ => status::MEMBER_FAILED,
    }
}
