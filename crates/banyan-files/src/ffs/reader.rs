//! The framing of files and streams: one block after the other.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use super::ForeignId;
use super::attribute::Attribute;
use super::error::{Error, ErrorKind};
use super::index::{Index, Indexed};
use super::layout::Layout;
use super::long_double::LongDouble;
use super::rewrite::rewrite;
use banyan_ndr::wire::read_uint;
use banyan_ndr::{Buffer, ByteOrder, DecodeError, Format, Limits};

const MAGIC: [u8; 4] = [0x43, 0x56, 0xff, 0xa9];
const SWAPPED_MAGIC: [u8; 4] = [0xa9, 0xff, 0x56, 0x43];

/// Bytes of the longest format id.
const MAX_ID: usize = 12;

/// Room that writers leave for an index and fill in later.
const INDEX_ROOM: u64 = 256;

/// Whether a file that begins with these bytes (a dozen, if it has so many) is one for [`Reader`].
pub fn is_ffs(first: &[u8]) -> bool {
    if first.starts_with(&MAGIC) || first.starts_with(&SWAPPED_MAGIC) {
        return true;
    }
    // A stream begins with a format, whose id says twice how long it is.
    let [2, 0, 0, id_len, _, _, _, _, version, ..] = *first else { return false };
    ForeignId::len_of(version) == Some(usize::from(id_len))
}

/// What a file or stream consists of.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Entry {
    /// The description of records to come.
    Format(Format),
    /// A record.
    Record(FfsRecord),
    /// Text for people.
    Comment(String),
    /// Where the following blocks lie.
    Index(Index),
    /// A record of no bytes, by which writers of streams say that they are done.
    End,
}

/// A record, rewritten as Banyan's own.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FfsRecord {
    /// Its format.
    pub format: Format,
    /// Its body.
    pub body: Buffer,
    /// What the index before it says of it; empty in files without.
    pub attributes: Vec<Attribute>,
    /// Where its block begins in the file.
    pub offset: u64,
}

/// Reads a file or stream, as an iterator over its entries.
///
/// After an error in one block the next call goes on with the block behind it; where there is no finding that, the
/// iterator ends.
#[derive(Debug)]
pub struct Reader<R> {
    input: Input<R>,
    limits: Limits,
    long_doubles: Option<LongDouble>,
    layouts: HashMap<ForeignId, Layout>,
    /// First bytes of the known ids.
    id_starts: HashSet<[u8; 4]>,
    /// What indexes say of records that are still to come, by their offsets.
    attributes: HashMap<u64, Vec<Attribute>>,
    /// Whether the file began with the magic number.
    is_file: bool,
    order: ByteOrder,
    /// The next four bytes, when they have been read already.
    ahead: Option<[u8; 4]>,
    ended: bool,
}

impl Reader<BufReader<File>> {
    /// Opens a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| ErrorKind::from(error).at(0))?;
        Reader::from_read(BufReader::new(file))
    }
}

impl<'a> Reader<&'a [u8]> {
    /// Reads from memory.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        Reader::from_read(bytes)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from anything; buffer it if its reads are expensive.
    pub fn from_read(input: R) -> Result<Self, Error> {
        Reader::with_limits(input, Limits::default())
    }

    /// [`Reader::from_read`] with limits other than the default ones.
    pub fn with_limits(input: R, limits: Limits) -> Result<Self, Error> {
        let mut input = Input { input, offset: 0 };
        let first = input.array().map_err(|kind| match kind {
            ErrorKind::Truncated(_) => ErrorKind::NotFfs.at(0),
            other => other.at(0),
        })?;
        let (is_file, order) = match first {
            MAGIC => (true, ByteOrder::Big),
            SWAPPED_MAGIC => (true, ByteOrder::Little),
            [2, 0, 0, 8 | 10 | 12] => (false, ByteOrder::Big),
            _ => return Err(ErrorKind::NotFfs.at(0)),
        };
        Ok(Reader {
            input,
            limits,
            long_doubles: None,
            layouts: HashMap::new(),
            id_starts: HashSet::new(),
            attributes: HashMap::new(),
            is_file,
            order,
            ahead: (!is_file).then_some(first),
            ended: false,
        })
    }

    /// Says what a `long double` of 16 bytes is on the machine that wrote. The descriptions do not say it, and without
    /// it formats with such fields are refused.
    #[must_use]
    pub fn assume_long_doubles(mut self, form: LongDouble) -> Self {
        self.long_doubles = Some(form);
        self
    }

