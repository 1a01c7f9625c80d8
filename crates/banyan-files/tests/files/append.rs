//! Continuing files, whole and torn, and refusing a second writer.

use banyan_files::{ReadError, Reader, WriteError, Writer};
use proptest::prelude::*;

use super::oracle;
use super::samples::{Sample, all, any_sample, numbered, small_blocks, small_file, tick_at};

fn append(path: &std::path::Path, samples: &[Sample]) {
    let mut writer = Writer::append(path, small_blocks()).unwrap();
    for sample in samples {
        writer.write_body(&sample.format, &sample.body).unwrap();
    }
    writer.finish().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::effort::share(32)))]

    #[test]
    fn a_file_written_in_several_sessions_reads_as_one(
        sessions in prop::collection::vec(prop::collection::vec(any_sample(), 0..20), 1..6),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("records");
        for session in &sessions {
            append(&path, session);
        }
        let reader = Reader::open(&path).unwrap();
        prop_assert!(reader.is_indexed(), "the indexes of all sessions are chained");
        prop_assert_eq!(all(&reader), numbered(&sessions.concat()));
        prop_assert_eq!(reader.verify(), []);
    }
}

#[test]
fn a_file_torn_anywhere_is_continued_behind_its_last_complete_block() {
    let (file, samples) = small_file();
    let blocks = oracle::blocks(&file);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    let more = [tick_at(1000), tick_at(1001)];
    for len in (0..=file.len()).step_by(7) {
        std::fs::write(&path, &file[..len]).unwrap();
        let complete = blocks.iter().take_while(|block| block.bytes.end <= len).last();
        let end = complete.map_or(if len < 32 { 0 } else { 32 }, |block| block.bytes.end);
        let mut writer = Writer::append(&path, small_blocks()).unwrap();
        assert_eq!(writer.recovered().map(|torn| torn.offset), (end < len).then_some(end as u64));
        for sample in &more {
            writer.write_body(&sample.format, &sample.body).unwrap();
        }
        writer.finish().unwrap();

        let reader = Reader::open(&path).unwrap();
        let kept = complete.map_or(0, |block| block.records.end as usize);
        assert_eq!(all(&reader), numbered(&[&samples[..kept], &more].concat()), "torn at {len}");
        assert_eq!(reader.verify(), []);
        assert!(reader.is_indexed() && reader.is_finished());
    }
}

#[test]
fn a_format_whose_description_is_lost_is_never_confused_with_a_later_one() {
    let (file, samples) = small_file();
    let file = oracle::without_index(&file);
    let blocks = oracle::blocks(file);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    for lost in blocks.iter().filter(|block| block.kind == oracle::FORMAT) {
        let mut damaged = file.to_vec();
        damaged[lost.bytes.start + 90] ^= 1;
        std::fs::write(&path, &damaged).unwrap();
        append(&path, &samples);
        let reader = Reader::open(&path).unwrap();
        let expected: Vec<_> = [&samples[..], &samples[..]].concat();
        for (number, sample) in all(&reader) {
            assert_eq!(sample, expected[number as usize]);
        }
        assert!(reader.records(samples.len() as u64).count() == samples.len());
        assert!(!reader.verify().is_empty());
    }
}

#[test]
fn a_second_writer_is_refused_until_the_first_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    let first = Writer::create(&path, small_blocks()).unwrap();
    let refused = Writer::append(&path, small_blocks()).unwrap_err();
    assert!(matches!(refused, WriteError::Locked { .. }), "{refused}");
    assert!(refused.to_string().contains("another writer has this record file open"));
    assert!(matches!(Writer::create(&path, small_blocks()), Err(WriteError::Locked { .. })));
    first.finish().unwrap();
    append(&path, &[tick_at(1)]);
}

#[test]
fn a_replaced_file_stays_readable_for_who_has_it_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    append(&path, &[tick_at(1)]);
    let old = Reader::open(&path).unwrap();
    Writer::create(&path, small_blocks()).unwrap().finish().unwrap();
    assert_eq!(all(&old), numbered(&[tick_at(1)]));
    assert!(Reader::open(&path).unwrap().is_empty());
}

#[test]
fn what_is_no_record_file_is_not_appended_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    std::fs::write(&path, "not records").unwrap();
    let refused = Writer::append(&path, small_blocks()).unwrap_err();
    assert!(matches!(refused, WriteError::Read(ReadError::NotARecordFile { .. })));
    assert_eq!(std::fs::read(&path).unwrap(), b"not records");
    assert!(matches!(Writer::create(directory.path(), small_blocks()), Err(WriteError::NotAFile { .. })));
}

#[test]
fn a_writer_whose_destination_failed_writes_nothing_more() {
    struct Full(usize);
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::stream(Full(400), small_blocks()).unwrap();
    let mut results = (0..100).map(|time| writer.write_body(&tick_at(time).format, &tick_at(time).body));
    assert!(matches!(results.find(Result::is_err), Some(Err(WriteError::Io(_)))));
    drop(results);
    assert!(matches!(writer.flush(), Err(WriteError::Failed)) || writer.finish().is_err());
}
