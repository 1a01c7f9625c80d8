//! `@GROUP`: the hosts that a name stands for.
//!
//! `@name` is a group of the configuration file or else of ClusterShell's default source; `@source:name` a group of one
//! of ClusterShell's sources, `@slurm:partition` the nodes of a partition, `@slurm-job:id` those of a job. Groups may be
//! made of groups; each is worked out once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::path::Path;

use banyan_boot::{HostSet, HostSetError};

use super::clustershell::Clustershell;
use super::slurm;
use crate::config::Config;
use crate::speech::note;

/// Groups named in an error, at most.
const SHOWN: usize = 12;

/// All groups that can be named here.
pub(super) struct Groups {
    config: &'static Config,
    clustershell: OnceCell<Result<Clustershell, String>>,
    known: RefCell<HashMap<String, HostSet>>,
    /// Those that are being worked out: none of them can be part of itself.
    path: RefCell<Vec<String>>,
}

/// How a group was defined.
pub(super) struct Definition {
    /// The hosts, as people write them.
    pub(super) hosts: String,
    /// Where that stands; empty if a program said so.
    pub(super) place: String,
    /// The source of ClusterShell to which names without source in it belong.
    pub(super) source: Option<String>,
}

impl Groups {
    pub(super) fn new(config: &'static Config) -> Groups {
        Groups { config, clustershell: OnceCell::new(), known: RefCell::default(), path: RefCell::default() }
    }

    /// Hosts and groups as people write them.
    pub(super) fn parse(&self, text: &str) -> Result<HostSet, HostSetError> {
        HostSet::parse_with(text, |name| self.find(name, None))
    }

    /// A file of hosts and groups.
    pub(super) fn file(&self, path: &Path) -> Result<HostSet, HostSetError> {
        HostSet::from_file_with(path, |name| self.find(name, None))
    }

    /// The hosts of a group, which was named in a source of ClusterShell or outside of any.
    fn find(&self, name: &str, within: Option<&str>) -> Result<HostSet, String> {
        let full = match within {
            Some(source) if !name.contains(':') => format!("{source}:{name}"),
            _ => name.to_owned(),
        };
        if let Some(hosts) = self.known.borrow().get(&full) {
            return Ok(hosts.clone());
        }
        if self.path.borrow().contains(&full) {
            let path = self.path.borrow().join(" of @");
            return Err(format!("is part of itself (@{path}); take it out of one of them"));
        }
        let definition = self.definition(&full)?;
        self.path.borrow_mut().push(full.clone());
        let hosts = HostSet::parse_with(&definition.hosts, |inner| self.find(inner, definition.source.as_deref()));
        self.path.borrow_mut().pop();
        let hosts = hosts.map_err(|error| match definition.place.as_str() {
            "" => error.to_string(),
            place => format!("{place}: {error}"),
        })?;
        note(format_args!("group @{full}: {hosts}"));
        self.known.borrow_mut().insert(full, hosts.clone());
        Ok(hosts)
    }

    fn definition(&self, name: &str) -> Result<Definition, String> {
        match name.split_once(':') {
            Some((slurm::PARTITIONS, partition)) => slurm::partition(partition),
            Some((slurm::JOBS, job)) => slurm::job(job),
            Some((source, group)) => {
                self.clustershell()?.group(Some(source), group, self.config.upcalls)?.ok_or_else(|| self.unknown())
            }
            None => match self.config.groups.get(name) {
                Some(group) => Ok(Definition { hosts: group.hosts.clone(), place: group.place.clone(), source: None }),
                None => self.clustershell()?.group(None, name, self.config.upcalls)?.ok_or_else(|| self.unknown()),
            },
        }
    }

    fn clustershell(&self) -> Result<&Clustershell, String> {
        self.clustershell.get_or_init(Clustershell::read).as_ref().map_err(Clone::clone)
    }

    fn unknown(&self) -> String {
        let mut names: Vec<String> = self.config.groups.keys().cloned().collect();
        if let Ok(clustershell) = self.clustershell() {
            names.extend(clustershell.names());
        }
        names.sort_unstable();
        names.dedup();
        let more = names.len().saturating_sub(SHOWN);
        names.truncate(SHOWN);
        match (names.is_empty(), more) {
            (true, _) => {
                let files = crate::config::files();
                let file =
                    files.last().map_or_else(|| "a configuration file".into(), |file| file.display().to_string());
                format!("is no group; define it in {file} under [groups]")
            }
            (false, 0) => format!("is no group; there are {}", names.join(", ")),
            (false, more) => format!("is no group; there are {} and {more} more", names.join(", ")),
        }
    }
}

/// Whether all groups of the configuration file can be worked out; or why the first that cannot cannot.
pub(crate) fn check(config: &'static Config) -> Result<(), String> {
    let groups = Groups::new(config);
    config.groups.keys().try_for_each(|name| groups.find(name, None).map(|_| ()))
}
