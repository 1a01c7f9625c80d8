//! Format descriptions as FFS writes them, versions 0, 1 and 2, taken apart but not yet understood: names, types as
//! text, sizes and offsets.
//!
//! Everything is checked against the bytes there are; no text is copied more often than a few times its length.

use super::layout::Bytes;
use banyan_ndr::{ByteOrder, Limits, Order, PointerWidth};

/// A description: the root record, and the records it is made of.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) order: ByteOrder,
    pub(super) pointer: PointerWidth,
    pub(super) floats: FloatForm,
    /// Whether records state their length in eight bytes instead of four.
    pub(super) long_lengths: bool,
    /// The root first.
    pub(super) records: Vec<RecordDescription>,
}

/// One record of a description.
#[derive(Debug)]
pub(super) struct RecordDescription {
    pub(super) name: String,
    pub(super) size: u32,
    /// What the writer's compiler aligned it to; 0 when unknown.
    pub(super) align: u8,
    pub(super) order: Order,
    pub(super) fields: Vec<FieldDescription>,
}

/// One field of a record.
#[derive(Debug)]
pub(super) struct FieldDescription {
    pub(super) name: String,
    pub(super) ty: String,
    /// Bytes of one element.
    pub(super) size: u32,
    pub(super) offset: u32,
}

/// How a machine writes floating-point numbers, which need not be how it writes integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FloatForm {
    Big,
    Little,
    /// Little-endian words, the more significant one first: old Arm machines.
    Mixed,
}

/// Positions of what the versions have in different places, and of how many bytes.
struct Places {
    name: usize,
    count: usize,
    size: usize,
    pointer: usize,
    header: usize,
    floats: usize,
    order: usize,
    align: usize,
    field: usize,
    /// Name and type offsets, the count and the name take four bytes instead of two.
    wide: bool,
}

const NARROW: Places = Places {
    name: 6,
    count: 8,
    size: 12,
    pointer: 4,
    header: 5,
    floats: 10,
    order: 18,
    align: 19,
    field: 12,
    wide: false,
};
const WIDE: Places = Places {
    name: 4,
    count: 8,
    size: 12,
    pointer: 16,
    header: 17,
    floats: 18,
    order: 22,
    align: 23,
    field: 16,
    wide: true,
};

/// Bytes before the first record of a description.
const HEAD: usize = 8;

/// How often a text may be mentioned, on average, before the description is taken for an attempt to exhaust memory.
const TEXT_USES: usize = 4;

impl Description {
    pub(super) fn read(bytes: &[u8], limits: &Limits) -> Result<Description, String> {
        let whole = Bytes::big(bytes);
        let inner = need(whole.u8(4))?;
        let mut parser = Parser { limits, text_left: bytes.len().saturating_mul(TEXT_USES) };
        let mut at = HEAD;
        let mut records = Vec::new();
        let mut machine = None;
        for _ in 0..=inner {
            let len = need(record_len(whole, at))?;
            let (record, its_machine) = parser.record(need(whole.slice(at, len))?)?;
            if *machine.get_or_insert(its_machine) != its_machine {
                return Err(format!("{}: another machine or version than the root's", record.name));
            }
            records.push(record);
            at += len;
        }
        let Machine { order, pointer, floats, version } = need(machine)?;
        Ok(Description { order, pointer, floats, long_lengths: version >= 2, records })
    }
}

/// What all records of one description have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Machine {
    order: ByteOrder,
    pointer: PointerWidth,
    floats: FloatForm,
    version: u8,
}

/// What every absent byte comes down to.
fn need<T>(found: Option<T>) -> Result<T, String> {
    found.ok_or_else(|| "it ends too early, or refers to what lies behind its end".into())
}

