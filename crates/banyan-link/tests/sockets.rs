//! Links over real sockets and pipes.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use banyan_link::{
    Address, Encryption, Event, Frame, Handing, Heartbeat, Interest, Kind, Link, LinkError, LinkOptions, Listener,
    Opening, OpeningError, PeerId, Poller, Secret, SessionId,
};
use bytes::Bytes;
use rustix::fs::{MemfdFlags, memfd_create};

const DATA: Kind = Kind::data(16);
const CONTROL: Kind = Kind::control(128);

/// Nothing here takes so long; who waits longer has lost.
fn deadline() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(60))
}

fn inherited(options: &LinkOptions) -> (Link, Link) {
    let (one, other) = UnixStream::pair().unwrap();
    (Link::inherited(one.into(), options), Link::inherited(other.into(), options))
}

fn opening(index: u32) -> Opening {
    let peer = PeerId { session: SessionId([1; 16]), index, incarnation: 1 };
    Opening { peer, secret: Secret::from_bytes([2; 32]) }
}

/// Dials a new listener.
fn dialled(address: &str, options: &LinkOptions) -> (Link, Link) {
    let mut listener = Listener::bind(&address.parse().unwrap(), options).unwrap();
    let mut link = Link::dial(listener.address(), &opening(0), options).unwrap();
    let (mut poller, mut ready) = (Poller::new().unwrap(), Vec::new());
    poller.register(&listener, 0, Interest::READ).unwrap();
    poller.register(&link, 1, Interest::BOTH).unwrap();
    loop {
        let now = Instant::now();
        link.flush(now);
        link.fill(now);
        let mut links = listener.accept_ready(now, &mut |peer| (*peer == opening(0).peer).then(|| opening(0).secret));
        if let Some(accepted) = links.pop() {
            return (link, accepted);
        }
        assert_eq!(link.poll(), None);
        poller.modify(&link, 1, Interest { readable: true, writable: link.wants_write() }).unwrap();
        poller.wait(Some(Duration::from_secs(60)), &mut ready).unwrap();
        assert!(!ready.is_empty(), "nothing happens");
    }
}

fn next_frame(link: &mut Link) -> Frame {
    loop {
        match link.wait(deadline()).expect("a frame") {
            Event::Opened(_) => {}
            Event::Frame(frame) => return frame,
            other => panic!("{other:?}"),
        }
    }
}

fn end(link: &mut Link) -> Event {
    loop {
        match link.wait(deadline()).expect("the end") {
            Event::Opened(_) | Event::Frame(_) => {}
            end => return end,
        }
    }
}

/// Options for links that nobody drives for a while, on a machine of any load.
fn patient() -> LinkOptions {
    let heartbeat = Heartbeat::default().lost_after(Duration::from_secs(60));
    LinkOptions::default().heartbeat(heartbeat).opening_time(Duration::from_secs(60))
}

