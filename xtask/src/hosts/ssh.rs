//! ssh of a cluster: one key for whoever comes, one for the hosts, a configuration for `ssh -F` that works on this
//! machine and on every host alike, and an `sshd` for each host.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::enter::{self, quoted};
use super::journal::{Daemon, Journal};
use super::plan::{Cluster, Host, Kind};
use super::{RUNNER, process};

/// `sshd` wants this directory, and puts nothing into it. It is the machine's, and stays.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";

/// Newer servers turn those away who failed before; tests fail on purpose. Older ones do not know the word.
const NO_PENALTIES: &str = "PerSourcePenalties no";

/// What is the same on all hosts of a cluster.
pub(super) struct Server {
    /// By its whole path: `sshd` starts itself again for every connection.
    program: PathBuf,
    no_penalties: bool,
}

impl Server {
    /// Makes the keys and what clients need.
    pub(super) fn prepare(cluster: &Cluster) -> Result<Server, String> {
        for key in ["key", "host_key"] {
            let mut command = Command::new("ssh-keygen");
            command.args(["-q", "-t", "ed25519", "-N", "", "-C", "banyan-hosts", "-f"]).arg(cluster.file(key));
            RUNNER.run(&mut command).map_err(|failure| failure.to_string())?;
        }
        let program = program()?;
        let write = || -> io::Result<bool> {
            let host_key = fs::read_to_string(cluster.file("host_key.pub"))?;
            fs::write(cluster.file("known_hosts"), format!("* {host_key}"))?;
            fs::write(cluster.file("ssh_config"), client(cluster))?;
            fs::write(cluster.file("nobody"), "")?;
            // Locked accounts may not log in, and root's often is.
            fs::write(cluster.file("etc-shadow"), "root:*:19000:0:99999:7:::\n")?;
            fs::set_permissions(cluster.file("etc-shadow"), Permissions::from_mode(0o600))?;
            fs::create_dir_all(PRIVILEGE_SEPARATION)?;
            let probe = cluster.file("probe");
            let text = format!("HostKey {}\n{NO_PENALTIES}\n", cluster.file("host_key").display());
            fs::write(&probe, text)?;
            Ok(RUNNER.run(Command::new(&program).arg("-t").arg("-f").arg(&probe)).is_ok())
        };
        let no_penalties = write().map_err(|error| format!("{}: {error}", cluster.directory().display()))?;
        Ok(Server { program, no_penalties })
    }

    /// Starts the `sshd` of a host, and waits until it listens.
    pub(super) fn start(&self, cluster: &Cluster, host: &Host, journal: &Journal) -> Result<Daemon, String> {
        let configuration = host.directory.join("sshd_config");
        self.write(cluster, host, &configuration).map_err(|error| format!("{}: {error}", configuration.display()))?;
        let command = [self.program.as_path(), Path::new("-D"), Path::new("-e"), Path::new("-f"), &configuration];
        // It writes its number only once it listens.
        let listens = host.directory.join("sshd.pid");
        let daemon = enter::start(journal, host, "sshd", command, &[])?.wait(|| listens.exists())?;
        if host.kind == Kind::Silent {
            // The kernel goes on to accept connections for it.
            process::signal(&[daemon.process], "STOP")?;
        }
        Ok(daemon)
    }

    fn write(&self, cluster: &Cluster, host: &Host, configuration: &Path) -> io::Result<()> {
        fs::write(configuration, self.text(cluster, host))?;
        if host.kind == Kind::Banner {
            fs::write(host.directory.join("banner"), format!("Welcome to {}.\nAll use is logged.\n", host.name))?;
            fs::write(host.directory.join("chatter.sh"), CHATTER)?;
        }
        Ok(())
    }

