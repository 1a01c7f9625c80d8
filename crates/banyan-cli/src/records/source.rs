//! Where records come from: a Banyan record file, or what FFS and PBIO wrote; by name, or standard input.

use std::fs::File;
use std::io::{self, Read};

use banyan_ndr::file::{Damage, Reader, StreamReader, Time};
use banyan_ndr::{Buffer, Format, ffs};

use crate::failure::{During, Failure};

/// Bytes that tell the kinds of files apart.
const SNIFF: usize = 16;

/// A file of records, read from its beginning to its end.
pub(crate) struct Source {
    name: String,
    kind: Kind,
    next: u64,
    comments: Vec<String>,
}

enum Kind {
    Mapped(Box<Reader>),
    Stream(Box<StreamReader<Box<dyn Read>>>),
    Ffs { reader: Box<ffs::Reader<Box<dyn Read>>>, current: Option<(Format, Buffer)> },
}

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

impl Source {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(name: &str) -> Result<Source, Failure> {
        let mut input: Box<dyn Read> =
            if name == "-" { Box::new(io::stdin()) } else { Box::new(File::open(name).during(name)?) };
        let mut first = Vec::new();
        input.by_ref().take(SNIFF as u64).read_to_end(&mut first).during(name)?;
        let kind = if ffs::is_ffs(&first) {
            let reader = ffs::Reader::from_read(whole(first, input)).during(name)?;
            Kind::Ffs { reader: Box::new(reader), current: None }
        } else if name == "-" {
            Kind::Stream(Box::new(StreamReader::new(whole(first, input)).during(name)?))
        } else {
            Kind::Mapped(Box::new(Reader::open(name).during(name)?))
        };
        Ok(Source { name: name.to_owned(), kind, next: 0, comments: Vec::new() })
    }

    /// What it was opened as.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Goes on to the record with this number, without reading those before where that is possible.
    pub(crate) fn skip_to(&mut self, number: u64) -> Result<(), Failure> {
        if let Kind::Mapped(_) = self.kind {
            self.next = self.next.max(number);
            return Ok(());
        }
        while self.next < number && self.next()?.is_some() {}
        Ok(())
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<Seen<'_>>, Failure> {
        let number = self.next;
        match &mut self.kind {
            Kind::Mapped(reader) => {
                if number >= reader.len() {
                    return Ok(None);
                }
                self.next += 1;
                let record = reader.record(number).during(&self.name)?;
                Ok(Some(Seen { number, format: record.format, body: record.body, time: record.time }))
            }
            Kind::Stream(reader) => {
                self.next += 1;
                let record = reader.next().during(&self.name)?;
                Ok(record.map(|record| Seen { number, format: record.format, body: record.body, time: record.time }))
            }
            Kind::Ffs { reader, current } => {
                *current = next_of_ffs(reader, &mut self.comments).during(&self.name)?;
                self.next += 1;
                Ok(current.as_ref().map(|(format, body)| Seen { number, format, body, time: None }))
            }
        }
    }

    /// Comments met so far.
    pub(crate) fn comments(&self) -> Vec<String> {
        match &self.kind {
            Kind::Mapped(reader) => reader.comments().iter().map(|comment| comment.text.clone()).collect(),
            Kind::Stream(reader) => reader.comments().iter().map(|comment| comment.text.clone()).collect(),
            Kind::Ffs { .. } => self.comments.clone(),
        }
    }

    /// Attributes met so far.
    pub(crate) fn attributes(&self) -> Vec<(String, String)> {
        let attributes = match &self.kind {
            Kind::Mapped(reader) => reader.attributes(),
            Kind::Stream(reader) => reader.attributes(),
            Kind::Ffs { .. } => return Vec::new(),
        };
        attributes.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Damage met so far; all of it for a file that is mapped.
    pub(crate) fn damage(&self) -> Vec<Damage> {
        match &self.kind {
            Kind::Mapped(reader) => reader.verify(),
            Kind::Stream(reader) => reader.damage(),
            Kind::Ffs { .. } => Vec::new(),
        }
    }

    /// What kind of file it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self.kind {
            Kind::Mapped(_) | Kind::Stream(_) => "banyan",
            Kind::Ffs { .. } => "ffs",
        }
    }
}

fn whole(first: Vec<u8>, rest: Box<dyn Read>) -> Box<dyn Read> {
    Box::new(io::Cursor::new(first).chain(rest))
}

fn next_of_ffs(
    reader: &mut ffs::Reader<Box<dyn Read>>,
    comments: &mut Vec<String>,
) -> Result<Option<(Format, Buffer)>, ffs::Error> {
    for entry in reader {
        match entry? {
            ffs::Entry::Record(record) => return Ok(Some((record.format, record.body))),
            ffs::Entry::Comment(text) => comments.push(text),
            _ => {}
        }
    }
    Ok(None)
}
