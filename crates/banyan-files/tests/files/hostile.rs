//! Files made to mislead: checksums right, contents wrong. Nothing panics, nothing reads or allocates out of bounds.

use banyan_files::{Reader, StreamReader, WriterOptions};
use banyan_ndr::{Buffer, Limits};
use proptest::prelude::*;

use super::oracle;
use super::samples::{blob_at, open, small_file, write};

/// Makes the checksums of a block right again.
fn reseal(file: &mut [u8], at: usize, end: usize) {
    let payload = crc32c::crc32c(&file[at + 80..end]);
    file[at + 72..at + 76].copy_from_slice(&payload.to_le_bytes());
    let header = crc32c::crc32c(&file[at..at + 76]);
    file[at + 76..at + 80].copy_from_slice(&header.to_le_bytes());
}

fn exhaust(file: &[u8]) {
    let reader = open(file);
    let inside = |body: &[u8], offset: u64| offset as usize + body.len() <= file.len();
    for record in reader.records(0) {
        assert!(inside(record.body, record.offset) && record.format.fits(record.body.len()));
        assert_eq!(record.body, &file[record.offset as usize..][..record.body.len()]);
    }
    reader.seek_time(..).for_each(drop);
    reader.verify();
    for number in [0, 1, 5, u64::MAX / 2, u64::MAX - 1] {
        let _ = reader.record(number);
    }
    let mut stream = StreamReader::new(file).unwrap();
    while let Some(record) = stream.next().unwrap() {
        assert!(inside(record.body, record.offset));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::effort::share(1000)))]

    #[test]
    fn a_block_with_any_contents_and_right_checksums_does_no_harm(
        which in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        word in prop_oneof![any::<u64>(), 0_u64..64, Just(u64::MAX), Just(u64::from(u32::MAX)), Just(1 << 63)],
        width in prop_oneof![Just(1_usize), Just(4), Just(8)],
    ) {
        let (mut file, _) = small_file();
        let blocks = oracle::blocks(&file);
        let block = which.get(&blocks);
        let place = block.bytes.start + 8 + at.index(block.bytes.len() - 16);
        file[place..place + width].copy_from_slice(&word.to_le_bytes()[..width]);
        reseal(&mut file, block.bytes.start, block.bytes.end);
        exhaust(&file);
    }

    #[test]
    fn any_bytes_behind_a_file_header_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let (file, _) = small_file();
        exhaust(&[&file[..32], &bytes].concat());
    }
}

#[test]
fn bodies_longer_than_the_limit_are_not_given_out() {
    let sample = blob_at(0.5, &[7; 100]);
    let file = write(std::slice::from_ref(&sample), WriterOptions::default());
    for (body_bytes, records) in [(sample.body.len(), 1), (sample.body.len() - 1, 0)] {
        let limits = Limits::default().body_bytes(body_bytes);
        let reader = Reader::from_bytes_with(Buffer::from_slice(&file), limits.clone()).unwrap();
        assert_eq!(reader.records(0).count(), records);
        let mut stream = StreamReader::with_limits(&file[..], limits).unwrap();
        assert_eq!(usize::from(stream.next().is_ok_and(|record| record.is_some())), records);
    }
}