/// Every way that a link can be carried.
fn every_way() -> Vec<(&'static str, Link, Link)> {
    let pipes = || {
        let ((a, b), (c, d)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let link = |read: OwnedFd, write: OwnedFd| Link::over_pipes(read, write, &patient()).unwrap();
        (link(a.into(), d.into()), link(c.into(), b.into()))
    };
    let encryption = |encryption| patient().encryption(encryption);
    let name = format!("unix:@banyan-link-test-{}", std::process::id());
    let way = |name, (one, other)| (name, one, other);
    vec![
        way("inherited", inherited(&patient())),
        way("pipes", pipes()),
        way("unix", dialled(&name, &encryption(Encryption::Never))),
        way("unix, encrypted", dialled(&name, &encryption(Encryption::Always))),
        way("tcp", dialled("tcp:127.0.0.1:0", &encryption(Encryption::Never))),
        way("tcp, encrypted", dialled("tcp:127.0.0.1:0", &patient())),
        way("tcp over ipv6", dialled("tcp:[::1]:0", &patient())),
    ]
}

#[test]
fn frames_go_there_and_back_over_everything_that_carries_a_link() {
    for (name, mut one, mut other) in every_way() {
        let echo = thread::spawn(move || {
            for _ in 0..100 {
                let frame = next_frame(&mut other);
                other.release(frame.cost());
                other.send(frame);
            }
            other.close();
            end(&mut other)
        });
        for sequence in 0..100 {
            let payload: Vec<u8> = (0..sequence * 1000).map(|at| at as u8).collect();
            let frame = Frame::new(DATA, 3, sequence, payload);
            one.send(frame.clone());
            assert_eq!(next_frame(&mut one), frame, "{name}");
            one.release(frame.cost());
        }
        assert_eq!(end(&mut one), Event::Closed, "{name}");
        drop(one);
        assert_eq!(echo.join().unwrap(), Event::Closed, "{name}");
    }
}

#[test]
fn much_more_than_the_window_goes_through_it() {
    let total: u64 = if cfg!(debug_assertions) { 64 << 20 } else { 1 << 30 };
    let options = LinkOptions::default().max_payload(60_000).window(128 << 10);
    let (mut one, mut other) = inherited(&options);
    let sender = thread::spawn(move || {
        let payload = bytes::Bytes::from(vec![7; 60_000]);
        let mut sent = 0;
        while sent < total {
            while one.credit_left() > 0 && sent < total {
                one.send(Frame::new(DATA, 0, 0, payload.clone()));
                sent += payload.len() as u64;
            }
            if one.credit_left() == 0 {
                let event = one.wait(deadline());
                assert!(matches!(event, None | Some(Event::Opened(_))), "{event:?}");
            }
        }
        one.close();
        (end(&mut one), sent)
    });
    let mut received = 0;
    let last = loop {
        match other.wait(deadline()).expect("an event") {
            Event::Opened(_) => {}
            Event::Frame(frame) => {
                received += frame.payload.len() as u64;
                other.release(frame.cost());
            }
            last => break last,
        }
    };
    drop(other);
    assert_eq!(last, Event::Closed);
    assert_eq!(sender.join().unwrap(), (Event::Closed, received));
}

#[test]
fn a_link_over_a_socket_that_somebody_else_carries_is_proved_and_encrypted() {
    let options = LinkOptions::default();
    let mut listener = Listener::bind(&"tcp:127.0.0.1:0".parse().unwrap(), &options).unwrap();
    let Address::Tcp(address) = *listener.address() else { panic!("by TCP") };
    let (ours, mut carried) = UnixStream::pair().unwrap();
    let mut carrier = TcpStream::connect(address).unwrap();
    ours.set_nonblocking(true).unwrap();
    let (mut from, mut to) = (carried.try_clone().unwrap(), carrier.try_clone().unwrap());
    let seen = thread::spawn(move || {
        let (mut seen, mut buffer) = (Vec::new(), [0; 1000]);
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            seen.extend_from_slice(&buffer[..count]);
            to.write_all(&buffer[..count]).unwrap();
        }
        to.shutdown(Shutdown::Both).unwrap();
        seen
    });
    let back = thread::spawn(move || std::io::copy(&mut carrier, &mut carried));
    let mut link = Link::open_over(ours.into(), &opening(3), &options).unwrap();
    let words = b"words that nobody on the way is to read";
    link.send(Frame::new(DATA, 0, 1, &words[..]));
    let mut accepted = loop {
        let mut find = |peer: &PeerId| (*peer == opening(3).peer).then(|| opening(3).secret);
        if let Some(link) = listener.accept_ready(Instant::now(), &mut find).pop() {
            break link;
        }
        assert!(!matches!(link.wait(Some(Instant::now() + Duration::from_millis(1))), Some(Event::Lost(_))));
    };
    assert_eq!(accepted.peer_id(), Some(opening(3).peer));
    assert_eq!(&next_frame(&mut accepted).payload[..], words);
    drop((link, accepted));
    let seen = seen.join().unwrap();
    assert!(seen.len() > words.len() && !seen.windows(words.len()).any(|window| window == words));
    // It ends with the connection, whether that says goodbye or not.
    let _ = back.join().unwrap();
}

#[test]
fn many_frames_take_few_system_calls() {
    let (mut one, mut other) = inherited(&LinkOptions::default());
    for sequence in 0..500 {
        one.send(Frame::new(DATA, 0, sequence, vec![1; 64]));
    }
    one.flush(Instant::now());
    assert_eq!(one.counters().writes, 1);
    for sequence in 0..500 {
        assert_eq!(next_frame(&mut other).sequence, sequence);
    }
    assert!(other.counters().reads <= 2, "{}", other.counters().reads);
}

#[test]
fn a_frame_is_forwarded_with_its_format_and_without_a_copy() {
    #[derive(banyan_ndr::Record, Debug, PartialEq)]
    struct Sample {
        name: String,
        values: Vec<u64>,
    }
    let sample = Sample { name: "sensor".into(), values: (0..1000).collect() };
    let (mut source, mut into) = inherited(&LinkOptions::default());
    let (mut out, mut sink) = inherited(&LinkOptions::default());
    for _ in 0..2 {
        source.send_record(DATA, 1, 2, &sample).unwrap();
        source.flush(Instant::now());
        let frame = next_frame(&mut into);
        out.forward(&frame, &into).unwrap();
        out.flush(Instant::now());
        let received = next_frame(&mut sink);
        assert_eq!(received, frame);
        assert_eq!(sink.decode::<Sample>(&received).unwrap(), sample);
    }
    let payload = Bytes::from(vec![7; 1 << 15]);
    out.forward(&Frame::new(DATA, 1, 2, payload.clone()), &into).unwrap();
    assert!(!payload.is_unique(), "what waits to be sent is the payload itself");
    out.flush(Instant::now());
    assert_eq!(next_frame(&mut sink).payload, payload);
    assert!(payload.is_unique(), "and it is let go when it was sent");
}

