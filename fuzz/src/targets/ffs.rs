//! FFS files: every record found in them is a record to the rest of the crate.

use banyan_ndr::ffs::{Entry, Reader};
use banyan_ndr::{DynRecord, Limits};

pub(crate) fn target(bytes: &[u8]) {
    let Ok(reader) = Reader::from_bytes(bytes) else { return };
    // An error in one block is not the end: the next may be sound.
    for entry in reader.flatten() {
        let Entry::Record(record) = entry else { continue };
        let read = DynRecord::from_body(&record.format, &record.body, &Limits::default());
        if let Ok(read) = read {
            read.to_body().expect("what was read can be written");
        }
    }
}
