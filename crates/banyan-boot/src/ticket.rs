//! Tickets: what a process that no agent started needs to take part in a session.
//!
//! A ticket holds the secret of the session's attached members, so whoever reads it can join in their place. It travels
//! in a file for its owner only, in the environment of the user's own processes, or through a descriptor.

use std::collections::BTreeMap;
use std::env;
use std::fmt::{self, Write as _};
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use banyan_link::{Address, OtherProtocol, PROTOCOL_VERSION, Secret, SecretBytes, SessionId};
use rustix::fs::{Mode, OFlags};

use crate::assignment::Assignment;

/// The environment variable that holds a ticket: its text, `fd:` and a number, or the path of a file.
pub(crate) const TICKET_VARIABLE: &str = "BANYAN_TICKET";

/// How a ticket begins, in every protocol; the number of the protocol follows.
const BEGINNING: &str = "banyan";

/// The end of a ticket without one.
const NEVER: &str = "never";

/// Bytes of the longest ticket that is read: enough for ten thousand hosts.
const MAX_TICKET: u64 = 1 << 20;

/// Bytes of it that are read at once.
const READ_BYTES: usize = 64 << 10;

/// The right to attach to a session.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) session: [u8; 16],
    pub(crate) secret: Secret,
    /// In seconds since 1970, if there is a limit.
    pub(crate) until: Option<u64>,
    pub(crate) endpoints: Vec<Endpoint>,
}

/// Where the agent of a host waits for members that attach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) address: Address,
}

/// Why a ticket cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TicketError {
    /// There is none.
    #[error("there is no ticket: {TICKET_VARIABLE} is not set")]
    Missing,
    /// It is for a session of another protocol.
    #[error("{}; {}", .0.cause("the session of the ticket", "this program"), .0.remedy("the session's program", "this program"))]
    Version(#[from] OtherProtocol),
    /// Something else than a ticket.
    #[error("what should be a ticket is none, or is damaged")]
    Damaged,
    /// Its file cannot be used.
    #[error("the ticket {} cannot be used: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others could have read or changed it.
    #[error("the ticket {} belongs to someone else, or others can read it; it should have mode 600", .0.display())]
    Exposed(PathBuf),
}

/// The address at which an agent waits for members that attach: it follows from the session, so nobody has to be told.
/// Whoever takes the name first gains nothing: both sides prove that they know the secret.
pub(crate) fn attach_address(session: &[u8; 16], node: u32) -> Address {
    Address::Abstract(format!("banyan-{}-{node}", hexadecimal(session)))
}

impl Ticket {
    /// The ticket of a session in which members attach; `None` if none do.
    pub(crate) fn of(assignment: &Assignment) -> Option<Ticket> {
        let secret = assignment.attach_secret()?;
        let attaches = |image: u32| assignment.images.get(image as usize).is_some_and(|image| image.attaches());
        let with_nodes = (1u32..).zip(&assignment.agents);
        let endpoints = with_nodes
            .filter(|(_, agent)| agent.groups.iter().any(|group| group.count > 0 && attaches(group.image)))
            .map(|(node, agent)| Endpoint {
                host: agent.host.clone(),
                address: attach_address(&assignment.session, node),
            })
            .collect();
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let until = assignment.terms.attach_deadline().map(|time| seconds(SystemTime::now() + time));
        Some(Ticket { session: assignment.session, secret, until, endpoints })
    }

    /// Adds where agents are reached from other hosts, by node number.
    pub(crate) fn add_attach_addresses(&mut self, listeners: &BTreeMap<u32, Vec<SocketAddr>>) {
        for (node, addresses) in listeners {
            let own = attach_address(&self.session, *node);
            let Some(endpoint) = self.endpoints.iter().find(|endpoint| endpoint.address == own) else { continue };
            let host = endpoint.host.clone();
            let outside = addresses.iter().map(|address| Address::Tcp(*address));
            self.endpoints.extend(outside.map(|address| Endpoint { host: host.clone(), address }));
        }
    }

    /// The session it is for.
    pub fn session(&self) -> SessionId {
        SessionId(self.session)
    }

    /// The hosts whose agents wait for members.
    pub fn hosts(&self) -> impl Iterator<Item = &str> {
        let own = self.endpoints.iter().filter(|endpoint| !matches!(endpoint.address, Address::Tcp(_)));
        own.map(|endpoint| &*endpoint.host)
    }

