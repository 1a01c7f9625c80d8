//! What a stranger writes into shared memory, while a hub and its spokes go on: whatever it is, they take whole frames that
//! are as short as promised, or say that something is damaged.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use banyan_fuzz::Bytes;
use banyan_link::shared::{Hub, SHARED_PAYLOAD, Spoke};
use banyan_link::{Frame, Kind};

/// Words of each piece of memory that spokes can write to.
const WORDS: u64 = 1024;

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    let mut hub = Hub::with_board().expect("this system has no shared memory");
    let shares = [0, 1].map(|number| hub.place(number).expect("this system has no shared memory"));
    let mut spokes = [0, 1].map(|number: u32| {
        let own = shares[number as usize].each_ref().map(owned);
        Spoke::new(own, hub.board().map(owned), number).expect("the memory cannot be mapped")
    });
    // The signals, and both places.
    let memory = [&shares[0][0], &shares[0][1], &shares[1][1]].map(|memory| File::from(owned(memory)));
    (0..2).for_each(|spoke| hub.open(spoke));
    while !input.0.is_empty() {
        let (deed, which) = (input.byte(), usize::from(input.byte() % 2));
        let frame = Frame::new(Kind::data(16), 0, 0, vec![deed; usize::from(input.byte()) * 5]);
        match deed % 12 {
            0 => _ = hub.publish(&frame, Some(which as u32)),
            1 => _ = hub.send(which as u32, &frame),
            2 => hub.receive(which as u32, |_| true).into_iter().flatten().for_each(check),
            3 => _ = spokes[which].send(&frame),
            4 => spokes[which].receive().into_iter().flatten().for_each(check),
            5 => _ = spokes[which].announce(input.byte() % 2 == 0),
            6 => {
                hub.look();
                hub.doze(u32::from(input.byte()));
            }
            7 => _ = hub.send_in_order(which as u32, &frame, input.byte().into()),
            8 => hub.receive_in_order(which as u32, input.byte().into()).into_iter().flatten().for_each(check),
            9 => _ = spokes[which].send_in_order(&frame, input.byte().into()),
            10 => spokes[which].receive_in_order(input.byte().into()).into_iter().flatten().for_each(check),
            _ => {
                let word = u64::from(u16::from_le_bytes([input.byte(), input.byte()])) % WORDS;
                let value = [input.byte(), input.byte(), input.byte(), input.byte()];
                let memory = &memory[usize::from(input.byte()) % memory.len()];
                memory.write_all_at(&value, 4 * word).expect("a word within the memory can be written");
            }
        }
    }
}

fn owned(descriptor: &Arc<OwnedFd>) -> OwnedFd {
    descriptor.try_clone().expect("no descriptor is left")
}

fn check(frame: Frame) {
    assert!(frame.payload.len() <= SHARED_PAYLOAD && frame.kind.number() >= Kind::FIRST_DATA);
}
