//! What it takes to start all agents by one command: the front-end's listener, the roster, and the command itself.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use banyan_link::{Listener, Secret, SecretBytes, SessionId};

use super::program::AgentProgram;
use super::slurm::SlurmStep;
use super::{Launcher, Starter, command, slurm};
use crate::assignment::Assignment;
use crate::distribution::{HostDistribution, ProcessDistribution};
use crate::error::LaunchError;
use crate::layout::AgentPlan;
use crate::listening::{listen_at, port_of};
use crate::machine;
use crate::node::child::Upload;
use crate::options::SessionOptions;
use crate::problem::{Problem, ProblemKind};
use crate::roster::{AgentHost, Roster};
use banyan_hosts::{HostSet, tasks_per_node};

/// The variable that names a directory for rosters which all hosts see.
const ROSTER_DIRECTORY: &str = "BANYAN_ROSTER_DIR";

/// Everything the root needs to start all agents at once.
pub(crate) struct StartTogether {
    pub(crate) listener: Listener,
    pub(crate) secret: Secret,
    pub(crate) starter: Starter,
    /// What the command gets on its standard input: the agent program, where it has to travel, …
    pub(crate) upload: Option<Upload>,
    /// … and the roster.
    pub(crate) input: SecretBytes,
    /// Whether hosts that lack the agent program say so.
    pub(crate) asks: bool,
    /// Removed when it is dropped.
    pub(crate) file: Option<RosterFile>,
    /// Is told what the command waits for.
    pub(crate) notice: Option<fn(&str)>,
}

impl StartTogether {
    /// Prepares everything, and starts nothing. `brings`: some hosts lack the agent program.
    pub(crate) fn prepare(
        options: &SessionOptions,
        assignment: &Assignment,
        agent: &AgentProgram,
        brings: bool,
    ) -> Result<StartTogether, LaunchError> {
        let launcher = &options.launcher;
        let hosts: Vec<String> = assignment.agents.iter().map(|agent| agent.host.clone()).collect();
        let secret = Secret::random().map_err(LaunchError::System)?;
        let arguments = if let Launcher::Slurm { arguments } = launcher { &arguments[..] } else { &[] };
        let places = match launcher {
            Launcher::Command { .. } => places(&assignment.agents, &[]),
            _ => {
                let nodes = slurm_nodes(&hosts)?;
                if !slurm::has_nodes(arguments) {
                    check_usable(&nodes, assignment, options)?;
                }
                places(&assignment.agents, &nodes)
            }
        };
        let mut roster = Roster::new(assignment, secret.clone(), places, Vec::new());
        let listener = listen_at(0, &roster.link_options()).map_err(LaunchError::System)?;
        let port = port_of(&listener);
        roster.front_end =
            machine::local_addresses().into_iter().map(|address| SocketAddr::new(address, port)).collect();
        let text = roster.to_text().map_err(|error| LaunchError::Launcher(error.to_string()))?;
        let (starter, input, file) = match launcher {
            Launcher::Command { template } => {
                let file = RosterFile::write(roster.session, &text).map_err(LaunchError::Launcher)?;
                let starter = command::all(template, &hosts, &file.path, agent).map_err(LaunchError::Launcher)?;
                (starter, SecretBytes::default(), Some(file))
            }
            _ => {
                let folded = HostSet::from_names(&hosts).map_err(|error| LaunchError::Launcher(error.to_string()))?;
                let (hosts, count, shares) = (&*folded.to_string(), hosts.len(), slurm::has_nodes(arguments));
                let starter = slurm::all(&SlurmStep { hosts, count, arguments, shares, brings }, agent);
                (starter, text, None)
            }
        };
        let upload = brings.then(|| Upload::new(agent)).transpose().map_err(LaunchError::System)?;
        // Only what Slurm starts looks for the program, by what it is.
        let asks = !brings && !agent.hash.is_empty();
        Ok(StartTogether { listener, secret, starter, upload, input, asks, file, notice: options.notice })
    }
}

/// Distributions that name no hosts get those of the allocation, with as many processes as it has tasks there.
pub(crate) fn fill_in_hosts(distributions: &mut [ProcessDistribution]) -> Result<(), LaunchError> {
    if !slurm::inside_an_allocation() {
        return Ok(());
    }
    let wrong = |error: String| LaunchError::Launcher(format!("the allocation's variables cannot be used: {error}"));
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    for distribution in distributions.iter_mut().filter(|one| one.hosts.is_empty() && one.exe.is_some()) {
        let hosts = HostSet::parse(&variable(slurm::HOSTS)).map_err(|error| wrong(error.to_string()))?;
        let tasks = tasks_per_node(&variable(slurm::TASKS)).map_err(|error| wrong(error.to_string()))?;
        let tasks = tasks.into_iter().chain(std::iter::repeat(1));
        let host = |(host, processes): (&str, u32)| HostDistribution { host: host.to_owned(), processes };
        distribution.hosts = hosts.iter().zip(tasks).map(host).collect();
    }
    Ok(())
}

fn places(agents: &[AgentPlan], nodes: &[slurm::SlurmNode]) -> Vec<AgentHost> {
    let addresses: std::collections::HashMap<&str, &str> =
        nodes.iter().map(|node| (node.name.as_str(), node.address.as_str())).collect();
    let place = |agent: &AgentPlan| AgentHost {
        host: agent.host.clone(),
        address: addresses.get(agent.host.as_str()).copied().unwrap_or_default().to_owned(),
        below: agent.below,
    };
    agents.iter().map(place).collect()
}

