//! Collectives: what all members of a session do together, rooted at the master (member 0).
//!
//! Two state machines without clocks and sockets. [`Collectives`] is the part of the front-end and of every agent: it
//! counts who has entered, routes and combines data, and finds out why a collective cannot complete. [`Caller`] is the
//! part of a member. Frames go in and come out; drivers carry them over links.
//!
//! # How a collective goes
//!
//! Every member sends ENTER with its number and [`Call`], then its data. A node passes one ENTER up when all its
//! children have entered with the same call. Data of at most [`EAGER`] bytes for any one
//! receiver is sent at once; a member with more asks
//! for GO in its ENTER, which the root sends down when everyone has entered. So long data flows only while all its
//! receivers are in the collective and read.
//!
//! Parts of a scatter, a gather or an `all_gather` that are short travel [together](bundle): the master sends many in one
//! frame, which nodes cut up on the way down; on the way up nodes collect them and pass them on when all have come.
//!
//! # What bounds memory
//!
//! - The first collective, and every [`PACE`]-th after it, ends with a GO for everyone. When all members have entered a number, all data of
//!   smaller numbers has been delivered, because whoever receives data does not go on without it. So at any time at
//!   most `PACE + 1` numbers are alive anywhere, and a frame with a number outside of [`WINDOW`] is a lie.
//! - What a member sends to any other one without GO is at most [`EAGER`] bytes since the last collective with GO, so a member that is
//!   late finds at most `EAGER` bytes from each other one.
//! - Nothing is sent in the first collective before GO, so nothing is sent to a member that has not joined.
//! - A node collects at most one bundle of each collective: [`EAGER`] bytes of each member below it and what
//!   stands beside them, and one bundle of a collective with GO.
//! - A reduction is cut into pieces ([`reduction_piece`]); a member is at most [`PIPELINE`] of them ahead of the result,
//!   so a node holds at most that many pieces for each child.
//!
//! # When it cannot complete
//!
//! Failure is final: FAILED with number `n` means that `n` and all later collectives fail, for the reason it gives, and
//! that those before `n` still complete. Reasons are a mismatch of calls, or a member that is gone before it has
//! entered `n` or before it has sent its data. If a reason with a smaller number comes later it is told too.
//!
//! # When it takes too long
//!
//! A member whose call times out is still in the collective, which completes if the others come. It may ask who has not
//! entered: ASK_ENTERED goes up and, from the root, down to the agents that have not; NOT_ENTERED comes back the same way
//! within [`ANSWER_TIME`], also if some agents do not answer. A member has one question under way.
//!
//! # What links must guarantee
//!
//! Frames of one link arrive once, in order, except that control frames may overtake data frames, and that short
//! messages may overtake others of other collectives or other ranks ([`stands_alone`]): they may go through shared
//! memory. On the way up data frames never overtake control frames.

mod absent;
mod broken;
mod bundle;
mod call;
mod caller;
mod combine;
mod element;
mod entry;
mod known_calls;
mod loss;
mod node;
mod number;
#[cfg(test)]
mod simulation;

#[cfg(test)]
use self::caller::early_at_most;
pub use self::{
    absent::Absent,
    call::{BadReduction, ReduceOp},
    caller::CollectiveError,
    element::Element,
};
pub(crate) use self::{
    broken::Broken,
    call::{Call, ElementKind, Reduction},
    caller::{CallOutcome, Caller, Own},
    node::{Collectives, Subtree, To},
    number::Number,
};

use std::time::Duration;

use banyan_link::{Frame, Kind};

use crate::message::{
    ASK_ENTERED, BROADCAST, CONTINUED, ENTER, FAILED, GATHER, GO, GONE, MISMATCH, MORE, NOT_ENTERED, REDUCE, RESULT,
    SCATTER, SHARE,
};

/// Bytes that a member may send to any other one in collectives before it knows that everyone has entered them: enough for the keys and
/// addresses that programs exchange when they start, little enough to be kept for thousands of members.
pub(crate) const EAGER: usize = 4096;

/// Every so many collectives all members wait for each other, whatever the operation is: rare enough to cost little,
/// often enough that [`WINDOW`] stays small.
pub(crate) const PACE: u64 = 32;

/// Numbers for which a node keeps state. More than twice [`PACE`], because a node that is as far ahead as one can be
/// still sees data of the collective that ended with the last GO.
pub(crate) const WINDOW: u64 = 4 * PACE;

/// Pieces of a reduction that a member may be ahead of the result: enough to keep all levels of a tree busy.
pub(crate) const PIPELINE: usize = 4;

/// Most bytes of one member in one collective (and of one part of a scatter).
pub(crate) const MESSAGE_LIMIT: u64 = 1 << 30;

/// How long the root looks for those who have not entered, when it is asked. Agents have less.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(1);

/// Most bytes of a reason that is passed on. Longer ones are cut.
pub(crate) const REASON_LIMIT: usize = 4096;

/// Whether frames of a kind are for [`Collectives`] and [`Caller`].
pub(crate) fn belongs_to_collectives(kind: Kind) -> bool {
    let is_word = matches!(kind, ENTER | GO | MISMATCH | FAILED | GONE | ASK_ENTERED | NOT_ENTERED);
    is_word || matches!(kind, BROADCAST | SCATTER | GATHER | SHARE | REDUCE | RESULT)
}

/// Whether a frame of collectives depends on no other that goes the same way, but for entries before data: a whole
/// message without a format, or a word about a collective. Such frames may overtake others.
pub(crate) fn stands_alone(frame: &Frame) -> bool {
    frame.flags & (MORE | CONTINUED) == 0 && frame.format.is_none()
}

/// Length of the pieces of a reduction among `members`: shorter than other chunks in large sessions, because the node
/// that combines them may have to hold one from each. A multiple of every element's size.
fn reduction_piece(members: u32) -> usize {
    /// What all the pieces of one step may take together.
    const ALL_PIECES: usize = 16 << 20;
    const SHORTEST: usize = 1024;
    (ALL_PIECES / (members.max(1) as usize)).clamp(SHORTEST, crate::message::CHUNK) & !7
}
