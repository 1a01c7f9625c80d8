//! What the two ends of a link know of each other's pools.

use super::{Overwritten, PeerPool, Place};
use crate::error::ProtocolError;

/// Of one end of a link that could share memory.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    own: Own,
    /// The peer's pool that came and was not yet announced.
    came: Option<PeerPool>,
    /// The peer's pool, mapped.
    peer: Option<PeerPool>,
    /// Whether the peer has offered one, mapped or not.
    was_offered: bool,
    /// Frames that came whose payloads lie in the peer's pool.
    arrived: u64,
    /// How many of them were taken, and how many of these the peer was told of.
    taken: u64,
    told: u64,
}

/// How far this side's pool has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Own {
    /// There was nothing to put there.
    #[default]
    Kept,
    Offered,
    Impossible,
    Mapped,
}

impl Sharing {
    /// Whether this side's pool could still be offered.
    pub(crate) fn can_offer(&self) -> bool {
        self.own == Own::Kept
    }

    /// This side's pool is offered; or it cannot be, and is never tried again.
    pub(crate) fn offer(&mut self, is_possible: bool) {
        self.own = if is_possible { Own::Offered } else { Own::Impossible };
    }

    /// The peer says that it has mapped this side's pool.
    pub(crate) fn mapped(&mut self) -> Result<(), ProtocolError> {
        if self.own != Own::Offered {
            return Err(ProtocolError::Pool("it says that it has mapped what it was not offered"));
        }
        self.own = Own::Mapped;
        Ok(())
    }

    /// Whether a descriptor may still come.
    pub(crate) fn expects_pool(&self) -> bool {
        !self.was_offered
    }

    /// A descriptor came and was mapped.
    pub(crate) fn came(&mut self, pool: PeerPool) -> Result<(), ProtocolError> {
        if self.came.is_some() {
            return Err(ProtocolError::Pool("it was sent twice"));
        }
        self.came = Some(pool);
        Ok(())
    }

    /// The peer offers its pool; whether it can be used. It cannot if this process has no descriptor left to receive it by.
    pub(crate) fn offered(&mut self, bytes: u64) -> Result<bool, ProtocolError> {
        if std::mem::replace(&mut self.was_offered, true) {
            return Err(ProtocolError::Pool("it was offered before"));
        }
        self.peer = self.came.take();
        match &self.peer {
            Some(pool) if pool.size() != bytes => Err(ProtocolError::Pool("it is not as large as was said")),
            pool => Ok(pool.is_some()),
        }
    }

    /// A frame came whose payload lies in the peer's pool.
    pub(crate) fn arrived(&mut self, place: Place, length: u32) -> Result<(), ProtocolError> {
        let pool = self.peer.as_ref().ok_or(ProtocolError::Pool("it is not mapped"))?;
        if !pool.has_room_for(place, length as usize) {
            return Err(ProtocolError::Place { at: place.at, length });
        }
        self.arrived += 1;
        Ok(())
    }

    /// Takes the payload of such a frame.
    pub(crate) fn take(&mut self, place: Place, into: &mut [u8]) -> Result<(), Overwritten> {
        self.taken += 1;
        self.peer.as_ref().map_or(Err(Overwritten), |pool| pool.copy(place, into))
    }

    /// Whether the peer should be told that everything was taken.
    pub(crate) fn is_report_due(&self) -> bool {
        self.taken == self.arrived && self.told < self.taken
    }

    /// How many payloads were taken; the peer is told.
    pub(crate) fn report(&mut self) -> u64 {
        self.told = self.taken;
        self.taken
    }
}
