//! Which hosts: the arguments that name them.

use std::path::PathBuf;

use banyan_boot::{HostSet, HostSetError};
use clap::Args;

use super::groups::Groups;
use crate::config::Config;
use crate::failure::Failure;

#[derive(Args)]
pub(crate) struct NamedHosts {
    /// Hosts, such as node[1-128,200],gpu[01-16],@group
    ///
    /// Quote them if the shell gives [ ], ! or & a meaning, as zsh does.
    #[arg(short = 'w', long = "hosts", value_name = "HOSTS")]
    hosts: Vec<String>,
    /// A group from the configuration file or ClusterShell, or slurm:PARTITION; the same as -w @GROUP
    #[arg(short = 'g', long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// A file that lists hosts; # starts a comment
    #[arg(long, value_name = "FILE")]
    hostfile: Vec<PathBuf>,
    /// Hosts to leave out
    #[arg(short = 'x', long, value_name = "HOSTS")]
    exclude: Vec<String>,
}

impl NamedHosts {
    /// Whether any were asked for.
    pub(crate) fn names_some(&self) -> bool {
        !self.hosts.is_empty() || !self.groups.is_empty() || !self.hostfile.is_empty()
    }

    /// The hosts that were named, without those to leave out; at least one. Nothing if none were named.
    pub(crate) fn named(&self) -> Result<Option<HostSet>, Failure> {
        self.names_some().then(|| self.left_of(self.all()?)).transpose()
    }

    /// What is left of hosts without those to leave out; at least one.
    pub(crate) fn left_of(&self, all: HostSet) -> Result<HostSet, Failure> {
        let groups = Groups::new(Config::get()?);
        let mut left = all.clone();
        for text in &self.exclude {
            left = left.exclude(&groups.parse(text).map_err(|error| Failure::usage(format!("-x: {error}")))?);
        }
        if all.is_empty() {
            return Err(Failure::usage("no host is named; look at -w, -g and --hostfile"));
        }
        if left.is_empty() {
            return Err(Failure::usage(format!(
                "no host is left of {} named; look at -w, -g, --hostfile and -x",
                all.len()
            )));
        }
        Ok(left)
    }

    fn all(&self) -> Result<HostSet, Failure> {
        let groups = Groups::new(Config::get()?);
        let mut all = HostSet::default();
        for text in &self.hosts {
            let hosts = groups.parse(text).and_then(|hosts| all.union(&hosts));
            all = hosts.map_err(|error| Failure::usage(format!("-w: {error}")))?;
        }
        for name in &self.groups {
            let hosts = groups.parse(&format!("@{}", name.trim_start_matches('@')));
            let hosts = hosts.and_then(|hosts| all.union(&hosts));
            all = hosts.map_err(|error| Failure::usage(format!("-g: {error}")))?;
        }
        for path in &self.hostfile {
            let hosts = groups.file(path).and_then(|hosts| all.union(&hosts));
            all = hosts.map_err(|error| bad_file(&error))?;
        }
        Ok(all)
    }
}

/// Why a file gives no hosts.
fn bad_file(error: &HostSetError) -> Failure {
    let message = format!("--hostfile: {error}");
    match error {
        HostSetError::File { source, .. } => Failure::unreadable(message, source),
        _ => Failure::usage(message),
    }
}
