//! Long payloads that go by memory: what arrives is what was sent, whatever the other side does.

use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use banyan_link::{
    Event, Frame, HEADER_BYTES, Kind, Link, LinkError, LinkOptions, PROTOCOL_VERSION, ProtocolError, Slabs, frame_cost,
};
use bytes::Bytes;
use proptest::prelude::*;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

const DATA: Kind = Kind::data(16);
const CONTROL: Kind = Kind::control(128);

/// Bytes of a unit of memory. Payloads go by it that are longer.
const UNIT: usize = 64 << 10;
const LONG: usize = UNIT + 1;

/// Kinds of the link's own frames.
const HELLO: u8 = 1;
const CREDIT: u8 = 3;
const POOL: u8 = 6;
const WANTED: u8 = 7;
const PASSED: u8 = 8;
const MAPPED: u8 = 9;

/// Nothing here takes so long; who waits longer has lost.
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> LinkOptions {
    LinkOptions::inherited().slabs(Slabs::new())
}

fn pair(one: &LinkOptions, other: &LinkOptions) -> [Link; 2] {
    let (ours, theirs) = UnixStream::pair().unwrap();
    [Link::inherited(ours.into(), one), Link::inherited(theirs.into(), other)]
}

fn payload(length: usize, seed: usize) -> Bytes {
    let mut bytes = vec![seed as u8; length];
    bytes.chunks_mut(999).enumerate().for_each(|(at, chunk)| chunk[0] = at as u8);
    bytes.into()
}

fn frame(sequence: u32, length: usize) -> Frame {
    Frame::new(DATA, 0, sequence, payload(length, sequence as usize))
}

/// Lets both ends write and read until nothing moves; what came to each.
fn exchange(links: &mut [Link; 2]) -> [Vec<Event>; 2] {
    let mut came = [Vec::new(), Vec::new()];
    let mut quiet = 0;
    while quiet < 3 {
        quiet += 1;
        for (link, came) in links.iter_mut().zip(&mut came) {
            let now = Instant::now();
            link.flush(now);
            link.fill(now);
            while let Some(event) = link.poll() {
                quiet = 0;
                if let Event::Frame(frame) = &event
                    && frame.kind.is_data()
                {
                    link.release(frame.cost());
                }
                came.push(event);
            }
            if link.wants_write() {
                quiet = 0;
            }
        }
    }
    came
}

fn frames(events: &[Event]) -> Vec<Frame> {
    let frame = |event: &Event| if let Event::Frame(frame) = event { Some(frame.clone()) } else { None };
    events.iter().filter_map(frame).collect()
}

/// A pair that uses memory in the direction from the first to the second.
fn sharing(one: &LinkOptions, other: &LinkOptions) -> [Link; 2] {
    let mut links = pair(one, other);
    for sequence in 0..2 {
        exchange(&mut links);
        links[0].send(frame(sequence, LONG));
    }
    let [_, came] = exchange(&mut links);
    assert_eq!(frames(&came), [frame(1, LONG)]);
    assert_eq!(links[0].counters().pool_bytes_sent, LONG as u64, "the second goes by memory");
    links
}

fn next(link: &mut Link) -> Event {
    link.wait(Some(Instant::now() + PATIENCE)).expect("an event")
}

