//! What strangers, old acquaintances and broken peers can do to a listener: nothing, and it is counted.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use banyan_link::{
    Address, Encryption, Event, Frame, Interest, Kind, Link, LinkError, LinkOptions, Listener, Opening, OpeningError,
    OtherProtocol, PeerId, Poller, Refused, Secret, SessionId, UNPROVED_PEERS, UNPROVED_TIME,
};

use rustix::thread::{Uid, set_thread_res_uid};

const SESSION: SessionId = SessionId([1; 16]);

fn secret(index: u32) -> Secret {
    Secret::from_bytes([5; 32]).derive("peer", index)
}

/// What a listener has counted, and nothing else.
fn refused(count: impl FnOnce(&mut Refused)) -> Refused {
    let mut refused = Refused::default();
    count(&mut refused);
    refused
}

fn opening(index: u32, incarnation: u64) -> Opening {
    Opening { peer: PeerId { session: SESSION, index, incarnation }, secret: secret(index) }
}

/// A listener that expects peers 0 to 9 of one session, and a clock that only the test moves.
struct TestListener {
    listener: Listener,
    options: LinkOptions,
    now: Instant,
}

impl TestListener {
    fn new() -> TestListener {
        TestListener::with(Encryption::default())
    }

    fn with(encryption: Encryption) -> TestListener {
        let options = LinkOptions::default().encryption(encryption);
        let address = "tcp:127.0.0.1:0".parse().unwrap();
        TestListener { listener: Listener::bind(&address, &options).unwrap(), options, now: Instant::now() }
    }

    fn connect(&self) -> TcpStream {
        let Address::Tcp(address) = self.listener.address() else { unreachable!() };
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    fn dial(&self, opening: &Opening) -> Link {
        Link::dial(self.listener.address(), opening, &self.options).unwrap()
    }

    /// A peer that is who it says gets in before the time of those who were there before it is over.
    fn lets_in_among_others(&mut self, opening: &Opening) {
        let mut link = self.dial(opening);
        let (start, end) = (self.now, Instant::now() + Duration::from_secs(60));
        loop {
            assert!(Instant::now() < end, "not let in");
            link.wait(Some(Instant::now() + Duration::from_millis(1)));
            if !self.turn().is_empty() {
                break;
            }
            // None while nobody is at the listener: those outside have not been heard of yet.
            let next = self.listener.timeout().unwrap_or(self.now);
            self.now = self.now.max(next.min(self.now + Duration::from_millis(50)));
        }
        assert!(self.now - start < UNPROVED_TIME, "{:?}", self.now - start);
    }

    fn turn(&mut self) -> Vec<Link> {
        let find = |peer: &PeerId| (peer.session == SESSION && peer.index < 10).then(|| secret(peer.index));
        self.listener.accept_ready(self.now, &mut { find })
    }

    /// Turns until so many were refused for the reason.
    fn refuses(&mut self, count: u64, reason: fn(&Refused) -> u64) {
        let (mut poller, mut ready) = (Poller::new().unwrap(), Vec::new());
        poller.register(&self.listener, 0, Interest::READ).unwrap();
        while reason(&self.listener.refused()) < count {
            assert!(self.turn().is_empty(), "somebody was let in");
            if reason(&self.listener.refused()) < count {
                poller.wait(Some(Duration::from_secs(60)), &mut ready).unwrap();
                assert!(!ready.is_empty(), "nothing happens: {:?}", self.listener.refused());
            }
        }
        assert_eq!(self.listener.refused().total(), count, "{:?}", self.listener.refused());
    }

    /// A peer that is who it says gets in, whatever happened before.
    fn still_lets_in(&mut self, index: u32, incarnation: u64) -> (Link, Link) {
        let mut link = self.dial(&opening(index, incarnation));
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < end, "not let in: {:?}", self.listener.refused());
            assert_eq!(link.wait(Some(Instant::now() + Duration::from_millis(1))), None);
            if let Some(mut accepted) = self.turn().pop() {
                assert_eq!(accepted.peer_id(), Some(opening(index, incarnation).peer));
                accepted.send(Frame::new(Kind::data(16), 0, 0, &b"welcome"[..]));
                accepted.flush(Instant::now());
                assert!(matches!(link.wait(Some(end)), Some(Event::Opened(_))));
                assert!(matches!(link.wait(Some(end)), Some(Event::Frame(_))));
                return (link, accepted);
            }
        }
    }

    /// Dials, and drives both sides until the link ends.
    fn turns_away(&mut self, opening: &Opening) -> LinkError {
        let mut link = self.dial(opening);
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < end, "no answer");
            match link.wait(Some(Instant::now() + Duration::from_millis(1))) {
                Some(Event::Lost(error)) => return error,
                None => assert!(self.turn().is_empty(), "let in"),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn garbage_is_cut_off_and_counted() {
    let mut listener = TestListener::new();
    let mut streams = Vec::new();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"SSH-2.0-x\r\n", &[0; 4096], &[0xff; 4096], b"\x8bBanyan\r"] {
        let mut stream = listener.connect();
        stream.write_all(bytes).unwrap();
        streams.push(stream);
    }
    listener.refuses(5, |refused| refused.garbage);
    listener.still_lets_in(0, 1);
}

