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
use super::rows::{self, LaunchFigures, LaunchRow};
use super::starter::{self, limited, runs};
use super::tree::LaunchedTree;

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

/// Figures of all starters on these hosts.
pub(super) fn figures(
    hosts: &Hosts,
    program: &Program,
    progress: &mut dyn FnMut(&str),
) -> Result<LaunchFigures, LaunchBenchError> {
    match hosts {
        Hosts::Ssh { hosts, config } => {
            let ssh = Ssh { hosts, config: config.as_ref().map(|path| path.display().to_string()), program };
            let mut figures = LaunchFigures::default();
            figures.rows.push(ssh.first(progress)?);
            figures.add(ssh.usual(progress)?);
            figures.add(ssh.slow(progress)?);
            Ok(figures)
        }
        Hosts::Slurm { nodes } => slurm(nodes, program, progress),
    }
}

/// Somebody who starts one process on each host: its name, what it starts, and how long it took, or why it failed.
type Starter<'a> = (&'static str, &'a str, Box<dyn FnMut() -> Result<Took, LaunchBenchError> + 'a>);

/// How long a starter took, or why it failed.
type Took = Result<Duration, String>;

/// Lets every starter work in turn, several times, so that what else the machine does meets all of them alike.
fn in_turn(
    op: &'static str,
    members: u32,
    mut starters: Vec<Starter<'_>>,
    progress: &mut dyn FnMut(&str),
) -> Result<LaunchFigures, LaunchBenchError> {
    let mut best: Vec<Took> = vec![Err(String::new()); starters.len()];
    for _ in 0..ROUNDS {
        for ((name, _, run), best) in starters.iter_mut().zip(&mut best) {
            progress(&format!("{name}, {op}, {members} members"));
            *best = match (&*best, run()?) {
                (Ok(before), took) => Ok(took.map_or(*before, |took| took.min(*before))),
                (Err(_), took) => took,
            };
        }
    }
    let mut figures = LaunchFigures::default();
    for ((name, program, _), best) in starters.iter().zip(best) {
        match best {
            Ok(best) => figures.rows.push(LaunchRow::time(name, op, program, members, best)),
            Err(why) => figures.leave_out(name, format!("{op}: {why}")),
        }
    }
    Ok(figures)
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
        LaunchedTree::over(self.program, hosts, Launcher::Ssh(SshOptions::default().arguments(arguments)))?.ended()
    }

    /// The first launch: hosts that have not got the agent program get it.
    fn first(&self, progress: &mut dyn FnMut(&str)) -> Result<LaunchRow, LaunchBenchError> {
        progress("banyan, first launch over ssh");
        let took = self.banyan(self.arguments())?;
        Ok(LaunchRow::time("banyan", "first launch over ssh", &self.program.label, self.members(), took))
    }

    fn usual(&self, progress: &mut dyn FnMut(&str)) -> Result<LaunchFigures, LaunchBenchError> {
        let op = "launch over ssh";
        let hosts = self.hosts.to_string();
        let names: Vec<&str> = self.hosts.iter().collect();
        let options = self.arguments().join(" ");
        let mut starters: Vec<Starter<'_>> =
            vec![("banyan", &self.program.label, Box::new(|| self.banyan(self.arguments()).map(Ok)))];
        let mut missing = LaunchFigures::default();
        let mut rival = |name, is_there: Result<(), String>, mut command: Command| match is_there {
            Ok(()) => starters.push((name, "true", Box::new(move || Ok(starter::time(&mut command))))),
            Err(why) => missing.leave_out(name, format!("{op}: {why}")),
        };
        let mut pdsh = limited(&["pdsh", "-R", "ssh", "-f", "64", "-w", &hosts, "true"]);
        pdsh.env("PDSH_SSH_ARGS_APPEND", &options);
        rival("pdsh", runs("pdsh", "-V"), pdsh);
        let clush = limited(&["clush", "-f", "64", "-o", &options, "-w", &hosts, "true"]);
        rival("clush", runs("clush", "--version"), clush);
        let pssh = limited(&["parallel-ssh", "-p", "64", "-x", &options, "-H", &names.join(" "), "true"]);
        rival("pssh", runs("parallel-ssh", "--version"), pssh);
        let mut figures = in_turn(op, self.members(), starters, progress)?;
        figures.add(missing);
        rows::compare(&mut figures.rows, "pdsh");
        Ok(figures)
    }

    /// Every connection waits before it is made, as over a long distance or through a slow gateway.
    fn slow(&self, progress: &mut dyn FnMut(&str)) -> Result<LaunchFigures, LaunchBenchError> {
        let op = "launch over slow ssh";
        let mut arguments = self.arguments();
        let proxy = format!("ProxyCommand={} connect {SLOW} %h %p", self.program.words().display());
        arguments.extend(["-o".into(), proxy, "-o".into(), "ProxyUseFdpass=yes".into()]);
        let banyan = || self.banyan(arguments.clone()).map(Ok);
        let starters: Vec<Starter<'_>> = vec![("banyan", &self.program.label, Box::new(banyan))];
        let mut figures = in_turn(op, self.members(), starters, progress)?;
        progress("one after another, over slow ssh");
        let begin = Instant::now();
        let one = |host: &str| {
            let mut command = limited(&["ssh"]);
            let took = starter::time(command.args(&arguments).args([host, "true"]));
            took.map_err(|why| format!("{op}: ssh {host} {why}"))
        };
        match self.hosts.iter().try_for_each(|host| one(host).map(|_| ())) {
            Ok(()) => figures.rows.push(LaunchRow::time("sequential", op, "true", self.members(), begin.elapsed())),
            Err(why) => figures.leave_out("sequential", why),
        }
        rows::compare(&mut figures.rows, "sequential");
        Ok(figures)
    }
}

fn slurm(
    nodes: &HostSet,
    program: &Program,
    progress: &mut dyn FnMut(&str),
) -> Result<LaunchFigures, LaunchBenchError> {
    let count = nodes.len() as u32;
    let members = count * PER_NODE;
    let list = nodes.to_string();
    let (on, tasks) = (format!("-N{count}"), format!("-n{members}"));
    let mut srun = limited(&["srun", &on, &tasks, "-w", &list, "true"]);
    let banyan = || {
        let hosts = nodes.iter().map(|host| (host, PER_NODE));
        LaunchedTree::over(program, hosts, Launcher::Slurm { arguments: Vec::new() })?.ended().map(Ok)
    };
    let starters: Vec<Starter<'_>> = vec![
        ("banyan", &program.label, Box::new(banyan)),
        ("srun", "true", Box::new(move || Ok(starter::time(&mut srun)))),
    ];
    let mut figures = in_turn("launch by Slurm", members, starters, progress)?;
    rows::compare(&mut figures.rows, "srun");
    Ok(figures)
}
