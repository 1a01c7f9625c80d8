//! Frames: what a link carries.
//!
//! A frame is a header of 32 bytes and a payload, padded with zeros to a multiple of 16 bytes. Frames follow each other
//! without gaps, so every payload starts at a multiple of 16 in the memory it is received into and can be viewed there.
//! `docs/links.md` has the byte layout. What the payload means is the business of those who send and receive it.

use banyan_ndr::FormatId;
use bytes::Bytes;

use crate::error::ProtocolError;
use crate::pool::PoolSpan;
use crate::slab::Slabs;

/// Bytes of a frame's header.
pub const HEADER_BYTES: usize = 32;

/// Where the kind stands in a header, in every protocol.
pub(crate) const KIND_AT: usize = 4;

/// Every frame takes a multiple of this, and every payload starts at a multiple of it.
pub const FRAME_ALIGN: usize = 16;

/// What kind of thing a frame holds.
///
/// Kinds 0 to 15 are the link's own. 16 to 127 are data: they cost credit, and wait for it. 128 to 255 are control: they
/// never wait for credit and overtake data that is still queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Kind(u8);

impl Kind {
    /// The first kind that users may give to data.
    pub const FIRST_DATA: u8 = 16;
    /// The first kind that users may give to control frames.
    pub const FIRST_CONTROL: u8 = 128;

    /// A kind of data.
    ///
    /// # Panics
    /// When the number is not in 16..=127; in a constant that is an error of compilation.
    pub const fn data(number: u8) -> Kind {
        assert!(number >= Kind::FIRST_DATA && number < Kind::FIRST_CONTROL, "kinds of data are 16 to 127");
        Kind(number)
    }

    /// A kind of control.
    ///
    /// # Panics
    /// When the number is not in 128..=255; in a constant that is an error of compilation.
    pub const fn control(number: u8) -> Kind {
        assert!(number >= Kind::FIRST_CONTROL, "kinds of control are 128 to 255");
        Kind(number)
    }

    /// One of the link's own kinds.
    pub(crate) const fn link(number: u8) -> Kind {
        assert!(number < Kind::FIRST_DATA, "kinds of the link are 0 to 15");
        Kind(number)
    }

    /// The number in the header.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether no two of these are the same; see [`kinds!`](crate::kinds).
    pub const fn are_distinct(kinds: &[Kind]) -> bool {
        let mut seen = [false; 256];
        let mut at = 0;
        while at < kinds.len() {
            let number = kinds[at].0 as usize;
            if seen[number] {
                return false;
            }
            seen[number] = true;
            at += 1;
        }
        true
    }

    /// Whether such frames cost credit and wait for it.
    pub const fn is_data(self) -> bool {
        self.0 >= Kind::FIRST_DATA && self.0 < Kind::FIRST_CONTROL
    }

    /// Whether such frames never wait behind data.
    pub const fn is_control(self) -> bool {
        self.0 >= Kind::FIRST_CONTROL
    }

    /// Whether the link keeps such frames to itself.
    pub(crate) const fn is_link(self) -> bool {
        self.0 < Kind::FIRST_DATA
    }
}