/// The length of the record at `at`: the one number that is big-endian on every machine. Later versions have its
/// upper half elsewhere.
fn record_len(whole: Bytes<'_>, at: usize) -> Option<usize> {
    let low = u32::from(whole.u16(at)?);
    let high = if whole.u8(at + 2)? > 0 { u32::from(whole.u16(at + 24)?) } else { 0 };
    usize::try_from(high << 16 | low).ok()
}

fn offset(bytes: Bytes<'_>, at: usize, wide: bool) -> Result<usize, String> {
    need(if wide { bytes.size(at) } else { bytes.u16(at).map(usize::from) })
}

struct Parser<'l> {
    limits: &'l Limits,
    /// Bytes of text that may still be copied.
    text_left: usize,
}

impl Parser<'_> {
    fn record(&mut self, bytes: &[u8]) -> Result<(RecordDescription, Machine), String> {
        let (version, order) = need(bytes.get(2).zip(bytes.get(3)))?;
        let places = match version {
            0 => &NARROW,
            1 | 2 => &WIDE,
            _ => return Err(format!("version {version}; this program reads versions 0, 1 and 2")),
        };
        let order = if order & 1 == 1 { ByteOrder::Big } else { ByteOrder::Little };
        let bytes = Bytes { all: bytes, order };
        let name = self.text(bytes, offset(bytes, places.name, places.wide)?)?;
        let machine = read_machine(bytes, *version, places).map_err(|reason| format!("{name}: {reason}"))?;
        let fields = self.fields(bytes, *version, places).map_err(|reason| format!("{name}: {reason}"))?;
        let order = if need(bytes.u8(places.order))? == 0 { Order::Row } else { Order::Column };
        let (size, align) = (need(bytes.u32(places.size))?, need(bytes.u8(places.align))?);
        Ok((RecordDescription { name, size, align, order, fields }, machine))
    }

    fn fields(&mut self, bytes: Bytes<'_>, version: u8, places: &Places) -> Result<Vec<FieldDescription>, String> {
        let count = offset(bytes, places.count, places.wide)?;
        // Version 0 always has the same head; later ones say how long it is.
        let head = if version == 0 { 20 } else { usize::from(need(bytes.u8(places.header))?) };
        let table = need(count.checked_mul(places.field).and_then(|len| bytes.slice(head, len)))?;
        let step = if places.wide { 4 } else { 2 };
        let field = |entry| {
            let entry = Bytes { all: entry, order: bytes.order };
            Ok(FieldDescription {
                name: self.text(bytes, offset(entry, 0, places.wide)?)?,
                ty: self.text(bytes, offset(entry, step, places.wide)?)?,
                size: need(entry.u32(2 * step))?,
                offset: need(entry.u32(2 * step + 4))?,
            })
        };
        table.chunks_exact(places.field).map(field).collect()
    }

    fn text(&mut self, bytes: Bytes<'_>, at: usize) -> Result<String, String> {
        let text = need(bytes.text(at))?;
        let limit = self.limits.name_bytes;
        if text.len() > limit {
            return Err(format!("a text of {} bytes; the limit is {limit} (Limits::name_bytes)", text.len()));
        }
        self.text_left =
            self.text_left.checked_sub(text.len()).ok_or("its texts overlap so much that they exceed it")?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

fn read_machine(bytes: Bytes<'_>, version: u8, places: &Places) -> Result<Machine, String> {
    let pointer = match need(bytes.u8(places.pointer))? {
        4 => PointerWidth::Four,
        8 => PointerWidth::Eight,
        other => return Err(format!("pointers of {other} bytes")),
    };
    let floats = match (need(bytes.u16(places.floats))?, bytes.order) {
        (1, _) | (0, ByteOrder::Big) => FloatForm::Big,
        (2, _) | (0, ByteOrder::Little) => FloatForm::Little,
        (3, _) => FloatForm::Mixed,
        (other, _) => return Err(format!("floating-point numbers of unknown kind {other}")),
    };
    Ok(Machine { order: bytes.order, pointer, floats, version })
}
