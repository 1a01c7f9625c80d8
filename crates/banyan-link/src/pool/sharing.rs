//! What the two ends of a link know of each other's pools.

use super::{LONG, Overwritten, PeerPool, PoolSpan};
use crate::error::ProtocolError;

/// Of one end of a link that could share memory.
#[derive(Debug, Default)]
pub(crate) struct Sharing {
    own: Own,
    theirs: Theirs,
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
    Impossible,
    Offered,
    /// The peer is ready to receive its descriptor.
    Wanted,
    Passed,
    Mapped,
}

/// How far the peer's pool has come.
#[derive(Debug, Default)]
enum Theirs {
    #[default]
    Unknown,
    /// Of so many bytes. Its descriptor may come with every read.
    Offered { bytes: u64, came: Option<PeerPool> },
    /// Unless this process had no descriptor left to receive it by, or no room for it.
    Passed(Option<PeerPool>),
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

    /// The peer is ready for the descriptor.
    pub(crate) fn wanted(&mut self) -> Result<(), ProtocolError> {
        self.advance(Own::Offered, Own::Wanted, "it wants what it was not offered")
    }

    /// Whether the descriptor is to be passed.
    pub(crate) fn is_wanted(&self) -> bool {
        self.own == Own::Wanted
    }

    /// The descriptor is passed.
    pub(crate) fn pass(&mut self) {
        self.own = Own::Passed;
    }

    /// The peer says that it has mapped this side's pool.
    pub(crate) fn mapped(&mut self) -> Result<(), ProtocolError> {
        self.advance(Own::Passed, Own::Mapped, "it says that it has mapped what it was not given")
    }

    fn advance(&mut self, from: Own, to: Own, otherwise: &'static str) -> Result<(), ProtocolError> {
        if self.own != from {
            return Err(ProtocolError::Pool(otherwise));
        }
        self.own = to;
        Ok(())
    }

    /// The peer offers its pool. Descriptors are expected from now on.
    pub(crate) fn offered(&mut self, bytes: u64) -> Result<(), ProtocolError> {
        if !matches!(self.theirs, Theirs::Unknown) {
            return Err(ProtocolError::Pool("it was offered before"));
        }
        self.theirs = Theirs::Offered { bytes, came: None };
        Ok(())
    }

    /// Whether a descriptor may come.
    pub(crate) fn expects_pool(&self) -> bool {
        matches!(self.theirs, Theirs::Offered { .. })
    }

    /// A descriptor came and was mapped.
    pub(crate) fn came(&mut self, pool: PeerPool) -> Result<(), ProtocolError> {
        match &mut self.theirs {
            Theirs::Offered { came, .. } if came.is_none() => {
                *came = Some(pool);
                Ok(())
            }
            _ => Err(ProtocolError::Pool("it was passed twice")),
        }
    }

    /// The peer has passed the descriptor; whether its pool can be used.
    pub(crate) fn passed(&mut self) -> Result<bool, ProtocolError> {
        let Theirs::Offered { bytes, came } = &mut self.theirs else {
            return Err(ProtocolError::Pool("it was passed and not offered"));
        };
        if came.as_ref().is_some_and(|pool| pool.size() != *bytes) {
            return Err(ProtocolError::Pool("it is not as large as was said"));
        }
        let pool = came.take();
        let is_mapped = pool.is_some();
        self.theirs = Theirs::Passed(pool);
        Ok(is_mapped)
    }

    /// A frame came whose payload lies in the peer's pool.
    pub(crate) fn arrived(&mut self, place: PoolSpan, length: u32) -> Result<(), ProtocolError> {
        let Theirs::Passed(Some(pool)) = &self.theirs else {
            return Err(ProtocolError::Pool("a payload is said to lie there, and it is not mapped"));
        };
        // A short one would cost its sender next to nothing, and this side a slab.
        if (length as usize) < LONG || !pool.has_room_for(place, length as usize) {
            return Err(ProtocolError::PoolSpan { at: place.at, length });
        }
        self.arrived += 1;
        Ok(())
    }

    /// Takes the payload of such a frame.
    pub(crate) fn take(&mut self, place: PoolSpan, into: &mut [u8]) -> Result<(), Overwritten> {
        let Theirs::Passed(Some(pool)) = &self.theirs else { return Err(Overwritten) };
        self.taken += 1;
        pool.copy(place, into)
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
