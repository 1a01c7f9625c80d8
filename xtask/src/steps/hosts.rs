//! `hosts`: what `cargo xtask hosts` promises, with real hosts: they come up, work, misbehave as asked, and nothing is
//! left of them. Needs root; elsewhere it is left out.
//!
//! Whether anything is left is looked up here in the machine itself, not in what the command says of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::{Job, Tools};
use crate::hosts;
use crate::report::{Outcome, Problem};

/// The longest that a cluster of these tests may take to begin: it is there in a second.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn run(job: &Job<'_>) {
    job.part("three hosts", |tools| {
        hosts::possible(tools.runner, false)?;
        with_cluster(tools, "ssh", &["3"], three_hosts)
    });
    job.part("hosts that misbehave", |tools| {
        hosts::possible(tools.runner, false)?;
        let kinds = ["--refuse-key", "h1", "--silent", "h2", "--banner", "h3", "--dead", "h4", "--password", "h5"];
        let sizes = ["--tmp-size", "1m", "6"];
        with_cluster(tools, "bad", &[&kinds[..], &sizes].concat(), misbehaving_hosts)
    });
    job.part("two Slurm nodes", |tools| {
        hosts::possible(tools.runner, true)?;
        with_cluster(tools, "slurm", &["2", "--slurm"], slurm_nodes)
    });
    job.part("killed while it makes hosts", |tools| {
        hosts::possible(tools.runner, false)?;
        killed_half_way(tools)
    });
}

/// A cluster of a test. It is removed in any case.
struct TestCluster<'a> {
    tools: &'a Tools<'a>,
    name: String,
}

impl TestCluster<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let this = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("xtask"));
        let mut command = Command::new(this);
        command.arg("hosts").args(arguments).arg("--name").arg(&self.name);
        command
    }

    fn hosts(&self, arguments: &[&str]) -> Result<String, Problem> {
        self.tools.run(&mut self.command(arguments))
    }

    fn file(&self, name: &str) -> String {
        format!("/run/banyan-hosts/{}/{name}", self.name)
    }

    /// What a command on a host writes, whether it succeeds or not.
    fn ssh(&self, host: &str, command: &str) -> String {
        let mut ssh = Command::new("ssh");
        let options = ["-o", "BatchMode=yes", "-o", "ConnectTimeout=2"];
        ssh.args(options).arg("-F").arg(self.file("ssh_config")).args([host, command]);
        self.tools.try_run(&mut ssh).unwrap_or_else(|failure| failure.output)
    }

    /// Everything of this cluster that can be found on the machine, by its name and by the links of its bridge.
    fn traces(&self, bridge: &str) -> Vec<String> {
        let directories = [("/run/netns", format!("{}-", self.name)), ("/sys/class/net", format!("{bridge}v"))];
        let mut found: Vec<String> = directories
            .iter()
            .flat_map(|(directory, start)| entries(directory, |name| name.starts_with(start)))
            .collect();
        found.extend(entries("/sys/class/net", |name| name == bridge));
        found.extend(entries("/run/banyan-hosts", |name| name == self.name));
        found.extend(entries("/dev/shm", |name| name.ends_with(&self.name)));
        let mine = self.file("");
        found.extend(entries("/proc", |name| {
            let line = fs::read(Path::new("/proc").join(name).join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(&mine)
        }));
        found
    }

    /// The name of the bridge, out of the subnet that the cluster says it has.
    fn bridge(&self) -> Result<String, Problem> {
        let text = fs::read_to_string(self.file("journal")).unwrap_or_default();
        let number = text.lines().find_map(|line| line.strip_prefix("subnet "));
        let missing = || Problem::Failed(format!("{} names no subnet", self.file("journal")));
        number.map(|number| format!("bny{number}")).ok_or_else(missing)
    }

    /// Removes the cluster, twice, and finds nothing of it.
    fn end(&self) -> Result<(), Problem> {
        let bridge = self.bridge()?;
        holds(!self.traces(&bridge).is_empty(), "a cluster that is up leaves traces", &bridge)?;
        self.hosts(&["down"])?;
        let left = self.traces(&bridge);
        holds(left.is_empty(), "nothing is left", &left.join("\n"))?;
        let again = self.hosts(&["down"])?;
        holds(again.starts_with("no cluster"), "removing what is not there is no failure", &again)
    }
}

impl Drop for TestCluster<'_> {
    fn drop(&mut self) {
        let _ = self.hosts(&["down"]);
    }
}

/// The entries of a directory that are meant, with their paths.
fn entries(directory: &str, is_meant: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| is_meant(name)).map(|name| format!("{directory}/{name}")).collect()
}

fn holds(is: bool, what: &str, seen: &str) -> Result<(), Problem> {
    if is { Ok(()) } else { Err(Problem::Failed(format!("does not hold: {what}\nseen: {seen}"))) }
}

