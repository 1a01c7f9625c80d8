//! Showing clusters: for people, for programs, and for a shell.

use serde_json::{Value, json};

use super::enter::quoted;
use super::journal::{Daemon, Record};
use super::plan::Host;
use super::slurm;

/// How a cluster is.
fn state(record: &Record) -> String {
    let dead: Vec<String> = record.daemons.iter().filter(|daemon| !daemon.process.is_alive()).map(title).collect();
    match (record.complete, dead.is_empty()) {
        (false, _) => format!("half-made; remove it with: cargo xtask hosts down --name {}", record.cluster.name),
        (true, true) => "up".to_owned(),
        (true, false) => format!("ended: {}", dead.join(", ")),
    }
}

fn title(daemon: &Daemon) -> String {
    format!("{} on {}", daemon.role, daemon.host)
}

/// Clusters as a table.
pub(super) fn table(records: &[Record]) -> String {
    if records.is_empty() {
        return "no clusters; make one with: cargo xtask hosts up N".to_owned();
    }
    let mut lines = Vec::new();
    for record in records {
        let cluster = &record.cluster;
        lines.push(format!("cluster {}  {}  {}", cluster.name, cluster.subnet, state(record)));
        lines.push(format!("  {:<6} {:<15} {:<11} {:>8} {:>8}", "host", "address", "kind", "sshd", "slurmd"));
        for host in cluster.hosts() {
            let number = |role: &str| record.daemon(&host.name, role).map_or("-".to_owned(), number);
            let Host { name, address, kind, .. } = &host;
            let address = address.to_string();
            let kind = kind.name();
            lines.push(format!("  {name:<6} {address:<15} {kind:<11} {:>8} {:>8}", number("sshd"), number("slurmd")));
        }
        if let Some(host) = cluster.controller() {
            let daemons = record.daemons.iter().filter(|daemon| daemon.host == host.name);
            let daemons: Vec<String> = daemons.map(|daemon| format!("{} {}", daemon.role, number(daemon))).collect();
            lines.push(format!("  {:<6} {:<15} {}", host.name, host.address.to_string(), daemons.join(", ")));
        }
    }
    lines.join("\n")
}

/// The number of a daemon's process, in parentheses if it has ended.
fn number(daemon: &Daemon) -> String {
    let number = daemon.process.number;
    if daemon.process.is_alive() { number.to_string() } else { format!("({number})") }
}

/// Clusters as one JSON object.
pub(super) fn object(records: &[Record]) -> String {
    json!({ "clusters": records.iter().map(cluster).collect::<Vec<_>>() }).to_string()
}

fn cluster(record: &Record) -> Value {
    let cluster = &record.cluster;
    let hosts: Vec<Value> = cluster.hosts().iter().map(|one| host(record, one)).collect();
    json!({
        "name": cluster.name.to_string(),
        "state": state(record),
        "subnet": cluster.subnet.to_string(),
        "front_end": cluster.subnet.front_end().to_string(),
        "directory": cluster.directory(),
        "host_set": cluster.host_set(),
        "ssh_config": cluster.file("ssh_config"),
        "slurm_conf": cluster.slurm.then(|| slurm::configuration(cluster)),
        "hosts": hosts,
        "controller": cluster.controller().map(|controller| host(record, &controller)),
    })
}

fn host(record: &Record, host: &Host) -> Value {
    let daemons = record.daemons.iter().filter(|daemon| daemon.host == host.name);
    let object = |daemon: &Daemon| {
        let Daemon { role, process, .. } = daemon;
        json!({ "role": role, "pid": process.number, "alive": process.is_alive() })
    };
    json!({
        "name": host.name,
        "kind": host.kind.name(),
        "address": host.address.to_string(),
        "namespace": host.namespace,
        "home": host.home(),
        "tmp": host.temporary(),
        "shm": record.cluster.shared_memory_of(host),
        "daemons": daemons.map(object).collect::<Vec<_>>(),
    })
}

/// The variables by which programs find a cluster, as a shell reads them.
pub(super) fn variables(record: &Record) -> String {
    let cluster = &record.cluster;
    let mut lines = vec![
        format!("export BANYAN_HOSTS='{}'", cluster.host_set()),
        format!("export SSH_CONFIG={}", quoted(&cluster.file("ssh_config"))),
    ];
    if cluster.slurm {
        lines.push(format!("export SLURM_CONF={}", quoted(&slurm::configuration(cluster))));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Kind, sample};
    use super::super::process::Process;
    use super::*;

    fn record(complete: bool) -> Record {
        let this = Process::of(std::process::id()).expect("runs");
        let ended = Process { started: this.started + 1, ..this };
        let daemon = |host: &str, process| Daemon { role: "sshd".into(), host: host.into(), process };
        let daemons = vec![daemon("h1", this), daemon("h2", ended)];
        Record { cluster: sample(&[Kind::Ordinary; 2], true), daemons, complete }
    }

    #[test]
    fn a_cluster_says_what_is_wrong_with_it() {
        assert_eq!(state(&record(true)), "ended: sshd on h2");
        assert_eq!(state(&record(false)), "half-made; remove it with: cargo xtask hosts down --name banyan");
    }

    #[test]
    fn programs_see_which_daemons_run() {
        let text = object(&[record(true)]);
        assert_eq!((text.matches("\"alive\":true").count(), text.matches("\"alive\":false").count()), (1, 1));
        assert!(text.contains(r#""host_set":"h[1-2]""#), "{text}");
    }

    #[test]
    fn a_shell_learns_hosts_and_configurations() {
        let text = variables(&record(true));
        assert!(text.starts_with("export BANYAN_HOSTS='h[1-2]'\nexport SSH_CONFIG='/run/"), "{text}");
        assert!(text.ends_with("export SLURM_CONF='/run/banyan-hosts/banyan/slurm.conf'"), "{text}");
    }
}
