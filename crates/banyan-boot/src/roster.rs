//! The roster: what agents that are started together are told, so that each finds its parent.
//!
//! It is a text of lines, the same for every agent: a key, and its values behind blanks. There is one line `agent` for each
//! agent; every other key is there once, and keys that this release does not know are skipped. The text holds the session's
//! secret: it travels through standard input or a file that only its owner can read, never through arguments or the
//! environment.
//!
//! ```text
//! protocol 1
//! session a7a7…
//! secret 5c5c…
//! front_end 10.0.0.1:4711 [::1]:4711
//! encrypt true
//! host_deadline_ms 30000
//! heartbeat_ms 5000
//! silence_ms 20000
//! agent 1 n17 10.1.2.17
//! agent 0 n18
//! ```

use std::fmt::{self, Write as _};
use std::net::SocketAddr;
use std::time::Duration;

use banyan_link::{
    Encryption, Heartbeat, LinkOptions, OtherProtocol, PROTOCOL_VERSION, Secret, SecretBytes, SessionId,
};

use crate::assignment::{Assignment, Terms};
use crate::node::agent_link_options;
use crate::shape;

/// Bytes of the longest roster: a million hosts with long names.
pub(crate) const ROSTER_BYTES: u64 = 256 << 20;

/// See the module. It does not show itself: it holds the secret.
pub(crate) struct Roster {
    pub(crate) session: SessionId,
    pub(crate) secret: Secret,
    /// All agents of the session, by their number.
    pub(crate) agents: Vec<AgentHost>,
    /// Where the front-end listens.
    pub(crate) front_end: Vec<SocketAddr>,
    /// How long a parent may take to come.
    pub(crate) host_deadline: Duration,
    pub(crate) encrypt: bool,
    pub(crate) heartbeat: Heartbeat,
}

/// Where an agent runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AgentHost {
    /// The host's name, as the launcher knows it.
    pub(crate) host: String,
    /// Its address or another name that leads there; empty: the host's name does.
    pub(crate) address: String,
    /// How many agents are below it: those that follow.
    pub(crate) below: u32,
}

/// Why a text is no roster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RosterError {
    #[error("host {0:?} cannot be in a roster: blanks end a name there; give the host a name without blanks")]
    Host(String),
    #[error("{}; {}", .0.cause("the front-end that wrote the roster", "this agent"), .0.remedy("the front-end", "this agent"))]
    Version(#[from] OtherProtocol),
    #[error("the roster's {0} is missing or not what it should be; is the file one that this session wrote?")]
    Field(&'static str),
}

/// Why an agent does not know which of the roster it is.
#[derive(Debug, thiserror::Error)]
#[error(
    "host {host} is not one of the {count} of the roster ({first}, …), and no variable says which it is; name hosts as they \
     name themselves"
)]
pub(crate) struct UnknownHost {
    host: String,
    count: usize,
    first: String,
}

/// What a process knows of itself.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    /// The name that Slurm has for this node.
    pub(crate) node: Option<String>,
    /// The host's own name.
    pub(crate) host: String,
    /// The number that its starter gave it.
    pub(crate) rank: Option<usize>,
}

/// Variables by which starters number their processes.
const RANKS: [&str; 4] = ["PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PALS_RANKID"];

impl Identity {
    /// Of this process.
    pub(crate) fn own() -> Identity {
        Identity {
            node: std::env::var("SLURMD_NODENAME").ok(),
            host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
            rank: RANKS.iter().find_map(|name| std::env::var(name).ok()?.parse().ok()),
        }
    }
}

impl AgentHost {
    /// From the values of its line.
    fn parse(line: &str) -> Option<AgentHost> {
        let mut values = line.split_whitespace();
        let below = values.next()?.parse().ok()?;
        Some(AgentHost { below, host: values.next()?.into(), address: values.next().unwrap_or_default().into() })
    }
}

impl Roster {
    /// The roster of a session whose front-end listens at these addresses.
    pub(crate) fn new(
        assignment: &Assignment,
        secret: Secret,
        agents: Vec<AgentHost>,
        front_end: Vec<SocketAddr>,
    ) -> Roster {
        let Terms { encrypt, heartbeat, silence, .. } = assignment.terms;
        Roster {
            session: SessionId(assignment.session),
            secret,
            agents,
            front_end,
            host_deadline: assignment.terms.host_deadline(),
            encrypt,
            heartbeat: Heartbeat::default()
                .every(Duration::from_millis(heartbeat))
                .lost_after(Duration::from_millis(silence)),
        }
    }

