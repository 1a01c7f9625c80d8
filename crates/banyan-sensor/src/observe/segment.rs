//! A segment of another process, read and checked.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use banyan_ndr::{Format, Limits};
use rustix::fs::{OFlags, fstat};

use super::observer::Observer;
use super::reader::Reader;
use super::rings::OpenRing;
use crate::clock::{Clock, Moment};
use crate::identity::Identity;
use crate::layout::{self, WORD, header, knob, ring, sensor, text_place};
use crate::memory::{Access, Map};
use crate::place::Place;
use crate::policy::Policy;
use crate::ring::Ring;
use crate::sensor::Kind;

/// Why a segment cannot be read or observed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The system refused something.
    #[error("{}: {source}", path.display())]
    Io {
        /// The segment.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// It was made by a program of a later release.
    #[error("{}: its layout needs a reader of number {least}, and this is number 1; use a newer release", path.display())]
    Newer {
        /// The segment.
        path: PathBuf,
        /// What it needs.
        least: u64,
    },
    /// It was made on another kind of machine.
    #[error("{}: it is in the other byte order; read it on a machine like the one it comes from", path.display())]
    OtherByteOrder {
        /// The segment.
        path: PathBuf,
    },
    /// It is not a segment, or somebody has written into it.
    #[error("{}: {what} cannot be right; the file is damaged or not a segment", path.display())]
    Damaged {
        /// The segment.
        path: PathBuf,
        /// What is wrong.
        what: &'static str,
    },
    /// There are as many observers as there can be.
    #[error("{}: it has {most} observers already; end one of them", path.display())]
    TooManyObservers {
        /// The segment.
        path: PathBuf,
        /// How many there can be.
        most: usize,
    },
    /// There is nothing in it that can be steered.
    #[error("{}: the program has no knobs and no actions", path.display())]
    NothingToSteer {
        /// The segment.
        path: PathBuf,
    },
    /// Every slot of the mailbox has a request that the program has not dealt with.
    #[error("{}: all {most} slots of its mailbox are taken; the program comes to no steering point, or wait", path.display())]
    MailboxFull {
        /// The segment.
        path: PathBuf,
        /// How many there are.
        most: usize,
    },
    /// Another observer registers and does not finish.
    #[error("{}: another observer holds the lock of the observers' file; it is stopped, or hangs", path.display())]
    Locked {
        /// The segment.
        path: PathBuf,
    },
}

/// A sensor of a process.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SensorInfo {
    /// Its index in the segment.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// The unit of what it measures; may be empty.
    pub unit: String,
    /// What its events mean; may be empty.
    pub description: String,
    /// What it has.
    pub kind: Kind,
    /// The format of its events; counters and gauges have none.
    pub format: Option<Format>,
    /// What happens when there is no room.
    pub policy: Policy,
    /// Whether it is written though nobody watches.
    pub always: bool,
}

/// What a counter or gauge holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// Of a counter.
    Counter(u64),
    /// Of a gauge.
    Gauge(f64),
}

/// Where a table is.
#[derive(Debug, Clone, Copy)]
struct Table {
    /// Word of the first entry, words of an entry, entries.
    at: usize,
    stride: usize,
    capacity: usize,
    /// The word that has how many entries are in use.
    count: usize,
}

/// A segment that is open to be read.
#[derive(Debug)]
pub struct Segment {
    pub(super) path: PathBuf,
    pub(super) place: Place,
    file: OwnedFd,
    main: Map,
    identity: Identity,
    pub(super) clock: Clock,
    pub(super) base: Moment,
    pub(super) token: u64,
    sensors: Table,
    rings: Table,
    knobs: Table,
}

/// The longest header with tables and texts that is mapped.
const LARGEST_MAIN: u64 = 64 << 20;

