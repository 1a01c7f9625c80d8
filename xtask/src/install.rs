//! Getting what a step needs: Debian packages, rustup's targets, tool-chains and components, programs in wheels.
//!
//! Everything is looked for first and installed only when missing. What cannot be had is a [`Problem::LeftOut`] with
//! the reason and the command a person would type; it is never a failure of the code under test.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crate::report::Problem;
use crate::run::{Failure, Runner, on_path};

/// Downloads fail for a moment now and then.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(5);

/// Makes sure that programs can be run and directories are there, by installing Debian packages where they are not.
pub(crate) fn programs(
    runner: Runner,
    programs: &[&str],
    directories: &[&str],
    packages: &[&str],
) -> Result<(), Problem> {
    let _turn = turn();
    let mut missing: Vec<&str> = programs.iter().copied().filter(|program| !on_path(program)).collect();
    missing.extend(directories.iter().copied().filter(|directory| !Path::new(directory).is_dir()));
    if missing.is_empty() {
        return Ok(());
    }
    let command = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    let left_out = |why: &str| Problem::LeftOut(format!("{} missing; {why}: {command}", missing.join(", ")));
    if !on_path("apt-get") {
        return Err(left_out("this is no Debian, where one would type"));
    }
    if !is_root(runner) {
        return Err(left_out("only root can install; type"));
    }
    update_once(runner).map_err(|why| left_out(&format!("apt-get update failed ({why}); try")))?;
    let install = || {
        let mut command = apt();
        command.args(["install", "-y", "--no-install-recommends"]).args(packages);
        command
    };
    retry(runner, install).map_err(|failure| left_out(&format!("failed ({}); try", failure.last_line())))
}

/// The same for programs that are services of Debian: none is started by installing it.
pub(crate) fn daemons(runner: Runner, names: &[&str], packages: &[&str]) -> Result<(), Problem> {
    if names.iter().all(|name| on_path(name)) {
        return Ok(());
    }
    let _held = NoServices::hold();
    programs(runner, names, &[], packages)
}

/// While this is there, and unless the machine has its own mind about it, installing a package starts no service.
struct NoServices {
    policy: Option<&'static Path>,
}

impl NoServices {
    /// What Debian asks before it starts a service.
    const POLICY: &str = "/usr/sbin/policy-rc.d";
    /// What we answer. It lies where a restart of the machine removes it, should we not live to do so.
    const ANSWER: &str = "/run/banyan-no-services";

    fn hold() -> NoServices {
        let (policy, answer) = (Path::new(NoServices::POLICY), Path::new(NoServices::ANSWER));
        let make = || {
            fs::write(answer, "#!/bin/sh\n# 101: not allowed\nexit 101\n")?;
            fs::set_permissions(answer, fs::Permissions::from_mode(0o755))?;
            // Fails where the machine has a policy, which then stands.
            symlink(answer, policy)
        };
        NoServices { policy: make().is_ok().then_some(policy) }
    }
}

impl Drop for NoServices {
    fn drop(&mut self) {
        if let Some(policy) = self.policy {
            let _ = fs::remove_file(policy);
        }
        let _ = fs::remove_file(NoServices::ANSWER);
    }
}

fn apt() -> Command {
    let mut command = Command::new("apt-get");
    // Others may be installing something too.
    command.args(["-o", "DPkg::Lock::Timeout=120"]).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn update_once(runner: Runner) -> Result<(), String> {
    static UPDATED: OnceLock<Result<(), String>> = OnceLock::new();
    let update = || {
        let mut command = apt();
        command.arg("update");
        command
    };
    UPDATED.get_or_init(|| retry(runner, update).map_err(|failure| failure.last_line())).clone()
}

/// Whether this process may do everything.
pub(crate) fn is_root(runner: Runner) -> bool {
    quiet(runner).run(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

/// A program that Python's packages have: the one in `PATH`, or one that is installed below `target`, from what its file in
/// `xtask/wheels` names by its hash.
pub(crate) fn wheel(runner: Runner, root: &Path, name: &str) -> Result<PathBuf, Problem> {
    let _turn = turn();
    if on_path(name) {
        return Ok(name.into());
    }
    let directory = root.join("target").join(name);
    let program = directory.join("bin").join(name);
    if program.is_file() {
        return Ok(program);
    }
    let requirements = root.join(format!("xtask/wheels/{name}.txt"));
    let install = || {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--no-deps", "--only-binary", ":all:", "--require-hashes", "--target"]);
        command.arg(&directory).arg("-r").arg(&requirements);
        command
    };
    let left_out = |failure: Failure| {
        let command = format!("python3 -m pip install -r {}", requirements.display());
        Problem::LeftOut(format!("{name} missing; pip failed ({}); try: {command}", failure.last_line()))
    };
    retry(runner, install).map_err(left_out)?;
    Ok(program)
}

/// Makes sure that the standard library for a target is there.
pub(crate) fn target(runner: Runner, triple: &str) -> Result<(), Problem> {
    let _turn = turn();
    let installed = quiet(runner).run(Command::new("rustup").args(["target", "list", "--installed"]));
    rustup(runner, installed, triple, &["target", "add", triple])
}

/// Makes sure that the nightly tool-chain is there.
pub(crate) fn nightly(runner: Runner) -> Result<(), Problem> {
    let _turn = turn();
    let installed = quiet(runner).run(Command::new("rustup").args(["toolchain", "list"]));
    let arguments = ["toolchain", "install", "nightly", "--profile", "minimal", "--no-self-update"];
    rustup(runner, installed, "nightly", &arguments)
}

/// Makes sure that the nightly tool-chain has a component.
pub(crate) fn nightly_component(runner: Runner, component: &str) -> Result<(), Problem> {
    nightly(runner)?;
    let _turn = turn();
    let list = ["component", "list", "--toolchain", "nightly", "--installed"];
    let installed = quiet(runner).run(Command::new("rustup").args(list));
    rustup(runner, installed, component, &["component", "add", "--toolchain", "nightly", component])
}

fn rustup(runner: Runner, installed: Result<String, Failure>, name: &str, arguments: &[&str]) -> Result<(), Problem> {
    let typed = format!("rustup {}", arguments.join(" "));
    match installed {
        Err(_) => return Err(Problem::LeftOut(format!("{name} is missing, and rustup too, with which: {typed}"))),
        Ok(list) if list.lines().any(|line| line.starts_with(name)) => return Ok(()),
        Ok(_) => {}
    }
    let install = || {
        let mut command = Command::new("rustup");
        command.args(arguments);
        command
    };
    let left_out =
        |failure: Failure| Problem::LeftOut(format!("{name} is missing; failed ({}): {typed}", failure.last_line()));
    retry(runner, install).map_err(left_out)
}

/// Neither apt nor rustup can be run twice at a time, so steps that run side by side take turns. They look for what they need in
/// their turn, too: a program that is being installed lies in its place before it can be run.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn retry(runner: Runner, command: impl Fn() -> Command) -> Result<(), Failure> {
    let mut attempt = 1;
    loop {
        match runner.run(&mut command()) {
            Ok(_) => return Ok(()),
            Err(failure) if attempt == ATTEMPTS => return Err(failure),
            Err(_) => thread::sleep(PAUSE),
        }
        attempt += 1;
    }
}

/// For questions whose answer nobody wants to read.
fn quiet(runner: Runner) -> Runner {
    Runner { verbose: false, ..runner }
}