    /// As text.
    pub(crate) fn to_text(&self) -> Result<SecretBytes, RosterError> {
        let mut text = SecretBytes::default();
        // Writing to memory never fails.
        let _ = write!(text, "protocol {PROTOCOL_VERSION}\nsession {}\nsecret ", hexadecimal(&self.session.0));
        text.push_hex(&self.secret);
        text.push(b"\n");
        let mut line = |key: &str, value: &dyn fmt::Display| _ = writeln!(text, "{key} {value}");
        line("front_end", &self.front_end.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" "));
        line("encrypt", &self.encrypt);
        line("host_deadline_ms", &self.host_deadline.as_millis());
        line("heartbeat_ms", &self.heartbeat.every.as_millis());
        line("silence_ms", &self.heartbeat.lost_after.as_millis());
        for AgentHost { host, address, below } in &self.agents {
            if host.is_empty() || host.contains(char::is_whitespace) || address.contains(char::is_whitespace) {
                return Err(RosterError::Host(host.clone()));
            }
            line("agent", &format_args!("{below} {host} {address}"));
        }
        Ok(text)
    }

    /// From text.
    pub(crate) fn parse(text: &str) -> Result<Roster, RosterError> {
        let lines = || text.lines().map(|line| line.split_once(' ').unwrap_or((line, "")));
        let value =
            |name| lines().find(|(key, _)| *key == name).map(|(_, value)| value).ok_or(RosterError::Field(name));
        let duration = |name| -> Result<Duration, RosterError> {
            value(name)?.parse().map(Duration::from_millis).map_err(|_| RosterError::Field(name))
        };
        // First of all: a roster of another protocol may look different but for this.
        OtherProtocol::check(value("protocol")?.parse().map_err(|_| RosterError::Field("protocol"))?)?;
        let agents = lines().filter(|(key, _)| *key == "agent").map(|(_, agent)| AgentHost::parse(agent));
        let agents: Vec<AgentHost> = agents.collect::<Option<_>>().ok_or(RosterError::Field("agent"))?;
        if shape::misfit(agents.len(), |agent| agents[agent].below).is_some() {
            return Err(RosterError::Field("tree of agents"));
        }
        let front_end = value("front_end")?.split_whitespace().map(str::parse).collect::<Result<_, _>>();
        Ok(Roster {
            session: SessionId(bytes(value("session")?).ok_or(RosterError::Field("session"))?),
            secret: Secret::from_hex(value("secret")?).ok_or(RosterError::Field("secret"))?,
            agents,
            front_end: front_end.map_err(|_| RosterError::Field("front_end"))?,
            host_deadline: duration("host_deadline_ms")?,
            encrypt: value("encrypt")?.parse().map_err(|_| RosterError::Field("encrypt"))?,
            heartbeat: Heartbeat::default().every(duration("heartbeat_ms")?).lost_after(duration("silence_ms")?),
        })
    }

    /// Which agent somebody is: by the node's name, the host's name (in full, or its first part if only one agent has
    /// it), or the number its starter gave it.
    pub(crate) fn index_of(&self, who: &Identity) -> Result<usize, UnknownHost> {
        let by_name = |name: &str| self.agents.iter().position(|place| place.host == name);
        let by_short_name = || {
            let mut same = self.agents.iter().enumerate().filter(|(_, place)| short(&place.host) == short(&who.host));
            let (index, _) = same.next()?;
            same.next().is_none().then_some(index)
        };
        let found = who.node.as_deref().and_then(by_name).or_else(|| by_name(&who.host)).or_else(by_short_name);
        found.or_else(|| who.rank.filter(|rank| *rank < self.agents.len())).ok_or_else(|| UnknownHost {
            host: who.host.clone(),
            count: self.agents.len(),
            first: self.agents.first().map_or_else(String::new, |place| place.host.clone()),
        })
    }

    /// How links between the session's nodes are set up.
    pub(crate) fn link_options(&self) -> LinkOptions {
        let encryption = if self.encrypt { Encryption::BetweenHosts } else { Encryption::Never };
        agent_link_options().heartbeat(self.heartbeat).encryption(encryption)
    }
}