impl Segment {
    /// Opens a segment.
    ///
    /// # Errors
    /// When it cannot be read, is damaged or newer than this reader.
    pub fn open(path: &Path) -> Result<Segment, SegmentError> {
        let io = |source| SegmentError::Io { path: path.into(), source };
        let missing = || io(io::Error::new(io::ErrorKind::NotFound, "not the path of a segment"));
        let (directory, name) =
            path.parent().zip(path.file_name().and_then(|name| name.to_str())).ok_or_else(missing)?;
        let place = Place::at(directory).map_err(io)?;
        let file = place.open_file(name, OFlags::RDONLY).map_err(io)?;
        let length = fstat(&file).map_err(|error| io(error.into()))?.st_size as u64;
        let head = read_words(&file, 0, layout::HEADER_WORDS).map_err(io)?;
        check_beginning(path, &head, layout::SEGMENT_MAGIC)?;
        let bytes = head[header::BYTES];
        let damaged = |what| SegmentError::Damaged { path: path.into(), what };
        if bytes < layout::PAGE as u64 || bytes > length.min(LARGEST_MAIN) || bytes % WORD as u64 != 0 {
            return Err(damaged("the length of its tables"));
        }
        let main = Map::new(&file, 0, bytes as usize, Access::Read).map_err(io)?;
        let table = |at, least| table(&head, at, bytes, least).ok_or_else(|| damaged("a table"));
        let clock = Clock::from_number(head[header::CLOCK]).ok_or_else(|| damaged("its clock"))?;
        let base = Moment {
            stamp: head[header::BASE_STAMP],
            monotonic: head[header::BASE_MONOTONIC],
            wall: head[header::BASE_WALL],
            width: head[header::BASE_WIDTH],
        };
        let (sensors, rings) = (table(header::SENSORS, sensor::WORDS)?, table(header::RINGS, ring::WORDS)?);
        let knobs = table(header::KNOBS, knob::WORDS)?;
        let identity = identity(&file, &head).map_err(io)?;
        let token = head[layout::TOKEN];
        Ok(Segment { path: path.into(), place, file, main, identity, clock, base, token, sensors, rings, knobs })
    }

    /// Whose it is.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the process, as a [`MessageStamp`](crate::MessageStamp) has it.
    pub fn process_number(&self) -> u64 {
        self.token
    }

    /// What its stamps count.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// When it was made, by all clocks.
    pub fn base(&self) -> Moment {
        self.base
    }

    /// Whether its file was truncated while it was open.
    pub fn is_lost(&self) -> bool {
        self.main.is_lost()
    }

    /// Registers as an observer, to choose sensors and get their events from now on.
    ///
    /// # Errors
    /// When there are too many observers, or the file for them is missing or damaged.
    pub fn observe(self) -> Result<Observer, SegmentError> {
        Observer::register(self)
    }

    /// Reads what the process has written, of all sensors, without registering: the last events of a process that has
    /// ended, or what others watch.
    ///
    /// # Errors
    /// When it is damaged.
    pub fn read(self) -> Result<Reader, SegmentError> {
        Reader::of_everything(self)
    }

    /// The sensors that it has now.
    ///
    /// # Errors
    /// When the description of one is damaged.
    pub fn sensors(&self) -> Result<Vec<SensorInfo>, SegmentError> {
        self.sensors_from(0)
    }

    /// What a counter or gauge holds now.
    pub fn value(&self, sensor: &SensorInfo) -> Option<Reading> {
        let value = self.entry(self.sensors, sensor.index)?[sensor::VALUE].load(Ordering::Relaxed);
        match sensor.kind {
            Kind::Counter => Some(Reading::Counter(value)),
            Kind::Gauge => Some(Reading::Gauge(f64::from_bits(value))),
            Kind::Event | Kind::Span => None,
        }
    }

    pub(super) fn damaged(&self, what: &'static str) -> SegmentError {
        SegmentError::Damaged { path: self.path.clone(), what }
    }

    pub(super) fn io(&self, source: io::Error) -> SegmentError {
        SegmentError::Io { path: self.path.clone(), source }
    }

    /// A word of the header.
    pub(super) fn header(&self, word: usize) -> u64 {
        self.main.words()[word].load(Ordering::Acquire)
    }

    /// The entries of the table of knobs.
    pub(super) fn knob_entries(&self) -> impl Iterator<Item = (usize, &[AtomicU64])> {
        (0..self.count(self.knobs)).filter_map(|index| Some((index, self.entry(self.knobs, index)?)))
    }

    fn entry(&self, table: Table, index: usize) -> Option<&[AtomicU64]> {
        let at = table.at + index * table.stride;
        (index < table.capacity).then(|| self.main.words().get(at..at + table.stride))?
    }

    fn count(&self, table: Table) -> usize {
        let count = self.main.words()[table.count].load(Ordering::Acquire);
        usize::try_from(count).unwrap_or(usize::MAX).min(table.capacity)
    }

