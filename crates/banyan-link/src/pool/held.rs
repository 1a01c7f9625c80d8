//! Payloads in the pool that the peer has been told of and has not taken: they stay as they are until it says so.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::error::ProtocolError;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Held {
    payloads: VecDeque<Bytes>,
    /// How many the peer has taken since the link opened.
    taken: u64,
    /// Whether the peer has a right to those that it has not taken, though this end is no longer driven.
    is_owed: bool,
}

impl Held {
    /// The peer is told of a payload.
    pub(crate) fn push(&mut self, payload: Bytes) {
        self.payloads.push_back(payload);
    }

    /// The peer says how many it has taken since the link opened.
    pub(crate) fn taken(&mut self, total: u64) -> Result<(), ProtocolError> {
        let told = self.taken + self.payloads.len() as u64;
        if total < self.taken || total > told {
            return Err(ProtocolError::Taken { taken: total, sent: told });
        }
        // At most as many as are held.
        self.payloads.drain(..(total - self.taken) as usize);
        self.taken = total;
        Ok(())
    }

    /// The link ends in peace: what the peer was told of before is still its own.
    pub(crate) fn owe(&mut self) {
        self.is_owed = true;
    }

    /// The peer is gone, or has lost its right.
    pub(crate) fn let_go(&mut self) {
        self.payloads = VecDeque::new();
    }

    /// Gives memory back where none is held.
    pub(crate) fn settle(&mut self) {
        if self.payloads.is_empty() && self.payloads.capacity() > 0 {
            self.payloads = VecDeque::new();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.is_owed {
            // Who drops a link right after its goodbye never hears when the peer has taken the last payloads. Their memory
            // is not used again: at most a window of it, once for a link, and the pool is bounded.
            self.payloads.drain(..).for_each(std::mem::forget);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts how often it is dropped.
    struct Watched(Arc<AtomicUsize>);

    impl AsRef<[u8]> for Watched {
        fn as_ref(&self) -> &[u8] {
            b"watched"
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn holding(count: usize) -> (Held, Arc<AtomicUsize>) {
        let (mut held, dropped) = (Held::default(), Arc::default());
        (0..count).for_each(|_| held.push(Bytes::from_owner(Watched(Arc::clone(&dropped)))));
        (held, dropped)
    }

    #[test]
    fn payloads_are_let_go_in_order_as_they_are_taken() {
        let (mut held, dropped) = holding(5);
        held.taken(2).unwrap();
        assert_eq!(dropped.load(Ordering::Relaxed), 2);
        held.taken(2).unwrap();
        held.taken(5).unwrap();
        assert_eq!(dropped.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn a_peer_cannot_have_taken_more_than_it_was_sent_nor_less_than_before() {
        let (mut held, _) = holding(3);
        held.taken(2).unwrap();
        assert_eq!(held.taken(4), Err(ProtocolError::Taken { taken: 4, sent: 3 }));
        assert_eq!(held.taken(1), Err(ProtocolError::Taken { taken: 1, sent: 3 }));
    }

    #[test]
    fn what_is_owed_outlives_the_link_and_what_is_not_does_not() {
        for (owes, dropped_with_it) in [(true, 0), (false, 2)] {
            let (mut held, dropped) = holding(2);
            if owes {
                held.owe();
            }
            drop(held);
            assert_eq!(dropped.load(Ordering::Relaxed), dropped_with_it);
        }
    }
}
