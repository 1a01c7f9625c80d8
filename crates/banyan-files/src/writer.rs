//! Writing a record file, in one pass, to a file or to anything that takes bytes.
//!
//! Records are gathered into a batch and written as a block when it is full. Formats are described before they are
//! first used, by themselves. A writer never seeks and never changes what it has written: a stream and a file hold the
//! same bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::path::Path;
use std::time::Instant;

use super::create::Recovered;
use super::error::Damage;
use super::error::WriteError;
use super::layout::{ALIGN, BLOCK_HEADER, BlockHeader, FILE_HEADER, FileHeader, FileId, Kind};
use super::options::{Durability, WriterOptions};
use super::table::Batch;
use super::time::{Time, TimePlace};
use super::{create, index, layout};
use banyan_ndr::internals::write_all;
use banyan_ndr::{DynRecord, Format, FormatId, Record, Scratch, typed};

/// Writes records.
///
/// Call [`finish`](Self::finish) at the end: it reports errors. A writer that is dropped writes what it has, too, but
/// cannot report. The file lock is held until then.
#[derive(Debug)]
pub struct Writer<W: Write = File> {
    /// `None` once finished.
    out: Option<W>,
    /// The same file, to be synced.
    sync: Option<File>,
    last_sync: Instant,
    options: WriterOptions,
    file: FileId,
    /// Where the next block goes.
    at: u64,
    sequence: u64,
    /// Records in the blocks written.
    records: u64,
    batch: Batch,
    formats: HashMap<FormatId, Known>,
    /// The format used last: most records have the same as the one before.
    last: Option<(FormatId, Known)>,
    /// Blocks and formats that no index lists yet, and where the last index is.
    unlisted: Vec<BlockHeader>,
    unlisted_formats: Vec<(u64, Format)>,
    last_index: Option<u64>,
    recovered: Option<Damage>,
    failed: bool,
    scratch: Scratch,
}

/// A format that the file describes.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// Where.
    at: u64,
    time: Option<TimePlace>,
}

impl Writer<File> {
    /// Makes a new file. One that exists is replaced, unless a writer has it open: its name goes to the new file, and
    /// who reads the old one keeps it.
    pub fn create(path: impl AsRef<Path>, options: WriterOptions) -> Result<Writer<File>, WriteError> {
        let file = create::create(path.as_ref(), options.durability)?;
        let mut writer = Writer::start(file.try_clone()?, FileId::random(), options);
        writer.sync = Some(file);
        writer.write_file_header()?;
        Ok(writer)
    }

    /// Continues a file. A torn tail is cut off first ([`recovered`](Self::recovered) tells); damage elsewhere stays
    /// as it is. A file that is empty or does not exist is started.
    pub fn append(path: impl AsRef<Path>, options: WriterOptions) -> Result<Writer<File>, WriteError> {
        let file = create::open_to_append(path.as_ref())?;
        let found = Recovered::from(&file)?;
        let mut writer = Writer::start(file.try_clone()?, found.file.unwrap_or_else(FileId::random), options);
        writer.sync = Some(file);
        writer.recovered = found.tail;
        if found.file.is_none() {
            writer.write_file_header()?;
            return Ok(writer);
        }
        writer.at = found.end;
        writer.sequence = found.sequence;
        writer.records = found.records;
        writer.unlisted = found.unlisted;
        writer.last_index = found.last_index;
        for (at, format) in found.formats {
            writer.know(at, &format);
            if writer.last_index.is_none_or(|index| at > index) {
                writer.unlisted_formats.push((at, format));
            }
        }
        Ok(writer)
    }
}

impl<W: Write> Writer<W> {
    /// Writes to anything that takes bytes.
    pub fn stream(out: W, options: WriterOptions) -> Result<Writer<W>, WriteError> {
        let mut writer = Writer::start(out, FileId::random(), options);
        writer.write_file_header()?;
        Ok(writer)
    }

    fn start(out: W, file: FileId, options: WriterOptions) -> Writer<W> {
        Writer {
            out: Some(out),
            sync: None,
            last_sync: Instant::now(),
            options,
            file,
            at: 0,
            sequence: 0,
            records: 0,
            batch: Batch::default(),
            formats: HashMap::new(),
            last: None,
            unlisted: Vec::new(),
            unlisted_formats: Vec::new(),
            last_index: None,
            recovered: None,
            failed: false,
            scratch: Scratch::new(),
        }
    }