/// The next event that is neither a frame nor the hello.
fn end(link: &mut Link) -> Event {
    loop {
        match next(link) {
            Event::Opened(_) | Event::Frame(_) => {}
            end => return end,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// One end uses memory, the other has pipes between it and the first and cannot: both get the same.
    #[test]
    fn any_mix_of_frames_arrives_in_order_whether_or_not_memory_is_used(
        lengths in prop::collection::vec((0usize..2, prop_oneof![0usize..100, LONG - 2..LONG + 40, Just(3 * LONG + 5), Just(1 << 20)]), 1..30),
        burst in 1usize..8,
        kept in prop_oneof![Just(0usize), Just(1 << 20), Just(8 << 20)],
    ) {
        let own = || options().slabs(Slabs::keeping(kept));
        let ((a, b), (c, d)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let piped = |read: OwnedFd, write: OwnedFd| Link::over_pipes(read, write, &own()).unwrap();
        let mut ways = [pair(&own(), &own()), [piped(a.into(), d.into()), piped(c.into(), b.into())]];
        let mut expected = [Vec::new(), Vec::new()];
        let mut came = [(); 2].map(|()| [Vec::new(), Vec::new()]);
        for batch in lengths.chunks(burst) {
            for (from, length) in batch {
                let frame = frame(expected[*from].len() as u32, *length);
                expected[*from].push(frame.clone());
                ways.iter_mut().for_each(|links| links[*from].send(frame.clone()));
            }
            for (links, came) in ways.iter_mut().zip(&mut came) {
                let [to_one, to_other] = exchange(links);
                came[1].extend(frames(&to_one));
                came[0].extend(frames(&to_other));
            }
        }
        for (links, came) in ways.iter().zip(&came) {
            prop_assert_eq!(came, &expected);
            // What was told is what was taken.
            let [one, other] = [0, 1].map(|end| links[end].counters());
            prop_assert_eq!((one.pool_bytes_sent, other.pool_bytes_sent), (other.pool_bytes_received, one.pool_bytes_received));
        }
        prop_assert_eq!(ways[1][0].counters().pool_bytes_sent, 0, "not over pipes");
    }
}

#[test]
fn what_came_by_memory_is_forwarded_to_many_without_being_copied() {
    let hub = options();
    let mut source = sharing(&options(), &hub);
    let mut sinks: Vec<[Link; 2]> = (0..3).map(|_| sharing(&hub, &options())).collect();
    let before = hub.slabs.spare_bytes();
    source[0].send(frame(7, 5 * LONG));
    let [_, came] = exchange(&mut source);
    let held = frames(&came);
    let in_use = before.abs_diff(hub.slabs.spare_bytes());
    for links in &mut sinks {
        links[0].send(held[0].clone());
        let [_, came] = exchange(links);
        assert_eq!(frames(&came), held);
        assert_eq!(links[0].counters().pool_bytes_sent, (LONG + 5 * LONG) as u64);
    }
    assert_eq!(before.abs_diff(hub.slabs.spare_bytes()), in_use, "no slab was taken to send it");
}

#[test]
fn a_frame_is_not_in_the_memory_of_its_sender() {
    let mut links = sharing(&options(), &options());
    let mut slabs = Vec::new();
    for sequence in 0..20 {
        links[0].send(frame(sequence, 3 * LONG));
        let [_, came] = exchange(&mut links);
        slabs.extend(frames(&came));
    }
    // The sender has used its few slabs again and again meanwhile.
    for (sequence, frame) in slabs.iter().enumerate() {
        assert_eq!(frame.payload, payload(3 * LONG, sequence));
    }
}

#[test]
fn a_goodbye_right_behind_long_payloads_takes_nothing_away() {
    let slabs = options();
    let mut links = sharing(&slabs, &options());
    links[0].send(frame(1, 4 * LONG));
    links[0].close();
    links[0].flush(Instant::now());
    assert!(!links[0].is_finished(), "the peer has not taken it");
    let [mut one, mut other] = links;
    // The process goes on and sends other things.
    let mut others = sharing(&slabs, &options());
    for sequence in 0..10 {
        others[0].send(frame(sequence, 4 * LONG));
        exchange(&mut others);
    }
    assert_eq!(next(&mut other), Event::Frame(frame(1, 4 * LONG)));
    assert_eq!(next(&mut other), Event::Closed);
    drop(other);
    assert_eq!(next(&mut one), Event::Closed);
    assert!(one.is_finished());
}

#[test]
fn a_payload_that_was_overwritten_is_a_loss_and_never_delivered() {
    let slabs = options();
    let mut links = sharing(&slabs, &options());
    links[0].send(frame(1, 4 * LONG));
    links[0].send(Frame::new(DATA, 0, 2, &b"behind it"[..]));
    links[0].flush(Instant::now());
    let [one, mut other] = links;
    // No goodbye: the link is given up, and its memory is used for another.
    drop(one);
    let mut others = sharing(&slabs, &options());
    for sequence in 0..10 {
        others[0].send(frame(sequence, 4 * LONG));
        exchange(&mut others);
    }
    assert_eq!(next(&mut other), Event::Lost(LinkError::Protocol(ProtocolError::Overwritten)));
    assert_eq!(other.poll(), None);
}

/// The other end of a link, by hand.
struct Stranger(UnixStream);

impl Stranger {
    /// Says hello, and whether it shares memory.
    fn new(shares: bool) -> (Stranger, Link) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_read_timeout(Some(PATIENCE)).unwrap();
        let link = Link::inherited(theirs.into(), &options());
        let mut stranger = Stranger(ours);
        let mut hello = [0; 32];
        hello[0] = PROTOCOL_VERSION as u8;
        hello[4] = u8::from(shares);
        hello[8..16].copy_from_slice(&(8u64 << 20).to_le_bytes());
        hello[16..20].copy_from_slice(&(1u32 << 20).to_le_bytes());
        stranger.say(HELLO, &hello, None);
        (stranger, link)
    }

    fn say(&mut self, kind: u8, payload: &[u8], descriptors: Option<&[BorrowedFd<'_>]>) {
        self.write(&header(kind, payload.len() as u32, false), payload, descriptors);
    }

    /// Offers a pool of so many bytes, and waits until it is wanted.
    fn offer(&mut self, link: &mut Link, bytes: usize) {
        self.say(POOL, &(bytes as u64).to_le_bytes(), None);
        assert!(matches!(next(link), Event::Opened(_)));
        link.fill(Instant::now());
        link.flush(Instant::now());
        assert_eq!(self.hear().0, HELLO);
        assert_eq!(self.hear().0, WANTED);
    }

    /// A frame whose payload is said to lie elsewhere.
    fn point(&mut self, length: usize, at: u64, edition: u64) {
        let place = [at.to_le_bytes(), edition.to_le_bytes()].concat();
        self.write(&header(DATA.number(), length as u32, true), &place, None);
    }

    fn write(&mut self, header: &[u8], payload: &[u8], descriptors: Option<&[BorrowedFd<'_>]>) {
        let mut bytes = [header, payload].concat();
        bytes.resize(frame_cost(payload.len()), 0);
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut along = SendAncillaryBuffer::new(&mut room);
        if let Some(descriptors) = descriptors {
            assert!(along.push(SendAncillaryMessage::ScmRights(descriptors)));
        }
        let sent = sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut along, SendFlags::empty()).unwrap();
        assert_eq!(sent, bytes.len());
    }

    /// The next frame: its kind and what follows the header, and a descriptor if one came.
    fn hear(&mut self) -> (u8, bool, Vec<u8>, Option<OwnedFd>) {
        let mut header = [0; HEADER_BYTES];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut along = RecvAncillaryBuffer::new(&mut room);
        recvmsg(&self.0, &mut [IoSliceMut::new(&mut header)], &mut along, RecvFlags::WAITALL).unwrap();
        let descriptor = along.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        let length = u32::from_le_bytes(header[..4].try_into().unwrap()) as usize;
        let following = if header[6] == 1 { 16 } else { length };
        let mut payload = vec![0; frame_cost(following) - HEADER_BYTES];
        self.0.read_exact(&mut payload).unwrap();
        payload.truncate(following);
        (header[4], header[6] == 1, payload, descriptor)
    }
}

fn header(kind: u8, length: u32, is_apart: bool) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4] = kind;
    header[6] = u8::from(is_apart);
    header
}

/// How memory is sealed that is taken for a pool.
const SEALED: SealFlags = SealFlags::SHRINK.union(SealFlags::FUTURE_WRITE);

/// Memory of so many bytes that says `banyan` in its second unit. It is called as the thread is, which has a test's name.
fn memory(bytes: usize, seals: SealFlags) -> OwnedFd {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let fd = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, bytes as u64).unwrap();
    rustix::io::pwrite(&fd, b"banyan", UNIT as u64).unwrap();
    ftruncate(&fd, bytes as u64).unwrap();
    fcntl_add_seals(&fd, seals).unwrap();
    fd
}

