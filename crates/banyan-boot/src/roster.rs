//! The roster: what agents that are started together are told, so that each finds its parent.
//!
//! It is one JSON object, the same for every agent. It holds the session's secret: it travels through standard input or
//! a file that only its owner can read, never through arguments or the environment.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use banyan_link::{Encryption, Heartbeat, LinkOptions, OtherProtocol, PROTOCOL_VERSION, Secret, SessionId};
use banyan_ndr::text::{from_json_skipping, to_json_pretty};
use banyan_ndr::typed::Read;
use banyan_ndr::{DynRecord, Limits, Record, read_native};

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
    pub(crate) agents: Vec<Place>,
    /// Where the front-end listens.
    pub(crate) front_end: Vec<SocketAddr>,
    /// How long a parent may take to come.
    pub(crate) host_deadline: Duration,
    pub(crate) encrypt: bool,
    pub(crate) heartbeat: Heartbeat,
}

/// Where an agent runs.
#[derive(Debug, Clone, PartialEq, Record)]
pub(crate) struct Place {
    /// The host's name, as the launcher knows it.
    pub(crate) host: String,
    /// Its address or another name that leads there; empty: the host's name does.
    pub(crate) address: String,
    /// How many agents are below it: those that follow.
    pub(crate) below: u32,
}

/// The roster as it is written. Later releases may add members to it.
#[derive(Record)]
struct Written {
    protocol: u16,
    session: String,
    secret: String,
    agents: Vec<Place>,
    front_end: Vec<String>,
    encrypt: bool,
    host_deadline_ms: u64,
    heartbeat_ms: u64,
    silence_ms: u64,
}

/// What is read of it first: a roster of another protocol may look different but for this.
#[derive(Record)]
struct Head {
    protocol: u16,
}

/// Why a text is no roster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RosterError {
    #[error("the roster cannot be read: {0}")]
    Text(String),
    #[error("{}; {}", .0.cause("the front-end that wrote the roster", "this agent"), .0.remedy("the front-end", "this agent"))]
    Version(#[from] OtherProtocol),
    #[error("the roster's {0} is not what it should be")]
    Field(&'static str),
}

/// Why an agent does not know which of the roster it is.
#[derive(Debug, thiserror::Error)]
#[error(
    "host {host} is none of the {count} of the roster ({first}, …), and no variable says which it is; name hosts as they \
     name themselves"
)]
pub(crate) struct Stranger {
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

impl Roster {
    /// The roster of a session whose front-end listens at these addresses.
    pub(crate) fn new(
        assignment: &Assignment,
        secret: Secret,
        agents: Vec<Place>,
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
            heartbeat: Heartbeat {
                every: Duration::from_millis(heartbeat),
                lost_after: Duration::from_millis(silence),
            },
        }
    }

    /// As text.
    pub(crate) fn to_text(&self) -> Result<String, RosterError> {
        let milliseconds = |time: Duration| time.as_millis().try_into().unwrap_or(u64::MAX);
        let written = Written {
            protocol: PROTOCOL_VERSION,
            session: hexadecimal(&self.session.0),
            secret: hexadecimal(self.secret.expose()),
            agents: self.agents.clone(),
            front_end: self.front_end.iter().map(SocketAddr::to_string).collect(),
            encrypt: self.encrypt,
            host_deadline_ms: milliseconds(self.host_deadline),
            heartbeat_ms: milliseconds(self.heartbeat.every),
            silence_ms: milliseconds(self.heartbeat.lost_after),
        };
        let root = banyan_ndr::typed::Wire::to_value(&written);
        let record = DynRecord { format: Written::format().clone(), root, shared: Vec::new() };
        to_json_pretty(&record).map_err(|error| RosterError::Text(error.to_string()))
    }

