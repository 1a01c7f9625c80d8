//! The network of a cluster: a bridge with an address in this machine's own namespace, and a namespace for each host,
//! tied to the bridge by a pair of virtual links.
//!
//! Every hardware address follows from the address, and this machine and each host know one another's beforehand: the
//! kernel's table of neighbours, one for all namespaces, would be too small for a thousand hosts that learn.

use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::plan::{Cluster, Host, Kind, Subnet, hardware};
use super::{PAUSE, RUNNER, tied};

/// The host's end of its cable.
const INTERFACE: &str = "eth0";

/// Links of removed namespaces go in the background; this is far more than a thousand take.
const REMOVAL_LIMIT: Duration = Duration::from_secs(60);

/// The first subnet that nothing on this machine uses.
pub(super) fn free_subnet(taken: &[Subnet]) -> Result<Subnet, String> {
    let show = |what: &str| RUNNER.run(Command::new("ip").args(["-o", "-4", what, "show"]));
    let used = show("address").and_then(|addresses| Ok(addresses + &show("route")?));
    let used = addresses(&used.map_err(|failure| failure.to_string())?);
    let is_free = |subnet: &Subnet| {
        !taken.contains(subnet) && !link_exists(&subnet.bridge()) && !used.iter().any(|used| subnet.contains(*used))
    };
    let none =
        || "all subnets 10.213.K.0/22 are in use; remove a cluster: cargo xtask hosts down --name NAME".to_owned();
    Subnet::all().find(is_free).ok_or_else(none)
}

/// Every word that is an address, with or without the length of its prefix.
fn addresses(text: &str) -> Vec<Ipv4Addr> {
    let words = text.split_whitespace().filter_map(|word| word.split('/').next());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// Makes the bridge, the namespaces and the links between them.
pub(super) fn make(cluster: &Cluster) -> Result<(), String> {
    let hosts = cluster.everyone();
    // Two runs: `ip netns add` changes the namespace of the program that makes it.
    batch(cluster, "namespaces", &namespaces(&hosts))?;
    batch(cluster, "links", &links(cluster, &hosts, no_greeting()))
}

fn batch(cluster: &Cluster, name: &str, commands: &str) -> Result<(), String> {
    let path = cluster.file(&format!("{name}.ip"));
    fs::write(&path, commands).map_err(|error| format!("{}: {error}", path.display()))?;
    RUNNER.run(tied("ip").arg("-batch").arg(&path)).map_err(|failure| failure.to_string())?;
    Ok(())
}

fn namespaces(hosts: &[Host]) -> String {
    let mut text = String::new();
    for host in hosts {
        let _ = writeln!(text, "netns add {}", host.namespace);
    }
    text
}

/// The words that keep a link from giving itself an address of IPv6: a thousand of them would greet one another. A
/// kernel without IPv6 does not know them.
fn no_greeting() -> &'static str {
    if Path::new("/proc/net/if_inet6").exists() { "addrgenmode none" } else { "" }
}

fn links(cluster: &Cluster, hosts: &[Host], quiet: &str) -> String {
    let (bridge, own) = (cluster.subnet.bridge(), cluster.subnet.front_end());
    let mut text = format!("link add {bridge} address {} type bridge\n", hardware(own));
    let _ = writeln!(text, "address add {own}/22 dev {bridge}");
    let _ = writeln!(text, "link set {bridge} {quiet} up");
    for Host { namespace, link, address, .. } in hosts {
        let end = format!("peer name {INTERFACE} address {} netns {namespace}", hardware(*address));
        let _ = writeln!(text, "link add {link} type veth {end}");
        let _ = writeln!(text, "link set {link} {quiet} master {bridge} up");
        let _ = writeln!(text, "neighbour replace {address} lladdr {} dev {bridge} nud permanent", hardware(*address));
    }
    text
}

