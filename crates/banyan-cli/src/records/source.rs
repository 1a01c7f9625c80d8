//! Where records come from: a Banyan record file, or what FFS and PBIO wrote; by name, or standard input.
//!
//! Damage never ends a walk: what is whole is given, what is not is listed in [`RecordSource::damage`] afterwards.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, BufReader, Read};

use banyan_files::ffs;
use banyan_files::{ReadError, Reader, StreamReader};
use banyan_ndr::Format;

use super::choice::{self, Choice};
use super::foreign::Foreign;
use super::harm::Harm;
use super::walk::{FfsFile, RecordWalk, Walk};
use crate::failure::{During, Failure, cause, warn};

/// Bytes that tell the kinds of files apart.
const SNIFF: u64 = 16;

/// Longest file of which what was read is kept. Longer ones are read once, block by block, as standard input is.
const MOST_IN_MEMORY: u64 = 256 << 20;

/// A file of records.
pub(crate) struct RecordSource {
    name: String,
    kind: SourceKind,
}

enum SourceKind {
    File(Box<Reader>),
    Stream(Box<StreamReader<Box<dyn Read>>>),
    Ffs(Box<FfsFile>),
}

impl RecordSource {
    /// Opens a file, or standard input for `-`.
    pub(crate) fn open(name: &str, foreign: Foreign) -> Result<RecordSource, Failure> {
        let mut input = input(name)?;
        let mut first = Vec::new();
        let sniffed = input.by_ref().take(SNIFF).read_to_end(&mut first);
        sniffed.map_err(|error| Failure::new(format!("{name}: cannot be read: {}", cause(&error))))?;
        if first.is_empty() {
            return Err(Failure::new(format!(
                "{}: is empty; a record file without any record has a header",
                title(name)
            )));
        }
        let is_ffs = ffs::is_ffs(&first);
        let whole: Box<dyn Read> = Box::new(io::Cursor::new(first).chain(input));
        let kind = if is_ffs {
            SourceKind::Ffs(Box::new(FfsFile::new(foreign.tell(ffs::Reader::from_read(whole).during(name)?))))
        } else if name != "-" && fs::metadata(name).is_ok_and(|there| there.is_file() && there.len() <= MOST_IN_MEMORY)
        {
            SourceKind::File(Box::new(Reader::open(name).map_err(|error| unreadable(name, error))?))
        } else {
            SourceKind::Stream(Box::new(StreamReader::new(whole).map_err(|error| unreadable(name, error))?))
        };
        Ok(RecordSource { name: name.to_owned(), kind })
    }

    /// What it was opened as.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// What it is called in what people read.
    pub(crate) fn title(&self) -> &str {
        title(&self.name)
    }

    /// The records from a number on.
    pub(crate) fn records(&mut self, from: u64) -> Result<Walk<'_>, Failure> {
        let way = match &mut self.kind {
            SourceKind::File(reader) => {
                // Blocks are checked when they are touched: what is damaged before is to be known, too.
                reader.records(0).take_while(|record| record.number < from).for_each(drop);
                return Ok(Walk::new(&self.name, RecordWalk::File(reader.records(from))));
            }
            SourceKind::Stream(reader) => RecordWalk::Stream(reader),
            SourceKind::Ffs(file) => RecordWalk::Ffs(file),
        };
        let mut walk = Walk::new(&self.name, way);
        walk.skip_to(from)?;
        Ok(walk)
    }

    /// How many records there are, where that is known beforehand.
    pub(crate) fn len(&self) -> Option<u64> {
        match &self.kind {
            SourceKind::File(reader) => Some(reader.len()),
            _ => None,
        }
    }

    /// The formats met so far; all of them for a file that is kept.
    pub(crate) fn formats(&self) -> Vec<Format> {
        match &self.kind {
            SourceKind::File(reader) => reader.formats().cloned().collect(),
            SourceKind::Stream(reader) => reader.formats().cloned().collect(),
            SourceKind::Ffs(file) => file.formats.clone(),
        }
    }

    /// The comments met so far, each with the number of the record it stands before.
    pub(crate) fn comments(&self) -> Vec<(u64, String)> {
        let comments = match &self.kind {
            SourceKind::File(reader) => reader.comments(),
            SourceKind::Stream(reader) => reader.comments(),
            SourceKind::Ffs(file) => return file.comments.clone(),
        };
        comments.iter().map(|comment| (comment.before_record, comment.text.clone())).collect()
    }

    /// The attributes met so far.
    pub(crate) fn attributes(&self) -> BTreeMap<String, String> {
        match &self.kind {
            SourceKind::File(reader) => reader.attributes().clone(),
            SourceKind::Stream(reader) => reader.attributes().clone(),
            SourceKind::Ffs(_) => BTreeMap::new(),
        }
    }

    /// The damage met so far; all of it after a walk from the first record to the last.
    pub(crate) fn damage(&self) -> Vec<Harm> {
        match &self.kind {
            SourceKind::File(reader) => reader.damage().into_iter().map(Harm::from).collect(),
            SourceKind::Stream(reader) => reader.damage().into_iter().map(Harm::from).collect(),
            SourceKind::Ffs(file) => file.damage.clone(),
        }
    }

    /// Whether its writer ended in order, where the file tells.
    pub(crate) fn is_finished(&self) -> Option<bool> {
        match &self.kind {
            SourceKind::File(reader) => Some(reader.is_finished()),
            _ => None,
        }
    }

    /// Tells of all damage met on standard error. Returns whether there was any.
    pub(crate) fn warn_of_damage(&self) -> bool {
        let damage = self.damage();
        for harm in &damage {
            warn(format_args!("{}: damaged: {harm}", self.title()));
        }
        !damage.is_empty()
    }

    /// Complains of a format that the file does not have.
    pub(crate) fn require_format(&self, wanted: &Choice) -> Result<(), Failure> {
        let formats = self.formats();
        if formats.iter().any(|format| wanted.is(format)) {
            return Ok(());
        }
        let there = choice::list(&formats);
        Err(Failure::new(format!("{}: has no format {wanted}; it has {there}", self.title())))
    }

    /// What kind of file it is.
    pub(crate) fn kind(&self) -> &'static str {
        match self.kind {
            SourceKind::File(_) | SourceKind::Stream(_) => "banyan",
            SourceKind::Ffs(_) => "ffs",
        }
    }
}

/// What a file is called in what people read.
fn title(name: &str) -> &str {
    if name == "-" { "standard input" } else { name }
}

/// The bytes of a file, or standard input for `-`.
pub(crate) fn input(name: &str) -> Result<Box<dyn Read>, Failure> {
    if name == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let refused = |why: &dyn Display| Failure::new(format!("{name}: {why}"));
    let file = File::open(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => refused(&"no such file; give the path of a file, or - for standard input"),
        _ => Failure::system(format_args!("{name}: cannot be read"), &error),
    })?;
    if file.metadata().is_ok_and(|there| there.is_dir()) {
        return Err(refused(&"is a directory; give the files in it"));
    }
    Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
}

/// Why a file cannot be read, in the words that help; the same for a name and for standard input.
pub(super) fn unreadable(name: &str, error: ReadError) -> Failure {
    let failure = Failure::new(match error {
        ReadError::NotARecordFile { .. } => {
            "no record file: neither Banyan's, nor one of FFS or PBIO. JSON lines and CSV become one with: banyan \
             records convert --from jsonl|csv --schema SCHEMA INPUT OUTPUT.bny"
                .to_owned()
        }
        ReadError::Io(error) => format!("cannot be read: {}", cause(&error)),
        other => other.to_string(),
    });
    failure.within(title(name))
}