    /// From text.
    pub(crate) fn parse(text: &str) -> Result<Roster, RosterError> {
        OtherProtocol::check(read::<Head>(text)?.protocol)?;
        let written: Written = read(text)?;
        if shape::misfit(written.agents.len(), |agent| written.agents[agent].below).is_some() {
            return Err(RosterError::Field("tree of agents"));
        }
        let front_end = written.front_end.iter().map(|address| address.parse()).collect::<Result<_, _>>();
        Ok(Roster {
            session: SessionId(bytes(&written.session).ok_or(RosterError::Field("session"))?),
            secret: Secret::from_bytes(bytes(&written.secret).ok_or(RosterError::Field("secret"))?),
            agents: written.agents,
            front_end: front_end.map_err(|_| RosterError::Field("list of the front-end's addresses"))?,
            host_deadline: Duration::from_millis(written.host_deadline_ms),
            encrypt: written.encrypt,
            heartbeat: Heartbeat {
                every: Duration::from_millis(written.heartbeat_ms),
                lost_after: Duration::from_millis(written.silence_ms),
            },
        })
    }

    /// Which agent somebody is: by the node's name, the host's name (in full, or its first part if only one agent has
    /// it), or the number its starter gave it.
    pub(crate) fn index_of(&self, who: &Identity) -> Result<usize, Stranger> {
        let by_name = |name: &str| self.agents.iter().position(|place| place.host == name);
        let by_short_name = || {
            let mut same = self.agents.iter().enumerate().filter(|(_, place)| short(&place.host) == short(&who.host));
            let (index, _) = same.next()?;
            same.next().is_none().then_some(index)
        };
        let found = who.node.as_deref().and_then(by_name).or_else(|| by_name(&who.host)).or_else(by_short_name);
        found.or_else(|| who.rank.filter(|rank| *rank < self.agents.len())).ok_or_else(|| Stranger {
            host: who.host.clone(),
            count: self.agents.len(),
            first: self.agents.first().map_or_else(String::new, |place| place.host.clone()),
        })
    }

    /// How links between the session's nodes are set up.
    pub(crate) fn link_options(&self) -> LinkOptions {
        let encryption = if self.encrypt { Encryption::BetweenHosts } else { Encryption::Never };
        LinkOptions { heartbeat: Some(self.heartbeat), encryption, ..agent_link_options() }
    }
}

/// The members of a JSON object that a record has.
fn read<R: Record + for<'a> Read<'a>>(text: &str) -> Result<R, RosterError> {
    let wrong = |error: &dyn std::error::Error| RosterError::Text(error.to_string());
    let record = from_json_skipping(R::format(), text, &Limits::default()).map_err(|error| wrong(&error))?;
    let body = record.to_body().map_err(|error| wrong(&error))?;
    read_native(&body).map_err(|error| wrong(&error))
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
                .map(|(host, below)| Place { host: (*host).into(), address: String::new(), below })
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
        assert!(error.contains("host x is none of the 2 of the roster (a, …)"), "{error}");
    }

    #[test]
    fn a_roster_of_another_protocol_is_refused_whatever_else_is_in_it() {
        let error = Roster::parse("{\"protocol\": 2, \"hosts\": 5}").err().unwrap().to_string();
        assert_eq!(
            error,
            "the front-end that wrote the roster speaks protocol 2 of Banyan, this agent protocol 1; update this agent: \
             build it with a release of Banyan that speaks protocol 2"
        );
    }

    #[test]
    fn what_later_releases_add_to_a_roster_is_skipped() {
        let roster = roster(&["a"]);
        let text = roster.to_text().unwrap().replacen('{', "{\"later\": [1, {\"a\": 2}],", 1);
        assert_eq!(Roster::parse(&text).unwrap().agents, roster.agents);
    }

    #[test]
    fn fields_that_are_not_what_they_should_be_are_named() {
        let text = roster(&["a"]).to_text().unwrap();
        for (field, wrong) in [("a7a7", "+7a7"), ("5c5c", "5c"), ("10.0.0.1:7", "10.0.0.1")] {
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
            let read = Roster::parse(&written.to_text().unwrap()).unwrap();
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
