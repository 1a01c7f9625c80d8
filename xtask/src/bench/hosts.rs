//! Hosts for the launch bench: made before it, removed after it in any case.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::hosts::{self, CLUSTERS};
use crate::report::{self, Problem};
use crate::run::Runner;

/// How many hosts ssh launches on.
const SSH: &str = "64";

/// How many nodes Slurm launches on.
const SLURM: &str = "8";

/// Making or removing hosts may take this long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Test hosts, removed when this is dropped.
pub(super) struct BenchHosts {
    name: String,
    count: &'static str,
    slurm: bool,
}

impl BenchHosts {
    /// Hosts with ssh; `None`, and why, if they cannot be made here.
    pub(super) fn ssh(runner: Runner) -> Option<BenchHosts> {
        BenchHosts::up(runner, "ssh", SSH, false)
    }

    /// Nodes of a Slurm cluster.
    pub(super) fn slurm(runner: Runner) -> Option<BenchHosts> {
        BenchHosts::up(runner, "slurm", SLURM, true)
    }

    fn up(runner: Runner, what: &str, count: &'static str, slurm: bool) -> Option<BenchHosts> {
        let left_out = |why: &str| report::warn(&format!("left out: launches by {what}: {why}"));
        if let Err(Problem::LeftOut(why) | Problem::Failed(why)) = hosts::possible(runner, slurm) {
            left_out(&why);
            return None;
        }
        // Other runs may be at work on this machine.
        let hosts = BenchHosts { name: format!("bench-{what}-{}", std::process::id()), count, slurm };
        let mut command = hosts.command("up");
        command.arg(count).args(slurm.then_some("--slurm"));
        match (Runner { limit: PATIENCE, ..runner }).run(&mut command) {
            Ok(_) => Some(hosts),
            Err(failure) => {
                left_out(&failure.last_line());
                None
            }
        }
    }

    /// The arguments by which `banyan bench launch` uses them.
    pub(super) fn arguments(&self) -> Vec<String> {
        let hosts = format!("h[1-{}]", self.count);
        match self.slurm {
            true => vec!["--slurm-nodes".into(), hosts],
            false => vec!["--ssh-hosts".into(), hosts, "--ssh-config".into(), self.file("ssh_config")],
        }
    }

    /// The variable by which programs find Slurm, if these are its nodes.
    pub(super) fn variable(&self) -> Option<(&'static str, String)> {
        self.slurm.then(|| ("SLURM_CONF", self.file("slurm.conf")))
    }

    fn file(&self, name: &str) -> String {
        format!("{CLUSTERS}/{}/{name}", self.name)
    }

    fn command(&self, what: &str) -> Command {
        let this = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("xtask"));
        let mut command = Command::new(this);
        command.args(["hosts", what, "--name", &self.name]);
        command
    }
}

impl Drop for BenchHosts {
    fn drop(&mut self) {
        let runner = Runner { verbose: false, limit: PATIENCE };
        if let Err(failure) = runner.run(&mut self.command("down")) {
            report::warn(&failure.to_string());
        }
    }
}