    /// The sensors from an index on.
    pub(super) fn sensors_from(&self, first: usize) -> Result<Vec<SensorInfo>, SegmentError> {
        (first..self.count(self.sensors)).map(|index| self.sensor(index)).collect()
    }

    fn sensor(&self, index: usize) -> Result<SensorInfo, SegmentError> {
        let entry = self.entry(self.sensors, index).ok_or_else(|| self.damaged("the table of sensors"))?;
        let word = |word: usize| entry[word].load(Ordering::Acquire);
        let text = |at: usize| Ok::<_, SegmentError>(String::from_utf8_lossy(&self.text(word(at))?).into_owned());
        let kind = Kind::from_number(word(sensor::KIND)).ok_or_else(|| self.damaged("the kind of a sensor"))?;
        let policy = Policy::from_words(word(sensor::POLICY), word(sensor::POLICY_NUMBER));
        let encoded = self.text(word(sensor::FORMAT))?;
        let format = (!encoded.is_empty()).then(|| Format::decode(&encoded, &Limits::default())).transpose();
        Ok(SensorInfo {
            index,
            name: text(sensor::NAME)?,
            unit: text(sensor::UNIT)?,
            description: text(sensor::DESCRIPTION)?,
            kind,
            format: format.map_err(|_| self.damaged("the format of a sensor"))?,
            policy: policy.ok_or_else(|| self.damaged("the policy of a sensor"))?,
            always: word(sensor::ALWAYS) != 0,
        })
    }

    /// Events of a sensor that are counted in its entry: without room, and contended.
    pub(super) fn counted_in_entry(&self, index: usize) -> [u64; 2] {
        let entry = self.entry(self.sensors, index).unwrap_or_default();
        [sensor::NO_ROOM, sensor::CONTENDED].map(|word| entry.get(word).map_or(0, |word| word.load(Ordering::Relaxed)))
    }

    /// The cell of a sensor that keeps only its latest event.
    pub(super) fn cell(&self, index: usize) -> Result<Option<Map>, SegmentError> {
        let entry = self.entry(self.sensors, index).unwrap_or_default();
        let [offset, bytes] = [sensor::CELL, sensor::CELL_BYTES].map(|word| entry[word].load(Ordering::Acquire));
        if offset == 0 {
            return Ok(None);
        }
        let map = self.map(offset, bytes)?;
        // A word, and two places of the same length.
        if bytes / WORD as u64 % 2 != 1 || bytes < (3 * WORD) as u64 {
            return Err(self.damaged("the cell of a sensor"));
        }
        Ok(Some(map))
    }

    /// Opens the rings from an index on.
    pub(super) fn rings_from(&self, first: usize) -> Result<Vec<OpenRing>, SegmentError> {
        (first..self.count(self.rings)).map(|index| self.ring(index)).collect()
    }

    fn ring(&self, index: usize) -> Result<OpenRing, SegmentError> {
        let damaged = || self.damaged("the table of rings");
        let entry = self.entry(self.rings, index).ok_or_else(damaged)?;
        let word = |word: usize| entry[word].load(Ordering::Acquire);
        let size = |at: usize| usize::try_from(word(at)).ok().filter(|size| *size <= LARGEST_RING).ok_or_else(damaged);
        if word(ring::READY) == 0 {
            return Err(damaged());
        }
        let (rows, data, block) = (size(ring::ROWS)?, size(ring::DATA_WORDS)?, size(ring::BLOCK_WORDS)?);
        let map = self.map(word(ring::OFFSET), layout::chunk::bytes(rows, data) as u64)?;
        let ring = OpenRing { map, rows, data, block };
        let fits = Ring::new(ring.control(), ring.data_words(), block).is_some();
        if fits { Ok(ring) } else { Err(damaged()) }
    }

    /// Maps part of the file that lies in it.
    fn map(&self, offset: u64, bytes: u64) -> Result<Map, SegmentError> {
        let length = fstat(&self.file).map_err(|error| self.io(error.into()))?.st_size as u64;
        let fits =
            offset.is_multiple_of(layout::PAGE as u64) && offset.checked_add(bytes).is_some_and(|end| end <= length);
        if !fits || bytes == 0 {
            return Err(self.damaged("the place of a ring or cell"));
        }
        Map::new(&self.file, offset, bytes as usize, Access::Read).map_err(|error| self.io(error))
    }