fn cluster<'a>(tools: &'a Tools<'a>, name: &str) -> TestCluster<'a> {
    // Other runs of these tests may be at work on this machine.
    TestCluster { tools, name: format!("step-{name}-{}", std::process::id()) }
}

fn with_cluster(
    tools: &Tools<'_>,
    name: &str,
    arguments: &[&str],
    check: fn(&TestCluster<'_>) -> Result<(), Problem>,
) -> Outcome {
    let cluster = cluster(tools, name);
    let start = Instant::now();
    cluster.hosts(&[&["up"], arguments].concat())?;
    let time = start.elapsed();
    check(&cluster)?;
    cluster.end()?;
    Ok(format!("up in {} ms", time.as_millis()))
}

fn three_hosts(cluster: &TestCluster<'_>) -> Result<(), Problem> {
    let seen = cluster.ssh("h1", "hostname");
    holds(seen == "h1\n", "a host is reached and has its name", &seen)?;
    let inner = format!("ssh -F {} h3 hostname", cluster.file("ssh_config"));
    let seen = cluster.ssh("h2", &inner);
    holds(seen == "h3\n", "a host is reached from another one", &seen)?;
    let program = cluster.tools.root.join("Cargo.toml");
    let seen = cluster.ssh("h1", &format!("ls -A ~ /dev/shm | grep -v : ; ls {}", program.display()));
    let seen_program = seen.trim() == program.display().to_string();
    holds(seen_program, "a host has an empty home of its own, and sees the repository", &seen)?;
    let seen = cluster.hosts(&["up", "1"]).err().map(|problem| format!("{problem:?}")).unwrap_or_default();
    holds(seen.contains("hosts down"), "a second cluster of one name is refused, with what to type", &seen)?;
    let seen = cluster.hosts(&["leftovers", "--within", "10"])?;
    holds(seen == "nothing is left\n", "nothing is left over after commands", &seen)?;
    let stays = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/22 && exec sleep 1000' </dev/null >/dev/null 2>&1 &";
    let is_there = "until grep -q sleep /proc/$!/comm; do sleep 0.02; done";
    cluster.ssh("h2", &format!("{stays} {is_there}; touch /tmp/banyan-7 /tmp/other"));
    let seen = cluster.hosts(&["leftovers"]).err().map(|problem| format!("{problem:?}")).unwrap_or_default();
    let found = ["sleep 1000", "TCP 0100007F:", "tmp/banyan-7"].into_iter().all(|left| seen.contains(left));
    holds(found && !seen.contains("tmp/other"), "what is left over is named", &seen)
}

fn misbehaving_hosts(cluster: &TestCluster<'_>) -> Result<(), Problem> {
    let said = [
        ("h1", "Permission denied (publickey)"),
        ("h2", "banner exchange"),
        ("h3", "garbage without end of lineh3\n"),
        ("h4", "Connection timed out"),
        ("h5", "Permission denied (password)"),
        ("h6", "h6\n"),
        ("h7", "Could not resolve hostname h7"),
    ];
    for (host, part) in said {
        let seen = cluster.ssh(host, "hostname");
        holds(seen.contains(part), &format!("{host} says {part:?}"), &seen)?;
    }
    let seen = cluster.ssh("h6", "head -c 2000000 /dev/zero > /tmp/large");
    holds(seen.contains("No space left"), "a small /tmp is soon full", &seen)
}

fn slurm_nodes(cluster: &TestCluster<'_>) -> Result<(), Problem> {
    let mut command = Command::new("srun");
    command.args(["-N2", "hostname"]).env("SLURM_CONF", cluster.file("slurm.conf"));
    let seen = cluster.tools.run(&mut command)?;
    let mut names: Vec<&str> = seen.lines().collect();
    names.sort_unstable();
    holds(names == ["h1", "h2"], "a job runs on both nodes", &seen)?;
    let seen = cluster.hosts(&["env"])?;
    holds(seen.contains("export SLURM_CONF="), "a shell learns of Slurm", &seen)?;
    let seen = cluster.hosts(&["leftovers", "--within", "10"])?;
    holds(seen == "nothing is left\n", "nothing is left over after a job", &seen)
}

fn killed_half_way(tools: &Tools<'_>) -> Outcome {
    let cluster = cluster(tools, "killed");
    let cannot = |error: std::io::Error| Problem::Failed(format!("hosts up: {error}"));
    let mut child = cluster.command(&["up", "16"]).stdout(std::process::Stdio::null()).spawn().map_err(cannot)?;
    let deadline = Instant::now() + PATIENCE;
    let begun = || fs::read_to_string(cluster.file("journal")).is_ok_and(|text| text.contains("\nprocess "));
    while !begun() && Instant::now() < deadline {
        std::thread::yield_now();
    }
    child.kill().and_then(|()| child.wait()).map_err(cannot)?;
    holds(begun(), "a cluster is being made", &cluster.name)?;
    cluster.end()?;
    Ok(String::new())
}
