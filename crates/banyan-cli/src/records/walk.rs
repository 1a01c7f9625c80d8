//! The records of a source, one after the other.

use std::io::Read;

use banyan_files::{RecordRef, StreamReader, Time, ffs};
use banyan_ndr::{Buffer, Format};

use super::harm::Harm;
use super::source;
use crate::failure::Failure;

/// A record of a source.
pub(crate) struct RecordSeen<'a> {
    /// Its number in the file.
    pub(crate) number: u64,
    /// What it looks like.
    pub(crate) format: &'a Format,
    /// Its bytes.
    pub(crate) body: &'a [u8],
    /// Its time, if the file's writer knew which field holds it.
    pub(crate) time: Option<Time>,
}

impl<'a> From<RecordRef<'a>> for RecordSeen<'a> {
    fn from(RecordRef { number, format, body, time, .. }: RecordRef<'a>) -> RecordSeen<'a> {
        RecordSeen { number, format, body, time }
    }
}

/// A record that was read to find out its number.
pub(super) struct Held {
    number: u64,
    format: Format,
    body: Vec<u8>,
    time: Option<Time>,
}

impl From<RecordSeen<'_>> for Held {
    fn from(RecordSeen { number, format, body, time }: RecordSeen<'_>) -> Held {
        Held { number, format: format.clone(), body: body.to_vec(), time }
    }
}

impl Held {
    fn seen(&self) -> RecordSeen<'_> {
        RecordSeen { number: self.number, format: &self.format, body: &self.body, time: self.time }
    }
}

/// A walk over the records that can be read, in order.
pub(crate) struct Walk<'s> {
    name: &'s str,
    way: RecordWalk<'s>,
    /// What comes before the others.
    held: Option<Held>,
    is_held_due: bool,
}

/// How each kind of file is walked.
pub(super) enum RecordWalk<'s> {
    File(banyan_files::Records<'s>),
    Stream(&'s mut StreamReader<Box<dyn Read>>),
    Ffs(&'s mut FfsFile),
}

impl<'s> Walk<'s> {
    pub(super) fn new(name: &'s str, way: RecordWalk<'s>) -> Walk<'s> {
        Walk { name, way, held: None, is_held_due: false }
    }

    /// Reads what lies before a number, where one cannot jump. Some may be lost, so the first from there on is known when it
    /// has been read.
    pub(super) fn skip_to(&mut self, from: u64) -> Result<(), Failure> {
        while from > 0
            && let Some(seen) = self.next()?
        {
            if seen.number >= from {
                let held = Held::from(seen);
                (self.held, self.is_held_due) = (Some(held), true);
                break;
            }
        }
        Ok(())
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<RecordSeen<'_>>, Failure> {
        if std::mem::take(&mut self.is_held_due) {
            return Ok(self.held.as_ref().map(Held::seen));
        }
        match &mut self.way {
            RecordWalk::File(records) => Ok(records.next().map(RecordSeen::from)),
            RecordWalk::Stream(reader) => {
                Ok(reader.next().map_err(|error| source::unreadable(self.name, error))?.map(RecordSeen::from))
            }
            RecordWalk::Ffs(file) => Ok(file.next()),
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
    fn next(&mut self) -> Option<RecordSeen<'_>> {
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
        Some(RecordSeen { number: self.next - 1, format, body, time: None })
    }
}