/// Sets up the network inside a host.
pub(super) fn set_up_host(cluster: &Cluster, host: &Host) -> Result<(), String> {
    let path = host.directory.join("network.ip");
    fs::write(&path, inside(cluster, host, no_greeting())).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut command = tied("ip");
    RUNNER.run(command.args(["-n", &host.namespace, "-batch"]).arg(&path)).map_err(|failure| failure.to_string())?;
    if host.kind == Kind::Dead {
        // Neighbours still find it, or they would be told at once that it is not there.
        let mut command = Command::new("nsenter");
        command.arg(format!("--net={}", host.namespace_file().display()));
        command.args(["nft", "table inet dead { chain in { type filter hook input priority 0; policy drop; }; }"]);
        RUNNER.run(&mut command).map_err(|failure| failure.to_string())?;
    }
    Ok(())
}

fn inside(cluster: &Cluster, host: &Host, quiet: &str) -> String {
    let own = cluster.subnet.front_end();
    format!(
        "link set lo up\n\
         address add {}/22 dev {INTERFACE}\n\
         link set {INTERFACE} {quiet} up\n\
         neighbour replace {own} lladdr {} dev {INTERFACE} nud permanent\n",
        host.address,
        hardware(own),
    )
}

/// Removes the names of namespaces, and the bridge, those that are there. A namespace itself ends with the last process
/// in it, and its links with it.
pub(super) fn remove(cluster: &Cluster) -> Result<(), String> {
    let hosts = cluster.everyone();
    let mut text = String::new();
    for host in hosts.iter().filter(|host| host.namespace_file().exists()) {
        let _ = writeln!(text, "netns delete {}", host.namespace);
    }
    if link_exists(&cluster.subnet.bridge()) {
        let _ = writeln!(text, "link delete {}", cluster.subnet.bridge());
    }
    let path = cluster.file("removal.ip");
    fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    // Another `down` may have been killed and its command not: what is gone is no failure, and what stays is found by
    // whoever looks for it afterwards.
    let _ = RUNNER.run(tied("ip").args(["-force", "-batch"]).arg(&path));
    Ok(())
}

/// Waits until no link is left: the kernel takes them out a little later than their namespaces, and all at once.
pub(super) fn wait_until_removed(cluster: &Cluster) {
    let deadline = Instant::now() + REMOVAL_LIMIT;
    let hosts = cluster.everyone();
    while hosts.iter().any(|host| link_exists(&host.link)) && Instant::now() < deadline {
        std::thread::sleep(PAUSE);
    }
}

/// What of the network is there.
pub(super) fn remains(cluster: &Cluster) -> Vec<String> {
    let hosts = cluster.everyone();
    let namespaces = hosts.iter().filter(|host| host.namespace_file().exists());
    let mut found: Vec<String> = namespaces.map(|host| format!("namespace {}", host.namespace)).collect();
    let links = hosts.iter().map(|host| host.link.clone()).chain([cluster.subnet.bridge()]);
    found.extend(links.filter(|link| link_exists(link)).map(|link| format!("link {link}")));
    found
}

fn link_exists(link: &str) -> bool {
    Path::new("/sys/class/net").join(link).exists()
}

#[cfg(test)]
mod tests {
    use super::super::plan::sample;
    use super::*;

    #[test]
    fn addresses_are_found_in_what_ip_prints() {
        let text = "4: eth0    inet 10.213.4.7/30 brd 10.213.4.255 scope global eth0\ndefault via 192.0.2.1 dev eth0";
        let expected = ["10.213.4.7", "10.213.4.255", "192.0.2.1"].map(|text| text.parse::<Ipv4Addr>().expect("one"));
        assert_eq!(addresses(text), expected);
    }

    #[test]
    fn each_host_is_tied_to_the_bridge() {
        let cluster = sample(&[Kind::Ordinary; 2], true);
        let text = links(&cluster, &cluster.everyone(), "addrgenmode none");
        assert_eq!(text.lines().count(), 3 + 3 * 3);
        let cable = "link add bny3v2 type veth peer name eth0 address 02:bb:0a:d5:0c:02 netns banyan-h2";
        assert!(text.contains(cable), "{text}");
        assert!(text.contains("link set bny3v2 addrgenmode none master bny3 up\n"), "{text}");
        assert!(text.contains("address add 10.213.15.254/22 dev bny3\n"), "{text}");
    }
}
