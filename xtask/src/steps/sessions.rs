//! `sessions`: sessions through ssh and through commands that start all agents together, with test hosts. Needs root;
//! elsewhere it is left out.
//!
//! The tests are those of `banyan-boot`, `banyan-tree`, `banyan-cli` and `banyan-bench` that are ignored otherwise; this step makes the hosts,
//! tells them where they are, looks for what they left, and removes the hosts in any case.

use std::path::PathBuf;
use std::process::Command;

use super::{EVERYTHING, Job, Tools, cargo, tests_passed};
use crate::report::{Outcome, Problem};
use crate::{hosts, install};

/// Eight good hosts, then one of each kind that misbehaves, in the order the tests know.
const ALL_KINDS: &[&str] =
    &["13", "--refuse-key", "h9", "--silent", "h10", "--banner", "h11", "--dead", "h12", "--password", "h13"];

/// A host without room for an agent program.
const SMALL: &[&str] = &["1", "--home-size", "1m"];

/// Good hosts that are Slurm's nodes too, with homes that can be filled.
const SLURM: &[&str] = &["8", "--slurm", "--home-size", "256m"];

/// The commands besides Slurm's that start agents, the compilers for jobs whose stacks are looked at, and the packages that
/// have them.
const LAUNCHERS: (&[&str], &[&str]) = (
    &["pdsh", "mpirun", "mpiexec.hydra", "mpicc.openmpi", "mpicc.mpich"],
    &["pdsh", "openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev"],
);

pub(super) fn run(job: &Job<'_>) {
    job.part("ssh", |tools| {
        hosts::possible(tools.runner, false)?;
        // Tests that need these leave themselves out, and say so.
        let _ = install::programs(tools.runner, LAUNCHERS.0, &[], LAUNCHERS.1);
        over_ssh(tools)
    });
    job.part("Slurm, pdsh, mpirun", |tools| {
        hosts::possible(tools.runner, true)?;
        install::programs(tools.runner, LAUNCHERS.0, &[], LAUNCHERS.1)?;
        by_launchers(tools)
    });
}

fn over_ssh(tools: &Tools<'_>) -> Outcome {
    let all_kinds = SessionHosts::up(tools, "sessions", ALL_KINDS)?;
    let small = SessionHosts::up(tools, "small", SMALL)?;
    let mut sessions = tests("ssh", &all_kinds);
    let sessions = result_of(tools, sessions.env("BANYAN_TEST_SMALL_CLUSTER", &small.name))?;
    let networks = result_of(tools, &mut tests("network_ssh", &all_kinds))?;
    let command = result_of(tools, tests("hosts", &all_kinds).arg("over_ssh"))?;
    Ok(format!("sessions: {sessions}, networks: {networks}, command: {command}"))
}

fn by_launchers(tools: &Tools<'_>) -> Outcome {
    let hosts = SessionHosts::up(tools, "launchers", SLURM)?;
    let launchers = result_of(tools, &mut tests("launchers", &hosts))?;
    let command = result_of(tools, tests("hosts", &hosts).arg("by_slurm"))?;
    Ok(format!("launchers: {launchers}, command: {command}"))
}

/// The tests of a program that are ignored unless there are hosts.
fn tests(program: &str, hosts: &SessionHosts<'_>) -> Command {
    // With the features of step `tests`, so that each crate is built once for both.
    let mut tests = cargo(["test", "--test", program]);
    tests.args(EVERYTHING).args(["--", "--ignored", "--test-threads=1"]);
    tests.env("BANYAN_TEST_CLUSTER", &hosts.name).env("BANYAN_TEST_XTASK", this_program());
    tests
}

fn result_of(tools: &Tools<'_>, tests: &mut Command) -> Outcome {
    tests_passed(&tools.run(tests)?)
}

fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("xtask"))
}

/// Test hosts that are removed in any case.
struct SessionHosts<'a> {
    tools: &'a Tools<'a>,
    name: String,
}

impl<'a> SessionHosts<'a> {
    fn up(tools: &'a Tools<'a>, name: &str, arguments: &[&str]) -> Result<SessionHosts<'a>, Problem> {
        // Other runs of these tests may be at work on this machine.
        let hosts = SessionHosts { tools, name: format!("{name}-{}", std::process::id()) };
        hosts.tools.run(hosts.command("up").args(arguments))?;
        Ok(hosts)
    }

    fn command(&self, what: &str) -> Command {
        let mut command = Command::new(this_program());
        command.args(["hosts", what, "--name", &self.name]);
        command
    }
}

impl Drop for SessionHosts<'_> {
    fn drop(&mut self) {
        // A cluster that stays says so itself, and `cargo xtask hosts list` shows it.
        let _ = self.tools.run(&mut self.command("down"));
    }
}
