//! The filter of streams that ask for none: all records of a wave in one, with who sent each.
//!
//! The record describes itself: the formats of what it holds travel in it, each once, so that whoever has it can read
//! it. Members need not send records of one format.

use std::sync::LazyLock;

use banyan_ndr::{
    Buffer, ByteOrder, ConvertOptions, DecodeError, DefId, Definition, Field, Format, FormatId, Limits, Plan,
    PointerWidth, RecordDef, Type,
};

use super::body::{Reader, Writer};
use super::{Fault, Filter, FilterError, FilterRole, Output, Part, Recovery, ReduceError};

/// The name of the filter.
pub const COLLECT: &str = "collect";

/// Bytes of all records of one wave. More is no wave that a front-end waits for in one piece; a filter can make it less.
const MOST_BYTES: usize = 256 << 20;

/// Formats in one wave.
const MOST_FORMATS: usize = 256;

/// Places in the record, in the layout of this machine.
struct CollectLayout {
    format: Format,
    formats: usize,
    records: usize,
    /// Bytes of an entry, and places in it.
    size: usize,
    rank: usize,
    number: usize,
    body: usize,
}

/// Bytes of one reference to bytes.
const SPAN: usize = 2 * PointerWidth::NATIVE.bytes();

static LAYOUT: LazyLock<CollectLayout> = LazyLock::new(|| {
    let list = |item| Type::List { item: Box::new(item) };
    let number = Type::Int { width: 4, signed: false };
    let root =
        vec![Field::new("formats", 0, list(Type::Bytes)), Field::new("records", 0, list(Type::Record(DefId(1))))];
    let entry = vec![
        Field::new("rank", 0, number.clone()),
        Field::new("format", 0, number),
        Field::new("body", 0, Type::Bytes),
    ];
    let record = |name: &str, fields| Definition::Record(RecordDef { name: name.into(), size: 0, align: 0, fields });
    let definitions = vec![record("collected", root), record("entry", entry)];
    let format = Format::laid_out(ByteOrder::NATIVE, PointerWidth::NATIVE, definitions).expect("a valid description");
    let entry = format.record(DefId(1));
    let places: Vec<usize> = format.fields().iter().chain(&entry.fields).map(|field| field.offset as usize).collect();
    let [formats, records, rank, number, body] = places[..] else { unreachable!("there are five fields") };
    CollectLayout { formats, records, size: entry.size as usize, rank, number, body, format }
});

/// A record of one member, out of a wave that was collected.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Collected {
    /// Who sent it.
    pub rank: u32,
    /// Its format.
    pub format: Format,
    /// The record.
    pub body: Buffer,
}

impl Collected {
    /// The records of a wave, in the order of ranks.
    ///
    /// # Errors
    /// If the record is not what [`COLLECT`] makes.
    pub fn read(format: &Format, body: &[u8], limits: &Limits) -> Result<Vec<Collected>, Fault> {
        let mut converted = Buffer::new();
        let body = Foreign::default().native(format, body, &mut converted)?;
        let mut entries = Entries::default();
        entries.take_collected(&Reader::new(body))?;
        let formats = entries.formats.iter().map(|encoded| Format::decode(encoded, limits));
        let formats: Vec<Format> = formats.collect::<Result<_, _>>()?;
        let collected = |(rank, number, body): &(u32, u32, &[u8])| Collected {
            rank: *rank,
            format: formats[*number as usize].clone(),
            body: Buffer::from_slice(body),
        };
        Ok(entries.records.iter().map(collected).collect())
    }
}

/// The filter.
#[derive(Debug, Default)]
pub(super) struct Collect {
    foreign: Foreign,
    converted: Vec<Buffer>,
}