    /// When the agents stop to wait; `None`: they wait as long as the session lasts.
    pub fn until(&self) -> Option<SystemTime> {
        self.until.map(|until| UNIX_EPOCH + Duration::from_secs(until))
    }

    /// The variable that lets [`Member::join`](crate::Member::join) find it: name and value. The value holds the secret;
    /// give it to processes of the same user only, and never as an argument.
    pub fn to_env(&self) -> (&'static str, SecretBytes) {
        (TICKET_VARIABLE, self.text())
    }

    /// The ticket that the environment names: its text, `fd:` and a number, or the path of a file.
    pub fn from_env() -> Result<Ticket, TicketError> {
        let value = env::var_os(TICKET_VARIABLE).ok_or(TicketError::Missing)?;
        match value.to_str() {
            Some(text) if is_text(text) => Ticket::parse(text),
            Some(text) if text.starts_with("fd:") => {
                let number: u32 = text[3..].parse().map_err(|_| TicketError::Damaged)?;
                // A descriptor without a name in the file system cannot be opened anew by others.
                let path = PathBuf::from(format!("/proc/self/fd/{number}"));
                let file = File::open(&path).map_err(|source| TicketError::File { path: path.clone(), source })?;
                read(file, &path)
            }
            _ => Ticket::read(Path::new(&value)),
        }
    }

    /// Writes it to a file that nobody else can read. An existing file is overwritten if it belongs to this user and has
    /// no other name.
    pub fn write(&self, path: &Path) -> Result<(), TicketError> {
        let failed = |source: io::Error| TicketError::File { path: path.to_owned(), source };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR).map_err(|error| failed(error.into()))?;
        let mut file = File::from(file);
        let about = file.metadata().map_err(failed)?;
        if !about.is_file() || about.uid() != rustix::process::geteuid().as_raw() || about.nlink() != 1 {
            return Err(TicketError::Exposed(path.to_owned()));
        }
        file.set_permissions(Permissions::from_mode(0o600)).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        file.write_all(self.text().expose()).map_err(failed)
    }

    /// Reads it from a file that nobody else could read or write.
    pub fn read(path: &Path) -> Result<Ticket, TicketError> {
        let failed = |source: io::Error| TicketError::File { path: path.to_owned(), source };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        let file = File::from(file);
        let about = file.metadata().map_err(failed)?;
        let ours = about.uid() == rustix::process::geteuid().as_raw();
        if !about.is_file() || !ours || about.mode() & 0o077 != 0 {
            return Err(TicketError::Exposed(path.to_owned()));
        }
        read(file, path)
    }

    /// As one line: beginning, session, secret, end, and the endpoints as `host=address`, with commas.
    pub(crate) fn text(&self) -> SecretBytes {
        let session = hexadecimal(&self.session);
        let until = self.until.map_or(NEVER.to_owned(), |until| until.to_string());
        let mut text = SecretBytes::default();
        // Writing to memory never fails.
        let _ = write!(text, "{BEGINNING}{PROTOCOL_VERSION},{session},");
        text.push_hex(&self.secret);
        let _ = write!(text, ",{until}");
        for Endpoint { host, address } in &self.endpoints {
            let _ = write!(text, ",{host}={address}");
        }
        text
    }

    pub(crate) fn parse(text: &str) -> Result<Ticket, TicketError> {
        let mut parts = text.trim_end().split(',');
        let mut next = || parts.next().ok_or(TicketError::Damaged);
        let number = next()?.strip_prefix(BEGINNING).and_then(|number| number.parse().ok());
        OtherProtocol::check(number.ok_or(TicketError::Damaged)?)?;
        let session = bytes(next()?).ok_or(TicketError::Damaged)?;
        let secret = Secret::from_hex(next()?).ok_or(TicketError::Damaged)?;
        let until = match next()? {
            NEVER => None,
            seconds => Some(seconds.parse().map_err(|_| TicketError::Damaged)?),
        };
        let endpoint = |part: &str| {
            let (host, address) = part.split_once('=')?;
            Some(Endpoint { host: host.to_owned(), address: address.parse().ok()? })
        };
        let endpoints = parts.map(endpoint).collect::<Option<_>>().ok_or(TicketError::Damaged)?;
        Ok(Ticket { session, secret, until, endpoints })
    }
}

/// The secret does not show.
impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("session", &hexadecimal(&self.session)).finish_non_exhaustive()
    }
}

