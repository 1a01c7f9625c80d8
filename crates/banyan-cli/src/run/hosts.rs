//! Which hosts, and how to reach them: the arguments that say so.

use std::path::PathBuf;

use banyan_boot::{HostSet, Launcher, SshOptions};
use clap::Args;

use crate::failure::Failure;

/// The variable with the hosts of a Slurm allocation.
const ALLOCATION: &str = "SLURM_JOB_NODELIST";

/// The host that is meant when none is named.
const THIS_MACHINE: &str = "localhost";

#[derive(Args)]
pub(crate) struct HostChoice {
    /// Hosts, such as node[1-128,200],gpu[01-16]; without any: this machine
    #[arg(short = 'w', long = "hosts", value_name = "HOSTS")]
    hosts: Vec<String>,
    /// A file with hosts, with comments behind #
    #[arg(long, value_name = "FILE")]
    hostfile: Vec<PathBuf>,
    /// Hosts to leave out
    #[arg(short = 'x', long, value_name = "HOSTS")]
    exclude: Vec<String>,
    /// How to start agents: auto, local, ssh, slurm, or command:TEMPLATE such as 'command:pdsh -w {hosts} {agent}'
    ///
    /// auto is slurm in an allocation, ssh if other hosts than this one are named, local otherwise. local acts out hosts
    /// of any name on this machine.
    #[arg(long, value_name = "LAUNCHER", default_value = "auto", value_parser = launcher)]
    launcher: Launcher,
    /// An argument for ssh, such as -Fconfig; may be given several times
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    ssh_arg: Vec<String>,
}

impl HostChoice {
    /// The hosts, at least one.
    pub(crate) fn hosts(&self) -> Result<HostSet, Failure> {
        let named = named_hosts(&self.hosts, &self.hostfile)?;
        let all = if named.is_empty() && !self.names_some() { self.unnamed()? } else { named };
        let mut left = all.clone();
        for text in &self.exclude {
            left = left.exclude(&HostSet::parse(text).map_err(|error| Failure::usage(format!("-x: {error}")))?);
        }
        if left.is_empty() {
            return Err(Failure::usage(format!(
                "no host is left of {} named; look at -w, --hostfile and -x",
                all.len()
            )));
        }
        Ok(left)
    }

    /// How to start agents there.
    pub(crate) fn launcher(&self) -> Launcher {
        let arguments = self.ssh_arg.clone();
        match &self.launcher {
            Launcher::Ssh(_) => Launcher::Ssh(SshOptions { arguments }),
            Launcher::Auto if !arguments.is_empty() => Launcher::Ssh(SshOptions { arguments }),
            Launcher::Auto if !self.names_some() && std::env::var_os(ALLOCATION).is_some() => {
                Launcher::Slurm { arguments: Vec::new() }
            }
            other => other.clone(),
        }
    }

    /// Whether hosts were named.
    pub(crate) fn names_some(&self) -> bool {
        !self.hosts.is_empty() || !self.hostfile.is_empty()
    }

    /// The hosts of the allocation, or this machine.
    fn unnamed(&self) -> Result<HostSet, Failure> {
        let allocated = match self.launcher() {
            Launcher::Slurm { .. } => std::env::var(ALLOCATION).ok(),
            _ => None,
        };
        let text = allocated.as_deref().unwrap_or(THIS_MACHINE);
        HostSet::parse(text).map_err(|error| Failure::usage(format!("{ALLOCATION}: {error}")))
    }
}

fn launcher(text: &str) -> Result<Launcher, String> {
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

/// The hosts that `-w` and `--hostfile` name.
pub(crate) fn named_hosts(texts: &[String], files: &[PathBuf]) -> Result<HostSet, Failure> {
    let mut all = HostSet::default();
    for text in texts {
        let hosts = HostSet::parse(text).and_then(|hosts| all.union(&hosts));
        all = hosts.map_err(|error| Failure::usage(format!("-w: {error}")))?;
    }
    for path in files {
        let hosts = HostSet::from_file(path).and_then(|hosts| all.union(&hosts));
        all = hosts.map_err(|error| Failure::usage(format!("--hostfile: {error}")))?;
    }
    Ok(all)
}
