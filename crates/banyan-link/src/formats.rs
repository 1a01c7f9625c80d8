//! The formats that travelled on a link: each once, before its first record. A description that is longer than a payload
//! travels in pieces, one behind the other; one description at a time is unfinished.

use std::collections::HashSet;

use banyan_ndr::typed::Read;
use banyan_ndr::{DecodeError, DecodeOptions, Decoder, Format, FormatId, Limits, Record};

use crate::error::ProtocolError;
use crate::frame::Header;
use crate::link_frame::FORMAT_PIECE;

/// Bytes of the longest description that travels on a link: what [`Limits`] allow by default, which is enough for formats of
/// tens of thousands of fields. Part of the protocol, so both sides know it.
pub const LONGEST_DESCRIPTION: usize = 4 << 20;

/// Bytes of all descriptions that a peer may send on one link: 1 KiB for each format, and one of the longest at least.
fn description_bytes(formats: usize) -> usize {
    formats.saturating_mul(1 << 10).max(LONGEST_DESCRIPTION)
}

/// A description of which pieces have come, but not the last.
#[derive(Debug)]
struct Unfinished {
    id: Option<FormatId>,
    bytes: Vec<u8>,
}

/// What both sides know of each other's formats. Costs next to nothing until there is one.
#[derive(Debug)]
pub(crate) struct Formats {
    bound: usize,
    taught: HashSet<FormatId>,
    taught_bytes: usize,
    last_taught: Option<FormatId>,
    learnt: Option<Box<Decoder>>,
    learnt_count: usize,
    learnt_bytes: usize,
    unfinished: Option<Unfinished>,
    last_known: Option<FormatId>,
}

impl Formats {
    pub(crate) fn new(bound: usize) -> Formats {
        Formats {
            bound,
            taught: HashSet::new(),
            taught_bytes: 0,
            last_taught: None,
            learnt: None,
            learnt_count: 0,
            learnt_bytes: 0,
            unfinished: None,
            last_known: None,
        }
    }

    /// Whether the peer was told of a format.
    pub(crate) fn is_taught(&mut self, id: FormatId) -> bool {
        if self.last_taught == Some(id) {
            return true;
        }
        let taught = self.taught.contains(&id);
        if taught {
            self.last_taught = Some(id);
        }
        taught
    }

    /// Notes that the peer is told of a format, by a description of so many bytes; false when it will not learn more.
    pub(crate) fn teach(&mut self, id: FormatId, bytes: usize) -> bool {
        let taught_bytes = self.taught_bytes + bytes;
        let room = self.taught.len() < self.bound && taught_bytes <= description_bytes(self.bound);
        if room {
            self.taught.insert(id);
            self.taught_bytes = taught_bytes;
        }
        room
    }

    /// Takes a description, or a piece of one. All pieces but the last are as long as the longest payload.
    pub(crate) fn take(&mut self, header: &Header, piece: &[u8], max_payload: usize) -> Result<(), ProtocolError> {
        if header.flags != 0 || header.stream != 0 || header.sequence != 0 {
            return Err(ProtocolError::Reserved { kind: header.kind.number() });
        }
        match header.kind {
            FORMAT_PIECE if piece.len() != max_payload => {
                Err(ProtocolError::DescriptionPiece { length: piece.len(), expected: max_payload })
            }
            FORMAT_PIECE => self.join(header.format, piece),
            _ => self.learn(header.format, piece),
        }
    }

    /// Learns a description that the peer sent as that of `claimed`: all of it, or what follows its other pieces.
    fn learn(&mut self, claimed: Option<FormatId>, last: &[u8]) -> Result<(), ProtocolError> {
        if self.unfinished.is_none() {
            return self.learn_whole(claimed, last);
        }
        self.join(claimed, last)?;
        let whole = self.unfinished.take().map(|unfinished| unfinished.bytes).unwrap_or_default();
        self.learn_whole(claimed, &whole)
    }

    /// Appends a piece to what has come of the same description.
    fn join(&mut self, claimed: Option<FormatId>, piece: &[u8]) -> Result<(), ProtocolError> {
        let unfinished = self.unfinished.get_or_insert_with(|| Unfinished { id: claimed, bytes: Vec::new() });
        if unfinished.id != claimed {
            return Err(ProtocolError::Interleaved { unfinished: text(unfinished.id), other: text(claimed) });
        }
        let length = unfinished.bytes.len() + piece.len();
        if length > LONGEST_DESCRIPTION {
            return Err(ProtocolError::LongDescription { length, limit: LONGEST_DESCRIPTION });
        }
        unfinished.bytes.extend_from_slice(piece);
        Ok(())
    }

    fn learn_whole(&mut self, claimed: Option<FormatId>, description: &[u8]) -> Result<(), ProtocolError> {
        self.learnt_count += 1;
        self.learnt_bytes += description.len();
        if self.learnt_count > self.bound || self.learnt_bytes > description_bytes(self.bound) {
            return Err(ProtocolError::TooManyFormats(self.bound));
        }
        let limits = Limits::default().formats(self.bound).format_bytes(LONGEST_DESCRIPTION);
        let decoder =
            self.learnt.get_or_insert_with(|| Box::new(Decoder::with_options(DecodeOptions::default().limits(limits))));
        let actual = decoder.learn_encoded(description)?;
        if claimed != Some(actual) {
            return Err(ProtocolError::FormatId { claimed: text(claimed), actual });
        }
        Ok(())
    }

    /// A format that the peer described.
    pub(crate) fn format(&self, id: FormatId) -> Option<&Format> {
        self.learnt.as_ref()?.format(id)
    }

    /// Whether the peer described a format.
    pub(crate) fn knows(&mut self, id: FormatId) -> bool {
        if self.last_known == Some(id) {
            return true;
        }
        let known = self.format(id).is_some();
        if known {
            self.last_known = Some(id);
        }
        known
    }

    /// Decodes a body of a format that the peer described.
    pub(crate) fn decode<'a, R: Record + Read<'a>>(
        &'a mut self,
        id: FormatId,
        body: &'a [u8],
    ) -> Result<R, DecodeError> {
        self.learnt.as_mut().ok_or(DecodeError::UnknownFormat(id))?.decode(id, body)
    }
}

fn text(id: Option<FormatId>) -> String {
    id.map_or("none".to_owned(), |id| id.to_string())
}
