//! What ENTER carries: the call, and whether somebody waits for GO.
//!
//! In a frame: one byte, 1 if somebody waits for GO and else 0, then the call.

use banyan_link::Frame;
use bytes::Bytes;

use super::{Call, Number};
use crate::message::ENTER;

/// A member, or all members of a subtree, are in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) call: Call,
    pub(super) wants_go: bool,
}

/// All payloads without a reduction, by whether somebody waits for GO and by call: thousands of members send nothing else,
/// and asking for memory costs more than all the rest where everything is cold.
static SIMPLE: [[[u8; 2]; 5]; 2] = [[[0, 0], [0, 1], [0, 2], [0, 3], [0, 4]], [[1, 0], [1, 1], [1, 2], [1, 3], [1, 4]]];

impl Entry {
    /// The frame that says so. `stream` is the rank of a member or the lowest rank of a subtree.
    pub(super) fn frame(&self, stream: u32, number: Number) -> Frame {
        let simple = &SIMPLE[usize::from(self.wants_go)];
        let payload = match self.call {
            Call::Barrier => Bytes::from_static(&simple[0]),
            Call::Broadcast => Bytes::from_static(&simple[1]),
            Call::Scatter => Bytes::from_static(&simple[2]),
            Call::Gather => Bytes::from_static(&simple[3]),
            Call::AllGather => Bytes::from_static(&simple[4]),
            Call::AllReduce(_) => {
                let mut payload = vec![self.wants_go.into()];
                self.call.encode(&mut payload);
                payload.into()
            }
        };
        Frame::new(ENTER, stream, number.sequence(), payload)
    }

    /// Reads a payload, all of it.
    pub(super) fn decode(mut payload: &[u8]) -> Option<Self> {
        let (flag, rest) = payload.split_first()?;
        payload = rest;
        let call = Call::decode(&mut payload)?;
        (*flag <= 1 && payload.is_empty()).then_some(Self { call, wants_go: *flag == 1 })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::call::tests::calls, *};

    proptest! {
        #[test]
        fn an_entry_is_what_was_sent_and_nothing_longer(call in calls(), wants_go: bool) {
            let entry = Entry { call, wants_go };
            let frame = entry.frame(3, Number(7));
            prop_assert_eq!((frame.stream, frame.sequence), (3, 7));
            prop_assert_eq!(Entry::decode(&frame.payload), Some(entry));
            let longer = [&frame.payload[..], &[0]].concat();
            prop_assert_eq!(Entry::decode(&longer), None);
            prop_assert_eq!(Entry::decode(&frame.payload[..frame.payload.len() - 1]), None);
        }
    }
}