/// Descriptors of such memory that this process has: other tests may have some of their own.
fn descriptors() -> usize {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    let links = all.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    links.filter(|link| link.to_string_lossy().contains(&name)).count()
}

/// A stranger whose pool of four units was taken for one.
fn mapped() -> (Stranger, Link) {
    let (mut stranger, mut link) = Stranger::new(true);
    let pool = memory(4 * UNIT, SEALED);
    stranger.offer(&mut link, 4 * UNIT);
    stranger.say(PASSED, &[], Some(&[pool.as_fd()]));
    link.fill(Instant::now());
    link.flush(Instant::now());
    assert_eq!(stranger.hear().0, MAPPED);
    (stranger, link)
}

#[test]
fn a_payload_is_taken_from_the_pool_of_anyone_who_keeps_to_the_rules() {
    let (mut stranger, mut link) = mapped();
    stranger.point(LONG, UNIT as u64, 0);
    let Event::Frame(frame) = next(&mut link) else { panic!("no frame") };
    assert_eq!((frame.payload.len(), &frame.payload[..6]), (LONG, &b"banyan"[..]));
}

#[test]
fn a_peer_that_does_not_share_gets_everything_over_the_socket() {
    let (mut stranger, mut link) = Stranger::new(false);
    assert!(matches!(next(&mut link), Event::Opened(_)));
    assert_eq!(stranger.hear().0, HELLO);
    for sequence in 0..3 {
        // As much as a socket holds.
        let sent = frame(sequence, LONG);
        link.send(sent.clone());
        link.flush(Instant::now());
        let (kind, is_apart, payload, descriptor) = stranger.hear();
        assert_eq!(
            (kind, is_apart, payload, descriptor.is_some()),
            (DATA.number(), false, sent.payload.to_vec(), false)
        );
    }
}

