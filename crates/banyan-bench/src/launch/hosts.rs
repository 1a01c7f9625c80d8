//! Launches over hosts: through ssh, through ssh when every connection takes long to open, and through Slurm.
//!
//! Banyan starts the bench's member, which joins and passes a barrier; the other starters run `true`. All of them use the
//! same hosts and the same ssh configuration, in turn, and the best run of each counts.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use banyan_boot::{HostSet, Launcher, SshOptions};

use super::LaunchBenchError;
use super::program::Program;
use super::rivals::{self, runs};
use super::rows::{self, LaunchRow};
use super::tree::Tree;

/// How often each starter is run.
const ROUNDS: u32 = 5;

/// How long a slow connection takes to open, in milliseconds.
const SLOW: &str = "200";

/// Members on each Slurm node.
const PER_NODE: u32 = 64;

/// Hosts to launch on, besides this machine.
#[derive(Debug, Clone)]
pub enum Hosts {
    /// By ssh, one member each.
    Ssh {
        /// Which.
        hosts: HostSet,
        /// The configuration for `ssh -F`; `None`: the user's.
        config: Option<PathBuf>,
    },
    /// By Slurm, many members each.
    Slurm {
        /// Which nodes.
        nodes: HostSet,
    },
}

/// Rows of all starters on these hosts.
pub(super) fn rows(
    hosts: &Hosts,
    program: &Program,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<LaunchRow>, LaunchBenchError> {
    match hosts {
        Hosts::Ssh { hosts, config } => {
            let ssh = Ssh { hosts, config: config.as_ref().map(|path| path.display().to_string()), program };
            let mut rows = ssh.first(progress)?;
            rows.extend(ssh.usual(progress)?);
            rows.extend(ssh.slow(progress)?);
            Ok(rows)
        }
        Hosts::Slurm { nodes } => slurm(nodes, program, progress),
    }
}

/// Somebody who starts one process on each host: its name, what it starts, and how long it took; `None` if it failed.
type Starter<'a> = (&'static str, &'a str, Box<dyn FnMut() -> Result<Option<Duration>, LaunchBenchError> + 'a>);

/// Lets every starter work in turn, several times, so that what else the machine does meets all of them alike.
fn in_turn(
    op: &'static str,
    members: u32,
    mut starters: Vec<Starter<'_>>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<LaunchRow>, LaunchBenchError> {
    let mut best: Vec<Option<Duration>> = vec![None; starters.len()];
    for _ in 0..ROUNDS {
        for ((name, _, run), best) in starters.iter_mut().zip(&mut best) {
            progress(&format!("{name}, {op}, {members} members"));
            *best = [*best, run()?].into_iter().flatten().min();
        }
    }
    let row = |((name, program, _), best): (&Starter<'_>, Option<Duration>)| {
        best.map(|best| LaunchRow::time(name, op, program, members, best))
    };
    Ok(starters.iter().zip(best).filter_map(row).collect())
}

struct Ssh<'a> {
    hosts: &'a HostSet,
    config: Option<String>,
    program: &'a Program,
}

impl Ssh<'_> {
    fn members(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The arguments of `ssh` for the configuration.
    fn arguments(&self) -> Vec<String> {
        self.config.iter().flat_map(|path| ["-F".to_owned(), path.clone()]).collect()
    }

    fn banyan(&self, arguments: Vec<String>) -> Result<Duration, LaunchBenchError> {
        let hosts = self.hosts.iter().map(|host| (host, 1));
        Tree::over(self.program, hosts, Launcher::Ssh(SshOptions { arguments }))?.ended()
    }

    /// The first launch: hosts that have not got the agent program get it.
    fn first(&self, progress: &mut dyn FnMut(&str)) -> Result<Vec<LaunchRow>, LaunchBenchError> {
        progress("banyan, first launch over ssh");
        let took = self.banyan(self.arguments())?;
        Ok(vec![LaunchRow::time("banyan", "first launch over ssh", &self.program.label, self.members(), took)])
    }

    fn usual(&self, progress: &mut dyn FnMut(&str)) -> Result<Vec<LaunchRow>, LaunchBenchError> {
        let hosts = self.hosts.to_string();
        let names: Vec<&str> = self.hosts.iter().collect();
        let options = self.arguments().join(" ");
        let mut starters: Vec<Starter<'_>> =
            vec![("banyan", &self.program.label, Box::new(|| self.banyan(self.arguments()).map(Some)))];
        let mut rival = |name, command: Command| {
            let mut command = command;
            starters.push((name, "true", Box::new(move || Ok(rivals::time(&mut command)))));
        };
        if runs("pdsh", "-V") {
            let mut command = rivals::limited(&["pdsh", "-R", "ssh", "-f", "64", "-w", &hosts, "true"]);
            command.env("PDSH_SSH_ARGS_APPEND", &options);
            rival("pdsh", command);
        }
        if runs("clush", "--version") {
            rival("clush", rivals::limited(&["clush", "-f", "64", "-o", &options, "-w", &hosts, "true"]));
        }
        if runs("parallel-ssh", "--version") {
            let joined = names.join(" ");
            rival("pssh", rivals::limited(&["parallel-ssh", "-p", "64", "-x", &options, "-H", &joined, "true"]));
        }
        let mut rows = in_turn("launch over ssh", self.members(), starters, progress)?;
        rows::compare(&mut rows, "pdsh");
        Ok(rows)
    }

    /// Every connection waits before it is made, as over a long distance or through a slow gateway.
    fn slow(&self, progress: &mut dyn FnMut(&str)) -> Result<Vec<LaunchRow>, LaunchBenchError> {
        let op = "launch over slow ssh";
        let mut arguments = self.arguments();
        let proxy = format!("ProxyCommand={} connect {SLOW} %h %p", self.program.path.display());
        arguments.extend(["-o".into(), proxy, "-o".into(), "ProxyUseFdpass=yes".into()]);
        let banyan = || self.banyan(arguments.clone()).map(Some);
        let starters: Vec<Starter<'_>> = vec![("banyan", &self.program.label, Box::new(banyan))];
        let mut rows = in_turn(op, self.members(), starters, progress)?;
        progress("one after another, over slow ssh");
        let begin = Instant::now();
        let one = |host: &str| {
            let mut command = rivals::limited(&["ssh"]);
            rivals::time(command.args(&arguments).args([host, "true"]))
        };
        if self.hosts.iter().all(|host| one(host).is_some()) {
            rows.push(LaunchRow::time("sequential", op, "true", self.members(), begin.elapsed()));
        }
        rows::compare(&mut rows, "sequential");
        Ok(rows)
    }
}

fn slurm(
    nodes: &HostSet,
    program: &Program,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<LaunchRow>, LaunchBenchError> {
    let count = nodes.len() as u32;
    let members = count * PER_NODE;
    let list = nodes.to_string();
    let (on, tasks) = (format!("-N{count}"), format!("-n{members}"));
    let mut srun = rivals::limited(&["srun", &on, &tasks, "-w", &list, "true"]);
    let banyan = || {
        let hosts = nodes.iter().map(|host| (host, PER_NODE));
        Tree::over(program, hosts, Launcher::Slurm { arguments: Vec::new() })?.ended().map(Some)
    };
    let starters: Vec<Starter<'_>> = vec![
        ("banyan", &program.label, Box::new(banyan)),
        ("srun", "true", Box::new(move || Ok(rivals::time(&mut srun)))),
    ];
    let mut rows = in_turn("launch by Slurm", members, starters, progress)?;
    rows::compare(&mut rows, "srun");
    Ok(rows)
}
