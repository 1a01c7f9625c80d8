//! FFS files: every record found in them is a record to the rest of the crate.

use banyan_files::ffs::{Entry, Reader};
use banyan_ndr::{DynRecord, Limits};

/// Records of one input that are read as values. The files that inputs begin from have many of the same formats, and
/// more of them find nothing new.
const MOST: usize = 8;

pub(crate) fn target(bytes: &[u8]) {
    let Ok(reader) = Reader::from_bytes(bytes) else { return };
    // An error in one block is not the end: the next may be sound.
    let records = reader.flatten().filter_map(|entry| match entry {
        Entry::Record(record) => Some(record),
        _ => None,
    });
    for record in records.take(MOST) {
        let read = DynRecord::from_body(&record.format, &record.body, &Limits::default());
        if let Ok(read) = read {
            read.to_body().expect("what was read can be written");
        }
    }
}