#[test]
fn a_peer_that_shares_and_never_maps_gets_everything_over_the_socket() {
    let (mut stranger, mut link) = Stranger::new(true);
    assert!(matches!(next(&mut link), Event::Opened(_)));
    assert_eq!(stranger.hear().0, HELLO);
    for sequence in 0..3 {
        link.send(frame(sequence, LONG));
        link.flush(Instant::now());
        if sequence == 0 {
            let (kind, _, bytes, descriptor) = stranger.hear();
            assert_eq!((kind, bytes.len(), descriptor.is_some()), (POOL, 8, false));
        }
        assert_eq!(stranger.hear().0, DATA.number());
    }
    // Nor when it has the descriptor.
    stranger.say(WANTED, &[], None);
    link.fill(Instant::now());
    link.send(frame(3, LONG));
    link.flush(Instant::now());
    let (kind, _, _, descriptor) = stranger.hear();
    assert_eq!((kind, descriptor.is_some()), (DATA.number(), true));
    assert_eq!(stranger.hear().0, PASSED);
    link.send(frame(4, LONG));
    link.flush(Instant::now());
    let (kind, is_apart, ..) = stranger.hear();
    assert_eq!((kind, is_apart), (DATA.number(), false));
}

#[test]
fn a_peer_that_takes_nothing_pins_no_more_than_a_window_whatever_it_grants() {
    let (mut stranger, mut link) = Stranger::new(true);
    assert!(matches!(next(&mut link), Event::Opened(_)));
    link.send(frame(0, LONG));
    link.flush(Instant::now());
    stranger.say(WANTED, &[], None);
    link.fill(Instant::now());
    link.flush(Instant::now());
    stranger.say(MAPPED, &[], None);
    stranger.say(CREDIT, &[u64::MAX.to_le_bytes(), 0u64.to_le_bytes()].concat(), None);
    link.fill(Instant::now());
    for sequence in 1..100 {
        link.send(frame(sequence, 1 << 20));
        link.flush(Instant::now());
        let _ = link.poll();
    }
    let (pinned, window) = (link.counters().pool_bytes_sent as usize, options().window);
    assert!((1 << 20..=window).contains(&pinned), "{pinned} bytes of a window of {window}");
}

