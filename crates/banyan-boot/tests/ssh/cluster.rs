//! The test hosts: how they are reached, and what sessions left there.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use banyan_boot::{Launcher, ProcessDistribution, SessionOptions, SshOptions};

use crate::network::Network;
use crate::setup::options;

/// Hosts that work.
pub(crate) const GOOD: [&str; 8] = ["h1", "h2", "h3", "h4", "h5", "h6", "h7", "h8"];
/// Accepts no key.
pub(crate) const REFUSES_KEYS: &str = "h9";
/// Accepts connections and says nothing.
pub(crate) const SILENT: &str = "h10";
/// Greets and prints garbage, and works.
pub(crate) const GREETS: &str = "h11";
/// Answers nothing.
pub(crate) const DEAD: &str = "h12";
/// Asks for a password.
pub(crate) const ASKS: &str = "h13";

/// What the step that made the hosts has to say.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; run cargo xtask test --only sessions"))
}

fn ssh_config(cluster: &str) -> String {
    format!("/run/banyan-hosts/{cluster}/ssh_config")
}

/// The cluster of all kinds of hosts.
pub(crate) fn name() -> String {
    variable("BANYAN_TEST_CLUSTER")
}

/// The cluster whose hosts have hardly any room in their home directories.
pub(crate) fn small() -> String {
    variable("BANYAN_TEST_SMALL_CLUSTER")
}

/// A network that its hosts can reach: they see this path.
pub(crate) fn network(cluster: &str) -> Network {
    Network::at(format!("/run/banyan-hosts/{cluster}/network-{}", std::process::id()))
}

/// Sessions on a cluster, by ssh.
pub(crate) fn on(cluster: &str) -> SessionOptions {
    let arguments = vec!["-F".into(), ssh_config(cluster)];
    options().launcher(Launcher::Ssh(SshOptions::default().arguments(arguments)))
}

/// Sessions on a cluster by ssh, whose configuration is in a directory that hosts do not see.
pub(crate) fn with_keys_here_alone(cluster: &str, directory: &Path) -> SessionOptions {
    let config = directory.join("ssh_config");
    std::fs::copy(ssh_config(cluster), &config).unwrap();
    let arguments = vec!["-F".into(), config.display().to_string()];
    options().launcher(Launcher::Ssh(SshOptions::default().arguments(arguments)))
}

/// Sessions that do not wait long for a host.
pub(crate) fn impatient(cluster: &str, seconds: u64) -> SessionOptions {
    on(cluster).host_deadline(Duration::from_secs(seconds))
}

/// What runs a command on a host, which is to follow.
pub(crate) fn ssh(host: &str) -> Command {
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", &ssh_config(&name()), host]);
    ssh
}

/// Runs a command on a host, without a session.
pub(crate) fn run(host: &str, command: &str) -> String {
    let output = ssh(host).arg(command).output().unwrap();
    assert!(output.status.success(), "{command} on {host}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The same members on each of these hosts.
pub(crate) fn each(members: ProcessDistribution, hosts: &[&str], count: u32) -> ProcessDistribution {
    hosts.iter().fold(members, |members, host| members.on(*host, count))
}

/// Says that sessions have left nothing on the hosts, or soon will.
pub(crate) fn assert_clean(cluster: &str) {
    let arguments = ["hosts", "leftovers", "--within", "10", "--name", cluster];
    let output = Command::new(variable("BANYAN_TEST_XTASK")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}