    /// The block that begins with `head`; `None` for room that a writer has left.
    fn block(&mut self, head: [u8; 4], start: u64) -> Result<Option<Entry>, ErrorKind> {
        let head = self.number(head);
        let low = head & 0xff_ffff;
        match head >> 24 {
            0 if low == 0 && self.is_file => self.unwritten_index().map(|()| None),
            1 => self.comment(low).map(Some),
            2 => self.format(low).map(Some),
            3 => self.record(low, start).map(Some),
            4 => self.index(low).map(Some),
            kind => Err(self.lost(ErrorKind::Block(kind as u8))),
        }
    }

    fn comment(&mut self, len: u32) -> Result<Entry, ErrorKind> {
        let text = self.body(len.into(), self.limits.body_bytes, "body_bytes", "a comment")?;
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        Ok(Entry::Comment(String::from_utf8_lossy(&text[..end]).into_owned()))
    }

    fn format(&mut self, id_len: u32) -> Result<Entry, ErrorKind> {
        let len = self.word("a format")?;
        let limit = self.limits.format_bytes.saturating_add(MAX_ID);
        let bytes = self.body(u64::from(id_len) + u64::from(len), limit, "format_bytes", "a format")?;
        let (id, description) = bytes.split_at(id_len as usize);
        let id = match id.first().and_then(|version| ForeignId::len_of(*version)) {
            Some(len) if len == id.len() => ForeignId::new(id),
            _ => return Err(ErrorKind::Description(format!("an id of {id_len} bytes that is no id"))),
        };
        if self.layouts.len() >= self.limits.formats && !self.layouts.contains_key(&id) {
            return Err(DecodeError::TooManyFormats(self.limits.formats).into());
        }
        let layout = Layout::read(description, self.long_doubles, &self.limits)?;
        let format = layout.format.clone();
        self.id_starts.extend(id.as_bytes().first_chunk());
        self.layouts.insert(id, layout);
        Ok(Entry::Format(format))
    }

    fn record(&mut self, low: u32, start: u64) -> Result<Entry, ErrorKind> {
        const WHAT: &str = "a record";
        if low == 0 && !self.is_file && self.stream_ends()? {
            return Ok(Entry::End);
        }
        // Files state the length in six bytes, streams in three, and then comes the id. Since no record has length
        // 0, and hardly one has 4 GiB, the bytes themselves tell which it is.
        let next = self.array(WHAT)?;
        let short = low != 0 && (!self.is_file || self.id_starts.contains(&next));
        let (len, begun) = if short {
            (u64::from(low), Some(next))
        } else {
            (u64::from(low & 0xffff) << 32 | u64::from(self.number(next)), None)
        };
        let mut bytes = begun.map_or_else(Vec::new, |begun| begun.to_vec());
        let rest = len.saturating_sub(bytes.len() as u64);
        bytes.extend(self.body(rest, self.limits.body_bytes, "body_bytes", WHAT)?);
        let attributes = self.attributes.remove(&start).unwrap_or_default();
        let (format, body) = self.decode(&bytes)?;
        Ok(Entry::Record(FfsRecord { format, body, attributes, offset: start }))
    }

    /// Whether an empty record is the end of a stream, and not the first half of a length: behind it then comes nothing
    /// or another block.
    fn stream_ends(&mut self) -> Result<bool, ErrorKind> {
        self.ahead = self.head()?;
        Ok(self.ahead.is_none_or(|[kind, ..]| kind != 0))
    }

    fn decode(&self, bytes: &[u8]) -> Result<(Format, Buffer), ErrorKind> {
        let id_len = bytes.first().and_then(|version| ForeignId::len_of(*version)).unwrap_or(MAX_ID);
        let id = ForeignId::new(&bytes[..id_len.min(bytes.len())]);
        let Some(layout) = self.layouts.get(&id) else { return Err(ErrorKind::UnknownFormat(id)) };
        let source = contents(bytes, id.as_bytes().len(), layout)?;
        Ok((layout.format.clone(), rewrite(&layout.plan, source, &self.limits)?))
    }

    fn index(&mut self, len: u32) -> Result<Entry, ErrorKind> {
        // The length includes the four bytes that state it.
        let bytes = self.body(u64::from(len).saturating_sub(4), self.limits.body_bytes, "body_bytes", "an index")?;
        let index = Index::read(&bytes).map_err(ErrorKind::Index)?;
        for element in &index.elements {
            if element.kind == Indexed::Record && !element.attributes.is_empty() {
                self.attributes.insert(element.offset, element.attributes.clone());
            }
        }
        Ok(Entry::Index(index))
    }

    /// Room for an index that was never written, because the writer did not close its file.
    fn unwritten_index(&mut self) -> Result<(), ErrorKind> {
        let room = self.body(INDEX_ROOM - 4, INDEX_ROOM as usize, "body_bytes", "the room for an index")?;
        if room.iter().any(|byte| *byte != 0) {
            return Err(self.lost(ErrorKind::Block(0)));
        }
        Ok(())
    }