/// Refuses nodes for which Slurm would let us wait for ever.
fn check_usable(
    nodes: &[slurm::SlurmNode],
    assignment: &Assignment,
    options: &SessionOptions,
) -> Result<(), LaunchError> {
    let problem = |node: &slurm::SlurmNode| {
        let state = node.unusable.as_ref()?;
        let agent = assignment.agents.iter().find(|agent| agent.host == node.name)?;
        Some(Problem {
            host: node.name.clone(),
            kind: ProblemKind::Unreachable,
            cause: format!("Slurm gives it to no job ({state})"),
            remedy: format!("check with: scontrol show node {}", node.name),
            members: agent.ranks().to_string(),
        })
    };
    let problems: Vec<Problem> = nodes.iter().filter_map(problem).collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(LaunchError::Problems { problems, hosts: assignment.agents.len(), least: options.min_hosts }),
    }
}

/// What Slurm's controller knows of these nodes.
fn slurm_nodes(hosts: &[String]) -> Result<Vec<slurm::SlurmNode>, LaunchError> {
    let folded = HostSet::from_names(hosts).map_err(|error| LaunchError::Launcher(error.to_string()))?.to_string();
    let output = Command::new("scontrol").args(["show", "node", "--oneliner", &folded]).output();
    let output = output.map_err(|error| {
        LaunchError::Launcher(format!("scontrol cannot be run: {error}; the slurm launcher needs Slurm's commands"))
    })?;
    let known = slurm::nodes(&String::from_utf8_lossy(&output.stdout));
    if !output.status.success() && known.is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = if said.trim().is_empty() { String::from_utf8_lossy(&output.stdout) } else { said };
        let check = format!("scontrol show node {folded}");
        return Err(LaunchError::Launcher(format!("Slurm says: {}; check with: {check}", said.trim())));
    }
    Ok(known)
}

/// The name of a directory that is made for one roster.
fn own_directory(session: SessionId) -> String {
    format!("banyan-{session}")
}

/// A roster in a file that only its owner can read; removed when this is dropped.
#[derive(Debug)]
pub(crate) struct RosterFile {
    path: PathBuf,
    /// Made for it alone.
    directory: Option<PathBuf>,
}

impl RosterFile {
    /// The one that an agent was given; `None` if that came by standard input. Its front-end removes it when all agents
    /// have come, unless it is killed before.
    pub(crate) fn given(path: &OsStr, session: SessionId) -> Option<RosterFile> {
        let path = Path::new(path);
        let directory = path.parent().filter(|parent| parent.ends_with(own_directory(session)));
        (path != "-").then(|| RosterFile { path: path.to_owned(), directory: directory.map(Path::to_owned) })
    }

    /// The file, and the directory that was made for it.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        std::iter::once(&self.path).chain(&self.directory).cloned().collect()
    }

    fn write(session: SessionId, text: &SecretBytes) -> Result<RosterFile, String> {
        let chosen = std::env::var_os(ROSTER_DIRECTORY).or_else(|| std::env::var_os("XDG_RUNTIME_DIR"));
        let (folder, directory) = match chosen.filter(|path| Path::new(path).is_absolute()) {
            Some(folder) => (PathBuf::from(folder), None),
            None => {
                let own = std::env::temp_dir().join(own_directory(session));
                (own.clone(), Some(own))
            }
        };
        let file = RosterFile { path: folder.join(format!("banyan-roster-{session}")), directory };
        file.fill(text).map_err(|error| {
            let path = file.path.display();
            format!("the roster {path} cannot be written: {error}; set {ROSTER_DIRECTORY} to a directory of your own")
        })?;
        Ok(file)
    }

    fn fill(&self, text: &SecretBytes) -> io::Result<()> {
        if let Some(directory) = &self.directory {
            DirBuilder::new().mode(0o700).create(directory)?;
        }
        let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.path)?;
        file.write_all(text.expose())
    }
}

impl Drop for RosterFile {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = std::fs::remove_file(&self.path);
        if let Some(directory) = &self.directory {
            let _ = std::fs::remove_dir(directory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_roster_file_is_for_its_owner_and_goes_with_its_user() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("own");
        let file = RosterFile { path: own.join("roster"), directory: Some(own.clone()) };
        file.fill(&"text".to_owned().into()).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&own), mode(&file.path)), (0o700, 0o600));
        assert!(file.fill(&"again".to_owned().into()).is_err(), "a file that is there already is not taken");
        drop(file);
        assert!(!own.exists());
    }

    #[test]
    fn an_agent_removes_a_roster_that_its_front_end_left_and_the_directory_made_for_it() {
        let (place, session) = (tempfile::tempdir().unwrap(), SessionId([3; 16]));
        let own = place.path().join(own_directory(session));
        for directory in [place.path(), &own] {
            std::fs::create_dir_all(directory).unwrap();
            let path = directory.join("roster");
            std::fs::write(&path, "text").unwrap();
            drop(RosterFile::given(path.as_os_str(), session));
            assert!(!path.exists());
        }
        assert!(place.path().exists() && !own.exists());
        assert!(RosterFile::given(OsStr::new("-"), session).is_none());
    }

    #[test]
    fn hosts_without_a_known_address_are_found_by_name() {
        let agent = |host: &str, below| AgentPlan { host: host.into(), index: 0, below, groups: Vec::new() };
        let known = slurm::SlurmNode { name: "b".into(), address: "10.0.0.2".into(), unusable: None };
        let places = places(&[agent("a", 1), agent("b", 0)], &[known]);
        let shown: Vec<_> = places.iter().map(|place| (&*place.host, &*place.address, place.below)).collect();
        assert_eq!(shown, [("a", "", 1), ("b", "10.0.0.2", 0)]);
    }
}
