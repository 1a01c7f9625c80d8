//! The segment of this process: its two files, and what is entered into them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, fstat};

use crate::cleanup;
use crate::clock::{Clock, monotonic};
use crate::identity::Identity;
use crate::layout::{self, WORD, chunk, header, knob, letter, observers, ring, sensor};
use crate::local::LocalRing;
use crate::memory::{Access, Map};
use crate::place::{self, Place};
use crate::policy::Lane;
use crate::process::Description;
use crate::ring::{Ring, Writer};
use crate::steering::memory::SteeringMemory;
use crate::steering::requests::{Sender, Steerable, SteeringTarget};
use crate::steering::{self, NO_STEP, has_come_to};
use crate::witness::set_number;

/// Bytes of a ring's data, unless [`RING_VARIABLE`] says otherwise: several thousand small events.
const RING_BYTES: usize = 256 << 10;

/// Sets the bytes of a ring's data, for programs that emit more than their observers read in the time between.
pub(crate) const RING_VARIABLE: &str = "BANYAN_SENSOR_RING";

/// The least and the most that a ring can have. Two blocks must hold a record, whose length is a 16-bit number.
const RING_LIMITS: std::ops::RangeInclusive<usize> = (16 << 10)..=(1 << 30);

/// A ring has so many blocks, or more if they would be longer than [`LONGEST_BLOCK`].
const BLOCKS: usize = 16;

/// The longest block.
const LONGEST_BLOCK: usize = 64 << 10;

/// Header, tables and first texts, and what observers write: where they are in memory for as long as the process runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maps {
    pub(crate) main: &'static Map,
    pub(crate) observers: &'static Map,
}

/// The files of this process.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) name: String,
    /// Where it is.
    pub(crate) directory: PathBuf,
    pub(crate) maps: Maps,
    file: OwnedFd,
    /// What [`file`](Self::file) is, to notice when the program has closed it.
    inode: (u64, u64),
    /// Bytes of the file.
    length: u64,
    /// Where the next text goes, and the end of what is reserved for texts.
    texts: std::ops::Range<u64>,
    rings: usize,
    ring_bytes: usize,
    steering: Option<SteeringMemory>,
    /// Where in the file that memory is.
    steering_at: u64,
}

impl Segment {
    /// Makes the files. After `fork` they take the place of the parent's in memory.
    pub(crate) fn create(earlier: Option<Maps>) -> io::Result<Segment> {
        let identity = Identity::own()?;
        let place = Place::make()?;
        cleanup::remove_ended(&place, &cleanup::Bounds::default());
        let created = monotonic();
        let stem = format!("{}-{}-{}-{created}", identity.pid, identity.start_time, identity.pid_namespace);
        let (name, other) = (format!("{stem}{}", place::SEGMENT), format!("{stem}{}", place::OBSERVERS));
        let made = Self::create_files(&place, &name, &other, earlier, &identity, created);
        if made.is_err() {
            place.remove(&name);
            place.remove(&other);
        }
        made
    }

