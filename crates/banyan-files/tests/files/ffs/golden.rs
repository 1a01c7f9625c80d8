//! The files that FFS's own test programs wrote on other machines.

use std::path::PathBuf;

use banyan_files::ffs::{Attribute, AttributeValue, Entry, Indexed, Reader, is_ffs};
use banyan_ndr::{ByteOrder, PointerWidth, Value};

use super::value::{get, value_of};
use super::{entries, records};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ffs").join(name)
}

pub(crate) fn file(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap()
}

pub(crate) const STREAMS: [&str; 5] = [
    "context_test_output.arm6l.bin",
    "context_test_output.s390x.bin",
    "context_test_output.sun8.bin",
    "context_test_output.ub12-64.bin",
    "context_test_output.win32.bin",
];

pub(crate) const FILES: [&str; 5] = [
    "file_output.s390x.bin",
    "file_output.sun8.bin",
    "file_output.ub12-64.bin",
    "file_output.win32.bin",
    "index_output.s390x.bin",
];

fn values(name: &str) -> Vec<(String, Value)> {
    records(&file(name)).iter().map(|record| (record.format.name().to_owned(), value_of(record))).collect()
}

#[test]
fn every_stream_has_its_15_formats_and_36_records_and_an_end() {
    for name in STREAMS {
        let bytes = file(name);
        assert!(is_ffs(&bytes), "{name}");
        let entries = entries(&bytes);
        let formats = entries.iter().filter(|entry| matches!(entry, Entry::Format(_))).count();
        let records = entries.iter().filter(|entry| matches!(entry, Entry::Record(_))).count();
        assert_eq!((formats, records), (15, 36), "{name}");
        assert!(matches!(entries.last(), Some(Entry::End)), "{name}");
    }
}

#[test]
fn every_file_has_its_32_records_and_its_comment() {
    for name in FILES {
        let bytes = file(name);
        assert!(is_ffs(&bytes), "{name}");
        let entries = entries(&bytes);
        let records = entries.iter().filter(|entry| matches!(entry, Entry::Record(_))).count();
        let comments: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Comment(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(records, 32, "{name}");
        assert_eq!(comments, ["this is another comment in the file"], "{name}");
    }
}

#[test]
fn a_file_is_read_the_same_from_disk_and_from_memory() {
    let from_disk = Reader::open(path(FILES[0])).unwrap().map(Result::unwrap).count();
    assert_eq!(from_disk, entries(&file(FILES[0])).len());
}

#[test]
fn records_are_equal_whatever_machine_wrote_them() {
    for group in [STREAMS, FILES] {
        let expected = values(group[0]);
        for name in &group[1..] {
            for (number, (found, expected)) in values(name).iter().zip(&expected).enumerate() {
                assert_eq!(found, expected, "record {number} of {name}");
            }
        }
    }
}

#[test]
fn formats_tell_the_machine_that_wrote_them() {
    let machines = [
        (ByteOrder::Little, PointerWidth::Four),
        (ByteOrder::Big, PointerWidth::Eight),
        (ByteOrder::Big, PointerWidth::Four),
        (ByteOrder::Little, PointerWidth::Eight),
        (ByteOrder::Little, PointerWidth::Four),
    ];
    for (name, machine) in STREAMS.iter().zip(machines) {
        for record in records(&file(name)) {
            assert_eq!((record.format.order(), record.format.pointer()), machine, "{name}");
        }
    }
}

#[test]
fn values_are_those_the_test_programs_wrote() {
    for name in STREAMS {
        let values = values(name);
        let all = |format: &str| -> Vec<&Value> {
            values.iter().filter(|(name, _)| name == format).map(|(_, value)| value).collect()
        };
        let first = all("first format");
        assert_eq!(*get(first[0], "integer field"), Value::Int(14));
        assert_eq!(*get(first[0], "double field"), Value::F64(2.717));
        assert_eq!(*get(first[0], "char field"), Value::Char('A'));
        assert_eq!(*get(first[1], "double field"), Value::F64(2.717 * 3.0));

        let structured = all("structured array format");
        assert_eq!(*get(structured[0], "earray/2/string field"), Value::Str("string10".into()));
        assert_eq!(*get(structured[0], "earray/3/dfield"), Value::F64(1.0));

        let strings = all("string format");
        assert_eq!(*get(strings[0], "string field"), Value::Str("testing".into()));
        assert_eq!(*get(strings[1], "string field"), Value::Null);
        assert_eq!(*get(strings[0], "long field"), Value::Int(987_234));

        let two = all("two string format");
        assert_eq!(*get(two[0], "uint field"), Value::Int(0xf7e5_89ce));
        assert_eq!(*get(two[0], "ulong field"), Value::Int(0xec9d_d130));
        assert_eq!(*get(two[1], "enum field"), Value::Int(1));

        let nested = all("nested format");
        assert_eq!(*get(nested[0], "nested record/string field"), Value::Str("Another string".into()));

        let arrays = all("internal array format");
        assert_eq!(*get(arrays[0], "int_array/13"), Value::Int(310));
        assert_eq!(*get(arrays[0], "ifield"), Value::Int(-310));
        assert_eq!(*get(arrays[0], "double field/1/0"), Value::F64(3.0));

        let variant = all("variant array format");
        assert_eq!(*get(variant[3], "icount"), Value::Int(32));
        assert_eq!(*get(variant[3], "var_string_array/31/string field"), Value::Str("substring31".into()));
        assert_eq!(*get(variant[3], "var_double_array/31"), Value::F64(2.717 * 31.0));
        assert_eq!(*get(variant[3], "var_int_array/31"), Value::Int(328));

        let texts = all("string_array");
        assert_eq!(*get(texts[0], "base_string"), Value::Null);
        assert_eq!(*get(texts[1], "base_string"), Value::Str("Whoa there!".into()));
        assert_eq!(*get(texts[1], "array/2"), Value::Str("defgh".into()));

        let multi = all("multi_array");
        assert_eq!(*get(multi[0], "double_array/1/0/1/1"), Value::F64(1011.0));
        assert_eq!(*get(multi[0], "int_array3/3/2/1"), Value::Int(3210));

        let derive = all("Channel Derive");
        assert_eq!(*get(derive[0], "client_channel_id/id/11"), Value::Char('\u{3}'));
        assert_eq!(*get(derive[0], "format_list/0/field_list/4/field_name"), Value::Str("g".into()));
        assert_eq!(*get(derive[0], "init_data_block"), Value::List(vec![]));

        let triangle = all("triangle_param");
        assert_eq!(*get(triangle[0], "mesh_data/4/compressed_data/4"), Value::Int(48));
    }
}

#[test]
fn an_index_lists_every_record_and_gives_it_its_attributes() {
    let entries = entries(&file("index_output.s390x.bin"));
    let listed: Vec<u64> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Index(index) => Some(index),
            _ => None,
        })
        .flat_map(|index| &index.elements)
        .filter(|element| element.kind == Indexed::Record)
        .map(|element| element.offset)
        .collect();
    let records: Vec<_> = entries
        .iter()
        .filter_map(|entry| match entry {
            Entry::Record(record) => Some(record),
            _ => None,
        })
        .collect();
    assert_eq!(listed, records.iter().map(|record| record.offset).collect::<Vec<_>>());
    let int = |id, value| Attribute { id, value: AttributeValue::Int(value) };
    assert_eq!(records[0].attributes, [int(0x0b14_c5ce, 5), int(0x4018_1d60, 1)]);
    assert_eq!(records[2].attributes, [int(0x4018_1d60, 4)]);
}
