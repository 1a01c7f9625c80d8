//! Messages of the tree as frames of a link, and back.
//!
//! Each end of a link has one [`Encoder`] and one [`Decoder`]; what one encoder gives is for the decoder at the other
//! end, all of it and in order. They remember what was said on the link, so that a set of members travels once and then
//! as a number, and an address is told once. A new link begins with new ones. Nothing here sends or receives.
//!
//! All kinds are data, so nothing overtakes anything. Numbers are little-endian; `format` is set where the table says
//! so, and whoever sends the frame describes the format first (`Link::send_format`). What the table does not name is 0.
//!
//! | kind | stream | sequence | flags | payload |
//! | --- | --- | --- | --- | --- |
//! | [`MEMBERS`] | | number of the set | | a rank set |
//! | [`ADDRESSES`] | | | | for each node: its id (32 bits), how many addresses (8 bits), the addresses |
//! | [`BODIES`] | | | | the bodies of the message before, if that says that they are [`APART`] |
//! | [`ATTACH`] | | | [`URGENT`], [`NEW`] | how many are below (32 bits), the node's place, theirs, then resumes |
//! | [`WELCOME`], [`ANCESTRY`] | | | | for each ancestor: itself, how many children (32 bits), the children |
//! | [`REFUSE`] | | | | candidates |
//! | [`PLACED`] | | | [`NEW`] | how many places (32 bits), the places, then resumes |
//! | [`SUCCEEDED`] | the member | its life | | for each stream: its number (32 bits), the first free wave (64 bits) |
//! | [`GONE`] | the node | its epoch | [`CERTAIN`] | resumes |
//! | [`ENDED`] | the node that says so | number of the member set | | |
//! | [`RUN`], with a format unless nothing is contributed | stream | number of the member set | [`FRESH`], [`PARTIAL`], [`SIZES`], [`TAGGED`], [`APART`] | first wave (64 bits), how many waves (32 bits), bytes of each body (32 bits; 0 with [`SIZES`]); with [`TAGGED`] the tag (32 bits) and 96 bits of 0; with [`SIZES`] where each body ends (32 bits each), padded; then the bodies |
//! | [`PARTICIPATE`], [`ACKNOWLEDGE`], [`BEGIN`] | stream | of the wave, the low 32 bits | | the high 32 bits, if they are not 0 |
//! | [`WITHDRAW`], [`AGAIN`], [`WANT_ACKNOWLEDGEMENT`], [`WANT_RECEIPT`] | stream | | | |
//! | [`RECORD`], with a format | stream | tag | [`PARTIAL`], [`CHOSEN`], [`APART`] | number of the packet (64 bits), with [`CHOSEN`] the number of the member set (32 bits) or else 0, 32 bits of 0, then the body |
//! | [`FAILED`] | stream | tag | [`CHOSEN`] | number of the packet (64 bits), with [`CHOSEN`] the number of the member set (32 bits), why there is no record |
//! | [`SCATTER`], with a format | stream | number of the member set | [`PARTIAL`], [`SIZES`], [`APART`] | number of the packet (64 bits), how many bodies, bytes of each (32 bits each; 0 with [`SIZES`]), tag (32 bits), 96 bits of 0, then as in [`RUN`] |
//! | [`OPEN`] | stream | number of the member set | | number of the packet (64 bits), the new stream (32 bits), the synchronisation, then filters |
//! | [`LISTED`] | the stream | number of the member set | | the synchronisation, then filters |
//! | [`COUNT`] | | the question | | |
//! | [`COUNTED`] | the node | the question | | its figures (64 bits each) |
//! | [`UNCOMBINED`] | stream | the node | | the wave (64 bits), why |
//! | [`FIELD_MISSING`] | stream | number of the member set | | the field, and what it is wanted for |
//! | [`VIOLATED`] | the node | the child | | what it did |
//! | [`OVERDUE`] | stream | number of the member set | | the wave (64 bits) |
//! | [`EXAMINE`] | stream | of the wave, the low 32 bits | | the high 32 bits, if they are not 0 |
//! | [`CLOSE`] | stream | the stream that ends | | number of the packet (64 bits) |
//! | [`OVER`] | stream | of the packet's number, the low 32 bits | | the high 32 bits, if they are not 0 |
//! | [`TAKEN`] | stream | of the bytes taken, the low 32 bits | | the high 32 bits, if they are not 0 |
//! | [`CONFIRM`] | stream | | | for each member: its rank (32 bits), the first record that was not taken (64 bits) |
//! | [`RECEIVED`], [`RESEND`], [`SKIPPED`] | stream | of the packet's number, the low 32 bits | | the high 32 bits, if they are not 0 |
//! | [`GAP`] | stream | | | number of the first packet that is not for this node, and the first behind that (64 bits each) |
//! | [`JOINS_HEARD`] | | how many [`PLACED`] of this link are known | | |
//! | [`CLOCK_ASKED`] | | the question | | the child's clock |
//! | [`CLOCK_TOLD`] | | the question, or 0 | | the parent's clock, when the question came, when the answer went (64 bits each), and an estimate of the front-end's clock if there is one |
//! | [`COUNT_CLOCKS`] | | the question | | |
//! | [`CLOCK_COUNTED`] | the node | the question | | its parent, what is known (32 bits each: 1 it has the parent's clock, 2 an estimate of that, 4 one of the front-end's, 8 a round trip), the shortest round trip, how many exchanges, how many steps (64 bits each), then the estimates |
//! | [`INVITATION`] | | | | a [`Note`](crate::driver::Note) |
//! | [`MEMORY`] | the place | | | |
//!
//! The last two are for the drivers at both ends. No [`Decoder`] takes them.
//!
//! A place is node, parent, epoch, rank (32 bits each), level, and whether there is a rank (16 bits each). A resume is
//! stream (32 bits), next and received (64 bits each). A candidate is node (32 bits) and level (16 bits).
//! A filter is its direction (8 bits: 0 up, 1 down), where it works (8 bits: 0 everywhere, 1 the front-end, 2 agents,
//! 3 members, 4 a level), that level or 0 (16 bits), and its text. A text is how many bytes it has (32 bits), and the bytes.
//!
//! A clock is the number of a kernel's run (16 bytes) and of a namespace of times (64 bits). An estimate of a clock is when,
//! the least and the greatest offset then (64 bits each, nanoseconds), the least and the greatest gain and its greatest change
//! in a second (floats of 64 bits).
//!
//! **Bodies** begin at a multiple of 16 in a payload, so that records can be viewed where they arrive. Small ones are
//! copied behind the numbers of their message; those of more than [`COPIED_BODIES`] bytes follow in a frame of their
//! own, and are copied neither here nor there. A run that is longer than a frame travels as several runs.
//!
//! **Long messages** travel in pieces: frames that differ in nothing but their payload, all but the last with [`MORE`].
//! Of bodies, only a single one that is longer than a frame is copied for that.
//!
//! **Sets** are numbered by both ends in the order in which they travel, and both forget the oldest by the same rule
//! ([`sets`]).
//!
//! **Bytes from outside** make an error or a message, and take memory in proportion to what was received.