#[test]
fn offers_that_are_none_end_the_link_and_leave_no_descriptor() {
    let good = memory(2 * UNIT, SEALED);
    let unsealed = memory(2 * UNIT, SealFlags::GROW);
    let odd = memory(2 * UNIT + 1, SEALED);
    let large = memory(1 << 30, SEALED);
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let offers: [(&str, usize, &[BorrowedFd<'_>]); 6] = [
        ("whose size is not sealed", 2 * UNIT, &[unsealed.as_fd()]),
        ("of a size that no pool has", 2 * UNIT, &[odd.as_fd()]),
        ("too large", 1 << 30, &[large.as_fd()]),
        ("a file", 2 * UNIT, &[file.as_fd()]),
        ("of another size than is said", 4 * UNIT, &[good.as_fd()]),
        ("several at once", 2 * UNIT, &[good.as_fd(), good.as_fd(), good.as_fd()]),
    ];
    for (what, size, descriptors) in offers {
        let (mut stranger, mut link) = Stranger::new(true);
        let before = self::descriptors();
        stranger.offer(&mut link, size);
        stranger.say(PASSED, &[], Some(descriptors));
        let last = end(&mut link);
        assert!(matches!(last, Event::Lost(LinkError::Protocol(ProtocolError::Pool(_)))), "{what}: {last:?}");
        assert!(before > 0, "those of the stranger are counted");
        assert_eq!(self::descriptors(), before, "{what}");
    }
}

#[test]
fn a_second_offer_ends_the_link() {
    let (mut stranger, mut link) = mapped();
    let again = memory(4 * UNIT, SEALED);
    let before = descriptors();
    stranger.say(POOL, &(4 * UNIT as u64).to_le_bytes(), Some(&[again.as_fd()]));
    let last = end(&mut link);
    assert!(matches!(last, Event::Lost(LinkError::Protocol(ProtocolError::Pool(_)))), "{last:?}");
    assert_eq!(descriptors(), before);
}

#[test]
fn an_offer_whose_descriptor_was_lost_on_the_way_is_not_taken_up() {
    let (mut stranger, mut link) = Stranger::new(true);
    stranger.offer(&mut link, 4 * UNIT);
    stranger.say(PASSED, &[], None);
    stranger.say(CONTROL.number(), b"and so on", None);
    assert!(matches!(next(&mut link), Event::Frame(_)));
    stranger.point(LONG, UNIT as u64, 0);
    let last = end(&mut link);
    assert!(matches!(last, Event::Lost(LinkError::Protocol(ProtocolError::Pool(_)))), "{last:?}");
}

#[test]
fn a_descriptor_that_nobody_asked_for_is_not_received() {
    let (mut stranger, mut link) = Stranger::new(true);
    let good = memory(2 * UNIT, SEALED);
    let before = descriptors();
    for _ in 0..3 {
        stranger.say(CONTROL.number(), b"by the way", Some(&[good.as_fd()]));
    }
    assert!(matches!(next(&mut link), Event::Opened(_)));
    (0..3).for_each(|_| assert!(matches!(next(&mut link), Event::Frame(_))));
    assert_eq!(descriptors(), before);
}

#[test]
fn a_descriptor_that_comes_early_is_kept_and_a_second_one_ends_the_link() {
    let (mut stranger, mut link) = Stranger::new(true);
    let good = memory(4 * UNIT, SEALED);
    let before = descriptors();
    stranger.offer(&mut link, 4 * UNIT);
    stranger.say(CONTROL.number(), b"with it", Some(&[good.as_fd()]));
    assert!(matches!(next(&mut link), Event::Frame(_)));
    assert_eq!(descriptors(), before, "mapped, and closed");
    stranger.say(CONTROL.number(), b"with another", Some(&[good.as_fd()]));
    let last = end(&mut link);
    assert!(matches!(last, Event::Lost(LinkError::Protocol(ProtocolError::Pool(_)))), "{last:?}");
    assert_eq!(descriptors(), before);
}

#[test]
fn places_where_nothing_can_lie_end_the_link() {
    let size = 4 * UNIT as u64;
    let unit = UNIT as u64;
    let places =
        [(LONG, 0), (LONG, unit + 8), (LONG, size - 16), (LONG, size), (LONG, u64::MAX - 15), (LONG - 1, unit)];
    for (length, at) in places {
        let (mut stranger, mut link) = mapped();
        stranger.point(length, at, 0);
        let length = length as u32;
        assert_eq!(end(&mut link), Event::Lost(LinkError::Protocol(ProtocolError::PoolSpan { at, length })));
    }
    let (mut stranger, mut link) = mapped();
    stranger.point(LONG, unit, 9);
    assert_eq!(end(&mut link), Event::Lost(LinkError::Protocol(ProtocolError::Overwritten)), "another edition");
}

#[test]
fn answers_about_a_pool_that_was_not_offered_end_the_link() {
    for kind in [WANTED, PASSED, MAPPED] {
        let (mut stranger, mut link) = Stranger::new(true);
        stranger.say(kind, &[], None);
        let last = end(&mut link);
        assert!(matches!(last, Event::Lost(LinkError::Protocol(ProtocolError::Pool(_)))), "{last:?}");
    }
}

/// Set in the process that sends until it is killed.
const SENDER: &str = "BANYAN_LINK_TEST_SENDER";

#[test]
fn what_a_killed_peer_had_sent_is_whole_and_the_rest_is_a_loss() {
    if std::env::var_os(SENDER).is_some() {
        return send_until_killed();
    }
    let name = format!("\0banyan-link-pools-{}", std::process::id());
    let address = <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(
        &name.as_bytes()[1..],
    );
    let listener = std::os::unix::net::UnixListener::bind_addr(&address.unwrap()).unwrap();
    let test = "what_a_killed_peer_had_sent_is_whole_and_the_rest_is_a_loss";
    let mut child = Killed(
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(SENDER, &name[1..])
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut link = Link::inherited(listener.accept().unwrap().0.into(), &options());
    let mut count = 0;
    let last = loop {
        match next(&mut link) {
            Event::Opened(_) => {}
            Event::Frame(frame) => {
                assert_eq!((frame.sequence, &frame.payload), (count, &payload(3 * LONG, count as usize)));
                count += 1;
                link.release(frame.cost());
                if count == 100 {
                    child.0.kill().unwrap();
                }
            }
            last => break last,
        }
    };
    assert!(matches!(last, Event::Lost(LinkError::Ended { .. })), "{last:?}");
    assert!(count >= 100 && link.counters().pool_bytes_received > 0);
}

/// A process that ends with the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send_until_killed() {
    let name = std::env::var(SENDER).unwrap();
    let address =
        <std::os::unix::net::SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name.as_bytes());
    let socket = UnixStream::connect_addr(&address.unwrap()).unwrap();
    let mut link = Link::inherited(socket.into(), &options());
    let mut sequence = 0;
    loop {
        while link.credit_left() > 0 {
            link.send(frame(sequence, 3 * LONG));
            sequence += 1;
        }
        match link.wait(Some(Instant::now() + PATIENCE)) {
            None | Some(Event::Opened(_)) => {}
            Some(_) => return,
        }
    }
}

#[test]
fn a_stranger_that_ends_in_the_middle_of_an_offer_is_a_loss() {
    let (mut stranger, mut link) = Stranger::new(true);
    stranger.0.write_all(&header(POOL, 8, false)).unwrap();
    drop(stranger);
    assert_eq!(end(&mut link), Event::Lost(LinkError::Ended { in_frame: true }));
}

#[test]
fn a_pool_and_descriptors_that_are_handed_over_may_go_together() {
    let mut links = pair(&options(), &options());
    exchange(&mut links);
    links[1].expect_descriptors();
    links[0].send(frame(0, LONG));
    let now = Instant::now();
    // The pool is offered, and wanted.
    links[0].flush(now);
    links[1].fill(now);
    links[1].flush(now);
    links[0].fill(now);
    let file = memfd_create("handed", MemfdFlags::CLOEXEC).unwrap();
    let own = || std::sync::Arc::new(file.try_clone().unwrap());
    assert!(links[0].hand_over([own(), own(), own(), own()]));
    links[0].send(frame(1, 10));
    let [_, came] = exchange(&mut links);
    assert_eq!(frames(&came), [frame(0, LONG), frame(1, 10)]);
    assert!(links[1].take_descriptors().is_some());
    links[0].send(frame(2, LONG));
    let [_, came] = exchange(&mut links);
    assert_eq!(frames(&came), [frame(2, LONG)]);
    assert_eq!(links[0].counters().pool_bytes_sent, LONG as u64, "the pool was passed, too");
}
