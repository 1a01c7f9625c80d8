//! Files that are mapped instead of read.

use banyan_files::Reader;
use banyan_ndr::Limits;

use super::samples::{all, numbered};

#[test]
fn a_mapped_file_gives_the_same_records() {
    let (bytes, samples) = super::samples::small_file();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records");
    std::fs::write(&path, &bytes).unwrap();
    // SAFETY: nobody else knows the file.
    let mut reader = unsafe { Reader::map(&path, Limits::default()) }.unwrap();
    assert_eq!(all(&reader), numbered(&samples));
    assert_eq!(reader.refresh().unwrap(), 0);
    assert_eq!(reader.verify(), []);
}
