//! Records of one format that a member has sent on a stream and that have not gone yet.

use banyan_link::{Arena, SLAB_BYTES, Slabs};
use banyan_ndr::typed::{Scratch, encode_body, encode_body_into};
use banyan_ndr::{EncodeError, Format, FormatId, Limits, Record, RecordView};
use banyan_reduce::Bodies;
use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};

use crate::error::TreeError;
use crate::ids::WaveNumber;
use crate::wire::LONGEST_MESSAGE;

/// Waves that travel together at most: enough that what a batch costs is nothing beside its records, few enough that
/// the front-end can follow.
const WAVES: u32 = 512;

/// Bytes of records that travel together at most; a longer one goes by itself. With all that is said about them they fit
/// into one slab of those who receive them, who keep the slab as long as the records.
const BYTES: usize = SLAB_BYTES - (4 << 10);

/// Bytes of records that travel together: what stands before them fits the rest of the longest message.
const LONGEST: usize = LONGEST_MESSAGE - (16 << 20);

/// Refuses what is too long for a network.
pub(crate) fn check_length(bytes: usize) -> Result<(), TreeError> {
    if bytes > LONGEST { Err(TreeError::TooLong { bytes, limit: LONGEST }) } else { Ok(()) }
}

/// Refuses a body that is not a whole record of its format, or is deeper than [`Limits`] allow: who gives one may have it from
/// outside.
pub(crate) fn check_body(format: &Format, body: &[u8]) -> Result<(), TreeError> {
    check_length(body.len())?;
    let walked = RecordView::new(format, body).and_then(|view| view.walk(&Limits::default(), &mut |_, _| Ok(())));
    walked.map_err(TreeError::Body)
}

/// What a member sends: a value of a Rust type, or the body of a record that was checked.
pub(crate) trait ToSend {
    fn tag(&self) -> u32 {
        0
    }

    fn format(&self) -> &Format;

    /// Adds it to those that go together.
    fn add_to(&self, pending: &mut Pending) -> Result<(), TreeError>;

    /// Appends its body.
    fn write_to(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// A value of a Rust type.
pub(crate) struct Typed<'a, R>(pub(crate) &'a R);

impl<R: Record> ToSend for Typed<'_, R> {
    fn format(&self) -> &Format {
        R::format()
    }

    fn add_to(&self, pending: &mut Pending) -> Result<(), TreeError> {
        pending.add(self.0)
    }

    fn write_to(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_body_into(self.0, bytes)
    }
}

/// A body with its format.
pub(crate) struct Body<'a>(pub(crate) &'a Format, pub(crate) &'a [u8]);

