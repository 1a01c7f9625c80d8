//! Starting a daemon as if on a host: in its network namespace, under its name, with a home, a `/tmp`, a `/dev/shm`
//! and an `/etc/hosts` of its own.
//!
//! The namespaces of names and mounts are made anew for each daemon; what is mounted is the same for all daemons of a
//! host and lies in the host's directory, so that it can be looked at from outside. Each program in the chain becomes
//! the next one without a fork: the process that was spawned is the daemon.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::PAUSE;
use super::journal::{Daemon, Journal};
use super::plan::{Cluster, Host};
use super::process::Process;

/// The longest that a daemon may take to come up. It is long only because the machine may be busy.
const LIMIT: Duration = Duration::from_secs(60);

/// Where daemons find programs: nothing of the caller's.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What hosts have their own of, and what of this must be seen there all the same.
pub(super) struct View<'a> {
    /// The home directory of root.
    pub(super) home: PathBuf,
    /// The repository: the programs to test lie in it.
    pub(super) repository: &'a Path,
}

impl View<'_> {
    /// The home directory that logging in leads to.
    pub(super) fn home_of_root() -> PathBuf {
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let root = users.lines().find_map(|line| line.strip_prefix("root:"));
        let home = root.and_then(|line| line.split(':').nth(4)).filter(|home| home.starts_with('/'));
        PathBuf::from(home.unwrap_or("/root"))
    }

    /// Where the repository must be shown again, if it lies below `hidden`, which the host has its own of.
    fn shown(&self, hidden: &Path, own: &Path) -> Option<PathBuf> {
        let below = self.repository.strip_prefix(hidden).ok()?;
        Some(own.join(below))
    }

    /// Makes the directories of a host and the script by which daemons enter it.
    pub(super) fn prepare(&self, cluster: &Cluster, host: &Host) -> io::Result<()> {
        let shared = cluster.shared_memory_of(host);
        for open in [host.temporary(), shared] {
            fs::create_dir_all(&open)?;
            fs::set_permissions(&open, Permissions::from_mode(0o1777))?;
        }
        fs::create_dir_all(host.home())?;
        fs::write(script(host), self.text(cluster, host))
    }

    fn text(&self, cluster: &Cluster, host: &Host) -> String {
        let mut text = format!("set -e\nhostname {}\n", host.name);
        let mut bind = |what: &Path, over: &Path, making: bool| {
            let (what, over) = (quoted(what), quoted(over));
            if making {
                text.push_str(&format!("mkdir -p {over}\n"));
            }
            text.push_str(&format!("mount --rbind {what} {over}\n"));
        };
        let own = [(self.home.as_path(), host.home()), (Path::new("/tmp"), host.temporary())];
        for (hidden, own) in &own {
            if let Some(shown) = self.shown(hidden, own) {
                bind(self.repository, &shown, true);
            }
        }
        for (hidden, own) in &own {
            bind(own, hidden, false);
        }
        bind(&cluster.shared_memory_of(host), Path::new("/dev/shm"), false);
        bind(&cluster.file("etc-hosts"), Path::new("/etc/hosts"), false);
        bind(&cluster.file("etc-shadow"), Path::new("/etc/shadow"), false);
        text.push_str("cd /\nexec \"$@\"\n");
        text
    }
}

fn script(host: &Host) -> PathBuf {
    host.directory.join("enter.sh")
}

/// In single quotes for the shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// A daemon that was started and is not up yet.
pub(super) struct Starting {
    pub(super) daemon: Daemon,
    child: Child,
    log: PathBuf,
}

/// Starts a daemon on a host, and writes it down.
pub(super) fn start<I: AsRef<OsStr>>(
    journal: &Journal,
    host: &Host,
    role: &str,
    command: impl IntoIterator<Item = I>,
    variables: &[(&str, &Path)],
) -> Result<Starting, String> {
    let log = host.directory.join(format!("{role}.log"));
    let spawn = || {
        let output = File::create(&log)?;
        // `setsid` first: an interrupt at the keyboard, or the end of a terminal, is not for daemons.
        Command::new("setsid")
            .arg("nsenter")
            .arg(format!("--net={}", host.namespace_file().display()))
            .args(["unshare", "--mount", "--uts", "sh"])
            .arg(script(host))
            .args(command)
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", View::home_of_root())
            .envs(variables.iter().copied())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
    };
    let child = spawn().map_err(|error| format!("{role} on {}: cannot be started: {error}", host.name))?;
    let process = Process::of(child.id()).ok_or(format!("{role} on {}: is not in /proc", host.name))?;
    let daemon = Daemon { role: role.to_owned(), host: host.name.clone(), process };
    journal.daemon(&daemon)?;
    Ok(Starting { daemon, child, log })
}

impl Starting {
    /// Waits until the daemon is up, as `is_up` sees it.
    pub(super) fn wait(mut self, is_up: impl Fn() -> bool) -> Result<Daemon, String> {
        let deadline = Instant::now() + LIMIT;
        loop {
            self.check()?;
            if is_up() {
                return Ok(self.daemon);
            }
            if Instant::now() > deadline {
                return Err(self.failure(&format!("is not up after {} s", LIMIT.as_secs())));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Fails if the daemon has ended.
    pub(super) fn check(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(self.failure(&format!("ended ({status})"))),
            _ => Ok(()),
        }
    }

    fn failure(&self, what: &str) -> String {
        let Daemon { role, host, .. } = &self.daemon;
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was written");
        format!("{role} on {host}: {what}; last line of {}: {last}", self.log.display())
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Kind, sample};
    use super::*;

    fn script_with(repository: &str) -> String {
        let cluster = sample(&[Kind::Ordinary], false);
        let view = View { home: PathBuf::from("/own"), repository: Path::new(repository) };
        view.text(&cluster, &cluster.hosts()[0])
    }

    #[test]
    fn a_host_has_its_own_home_and_temporary_directory() {
        let text = script_with("/src/it's");
        assert!(text.contains("mount --rbind '/run/banyan-hosts/banyan/hosts/h1/home' '/own'\n"), "{text}");
        assert!(text.contains("mount --rbind '/run/banyan-hosts/banyan/hosts/h1/tmp' '/tmp'\n"), "{text}");
        assert!(!text.contains("/src"), "{text}");
    }

    #[test]
    fn a_repository_below_what_is_hidden_is_shown_there_before_it_is_hidden() {
        for hidden in ["/own", "/tmp"] {
            let text = script_with(&format!("{hidden}/it's/here"));
            let (before, _) = text.split_once(&format!("' '{hidden}'\n")).expect("is hidden");
            assert!(before.contains(&format!(r"mount --rbind '{hidden}/it'\''s/here'")), "{text}");
        }
    }
}
