//! Frames of strangers: into the decoder of the tree's messages, and what comes of them into a node.

use banyan_fuzz::Bytes;
use banyan_tree::fuzzing::{agent_among_strangers, front_end_among_strangers, member_among_strangers};

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    match input.byte() % 3 {
        0 => agent_among_strangers(input.0),
        1 => front_end_among_strangers(input.0),
        _ => member_among_strangers(input.0),
    }
}
