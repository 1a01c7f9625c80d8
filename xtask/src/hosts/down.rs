//! Removing a cluster: every process that was written down or runs inside its namespaces, then network, mounts and
//! files. Nothing is ended by its name. The journal goes last, so that what failed can be tried again.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::journal::{self, Record};
use super::plan::{Cluster, Host, Name};
use super::process::{self, Namespaces, Process};
use super::{PAUSE, RUNNER, network};

/// The longest that processes may take to end once they are killed: those that write to a slow disk take a while.
const LIMIT: Duration = Duration::from_secs(30);

/// Removes a cluster. True if there was anything of it.
pub(super) fn down(name: &Name) -> Result<bool, String> {
    let Some(_held) = journal::lock(name)? else { return nothing_was_made(name) };
    // Whoever held the lock before may have removed it.
    let Some(record) = Record::read(name)? else { return Ok(false) };
    let cluster = &record.cluster;
    let namespaces = Namespaces::hold(cluster.everyone().iter().map(Host::namespace_file))?;
    end_processes(&record, &namespaces)?;
    network::remove(cluster)?;
    // Now nobody can enter any more; who was on the way in when we looked has come or failed.
    end_processes(&record, &namespaces)?;
    let running = processes(&record, &namespaces);
    drop(namespaces);
    network::wait_until_removed(cluster);
    let directory = cluster.directory();
    unmount(&directory)?;
    let remains = remains(cluster, &running);
    if !remains.is_empty() {
        let list = remains.join("\n  ");
        return Err(format!(
            "cluster {name}: this is left:\n  {list}\ntry again with: cargo xtask hosts down --name {name}"
        ));
    }
    let remove = || {
        remove_directory(&cluster.shared_memory())?;
        // The journal is hidden by no failure to remove something else.
        for entry in fs::read_dir(&directory)?.flatten().filter(|entry| entry.file_name() != "journal") {
            if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
        }
        remove_directory(&directory)
    };
    remove().map_err(|error| format!("cluster {name}: {}: {error}", directory.display()))
}

/// There is no journal: at most the directory for it was ever made.
fn nothing_was_made(name: &Name) -> Result<bool, String> {
    let _held = journal::lock_all()?;
    if Record::read(name)?.is_some() {
        return Err(format!("cluster {name} was made just now; remove it with: cargo xtask hosts down --name {name}"));
    }
    let directory = name.directory();
    remove_directory(&directory).map_err(|error| format!("{}: {error}", directory.display()))
}

fn remove_directory(path: &Path) -> io::Result<bool> {
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The processes of a cluster that run.
fn processes(record: &Record, namespaces: &Namespaces) -> Vec<Process> {
    let mut found: Vec<Process> = namespaces.processes().into_iter().map(|(_, process)| process).collect();
    found.extend(record.daemons.iter().map(|daemon| daemon.process));
    let mut seen = HashSet::new();
    found.retain(|process| seen.insert(process.number) && process.is_alive());
    found
}

/// Ends all processes, and those that they start meanwhile.
fn end_processes(record: &Record, namespaces: &Namespaces) -> Result<(), String> {
    let deadline = Instant::now() + LIMIT;
    loop {
        let running = processes(record, namespaces);
        if running.is_empty() || Instant::now() > deadline {
            return Ok(());
        }
        process::signal(&running, "KILL")?;
        std::thread::sleep(PAUSE);
    }
}

/// Takes away everything that is mounted below a directory, what was mounted last first.
fn unmount(directory: &Path) -> Result<(), String> {
    for mount in mounts_below(directory).iter().rev() {
        RUNNER.run(Command::new("umount").arg(mount)).map_err(|failure| failure.to_string())?;
    }
    Ok(())
}

fn mounts_below(directory: &Path) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    below(&table, directory)
}

/// The places in the kernel's table of mounts that lie below a directory. Names of clusters and hosts hold nothing that
/// the table would write in another way.
fn below(table: &str, directory: &Path) -> Vec<PathBuf> {
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from);
    places.filter(|place| place.starts_with(directory)).collect()
}

/// What of a cluster is there, but for its files.
fn remains(cluster: &Cluster, running: &[Process]) -> Vec<String> {
    let processes = running.iter().map(|process| format!("process {}: {}", process.number, process.command()));
    let mut found: Vec<String> = processes.collect();
    found.extend(network::remains(cluster));
    found.extend(mounts_below(&cluster.directory()).iter().map(|mount| format!("mount {}", mount.display())));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mounts_below_the_directory_are_found() {
        let table = "\
24 1 254:0 / / rw,relatime - ext4 /dev/vda rw
90 24 0:50 / /run/banyan-hosts/a/hosts/h1/tmp rw - tmpfs banyan-hosts rw
91 24 0:51 / /run/banyan-hosts/ab/hosts/h1/tmp rw - tmpfs banyan-hosts rw
";
        let found = below(table, Path::new("/run/banyan-hosts/a"));
        assert_eq!(found, [Path::new("/run/banyan-hosts/a/hosts/h1/tmp")]);
    }
}
