//! The test hosts: networks over them, their processes, their cables.

use std::os::unix::fs::MetadataExt;
use std::process::Command;
use std::time::{Duration, Instant};

use banyan_boot::{Launcher, ProcessDistribution, SessionOptions, SshOptions};
use banyan_tree::{Network, NetworkOptions};
use rustix::process::Pid;

use crate::harness::processes::{all, describe, name, status, wait_until_gone, words};
use crate::setup::{PATIENCE, this_program};

/// The hosts of these tests, and how many members each has.
pub(crate) const HOSTS: [&str; 4] = ["h1", "h2", "h3", "h4"];
const EACH: u32 = 2;
pub(crate) const MEMBERS: u64 = 8;

/// How long the front-end waits for those who are adrift: long beside `silence`, short for a test.
pub(crate) const ADRIFT: Duration = Duration::from_secs(5);

/// What the step that made the hosts has to say.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; run cargo xtask test --only sessions"))
}

fn cluster() -> String {
    variable("BANYAN_TEST_CLUSTER")
}

fn ssh_config() -> String {
    format!("/run/banyan-hosts/{}/ssh_config", cluster())
}

/// What runs a command on a host, which is to follow.
pub(crate) fn ssh(host: &str) -> Command {
    let mut ssh = Command::new("ssh");
    ssh.args(["-F", &ssh_config(), host]);
    ssh
}

/// A network of this program's agents and members on all hosts.
pub(crate) fn network(behaviour: &str) -> Network {
    network_of(EACH, behaviour)
}

/// The same with so many members on each host.
pub(crate) fn network_of(each: u32, behaviour: &str) -> Network {
    launch(&members_of(each, behaviour))
}

/// So many members on each host.
pub(crate) fn members_of(each: u32, behaviour: &str) -> ProcessDistribution {
    let members = ProcessDistribution::new(this_program(), ["member", behaviour]);
    HOSTS.into_iter().fold(members, |members, host| members.on(host, each))
}

/// A network of this program's agents.
pub(crate) fn launch(members: &ProcessDistribution) -> Network {
    launch_with(members, ADRIFT)
}

/// The same, where the front-end waits for so long for those who are adrift.
pub(crate) fn launch_with(members: &ProcessDistribution, adrift: Duration) -> Network {
    launch_over(members, SessionOptions::default().fanout, adrift)
}

/// The same, where each node starts the agents of so many hosts at most.
pub(crate) fn launch_over(members: &ProcessDistribution, fanout: u32, adrift: Duration) -> Network {
    let session = SessionOptions::default()
        .fanout(fanout)
        .launcher(Launcher::Ssh(SshOptions::default().arguments(vec!["-F".into(), ssh_config()])))
        .deadline(PATIENCE)
        .grace(Duration::from_millis(500))
        .agent(this_program());
    let mut options = NetworkOptions::default().session(session);
    options.node.adrift = adrift;
    Network::launch(members, &options).unwrap()
}

/// The worker of a host's agent: the parent of its members.
pub(crate) fn worker(host: &str) -> Pid {
    let member = processes(host, &["member"]).into_iter().next().expect("a member");
    Pid::from_raw(status(member).unwrap().1).unwrap()
}

/// Processes of this program on a host, by what they were started as.
fn processes(host: &str, kinds: &[&str]) -> Vec<Pid> {
    let namespace = std::fs::metadata(namespace(host)).unwrap().ino();
    let is_there = |pid: Pid| {
        let own = std::fs::metadata(format!("/proc/{}/ns/net", pid.as_raw_pid()));
        own.is_ok_and(|own| own.ino() == namespace)
    };
    let is_agent = |pid: Pid| kinds.contains(&"agent") && name(pid).starts_with("banyan-");
    let is_wanted = |pid: Pid| words(pid).get(1).is_some_and(|word| kinds.contains(&&**word)) || is_agent(pid);
    all().filter(|pid| is_wanted(*pid) && is_there(*pid)).collect()
}

/// Says that no agent and no member is left on a host, or soon will be.
pub(crate) fn assert_nobody(host: &str, within: Duration) {
    let left = wait_until_gone(|| processes(host, &["agent", "member"]), Instant::now() + within);
    assert!(left.is_empty(), "left on {host} after {} s:\n{}", within.as_secs_f64(), describe(&left));
}

fn namespace(host: &str) -> String {
    format!("/run/netns/{}-{host}", cluster())
}

/// Nothing gets to this host or away from it, until this is dropped.
pub(crate) struct Cut {
    host: &'static str,
}

impl Cut {
    pub(crate) fn off(host: &'static str) -> Cut {
        let chain = |hook: &str| format!("chain {hook} {{ type filter hook {hook} priority 0; policy drop; }}");
        filter(host, &format!("table inet cut {{ {}; {}; }}", chain("input"), chain("output")));
        Cut { host }
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        filter(self.host, "delete table inet cut");
    }
}

/// These hosts can be reached by ssh, and can reach others by ssh, and by nothing else, until this is dropped.
pub(crate) struct Firewall {
    hosts: Vec<&'static str>,
}

impl Firewall {
    /// What it stops vanishes without a word.
    pub(crate) fn around(hosts: &[&'static str]) -> Firewall {
        let chain = |hook: &str, interface: &str| {
            let accepted = [interface, "tcp dport 22", "tcp sport 22"].map(|what| format!("{what} accept;")).concat();
            format!("chain {hook} {{ type filter hook {hook} priority 0; policy drop; {accepted} }}")
        };
        let (input, output) = (chain("input", "iif lo"), chain("output", "oif lo"));
        let firewall = Firewall { hosts: hosts.to_vec() };
        hosts.iter().for_each(|host| filter(host, &format!("table inet firewall {{ {input}; {output}; }}")));
        firewall
    }
}

impl Drop for Firewall {
    fn drop(&mut self) {
        self.hosts.iter().for_each(|host| filter(host, "delete table inet firewall"));
    }
}

fn filter(host: &str, rules: &str) {
    let namespace = format!("--net={}", namespace(host));
    let output = Command::new("nsenter").args([&namespace, "nft", rules]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Says that networks have left nothing on the hosts, or soon will.
pub(crate) fn assert_clean() {
    let arguments = ["hosts", "leftovers", "--within", "20", "--name", &cluster()];
    let output = Command::new(variable("BANYAN_TEST_XTASK")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
}
