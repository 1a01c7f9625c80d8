//! The choices of a stream as bytes. The table of the module has their layout.

use crate::stream_options::{Filtering, StreamOptions, Where};

use super::error::WireError;
use super::reader::Reader;

const UP: u8 = 0;
const DOWN: u8 = 1;

const EVERYWHERE: u8 = 0;
const ROOT: u8 = 1;
const AGENTS: u8 = 2;
const MEMBERS: u8 = 3;
const LEVEL: u8 = 4;

pub(super) fn push(bytes: &mut Vec<u8>, options: &StreamOptions) {
    push_text(bytes, &options.synchronisation.to_string());
    push_filters(bytes, UP, &options.up);
    push_filters(bytes, DOWN, &options.down);
}

fn push_filters(bytes: &mut Vec<u8>, direction: u8, filters: &Filtering) {
    for (at, filter) in filters {
        let (at, level) = match at {
            Where::Everywhere => (EVERYWHERE, 0),
            Where::Root => (ROOT, 0),
            Where::Agents => (AGENTS, 0),
            Where::Members => (MEMBERS, 0),
            Where::Level(level) => (LEVEL, *level),
        };
        bytes.extend_from_slice(&[direction, at]);
        bytes.extend_from_slice(&level.to_le_bytes());
        push_text(bytes, filter);
    }
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    // A text of 4 GiB would not fit into a message.
    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

impl<'a> Reader<'a> {
    /// The choices of a stream, to the end of a message.
    pub(super) fn stream_options(&mut self) -> Result<StreamOptions, WireError> {
        let at = self.at();
        let synchronisation = self.text("the synchronisation")?.parse();
        let synchronisation = synchronisation.map_err(|_| self.malformed("the synchronisation", at))?;
        let mut options = StreamOptions { synchronisation, ..StreamOptions::default() };
        while self.left() > 0 {
            let filters = match self.u8("the direction of a filter")? {
                UP => &mut options.up,
                DOWN => &mut options.down,
                other => return Err(self.value("the direction of a filter", other)),
            };
            let at = self.place_of_filter()?;
            let known = filters.insert(at, self.text("a filter")?.to_owned());
            if known.is_some() {
                return Err(self.malformed("a second filter of one place", self.at()));
            }
        }
        Ok(options)
    }

    fn place_of_filter(&mut self) -> Result<Where, WireError> {
        let at = self.u8("the place of a filter")?;
        let level = self.u16("the level of a filter")?;
        match (at, level) {
            (EVERYWHERE, 0) => Ok(Where::Everywhere),
            (ROOT, 0) => Ok(Where::Root),
            (AGENTS, 0) => Ok(Where::Agents),
            (MEMBERS, 0) => Ok(Where::Members),
            (LEVEL, level) => Ok(Where::Level(level)),
            (other, 0) => Err(self.value("the place of a filter", other)),
            (_, level) => Err(self.value("the level of a filter", level)),
        }
    }

    fn text(&mut self, part: &'static str) -> Result<&'a str, WireError> {
        let length = self.u32(part)?;
        let at = self.at();
        let bytes = self.bytes(part, length as usize)?;
        std::str::from_utf8(bytes).map_err(|_| self.malformed(part, at))
    }
}
