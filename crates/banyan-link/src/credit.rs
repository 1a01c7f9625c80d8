//! Credit: how much data may be under way in one direction.
//!
//! Grants are totals since the link opened, so that a grant that is repeated changes nothing. A sender may have sent
//! no more than the last grant it has seen; a receiver grants what it has released plus its window.

use crate::error::ProtocolError;
use crate::options::INITIAL_CREDIT;

/// A receiver grants anew when this part of its window has been released: often enough that a sender with half a window
/// left never stops, seldom enough that grants cost nothing.
const GRANTS_PER_WINDOW: u64 = 4;

/// The sender's side.
#[derive(Debug)]
pub(crate) struct SendCredit {
    granted: u64,
    used: u64,
}

impl SendCredit {
    /// Before the peer's hello.
    pub(crate) fn new() -> SendCredit {
        SendCredit { granted: INITIAL_CREDIT as u64, used: 0 }
    }

    /// Bytes that may be sent now.
    pub(crate) fn left(&self) -> u64 {
        self.granted - self.used
    }

    /// Takes credit for a frame; false when it does not suffice.
    pub(crate) fn take(&mut self, cost: usize) -> bool {
        let enough = cost as u64 <= self.left();
        if enough {
            self.used += cost as u64;
        }
        enough
    }

    /// A grant came.
    pub(crate) fn grant(&mut self, total: u64) -> Result<(), ProtocolError> {
        if total < self.granted {
            return Err(ProtocolError::Credit { before: self.granted, now: total });
        }
        self.granted = total;
        Ok(())
    }
}

/// The receiver's side.
#[derive(Debug)]
pub(crate) struct ReceiveCredit {
    window: u64,
    granted: u64,
    received: u64,
    released: u64,
}

impl ReceiveCredit {
    pub(crate) fn new(window: usize) -> ReceiveCredit {
        ReceiveCredit { window: window as u64, granted: window as u64, received: 0, released: 0 }
    }

    /// Data came.
    pub(crate) fn receive(&mut self, cost: usize) -> Result<(), ProtocolError> {
        self.received += cost as u64;
        if self.received > self.granted {
            return Err(ProtocolError::Overrun { received: self.received, granted: self.granted });
        }
        Ok(())
    }

    /// The user is done with so many bytes. What was never received cannot be released.
    pub(crate) fn release(&mut self, cost: usize) {
        debug_assert!(self.released + cost as u64 <= self.received, "more was released than received");
        self.released = (self.released + cost as u64).min(self.received);
    }

    /// A new grant, when one is due.
    pub(crate) fn grant(&mut self) -> Option<u64> {
        let total = self.released + self.window;
        let due = total - self.granted >= self.window / GRANTS_PER_WINDOW;
        due.then(|| self.grant_now())
    }

    /// A grant of all that can be granted.
    pub(crate) fn grant_now(&mut self) -> u64 {
        self.granted = self.released + self.window;
        self.granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grant_comes_with_every_quarter_of_the_window() {
        let mut credit = ReceiveCredit::new(1000);
        credit.receive(600).unwrap();
        credit.release(249);
        assert_eq!(credit.grant(), None);
        credit.release(1);
        assert_eq!(credit.grant(), Some(1250));
        assert_eq!(credit.grant(), None);
        credit.release(350);
        assert_eq!(credit.grant(), Some(1600));
    }

    #[test]
    fn more_than_granted_is_an_error() {
        let mut credit = ReceiveCredit::new(1000);
        credit.receive(1000).unwrap();
        assert_eq!(credit.receive(1), Err(ProtocolError::Overrun { received: 1001, granted: 1000 }));
    }

    #[test]
    fn a_sender_takes_no_more_than_was_granted() {
        let mut credit = SendCredit::new();
        assert!(credit.take(INITIAL_CREDIT));
        assert!(!credit.take(1));
        credit.grant(INITIAL_CREDIT as u64 + 10).unwrap();
        assert!(!credit.take(11));
        assert!(credit.take(10));
    }

    #[test]
    fn a_grant_never_goes_back() {
        let mut credit = SendCredit::new();
        assert_eq!(
            credit.grant(INITIAL_CREDIT as u64 - 1),
            Err(ProtocolError::Credit { before: INITIAL_CREDIT as u64, now: INITIAL_CREDIT as u64 - 1 })
        );
    }
}
