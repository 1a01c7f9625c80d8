//! Slurm on a cluster: `munged` and `slurmctld` on a host of their own, a `slurmd` on each host, all with the ports they
//! usually have. One `munged` serves all: its socket is a file.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::enter::{self, Starting};
use super::journal::Journal;
use super::plan::{Cluster, Host, Kind};
use super::{PAUSE, RUNNER};

/// Processors that each node claims: tests start more members than this machine has processors.
const PROCESSORS: u32 = 64;

/// The longest until all nodes are ready for jobs.
const LIMIT: Duration = Duration::from_secs(60);

/// Bytes of munge's key: it takes 32 to 1024.
const KEY_BYTES: usize = 64;

/// The name of the variable by which every program of Slurm finds its configuration.
const VARIABLE: &str = "SLURM_CONF";

pub(super) fn configuration(cluster: &Cluster) -> PathBuf {
    cluster.file("slurm.conf")
}

fn munge(cluster: &Cluster, name: &str) -> PathBuf {
    cluster.file("munge").join(name)
}

/// Writes the configuration and starts the daemons that are there once.
pub(super) fn start_controller(cluster: &Cluster, controller: &Host, journal: &Journal) -> Result<(), String> {
    prepare(cluster).map_err(|error| format!("{}: {error}", cluster.directory().display()))?;
    let socket = munge(cluster, "munge.socket");
    let mut munged = vec!["munged".to_owned(), "--foreground".to_owned(), "--force".to_owned()];
    for (option, name) in
        [("socket", "munge.socket"), ("key-file", "munge.key"), ("pid-file", "munged.pid"), ("log-file", "munged.log")]
    {
        munged.push(format!("--{option}={}", munge(cluster, name).display()));
    }
    munged.push(format!("--seed-file={}", munge(cluster, "munged.seed").display()));
    enter::start(journal, controller, "munged", munged, &[])?.wait(|| UnixStream::connect(&socket).is_ok())?;
    let configuration = configuration(cluster);
    let variables = [(VARIABLE, configuration.as_path())];
    let slurmctld = enter::start(journal, controller, "slurmctld", ["slurmctld", "-D", "-c"], &variables)?;
    slurmctld.wait(|| ask(cluster, "scontrol", &["ping"]).is_ok_and(|answer| answer.contains(" UP")))?;
    Ok(())
}

fn prepare(cluster: &Cluster) -> io::Result<()> {
    let directory = cluster.file("munge");
    fs::create_dir_all(&directory)?;
    fs::create_dir_all(cluster.file("slurmctld"))?;
    fs::set_permissions(&directory, Permissions::from_mode(0o755))?;
    let mut key = [0; KEY_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    fs::write(munge(cluster, "munge.key"), key)?;
    fs::set_permissions(munge(cluster, "munge.key"), Permissions::from_mode(0o600))?;
    fs::write(configuration(cluster), text(cluster))
}

/// Starts the `slurmd` of a host, and does not wait for it: it comes up while others start.
pub(super) fn start_node(cluster: &Cluster, host: &Host, journal: &Journal) -> Result<Starting, String> {
    let spool = host.directory.join("slurmd");
    fs::create_dir_all(&spool).map_err(|error| format!("{}: {error}", spool.display()))?;
    let configuration = configuration(cluster);
    let variables = [(VARIABLE, configuration.as_path())];
    enter::start(journal, host, "slurmd", ["slurmd", "-D", "-N", &host.name], &variables)
}

/// The hosts on which a `slurmd` runs: nobody could reach it on a dead one.
pub(super) fn nodes(cluster: &Cluster) -> Vec<Host> {
    cluster.hosts().into_iter().filter(|host| cluster.slurm && host.kind != Kind::Dead).collect()
}

/// Waits until jobs can run on all nodes.
pub(super) fn wait_until_idle(cluster: &Cluster, mut nodes: Vec<Starting>) -> Result<(), String> {
    let wanted = nodes.len();
    let deadline = Instant::now() + LIMIT;
    loop {
        nodes.iter_mut().try_for_each(Starting::check)?;
        let answer = ask(cluster, "sinfo", &["--noheader", "--Node", "--format=%N %T"])?;
        if answer.lines().filter(|line| line.ends_with(" idle")).count() >= wanted {
            return Ok(());
        }
        if Instant::now() > deadline {
            let seconds = LIMIT.as_secs();
            return Err(format!(
                "only some of {wanted} Slurm nodes are idle after {seconds} s:\n{}",
                answer.trim_end()
            ));
        }
        std::thread::sleep(PAUSE);
    }
}

fn ask(cluster: &Cluster, program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).env(VARIABLE, configuration(cluster));
    RUNNER.run(&mut command).map_err(|failure| failure.to_string())
}

fn text(cluster: &Cluster) -> String {
    let path = |path: &Path| path.display().to_string();
    let own = |name: &str| path(&cluster.file("hosts").join("%n").join(name));
    let mut text = format!("ClusterName={}\n", cluster.name);
    if let Some(host) = cluster.controller() {
        let _ = writeln!(text, "SlurmctldHost={}({})", host.name, host.address);
        let _ = writeln!(text, "SlurmctldPidFile={}", path(&host.directory.join("slurmctld.pid")));
    }
    let _ = writeln!(text, "StateSaveLocation={}", path(&cluster.file("slurmctld")));
    let _ = writeln!(text, "SlurmdSpoolDir={}\nSlurmdPidFile={}", own("slurmd"), own("slurmd.pid"));
    let _ = writeln!(text, "AuthInfo=socket={}", path(&munge(cluster, "munge.socket")));
    text.push_str(SETTINGS);
    for host in cluster.hosts() {
        let Host { name, address, .. } = host;
        let _ =
            writeln!(text, "NodeName={name} NodeHostname={name} NodeAddr={address} CPUs={PROCESSORS} State=UNKNOWN");
    }
    text.push_str("PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n");
    text
}

/// No cgroups, no accounting, no dependence on what this machine has.
const SETTINGS: &str = "\
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=bf_interval=1
ReturnToService=2
SlurmdParameters=config_overrides
";

#[cfg(test)]
mod tests {
    use super::super::plan::sample;
    use super::*;

    #[test]
    fn every_node_has_its_own_name_and_address() {
        let text = text(&sample(&[Kind::Ordinary; 2], true));
        assert!(text.contains("SlurmctldHost=ctl(10.213.15.253)\n"), "{text}");
        assert!(text.contains("NodeName=h2 NodeHostname=h2 NodeAddr=10.213.12.2 CPUs=64 State=UNKNOWN\n"), "{text}");
        assert!(text.contains("SlurmdSpoolDir=/run/banyan-hosts/banyan/hosts/%n/slurmd\n"), "{text}");
    }

    #[test]
    fn nobody_waits_for_the_node_of_a_dead_host() {
        let hosts = nodes(&sample(&[Kind::Ordinary, Kind::Dead], true));
        assert_eq!(hosts.iter().map(|host| host.name.as_str()).collect::<Vec<_>>(), ["h1"]);
        assert!(nodes(&sample(&[Kind::Ordinary], false)).is_empty());
    }
}
