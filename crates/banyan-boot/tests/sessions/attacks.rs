//! What everyone on the network may do to a session whose doors are open to it: nothing, and it is counted.
//!
//! A session of two hosts, acted out by this machine, in which the second agent is below the first. Both doors, the
//! front-end's and the first agent's, are attacked while the agent that belongs there is awaited, and again while members are
//! in collectives.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use banyan_boot::{Launcher, Session, SessionOptions};
use banyan_link::{
    Address, Event, Link, LinkError, LinkOptions, Opening, OpeningError, PeerId, Secret, SessionId, UNPROVED_PEERS,
    UNPROVED_TIME,
};

use crate::doors::tcp_doors;
use crate::relatives::{agents, assert_alone, wait_until};
use crate::setup::{PATIENCE, deadline, members, options, outcome};
use crate::starts::script;

/// Shows the roster, and starts each agent when it may. `$3` is the agent's option that names the roster.
const STARTER: &str = "cd \"$(dirname \"$0\")\"
cp \"${3#--roster=}\" copy && mv copy roster
until [ -e first ]; do sleep 0.02; done
SLURMD_NODENAME=127.0.0.2 \"$@\" &
until [ -e second ]; do sleep 0.02; done
SLURMD_NODENAME=127.0.0.3 \"$@\" &
wait";

/// Connections of one attack by numbers.
const SCANS: usize = 20;
const CROWD: usize = UNPROVED_PEERS + 100;

/// What somebody says who speaks something else.
const GARBAGE: [&[u8]; 4] = [b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", &[0xff; 4096], &[0xff, 0xff, 0xff, 0x7f, 16]];

/// Bytes of the first message of an opening, of the answer, and of what proves who sent the first: see docs/links.md.
const FIRST: usize = 96;
const ANSWER: usize = 80;
const PROOF: usize = 18;

/// A door, and who is to come by it.
struct Target {
    door: SocketAddr,
    peer: PeerId,
    secret: Secret,
}

impl Target {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.door).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Everything but what needs time or numbers. `awaited`: whether who is to come has not.
    fn attack(&self, awaited: bool) {
        (0..SCANS).for_each(|_| drop(self.connect()));
        for bytes in GARBAGE {
            let mut stream = self.connect();
            stream.write_all(bytes).unwrap();
            is_cut_off(stream);
        }
        self.come_with_wrong_secret();
        self.replay(awaited);
    }

    fn come_with_wrong_secret(&self) {
        let opening = Opening { peer: self.peer, secret: Secret::random().unwrap() };
        let mut link = Link::dial(&Address::Tcp(self.door), &opening, &LinkOptions::default()).unwrap();
        let refused = Some(Event::Lost(LinkError::Opening(OpeningError::Refused)));
        assert_eq!(link.wait(deadline()), refused);
    }

    /// Says what was heard from who may come: the first message is right, but only its author can answer the answer.
    fn replay(&self, awaited: bool) {
        let ear = TcpListener::bind("127.0.0.1:0").unwrap();
        let opening = Opening { peer: self.peer, secret: self.secret.clone() };
        let heard_at = Address::Tcp(ear.local_addr().unwrap());
        let mut link = Link::dial(&heard_at, &opening, &LinkOptions::default()).unwrap();
        let mut heard = [0; FIRST];
        let (mut from_peer, _) = ear.accept().unwrap();
        assert_eq!(link.wait(Some(Instant::now())), None);
        from_peer.read_exact(&mut heard).unwrap();
        let mut stream = self.connect();
        stream.write_all(&heard).unwrap();
        if awaited {
            stream.read_exact(&mut [0; ANSWER]).unwrap();
            stream.write_all(&[7; PROOF]).unwrap();
        }
        is_cut_off(stream);
    }

    /// Begins well and says no more.
    fn dawdle(&self) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(b"\x8bBan").unwrap();
        stream
    }

    /// More than have a place at the door, who stay as long as they may.
    fn crowd(&self) -> Vec<TcpStream> {
        (0..CROWD).map(|_| self.connect()).collect()
    }
}