    fn create_files(
        place: &Place,
        name: &str,
        other: &str,
        earlier: Option<Maps>,
        identity: &Identity,
        created: u64,
    ) -> io::Result<Segment> {
        let file = place.create(name, Mode::RUSR, layout::SEGMENT_BYTES as u64)?;
        let board = place.create(other, Mode::RUSR | Mode::WUSR, layout::OBSERVERS_BYTES as u64)?;
        let maps = match earlier {
            None => Maps {
                main: leak(Map::new(&file, 0, layout::SEGMENT_BYTES, Access::Own)?),
                observers: leak(Map::new(&board, 0, layout::OBSERVERS_BYTES, Access::Own)?),
            },
            Some(maps) => {
                maps.main.replace(&file, 0)?;
                maps.observers.replace(&board, 0)?;
                maps
            }
        };
        let status = fstat(&file)?;
        let mut segment = Segment {
            name: name.to_owned(),
            maps,
            inode: (status.st_dev, status.st_ino),
            file,
            length: layout::SEGMENT_BYTES as u64,
            texts: layout::TEXTS_AT as u64..layout::SEGMENT_BYTES as u64,
            rings: 0,
            ring_bytes: ring_bytes(),
            steering: None,
            steering_at: 0,
            directory: place.path.clone(),
        };
        let mut token = [0; 8];
        rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty())?;
        let token = u64::from_ne_bytes(token) | 1;
        segment.write_header(identity, created, token)?;
        segment.write_board(token);
        place.publish(other)?;
        place.publish(name)?;
        set_number(token);
        Ok(segment)
    }

    fn write_header(&mut self, identity: &Identity, created: u64, token: u64) -> io::Result<()> {
        let texts = [
            self.text(identity.job.as_deref().unwrap_or_default().as_bytes())?,
            self.text(identity.executable.as_bytes())?,
            self.text(identity.host.as_bytes())?,
        ];
        let words = self.maps.main.words();
        let set = |word: usize, value: u64| words[word].store(value, Ordering::Relaxed);
        set(layout::ORDER, layout::ORDER_MARK);
        set(layout::VERSION, layout::LAYOUT);
        set(layout::LEAST_READER, layout::LAYOUT);
        set(layout::TOKEN, token);
        set(header::CREATED, created);
        set(header::PID, identity.pid.into());
        set(header::START_TIME, identity.start_time);
        let (boot, _) = identity.boot_id.as_chunks::<8>();
        boot.iter().enumerate().for_each(|(at, bytes)| set(header::BOOT_ID + at, u64::from_ne_bytes(*bytes)));
        set(header::PID_NAMESPACE, identity.pid_namespace);
        set(header::UID, identity.uid.into());
        set(header::RANK, identity.rank.unwrap_or(u64::MAX));
        set(header::RANKS, identity.ranks.unwrap_or(0));
        set(header::JOB, texts[0]);
        set(header::EXECUTABLE, texts[1]);
        set(header::HOST, texts[2]);
        let clock = Clock::own();
        let moment = clock.moment();
        set(header::CLOCK, clock.number());
        set(header::BASE_STAMP, moment.stamp);
        set(header::BASE_MONOTONIC, moment.monotonic);
        set(header::BASE_WALL, moment.wall);
        set(header::BASE_WIDTH, moment.width);
        let sensors = [layout::SENSORS_AT, sensor::WORDS * WORD, layout::SENSOR_CAPACITY, 0];
        let rings = [layout::RINGS_AT, ring::WORDS * WORD, layout::RING_CAPACITY, 0];
        set_table(words, header::SENSORS, sensors);
        set_table(words, header::RINGS, rings);
        set_table(words, header::KNOBS, [layout::KNOBS_AT, knob::WORDS * WORD, layout::KNOB_CAPACITY, 0]);
        set(header::STEP, has_come_to().unwrap_or(NO_STEP));
        steering::memory::publish(self.maps);
        set(header::BYTES, layout::SEGMENT_BYTES as u64);
        words[layout::MAGIC].store(layout::SEGMENT_MAGIC, Ordering::Release);
        Ok(())
    }

    fn write_board(&self, token: u64) {
        let words = self.maps.observers.words();
        let set = |word: usize, value: u64| words[word].store(value, Ordering::Relaxed);
        set(layout::ORDER, layout::ORDER_MARK);
        set(layout::VERSION, layout::LAYOUT);
        set(layout::LEAST_READER, layout::LAYOUT);
        set(layout::TOKEN, token);
        let places = observers::CAPACITY;
        set_table(words, observers::SLOTS, [layout::SLOTS_AT, layout::slot::WORDS * WORD, places, places]);
        let capacity = layout::SENSOR_CAPACITY;
        set_table(words, observers::WATCHED, [layout::WATCHED_AT, WORD, capacity, capacity]);
        let cursors = layout::RING_CAPACITY;
        set_table(words, observers::CURSORS, [layout::CURSORS_AT, places * WORD, cursors, cursors]);
        let mail = layout::MAIL_CAPACITY;
        set_table(words, observers::MAILBOX, [layout::MAILBOX_AT, letter::WORDS * WORD, mail, mail]);
        words[layout::MAGIC].store(layout::OBSERVERS_MAGIC, Ordering::Release);
    }

    /// The file, unless the program has closed its descriptor: then the number may be another file's by now.
    fn file(&self) -> io::Result<BorrowedFd<'_>> {
        let is_ours = fstat(&self.file).is_ok_and(|status| (status.st_dev, status.st_ino) == self.inode);
        if is_ours { Ok(self.file.as_fd()) } else { Err(io::Error::other("the program has closed the segment's file")) }
    }

    /// Whether there are no events in it, nor ever were.
    pub(crate) fn is_empty(&self) -> bool {
        self.length == layout::SEGMENT_BYTES as u64
    }

    /// Takes its files away.
    pub(crate) fn remove(&self) {
        if let Ok(place) = Place::at(&self.directory) {
            cleanup::remove(&place, &self.name);
        }
    }

    /// Lets go of a segment that the parent goes on with.
    pub(crate) fn leave(self) -> Maps {
        let maps = self.maps;
        if self.file().is_err() {
            // Closing the number would close another file.
            std::mem::forget(self);
        }
        maps
    }

    /// Makes the file longer by whole pages; returns where they begin.
    fn grow(&mut self, bytes: usize) -> io::Result<(u64, usize)> {
        let bytes = bytes.next_multiple_of(layout::PAGE);
        let offset = self.length;
        self.file()?;
        place::reserve(&self.file, offset, bytes as u64)?;
        self.length += bytes as u64;
        Ok((offset, bytes))
    }

    /// Keeps a text; the word says where.
    fn text(&mut self, text: &[u8]) -> io::Result<u64> {
        if text.is_empty() {
            return Ok(0);
        }
        if text.len() > layout::LONGEST_TEXT {
            return Err(io::Error::other("a format or text is too long"));
        }
        if self.texts.end - self.texts.start < text.len() as u64 {
            let (offset, bytes) = self.grow(text.len().max(layout::TEXT_BYTES))?;
            self.texts = offset..offset + bytes as u64;
        }
        let at = self.texts.start;
        let file = File::from(self.file()?.try_clone_to_owned()?);
        file.write_all_at(text, at)?;
        self.texts.start = (at + text.len() as u64).next_multiple_of(WORD as u64);
        Ok(layout::text_word(at, text.len()))
    }

    /// Enters a sensor. `cell` is where it had its cell before `fork`.
    pub(crate) fn add_sensor(
        &mut self,
        index: usize,
        description: &Description,
        cell: Option<&'static Map>,
    ) -> io::Result<Option<&'static Map>> {
        let texts = [
            self.text(description.name.as_bytes())?,
            self.text(description.unit.as_bytes())?,
            self.text(description.description.as_bytes())?,
            self.text(description.format.map_or(&[], |format| format.encoded()))?,
        ];
        let entry = &self.sensor(index)[..sensor::WORDS];
        let set = |word: usize, value: u64| entry[word].store(value, Ordering::Relaxed);
        [sensor::NAME, sensor::UNIT, sensor::DESCRIPTION, sensor::FORMAT]
            .into_iter()
            .zip(texts)
            .for_each(|(word, text)| set(word, text));
        let (kind, number) = description.policy.to_words();
        set(sensor::POLICY, kind);
        set(sensor::POLICY_NUMBER, number);
        set(sensor::ALWAYS, description.always.into());
        let mut map = cell;
        if description.cell_words > 0 {
            let (offset, bytes) = self.grow(description.cell_words * WORD)?;
            match cell {
                Some(cell) => cell.replace(self.file()?, offset)?,
                None => map = Some(leak(Map::new(self.file()?, offset, bytes, Access::Own)?)),
            }
            let entry = self.sensor(index);
            entry[sensor::CELL].store(offset, Ordering::Relaxed);
            entry[sensor::CELL_BYTES].store((description.cell_words * WORD) as u64, Ordering::Relaxed);
        }
        self.sensor(index)[sensor::KIND].store(description.kind as u64, Ordering::Release);
        self.maps.main.words()[header::SENSORS + 3].store(index as u64 + 1, Ordering::Release);
        Ok(map)
    }

    /// The words of a sensor's entry.
    pub(crate) fn sensor(&self, index: usize) -> &'static [AtomicU64] {
        let at = layout::SENSORS_AT / WORD + index * sensor::WORDS;
        &self.maps.main.words()[at..at + sensor::WORDS]
    }

    /// The word that is not 0 while somebody watches a sensor.
    pub(crate) fn watched(&self, index: usize) -> &'static AtomicU64 {
        &self.maps.observers.words()[layout::WATCHED_AT / WORD + index]
    }

    /// Makes the memory that knobs and actions need. `chunk` is where it was before `fork`.
    pub(crate) fn make_steering(&mut self, chunk: Option<&'static Map>) -> io::Result<&'static Map> {
        if let Some(steering) = &self.steering {
            return Ok(steering.chunk());
        }
        let (offset, bytes) = self.grow(layout::STEERING_BYTES)?;
        let chunk = match chunk {
            Some(chunk) => {
                chunk.replace(self.file()?, offset)?;
                chunk
            }
            None => leak(Map::new(self.file()?, offset, bytes, Access::Own)?),
        };
        let words = self.maps.main.words();
        let table = [offset as usize, layout::ANSWER_WORDS * WORD, layout::MAIL_CAPACITY, 0];
        set_table(words, header::ANSWERS, table);
        words[header::ANSWERS + 3].store(layout::MAIL_CAPACITY as u64, Ordering::Release);
        self.steering_at = offset;
        self.steering = Some(SteeringMemory::new(self.maps, chunk));
        Ok(chunk)
    }

    /// Memory for steering, if there is a knob or an action.
    pub(crate) fn steering(&self) -> Option<&SteeringMemory> {
        self.steering.as_ref()
    }

    /// Where a value can be shown.
    pub(crate) fn room_for_value(&mut self, longest: usize) -> Option<std::ops::Range<usize>> {
        self.steering.as_mut()?.room(longest)
    }

    /// Enters a knob or an action, and shows the knob's value.
    pub(crate) fn add_knob(&mut self, index: usize, registered: &Steerable) -> io::Result<()> {
        let Steerable { description, entry: what, cell } = registered;
        let texts = [
            (knob::NAME, self.text(description.name.as_bytes())?),
            (knob::UNIT, self.text(description.unit.as_bytes())?),
            (knob::DESCRIPTION, self.text(description.description.as_bytes())?),
            (knob::FORMAT, self.text(description.format.map_or(&[], |format| format.encoded()))?),
            (knob::LOW, self.text(&description.low)?),
            (knob::HIGH, self.text(&description.high)?),
        ];
        let at = layout::KNOBS_AT / WORD + index * knob::WORDS;
        let entry = &self.maps.main.words()[at..at + knob::WORDS];
        let set = |word: usize, value: u64| entry[word].store(value, Ordering::Relaxed);
        texts.into_iter().for_each(|(word, text)| set(word, text));
        set(knob::FLAGS, description.flags);
        set(knob::CELL, self.steering_at + (cell.start * WORD) as u64);
        set(knob::CELL_BYTES, (cell.len() * WORD) as u64);
        let kind = match what {
            SteeringTarget::Knob(value) => {
                if let Some(memory) = &mut self.steering {
                    memory.claim(cell);
                    memory.show(cell.clone(), &value.body(), &Sender::default(), None);
                }
                knob::IS_KNOB
            }
            SteeringTarget::Action(_) => knob::IS_ACTION,
        };
        entry[knob::KIND].store(kind, Ordering::Release);
        self.maps.main.words()[header::KNOBS + 3].store(index as u64 + 1, Ordering::Release);
        Ok(())
    }

    /// Makes a ring.
    pub(crate) fn add_ring(&mut self, lane: Lane) -> io::Result<LocalRing> {
        if self.rings == layout::RING_CAPACITY {
            return Err(io::Error::other("too many threads emit at the same time"));
        }
        let rows = layout::SENSOR_CAPACITY;
        let data_words = self.ring_bytes / WORD;
        let block_words = (data_words / BLOCKS).min(LONGEST_BLOCK / WORD);
        let (offset, bytes) = self.grow(chunk::bytes(rows, data_words))?;
        let words = leak(Map::new(self.file()?, offset, bytes, Access::Own)?).words();
        let (control, rest) = words.split_at(chunk::CONTROL_WORDS);
        let (rows_words, data) = rest.split_at(rows * chunk::ROW_WORDS);
        let ring = Ring::new(control, &data[..data_words], block_words).ok_or_else(|| io::Error::other("ring size"))?;
        let index = self.rings;
        let at = layout::RINGS_AT / WORD + index * ring::WORDS;
        let entry = &self.maps.main.words()[at..at + ring::WORDS];
        let values = [
            (ring::OFFSET, offset),
            (ring::LANE, lane as u64),
            (ring::BLOCK_WORDS, block_words as u64),
            (ring::DATA_WORDS, data_words as u64),
            (ring::ROWS, rows as u64),
        ];
        values.into_iter().for_each(|(word, value)| entry[word].store(value, Ordering::Relaxed));
        entry[ring::READY].store(1, Ordering::Release);
        self.rings += 1;
        self.maps.main.words()[header::RINGS + 3].store(self.rings as u64, Ordering::Release);
        Ok(LocalRing::new(Writer::new(ring), rows_words, self.maps, index))
    }
}

fn set_table(words: &[AtomicU64], at: usize, values: [usize; 4]) {
    for (word, value) in words[at..at + 4].iter().zip(values) {
        word.store(value as u64, Ordering::Relaxed);
    }
}

fn ring_bytes() -> usize {
    let wanted = std::env::var(RING_VARIABLE).ok().and_then(|text| text.parse::<usize>().ok());
    let bytes = wanted.unwrap_or(RING_BYTES).clamp(*RING_LIMITS.start(), *RING_LIMITS.end());
    bytes.next_power_of_two()
}

/// Memory that sensors refer to for as long as the process runs.
fn leak(map: Map) -> &'static Map {
    Box::leak(Box::new(map))
}
