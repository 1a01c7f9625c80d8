//! `sessions`: sessions through ssh, Slurm and other starters, with test hosts. Needs root; elsewhere it is left out.
//!
//! The tests are those of `banyan-boot` that are ignored otherwise; this step makes the hosts for them, tells them where
//! they are, and removes the hosts in any case.

use std::path::PathBuf;
use std::process::Command;

use super::{Job, Tools, cargo};
use crate::hosts;
use crate::install;
use crate::report::{Outcome, Problem};

/// Eight good hosts, then one of each kind that misbehaves, in the order the tests know.
const ALL_KINDS: &[&str] =
    &["13", "--refuse-key", "h9", "--silent", "h10", "--banner", "h11", "--dead", "h12", "--password", "h13"];

/// Nodes of a Slurm cluster.
const NODES: &[&str] = &["4", "--slurm"];

/// Other starters: their programs, and the packages that have them.
const STARTERS: (&[&str], &[&str]) = (&["pdsh", "mpirun", "mpiexec.hydra"], &["pdsh", "openmpi-bin", "mpich"]);

/// A host without room for an agent program.
const SMALL: &[&str] = &["1", "--home-size", "1m"];

pub(super) fn run(job: &Job<'_>) {
    job.part("ssh", |tools| {
        hosts::possible(tools.runner, false)?;
        over_ssh(tools)
    });
    job.part("launchers", |tools| {
        hosts::possible(tools.runner, true)?;
        install::programs(tools.runner, STARTERS.0, &[], STARTERS.1)?;
        by_launchers(tools)
    });
}

fn over_ssh(tools: &Tools<'_>) -> Outcome {
    let all_kinds = Hosts::up(tools, "sessions", ALL_KINDS)?;
    let small = Hosts::up(tools, "small", SMALL)?;
    let mut tests = tests("ssh", &all_kinds);
    tests.env("BANYAN_TEST_SMALL_CLUSTER", &small.name).env("BANYAN_TEST_XTASK", this_program());
    result_of(tools, tests)
}

fn by_launchers(tools: &Tools<'_>) -> Outcome {
    let nodes = Hosts::up(tools, "launchers", NODES)?;
    result_of(tools, tests("launchers", &nodes))
}

/// The tests of this name, on these hosts, one after the other.
fn tests(name: &str, hosts: &Hosts<'_>) -> Command {
    let mut tests = cargo(["test", "--package", "banyan-boot", "--test", name, "--", "--ignored", "--test-threads=1"]);
    tests.env("BANYAN_TEST_CLUSTER", &hosts.name);
    tests
}

fn result_of(tools: &Tools<'_>, mut tests: Command) -> Outcome {
    let output = tools.run(&mut tests)?;
    let result = output.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    result.map(str::to_owned).ok_or_else(|| Problem::Failed(format!("no test ran:\n{output}")))
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("xtask"))
}

/// Test hosts that are removed in any case.
struct Hosts<'a> {
    tools: &'a Tools<'a>,
    name: String,
}

impl<'a> Hosts<'a> {
    fn up(tools: &'a Tools<'a>, name: &str, arguments: &[&str]) -> Result<Hosts<'a>, Problem> {
        // Other runs of these tests may be at work on this machine.
        let hosts = Hosts { tools, name: format!("{name}-{}", std::process::id()) };
        hosts.tools.run(hosts.command("up").args(arguments))?;
        Ok(hosts)
    }

    fn command(&self, what: &str) -> Command {
        let mut command = Command::new(this_program());
        command.args(["hosts", what, "--name", &self.name]);
        command
    }
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        // A cluster that stays says so itself, and `cargo xtask hosts list` shows it.
        let _ = self.tools.run(&mut self.command("down"));
    }
}
