//! Bytes of a stranger: into a listener that has heard nothing, and into links that are open.

use std::io::IoSlice;
use std::time::{Duration, Instant};

use banyan_fuzz::Bytes;
use banyan_link::{Connection, Event, LinkOptions, OpeningState, Responder, Secret};

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    let choice = input.byte();
    let cut = usize::from(input.byte()) + 1;
    match choice % 3 {
        0 => responder(input.0, cut),
        1 => connection(input.0, cut),
        _ => connection(&[&hello()[..], input.0].concat(), cut),
    }
}

/// Who does not know the secret is never let in.
fn responder(bytes: &[u8], cut: usize) {
    let options = LinkOptions::default();
    let mut responder = Responder::new(true);
    for mut piece in bytes.chunks(cut) {
        while !piece.is_empty() {
            let space = responder.space();
            let count = space.len().min(piece.len());
            if count == 0 {
                return;
            }
            space[..count].copy_from_slice(&piece[..count]);
            piece = &piece[count..];
            let find = &mut |_: &_| Some(Secret::from_bytes([0x5a; 32]));
            match responder.received(count, &options.slabs, find) {
                Ok(OpeningState::More) => {}
                Ok(OpeningState::Proved(_)) => panic!("somebody was let in"),
                Err(_) => return,
            }
        }
    }
}

/// Whatever comes, there is at most one end, and nothing after it.
fn connection(bytes: &[u8], cut: usize) {
    let now = Instant::now();
    let options = LinkOptions::default().max_payload(4096).window(64 << 10);
    let mut end = Connection::inherited(&options, now);
    let mut ended = false;
    for piece in bytes.chunks(cut) {
        let space = end.space();
        assert_eq!(space.is_empty(), ended, "all frames are taken, so there is space until the end");
        if ended {
            break;
        }
        let count = space.len().min(piece.len());
        space[..count].copy_from_slice(&piece[..count]);
        end.received(count, now);
        end.settle();
        while let Some(event) = end.poll_event() {
            assert!(!ended, "something came after the end");
            match event {
                Event::Opened(_) => {}
                Event::Frame(frame) => {
                    assert!(frame.payload.len() <= options.max_payload);
                    if frame.kind.is_data() {
                        end.release(frame.cost());
                    }
                    end.send(frame);
                }
                Event::Closed | Event::Lost(_) => ended = true,
            }
        }
        let mut pieces = [IoSlice::new(&[]); 8];
        let count = end.poll_transmit(&mut pieces);
        let length = pieces[..count].iter().map(|piece| piece.len()).sum();
        if count > 0 {
            end.sent(length, now);
        }
    }
    end.handle_timeout(now + Duration::from_secs(10));
}

/// What a peer says first.
fn hello() -> Vec<u8> {
    let options = LinkOptions::default().max_payload(4096).window(64 << 10);
    let mut peer = Connection::inherited(&options, Instant::now());
    let mut pieces = [IoSlice::new(&[]); 8];
    let count = peer.poll_transmit(&mut pieces);
    pieces[..count].iter().flat_map(|piece| piece.iter().copied()).collect()
}
