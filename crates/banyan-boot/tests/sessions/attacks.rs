//! What everyone on the network may do to a session whose listeners are open to it: nothing, and it is counted.
//!
//! A session of two hosts, acted out by this machine, in which the second agent is below the first. Both listeners, the
//! front-end's and the first agent's, are attacked while the agent that belongs there is awaited, and again while members are
//! in collectives. That agent comes through a relay, which hears what it says: once before it has come, once when it does.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use banyan_boot::{Launcher, Session};
use banyan_link::{
    Address, Event, Link, LinkError, LinkOptions, Opening, OpeningError, PeerId, Secret, SessionId, UNPROVED_PEERS,
    UNPROVED_TIME,
};

use crate::listeners::tcp_listeners;
use crate::relatives::{agents, assert_alone, wait_until};
use crate::setup::{PATIENCE, deadline, members, options, outcome};
use crate::starts::script;

/// Shows the roster, and starts each agent when it may, by a roster of its own. `$1` and `$2` are what is started, `$3` is the
/// option that names the roster.
const STARTER: &str = "cd \"$(dirname \"$0\")\"
cp \"${3#--roster=}\" copy && mv copy roster
until [ -e first ]; do sleep 0.02; done
SLURMD_NODENAME=127.0.0.2 \"$1\" \"$2\" --roster=\"$PWD/first\" &
until [ -e second ]; do sleep 0.02; done
SLURMD_NODENAME=127.0.0.3 \"$1\" \"$2\" --roster=\"$PWD/second\" &
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

/// A listener, and who is to come by it.
struct Target {
    listener: SocketAddr,
    peer: PeerId,
    /// The way that it takes.
    relay: Relay,
}

impl Target {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.listener).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Everything but what needs time, numbers, or somebody to listen to.
    fn attack(&self) {
        (0..SCANS).for_each(|_| drop(self.connect()));
        for bytes in GARBAGE {
            let mut stream = self.connect();
            stream.write_all(bytes).unwrap();
            is_cut_off(stream);
        }
        self.come_with_wrong_secret();
    }

    fn come_with_wrong_secret(&self) {
        let opening = Opening { peer: self.peer, secret: Secret::random().unwrap() };
        let mut link = Link::dial(&Address::Tcp(self.listener), &opening, &LinkOptions::default()).unwrap();
        let refused = Some(Event::Lost(LinkError::Opening(OpeningError::Refused)));
        assert_eq!(link.wait(deadline()), refused);
    }

    /// Hears all that who is to come says to open its link, keeps the end of it back, and says the same. Only who has said
    /// the beginning could say the end that the answer asks for.
    fn replay_what_is_kept_back(&self) {
        let mut from_peer = self.relay.accept();
        let (mut first, mut answer, mut proof) = ([0; FIRST], [0; ANSWER], [0; PROOF]);
        from_peer.read_exact(&mut first).unwrap();
        let mut to_listener = self.connect();
        to_listener.write_all(&first).unwrap();
        to_listener.read_exact(&mut answer).unwrap();
        from_peer.write_all(&answer).unwrap();
        from_peer.read_exact(&mut proof).unwrap();
        let mut stream = self.connect();
        stream.write_all(&first).unwrap();
        stream.read_exact(&mut answer).unwrap();
        stream.write_all(&proof).unwrap();
        is_cut_off(stream);
    }

    /// Says what was heard from who has come.
    fn replay_what_was_said(&self) {
        let heard = self.relay.heard.lock().unwrap().clone();
        assert!(heard.len() > FIRST + PROOF, "{} bytes are no opening, and something said by it", heard.len());
        let mut stream = self.connect();
        stream.write_all(&heard).unwrap();
        is_cut_off(stream);
    }

    /// Begins well and says no more.
    fn dawdle(&self) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(b"\x8bBan").unwrap();
        stream
    }

    /// More than have a place at the listener, who stay as long as they may.
    fn crowd(&self) -> Vec<TcpStream> {
        (0..CROWD).map(|_| self.connect()).collect()
    }
}

/// Somebody on the way to a listener.
struct Relay {
    ear: TcpListener,
    /// The beginning of what was said by the last who came.
    heard: Arc<Mutex<Vec<u8>>>,
}

/// Bytes of what is said that a relay remembers: the opening, and something of the link.
const HEARD: usize = 512;

impl Relay {
    fn new() -> Relay {
        Relay { ear: TcpListener::bind("127.0.0.1:0").unwrap(), heard: Arc::default() }
    }

    /// The roster by which an agent takes it for the node above it.
    fn roster(&self, roster: &str) -> String {
        let (before, behind) = roster.split_once("\nfront_end ").unwrap();
        let (_, behind) = behind.split_once('\n').unwrap();
        format!("{before}\nfront_end {}\n{behind}", self.ear.local_addr().unwrap())
    }

    /// Who comes next.
    fn accept(&self) -> TcpStream {
        self.ear.set_nonblocking(true).unwrap();
        let (peer, _) = wait_until("a peer at the relay", Instant::now() + PATIENCE, || self.ear.accept().ok());
        self.ear.set_nonblocking(false).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer
    }