    fn number(&self, bytes: [u8; 4]) -> u32 {
        read_uint(&bytes, self.order) as u32
    }

    fn word(&mut self, what: &'static str) -> Result<u32, ErrorKind> {
        self.array(what).map(|bytes| self.number(bytes))
    }

    fn array(&mut self, what: &'static str) -> Result<[u8; 4], ErrorKind> {
        if let Some(bytes) = self.ahead.take() {
            return Ok(bytes);
        }
        self.input.array().map_err(|kind| match kind {
            ErrorKind::Truncated(_) => self.lost(ErrorKind::Truncated(what)),
            other => self.lost(other),
        })
    }

    /// The next `len` bytes. Memory grows with the bytes that are there, not with what `len` promises.
    fn body(&mut self, len: u64, limit: usize, name: &'static str, what: &'static str) -> Result<Vec<u8>, ErrorKind> {
        if len > limit as u64 {
            let skipped = self.input.skip(len);
            let kind = ErrorKind::Limit { what, found: len, limit: limit as u64, name };
            return Err(if skipped { kind } else { self.lost(kind) });
        }
        match self.input.read(len) {
            Ok(bytes) if bytes.len() as u64 == len => Ok(bytes),
            Ok(_) => Err(self.lost(ErrorKind::Truncated(what))),
            Err(error) => Err(self.lost(error.into())),
        }
    }

    /// Notes that the next block cannot be found.
    fn lost(&mut self, kind: ErrorKind) -> ErrorKind {
        self.ended = true;
        kind
    }

    /// The first bytes of the next block; `None` at the end of the file.
    fn head(&mut self) -> Result<Option<[u8; 4]>, ErrorKind> {
        if let Some(head) = self.ahead.take() {
            return Ok(Some(head));
        }
        match self.input.read(4) {
            Ok(bytes) if bytes.is_empty() => Ok(None),
            Ok(bytes) => bytes.try_into().map(Some).map_err(|_| self.lost(ErrorKind::Truncated("the head of a block"))),
            Err(error) => Err(self.lost(error.into())),
        }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let start = self.input.offset - if self.ahead.is_some() { 4 } else { 0 };
            let entry = match self.head() {
                Ok(Some(head)) => self.block(head, start),
                Ok(None) => break,
                Err(kind) => Err(kind),
            };
            match entry {
                Ok(Some(entry)) => return Some(Ok(entry)),
                Ok(None) => {}
                Err(kind) => return Some(Err(kind.at(start))),
            }
        }
        self.ended = true;
        None
    }
}

impl<R: Read> std::iter::FusedIterator for Reader<R> {}

/// The record proper: what lies behind its id and, if it has references, its length, up to a multiple of 8.
fn contents<'b>(bytes: &'b [u8], id_len: usize, layout: &Layout) -> Result<&'b [u8], DecodeError> {
    let format = &layout.format;
    let wanted = format.size();
    if !format.has_references() {
        let start = id_len.next_multiple_of(8);
        return bytes
            .get(start..start + wanted)
            .ok_or(DecodeError::Size { found: bytes.len().saturating_sub(start), wanted });
    }
    let at = id_len.next_multiple_of(4);
    let stated = |width: usize| {
        let len = usize::try_from(read_uint(bytes.get(at..at + width)?, format.order())).ok()?;
        Some((len, bytes.get((id_len + width).next_multiple_of(8)..)?))
    };
    let (usual, other) = if layout.long_lengths { (stated(8), stated(4)) } else { (stated(4), stated(8)) };
    // The version says how wide the length is; should it be the other width after all, only that one fits exactly.
    let fits = |(len, body): &(usize, &[u8])| *len == body.len();
    let found = usual.filter(fits).or(other.filter(fits)).or(usual);
    let contents = found.and_then(|(len, body)| body.get(..len));
    contents.ok_or(DecodeError::Size { found: bytes.len(), wanted })
}

/// Bytes with a position.
#[derive(Debug)]
struct Input<R> {
    input: R,
    offset: u64,
}

impl<R: Read> Input<R> {
    /// At most `len` bytes, fewer only at the end.
    fn read(&mut self, len: u64) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let result = self.input.by_ref().take(len).read_to_end(&mut bytes);
        self.offset += bytes.len() as u64;
        result.map(|_| bytes)
    }

    /// Exactly four bytes.
    fn array(&mut self) -> Result<[u8; 4], ErrorKind> {
        self.read(4)?.try_into().map_err(|_| ErrorKind::Truncated("the file"))
    }

    /// Reads on without keeping anything; says whether there were so many bytes.
    fn skip(&mut self, len: u64) -> bool {
        match std::io::copy(&mut self.input.by_ref().take(len), &mut std::io::sink()) {
            Ok(skipped) => {
                self.offset += skipped;
                skipped == len
            }
            Err(_) => false,
        }
    }
}
