//! Liveness: when to give a sign of life, and when a peer that gives none is lost.

use std::time::{Duration, Instant};

use crate::options::Heartbeat;

/// A peer that announced its interval is lost after this many of them, if that is longer than this side's own patience.
const MISSED_INTERVALS: u32 = 3;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Nothing,
    Beat,
    Lost(Duration),
}

/// The clock of one link.
#[derive(Debug)]
pub(crate) struct Liveness {
    heartbeat: Option<Heartbeat>,
    /// How long the peer may be silent; `None` when it gives no signs of life.
    patience: Option<Duration>,
    /// What the peer announced; zero when it gives none, or has not spoken yet.
    peer_interval: Duration,
    heard: Instant,
    sent: Instant,
}

impl Liveness {
    pub(crate) fn new(heartbeat: Option<Heartbeat>, now: Instant) -> Liveness {
        let patience = heartbeat.map(|heartbeat| heartbeat.lost_after);
        Liveness { heartbeat, patience, peer_interval: Duration::ZERO, heard: now, sent: now }
    }

    /// Counts the peer as lost after another time of silence than until now.
    pub(crate) fn set_silence(&mut self, silence: Duration) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.lost_after = silence;
            self.peer_beats_every(self.peer_interval);
        }
    }

    /// The peer has said how often it gives signs of life.
    pub(crate) fn peer_beats_every(&mut self, interval: Duration) {
        self.peer_interval = interval;
        self.patience = self
            .heartbeat
            .filter(|_| !interval.is_zero())
            .map(|heartbeat| heartbeat.lost_after.max(interval.saturating_mul(MISSED_INTERVALS)));
    }

    /// Bytes came.
    pub(crate) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// Bytes went.
    pub(crate) fn sent(&mut self, now: Instant) {
        self.sent = now;
    }

    /// What is due at this moment.
    pub(crate) fn due(&self, now: Instant) -> Due {
        let silent = now.saturating_duration_since(self.heard);
        if self.patience.is_some_and(|patience| silent >= patience) {
            return Due::Lost(silent);
        }
        match self.beat() {
            Some(every) if now.saturating_duration_since(self.sent) >= every => Due::Beat,
            _ => Due::Nothing,
        }
    }

    /// How often this side gives signs of life, if it does.
    fn beat(&self) -> Option<Duration> {
        self.heartbeat.map(|heartbeat| heartbeat.every).filter(|every| !every.is_zero())
    }

    /// When something will be due.
    pub(crate) fn next(&self) -> Option<Instant> {
        let beat = self.beat().and_then(|every| self.sent.checked_add(every));
        let lost = self.patience.and_then(|patience| self.heard.checked_add(patience));
        beat.into_iter().chain(lost).min()
    }
}