#[test]
fn a_goodbye_is_heard_although_the_other_end_is_closed_and_sending_fails() {
    let (mut one, mut other) = inherited(&LinkOptions::default());
    one.send(Frame::new(CONTROL, 0, 1, &b"last words"[..]));
    one.close();
    one.flush(Instant::now());
    assert!(one.is_finished());
    drop(one);
    other.send(Frame::new(DATA, 0, 0, vec![0; 100]));
    other.flush(Instant::now());
    assert_eq!(next_frame(&mut other).payload, &b"last words"[..]);
    assert_eq!(end(&mut other), Event::Closed);
}

#[test]
fn the_death_of_the_peer_is_a_loss() {
    for (name, one, mut other) in every_way() {
        drop(one);
        let last = end(&mut other);
        assert_eq!(last, Event::Lost(LinkError::Ended { in_frame: false }), "{name}");
    }
}

#[test]
fn a_peer_that_is_stopped_is_found_by_its_missing_heartbeats() {
    let heartbeat = Heartbeat::default().every(Duration::from_millis(50)).lost_after(Duration::from_millis(200));
    let options = LinkOptions::default().heartbeat(heartbeat);
    let (mut one, mut stopped) = inherited(&options);
    stopped.flush(Instant::now());
    let start = Instant::now();
    let last = end(&mut one);
    assert!(matches!(last, Event::Lost(LinkError::Silent(_))), "{last:?}");
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn a_listener_that_never_answers_is_given_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let options = LinkOptions::default().opening_time(Duration::from_millis(100));
    let address = Address::Tcp(silent.local_addr().unwrap());
    let mut link = Link::dial(&address, &opening(0), &options).unwrap();
    let expected = LinkError::Opening(OpeningError::TooSlow(Duration::from_millis(100)));
    assert_eq!(end(&mut link), Event::Lost(expected));
}

#[test]
fn where_nobody_listens_connecting_fails_and_says_so() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let last = match Link::dial(&Address::Tcp(free), &opening(0), &LinkOptions::default()) {
        Ok(mut link) => end(&mut link).clone(),
        Err(error) => {
            Event::Lost(LinkError::System { doing: "connecting", kind: error.kind(), message: error.to_string() })
        }
    };
    let Event::Lost(LinkError::System { doing: "connecting", kind, .. }) = last else { panic!("{last:?}") };
    assert_eq!(kind, std::io::ErrorKind::ConnectionRefused);
    assert!(Link::dial(&Address::Abstract("nobody".into()), &opening(0), &LinkOptions::default()).is_err());
}

/// Descriptors of one file, as many as are handed over.
fn four_of(file: &File) -> Handing {
    let own = || Arc::new(OwnedFd::from(file.try_clone().unwrap()));
    [own(), own(), own(), own()]
}

fn numbered(number: u32) -> Frame {
    Frame::new(DATA, 0, number, b"some bytes".to_vec())
}

#[test]
fn descriptors_that_are_handed_over_come_with_what_is_sent_next_or_before() {
    let (mut one, mut other) = inherited(&LinkOptions::inherited());
    let file = File::from(memfd_create("wanted", MemfdFlags::CLOEXEC).unwrap());
    other.expect_descriptors();
    one.send(numbered(1));
    assert!(one.hand_over(four_of(&file)));
    one.send(numbered(2));
    one.flush(Instant::now());
    assert_eq!([1, 2].map(|_| next_frame(&mut other).sequence), [1, 2]);
    for (written, descriptor) in b"abcd".iter().copied().zip(other.take_descriptors().unwrap()) {
        File::from(descriptor).write_all_at(&[written], 0).unwrap();
        let mut read = [0];
        file.read_exact_at(&mut read, 0).unwrap();
        assert_eq!(read, [written], "it is the same file");
    }
    assert!(one.hand_over(four_of(&file)));
    one.send(numbered(3));
    one.flush(Instant::now());
    assert_eq!(next_frame(&mut other).sequence, 3);
    assert!(other.take_descriptors().is_none(), "no more were expected");
}

#[test]
fn descriptors_that_nobody_expects_are_not_kept() {
    let (mut one, mut other) = inherited(&LinkOptions::inherited());
    let file = File::from(memfd_create("unwanted", MemfdFlags::CLOEXEC).unwrap());
    assert!(one.hand_over(four_of(&file)));
    one.send(numbered(1));
    one.flush(Instant::now());
    assert_eq!(next_frame(&mut other).sequence, 1);
    assert!(other.take_descriptors().is_none());
    let names = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| entry.unwrap().path().read_link().ok());
    let open = names.filter(|name| name.to_string_lossy().contains("memfd:unwanted"));
    assert_eq!(open.count(), 1, "only this test has it open");
}

#[test]
fn a_payload_that_is_too_long_ends_the_link_with_an_error_that_says_so() {
    let options = LinkOptions::inherited();
    let (mut one, _other) = inherited(&options);
    one.send(Frame::new(DATA, 0, 0, vec![0; options.max_payload + 1]));
    let last = loop {
        match one.poll() {
            Some(Event::Opened(_)) => {}
            last => break last,
        }
    };
    let Some(Event::Lost(error)) = last else { panic!("{last:?}") };
    assert_eq!(error, LinkError::TooLong { length: options.max_payload + 1, limit: options.max_payload });
    assert!(error.to_string().contains("send it in pieces"), "{error}");
}
