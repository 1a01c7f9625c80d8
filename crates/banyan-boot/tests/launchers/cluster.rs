//! The test hosts: how they are reached, and what sessions left there.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long what a session left may take to go.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

fn name() -> String {
    std::env::var("BANYAN_TEST_CLUSTER").expect("BANYAN_TEST_CLUSTER names a cluster of cargo xtask hosts up 8 --slurm")
}

fn file(name_of_file: &str) -> String {
    format!("/run/banyan-hosts/{}/{name_of_file}", name())
}

/// The interface by which hosts reach this machine: it has the number of the cluster's subnet.
fn bridge() -> String {
    let journal = std::fs::read_to_string(file("journal")).unwrap();
    let number = journal.lines().find_map(|line| line.strip_prefix("subnet ")).expect("the cluster has a subnet");
    format!("bny{number}")
}

/// A command that knows the cluster: Slurm's configuration, and ssh's for `pdsh`, `mpirun` and Hydra.
pub(crate) fn command(program: &str) -> Command {
    let ssh = format!("-F {}", file("ssh_config"));
    let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut command = Command::new(program);
    command
        .env("SLURM_CONF", file("slurm.conf"))
        .env("PDSH_SSH_ARGS_APPEND", &ssh)
        .env("OMPI_MCA_plm_rsh_args", &ssh)
        .env("HYDRA_LAUNCHER_EXTRA_ARGS", &ssh)
        // Hosts do not know this machine by its name.
        .env("HYDRA_IFACE", bridge())
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        // Hosts see the directory that this program is in.
        .env("BANYAN_ROSTER_DIR", directory);
    command
}

/// The home directory of a host, as it is seen from here.
pub(crate) fn home(host: &str) -> PathBuf {
    file(&format!("hosts/{host}/home")).into()
}

/// The same of its `/tmp` …
pub(crate) fn temporary(host: &str) -> PathBuf {
    file(&format!("hosts/{host}/tmp")).into()
}

/// … and of its `/dev/shm`.
pub(crate) fn shared_memory(host: &str) -> PathBuf {
    Path::new("/dev/shm").join(format!("banyan-hosts-{}", name())).join(host)
}

/// What a command wrote.
pub(crate) fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].iter().map(|bytes| String::from_utf8_lossy(bytes)).collect()
}

/// No process of this program is left, and no roster; nor anything on a host.
pub(crate) fn assert_clean() {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = leftovers();
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "left over: {left:?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    let xtask = std::env::var("BANYAN_TEST_XTASK").expect("BANYAN_TEST_XTASK is the program behind cargo xtask");
    let within = PATIENCE.as_secs().to_string();
    let output = Command::new(xtask).args(["hosts", "leftovers", "--within", &within, "--name", &name()]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", said(&output));
}

/// Waits until so many other processes run this program.
pub(crate) fn wait_for_processes(count: usize) {
    let deadline = Instant::now() + PATIENCE;
    while processes().len() < count {
        assert!(Instant::now() < deadline, "only {:?} run", processes());
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn leftovers() -> Vec<String> {
    let is_roster = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with("banyan-roster-");
    let this = std::env::current_exe().unwrap();
    let rosters = entries(this.parent().unwrap()).filter(is_roster);
    processes().into_iter().chain(rosters.map(|entry| entry.path().display().to_string())).collect()
}

/// Other processes that run this program, but for the one that runs the tests.
fn processes() -> Vec<String> {
    let this = std::env::current_exe().unwrap();
    let number = |entry: &DirEntry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
    let is_this = |entry: &DirEntry| std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == this);
    let tests = [std::process::id(), std::os::unix::process::parent_id()];
    let is_other = |entry: &DirEntry| number(entry).is_some_and(|number| !tests.contains(&number));
    let others = entries(Path::new("/proc")).filter(|entry| is_other(entry) && is_this(entry));
    others.map(|entry| entry.path().display().to_string()).collect()
}

fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(directory).unwrap().flatten()
}
