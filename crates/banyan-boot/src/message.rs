//! What front-end, agents and members say to each other: the kinds of frames of this layer and the records in them.
//!
//! A session is a tree: the front-end is its root (node 0), agents are its inner nodes, members its leaves. Every frame
//! goes up or down one link. In each, `sequence` and `stream` mean what the table says.
//!
//! | kind | way | stream | sequence | payload |
//! | --- | --- | --- | --- | --- |
//! | [`WELCOME`] | to a member | its rank | number of members | session id |
//! | [`ENTER`] | up | rank, or node of the agent | number of the collective | one [`Call`](crate::collective::Call) |
//! | [`GO`] | down | 0 | number of the collective | |
//! | [`MISMATCH`] | up | node | number of the collective | who is where: pairs of call and rank set |
//! | [`FAILED`] | down | 0 | number of the collective | why: text |
//! | [`GONE`] | up | rank | 0 | why: text |
//! | [`BROADCAST`] | up from the master, down to all others | 0 | number of the collective | bytes |
//! | [`SCATTER`] | from the master to one | rank it is for | number of the collective | bytes |
//! | [`GATHER`] | to the master | rank it is from | number of the collective | bytes |
//! | [`SHARE`] | up to the root, then down to all | rank it is from | number of the collective | bytes |
//! | [`REDUCE`] | up, combined at each node | rank or node | number of the collective | bytes |
//! | [`RESULT`] | down to all | 0 | number of the collective | bytes |
//! | [`USER`] | between front-end and master | 0 | 0 | bytes |
//! | [`OUTPUT`] | up | rank | 0 | whole lines |
//! | [`INPUT`] | down | rank, or [`EVERYONE`] | 0 | bytes |
//!
//! Kinds below 128 are data and cost credit; kinds from 128 are control and never wait (`banyan-link`).
//! Data that is longer than a chunk travels as several frames, all but the last with [`MORE`].

use banyan_link::Kind;

/// Data: the master's bytes for everyone.
pub(crate) const BROADCAST: Kind = Kind(16);
/// Data: the master's bytes for one member.
pub(crate) const SCATTER: Kind = Kind(17);
/// Data: a member's bytes for the master.
pub(crate) const GATHER: Kind = Kind(18);
/// Data: a member's bytes for everyone.
pub(crate) const SHARE: Kind = Kind(19);
/// Data: a contribution to a reduction.
pub(crate) const REDUCE: Kind = Kind(20);
/// Data: what the reduction gave.
pub(crate) const RESULT: Kind = Kind(21);
/// Data: between the front-end and the master.
pub(crate) const USER: Kind = Kind(22);
/// Data: lines a member wrote.
pub(crate) const OUTPUT: Kind = Kind(23);
/// Data: standard input of members.
pub(crate) const INPUT: Kind = Kind(24);
/// Data: a piece of a file on its way to the agents.
pub(crate) const STAGE: Kind = Kind(25);

/// Control: makes the process at the other end a member.
pub(crate) const WELCOME: Kind = Kind(128);
/// Control: a member, or all of a subtree, is in a collective.
pub(crate) const ENTER: Kind = Kind(129);
/// Control: everyone is in the collective.
pub(crate) const GO: Kind = Kind(130);
/// Control: members are in different collectives.
pub(crate) const MISMATCH: Kind = Kind(131);
/// Control: the collective cannot complete.
pub(crate) const FAILED: Kind = Kind(132);
/// Control: a member will take no part in collectives any more.
pub(crate) const GONE: Kind = Kind(133);
/// Control: a member says that it leaves in good order.
pub(crate) const LEAVE: Kind = Kind(134);

/// Control: what an agent and its subtree have to do.
pub(crate) const ASSIGN: Kind = Kind(140);
/// Control: how many members of a subtree were started and have joined.
pub(crate) const PROGRESS: Kind = Kind(141);
/// Control: members that ended, and how.
pub(crate) const EXITED: Kind = Kind(142);
/// Control: something went wrong at a host.
pub(crate) const PROBLEM: Kind = Kind(143);
/// Control: a signal for members.
pub(crate) const SIGNAL: Kind = Kind(144);
/// Control: the session ends; end all members and go.
pub(crate) const END: Kind = Kind(145);
/// Control: the front-end goes and its members stay.
pub(crate) const DETACH: Kind = Kind(146);
/// Control: a file that follows in [`STAGE`] frames.
pub(crate) const STAGE_BEGIN: Kind = Kind(147);
/// Control: agents of a subtree have the file, or why not.
pub(crate) const STAGED: Kind = Kind(148);

/// Flag of data frames: another frame of the same bytes follows.
pub(crate) const MORE: u8 = 1;
/// Flag of [`OUTPUT`]: it is standard error.
pub(crate) const ERRORS: u8 = 2;
/// Flag of [`INPUT`]: it ends here.
pub(crate) const LAST: u8 = 4;

/// Stream of frames for all members.
pub(crate) const EVERYONE: u32 = u32::MAX;

/// Length of the pieces in which longer data travels: long enough that headers and system calls vanish, short enough
/// that a tree of depth 4 is full after a megabyte.
pub(crate) const CHUNK: usize = 128 * 1024;
