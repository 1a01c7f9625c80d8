//! A message to another host and its answer: the four times.

/// The four times of a message to another host and its answer, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When the message was sent, by the own clock.
    pub sent: i64,
    /// When it came, by the peer's clock.
    pub heard: i64,
    /// When the answer was sent, by the peer's clock.
    pub answered: i64,
    /// When the answer came, by the own clock.
    pub received: i64,
}

/// Times that no exchange can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// A message came before it was sent, or an answer before its question.
    #[error("the times of an exchange are out of order")]
    OutOfOrder,
    /// They are later or earlier than any clock shows.
    #[error("the times of an exchange are more than seventy years from the beginning of their clocks")]
    OutOfRange,
}

/// Seventy years: differences of differences of such times can be computed with.
const MOST: i64 = 70 * 366 * 24 * 3600 * 1_000_000_000;

impl Exchange {
    /// The time on the way, there and back.
    pub fn round_trip(&self) -> i64 {
        self.received.saturating_sub(self.sent).saturating_sub(self.answered.saturating_sub(self.heard))
    }

    /// By how much the peer's clock is ahead at least and at most, as no way takes less than no time.
    pub(crate) fn limits(&self) -> Result<(i64, i64), ExchangeError> {
        let all = [self.sent, self.heard, self.answered, self.received];
        if all.iter().any(|time| !(-MOST..=MOST).contains(time)) {
            return Err(ExchangeError::OutOfRange);
        }
        if self.received < self.sent || self.answered < self.heard {
            return Err(ExchangeError::OutOfOrder);
        }
        Ok((self.answered - self.received, self.heard - self.sent))
    }
}
