//! `cargo xtask bench records|launch|collectives`: Banyan and its rivals in one run.
//!
//! The rivals live in a crate outside the workspace, built only here. What they need from Debian is installed where
//! that is possible; a rival that cannot be built is left out and named.

mod hosts;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::install;
use crate::report::{self, Problem};
use crate::run::Runner;
use hosts::BenchHosts;

/// What is measured.
#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// Record formats on the same records
    Records(Flags),
    /// Launches with the same member, linked dynamically and statically
    ///
    /// On this machine; as root also on 64 hosts with ssh and on 8 Slurm nodes that are made for that, where a file is
    /// brought to 16 agents. Other starters are installed where that is possible.
    Launch(Flags),
    /// Collectives with the same member, linked dynamically and statically
    Collectives(Flags),
}

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Fewer and shorter batches; launches on this machine only
    #[arg(long)]
    quick: bool,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

impl Flags {
    fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.quick.then_some("--quick").into_iter().chain(self.json.then_some("--json"))
    }
}

/// Installing packages may take this long.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a bench.
pub(crate) fn run(root: &Path, bench: &Bench) -> ExitCode {
    match bench {
        Bench::Records(flags) => records(root, flags),
        Bench::Launch(flags) => launch(root, "launch", flags),
        Bench::Collectives(flags) => launch(root, "collectives", flags),
    }
}

fn records(root: &Path, flags: &Flags) -> ExitCode {
    let runner = Runner { verbose: false, limit: PATIENCE };
    let needs: [(&[&str], &[&str]); 2] =
        [(&["capnp"], &["capnproto"]), (&["mpicc"], &["openmpi-bin", "libopenmpi-dev"])];
    for (programs, packages) in needs {
        if let Err(Problem::LeftOut(why)) = install::programs(runner, programs, &[], packages) {
            report::warn(&format!("left out: {why}"));
        }
    }
    // The same target directory as the workspace's: what both depend on is built once.
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--manifest-path", "rivals/Cargo.toml", "--target-dir", "target", "--"])
        .args(flags.words())
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => report::refuse(&format!("cargo: {error}")),
    }
}

/// The target of members that need no dynamic loader.
const STATIC: &str = "x86_64-unknown-linux-musl";

/// Other starters: their programs, and the packages that have them.
const STARTERS: [(&str, &str); 5] = [
    ("mpiexec.hydra", "mpich"),
    ("mpirun", "openmpi-bin"),
    ("pdsh", "pdsh"),
    ("clush", "clustershell"),
    ("parallel-ssh", "pssh"),
];

fn launch(root: &Path, name: &str, flags: &Flags) -> ExitCode {
    let runner = Runner { verbose: false, limit: PATIENCE };
    let mut members = vec!["--member=dynamic=target/release/banyan-bench-member".to_owned()];
    if !cargo(root, &MEMBER, &[]) {
        return ExitCode::FAILURE;
    }
    match static_member(runner, root) {
        Ok(()) => members.push(format!("--member=static=target/{STATIC}/release/banyan-bench-member")),
        Err(why) => report::warn(&format!("left out: the static member: {why}")),
    }
    let mut command: Vec<&str> = vec!["run", "--quiet", "--release", "--package", "banyan-bench", "--", name];
    command.extend(members.iter().map(String::as_str));
    command.extend(flags.words().map(|word| -> &str { word }));
    if name != "launch" || flags.quick {
        return status(cargo(root, &command, &[]));
    }
    for (program, package) in STARTERS {
        if let Err(Problem::LeftOut(why)) = install::programs(runner, &[program], &[], &[package]) {
            report::warn(&format!("left out: {why}"));
        }
    }
    let hosts: Vec<BenchHosts> = [BenchHosts::ssh(runner), BenchHosts::slurm(runner)].into_iter().flatten().collect();
    let arguments: Vec<String> = hosts.iter().flat_map(BenchHosts::arguments).chain(["--stage".to_owned()]).collect();
    command.extend(arguments.iter().map(String::as_str));
    let variables: Vec<(&str, String)> = hosts.iter().filter_map(BenchHosts::variable).collect();
    status(cargo(root, &command, &variables))
}

/// Builds the member for a target whose programs need no dynamic loader.
fn static_member(runner: Runner, root: &Path) -> Result<(), String> {
    let left_out = |(Problem::LeftOut(why) | Problem::Failed(why))| why;
    install::target(runner, STATIC).map_err(left_out)?;
    install::programs(runner, &["musl-gcc"], &[], &["musl-tools"]).map_err(left_out)?;
    // What the links' ciphers have in C must be compiled for the same target.
    let compiler = [("CC_x86_64_unknown_linux_musl", "musl-gcc".to_owned())];
    let built = cargo(root, &[&MEMBER[..], &["--target", STATIC]].concat(), &compiler);
    if built { Ok(()) } else { Err("it cannot be built".to_owned()) }
}

fn status(success: bool) -> ExitCode {
    if success { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// How the member is built: apart from all else, so that it is as small as a user's.
const MEMBER: [&str; 8] = [
    "build",
    "--quiet",
    "--release",
    "--package",
    "banyan-bench",
    "--no-default-features",
    "--bin",
    "banyan-bench-member",
];

fn cargo(root: &Path, arguments: &[&str], variables: &[(&str, String)]) -> bool {
    let mut command = Command::new("cargo");
    command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value))).current_dir(root);
    command.status().is_ok_and(|status| status.success())
}