#[test]
fn a_port_scan_is_counted() {
    let mut listener = TestListener::new();
    (0..20).for_each(|_| drop(listener.connect()));
    listener.refuses(20, |refused| refused.garbage);
    listener.still_lets_in(0, 1);
}

#[test]
fn a_length_that_promises_too_much_is_never_believed() {
    let mut listener = TestListener::new();
    let mut stream = listener.connect();
    // A frame of 4 GiB, as if the link were open.
    stream.write_all(&[0xff, 0xff, 0xff, 0xff, 16, 0, 0, 0]).unwrap();
    listener.refuses(1, |refused| refused.garbage);
}

#[test]
fn who_sends_a_byte_at_a_time_has_five_seconds() {
    let mut listener = TestListener::new();
    let mut stream = listener.connect();
    let start = listener.now;
    while listener.listener.refused().slow == 0 {
        assert!(listener.now < start + UNPROVED_TIME + Duration::from_secs(1), "never cut off");
        listener.now += Duration::from_millis(500);
        // The first bytes are right; they only come slowly.
        let at = (listener.now - start).as_millis() as usize / 500;
        if let Some(byte) = b"\x8bBanyan\n\x01\0\0\0".get(at - 1) {
            stream.write_all(&[*byte]).unwrap();
        }
        assert!(listener.turn().is_empty());
    }
    assert!(listener.now >= start + UNPROVED_TIME);
    assert_eq!(stream.read(&mut [0; 1]).map_err(|error| error.kind()).unwrap_or(0), 0);
    listener.still_lets_in(0, 1);
}

#[test]
fn a_wrong_secret_a_foreign_session_and_an_unknown_peer_are_turned_away() {
    turns_away_whoever_proves_nothing(TestListener::new());
}

#[test]
fn without_encryption_they_are_turned_away_as_well() {
    turns_away_whoever_proves_nothing(TestListener::with(Encryption::Never));
}

fn turns_away_whoever_proves_nothing(mut listener: TestListener) {
    let wrong = Opening { secret: Secret::from_bytes([6; 32]), ..opening(0, 1) };
    assert_eq!(listener.turns_away(&wrong), LinkError::Opening(OpeningError::Refused));
    let stale = Opening { peer: PeerId { session: SessionId([9; 16]), ..opening(0, 1).peer }, secret: secret(0) };
    assert_eq!(listener.turns_away(&stale), LinkError::Opening(OpeningError::Refused));
    assert_eq!(listener.turns_away(&opening(10, 1)), LinkError::Opening(OpeningError::Refused));
    // Who knows only its own secret cannot come as another one.
    let squatter = Opening { secret: secret(1), ..opening(0, 1) };
    assert_eq!(listener.turns_away(&squatter), LinkError::Opening(OpeningError::Refused));
    assert_eq!(listener.listener.refused(), refused(|refused| (refused.wrong_secret, refused.unknown_peer) = (2, 2)));
    listener.still_lets_in(0, 1);
}

/// Stands between a peer and the listener and writes down what the peer says.
fn recorded(listener: &mut TestListener) -> (Vec<u8>, Vec<u8>) {
    let between = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(between.local_addr().unwrap());
    let mut link = Link::dial(&address, &opening(0, 1), &LinkOptions::default()).unwrap();
    let (mut from_peer, _) = between.accept().unwrap();
    let mut to_listener = listener.connect();
    let (mut first, mut answer, mut second) = (vec![0; 96], vec![0; 80], vec![0; 18]);
    link.wait(Some(Instant::now()));
    from_peer.read_exact(&mut first).unwrap();
    to_listener.write_all(&first).unwrap();
    to_listener.set_nonblocking(true).unwrap();
    let mut filled = 0;
    while filled < answer.len() {
        listener.turn();
        match to_listener.read(&mut answer[filled..]) {
            Ok(count) => filled += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
    }
    from_peer.write_all(&answer).unwrap();
    link.fill(Instant::now());
    link.flush(Instant::now());
    from_peer.read_exact(&mut second).unwrap();
    to_listener.set_nonblocking(false).unwrap();
    to_listener.write_all(&second).unwrap();
    while listener.turn().is_empty() {}
    (first, second)
}

#[test]
fn a_recorded_opening_opens_nothing() {
    let mut listener = TestListener::new();
    let (first, second) = recorded(&mut listener);
    assert_eq!(listener.listener.refused(), Refused::default());
    let mut replay = listener.connect();
    replay.write_all(&first).unwrap();
    replay.write_all(&second).unwrap();
    listener.refuses(1, |refused| refused.replay);
    listener.still_lets_in(0, 2);
}

#[test]
fn who_begins_well_and_goes_is_no_stranger() {
    let mut listener = TestListener::new();
    let (first, _) = recorded(&mut listener);
    let mut stream = listener.connect();
    stream.write_all(&first).unwrap();
    drop(stream);
    listener.refuses(1, |refused| refused.left);
    assert_eq!(listener.listener.take_refused().strangers(), Refused::default());
    assert_eq!(listener.listener.refused(), Refused::default(), "they were taken");
}

#[test]
fn another_version_is_told_ours() {
    let mut listener = TestListener::new();
    let mut stream = listener.connect();
    let mut first = [0; 96];
    first[..8].copy_from_slice(b"\x8bBanyan\n");
    first[8] = 77;
    stream.write_all(&first).unwrap();
    listener.refuses(1, |refused| refused.wrong_version);
    let mut answer = [0; 16];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, *b"\x8bBanyan\n\x01\0\0\0\0\0\0\0");
}

