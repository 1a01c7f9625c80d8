//! The link's own frames: hello, format, credit, heartbeat, close.
//!
//! They never cost credit and never wait for it. Formats are encoded by `banyan-ndr` and have no type here.

use std::time::Duration;

use crate::error::ProtocolError;
use crate::frame::{Header, Kind};
use crate::options::{INITIAL_CREDIT, LinkOptions};

/// The version of everything in `docs/links.md`.
pub const PROTOCOL_VERSION: u16 = 1;

/// The first frame in each direction.
pub(crate) const HELLO: Kind = Kind::link(1);
/// A description of a format, before its first record.
pub(crate) const FORMAT: Kind = Kind::link(2);
/// A grant.
pub(crate) const CREDIT: Kind = Kind::link(3);
/// A sign of life.
pub(crate) const HEARTBEAT: Kind = Kind::link(4);
/// The goodbye.
pub(crate) const CLOSE: Kind = Kind::link(5);

/// The longest payload of these frames but for formats.
const LONGEST: usize = 32;

/// One of the link's own frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkFrame {
    Hello(Hello),
    Credit { total: u64 },
    Heartbeat { incarnation: u64 },
    Close,
}

/// What each side says of itself first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) capabilities: u32,
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
                payload[4..8].copy_from_slice(&hello.capabilities.to_le_bytes());
                payload[8..16].copy_from_slice(&hello.window.to_le_bytes());
                payload[16..20].copy_from_slice(&hello.max_payload.to_le_bytes());
                let milliseconds = u32::try_from(hello.heartbeat.as_millis()).unwrap_or(u32::MAX);
                payload[20..24].copy_from_slice(&milliseconds.to_le_bytes());
                payload[24..32].copy_from_slice(&hello.incarnation.to_le_bytes());
                (HELLO, 32)
            }
            LinkFrame::Credit { total } => {
                payload[..8].copy_from_slice(&total.to_le_bytes());
                (CREDIT, 8)
            }
            LinkFrame::Heartbeat { incarnation } => {
                payload[..8].copy_from_slice(&incarnation.to_le_bytes());
                (HEARTBEAT, 8)
            }
            LinkFrame::Close => (CLOSE, 0),
        };
        let header = Header { length, kind, flags: 0, stream: 0, sequence: 0, format: None };
        Encoded { header, payload }
    }

    /// Reads a frame of one of the link's kinds that is no format.
    pub(crate) fn decode(header: &Header, payload: &[u8]) -> Result<LinkFrame, ProtocolError> {
        let kind = header.kind.number();
        let wrong_length = ProtocolError::Length { kind, length: header.length };
        if header.flags != 0 || header.stream != 0 || header.sequence != 0 || header.format.is_some() {
            return Err(ProtocolError::Reserved { kind });
        }
        let number = || payload.try_into().map(u64::from_le_bytes).map_err(|_| wrong_length.clone());
        match header.kind {
            HELLO => payload.try_into().map_err(|_| wrong_length.clone()).and_then(hello).map(LinkFrame::Hello),
            CREDIT => Ok(LinkFrame::Credit { total: number()? }),
            HEARTBEAT => Ok(LinkFrame::Heartbeat { incarnation: number()? }),
            CLOSE if payload.is_empty() => Ok(LinkFrame::Close),
            CLOSE => Err(wrong_length),
            _ => Err(ProtocolError::UnknownKind(kind)),
        }
    }
}

fn hello(payload: &[u8; LONGEST]) -> Result<Hello, ProtocolError> {
    let word = |at: usize| u32::from_le_bytes([payload[at], payload[at + 1], payload[at + 2], payload[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    let theirs = u16::from_le_bytes([payload[0], payload[1]]);
    if theirs != PROTOCOL_VERSION {
        return Err(ProtocolError::Version { ours: PROTOCOL_VERSION, theirs });
    }
    if payload[2..4] != [0; 2] {
        return Err(ProtocolError::Reserved { kind: HELLO.number() });
    }
    Ok(Hello {
        capabilities: word(4),
        window: long(8),
        max_payload: word(16),
        heartbeat: Duration::from_millis(u64::from(word(20))),
        incarnation: long(24),
    })
}
