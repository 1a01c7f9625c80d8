//! Formats and records to write, and files of them.

use banyan_files::{Reader, RecordRef, StreamReader, Writer, WriterOptions};
use banyan_ndr::{Buffer, ByteOrder, Definition, Field, Format, PointerWidth, RecordDef, Type};
use proptest::prelude::*;

/// A record as a test knows it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) format: Format,
    pub(crate) body: Vec<u8>,
}

impl From<RecordRef<'_>> for Sample {
    fn from(record: RecordRef<'_>) -> Sample {
        Sample { format: record.format.clone(), body: record.body.to_vec() }
    }
}

fn record(name: &str, size: u32, fields: Vec<Field>, order: ByteOrder) -> Format {
    let root = Definition::Record(RecordDef { name: name.into(), size, align: 8, fields });
    Format::new(order, PointerWidth::Eight, vec![root]).unwrap()
}

/// A number of eight bytes, `time`.
pub(crate) fn tick() -> Format {
    record("tick", 8, vec![Field::new("time", 0, Type::Int { width: 8, signed: true })], ByteOrder::Little)
}

/// A float `time`, in the other byte order, and bytes of any length.
pub(crate) fn blob() -> Format {
    let fields = vec![Field::new("time", 0, Type::Float { width: 8 }), Field::new("data", 8, Type::Bytes)];
    record("blob", 24, fields, ByteOrder::Big)
}

/// A record without time.
pub(crate) fn pair() -> Format {
    let fields = (0..2).map(|i| Field::new(format!("n{i}"), 8 * i, Type::Int { width: 8, signed: false })).collect();
    record("pair", 16, fields, ByteOrder::Little)
}

pub(crate) fn tick_at(time: i64) -> Sample {
    Sample { format: tick(), body: time.to_le_bytes().to_vec() }
}

pub(crate) fn blob_at(time: f64, data: &[u8]) -> Sample {
    let mut body = time.to_be_bytes().to_vec();
    let target = if data.is_empty() { 0 } else { 24 + 16_u64 };
    body.extend_from_slice(&target.to_be_bytes());
    body.extend_from_slice(&(data.len() as u64).to_be_bytes());
    body.extend_from_slice(data);
    Sample { format: blob(), body }
}

pub(crate) fn any_sample() -> impl Strategy<Value = Sample> {
    prop_oneof![
        4 => (-50_i64..50).prop_map(tick_at),
        2 => (-50_i32..50, prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(time, data)| blob_at(f64::from(time) / 2.0, &data)),
        1 => Just(blob_at(f64::NAN, b"no time")),
        1 => any::<[u8; 16]>().prop_map(|body| Sample { format: pair(), body: body.to_vec() }),
    ]
}

/// Blocks so small that a few records make several.
pub(crate) fn small_blocks() -> WriterOptions {
    WriterOptions::default().time_field("time".to_owned()).block_bytes(96)
}

pub(crate) fn write(samples: &[Sample], options: WriterOptions) -> Vec<u8> {
    let mut writer = Writer::stream(Vec::new(), options).unwrap();
    for sample in samples {
        writer.write_body(&sample.format, &sample.body).unwrap();
    }
    writer.finish().unwrap()
}

/// Some records of all formats, a comment and an attribute, in a few kilobytes.
pub(crate) fn small_file() -> (Vec<u8>, Vec<Sample>) {
    let mut writer = Writer::stream(Vec::new(), small_blocks()).unwrap();
    let mut samples = Vec::new();
    for i in 0..14_i64 {
        let sample = match i % 6 {
            0 | 1 | 3 => tick_at(i),
            2 => blob_at(i as f64 + 0.5, &vec![i as u8; i as usize]),
            4 => Sample { format: pair(), body: vec![i as u8; 16] },
            _ => blob_at(-1.0, &[i as u8; 72]),
        };
        writer.write_body(&sample.format, &sample.body).unwrap();
        samples.push(sample);
        match i {
            4 => writer.attribute("host", "n17").unwrap(),
            8 => writer.comment("half of it").unwrap(),
            _ => {}
        }
    }
    (writer.finish().unwrap(), samples)
}

pub(crate) fn open(bytes: &[u8]) -> Reader {
    Reader::from_bytes(Buffer::from_slice(bytes)).unwrap()
}

/// All records that can be read, with their numbers.
pub(crate) fn all(reader: &Reader) -> Vec<(u64, Sample)> {
    reader.records(0).map(|record| (record.number, record.into())).collect()
}

/// The same from a stream.
pub(crate) fn all_of_stream(bytes: &[u8]) -> (Vec<(u64, Sample)>, Vec<banyan_files::Damage>) {
    let mut reader = StreamReader::new(bytes).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        records.push((record.number, record.into()));
    }
    (records, reader.damage())
}

pub(crate) fn numbered(samples: &[Sample]) -> Vec<(u64, Sample)> {
    (0..).zip(samples.iter().cloned()).collect()
}
