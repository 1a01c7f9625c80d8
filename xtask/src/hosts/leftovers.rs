//! What sessions left on the hosts of a cluster: processes, sockets, files.
//!
//! A process is left over if it is inside a host's namespace and none of its daemons; a connection that `sshd` still
//! serves is one too. A Unix socket is left over if `banyan` is in its name, a TCP socket if somebody holds it and none of the
//! host's daemons does. A file or directory in `/tmp` or `/dev/shm` is
//! left over if its name begins with `banyan`, with or without a dot before it. In the home directory, where programs
//! are kept on purpose, a socket is left over, and a file whose name begins like this and goes on: `banyan` itself may
//! stay.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::PAUSE;
use super::journal::Record;
use super::plan::{Cluster, Host};
use super::process::{Namespaces, Process};
use serde_json::{Value, json};

/// Directories below directories that are looked into: no session goes deeper, and an evil one must not keep us.
const DEPTH: usize = 16;

/// Something left over.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Leftover {
    host: String,
    what: &'static str,
    /// Which one: a number and a command, an address, a path.
    name: String,
}

impl Leftover {
    fn line(&self) -> String {
        format!("{}: {} {}", self.host, self.what, self.name)
    }

    fn object(&self) -> Value {
        let Leftover { host, what, name } = self;
        json!({ "host": host, "what": what, "name": name })
    }
}

/// What is left, for people.
pub(super) fn lines(found: &[Leftover]) -> String {
    if found.is_empty() {
        return "nothing is left".to_owned();
    }
    found.iter().map(Leftover::line).collect::<Vec<_>>().join("\n")
}

/// What is left, for programs.
pub(super) fn object(found: &[Leftover]) -> String {
    json!({ "leftovers": found.iter().map(Leftover::object).collect::<Vec<_>>() }).to_string()
}

/// Everything left over on a cluster once nothing is, or the time is over.
pub(super) fn leftovers(record: &Record, repository: &Path, within: Duration) -> Result<Vec<Leftover>, String> {
    let deadline = Instant::now() + within;
    loop {
        let found = look(record, repository)?;
        if found.is_empty() || Instant::now() >= deadline {
            return Ok(found);
        }
        std::thread::sleep(PAUSE);
    }
}

fn look(record: &Record, repository: &Path) -> Result<Vec<Leftover>, String> {
    let hosts = record.cluster.hosts();
    let mut found = Vec::new();
    for (index, process) in Namespaces::hold(hosts.iter().map(Host::namespace_file))?.processes() {
        let own = record.daemons.iter().any(|daemon| daemon.process == process);
        if !own && process.is_alive() {
            let name = format!("{} {}", process.number, process.command());
            found.push(Leftover { host: hosts[index].name.clone(), what: "process", name });
        }
    }
    for host in &hosts {
        let daemons = record.daemons.iter().filter(|daemon| daemon.host == host.name).map(|daemon| daemon.process);
        let daemons: Vec<Process> = daemons.filter(|process| process.is_alive()).collect();
        let sockets = daemons.first().map(|witness| sockets(*witness, &daemons)).unwrap_or_default();
        let left = |what, name| Leftover { host: host.name.clone(), what, name };
        found.extend(sockets.into_iter().map(|name| left("socket", name)));
        let files = files(&record.cluster, host, repository).into_iter();
        found.extend(files.map(|path| left("file", path.display().to_string())));
    }
    Ok(found)
}

/// The names of sockets in the namespace of a process, but for those of daemons.
fn sockets(process: Process, daemons: &[Process]) -> Vec<String> {
    let table = |name| fs::read_to_string(format!("/proc/{}/net/{name}", process.number)).unwrap_or_default();
    let tables = ["tcp", "tcp6"].map(table);
    // Looked at later: a connection that a daemon takes meanwhile is its own.
    let own: HashSet<String> = daemons.iter().flat_map(|daemon| held_sockets(*daemon)).collect();
    let tcp = tables.iter().flat_map(|table| foreign_sockets(table, &own));
    named_sockets(&table("unix")).into_iter().chain(tcp).collect()
}

/// The numbers of the sockets that a process holds.
fn held_sockets(process: Process) -> Vec<String> {
    let descriptors = fs::read_dir(format!("/proc/{}/fd", process.number)).into_iter().flatten().flatten();
    let targets = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok());
    targets.filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())).collect()
}

/// TCP sockets that somebody else holds: number 0 is of connections that the kernel alone still ends.
fn foreign_sockets(table: &str, own: &HashSet<String>) -> Vec<String> {
    let ends_and_number = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = fields.get(9).filter(|number| **number != "0" && !own.contains(**number))?;
        Some(format!("TCP {} {} ({number})", fields[1], fields[2]))
    };
    table.lines().skip(1).filter_map(ends_and_number).collect()
}

fn named_sockets(table: &str) -> Vec<String> {
    let names = table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(7));
    // What the cluster's own programs open lies in its directory.
    let ours = |name: &&str| name.contains("banyan") && !name.starts_with(super::plan::CLUSTERS);
    let mut names: Vec<String> = names.filter(ours).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn files(cluster: &Cluster, host: &Host, repository: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in [host.temporary(), cluster.shared_memory_of(host)] {
        // The repository is shown there if it lies in the machine's own /tmp, with the directories above it.
        let shown = repository.strip_prefix("/tmp").ok().and_then(|path| path.iter().next());
        let shown = shown.map(|name| directory.join(name));
        walk(&directory, DEPTH, &mut |path, _| {
            let left = is_ours(path) && shown.as_deref() != Some(path);
            found.extend(left.then(|| path.to_owned()));
        });
    }
    walk(&host.home(), DEPTH, &mut |path, kind| {
        let program = path.file_name().is_some_and(|name| name == "banyan");
        let left = kind.is_socket() || (kind.is_file() && is_ours(path) && !program);
        found.extend(left.then(|| path.to_owned()));
    });
    found
}

fn is_ours(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix('.').unwrap_or(&name).starts_with("banyan")
}

/// Shows everything below a directory. What goes away meanwhile is left out.
fn walk(directory: &Path, depth: usize, see: &mut impl FnMut(&Path, fs::FileType)) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        see(&entry.path(), kind);
        if kind.is_dir() && depth > 0 {
            walk(&entry.path(), depth - 1, see);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_known_by_their_names() {
        let table = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 12345 @banyan-7
0000000000000000: 00000002 00000000 00010000 0001 01 12346 /tmp/banyan-x/agent
0000000000000000: 00000002 00000000 00010000 0001 01 12347 /run/banyan-hosts/a/munge/munge.socket
0000000000000000: 00000002 00000000 00000000 0001 01 12348
0000000000000000: 00000002 00000000 00000000 0001 01 12349 /run/other
";
        assert_eq!(named_sockets(table), ["/tmp/banyan-x/agent", "@banyan-7"]);
    }

    #[test]
    fn tcp_sockets_are_left_over_if_somebody_holds_them_who_is_no_daemon() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1
   1: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1
   2: 0100007F:4E20 0100007F:8000 06 00000000:00000000 00:00000000 00000000     0        0 0 3
";
        assert_eq!(foreign_sockets(table, &["11".to_owned()].into()), ["TCP 0100007F:4E20 00000000:0000 (12)"]);
    }

    #[test]
    fn names_that_begin_with_the_projects_name_are_ours() {
        for ours in ["/tmp/banyan-7", "/tmp/.banyan.x", "/tmp/a/banyan"] {
            assert!(is_ours(Path::new(ours)), "{ours}");
        }
        assert!(!is_ours(Path::new("/tmp/banyan/other")) && !is_ours(Path::new("/")));
    }
}