    /// Writes a record of a compiled type. What [`encode`](banyan_ndr::encode) would not copy is not copied here.
    pub fn write<T: Record>(&mut self, record: &T) -> Result<(), WriteError> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let written = match typed::encode_body(record, &mut scratch) {
            Ok(body) => {
                let parts: Vec<IoSlice<'_>> = body.slices().map(IoSlice::new).collect();
                self.write_parts(T::format(), &parts)
            }
            Err(error) => Err(error.into()),
        };
        self.scratch = scratch;
        written
    }

    /// Writes a record that is held as values.
    pub fn write_dynamic(&mut self, record: &DynRecord) -> Result<(), WriteError> {
        self.write_body(&record.format, &record.to_body()?)
    }

    /// Writes a record: its body, as its format describes it. The body is not checked but for its length.
    pub fn write_body(&mut self, format: &Format, body: &[u8]) -> Result<(), WriteError> {
        self.write_parts(format, &[IoSlice::new(body)])
    }

    /// Writes a record whose body is given in parts. A body of [`WriterOptions::block_bytes`] or more is written from
    /// where it lies, without a copy.
    pub fn write_parts(&mut self, format: &Format, parts: &[IoSlice<'_>]) -> Result<(), WriteError> {
        self.write_with(format, parts, None)
    }

    /// As [`write_body`](Self::write_body), with a time that the caller knows: that of the same record in another file,
    /// which does not tell what field it came from. It counts instead of [`WriterOptions::time_field`].
    pub fn write_timed(&mut self, format: &Format, body: &[u8], time: Time) -> Result<(), WriteError> {
        self.write_with(format, &[IoSlice::new(body)], Some(time))
    }

    fn write_with(&mut self, format: &Format, parts: &[IoSlice<'_>], time: Option<Time>) -> Result<(), WriteError> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        if !format.fits(len) {
            return Err(WriteError::Size {
                format: format.name().to_owned(),
                found: len,
                wanted: format.size(),
                or_more: format.has_references(),
            });
        }
        let known = self.describe(format)?;
        let time = time.or_else(|| known.time.and_then(|place| place.read(parts)));
        if len >= self.options.block_bytes {
            return self.write_alone(known.at, time, len, parts);
        }
        self.batch.push(known.at, time, len, parts);
        if self.batch.is_full(self.options.block_bytes) {
            self.write_batch()?;
        }
        Ok(())
    }

    /// Writes a comment between the records before and those behind it.
    pub fn comment(&mut self, text: &str) -> Result<(), WriteError> {
        self.write_batch()?;
        self.write_texts(Kind::Comment, &[text.as_bytes()])
    }

    /// Sets an attribute of the file. The last value of a key counts.
    pub fn attribute(&mut self, key: &str, value: &str) -> Result<(), WriteError> {
        self.write_texts(Kind::Attribute, &[key.as_bytes(), value.as_bytes()])
    }

    /// How many records the file has, with those just gathered.
    pub fn records(&self) -> u64 {
        self.records + u64::from(self.batch.records())
    }

    /// The torn tail that [`append`](Writer::append) cut off.
    pub fn recovered(&self) -> Option<&Damage> {
        self.recovered.as_ref()
    }

    /// Writes what is gathered as a block, and flushes the destination: readers see all records written so far.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.write_batch()?;
        self.attempt(|writer| writer.out()?.flush())
    }

    /// [`flush`](Self::flush), and waits until everything is on the disk, if it is a file.
    pub fn sync(&mut self) -> Result<(), WriteError> {
        self.flush()?;
        self.attempt(Writer::sync_file)
    }

    /// Writes what is gathered and the index, as durably as the options say; gives the destination back.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.close()?;
        self.out.take().ok_or(WriteError::Failed)
    }

    fn close(&mut self) -> Result<(), WriteError> {
        self.write_batch()?;
        let at = self.at;
        let formats = self.unlisted_formats.iter().map(|(at, format)| (*at, format));
        let payload = index::encode(self.last_index, &self.unlisted, formats);
        self.write_block(Kind::Index, &Batch::default(), &[IoSlice::new(&payload)])?;
        self.unlisted.clear();
        self.unlisted_formats.clear();
        self.last_index = Some(at);
        self.attempt(|writer| writer.out()?.flush())?;
        if self.options.durability.syncs() { self.attempt(Writer::sync_file) } else { Ok(()) }
    }

    /// Makes sure that the file describes the format.
    fn describe(&mut self, format: &Format) -> Result<Known, WriteError> {
        let id = format.id();
        if let Some((last, known)) = self.last
            && last == id
        {
            return Ok(known);
        }
        let known = match self.formats.get(&id) {
            Some(known) => *known,
            None => {
                let at = self.at;
                self.write_texts(Kind::Format, &[format.encoded()])?;
                self.unlisted_formats.push((at, format.clone()));
                self.know(at, format)
            }
        };
        self.last = Some((id, known));
        Ok(known)
    }

    fn know(&mut self, at: u64, format: &Format) -> Known {
        let time = self.options.time_field.as_deref().and_then(|path| TimePlace::find(format, path));
        let known = Known { at, time };
        self.formats.insert(format.id(), known);
        known
    }

    fn write_file_header(&mut self) -> Result<(), WriteError> {
        let header = FileHeader::encode(self.file);
        self.attempt(|writer| {
            let out = writer.out()?;
            out.write_all(&header)?;
            out.flush()
        })?;
        self.at = FILE_HEADER as u64;
        Ok(())
    }

    fn write_texts(&mut self, kind: Kind, texts: &[&[u8]]) -> Result<(), WriteError> {
        self.write_block(kind, &Batch::default(), &[IoSlice::new(&layout::encode_texts(texts))])
    }

    fn write_batch(&mut self) -> Result<(), WriteError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        let table = batch.table();
        let written = self.write_block(Kind::Records, &batch, &[IoSlice::new(&table), IoSlice::new(batch.bodies())]);
        batch.clear();
        self.batch = batch;
        written
    }

    /// A block for one large record, whose body is not copied.
    fn write_alone(
        &mut self,
        at: u64,
        time: Option<Time>,
        len: usize,
        parts: &[IoSlice<'_>],
    ) -> Result<(), WriteError> {
        self.write_batch()?;
        let mut alone = Batch::default();
        alone.note(at, time, len);
        let table = alone.table();
        let padding = [0; ALIGN];
        let mut payload = Vec::with_capacity(parts.len() + 2);
        payload.push(IoSlice::new(&table));
        payload.extend_from_slice(parts);
        payload.push(IoSlice::new(&padding[..len.next_multiple_of(ALIGN) - len]));
        self.write_block(Kind::Records, &alone, &payload)
    }

    /// Writes a block. `batch` tells what records the payload has.
    fn write_block(&mut self, kind: Kind, batch: &Batch, payload: &[IoSlice<'_>]) -> Result<(), WriteError> {
        let header = BlockHeader {
            file: self.file,
            offset: self.at,
            sequence: self.sequence,
            first_record: self.records,
            payload: payload.iter().map(|part| part.len() as u64).sum(),
            times: batch.span(),
            records: batch.records(),
            kind,
            payload_crc: payload.iter().fold(0, |crc, part| crc32c::crc32c_append(crc, part)),
        };
        let head: [u8; BLOCK_HEADER] = header.encode();
        let mut parts = Vec::with_capacity(payload.len() + 1);
        parts.push(IoSlice::new(&head));
        parts.extend_from_slice(payload);
        self.attempt(|writer| {
            write_all(writer.out()?, &mut parts)?;
            writer.after_block()
        })?;
        self.at = header.end();
        self.sequence += 1;
        self.records = header.next_record();
        if kind != Kind::Index {
            self.unlisted.push(header);
        }
        Ok(())
    }

    /// What the durability policy asks for behind each block.
    fn after_block(&mut self) -> io::Result<()> {
        match self.options.durability {
            Durability::None => return Ok(()),
            Durability::SyncEveryBlock => self.sync_file()?,
            Durability::SyncEvery(pause) if self.last_sync.elapsed() >= pause => self.sync_file()?,
            _ => {}
        }
        self.out()?.flush()
    }

    fn sync_file(&mut self) -> io::Result<()> {
        self.out()?.flush()?;
        if let Some(file) = &self.sync {
            file.sync_data()?;
        }
        self.last_sync = Instant::now();
        Ok(())
    }

    fn out(&mut self) -> io::Result<&mut W> {
        self.out.as_mut().ok_or_else(|| io::Error::other("the writer is finished"))
    }

    /// Does something that, when it fails, leaves the end of the file unknown: then nothing more is written.
    fn attempt(&mut self, action: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<(), WriteError> {
        if self.failed {
            return Err(WriteError::Failed);
        }
        action(self).map_err(|error| {
            self.failed = true;
            WriteError::Io(error)
        })
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        if self.out.is_some() && !self.failed && self.at > 0 {
            // Nobody is left to tell; `finish` reports.
            let _ = self.close();
        }
    }
}