impl ToSend for Body<'_> {
    fn format(&self) -> &Format {
        self.0
    }

    fn add_to(&self, pending: &mut Pending) -> Result<(), TreeError> {
        pending.write(|bytes| self.write_to(bytes))
    }

    fn write_to(&self, bytes: &mut Vec<u8>) -> Result<(), EncodeError> {
        bytes.extend_from_slice(self.1);
        Ok(())
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Pending {
    format: FormatId,
    tag: u32,
    bytes: Vec<u8>,
    /// Memory of batches that are small.
    arena: Arena,
    /// Memory of records that are longer than a batch: what the peer takes them from.
    slabs: Slabs,
    /// The only record, if it is one of those and was expected to be.
    long: Option<Bytes>,
    /// Whether the last one was.
    was_long: bool,
    count: u32,
    /// The size of all, as long as they have one.
    size: u32,
    /// Where each ends, if they have not.
    ends: Vec<u32>,
    /// When the last batch went, in ticks of a few milliseconds.
    went: i64,
    /// The wave of the first of them.
    first: WaveNumber,
    /// A batch that found no room, and the wave of its first record: it goes before all others.
    refused: Option<(WaveNumber, Bodies)>,
}

impl Pending {
    pub(crate) fn new(format: FormatId, slabs: Slabs) -> Pending {
        Pending {
            format,
            tag: 0,
            bytes: Vec::new(),
            arena: Arena::new(Arena::FEW),
            slabs,
            long: None,
            was_long: false,
            count: 0,
            size: 0,
            ends: Vec::new(),
            went: 0,
            first: WaveNumber(0),
            refused: None,
        }
    }

    /// The same for records with a tag.
    pub(crate) fn tagged(self, tag: u32) -> Pending {
        Pending { tag, ..self }
    }

    /// Whether records of this format and with this tag go together with these.
    pub(crate) fn takes(&self, format: FormatId, tag: u32) -> bool {
        (self.format, self.tag) == (format, tag)
    }

    /// The wave of the record that is added next, when this one is next on the stream: those that wait come before it.
    pub(crate) fn next_wave(&mut self, next: WaveNumber) -> WaveNumber {
        if self.count == 0 {
            self.first = self.refused.as_ref().map_or(next, |(first, bodies)| first.after(bodies.len()));
        }
        self.first.after(self.count)
    }

    /// Whether a batch found no room, and waits.
    pub(crate) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.refused.is_none()
    }

    /// Adds a record. Who has sent a long one is likely to send another: that is written at once to where it is sent from.
    pub(crate) fn add<R: Record>(&mut self, record: &R) -> Result<(), TreeError> {
        if !self.was_long || self.count > 0 {
            return self.write(|bytes| encode_body_into(record, bytes));
        }
        let mut scratch = Scratch::new();
        let body = encode_body(record, &mut scratch)?;
        check_length(body.len())?;
        if body.len() <= BYTES {
            return self.write(|bytes| {
                body.slices().for_each(|piece| bytes.extend_from_slice(piece));
                Ok(())
            });
        }
        self.long = Some(self.slabs.join(body.len(), body.slices()));
        // Far below 4 GiB.
        (self.count, self.size) = (1, body.len() as u32);
        Ok(())
    }

    /// Adds what is written to the end of the bytes.
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>) -> Result<(), TreeError> {
        if let Some(long) = self.long.take() {
            self.bytes.extend_from_slice(&long);
        }
        let before = self.bytes.len();
        let written = write(&mut self.bytes).map_err(TreeError::from);
        let written = written.and_then(|()| check_length(self.bytes.len()));
        if let Err(error) = written {
            self.bytes.truncate(before);
            return Err(error);
        }
        // All together are far below 4 GiB.
        let size = (self.bytes.len() - before) as u32;
        if self.count == 0 {
            self.size = size;
        } else if self.ends.is_empty() && size != self.size {
            self.ends = (1..=self.count).map(|count| count * self.size).collect();
        }
        self.count += 1;
        if !self.ends.is_empty() {
            self.ends.push(self.bytes.len() as u32);
        }
        Ok(())
    }

    /// Whether it is some time since others went.
    pub(crate) fn is_due(&self) -> bool {
        tick() != self.went
    }

    /// Whether they are so many that they should go.
    pub(crate) fn is_full(&self) -> bool {
        self.count >= WAVES || self.long.is_some() || self.bytes.len() >= BYTES
    }

    /// Takes back a batch for which there is no room.
    pub(crate) fn refuse(&mut self, first: WaveNumber, bodies: Bodies) {
        self.refused = Some((first, bodies));
    }

    /// Takes them out with the wave of the first, if there are any: a batch that was refused by itself, and the others after it.
    pub(crate) fn take(&mut self) -> Option<(WaveNumber, Bodies)> {
        if self.refused.is_some() {
            return self.refused.take();
        }
        if self.count == 0 {
            return None;
        }
        self.went = tick();
        let bytes = self.take_bytes();
        let count = std::mem::take(&mut self.count);
        let bodies = match self.ends.is_empty() {
            true => Bodies::of_size(self.format, self.size, count, bytes),
            false => Bodies::by_ends(self.format, std::mem::take(&mut self.ends).into(), bytes),
        };
        // Their lengths were counted as they were added.
        Some((self.first, bodies.ok()?.tagged(self.tag)))
    }

    /// The bytes; room for about as many is ready then.
    fn take_bytes(&mut self) -> Bytes {
        if let Some(long) = self.long.take() {
            return long;
        }
        let length = self.bytes.len();
        self.was_long = length > BYTES;
        if length <= Arena::FEW / 2 {
            let bytes = self.arena.join(&[&self.bytes]);
            self.bytes.clear();
            self.bytes.shrink_to(Arena::FEW);
            return bytes;
        }
        if !self.was_long {
            return std::mem::replace(&mut self.bytes, Vec::with_capacity(length)).into();
        }
        self.slabs.join(length, [&std::mem::take(&mut self.bytes)[..]])
    }
}

/// A number that changes every few milliseconds and costs nothing to look at.
fn tick() -> i64 {
    let time = clock_gettime(ClockId::MonotonicCoarse);
    time.tv_sec.wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_of_any_sizes_come_out_as_they_went_in(records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..40)) {
            let format = FormatId::from_bytes([3; 16]);
            let mut pending = Pending::new(format, Slabs::new());
            for record in &records {
                pending.write(|bytes| { bytes.extend_from_slice(record); Ok(()) }).unwrap();
            }
            let (_, bodies) = pending.take().unwrap();
            prop_assert!(pending.is_empty() && pending.take().is_none());
            let found: Vec<Vec<u8>> = bodies.iter().map(<[u8]>::to_vec).collect();
            prop_assert_eq!(found, records);
        }
    }

    #[test]
    fn many_records_are_a_full_batch() {
        let mut pending = Pending::new(FormatId::from_bytes([3; 16]), Slabs::new());
        for _ in 0..WAVES {
            pending
                .write(|bytes| {
                    bytes.push(1);
                    Ok(())
                })
                .unwrap();
        }
        assert!(pending.is_full());
    }

    #[derive(Record)]
    struct Numbers {
        numbers: Vec<u64>,
    }

    #[test]
    fn long_and_short_records_follow_each_other_as_they_were_added() {
        let mut pending = Pending::new(Numbers::format().id(), Slabs::new());
        for batch in [&[20_000][..], &[20_000], &[20_000, 3], &[3, 20_000], &[20_000], &[5]] {
            let mut expected = Vec::new();
            for length in batch {
                let record = Numbers { numbers: (0..*length).collect() };
                pending.add(&record).unwrap();
                let mut body = Vec::new();
                encode_body_into(&record, &mut body).unwrap();
                expected.push(body);
            }
            let found: Vec<Vec<u8>> = pending.take().unwrap().1.iter().map(<[u8]>::to_vec).collect();
            assert_eq!(found, expected, "{batch:?}");
        }
    }
}