/// Waits until the other side has closed a connection.
fn is_cut_off(mut stream: TcpStream) {
    match stream.read(&mut [0; 1]) {
        Ok(count) => assert_eq!(count, 0, "a stranger was answered"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

/// The text of a field of the roster, or the first in its list.
fn field<'t>(roster: &'t str, name: &str) -> &'t str {
    let (_, behind) = roster.split_once(&format!("\"{name}\"")).unwrap();
    behind.split('"').nth(1).unwrap()
}

fn bytes<const N: usize>(hexadecimal: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&hexadecimal[2 * at..2 * at + 2], 16).unwrap())
}

/// Who may come to a door, by its number in the roster.
fn target(roster: &str, index: u32, door: SocketAddr) -> Target {
    let session = SessionId(bytes(field(roster, "session")));
    let secret = Secret::from_bytes(bytes(field(roster, "secret"))).derive("agent", index);
    // Of a later incarnation than any that comes by itself.
    Target { door, peer: PeerId { session, index, incarnation: u64::MAX }, secret }
}

/// Members go through all collectives, and each of them has what it should have.
fn collectives_work(session: &Session) {
    session.send_user_data(b"again");
    assert_eq!(session.recv_user_data(deadline()).unwrap(), b"well");
}

/// Attacks both doors before agents have come by them, while the session starts; returns both, and a crowd at the second.
fn attack_launch(directory: &Path) -> ([Target; 2], Vec<TcpStream>) {
    let end = Instant::now() + PATIENCE;
    let roster = wait_until("the roster", end, || fs::read_to_string(directory.join("roster")).ok());
    let port = field(&roster, "front_end").parse::<SocketAddr>().unwrap().port();
    let front_end = target(&roster, 0, ([127, 0, 0, 1], port).into());
    front_end.attack(true);
    let crowd = front_end.crowd();
    fs::write(directory.join("first"), "").unwrap();
    let find = || agents().first().and_then(|(_, worker)| tcp_doors(*worker).first().copied());
    let agent = target(&roster, 1, wait_until("the agent's door", end, find));
    agent.attack(true);
    drop(crowd);
    let crowd = agent.crowd();
    fs::write(directory.join("second"), "").unwrap();
    ([front_end, agent], crowd)
}

pub(crate) fn strangers_at_all_doors_change_nothing_and_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let starter = script(directory.path(), STARTER);
    let launcher = Launcher::Command { template: format!("{} {{agent}}", starter.display()) };
    let options = SessionOptions { launcher, fanout: 1, ..options() };
    let images = [members(&["told"]).on("127.0.0.2", 2).on("127.0.0.3", 2)];
    let (session, targets) = std::thread::scope(|scope| {
        let session = scope.spawn(|| Session::launch(&images, &options).unwrap());
        let (targets, _crowd) = attack_launch(directory.path());
        (session.join().unwrap(), targets)
    });
    collectives_work(&session);

    let since = Instant::now();
    let slow: Vec<TcpStream> = targets.iter().map(Target::dawdle).collect();
    collectives_work(&session);
    slow.into_iter().for_each(is_cut_off);
    assert!(since.elapsed() >= UNPROVED_TIME, "{:?}", since.elapsed());
    for target in &targets {
        target.attack(false);
        let _crowd = target.crowd();
        collectives_work(&session);
    }

    session.send_user_data(b"");
    assert_eq!(outcome(&session).exit_status(), 0);
    let refused = session.refused();
    let of_each = |least: usize| targets.len() as u64 * least as u64;
    assert!(refused.garbage >= of_each(2 * (SCANS + GARBAGE.len())), "{refused:?}");
    // Who is there already has no secret that another could know.
    assert_eq!(refused.wrong_secret, of_each(1), "{refused:?}");
    assert!(refused.replay >= of_each(1) && refused.unknown_peer >= of_each(2), "{refused:?}");
    assert!(refused.slow >= of_each(1), "{refused:?}");
    assert!(refused.too_many >= of_each(CROWD - UNPROVED_PEERS), "{refused:?}");
    session.kill().unwrap();
    assert_alone(PATIENCE);
}
