//! What a cluster owns, written down before it is made, so that it can be removed after any crash.
//!
//! A text file with a word and its values on each line, only ever added to. The plan comes first, in one write; from it
//! follow the names of directories, namespaces and links. Each process comes as it is started, and is besides found in
//! its namespace. The line `complete` comes last.
//!
//! Whoever makes or removes a cluster holds the lock of its journal, so that one waits for the other.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::plan::{CLUSTERS, Cluster, Kind, MAXIMUM_HOSTS, Name, Subnet};
use super::process::Process;

const FILE: &str = "journal";

/// The first line; the number changes with the meaning of any other.
const VERSION: &str = "banyan-hosts 1";

/// A daemon that keeps a host going.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Daemon {
    /// `sshd`, `slurmd` and the like.
    pub(super) role: String,
    /// The host it runs on.
    pub(super) host: String,
    pub(super) process: Process,
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    pub(super) cluster: Cluster,
    pub(super) daemons: Vec<Daemon>,
    /// Whether everything came up.
    pub(super) complete: bool,
}

impl Record {
    /// Reads the journal of a cluster. `None` if there is none: nothing was made.
    pub(super) fn read(name: &Name) -> Result<Option<Record>, String> {
        let path = path(name);
        match fs::read_to_string(&path) {
            Ok(text) => Record::parse(&text).map(Some).map_err(|why| format!("{}: {why}", path.display())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display())),
        }
    }

    fn parse(text: &str) -> Result<Record, String> {
        // A line that was cut off by a crash describes what was not made any more.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let mut lines = whole.split('\n');
        if lines.next() != Some(VERSION) {
            return Err(format!("does not begin with {VERSION:?}; it was written by another version of this command"));
        }
        let (mut name, mut subnet) = (None, None);
        let (mut slurm, mut complete) = (false, false);
        let (mut kinds, mut daemons) = (Vec::new(), Vec::new());
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["cluster", text] => name = Some(Name::parse(text)?),
                ["subnet", number] => subnet = Subnet::parse(number),
                ["slurm"] => slurm = true,
                ["host", kind] if kinds.len() < usize::from(MAXIMUM_HOSTS) => {
                    kinds.push(Kind::parse(kind).ok_or(format!("{kind} is no kind of host"))?);
                }
                ["process", role, host, number, started] => {
                    let process = number.parse().ok().zip(started.parse().ok());
                    let (number, started) = process.ok_or(format!("{line:?} names no process"))?;
                    let (role, host) = (role.to_owned(), host.to_owned());
                    daemons.push(Daemon { role, host, process: Process { number, started } });
                }
                ["complete"] => complete = true,
                _ => return Err(format!("{line:?} is not understood")),
            }
        }
        let name = name.ok_or("no cluster is named")?;
        let subnet = subnet.ok_or("no subnet is named")?;
        Ok(Record { cluster: Cluster { name, subnet, slurm, kinds }, daemons, complete })
    }

    /// The daemon of a host with this role.
    pub(super) fn daemon(&self, host: &str, role: &str) -> Option<&Daemon> {
        self.daemons.iter().find(|daemon| daemon.host == host && daemon.role == role)
    }
}

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    file: Mutex<File>,
}

impl Journal {
    /// Begins the journal of a cluster of which nothing is made yet.
    pub(super) fn begin(cluster: &Cluster) -> Result<Journal, String> {
        let path = path(&cluster.name);
        let begin = || {
            fs::create_dir_all(cluster.directory())?;
            let unfinished = path.with_extension("new");
            let mut file = OpenOptions::new().append(true).create(true).open(&unfinished)?;
            file.lock()?;
            file.write_all(opening(cluster).as_bytes())?;
            // From here on it is there, and whole.
            fs::rename(&unfinished, &path)?;
            Ok(Journal { file: Mutex::new(file) })
        };
        begin().map_err(|error: io::Error| format!("{}: {error}", path.display()))
    }

    /// Adds a daemon that was just started.
    pub(super) fn daemon(&self, daemon: &Daemon) -> Result<(), String> {
        let Process { number, started } = daemon.process;
        self.add(&format!("process {} {} {number} {started}\n", daemon.role, daemon.host))
    }

    /// Says that everything is there.
    pub(super) fn complete(&self) -> Result<(), String> {
        self.add("complete\n")
    }

    fn add(&self, line: &str) -> Result<(), String> {
        let mut file = self.file.lock().map_err(|_| "the journal is broken: its writer failed".to_owned())?;
        // One write for one line: others that read see it whole or not at all.
        file.write_all(line.as_bytes()).map_err(|error| format!("the journal cannot be written: {error}"))
    }
}

/// Waits until nobody else is about to begin a journal.
pub(super) fn lock_all() -> Result<File, String> {
    let directory = Path::new(CLUSTERS);
    let lock = || -> io::Result<File> {
        fs::create_dir_all(directory)?;
        let file = File::create(directory.join(".lock"))?;
        file.lock()?;
        Ok(file)
    };
    lock().map_err(|error| format!("{}: {error}", directory.display()))
}

/// Waits until nobody else makes or removes the cluster. `None` if it has no journal.
pub(super) fn lock(name: &Name) -> Result<Option<File>, String> {
    let path = path(name);
    let lock = || -> io::Result<File> {
        let file = File::open(&path)?;
        file.lock()?;
        Ok(file)
    };
    match lock() {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn path(name: &Name) -> PathBuf {
    name.directory().join(FILE)
}

fn opening(cluster: &Cluster) -> String {
    let mut text = format!("{VERSION}\ncluster {}\nsubnet {}\n", cluster.name, cluster.subnet.number());
    if cluster.slurm {
        text.push_str("slurm\n");
    }
    for kind in &cluster.kinds {
        text.push_str(&format!("host {}\n", kind.name()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::plan::sample;
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for slurm in [false, true] {
            let cluster = sample(&Kind::ALL, slurm);
            let record = Record::parse(&opening(&cluster)).expect("understood");
            assert_eq!(record, Record { cluster, daemons: Vec::new(), complete: false });
        }
        let text = format!("{}process sshd h2 17 9876543210\ncomplete\n", opening(&sample(&[Kind::Silent], false)));
        let record = Record::parse(&text).expect("understood");
        let process = Process { number: 17, started: 9_876_543_210 };
        assert_eq!(record.daemon("h2", "sshd").map(|daemon| daemon.process), Some(process));
        assert!(record.complete);
    }

    #[test]
    fn a_journal_cut_off_behind_its_plan_names_all_processes_of_whole_lines() {
        let plan = opening(&sample(&[Kind::Ordinary; 3], true));
        let text = format!("{plan}process sshd h1 17 100\nprocess sshd h2 18 101\n");
        for end in plan.len()..=text.len() {
            let record = Record::parse(&text[..end]).expect("understood");
            assert_eq!(record.cluster.kinds.len(), 3);
            assert_eq!(record.daemons.len(), text[plan.len()..end].matches('\n').count());
        }
    }

    #[test]
    fn what_is_not_understood_is_named_and_never_guessed() {
        let plan = opening(&sample(&[Kind::Ordinary], false));
        for bad in ["", "banyan-hosts 2\n", "banyan-hosts 1\n", "banyan-hosts 1\ncluster ../x\nsubnet 1\n"] {
            assert!(Record::parse(bad).is_err(), "{bad:?}");
        }
        for bad in ["process sshd h1 x 1\n", "process sshd h1 1 -1\n", "host odd\n", "something else\n", "\n"] {
            assert!(Record::parse(&format!("{plan}{bad}")).is_err(), "{bad:?}");
        }
    }
}
