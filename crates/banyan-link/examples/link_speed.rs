//! How fast a link is, beside the bare socket it runs on.
//!
//! `cargo run --release -p banyan-link --example link_speed`: round trips of 64 bytes, frames of 64 bytes a second, and
//! gigabytes a second in frames of 1 MiB, each over Unix sockets and TCP, plain and encrypted. "of floor" compares with
//! the same bytes over the same kind of socket without any protocol, measured in the same run.

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use banyan_link::{
    Encryption, Event, Frame, HEADER_BYTES, Kind, Link, LinkOptions, Listener, Opening, PeerId, Secret, SessionId,
};
use bytes::Bytes;

const DATA: Kind = Kind::data(16);
const SMALL: usize = 64;
const LARGE: usize = 1 << 20;
const ROUNDS: u32 = 20_000;
const SMALL_FRAMES: usize = 10_000_000;
const LARGE_FRAMES: usize = 4_000;
/// The best of so many.
const REPEATS: usize = 3;

/// A socket that may be of either kind.
trait Socket: Read + Write + Send + 'static {
    fn blocking(&self, blocking: bool);
}

impl Socket for UnixStream {
    fn blocking(&self, blocking: bool) {
        self.set_nonblocking(!blocking).expect("a socket");
    }
}

impl Socket for TcpStream {
    fn blocking(&self, blocking: bool) {
        self.set_nonblocking(!blocking).expect("a socket");
        self.set_nodelay(true).expect("a socket");
    }
}

fn unix() -> (UnixStream, UnixStream) {
    UnixStream::pair().expect("a pair")
}

fn tcp() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let one = TcpStream::connect(listener.local_addr().expect("its address")).expect("a connection");
    (one, listener.accept().expect("a connection").0)
}

fn link(address: Option<&str>, encryption: Encryption) -> (Link, Link) {
    let options = || LinkOptions::default().encryption(encryption).heartbeat(None);
    let Some(address) = address else {
        let (one, other) = unix();
        return (Link::inherited(one.into(), &options()), Link::inherited(other.into(), &options()));
    };
    let mut listener = Listener::bind(&address.parse().expect("an address"), &options()).expect("a listener");
    let peer = PeerId { session: SessionId([0; 16]), index: 0, incarnation: 0 };
    let opening = Opening { peer, secret: Secret::from_bytes([1; 32]) };
    let mut one = Link::dial(listener.address(), &opening, &options()).expect("a connection");
    loop {
        let now = Instant::now();
        one.flush(now);
        one.fill(now);
        if let Some(other) = listener.accept_ready(now, &mut |_| Some(opening.secret.clone())).pop() {
            return (one, other);
        }
    }
}

fn best(measure: impl Fn() -> f64, larger_is_better: bool) -> f64 {
    let values = (0..REPEATS).map(|_| measure());
    if larger_is_better { values.fold(0.0, f64::max) } else { values.fold(f64::MAX, f64::min) }
}