impl Filter for Collect {
    fn wave(&mut self, parts: &[Part<'_>], _: FilterRole, out: &mut Output) -> Result<(), FilterError> {
        let refused = |part: &Part<'_>, fault| ReduceError::Part { members: part.members.clone(), fault };
        self.converted.resize_with(parts.len(), Buffer::new);
        let mut entries = Entries::default();
        for (part, converted) in parts.iter().zip(&mut self.converted) {
            let taken = match (part.is_partial, part.members.first()) {
                (true, _) => {
                    let body = self.foreign.native(part.format, part.body, converted);
                    body.and_then(|body| entries.take_collected(&Reader::of_members(body, part.members)))
                }
                (false, Some(rank)) if part.members.last() == Some(rank) => {
                    entries.take(rank, part.format.encoded(), part.body)
                }
                (false, _) => Err(Fault::Members(part.members.len())),
            };
            taken.map_err(|fault| refused(part, fault))?;
        }
        entries.records.sort_by_key(|(rank, ..)| *rank);
        entries.write(out.add(&LAYOUT.format));
        Ok(())
    }

    fn verify(&mut self, part: &Part<'_>) -> Result<(), FilterError> {
        let mut converted = Buffer::new();
        let Ok(body) = self.foreign.native(part.format, part.body, &mut converted) else { return Ok(()) };
        match Entries::default().take_collected(&Reader::of_members(body, part.members)) {
            Err(fault @ Fault::Stranger(_)) => Err(ReduceError::Part { members: part.members.clone(), fault }.into()),
            _ => Ok(()),
        }
    }

    fn recovery(&self) -> Recovery {
        Recovery::Recomputed
    }
}

/// The way from the layout of another machine, remembered from wave to wave.
#[derive(Debug, Default)]
struct Foreign(Option<(FormatId, Plan)>);

impl Foreign {
    /// The body in the layout of this machine, of which the fixed part is there.
    fn native<'b>(&mut self, format: &Format, body: &'b [u8], converted: &'b mut Buffer) -> Result<&'b [u8], Fault> {
        let ours = &LAYOUT.format;
        let body = if format.id() == ours.id() {
            body
        } else {
            if self.0.as_ref().is_none_or(|(known, _)| *known != format.id()) {
                self.0 = Some((format.id(), Plan::new(format, ours, &ConvertOptions::default())?));
            }
            let Some((_, plan)) = &self.0 else { return Err(Fault::partial("it has no format")) };
            plan.convert(body, converted)?;
            &converted[..]
        };
        match body.len() < ours.size() {
            true => Err(DecodeError::Size { found: body.len(), wanted: ours.size() }.into()),
            false => Ok(body),
        }
    }
}

/// What a wave holds so far.
#[derive(Default)]
struct Entries<'a> {
    formats: Vec<&'a [u8]>,
    /// Rank, number of the format, body.
    records: Vec<(u32, u32, &'a [u8])>,
    bytes: usize,
}

impl<'a> Entries<'a> {
    fn take(&mut self, rank: u32, format: &'a [u8], body: &'a [u8]) -> Result<(), Fault> {
        let number = self.number(format)?;
        self.push(rank, number, body)
    }

    /// Takes what another node has collected.
    fn take_collected(&mut self, from: &Reader<'a>) -> Result<(), Fault> {
        let (first, count) = from.list(LAYOUT.formats, SPAN)?;
        if count > MOST_FORMATS {
            return Err(too_many(count));
        }
        let mut numbers = Vec::with_capacity(count);
        for index in 0..count {
            numbers.push(self.number(from.bytes(first + index * SPAN)?)?);
        }
        let (first, count) = from.list(LAYOUT.records, LAYOUT.size)?;
        for index in 0..count {
            let at = first + index * LAYOUT.size;
            let number = numbers.get(from.u32(at + LAYOUT.number) as usize);
            let number = *number.ok_or_else(|| Fault::partial("a record has a format that is not there"))?;
            self.push(from.rank(at + LAYOUT.rank)?, number, from.bytes(at + LAYOUT.body)?)?;
        }
        Ok(())
    }

    fn push(&mut self, rank: u32, number: u32, body: &'a [u8]) -> Result<(), Fault> {
        self.bytes += body.len() + LAYOUT.size;
        if self.bytes > MOST_BYTES {
            return Err(Fault::Collected { what: "bytes of one wave", found: self.bytes, limit: MOST_BYTES });
        }
        self.records.push((rank, number, body));
        Ok(())
    }

    /// The number of a format, which is entered if it is new.
    fn number(&mut self, format: &'a [u8]) -> Result<u32, Fault> {
        if let Some(number) = self.formats.iter().position(|known| *known == format) {
            return Ok(number as u32);
        }
        if self.formats.len() >= MOST_FORMATS {
            return Err(too_many(self.formats.len() + 1));
        }
        self.formats.push(format);
        Ok(self.formats.len() as u32 - 1)
    }

    fn write(&self, out: &mut Buffer) {
        let mut out = Writer::new(out, LAYOUT.format.size());
        out.blobs(LAYOUT.formats, self.formats.iter().copied());
        let first = out.reserve(LAYOUT.records, self.records.len(), LAYOUT.size);
        for (index, (rank, number, body)) in self.records.iter().enumerate() {
            let at = first + index * LAYOUT.size;
            out.put(at + LAYOUT.rank, rank.to_ne_bytes());
            out.put(at + LAYOUT.number, number.to_ne_bytes());
            out.bytes(at + LAYOUT.body, body);
        }
    }
}

#[cold]
fn too_many(found: usize) -> Fault {
    Fault::Collected { what: "formats in one wave", found, limit: MOST_FORMATS }
}