/// Whether this begins as the text of a ticket does, and not as the path of a file.
fn is_text(value: &str) -> bool {
    let begin = value.split(',').next().unwrap_or_default();
    begin.strip_prefix(BEGINNING).is_some_and(|number| number.parse::<u16>().is_ok())
}

fn read(file: File, path: &Path) -> Result<Ticket, TicketError> {
    let failed = |source: io::Error| TicketError::File { path: path.to_owned(), source };
    let text = read_secret(file, MAX_TICKET).map_err(failed)?;
    Ticket::parse(text.expose_text().ok_or(TicketError::Damaged)?)
}

/// Reads what holds a secret, up to so many bytes.
pub(crate) fn read_secret(mut from: impl Read, most: u64) -> io::Result<SecretBytes> {
    let (mut text, mut piece) = (SecretBytes::default(), SecretBytes::from(vec![0; READ_BYTES]));
    loop {
        let room = usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(text.len()).min(READ_BYTES);
        match from.read(&mut piece.expose_mut()[..room]) {
            Ok(0) => return Ok(text),
            Ok(count) => text.push(&piece.expose()[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    let mut bytes = [0; N];
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ticket() -> Ticket {
        let endpoint = |node: u32| Endpoint { host: format!("n{node}"), address: attach_address(&[7; 16], node) };
        let secret = Secret::from_bytes([9; 32]);
        Ticket { session: [7; 16], secret, until: Some(1_000), endpoints: vec![endpoint(1), endpoint(2)] }
    }

    fn as_text(ticket: &Ticket) -> String {
        ticket.text().expose_text().unwrap().to_owned()
    }

    #[test]
    fn a_ticket_reads_as_it_was_written_and_only_its_owner_can() {
        let place = tempfile::TempDir::new().unwrap();
        let path = place.path().join("ticket");
        ticket().write(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o600);
        assert_eq!(Ticket::read(&path).unwrap(), ticket());
        ticket().write(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(Ticket::read(&path), Err(TicketError::Exposed(_))));
    }

    #[test]
    fn a_ticket_of_another_protocol_is_refused_however_it_goes_on() {
        assert!(is_text("banyan2,x") && is_text(&as_text(&ticket())) && !is_text("banyan.ticket,1"));
        let error = Ticket::parse("banyan2,sealed").unwrap_err().to_string();
        assert_eq!(
            error,
            "the session of the ticket speaks protocol 2 of Banyan, this program protocol 1; update this program: build \
             it with a release of Banyan that speaks protocol 2"
        );
    }

    #[test]
    fn a_ticket_may_hold_as_long_as_the_session_lasts() {
        let ticket = Ticket { until: None, ..ticket() };
        assert_eq!((Ticket::parse(&as_text(&ticket)).unwrap(), ticket.until()), (ticket.clone(), None));
    }

    #[test]
    fn a_ticket_is_not_written_through_a_link_or_to_a_file_with_another_name() {
        let place = tempfile::TempDir::new().unwrap();
        let (file, other, link) = (place.path().join("file"), place.path().join("other"), place.path().join("link"));
        std::fs::write(&file, "precious").unwrap();
        std::fs::hard_link(&file, &other).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&link, &other] {
            ticket().write(path).unwrap_err();
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    }

    #[test]
    fn a_ticket_tells_where_agents_are_reached_from_other_hosts() {
        let mut ticket = ticket();
        let addresses: Vec<SocketAddr> = vec!["10.0.0.2:7".parse().unwrap(), "[2001:db8::2]:7".parse().unwrap()];
        ticket.add_attach_addresses(&BTreeMap::from([(2, addresses.clone()), (9, addresses)]));
        assert_eq!(ticket.hosts().collect::<Vec<_>>(), ["n1", "n2"]);
        assert!(as_text(&ticket).ends_with(",n2=tcp:10.0.0.2:7,n2=tcp:[2001:db8::2]:7"), "{}", ticket.endpoints.len());
        assert_eq!(Ticket::parse(&as_text(&ticket)).unwrap(), ticket);
    }

    #[test]
    fn a_ticket_does_not_show_its_secret() {
        let shown = format!("{:?}", ticket());
        assert!(!shown.contains("0909") && !shown.contains("9, 9"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,200}", cut in 0usize..200) {
            let _ = Ticket::parse(&text);
            let whole = as_text(&ticket());
            let part = whole.get(..cut.min(whole.len())).unwrap_or_default();
            if let Ok(read) = Ticket::parse(part) {
                prop_assert_eq!(read.secret, ticket().secret);
            }
        }
    }
}
