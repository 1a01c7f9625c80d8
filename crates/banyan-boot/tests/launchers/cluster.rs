//! The test hosts: how they are reached, and what sessions left there.

use std::fs::DirEntry;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// How long what a session left may take to go.
const PATIENCE: Duration = Duration::from_secs(30);

fn name() -> String {
    std::env::var("BANYAN_TEST_CLUSTER").expect("BANYAN_TEST_CLUSTER names a cluster of cargo xtask hosts up 8 --slurm")
}

fn file(name_of_file: &str) -> String {
    format!("/run/banyan-hosts/{}/{name_of_file}", name())
}

/// A command that knows the cluster: Slurm's configuration, and ssh's for `pdsh` and `mpirun`.
pub(crate) fn command(program: &str) -> Command {
    let ssh = format!("-F {}", file("ssh_config"));
    let directory = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let mut command = Command::new(program);
    command
        .env("SLURM_CONF", file("slurm.conf"))
        .env("PDSH_SSH_ARGS_APPEND", &ssh)
        .env("OMPI_MCA_plm_rsh_args", &ssh)
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        // Hosts see the directory that this program is in.
        .env("BANYAN_ROSTER_DIR", directory);
    command
}

/// What a command wrote.
pub(crate) fn said(output: &Output) -> String {
    [&output.stdout[..], &output.stderr[..]].iter().map(|bytes| String::from_utf8_lossy(bytes)).collect()
}

/// No process of this program is left but for the test and the one that runs the tests, one after the other; and no
/// roster.
pub(crate) fn assert_clean() {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = leftovers();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left over: {left:?}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn leftovers() -> Vec<String> {
    let this = std::env::current_exe().unwrap();
    let entries = |directory: &Path| std::fs::read_dir(directory).unwrap().flatten().collect::<Vec<DirEntry>>();
    let number = |entry: &DirEntry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
    let is_this = |entry: &DirEntry| std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe == this);
    let own = [std::process::id(), std::os::unix::process::parent_id()];
    let others = |entry: &DirEntry| number(entry).is_some_and(|number| !own.contains(&number)) && is_this(entry);
    let is_roster = |entry: &DirEntry| entry.file_name().to_string_lossy().starts_with("banyan-roster-");
    let processes = entries(Path::new("/proc")).into_iter().filter(others);
    let rosters = entries(this.parent().unwrap()).into_iter().filter(is_roster);
    processes.chain(rosters).map(|entry| entry.path().display().to_string()).collect()
}