mod addresses;
mod book;
mod clock;
mod decode;
mod encode;
mod error;
mod layout;
mod opening;
mod pieces;
mod reader;
mod sets;
mod structure;
#[cfg(test)]
mod tests;

use banyan_link::{Capabilities, Frame};

#[cfg(test)]
pub(crate) use error::WireError;
pub(crate) use {book::AddressBook, decode::Decoder, encode::Encoder};

banyan_link::kinds! {
    /// Prepares: a set of members, to be known by a number.
    MEMBERS = data(32);
    /// Prepares: where nodes can be reached.
    pub(crate) ADDRESSES = data(33);
    /// The bodies of the message before.
    BODIES = data(34);

    ATTACH = data(35);
    WELCOME = data(36);
    REFUSE = data(37);
    ANCESTRY = data(38);
    PLACED = data(39);
    GONE = data(40);

    RUN = data(41);
    PARTICIPATE = data(42);
    WITHDRAW = data(43);
    AGAIN = data(44);
    WANT_ACKNOWLEDGEMENT = data(45);
    ACKNOWLEDGE = data(46);

    /// Packet: a record.
    RECORD = data(47);
    /// Packet: a new stream.
    OPEN = data(48);
    /// Packet: the end of a stream.
    CLOSE = data(49);
    /// Packet: the end of the network.
    OVER = data(50);
    RECEIVED = data(51);
    RESEND = data(52);
    SKIPPED = data(53);
    TAKEN = data(54);
    SCATTER = data(55);
    COUNT = data(56);
    COUNTED = data(57);
    /// Packet: there is no record.
    FAILED = data(58);
    SUCCEEDED = data(59);
    BEGIN = data(60);
    LISTED = data(61);
    UNCOMBINED = data(62);
    /// To a member, before everything else, on the socket that it inherits.
    pub(crate) INVITATION = data(63);
    VIOLATED = data(64);
    OVERDUE = data(65);
    EXAMINE = data(66);

    /// To a child: memory to share, whose descriptors were handed over, and the child's place there. From a child: it reads
    /// there.
    pub(crate) MEMORY = data(67);

    ENDED = data(68);
    CONFIRM = data(69);
    FIELD_MISSING = data(70);
    WANT_RECEIPT = data(71);
    GAP = data(72);
    JOINS_HEARD = data(73);

    CLOCK_ASKED = data(74);
    CLOCK_TOLD = data(75);
    COUNT_CLOCKS = data(76);
    CLOCK_COUNTED = data(77);
}

