//! Damaged and malicious files: reading them ends, and takes no more memory than they have bytes, times a constant.

use banyan_files::ffs::{Entry, ErrorKind, Reader};
use banyan_ndr::Limits;

use super::build::{LITTLE, Record};
use super::golden::{FILES, STREAMS, file};
use crate::effort::share;

/// Reads everything there is and checks that no body outgrew the file it came from.
fn survive(bytes: &[u8]) -> usize {
    let Ok(reader) = Reader::from_bytes(bytes) else { return 0 };
    let mut records = 0;
    for entry in reader {
        if let Ok(Entry::Record(record)) = entry {
            assert!(record.body.len() <= 16 * bytes.len() + 4096);
            records += 1;
        }
    }
    records
}

/// Every byte of the first blocks, of which there are all kinds, and some of the rest: a file is read anew for each.
fn places(len: usize) -> impl Iterator<Item = usize> {
    let dense = if cfg!(miri) { 20 } else { share(1500) as usize }.min(len);
    (0..dense).chain((dense..len).step_by(if cfg!(miri) { 4999 } else { 149 }))
}

#[test]
fn a_file_cut_at_any_byte_gives_the_records_before_the_cut() {
    for name in [STREAMS[0], FILES[4]] {
        let bytes = file(name);
        let ends: Vec<u64> = Reader::from_bytes(&bytes)
            .unwrap()
            .filter_map(|entry| match entry {
                Ok(Entry::Record(record)) => Some(record.offset),
                _ => None,
            })
            .collect();
        for cut in places(bytes.len()) {
            let whole = survive(&bytes[..cut]);
            let begun = ends.iter().filter(|start| **start < cut as u64).count();
            assert!(whole == begun || whole + 1 == begun, "{name} cut at {cut}: {whole} of {begun}");
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    for name in [STREAMS[1], FILES[1], FILES[4]] {
        let mut bytes = file(name);
        bytes.truncate(2000);
        for at in places(bytes.len()) {
            let flip = if at % 2 == 0 { 0xff } else { 0x01 };
            bytes[at] ^= flip;
            survive(&bytes);
            bytes[at] ^= flip;
        }
    }
}

#[test]
fn arrays_that_all_lead_to_the_same_bytes_are_stopped() {
    let item: Record<'_> = ("item", 16, &[("n", "integer", 8, 0), ("data", "char[n]", 1, 8)]);
    let root: Record<'_> = ("root", 16, &[("count", "integer", 8, 0), ("items", "item[count]", 16, 8)]);
    let count = 2000;
    let mut contents = LITTLE.number(8, count);
    contents.extend(LITTLE.reference(16));
    for _ in 0..count {
        contents.extend(LITTLE.number(8, 16 * count));
        contents.extend(LITTLE.reference(16));
    }
    let stream = LITTLE.stream(&[root, item], &contents);
    let errors: Vec<_> = Reader::from_bytes(&stream).unwrap().filter_map(Result::err).collect();
    assert!(matches!(&errors[..], [error] if error.to_string().contains("overlap")), "{errors:?}");
}

#[test]
fn a_length_that_promises_much_allocates_nothing() {
    let mut file = vec![0x43, 0x56, 0xff, 0xa9];
    file.extend([3, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]);
    let error = Reader::from_bytes(&file).unwrap().next().unwrap().unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Truncated(_) | ErrorKind::Limit { .. }), "{error}");
    assert_eq!(error.offset, 4);
}

#[test]
fn a_huge_array_behind_a_pointer_is_refused_with_its_format() {
    let ty = format!("*integer{}", "[65536]".repeat(8));
    let stream = LITTLE.stream(&[("r", 8, &[("p", &ty, 4, 0)])], &LITTLE.reference(0));
    let error = Reader::from_bytes(&stream).unwrap().next().unwrap().unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Format(_)), "{error}");
}

#[test]
fn fields_that_repeat_one_long_name_do_not_exhaust_memory() {
    let long = "x".repeat(4000);
    let mut fields = vec![("a", "integer", 4, 0); 500];
    fields[0].0 = &long;
    let mut format = LITTLE.format(&[("r", 2000, &fields)]);
    // Let every entry of the table refer to the name of the first.
    let table = 8 + 12 + 8 + 28;
    let first: [u8; 4] = format[table..table + 4].try_into().unwrap();
    for entry in 1..500 {
        format[table + 16 * entry..][..4].copy_from_slice(&first);
    }
    let error = Reader::from_bytes(&format).unwrap().next().unwrap().unwrap_err();
    assert!(matches!(&error.kind, ErrorKind::Description(reason) if reason.contains("overlap")), "{error}");
}

#[test]
fn limits_hold_for_descriptions_and_records() {
    let stream = LITTLE.stream(&[("r", 8, &[("x", "integer", 8, 0)])], &[0; 8]);
    let read = |limits: Limits| {
        Reader::with_limits(&stream[..], limits).unwrap().collect::<Result<Vec<_>, _>>().map(|entries| entries.len())
    };
    assert_eq!(read(Limits::default()).unwrap(), 2);
    let description = stream.len() - 4 - 4 - 12 - 4 - 16 - 8;
    assert_eq!(read(Limits::default().format_bytes(description)).unwrap(), 2);
    assert!(read(Limits::default().format_bytes(description - 1)).is_err());
    assert!(read(Limits::default().body_bytes(7)).is_err());
    assert!(read(Limits::default().formats(0)).is_err());
}
