//! What front-end, agents and members say to each other: the kinds of frames of this layer and the records in them.
//!
//! A session is a tree: the front-end is its root (node 0), agents are its inner nodes, members its leaves. Every frame
//! goes up or down one link. In each, `sequence` and `stream` mean what the table says.
//!
//! | kind | way | stream | sequence | payload |
//! | --- | --- | --- | --- | --- |
//! | [`WELCOME`] | to a member | its rank | number of members | session id, the note of the agent's extension for it |
//! | [`SHARED`] | to a member | its number in the agent's shared memory, whose descriptors were handed over | 0 | |
//! | [`SHARED`], [`BELL`] | from a member | 0 | 0 | |
//! | [`ENTER`] | up | rank, or lowest rank of the subtree | number of the collective | whether somebody waits for GO, and one [`Call`](crate::collective::Call) |
//! | [`GO`] | down | | number of the collective | |
//! | [`MISMATCH`] | up | lowest rank of the subtree | number of the collective | who is where: pairs of call and rank set |
//! | [`FAILED`] | down | 0 | number of the first collective that fails | why: text |
//! | [`ASK_ENTERED`] | up | rank, or lowest rank of the subtree | number of the collective | |
//! | [`ASK_ENTERED`] | down | milliseconds until the answer is needed | number of the collective | |
//! | [`NOT_ENTERED`] | up, then down to those who have asked | 0 | number of the collective | who has not entered it: [`Absent`](crate::Absent) |
//! | [`GONE`] | up | rank | number of the first collective that it makes fail | what it owes, who waits for it, and why: text |
//! | [`BROADCAST`] | up from the master, down to all others | 0 | number of the collective | bytes |
//! | [`SCATTER`] | from the master to one | rank it is for | number of the collective | bytes |
//! | [`GATHER`] | to the master | rank it is from | number of the collective | bytes |
//! | [`SHARE`] | up to the root, then down to all | rank it is from | number of the collective | bytes |
//! | [`REDUCE`] | up, combined at each node | rank, or lowest rank of the subtree | number of the collective | bytes |
//! | [`RESULT`] | down to all | 0 | number of the collective | bytes |
//! | [`USER`] | between front-end and master | 0 | 0 | bytes |
//! | [`OUTPUT`] | up | rank | 0 | whole lines |
//! | [`INPUT`] | down | 0 | 0 | bytes |
//! | [`EXITED`] | up | 0 | 0 | for each member: rank, how it ended, and the length of the reason (32 bits each), the reason |
//! | [`PROCESSES`] | up | 0 | 0 | for each member: rank and process id (32 bits each) |
//! | [`ASSIGN`] | down | 0 | 0 | record [`Assignment`](crate::assignment::Assignment) |
//! | [`PROGRESS`] | up | 0 | 0 | four numbers of 32 bits: agents, started, failed, joined |
//! | [`PROBLEM`] | up | 0 | 0 | record [`Problem`](crate::Problem) |
//! | [`REFUSED`] | up | 0 | 0 | record [`Refused`](banyan_link::Refused): those since the last one |
//! | [`UNSTARTED`] | up | the node number of an agent that the one above it cannot start | 0 | that one's host, a line break, and the cause: text |
//! | [`AWAITED`] | up | the node number of an agent | 0 | the node numbers below it of agents that have not come: numbers of 32 bits |
//! | [`ATTACH_ADDRESSES`] | up | the agent's node number | 0 | addresses and ports with spaces between them: text |
//! | [`SIGNAL`] | down | the signal | 0 | a rank set; empty: all members |
//! | [`STAGE_BEGIN`] | down | 0 | 0 | record [`Offer`](crate::staging::Offer) |
//! | [`STAGED`] | up | the transfer | 0: who has it, 1: who has got it | five numbers of 32 bits: agents that had it, need it, stored it, failed, had not come |
//! | [`STAGE`] | down | the transfer | 0 | bytes |
//! | [`STAGE_CANCEL`] | down | the transfer | 0 | |
//! | [`TUNNEL_OPEN`] | up | the tunnel | 0 | |
//! | [`TUNNEL_BYTES`] | both | the tunnel | 0 | bytes |
//! | [`TUNNEL_TAKEN`] | both | the tunnel | bytes that were handed on | |
//! | [`TUNNEL_CLOSE`] | both | the tunnel | 0 | |
//! | [`LOG`] | down | 0 | 0 | what to log: text |
//! | [`RELEASE`], [`TIME_IS_UP`], [`END`], [`DETACH`] | down | 0 | 0 | |
//!
//! Kinds below 128 are data and cost credit; kinds from 128 are control and never wait (`banyan-link`).
//! Short parts of a scatter, a gather or an `all_gather` travel together, several in one frame with [`TOGETHER`].
//! Data that is longer than a chunk travels as several frames, all but the last with [`MORE`]; in collectives all but the
//! first have [`CONTINUED`].

use banyan_link::Capabilities;