/// Capability of a node's links: small frames may go through memory that the parent shares ([`MEMORY`]).
pub(crate) const SHARED_MEMORY: Capabilities = Capabilities::of_user(0);

/// Capability of a node's links: what is said of clocks ([`CLOCK_ASKED`] to [`CLOCK_COUNTED`]).
pub(crate) const CLOCKS: Capabilities = Capabilities::of_user(1);

/// Whether a frame is part of a contribution to a wave that is sent for the first time, given whether the one before it is.
pub(crate) fn contributes(frame: &Frame, before: bool) -> bool {
    match frame.kind {
        RUN => frame.flags & FRESH != 0,
        // Nothing but a preparation.
        MEMBERS => true,
        BODIES => before,
        _ => false,
    }
}

/// Flag of [`RUN`]: sent for the first time.
const FRESH: u8 = 1;
/// Flag of [`RUN`], [`RECORD`] and [`SCATTER`]: a filter made the bodies.
const PARTIAL: u8 = 2;
/// Flag of [`RUN`]: the bodies are of several sizes.
const SIZES: u8 = 4;
/// Flag of [`RUN`]: it says which record each body is of.
const YIELDS: u8 = 8;
/// Flag of [`RECORD`] and [`FAILED`]: it is for some members of the stream.
const CHOSEN: u8 = 4;
/// Flag of [`RUN`]: the records have a tag.
const TAGGED: u8 = 0x10;
/// Flag of [`ATTACH`]: everyone has refused.
const URGENT: u8 = 1;
/// Flag of [`ATTACH`] and [`PLACED`]: the node is a member that has never had a parent.
const NEW: u8 = 2;
/// Flag of [`GONE`]: the node has ended.
const CERTAIN: u8 = 1;
/// Flag of [`RUN`] and [`RECORD`]: the bodies follow in [`BODIES`].
const APART: u8 = 0x40;
/// Flag of all: the next frame continues this one.
const MORE: u8 = 0x80;

/// Bodies of up to so many bytes are copied into the frame of their message: below this a copy is cheaper than another
/// frame with its header, its entry in the link's queue and its piece in the system call.
const COPIED_BODIES: usize = 4 << 10;

/// The alignment of bodies within a payload, and of payloads.
const BODY_ALIGN: usize = banyan_link::FRAME_ALIGN;

/// Waves of one run: many times a window, so that nobody is cut short, and few enough that a frame of some bytes cannot
/// stand for billions of empty waves.
const RUN_WAVES: u32 = 1 << 16;

/// Waves and packets have numbers up to this one: no network gets there, and nodes may add to them without care.
const LARGEST_NUMBER: u64 = u64::MAX >> 1;

/// Bytes of a set of members: any set of four times as many ranks as a topology has nodes.
const LONGEST_SET: usize = 2 << 20;

/// Bytes of the longest message that a link of the tree takes. The windows of nodes are far smaller, but a single record
/// may be longer than a window; whoever takes records from a caller refuses those that are longer than this.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 20;

/// What [`Encoder::new`] needs at least: bodies that are copied, and numbers before them.
pub(crate) const SHORTEST_PAYLOAD: usize = 2 * COPIED_BODIES;