/// A host's name without its domain; addresses have none.
fn short(host: &str) -> &str {
    if host.parse::<std::net::IpAddr>().is_ok() { host } else { host.split('.').next().unwrap_or(host) }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Exactly so many bytes from hexadecimal digits.
fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N {
        return None;
    }
    let digits: Option<Vec<u8>> = text.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let bytes: Vec<u8> = digits?.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect();
    bytes.try_into().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A roster of hosts, for tests.
    pub(crate) fn roster(hosts: &[&str]) -> Roster {
        Roster {
            session: SessionId([0xa7; 16]),
            secret: Secret::from_bytes([0x5c; 32]),
            agents: hosts
                .iter()
                .zip(shape::balanced(hosts.len(), 2))
                .map(|(host, below)| AgentHost { host: (*host).into(), address: String::new(), below })
                .collect(),
            front_end: vec!["10.0.0.1:7".parse().unwrap(), "[::1]:7".parse().unwrap()],
            host_deadline: Duration::from_secs(5),
            encrypt: true,
            heartbeat: Heartbeat::default(),
        }
    }

    fn who(node: Option<&str>, host: &str, rank: Option<usize>) -> Identity {
        Identity { node: node.map(Into::into), host: host.into(), rank }
    }

    fn text(roster: &Roster) -> String {
        roster.to_text().unwrap().expose_text().unwrap().to_owned()
    }

    #[test]
    fn the_nodes_name_counts_before_the_hosts_and_the_hosts_before_the_rank() {
        let roster = roster(&["a", "b", "c"]);
        assert_eq!(roster.index_of(&who(Some("c"), "b", Some(0))).unwrap(), 2);
        assert_eq!(roster.index_of(&who(None, "b", Some(0))).unwrap(), 1);
        assert_eq!(roster.index_of(&who(Some("x"), "b", Some(0))).unwrap(), 1);
        assert_eq!(roster.index_of(&who(None, "x", Some(2))).unwrap(), 2);
    }

    #[test]
    fn a_domain_may_be_missing_on_either_side_unless_that_is_ambiguous() {
        assert_eq!(roster(&["a.site", "b.site"]).index_of(&who(None, "b", None)).unwrap(), 1);
        assert_eq!(roster(&["a", "b"]).index_of(&who(None, "b.site", None)).unwrap(), 1);
        assert!(roster(&["a.one", "a.two"]).index_of(&who(None, "a", None)).is_err());
        assert!(roster(&["10.0.0.1", "10.0.0.2"]).index_of(&who(None, "10.0.0.3", None)).is_err());
    }

    #[test]
    fn a_stranger_is_told_its_name_and_the_rosters_first() {
        let error = roster(&["a", "b"]).index_of(&who(None, "x", Some(2))).unwrap_err().to_string();
        assert!(error.contains("host x is not one of the 2 of the roster (a, …)"), "{error}");
    }

    #[test]
    fn a_roster_of_another_protocol_is_refused_whatever_else_is_in_it() {
        let error = Roster::parse("protocol 2\nhosts 5\n").err().unwrap().to_string();
        assert_eq!(
            error,
            "the front-end that wrote the roster speaks protocol 2 of Banyan, this agent protocol 1; update this agent: \
             build it with a release of Banyan that speaks protocol 2"
        );
    }

    #[test]
    fn what_later_releases_add_to_a_roster_is_skipped() {
        let roster = roster(&["a", "b"]);
        let text = text(&roster).replace("\nsecret", "\nlater 1 2\nsecret");
        assert_eq!(Roster::parse(&text).unwrap().agents, roster.agents);
    }

    #[test]
    fn hosts_whose_names_the_text_cannot_hold_are_refused() {
        for host in ["", "a b", "a\nsecret"] {
            let error = roster(&[host]).to_text().unwrap_err().to_string();
            assert!(error.contains("without blanks"), "{error}");
        }
    }

    #[test]
    fn fields_that_are_not_what_they_should_be_are_named() {
        let text = text(&roster(&["a"]));
        for (field, wrong) in [
            ("a7a7", "+7a7"),
            ("5c5c", "5c"),
            ("10.0.0.1:7", "10.0.0.1"),
            ("encrypt true", "encrypt 1"),
            ("silence_ms ", "silence_ms -"),
            ("secret ", "secrecy "),
            ("agent 0 ", "agent "),
        ] {
            let error = Roster::parse(&text.replace(field, wrong)).err();
            assert!(matches!(error, Some(RosterError::Field(_))), "{error:?}");
        }
    }

    proptest! {
        #[test]
        fn a_roster_comes_back_from_its_text(
            hosts in prop::collection::vec("[a-z0-9.-]{1,20}", 1..50),
            secret in any::<[u8; 32]>(),
            session in any::<[u8; 16]>(),
            encrypt in any::<bool>(),
        ) {
            let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
            let mut written = roster(&names);
            written.agents[0].address = "10.1.2.3".into();
            (written.secret, written.session, written.encrypt) = (Secret::from_bytes(secret), SessionId(session), encrypt);
            let read = Roster::parse(&text(&written)).unwrap();
            prop_assert_eq!(&read.agents, &written.agents);
            prop_assert_eq!(&read.front_end, &written.front_end);
            prop_assert!(read.secret == written.secret && read.session == written.session);
            prop_assert_eq!((read.encrypt, read.heartbeat), (encrypt, written.heartbeat));
            prop_assert_eq!(read.host_deadline, written.host_deadline);
        }

        #[test]
        fn no_text_makes_reading_a_roster_fail_badly(text in ".{0,200}") {
            let _ = Roster::parse(&text);
        }
    }
}
