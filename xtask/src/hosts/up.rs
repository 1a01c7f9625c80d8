//! Making a cluster. What fails half-way is removed again.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use super::enter::{Starting, View};
use super::journal::{self, Journal, Record};
use super::plan::{Cluster, Host, Kind};
use super::request::Wanted;
use super::{RUNNER, down, network, slurm, ssh, tied};
use crate::install;
use crate::report::Problem;
use crate::run::Runner;

/// Hosts that are started side by side: each waits for its `sshd`, so more than there are processors.
const AT_ONCE: usize = 16;

/// The programs needed and the packages that have them.
const PROGRAMS: (&[&str], &[&str]) = (
    &["ip", "nft", "sshd", "ssh", "ssh-keygen", "nsenter", "unshare", "setsid", "setpriv", "hostname"],
    &["iproute2", "nftables", "openssh-server", "openssh-client", "util-linux", "hostname"],
);

/// The same for Slurm.
const SLURM_PROGRAMS: (&[&str], &[&str]) =
    (&["munged", "slurmctld", "slurmd", "srun", "sinfo", "scontrol"], &["munge", "slurm-wlm"]);

/// Whether clusters can be made here; if not, the reason. Installs what is missing where that is possible.
pub(crate) fn possible(runner: Runner, with_slurm: bool) -> Result<(), Problem> {
    if !install::is_root(runner) {
        return Err(Problem::LeftOut("not root; network namespaces with own mounts need it".to_owned()));
    }
    install::daemons(runner, PROGRAMS.0, PROGRAMS.1)?;
    if with_slurm {
        install::daemons(runner, SLURM_PROGRAMS.0, SLURM_PROGRAMS.1)?;
    }
    let tried = RUNNER.run(Command::new("unshare").args(["--net", "--mount", "--uts", "true"]));
    let refused = |why: String| Problem::LeftOut(format!("this machine lets nobody make namespaces ({why})"));
    tried.map(|_| ()).map_err(|failure| refused(failure.last_line()))
}

/// Makes a cluster.
pub(super) fn up(repository: &Path, wanted: &Wanted, kinds: &[Kind]) -> Result<Record, String> {
    let (cluster, journal) = reserve(wanted, kinds)?;
    let made = make(repository, wanted, &cluster, &journal);
    drop(journal);
    if let Err(why) = made {
        let removed = down::down(&cluster.name);
        return Err(removed
            .err()
            .map_or(why.clone(), |left| format!("{why}\nand removing what was made failed: {left}")));
    }
    Record::read(&cluster.name)?.ok_or(format!("cluster {} was removed while it was made", cluster.name))
}

/// Chooses the subnet and writes the plan down, one cluster after the other.
fn reserve(wanted: &Wanted, kinds: &[Kind]) -> Result<(Cluster, Journal), String> {
    let _held = journal::lock_all()?;
    let name = &wanted.cluster.name;
    if name.directory().exists() {
        return Err(format!(
            "cluster {name} is there already; see it with: cargo xtask hosts list --name {name}; remove it with: cargo xtask hosts down --name {name}"
        ));
    }
    let mut taken = Vec::new();
    for other in super::clusters() {
        taken.extend(Record::read(&other)?.map(|record| record.cluster.subnet));
    }
    let subnet = network::free_subnet(&taken)?;
    let cluster = Cluster { name: name.clone(), subnet, slurm: wanted.slurm, kinds: kinds.to_vec() };
    let foreign = network::remains(&cluster);
    if !foreign.is_empty() {
        return Err(format!("not made by this command, but in the way of cluster {name}: {}", foreign.join(", ")));
    }
    let journal = Journal::begin(&cluster)?;
    Ok((cluster, journal))
}

fn make(repository: &Path, wanted: &Wanted, cluster: &Cluster, journal: &Journal) -> Result<(), String> {
    let view = View { home: View::home_of_root(), repository };
    let table = cluster.file("etc-hosts");
    fs::write(&table, cluster.host_table()).map_err(|error| format!("{}: {error}", table.display()))?;
    let server = ssh::Server::prepare(cluster)?;
    network::make(cluster)?;
    let nodes = slurm::nodes(cluster);
    if let Some(controller) = cluster.controller() {
        prepare(&view, wanted, cluster, &controller)?;
        slurm::start_controller(cluster, &controller, journal)?;
    }
    let start = |host: &Host| -> Result<Option<Starting>, String> {
        prepare(&view, wanted, cluster, host)?;
        if host.kind != Kind::Dead {
            server.start(cluster, host, journal)?;
        }
        nodes.contains(host).then(|| slurm::start_node(cluster, host, journal)).transpose()
    };
    let nodes = side_by_side(&cluster.hosts(), start)?;
    if cluster.slurm {
        slurm::wait_until_idle(cluster, nodes.into_iter().flatten().collect())?;
    }
    journal.complete()
}

/// Directories, mounts and network of a host.
fn prepare(view: &View<'_>, wanted: &Wanted, cluster: &Cluster, host: &Host) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", host.directory.display());
    fs::create_dir_all(&host.directory).map_err(failed)?;
    for (directory, size) in [(host.home(), &wanted.home_size), (host.temporary(), &wanted.temporary_size)] {
        let Some(size) = size else { continue };
        fs::create_dir_all(&directory).map_err(failed)?;
        let mut command = tied("mount");
        command.args(["-t", "tmpfs", "-o", &format!("size={size}"), "banyan-hosts"]).arg(&directory);
        RUNNER.run(&mut command).map_err(|failure| failure.to_string())?;
    }
    view.prepare(cluster, host).map_err(failed)?;
    network::set_up_host(cluster, host)
}

/// Does something for each host, for [`AT_ONCE`] of them at a time. The first failure ends it.
fn side_by_side<T: Send>(hosts: &[Host], work: impl Fn(&Host) -> Result<T, String> + Sync) -> Result<Vec<T>, String> {
    let waiting = Mutex::new(hosts.iter());
    let done = Mutex::new(Ok(Vec::new()));
    let worker = || {
        loop {
            let next = waiting.lock().ok().and_then(|mut waiting| waiting.next());
            let Some(host) = next else { return };
            let result = work(host);
            let Ok(mut done) = done.lock() else { return };
            match (done.as_mut(), result) {
                (Ok(results), Ok(result)) => results.push(result),
                (Ok(_), Err(why)) => *done = Err(why),
                (Err(_), _) => return,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(hosts.len()) {
            scope.spawn(worker);
        }
    });
    done.into_inner().map_err(|_| "starting a host failed".to_owned())?
}

#[cfg(test)]
mod tests {
    use super::super::plan::sample;
    use super::*;

    #[test]
    fn work_is_done_once_for_every_host() {
        let hosts = sample(&[Kind::Ordinary; 100], false).hosts();
        let mut names = side_by_side(&hosts, |host| Ok(host.name.clone())).expect("all succeed");
        names.sort_unstable();
        let mut expected: Vec<String> = hosts.into_iter().map(|host| host.name).collect();
        expected.sort_unstable();
        assert_eq!(names, expected);
    }

    #[test]
    fn one_failure_ends_the_work_and_is_told() {
        let hosts = sample(&[Kind::Ordinary; 100], false).hosts();
        let work = |host: &Host| if host.name == "h7" { Err("h7 is bad".to_owned()) } else { Ok(()) };
        assert_eq!(side_by_side(&hosts, work), Err("h7 is bad".to_owned()));
    }
}
