//! A cluster on paper: from its name, its subnet and its hosts follow the names of everything it owns, so that what was
//! made can be found again, and removed, from these few words alone.
//!
//! Nothing here looks at the machine.

use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// A bridge has 1023 ports, and a subnet of 22 bits 1022 addresses; the last two of each are the cluster's own.
pub(super) const MAXIMUM_HOSTS: u16 = 1000;

/// Longest name of a cluster: the path of munge's socket must stay below 100 bytes.
const NAME_BYTES: usize = 24;

/// Where clusters are written down. It is gone after a restart of the machine, as the namespaces are, and its path is
/// short and lies outside every home directory.
pub(crate) const CLUSTERS: &str = "/run/banyan-hosts";

/// The host that runs the daemons which are not on every host.
pub(super) const CONTROLLER: &str = "ctl";

/// One of the 64 subnets `10.213.K.0/22`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Subnet(u8);

impl Subnet {
    const COUNT: u8 = 64;

    pub(super) fn all() -> impl Iterator<Item = Subnet> {
        (0..Subnet::COUNT).map(Subnet)
    }

    pub(super) fn parse(number: &str) -> Option<Subnet> {
        let number: u8 = number.parse().ok()?;
        (number < Subnet::COUNT).then_some(Subnet(number))
    }

    pub(super) fn number(self) -> u8 {
        self.0
    }

    /// The address of a host, counted from one.
    fn address(self, host: u16) -> Ipv4Addr {
        let [high, low] = host.to_be_bytes();
        Ipv4Addr::new(10, 213, self.0 * 4 + high, low)
    }

    /// The address that the machine itself has in this subnet.
    pub(super) fn front_end(self) -> Ipv4Addr {
        self.address(1022)
    }

    fn controller(self) -> Ipv4Addr {
        self.address(1021)
    }

    pub(super) fn contains(self, address: Ipv4Addr) -> bool {
        let mask = u32::MAX << 10;
        u32::from(address) & mask == u32::from(self.address(0))
    }

    /// The bridge; `bny` and less than 12 more, because Linux takes 15 bytes for the name of a link.
    pub(super) fn bridge(self) -> String {
        format!("bny{}", self.0)
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/22", self.address(0))
    }
}

/// The hardware address of the link with this address: it follows from it, so that nobody has to ask for it.
pub(super) fn hardware(address: Ipv4Addr) -> String {
    let [a, b, c, d] = address.octets();
    format!("02:bb:{a:02x}:{b:02x}:{c:02x}:{d:02x}")
}

/// How a host behaves when someone comes by ssh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// As it should.
    Ordinary,
    /// Knows nobody's key.
    RefuseKey,
    /// Accepts the connection and never says a word.
    Silent,
    /// Greets, and prints garbage before the output of every command.
    Banner,
    /// Answers nothing at all.
    Dead,
    /// Wants a password.
    Password,
}

impl Kind {
    pub(super) const ALL: [Kind; 6] =
        [Kind::Ordinary, Kind::RefuseKey, Kind::Silent, Kind::Banner, Kind::Dead, Kind::Password];

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Ordinary => "ordinary",
            Kind::RefuseKey => "refuse-key",
            Kind::Silent => "silent",
            Kind::Banner => "banner",
            Kind::Dead => "dead",
            Kind::Password => "password",
        }
    }

    pub(super) fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// What a cluster is called: a lower-case letter, then letters, digits and hyphens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name(String);

impl Name {
    pub(super) fn parse(text: &str) -> Result<Name, String> {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.len() <= NAME_BYTES && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(inner) {
            return Ok(Name(text.to_owned()));
        }
        Err(format!(
            "{text:?} is not a name for a cluster: that is a lower-case letter, then letters, digits and hyphens, at most {NAME_BYTES} in all"
        ))
    }

    /// Where everything about this cluster is written.
    pub(super) fn directory(&self) -> PathBuf {
        Path::new(CLUSTERS).join(&self.0)
    }
}

impl Default for Name {
    fn default() -> Self {
        Name("banyan".to_owned())
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A cluster.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cluster {
    pub(super) name: Name,
    pub(super) subnet: Subnet,
    /// Whether Slurm runs on it.
    pub(super) slurm: bool,
    /// How each host behaves, `h1` first.
    pub(super) kinds: Vec<Kind>,
}

/// A host of a cluster: one of those asked for, or the controller.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) address: Ipv4Addr,
    /// The name of its network namespace.
    pub(super) namespace: String,
    /// The bridge's end of its cable.
    pub(super) link: String,
    /// What is about this host alone.
    pub(super) directory: PathBuf,
}

impl Host {
    /// What it sees as its home directory.
    pub(super) fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// What it sees as `/tmp`.
    pub(super) fn temporary(&self) -> PathBuf {
        self.directory.join("tmp")
    }