    fn text(&self, cluster: &Cluster, host: &Host) -> String {
        let own = |name: &str| host.directory.join(name).display().to_string();
        let shared = |name: &str| cluster.file(name).display().to_string();
        let authorized = if host.kind == Kind::RefuseKey { "nobody" } else { "key.pub" };
        let mut text = format!(
            "Port 22\nListenAddress 0.0.0.0\nHostKey {}\nPidFile {}\nAuthorizedKeysFile {}\n",
            shared("host_key"),
            own("sshd.pid"),
            shared(authorized),
        );
        text.push_str("PermitRootLogin yes\nKbdInteractiveAuthentication no\nPrintMotd no\n");
        text.push_str("StrictModes no\nUsePAM no\nUseDNS no\nMaxStartups 1000\nMaxSessions 1000\n");
        let password = host.kind == Kind::Password;
        let yes = |is: bool| if is { "yes" } else { "no" };
        let _ = writeln!(text, "PasswordAuthentication {}\nPubkeyAuthentication {}", yes(password), yes(!password));
        if self.no_penalties {
            let _ = writeln!(text, "{NO_PENALTIES}");
        }
        if host.kind == Kind::Banner {
            let chatter = quoted(&host.directory.join("chatter.sh"));
            let _ = writeln!(text, "Banner {}\nForceCommand /bin/sh {chatter}", own("banner"));
        }
        text
    }
}

fn program() -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join("sshd")).find(|path| path.is_file());
    found.ok_or_else(|| "sshd is in no directory of PATH; on Debian it is in /usr/sbin".to_owned())
}

/// What the start-up file of a careless user does, whatever the shell: text, and bytes that are none.
const CHATTER: &str = r#"echo 'Last login: never. You have new mail.'
printf '\000\377\001garbage without end of line'
exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"
"#;

/// The configuration of clients.
fn client(cluster: &Cluster) -> String {
    let shared = |name: &str| cluster.file(name).display().to_string();
    let mut text = String::new();
    for host in cluster.hosts() {
        let _ = writeln!(text, "Host {}\n  HostName {}", host.name, host.address);
        if host.kind == Kind::Password {
            // Who does not refuse questions is to be asked one.
            text.push_str("  BatchMode no\n");
        }
    }
    let _ = writeln!(text, "Host *\n  User root\n  Port 22\n  IdentityFile {}", shared("key"));
    let _ = writeln!(text, "  UserKnownHostsFile {}\n  GlobalKnownHostsFile /dev/null", shared("known_hosts"));
    text.push_str("  IdentitiesOnly yes\n  StrictHostKeyChecking yes\n  UpdateHostKeys no\n");
    text.push_str("  BatchMode yes\n  ConnectTimeout 10\n  KexAlgorithms curve25519-sha256\n");
    text
}

#[cfg(test)]
mod tests {
    use super::super::plan::sample;
    use super::*;

    fn configuration(kind: Kind) -> String {
        let cluster = sample(&[kind], false);
        Server { program: PathBuf::new(), no_penalties: false }.text(&cluster, &cluster.hosts()[0])
    }

    #[test]
    fn an_ordinary_host_takes_the_key_and_nothing_else() {
        let text = configuration(Kind::Ordinary);
        assert!(text.contains("AuthorizedKeysFile /run/banyan-hosts/banyan/key.pub\n"), "{text}");
        assert!(text.contains("PasswordAuthentication no\nPubkeyAuthentication yes\n"), "{text}");
        assert!(!text.contains("Banner") && !text.contains("Penalties"), "{text}");
    }

    #[test]
    fn bad_hosts_are_bad_in_their_own_way() {
        assert!(configuration(Kind::RefuseKey).contains("AuthorizedKeysFile /run/banyan-hosts/banyan/nobody\n"));
        assert!(configuration(Kind::Password).contains("PasswordAuthentication yes\nPubkeyAuthentication no\n"));
        assert!(configuration(Kind::Banner).contains("ForceCommand /bin/sh '"));
    }

    #[test]
    fn clients_find_every_host_and_are_never_asked_but_by_the_host_that_asks() {
        let text = client(&sample(&[Kind::Ordinary, Kind::Password], false));
        assert!(text.starts_with("Host h1\n  HostName 10.213.12.1\nHost h2\n"), "{text}");
        let (hosts, all) = text.split_once("Host *\n").expect("a part for all");
        assert_eq!(hosts.matches("BatchMode no").count(), 1);
        assert!(all.contains("BatchMode yes\n") && all.contains("  IdentityFile /run/banyan-hosts/banyan/key\n"));
    }
}