    /// Passes on what is said from now on, in both directions, by one after the other.
    fn pass_on_to(&self, listener: SocketAddr) {
        let (ear, heard) = (self.ear.try_clone().unwrap(), Arc::clone(&self.heard));
        thread::spawn(move || {
            // Until the listener is gone.
            while let (Ok((from_peer, _)), Ok(to_listener)) = (ear.accept(), TcpStream::connect(listener)) {
                heard.lock().unwrap().clear();
                // Who is sent away comes again.
                let _ = pass_on(from_peer, to_listener, &heard);
            }
        });
    }
}

fn pass_on(mut from_peer: TcpStream, mut to_listener: TcpStream, heard: &Mutex<Vec<u8>>) -> std::io::Result<()> {
    let (mut from_listener, mut to_peer) = (to_listener.try_clone()?, from_peer.try_clone()?);
    let back = thread::spawn(move || {
        let _ = std::io::copy(&mut from_listener, &mut to_peer);
        let _ = to_peer.shutdown(Shutdown::Both);
    });
    let mut buffer = [0; HEARD];
    loop {
        let said = match from_peer.read(&mut buffer) {
            Ok(count) if count > 0 => &buffer[..count],
            _ => break,
        };
        let mut heard = heard.lock().unwrap();
        let room = HEARD - heard.len();
        heard.extend_from_slice(&said[..said.len().min(room)]);
        drop(heard);
        if to_listener.write_all(said).is_err() {
            break;
        }
    }
    to_listener.shutdown(Shutdown::Both)?;
    back.join().unwrap();
    Ok(())
}

/// Waits until the other side has closed a connection.
fn is_cut_off(mut stream: TcpStream) {
    match stream.read(&mut [0; 1]) {
        Ok(count) => assert_eq!(count, 0, "a stranger was answered"),
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
    }
}

/// The first value of a key of the roster.
fn field<'t>(roster: &'t str, name: &str) -> &'t str {
    roster.lines().find_map(|line| line.strip_prefix(name)?.split(' ').nth(1)).unwrap()
}

fn bytes<const N: usize>(hexadecimal: &str) -> [u8; N] {
    std::array::from_fn(|at| u8::from_str_radix(&hexadecimal[2 * at..2 * at + 2], 16).unwrap())
}

/// Who may come to a listener, by its number in the roster.
fn target(roster: &str, index: u32, listener: SocketAddr) -> Target {
    let session = SessionId(bytes(field(roster, "session")));
    // Of a later incarnation than any that comes by itself.
    Target { listener, peer: PeerId { session, index, incarnation: u64::MAX }, relay: Relay::new() }
}

/// Members go through all collectives, and each of them has what it should have.
fn collectives_work(session: &Session) {
    session.send_user_data(b"again");
    assert_eq!(session.recv_user_data_timeout(deadline()).unwrap(), b"well");
}

/// Attacks both listeners before agents have come by them, while the session starts; returns both, and a crowd at the second.
fn attack_launch(directory: &Path) -> ([Target; 2], Vec<TcpStream>) {
    let end = Instant::now() + PATIENCE;
    let roster = wait_until("the roster", end, || fs::read_to_string(directory.join("roster")).ok());
    let port = field(&roster, "front_end").parse::<SocketAddr>().unwrap().port();
    let front_end = target(&roster, 0, ([127, 0, 0, 1], port).into());
    front_end.attack();
    let start = |name: &str, roster: String| {
        fs::write(directory.join("written"), roster).unwrap();
        fs::rename(directory.join("written"), directory.join(name)).unwrap();
    };
    start("first", front_end.relay.roster(&roster));
    front_end.replay_what_is_kept_back();
    let crowd = front_end.crowd();
    front_end.relay.pass_on_to(front_end.listener);
    let find = || agents().first().and_then(|(_, worker)| tcp_listeners(*worker).first().copied());
    let agent = target(&roster, 1, wait_until("the agent's listener", end, find));
    agent.attack();
    drop(crowd);
    // As if nobody were above the second agent but the front-end, for which it takes the relay.
    let alone = roster.replace("\nagent 1 ", "\nagent 0 ");
    assert_ne!(alone, roster);
    start("second", agent.relay.roster(&alone));
    agent.replay_what_is_kept_back();
    let crowd = agent.crowd();
    agent.relay.pass_on_to(agent.listener);
    ([front_end, agent], crowd)
}

pub(crate) fn strangers_at_all_listeners_change_nothing_and_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let starter = script(directory.path(), STARTER);
    let launcher = Launcher::Command { template: format!("{} {{agent}}", starter.display()) };
    let options = options().launcher(launcher).fanout(1);
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
        target.attack();
        target.replay_what_was_said();
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
    assert_eq!(refused.replay, of_each(1), "{refused:?}");
    assert!(refused.unknown_peer >= of_each(2), "{refused:?}");
    assert!(refused.slow >= of_each(1), "{refused:?}");
    assert!(refused.too_many >= of_each(CROWD - UNPROVED_PEERS), "{refused:?}");
    session.kill().unwrap();
    assert_alone(PATIENCE);
}
