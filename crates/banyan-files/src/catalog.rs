//! What a file says besides its records: formats, comments, attributes.

use std::collections::BTreeMap;

use super::layout;
use super::layout::{BlockHeader, Kind};
use banyan_ndr::{Format, Limits};

/// A comment in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Comment {
    /// The record it stands before.
    pub before_record: u64,
    /// The text.
    pub text: String,
}

/// Formats by the place of their description, comments in order, the last value of every attribute.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    formats: BTreeMap<u64, Format>,
    comments: Vec<Comment>,
    attributes: BTreeMap<String, String>,
}

impl Catalog {
    /// The format that is described at `at`.
    pub(super) fn format(&self, at: u64) -> Option<&Format> {
        self.formats.get(&at)
    }

    /// All formats, with the places of their descriptions.
    pub(super) fn formats(&self) -> impl Iterator<Item = (u64, &Format)> {
        self.formats.iter().map(|(at, format)| (*at, format))
    }

    pub(super) fn comments(&self) -> &[Comment] {
        &self.comments
    }

    pub(super) fn attributes(&self) -> &BTreeMap<String, String> {
        &self.attributes
    }

    /// Takes in a block whose checksum is right. `None` when it is no such block all the same, or too many formats.
    pub(super) fn load(&mut self, header: &BlockHeader, payload: &[u8], limits: &Limits) -> Option<()> {
        match header.kind {
            Kind::Format => {
                let [encoded] = layout::decode_texts(payload)?;
                self.learn(header.offset, encoded, limits)?;
            }
            Kind::Comment => {
                let [text] = layout::decode_texts(payload)?;
                let text = str::from_utf8(text).ok()?.to_owned();
                self.comments.push(Comment { before_record: header.first_record, text });
            }
            Kind::Attribute => {
                let [key, value] = layout::decode_texts(payload)?;
                self.attributes.insert(str::from_utf8(key).ok()?.to_owned(), str::from_utf8(value).ok()?.to_owned());
            }
            Kind::Records | Kind::Index => {}
        }
        Some(())
    }

    /// Learns the format that is described at `at`, from there or from a copy in an index.
    pub(super) fn learn(&mut self, at: u64, encoded: &[u8], limits: &Limits) -> Option<()> {
        if let Some(known) = self.formats.get(&at) {
            return (known.encoded() == encoded).then_some(());
        }
        if self.formats.len() >= limits.formats {
            return None;
        }
        self.formats.insert(at, Format::decode(encoded, limits).ok()?);
        Some(())
    }
}
