//! Payloads in the pool that the peer has been told of and has not taken: they stay as they are until it says so.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::error::ProtocolError;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Held {
    payloads: VecDeque<Bytes>,
    /// Bytes of them all.
    bytes: usize,
    /// How many the peer has taken since the link opened.
    taken: u64,
}

impl Held {
    /// The peer is told of a payload.
    pub(crate) fn push(&mut self, payload: Bytes) {
        self.bytes += payload.len();
        self.payloads.push_back(payload);
    }

    /// Bytes that the peer has not taken.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The peer says how many it has taken since the link opened.
    pub(crate) fn taken(&mut self, total: u64) -> Result<(), ProtocolError> {
        let told = self.taken + self.payloads.len() as u64;
        if total < self.taken || total > told {
            return Err(ProtocolError::Taken { taken: total, sent: told });
        }
        // At most as many as are held.
        self.bytes -= self.payloads.drain(..(total - self.taken) as usize).map(|payload| payload.len()).sum::<usize>();
        self.taken = total;
        Ok(())
    }

    /// Nobody is there any more to take them.
    pub(crate) fn let_go(&mut self) {
        self.payloads = VecDeque::new();
        self.bytes = 0;
    }

    /// Gives memory back where none is held.
    pub(crate) fn settle(&mut self) {
        if self.payloads.is_empty() && self.payloads.capacity() > 0 {
            self.payloads = VecDeque::new();
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
        assert_eq!((dropped.load(Ordering::Relaxed), held.bytes()), (2, 3 * b"watched".len()));
        held.taken(2).unwrap();
        held.taken(5).unwrap();
        assert_eq!((dropped.load(Ordering::Relaxed), held.bytes()), (5, 0));
    }

    #[test]
    fn a_peer_cannot_have_taken_more_than_it_was_sent_nor_less_than_before() {
        let (mut held, _) = holding(3);
        held.taken(2).unwrap();
        assert_eq!(held.taken(4), Err(ProtocolError::Taken { taken: 4, sent: 3 }));
        assert_eq!(held.taken(1), Err(ProtocolError::Taken { taken: 1, sent: 3 }));
    }
}
