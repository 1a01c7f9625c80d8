//! What pools cost a process: nothing until there is something to put there, and nothing afterwards.
//!
//! The only test of its program: it counts what belongs to the process.

use std::os::unix::net::UnixStream;
use std::time::Instant;

use banyan_link::{Event, Frame, HEADER_BYTES, Kind, Link, LinkOptions, SLAB_BYTES, Slabs};

const DATA: Kind = Kind::data(16);

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Parts of this process's memory that are pools.
fn pools() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().lines().filter(|line| line.contains("banyan-pool")).count()
}

/// Sends frames of so many bytes there and back, one after the other.
fn exchange(links: &mut [Link; 2], length: usize) {
    for round in 0..10 {
        let [one, other] = links;
        let (from, to) = if round % 2 == 0 { (one, other) } else { (other, one) };
        from.send(Frame::new(DATA, 0, round, vec![1; length]));
        let received = loop {
            let now = Instant::now();
            from.flush(now);
            from.fill(now);
            assert!(matches!(from.poll(), None | Some(Event::Opened(_))));
            to.fill(now);
            match to.poll() {
                Some(Event::Frame(frame)) => break frame,
                event => assert!(matches!(event, None | Some(Event::Opened(_))), "{event:?}"),
            }
            to.flush(now);
        };
        to.release(received.cost());
        to.flush(Instant::now());
    }
}

#[test]
fn pools_are_made_for_long_payloads_only_and_go_with_their_links() {
    let options = || LinkOptions::inherited().slabs(Slabs::new());
    let before = (descriptors(), pools());
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (one, other) = (options(), options());
    let mut links = [Link::inherited(ours.into(), &one), Link::inherited(theirs.into(), &other)];
    exchange(&mut links, SLAB_BYTES - HEADER_BYTES);
    assert_eq!((descriptors(), pools()), (before.0 + 2, before.1), "two sockets");
    exchange(&mut links, SLAB_BYTES + 1);
    assert_eq!((descriptors(), pools()), (before.0 + 4, before.1 + 4), "two pools, each mapped by both");
    assert!(links.iter().all(|link| link.counters().pool_bytes_sent > 0));
    drop(links);
    drop((one, other));
    assert_eq!((descriptors(), pools()), before);
}