#[test]
fn a_listener_of_another_version_or_kind_is_named() {
    let fake = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Address::Tcp(fake.local_addr().unwrap());
    let cases = [
        (&b"\x8bBanyan\n\x4d\0\0\0\0\0\0\0"[..], OpeningError::Version(OtherProtocol { theirs: 77 })),
        (b"SSH-2.0-OpenSSH", OpeningError::NotBanyan),
        (&[b"\x8bBanyan\n\x01\0\0\0\0\0\0\0".as_slice(), &[1; 64]].concat(), OpeningError::Secret),
    ];
    for (answer, expected) in cases {
        let mut link = Link::dial(&address, &opening(0, 1), &LinkOptions::default()).unwrap();
        let (mut stream, _) = fake.accept().unwrap();
        stream.write_all(answer).unwrap();
        let last = link.wait(Some(Instant::now() + Duration::from_secs(60)));
        assert_eq!(last, Some(Event::Lost(LinkError::Opening(expected))));
    }
}

#[test]
fn a_peer_that_is_there_is_not_replaced_but_by_a_later_incarnation() {
    let mut listener = TestListener::new();
    let _first = listener.still_lets_in(4, 7);
    for incarnation in [7, 6] {
        let mut link = listener.dial(&opening(4, incarnation));
        while listener.listener.refused().duplicate < 8 - incarnation {
            link.wait(Some(Instant::now() + Duration::from_millis(1)));
            assert!(listener.turn().is_empty());
        }
    }
    let _second = listener.still_lets_in(4, 8);
    assert_eq!(listener.listener.refused(), refused(|refused| refused.duplicate = 2));
    listener.listener.forget(&opening(4, 8).peer);
    listener.still_lets_in(4, 8);
}

#[test]
fn a_thousand_silent_connections_do_not_keep_a_peer_out() {
    let mut listener = TestListener::new();
    let silent: Vec<TcpStream> = (0..1000).map(|_| listener.connect()).collect();
    listener.lets_in_among_others(&opening(0, 1));
    let refused = listener.listener.refused();
    assert!(refused.too_many >= 1000 - UNPROVED_PEERS as u64, "{refused:?}");
    drop(silent);
}

#[test]
fn recorded_beginnings_that_are_repeated_and_not_continued_do_not_keep_a_peer_out() {
    let mut listener = TestListener::new();
    let (first, _) = recorded(&mut listener);
    let begun: Vec<TcpStream> = (0..2 * UNPROVED_PEERS)
        .map(|_| {
            let mut stream = listener.connect();
            stream.write_all(&first).unwrap();
            stream
        })
        .collect();
    listener.lets_in_among_others(&opening(0, 2));
    let refused = listener.listener.refused();
    assert!(refused.too_many >= UNPROVED_PEERS as u64, "{refused:?}");
    drop(begun);
}

/// A thread of another user, which connects so often and stays; nothing where this process may not be another user.
fn strangers_of_another_user(address: &Address, count: usize) -> Vec<UnixStream> {
    let Address::Abstract(name) = address else { unreachable!() };
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let connect = move || {
        let nobody = Uid::from_raw(65534);
        match set_thread_res_uid(nobody, nobody, nobody) {
            Ok(()) => (0..count).map(|_| UnixStream::connect_addr(&address).unwrap()).collect(),
            Err(_) => Vec::new(),
        }
    };
    std::thread::spawn(connect).join().unwrap()
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
fn processes_of_another_user_of_this_host_take_no_place_among_openings() {
    let options = LinkOptions::default();
    let address = Address::Abstract(format!("banyan-test-{}-users", std::process::id()));
    let mut listener = Listener::bind(&address, &options).unwrap();
    let strangers = strangers_of_another_user(&address, 2 * UNPROVED_PEERS);
    if strangers.is_empty() {
        eprintln!("left out: only root can be another user");
        return;
    }
    let mut friend = Link::dial(&address, &opening(3, 1), &options).unwrap();
    // A clock that stands still: nobody has to go since its time is over.
    let now = Instant::now();
    let end = now + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < end, "not let in");
        friend.wait(Some(Instant::now() + Duration::from_millis(1)));
        if !listener.accept_ready(now, &mut |peer| Some(secret(peer.index))).is_empty() {
            break;
        }
    }
    let expected = refused(|refused| refused.other_user = strangers.len() as u64);
    assert_eq!(listener.refused(), expected);
    assert_eq!(listener.timeout(), None, "nobody is waited for");
    for mut stranger in strangers {
        stranger.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        assert!(matches!(stranger.read(&mut [0]), Ok(0)), "it was sent away");
    }
}
