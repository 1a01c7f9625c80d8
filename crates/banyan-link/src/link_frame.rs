//! The link's own frames: hello, format, credit, heartbeat, close, and those about pools.
//!
//! They never cost credit and never wait for it. Formats are encoded by `banyan-ndr` and have no type here.

use std::time::Duration;

use crate::capabilities::Capabilities;
use crate::error::ProtocolError;
use crate::frame::{Header, Kind};
use crate::options::{INITIAL_CREDIT, LinkOptions};
use crate::protocol::PROTOCOL_VERSION;

crate::kinds! {
    /// The first frame in each direction.
    pub(crate) HELLO = link(1);
    /// A description of a format, before its first record; or the last piece of it.
    pub(crate) FORMAT = link(2);
    /// A grant.
    pub(crate) CREDIT = link(3);
    /// A sign of life.
    pub(crate) HEARTBEAT = link(4);
    /// The goodbye.
    pub(crate) CLOSE = link(5);

    /// A pool that the peer may map.
    pub(crate) POOL = link(6);
    /// The peer's pool is wanted: this side is ready to receive its descriptor.
    pub(crate) WANTED = link(7);
    /// The descriptor has come with this frame, or before it.
    pub(crate) PASSED = link(8);
    /// The peer's pool is mapped.
    pub(crate) MAPPED = link(9);

    /// A piece of a description, as long as the longest payload; others follow.
    pub(crate) FORMAT_PIECE = link(10);
}

/// The longest payload of these frames but for formats.
const LONGEST: usize = 32;

/// Whether a frame is a description of a format, or a piece of one.
pub(crate) fn is_description(kind: Kind) -> bool {
    kind == FORMAT || kind == FORMAT_PIECE
}

/// One of the link's own frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkFrame {
    Hello(Hello),
    /// How much data may have been sent, and how many payloads were taken from the peer's pool, since the link opened.
    Credit {
        total: u64,
        taken: u64,
    },
    Heartbeat {
        incarnation: u64,
    },
    Close,
    Pool {
        bytes: u64,
    },
    Wanted,
    Passed,
    Mapped,
}

/// What each side says of itself first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) capabilities: Capabilities,
    pub(crate) window: u64,
    pub(crate) max_payload: u32,
    /// How often this side gives signs of life; zero is never.
    pub(crate) heartbeat: Duration,
    pub(crate) incarnation: u64,
}

impl Hello {
    pub(crate) fn of(options: &LinkOptions) -> Hello {
        Hello {
            capabilities: options.capabilities,
            window: options.window as u64,
            max_payload: options.max_payload as u32,
            heartbeat: options.heartbeat.map_or(Duration::ZERO, |heartbeat| heartbeat.every),
            incarnation: options.incarnation,
        }
    }

    /// Refuses a peer that this side cannot work with.
    pub(crate) fn check(&self, options: &LinkOptions) -> Result<(), ProtocolError> {
        if self.window < INITIAL_CREDIT as u64 {
            return Err(ProtocolError::Window(self.window));
        }
        let ours = options.max_payload as u32;
        if self.max_payload != ours {
            return Err(ProtocolError::MaxPayload { ours, theirs: self.max_payload });
        }
        Ok(())
    }
}

/// Header and payload of one of the link's own frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoded {
    pub(crate) header: Header,
    payload: [u8; LONGEST],
}

impl Encoded {
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload[..self.header.length as usize]
    }
}

impl LinkFrame {
    pub(crate) fn encode(&self) -> Encoded {
        let mut payload = [0; LONGEST];
        let (kind, length) = match self {
            LinkFrame::Hello(hello) => {
                payload[0..2].copy_from_slice(&PROTOCOL_VERSION.to_le_bytes());
                payload[4..8].copy_from_slice(&hello.capabilities.bits().to_le_bytes());
                payload[8..16].copy_from_slice(&hello.window.to_le_bytes());
                payload[16..20].copy_from_slice(&hello.max_payload.to_le_bytes());
                let milliseconds = u32::try_from(hello.heartbeat.as_millis()).unwrap_or(u32::MAX);
                payload[20..24].copy_from_slice(&milliseconds.to_le_bytes());
                payload[24..32].copy_from_slice(&hello.incarnation.to_le_bytes());
                (HELLO, 32)
            }
            LinkFrame::Credit { total, taken } => {
                payload[..8].copy_from_slice(&total.to_le_bytes());
                payload[8..16].copy_from_slice(&taken.to_le_bytes());
                (CREDIT, 16)
            }
            LinkFrame::Heartbeat { incarnation } => {
                payload[..8].copy_from_slice(&incarnation.to_le_bytes());
                (HEARTBEAT, 8)
            }
            LinkFrame::Close => (CLOSE, 0),
            LinkFrame::Pool { bytes } => {
                payload[..8].copy_from_slice(&bytes.to_le_bytes());
                (POOL, 8)
            }
            LinkFrame::Wanted => (WANTED, 0),
            LinkFrame::Passed => (PASSED, 0),
            LinkFrame::Mapped => (MAPPED, 0),
        };
        let header = Header { length, kind, flags: 0, stream: 0, sequence: 0, format: None, is_apart: false };
        Encoded { header, payload }
    }

    /// Reads a frame of one of the link's kinds that is no format.
    pub(crate) fn decode(header: &Header, payload: &[u8]) -> Result<LinkFrame, ProtocolError> {
        let kind = header.kind.number();
        let wrong_length = ProtocolError::Length { kind, length: header.length };
        let has_more = header.flags != 0 || header.stream != 0 || header.sequence != 0;
        if has_more || header.format.is_some() {
            return Err(ProtocolError::Reserved { kind });
        }
        let number = || payload.try_into().map(u64::from_le_bytes).map_err(|_| wrong_length.clone());
        match header.kind {
            HELLO => payload.try_into().map_err(|_| wrong_length.clone()).and_then(hello).map(LinkFrame::Hello),
            CREDIT => {
                let (total, taken) = payload.split_at_checked(8).ok_or_else(|| wrong_length.clone())?;
                let number = |bytes: &[u8]| bytes.try_into().map(u64::from_le_bytes).map_err(|_| wrong_length.clone());
                Ok(LinkFrame::Credit { total: number(total)?, taken: number(taken)? })
            }
            HEARTBEAT => Ok(LinkFrame::Heartbeat { incarnation: number()? }),
            POOL => Ok(LinkFrame::Pool { bytes: number()? }),
            CLOSE if payload.is_empty() => Ok(LinkFrame::Close),
            WANTED if payload.is_empty() => Ok(LinkFrame::Wanted),
            PASSED if payload.is_empty() => Ok(LinkFrame::Passed),
            MAPPED if payload.is_empty() => Ok(LinkFrame::Mapped),
            CLOSE | WANTED | PASSED | MAPPED => Err(wrong_length),
            _ => Err(ProtocolError::UnknownKind(kind)),
        }
    }
}

fn hello(payload: &[u8; LONGEST]) -> Result<Hello, ProtocolError> {
    let word = |at: usize| u32::from_le_bytes([payload[at], payload[at + 1], payload[at + 2], payload[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    // The number before it was looked at when it came.
    if payload[2..4] != [0; 2] {
        return Err(ProtocolError::Reserved { kind: HELLO.number() });
    }
    Ok(Hello {
        capabilities: Capabilities::from_bits(word(4)),
        window: long(8),
        max_payload: word(16),
        heartbeat: Duration::from_millis(u64::from(word(20))),
        incarnation: long(24),
    })
}
