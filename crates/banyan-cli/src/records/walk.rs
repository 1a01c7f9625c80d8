//! The records of a source, one after the other.

use std::io::Read;

use banyan_ndr::file::{self, RecordRef, StreamReader, Time};
use banyan_ndr::{Buffer, Format, ffs};

use super::harm::Harm;
use super::source;
use crate::failure::Failure;

/// A record of a source.
pub(crate) struct Seen<'a> {
    /// Its number in the file.
    pub(crate) number: u64,
    /// What it looks like.
    pub(crate) format: &'a Format,
    /// Its bytes.
    pub(crate) body: &'a [u8],
    /// Its time, if the file's writer knew which field holds it.
    pub(crate) time: Option<Time>,
}

impl<'a> From<RecordRef<'a>> for Seen<'a> {
    fn from(RecordRef { number, format, body, time, .. }: RecordRef<'a>) -> Seen<'a> {
        Seen { number, format, body, time }
    }
}

/// A walk over the records that can be read, in order.
pub(crate) struct Walk<'s> {
    pub(super) name: &'s str,
    pub(super) way: Way<'s>,
}

/// How each kind of file is walked.
pub(super) enum Way<'s> {
    Mapped(file::Records<'s>),
    Stream(&'s mut StreamReader<Box<dyn Read>>),
    Ffs(&'s mut FfsFile),
}

impl Walk<'_> {
    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<Seen<'_>>, Failure> {
        match &mut self.way {
            Way::Mapped(records) => Ok(records.next().map(Seen::from)),
            Way::Stream(reader) => {
                Ok(reader.next().map_err(|error| source::unreadable(self.name, error))?.map(Seen::from))
            }
            Way::Ffs(file) => Ok(file.next()),
        }
    }
}

/// A file or stream of FFS or PBIO, with what was met in it so far.
pub(crate) struct FfsFile {
    reader: ffs::Reader<Box<dyn Read>>,
    current: Option<(Format, Buffer)>,
    next: u64,
    pub(super) formats: Vec<Format>,
    /// Each with the number of the record it stands before.
    pub(super) comments: Vec<(u64, String)>,
    pub(super) damage: Vec<Harm>,
}

impl FfsFile {
    pub(super) fn new(reader: ffs::Reader<Box<dyn Read>>) -> FfsFile {
        FfsFile { reader, current: None, next: 0, formats: Vec::new(), comments: Vec::new(), damage: Vec::new() }
    }

    /// The next record. Those that are damaged have no number: nothing in such a file tells how many there were.
    fn next(&mut self) -> Option<Seen<'_>> {
        self.current = None;
        for entry in self.reader.by_ref() {
            match entry {
                Ok(ffs::Entry::Record(record)) => {
                    self.current = Some((record.format, record.body));
                    break;
                }
                Ok(ffs::Entry::Comment(text)) => self.comments.push((self.next, text)),
                Ok(ffs::Entry::Format(format)) if !self.formats.contains(&format) => self.formats.push(format),
                Ok(_) => {}
                Err(error) => self.damage.push(error.into()),
            }
        }
        let (format, body) = self.current.as_ref()?;
        self.next += 1;
        Some(Seen { number: self.next - 1, format, body, time: None })
    }
}