banyan_link::kinds! {
    /// Data: the master's bytes for everyone.
    pub(crate) BROADCAST = data(16);
    /// Data: the master's bytes for one member.
    pub(crate) SCATTER = data(17);
    /// Data: a member's bytes for the master.
    pub(crate) GATHER = data(18);
    /// Data: a member's bytes for everyone.
    pub(crate) SHARE = data(19);
    /// Data: a contribution to a reduction.
    pub(crate) REDUCE = data(20);
    /// Data: what the reduction gave.
    pub(crate) RESULT = data(21);
    /// Data: between the front-end and the master.
    pub(crate) USER = data(22);
    /// Data: lines a member wrote.
    pub(crate) OUTPUT = data(23);
    /// Data: standard input of members.
    pub(crate) INPUT = data(24);
    /// Data: a piece of a file on its way to the agents.
    pub(crate) STAGE = data(25);

    /// Data, so that it stays behind what the members wrote: members that ended, and how.
    pub(crate) EXITED = data(26);

    /// Control: which process each member is.
    pub(crate) PROCESSES = control(160);

    /// Control: an agent opens a [tunnel](crate::tunnel) to the extension of the node above.
    pub(crate) TUNNEL_OPEN = control(161);
    /// Control, so that no output that nobody takes holds it up; tunnels have windows of their own: bytes for its other end.
    pub(crate) TUNNEL_BYTES = control(162);
    /// Control: bytes were handed on, and so many more may be sent.
    pub(crate) TUNNEL_TAKEN = control(163);
    /// Control: nothing more comes from this end.
    pub(crate) TUNNEL_CLOSE = control(164);

    /// Control: an agent is to log, and to ask those below for it ([`AGENT_LOG`](crate::agent_log::AGENT_LOG)).
    pub(crate) LOG = control(165);

    /// Control: makes the process at the other end a member.
    pub(crate) WELCOME = control(128);
    /// Control: a member, or all of a subtree, is in a collective.
    pub(crate) ENTER = control(129);
    /// Control: everyone is in the collective.
    pub(crate) GO = control(130);
    /// Control: members are in different collectives.
    pub(crate) MISMATCH = control(131);
    /// Control: the collective cannot complete.
    pub(crate) FAILED = control(132);
    /// Control: a member will take no part in collectives any more.
    pub(crate) GONE = control(133);

    /// Control: who has not entered the collective?
    pub(crate) ASK_ENTERED = control(136);
    /// Control: the answer to that.
    pub(crate) NOT_ENTERED = control(137);

    /// Control: an agent offers memory to share; a member reads what its agent writes there.
    pub(crate) SHARED = control(134);
    /// Control: a member has put something into shared memory that its agent, which sleeps, should look at.
    pub(crate) BELL = control(135);

    /// Control: what an agent and its subtree have to do.
    pub(crate) ASSIGN = control(140);
    /// Control: how many members of a subtree were started and have joined.
    pub(crate) PROGRESS = control(141);
    /// Control: something went wrong at a host.
    pub(crate) PROBLEM = control(143);
    /// Control: those that were refused at listeners of a subtree.
    pub(crate) REFUSED = control(153);
    /// Control: an agent cannot be started by the node above it; the front-end is to try.
    pub(crate) UNSTARTED = control(154);
    /// Control: who has not come yet below an agent.
    pub(crate) AWAITED = control(155);
    /// Control: where members of other hosts attach.
    pub(crate) ATTACH_ADDRESSES = control(150);
    /// Control: a signal for members.
    pub(crate) SIGNAL = control(144);
    /// Control: the parent will be silent for so many seconds at most; 0: it is back.
    pub(crate) PAUSE = control(151);
    /// Control: members that were held back may start.
    pub(crate) RELEASE = control(142);
    /// Control: the time for the launch is over; who has not come is given up.
    pub(crate) TIME_IS_UP = control(152);
    /// Control: the session ends; end all members and go.
    pub(crate) END = control(145);
    /// Control: the front-end goes and its members stay.
    pub(crate) DETACH = control(146);
    /// Control: a file that follows in [`STAGE`] frames.
    pub(crate) STAGE_BEGIN = control(147);
    /// Control: agents of a subtree have the file, or why not.
    pub(crate) STAGED = control(148);
    /// Control: the front-end gave a transfer up.
    pub(crate) STAGE_CANCEL = control(149);
}

/// Capability of links between agents and members: short frames of collectives may go through memory that the agent shares
/// ([`SHARED`]).
pub(crate) const SHARED_MEMORY: Capabilities = Capabilities::of_user(0);

/// Flag of data frames: another frame of the same bytes follows.
pub(crate) const MORE: u8 = 1;
/// Flag of data frames: it is not the first of its bytes.
pub(crate) const CONTINUED: u8 = 8;
/// Flag of [`SCATTER`], [`GATHER`] and [`SHARE`]: several messages, each with its rank.
pub(crate) const TOGETHER: u8 = 16;
/// Flag of [`OUTPUT`]: it is standard error.
pub(crate) const ERRORS: u8 = 2;
/// Flag of [`INPUT`]: it ends here.
pub(crate) const LAST: u8 = 4;

/// Length of the pieces in which longer data travels: long enough that headers and system calls vanish, short enough
/// that a tree of depth 4 is full after a megabyte.
pub(crate) const CHUNK: usize = 128 * 1024;