/// Reads exactly, yielding while there is nothing.
fn read_yielding(socket: &mut impl Socket, mut bytes: &mut [u8]) {
    while !bytes.is_empty() {
        match socket.read(bytes) {
            Ok(0) => return,
            Ok(count) => bytes = &mut bytes[count..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::yield_now(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// Microseconds for a round trip.
fn bare_round_trip<S: Socket>((mut one, mut other): (S, S)) -> f64 {
    one.blocking(false);
    other.blocking(false);
    let mut bytes = [0; HEADER_BYTES + SMALL];
    let echo = thread::spawn(move || {
        for _ in 0..ROUNDS {
            let mut bytes = [0; HEADER_BYTES + SMALL];
            read_yielding(&mut other, &mut bytes);
            other.write_all(&bytes).expect("the peer is there");
        }
    });
    let start = Instant::now();
    for _ in 0..ROUNDS {
        one.write_all(&bytes).expect("the peer is there");
        read_yielding(&mut one, &mut bytes);
    }
    let time = start.elapsed();
    echo.join().expect("it ended well");
    time.as_secs_f64() * 1e6 / f64::from(ROUNDS)
}

fn frame(link: &mut Link) -> Frame {
    loop {
        match link.poll().or_else(|| link.wait(Some(Instant::now() + Duration::from_secs(60)))) {
            Some(Event::Frame(frame)) => return frame,
            Some(Event::Opened(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn round_trip((mut one, mut other): (Link, Link)) -> f64 {
    let payload = Bytes::from(vec![1; SMALL]);
    let echo = thread::spawn(move || {
        for _ in 0..ROUNDS {
            let frame = frame(&mut other);
            other.release(frame.cost());
            other.send(frame);
        }
        other.flush(Instant::now());
        other
    });
    let start = Instant::now();
    for sequence in 0..ROUNDS {
        one.send(Frame::new(DATA, 0, sequence, payload.clone()));
        let answer = frame(&mut one);
        one.release(answer.cost());
    }
    let time = start.elapsed();
    echo.join().expect("it ended well");
    time.as_secs_f64() * 1e6 / f64::from(ROUNDS)
}

/// Frames a second, over a bare socket: `count` of `length` bytes, written `batch` bytes at a time.
fn bare_frames<S: Socket>((mut one, mut other): (S, S), length: usize, count: usize, batch: usize) -> f64 {
    let total = length * count;
    let start = Instant::now();
    let writer = thread::spawn(move || {
        let (frame, mut bytes, mut left) = (vec![1; length], Vec::with_capacity(batch + length), total);
        while left > 0 {
            bytes.clear();
            while bytes.len() < batch && bytes.len() < left {
                bytes.extend_from_slice(&frame);
            }
            left -= bytes.len();
            one.write_all(&bytes).expect("the peer is there");
        }
    });
    let (mut space, mut left) = (vec![0; batch.max(64 << 10)], total);
    while left > 0 {
        left -= other.read(&mut space).expect("the peer is there");
    }
    writer.join().expect("it ended well");
    count as f64 / start.elapsed().as_secs_f64()
}

fn frames((mut one, mut other): (Link, Link), length: usize, count: usize) -> f64 {
    let payload = Bytes::from(vec![1; length]);
    let start = Instant::now();
    let writer = thread::spawn(move || {
        let mut left = count;
        while left > 0 {
            while one.credit_left() > 0 && left > 0 {
                one.send(Frame::new(DATA, 0, left as u32, payload.clone()));
                left -= 1;
            }
            if left > 0 && one.credit_left() == 0 {
                let event = one.wait(Some(Instant::now() + Duration::from_secs(60)));
                assert!(matches!(event, None | Some(Event::Opened(_))), "{event:?}");
            }
        }
        one.close();
        while !one.is_finished() {
            one.wait(Some(Instant::now() + Duration::from_millis(1)));
        }
        one
    });
    for _ in 0..count {
        let frame = frame(&mut other);
        other.release(frame.cost());
    }
    let time = start.elapsed();
    drop(other);
    writer.join().expect("it ended well");
    count as f64 / time.as_secs_f64()
}

fn row(name: &str, [round_trip, small, large]: [f64; 3], floor: [f64; 3]) {
    let gigabytes = |frames: f64| frames * LARGE as f64 / 1e9;
    println!(
        "{name:<22} {round_trip:>7.1} us {:>5.2}x  {:>6.2} M/s {:>5.2}x  {:>6.2} GB/s {:>5.2}x",
        round_trip / floor[0],
        small / 1e6,
        small / floor[1],
        gigabytes(large),
        large / floor[2],
    );
}

fn main() {
    println!("{:<22} {:>17}  {:>17}  {:>18}", "", "64 B round trip", "64 B frames", "1 MiB frames");
    let bare = |tcp_socket: bool| {
        let cost = HEADER_BYTES + SMALL;
        let small = |frames: usize| match tcp_socket {
            true => bare_frames(tcp(), cost, frames, 64 << 10),
            false => bare_frames(unix(), cost, frames, 64 << 10),
        };
        let large = |frames: usize| match tcp_socket {
            true => bare_frames(tcp(), LARGE, frames, LARGE),
            false => bare_frames(unix(), LARGE, frames, LARGE),
        };
        let trip = || if tcp_socket { bare_round_trip(tcp()) } else { bare_round_trip(unix()) };
        [best(trip, false), best(|| small(SMALL_FRAMES), true), best(|| large(LARGE_FRAMES), true)]
    };
    let name = format!("unix:@banyan-link-speed-{}", std::process::id());
    let linked = |address: Option<&str>, encryption: Encryption| {
        [
            best(|| round_trip(link(address, encryption)), false),
            best(|| frames(link(address, encryption), SMALL, SMALL_FRAMES), true),
            best(|| frames(link(address, encryption), LARGE, LARGE_FRAMES), true),
        ]
    };
    let floor = bare(false);
    row("unix, floor", floor, floor);
    row("unix, link", linked(None, Encryption::Never), floor);
    row("unix, encrypted link", linked(Some(&name), Encryption::Always), floor);
    let floor = bare(true);
    row("tcp, floor", floor, floor);
    row("tcp, link", linked(Some("tcp:127.0.0.1:0"), Encryption::Never), floor);
    row("tcp, encrypted link", linked(Some("tcp:127.0.0.1:0"), Encryption::Always), floor);
}