    /// Maps words that may begin anywhere in the file; the number says at which word of the map.
    pub(super) fn map_words(&self, offset: u64, bytes: u64) -> Result<(Map, usize), SegmentError> {
        let before = offset % layout::PAGE as u64;
        let aligned = offset.is_multiple_of(WORD as u64) && bytes.is_multiple_of(WORD as u64) && bytes <= LARGEST_MAIN;
        if !aligned || bytes == 0 {
            return Err(self.damaged("the place of a value"));
        }
        Ok((self.map(offset - before, bytes + before)?, before as usize / WORD))
    }

    pub(super) fn text(&self, word: u64) -> Result<Vec<u8>, SegmentError> {
        text(&self.file, word).map_err(|error| self.io(error))
    }
}

/// Words, rows and blocks of a ring are no more than this.
const LARGEST_RING: usize = 1 << 28;

/// Checks how both files begin.
pub(super) fn check_beginning(path: &Path, head: &[u64], magic: u64) -> Result<(), SegmentError> {
    let path = || path.to_owned();
    if head[layout::MAGIC] != magic {
        return Err(SegmentError::Damaged { path: path(), what: "how it begins" });
    }
    if head[layout::ORDER] == layout::ORDER_MARK.swap_bytes() {
        return Err(SegmentError::OtherByteOrder { path: path() });
    }
    if head[layout::ORDER] != layout::ORDER_MARK {
        return Err(SegmentError::Damaged { path: path(), what: "its byte order" });
    }
    let least = head[layout::LEAST_READER];
    if least > layout::LAYOUT { Err(SegmentError::Newer { path: path(), least }) } else { Ok(()) }
}

/// Reads words of a file; those behind its end are zeros.
pub(super) fn read_words(file: impl AsFd, offset: u64, count: usize) -> io::Result<Vec<u64>> {
    let bytes = read_bytes(file, offset, count * WORD)?;
    Ok(bytes.as_chunks::<WORD>().0.iter().map(|bytes| u64::from_ne_bytes(*bytes)).collect())
}

fn read_bytes(file: impl AsFd, offset: u64, count: usize) -> io::Result<Vec<u8>> {
    let file = File::from(file.as_fd().try_clone_to_owned()?);
    let mut bytes = vec![0; count];
    let mut read = 0;
    while read < count {
        match file.read_at(&mut bytes[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// The longest text that is read.
const LONGEST_TEXT: usize = 8 << 20;

fn text(file: &OwnedFd, word: u64) -> io::Result<Vec<u8>> {
    let (offset, length) = text_place(word);
    if length > LONGEST_TEXT || offset + length as u64 > fstat(file)?.st_size as u64 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a text lies outside the file"));
    }
    read_bytes(file, offset, length)
}

fn table(head: &[u64], at: usize, bytes: u64, least_words: usize) -> Option<Table> {
    let [offset, stride, capacity] = [0, 1, 2].map(|word| head[at + word]);
    let end = stride.checked_mul(capacity)?.checked_add(offset)?;
    let word = WORD as u64;
    let aligned = offset % word == 0 && stride % word == 0;
    (aligned && stride >= least_words as u64 * word && end <= bytes).then_some(Table {
        at: (offset / word) as usize,
        stride: (stride / word) as usize,
        capacity: capacity as usize,
        count: at + 3,
    })
}

fn identity(file: &OwnedFd, head: &[u64]) -> io::Result<Identity> {
    let text = |word: usize| Ok::<_, io::Error>(String::from_utf8_lossy(&text(file, head[word])?).into_owned());
    let mut boot_id = [0; 16];
    for (bytes, word) in boot_id.as_chunks_mut::<8>().0.iter_mut().zip(&head[header::BOOT_ID..]) {
        *bytes = word.to_ne_bytes();
    }
    Ok(Identity {
        pid: head[header::PID] as u32,
        start_time: head[header::START_TIME],
        boot_id,
        pid_namespace: head[header::PID_NAMESPACE],
        uid: head[header::UID] as u32,
        rank: Some(head[header::RANK]).filter(|rank| *rank != u64::MAX),
        ranks: Some(head[header::RANKS]).filter(|ranks| *ranks != 0),
        job: Some(text(header::JOB)?).filter(|job| !job.is_empty()),
        executable: text(header::EXECUTABLE)?,
        host: text(header::HOST)?,
    })
}