/// Declares all kinds of frames that travel on the same links, in one place. A number that two of them have is an error of
/// compilation.
///
/// ```
/// banyan_link::kinds! {
///     /// Data: an answer.
///     pub(crate) ANSWER = data(16);
///     /// Control: a question.
///     pub(crate) QUESTION = control(128);
/// }
/// assert_eq!(ANSWER.number(), 16);
/// assert!(QUESTION.is_control());
/// ```
///
/// Both of these would be taken for the other:
///
/// ```compile_fail,E0080
/// banyan_link::kinds! {
///     pub(crate) ANSWER = data(16);
///     pub(crate) REFUSAL = data(16);
/// }
/// ```
#[macro_export]
macro_rules! kinds {
    ($($(#[$about:meta])* $visible:vis $name:ident = $make:ident($number:literal);)*) => {
        $($(#[$about])* $visible const $name: $crate::Kind = $crate::Kind::$make($number);)*
        const _: () = assert!($crate::Kind::are_distinct(&[$($name),*]), "two kinds of frames have one number");
    };
}

/// One frame, as it is sent and as it was received.
///
/// The payload is shared by reference count: cloning a frame, or forwarding it to another link, copies no bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it is; decides whether it costs credit.
    pub kind: Kind,
    /// For the users of the link.
    pub flags: u8,
    /// For the users of the link.
    pub stream: u32,
    /// For the users of the link.
    pub sequence: u32,
    /// The format of the payload when it is the body of a record. The description was sent before.
    pub format: Option<FormatId>,
    /// The bytes. When received: a part of the memory that the link received into, at a multiple of 16.
    pub payload: Bytes,
}

impl Frame {
    /// A frame without flags and format.
    pub fn new(kind: Kind, stream: u32, sequence: u32, payload: impl Into<Bytes>) -> Frame {
        Frame { kind, flags: 0, stream, sequence, format: None, payload: payload.into() }
    }

    /// Bytes it takes on the link, and credit it costs when it is data.
    pub fn cost(&self) -> usize {
        frame_cost(self.payload.len())
    }

    /// Gives the payload memory of its own, for frames that are kept long after others that came with them are gone: a
    /// payload of a few bytes otherwise keeps all the memory alive that it was received in, up to
    /// [`SLAB_BYTES`](crate::SLAB_BYTES) or its own length and a third.
    pub fn detach(&mut self) {
        self.payload = Slabs::own(&self.payload);
    }

    pub(crate) fn header(&self) -> Header {
        Header {
            length: self.payload.len() as u32,
            kind: self.kind,
            flags: self.flags,
            stream: self.stream,
            sequence: self.sequence,
            format: self.format,
            is_apart: false,
        }
    }
}

/// Bytes that a frame with a payload of so many bytes takes on a link, header and padding included.
pub const fn frame_cost(payload: usize) -> usize {
    HEADER_BYTES + payload.next_multiple_of(FRAME_ALIGN)
}

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) length: u32,
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) sequence: u32,
    pub(crate) format: Option<FormatId>,
    /// Whether the payload lies in the sender's pool, and its [`PoolSpan`] follows instead of it.
    pub(crate) is_apart: bool,
}

impl Header {
    /// As it stands before the payload.
    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..4].copy_from_slice(&self.length.to_le_bytes());
        bytes[KIND_AT] = self.kind.number();
        bytes[5] = self.flags;
        bytes[6] = u8::from(self.is_apart);
        bytes[8..12].copy_from_slice(&self.stream.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        if let Some(format) = self.format {
            bytes[16..32].copy_from_slice(&format.to_bytes());
        }
        bytes
    }

    /// Reads a header that came from outside. The length is not yet compared with any limit.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Header, ProtocolError> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        if bytes[6] > 1 || bytes[7] != 0 {
            return Err(ProtocolError::Reserved { kind: bytes[KIND_AT] });
        }
        let mut format = [0; 16];
        format.copy_from_slice(&bytes[16..32]);
        Ok(Header {
            length: word(0),
            kind: Kind(bytes[KIND_AT]),
            flags: bytes[5],
            stream: word(8),
            sequence: word(12),
            format: (format != [0; 16]).then(|| FormatId::from_bytes(format)),
            is_apart: bytes[6] == 1,
        })
    }

    /// Bytes that follow the header on the link, padding not included.
    pub(crate) fn following(&self) -> usize {
        if self.is_apart { PoolSpan::BYTES } else { self.length as usize }
    }

    /// The frame with this header.
    pub(crate) fn with_payload(self, payload: Bytes) -> Frame {
        let Header { kind, flags, stream, sequence, format, .. } = self;
        Frame { kind, flags, stream, sequence, format, payload }
    }
}
