//! Reading while another thread writes: complete blocks only, each as soon as it is there.

use std::sync::mpsc;

use banyan_files::{ReadError, Reader, Writer};

use super::samples::{Sample, all, numbered, small_blocks, tick_at};
use crate::effort::share;

#[test]
fn a_reader_sees_what_a_writer_has_flushed_and_nothing_half_written() {
    let rounds = i64::from(share(50).max(5));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    let (flushed, arrivals) = mpsc::channel();
    let writing = path.clone();
    let writer = std::thread::spawn(move || {
        let mut writer = Writer::create(&writing, small_blocks()).unwrap();
        for round in 0..rounds {
            for i in 0..37 {
                let sample = tick_at(round * 37 + i);
                writer.write_body(&sample.format, &sample.body).unwrap();
            }
            writer.flush().unwrap();
            flushed.send(writer.records()).unwrap();
        }
        writer.finish().unwrap();
    });

    arrivals.recv().unwrap();
    let mut reader = Reader::open(&path).unwrap();
    for written in &arrivals {
        reader.refresh().unwrap();
        assert!(reader.len() >= written, "{} of {written}", reader.len());
        for record in reader.records(0) {
            assert_eq!(Sample::from(record), tick_at(record.number as i64));
        }
        assert_eq!(reader.records(0).count() as u64, reader.len());
    }
    writer.join().unwrap();
    reader.refresh().unwrap();
    assert!(reader.is_finished());
    assert_eq!(reader.len(), 37 * rounds as u64);
    assert_eq!(reader.verify(), []);
}

#[test]
fn a_file_that_grows_byte_by_byte_is_followed_block_by_block() {
    use std::io::Write;
    let (bytes, samples) = super::samples::small_file();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    let mut file = std::fs::File::create(&path).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    for byte in bytes.chunks(5) {
        file.write_all(byte).unwrap();
        reader.refresh().unwrap();
        assert_eq!(all(&reader), numbered(&samples[..reader.len() as usize]));
    }
    assert_eq!(reader.len(), samples.len() as u64);
    assert_eq!(reader.verify(), []);
}

#[test]
fn a_reader_notices_that_the_file_was_cut() {
    let (bytes, _) = super::samples::small_file();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    std::fs::write(&path, &bytes).unwrap();
    let mut reader = Reader::open(&path).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert!(matches!(reader.refresh(), Err(ReadError::Cut { now: 100, .. })));
}

/// Another program overwrites the file behind a reader's back. What the reader has checked and handed out stays.
#[test]
fn records_that_were_read_do_not_change_with_the_file() {
    let (bytes, samples) = super::samples::small_file();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    std::fs::write(&path, &bytes).unwrap();
    let reader = Reader::open(&path).unwrap();
    let before: Vec<_> = reader.records(0).collect();
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &vec![0xff; bytes.len()], 0).unwrap();
    file.set_len(0).unwrap();
    let seen: Vec<_> = before.into_iter().map(|record| (record.number, Sample::from(record))).collect();
    assert_eq!(seen, numbered(&samples));
    assert_eq!(all(&reader), numbered(&samples));
}
