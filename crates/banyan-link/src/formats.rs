//! The formats that travelled on a link: each once, before its first record.

use std::collections::HashSet;

use banyan_ndr::typed::Read;
use banyan_ndr::{DecodeError, DecodeOptions, Decoder, Format, FormatId, Limits, Record};

use crate::error::ProtocolError;

/// Bytes of all descriptions that a peer may send on one link: 1 KiB for each format, and 1 MiB at least.
fn description_bytes(formats: usize) -> usize {
    formats.saturating_mul(1 << 10).max(DESCRIPTION_BYTES)
}

/// Bytes of the longest description.
pub(crate) const DESCRIPTION_BYTES: usize = 1 << 20;

/// What both sides know of each other's formats. Costs next to nothing until there is one.
#[derive(Debug)]
pub(crate) struct Formats {
    bound: usize,
    taught: HashSet<FormatId>,
    last_taught: Option<FormatId>,
    learnt: Option<Box<Decoder>>,
    learnt_count: usize,
    learnt_bytes: usize,
    last_known: Option<FormatId>,
}

impl Formats {
    pub(crate) fn new(bound: usize) -> Formats {
        Formats {
            bound,
            taught: HashSet::new(),
            last_taught: None,
            learnt: None,
            learnt_count: 0,
            learnt_bytes: 0,
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

    /// Notes that the peer is told of a format; false when it will not learn more.
    pub(crate) fn teach(&mut self, id: FormatId) -> bool {
        let room = self.taught.len() < self.bound;
        if room {
            self.taught.insert(id);
        }
        room
    }

    /// Learns a description that the peer sent as that of `claimed`.
    pub(crate) fn learn(&mut self, claimed: Option<FormatId>, description: &[u8]) -> Result<(), ProtocolError> {
        self.learnt_count += 1;
        self.learnt_bytes += description.len();
        if self.learnt_count > self.bound || self.learnt_bytes > description_bytes(self.bound) {
            return Err(ProtocolError::TooManyFormats(self.bound));
        }
        let limits = Limits { formats: self.bound, ..Limits::default() };
        let decoder = self.learnt.get_or_insert_with(|| {
            Box::new(Decoder::with_options(DecodeOptions { limits, ..DecodeOptions::default() }))
        });
        let actual = decoder.learn_encoded(description)?;
        if claimed != Some(actual) {
            let claimed = claimed.map_or("none".to_owned(), |id| id.to_string());
            return Err(ProtocolError::FormatId { claimed, actual });
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
