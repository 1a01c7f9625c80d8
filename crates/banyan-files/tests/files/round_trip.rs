//! What is written is read back, from memory, maps and streams.

use std::io::IoSlice;

use banyan_files::{Durability, ReadError, Reader, Writer, WriterOptions};
use proptest::prelude::*;

use super::oracle;
use super::samples::{
    Sample, all, all_of_stream, any_sample, numbered, open, pair, small_blocks, small_file, tick_at, write,
};

proptest! {
    #[test]
    fn records_come_back_from_memory_and_from_a_stream(
        samples in prop::collection::vec(any_sample(), 0..120),
        block_bytes in 1_usize..2000,
    ) {
        let file = write(&samples, small_blocks().block_bytes(block_bytes));
        let reader = open(&file);
        prop_assert!(reader.is_indexed() && reader.is_finished());
        prop_assert_eq!(reader.len(), samples.len() as u64);
        prop_assert_eq!(all(&reader), numbered(&samples));
        prop_assert_eq!(reader.verify(), []);
        prop_assert_eq!(all_of_stream(&file), (numbered(&samples), vec![]));
        for (number, sample) in numbered(&samples) {
            prop_assert_eq!(Sample::from(reader.record(number).unwrap()), sample);
        }
        let (from, missing) = (samples.len() as u64 / 3, samples.len() as u64);
        prop_assert!(reader.records(from).map(|record| record.number).eq(from..missing));
        let refused = matches!(reader.record(missing), Err(ReadError::NoSuchRecord { .. }));
        prop_assert!(refused);
    }

    #[test]
    fn a_file_reads_the_same_with_and_without_its_index(samples in prop::collection::vec(any_sample(), 0..80)) {
        let file = write(&samples, small_blocks());
        let (with, without) = (open(&file), open(oracle::without_index(&file)));
        prop_assert!(with.is_indexed() && !without.is_indexed() && !without.is_finished());
        prop_assert_eq!(all(&with), all(&without));
        prop_assert!(with.formats().eq(without.formats()));
        let rows = |reader: &Reader| reader.records(0).map(|r| (r.offset, r.time)).collect::<Vec<_>>();
        prop_assert_eq!(rows(&with), rows(&without));
    }

    #[test]
    fn bodies_in_parts_are_written_whole(
        body in any::<[u8; 16]>(), cuts in prop::array::uniform2(0_usize..=16), block_bytes in 1_usize..64,
    ) {
        let (low, high) = (cuts[0].min(cuts[1]), cuts[0].max(cuts[1]));
        let mut writer = Writer::stream(Vec::new(), small_blocks().block_bytes(block_bytes)).unwrap();
        let parts = [IoSlice::new(&body[..low]), IoSlice::new(&body[low..high]), IoSlice::new(&body[high..])];
        writer.write_parts(&pair(), &parts).unwrap();
        let file = writer.finish().unwrap();
        let reader = open(&file);
        prop_assert_eq!(reader.record(0).unwrap().body, body);
    }
}

#[test]
fn bodies_are_aligned_in_what_is_read_of_a_file_and_in_memory() {
    let (bytes, samples) = small_file();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    std::fs::write(&path, &bytes).unwrap();
    for reader in [Reader::open(&path).unwrap(), open(&bytes), Reader::read(&bytes[..]).unwrap()] {
        for record in reader.records(0) {
            assert_eq!(record.body.as_ptr().addr() % 16, 0);
            assert_eq!(record.offset % 16, 0);
            let again = reader.record(record.number).unwrap();
            assert_eq!(record.body.as_ptr(), again.body.as_ptr(), "the body is viewed, not copied");
            assert!(record.offset as usize + record.body.len() <= bytes.len());
        }
        assert_eq!(all(&reader), numbered(&samples));
    }
}

#[test]
fn comments_and_attributes_are_kept_with_their_place() {
    let (bytes, _) = small_file();
    let reader = open(&bytes);
    let [comment] = reader.comments() else { panic!("one comment") };
    assert_eq!((comment.before_record, comment.text.as_str()), (9, "half of it"));
    assert_eq!(reader.attributes()["host"], "n17");
    let names: Vec<_> = reader.formats().map(|format| format.name().to_owned()).collect();
    assert_eq!(names, ["tick", "blob", "pair"]);
}

#[test]
fn every_durability_policy_writes_the_same_records() {
    let directory = tempfile::tempdir().unwrap();
    let samples: Vec<_> = (0..200).map(tick_at).collect();
    for durability in [
        Durability::None,
        Durability::FlushBlocks,
        Durability::SyncOnClose,
        Durability::SyncEvery(std::time::Duration::ZERO),
        Durability::SyncEveryBlock,
    ] {
        let path = directory.path().join("records");
        let mut writer = Writer::create(&path, small_blocks().durability(durability)).unwrap();
        for sample in &samples {
            writer.write_body(&sample.format, &sample.body).unwrap();
        }
        writer.finish().unwrap();
        assert_eq!(all(&Reader::open(&path).unwrap()), numbered(&samples));
    }
}

#[test]
fn a_body_that_is_none_of_its_format_is_refused_and_the_writer_goes_on() {
    let mut writer = Writer::stream(Vec::new(), WriterOptions::default()).unwrap();
    let error = writer.write_body(&pair(), &[0; 15]).unwrap_err();
    assert_eq!(error.to_string(), "the body has 15 bytes, format pair takes 16");
    writer.write_body(&pair(), &[7; 16]).unwrap();
    assert_eq!(open(&writer.finish().unwrap()).len(), 1);
}

#[test]
fn a_dropped_writer_leaves_a_finished_file() {
    let mut file = Vec::new();
    Writer::stream(&mut file, WriterOptions::default()).unwrap().write_body(&pair(), &[7; 16]).unwrap();
    assert!(open(&file).is_finished());
}