    /// The file that is its network namespace.
    pub(super) fn namespace_file(&self) -> PathBuf {
        Path::new("/run/netns").join(&self.namespace)
    }
}

impl Cluster {
    pub(super) fn directory(&self) -> PathBuf {
        self.name.directory()
    }

    /// The file with this name in the cluster's directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory().join(name)
    }

    /// Shared memory of all hosts: below the machine's own, because that is in memory.
    pub(super) fn shared_memory(&self) -> PathBuf {
        Path::new("/dev/shm").join(format!("banyan-hosts-{}", self.name))
    }

    /// What a host sees as `/dev/shm`.
    pub(super) fn shared_memory_of(&self, host: &Host) -> PathBuf {
        self.shared_memory().join(&host.name)
    }

    /// The hosts that were asked for.
    pub(super) fn hosts(&self) -> Vec<Host> {
        let numbered = (1..).zip(&self.kinds);
        numbered
            .map(|(number, kind)| {
                self.host(format!("h{number}"), number.to_string(), *kind, self.subnet.address(number))
            })
            .collect()
    }

    /// The host with the daemons of Slurm that are there once.
    pub(super) fn controller(&self) -> Option<Host> {
        let host = || self.host(CONTROLLER.to_owned(), "c".to_owned(), Kind::Ordinary, self.subnet.controller());
        self.slurm.then(host)
    }

    /// All that have a namespace.
    pub(super) fn everyone(&self) -> Vec<Host> {
        let mut hosts = self.hosts();
        hosts.extend(self.controller());
        hosts
    }

    fn host(&self, name: String, cable: String, kind: Kind, address: Ipv4Addr) -> Host {
        let namespace = format!("{}-{name}", self.name);
        let link = format!("{}v{cable}", self.subnet.bridge());
        let directory = self.file("hosts").join(&name);
        Host { name, kind, address, namespace, link, directory }
    }

    /// The hosts as `pdsh` and Banyan write them.
    pub(super) fn host_set(&self) -> String {
        match self.kinds.len() {
            1 => "h1".to_owned(),
            count => format!("h[1-{count}]"),
        }
    }

    /// `/etc/hosts` of every host.
    pub(super) fn host_table(&self) -> String {
        let mut text = format!("127.0.0.1 localhost\n::1 localhost\n{} front-end\n", self.subnet.front_end());
        for host in self.everyone() {
            text.push_str(&format!("{} {}\n", host.address, host.name));
        }
        text
    }
}

#[cfg(test)]
pub(super) fn sample(kinds: &[Kind], slurm: bool) -> Cluster {
    Cluster { name: Name::default(), subnet: Subnet(3), slurm, kinds: kinds.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_of_the_largest_cluster_is_its_own_and_in_its_subnet() {
        let cluster = sample(&[Kind::Ordinary; MAXIMUM_HOSTS as usize], true);
        let mut addresses: Vec<Ipv4Addr> = cluster.everyone().iter().map(|host| host.address).collect();
        addresses.push(cluster.subnet.front_end());
        assert!(addresses.iter().all(|address| cluster.subnet.contains(*address)));
        let others: Vec<Subnet> = Subnet::all().filter(|subnet| *subnet != cluster.subnet).collect();
        assert!(!addresses.iter().any(|address| others.iter().any(|other| other.contains(*address))));
        addresses.sort_unstable();
        addresses.dedup();
        assert_eq!(addresses.len(), 1002);
    }

    #[test]
    fn names_of_links_fit_and_are_unique_over_all_clusters() {
        let mut links = Vec::new();
        for subnet in Subnet::all() {
            let cluster = Cluster { subnet, ..sample(&[Kind::Ordinary; MAXIMUM_HOSTS as usize], true) };
            links.extend(cluster.everyone().into_iter().map(|host| host.link));
            links.push(subnet.bridge());
        }
        assert!(links.iter().all(|link| link.len() <= 15));
        let count = links.len();
        links.sort_unstable();
        links.dedup();
        assert_eq!(links.len(), count);
    }

    #[test]
    fn a_host_is_found_by_its_number() {
        let hosts = sample(&[Kind::Ordinary; 300], false).hosts();
        assert_eq!(hosts[299].name, "h300");
        assert_eq!(hosts[299].address, Ipv4Addr::new(10, 213, 13, 44));
        assert_eq!(hosts[299].namespace, "banyan-h300");
        assert_eq!(hardware(hosts[299].address), "02:bb:0a:d5:0d:2c");
    }

    #[test]
    fn names_that_would_leave_the_directory_or_make_paths_too_long_are_refused() {
        for bad in ["", "../x", "a/b", "7up", "Upper", "a b", "abcdefghijklmnopqrstuvwxyz"] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
        let longest = Name::parse(&"a".repeat(NAME_BYTES)).expect("fits");
        assert!(longest.directory().join("munge/munge.socket").as_os_str().len() < 100);
    }

    #[test]
    fn kinds_are_known_by_their_names() {
        assert!(Kind::ALL.into_iter().all(|kind| Kind::parse(kind.name()) == Some(kind)));
    }
}
