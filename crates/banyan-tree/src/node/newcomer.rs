//! Members that come while the network is at work: what they hear first, and when others wait for them.
//!
//! A newcomer goes through these phases. While it is [`Arriving`](MemberPhase::Arriving) its parent lists the streams that are
//! open, and it sends nothing. Then it has [`Arrived`](MemberPhase::Arrived), and stands in each of these streams as its
//! [`Standing`] says: first it hears with which packet it begins; then nobody waits for it until it gets that packet, or
//! contributes by itself; from then on it is as all others.
//!
//! A newcomer may be another process of a member that was there before. Then its [`Predecessor`] may have contributed to
//! waves that are not over.

use crate::ids::WaveNumber;

/// How far a member has come into its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemberPhase {
    /// Its parent has not told it yet of everything that was there before it came. Should the parent die now, the member
    /// comes to another as one that has done nothing; so it does nothing.
    Arriving,
    /// It knows all streams that are open.
    Arrived,
}

/// How a member stands in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The stream was open before the member came, and it begins with the packet that it is told to begin with.
    Awaiting,
    /// Others had been sent something before it came, and it has neither been sent anything nor contributed since. Nobody
    /// waits for it.
    Beginner,
    /// As all who were there from the beginning.
    Regular,
}

impl Standing {
    /// It has been sent something, or contributes: whether others wait for it only from now on.
    pub(super) fn begin(&mut self) -> bool {
        let is_first = *self == Standing::Beginner;
        if is_first {
            *self = Standing::Regular;
        }
        is_first
    }
}

/// How far a process before this one, which was the same member, may have contributed. Below that nobody may combine what
/// this one sends: of two contributions of one member to a wave, which both were combined with others', none could be told
/// from the other. By themselves they can, and the front-end takes the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Predecessor {
    /// There was none.
    None,
    /// This one has not heard.
    Unknown,
    /// Up to this wave at most.
    Until(WaveNumber),
}
