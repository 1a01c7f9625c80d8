//! Reading FFS files: golden ones of five architectures, made-up ones for what those do not hold, and damaged ones.

mod build;
mod golden;
mod hostile;
mod shapes;
mod value;

use banyan_files::ffs::{Entry, Error, FfsRecord, Reader};
use banyan_ndr::{DynRecord, Limits};

/// Everything a file holds; the test fails when any of it is damaged.
fn entries(bytes: &[u8]) -> Vec<Entry> {
    let reader = Reader::from_bytes(bytes).expect("an FFS file");
    reader.collect::<Result<Vec<_>, Error>>().expect("no damage")
}

/// The records of a file, each of which must also be a record to the rest of the crate.
fn records(bytes: &[u8]) -> Vec<FfsRecord> {
    let records = entries(bytes).into_iter().filter_map(|entry| match entry {
        Entry::Record(record) => Some(record),
        _ => None,
    });
    records
        .inspect(|record| {
            let checked = DynRecord::from_body(&record.format, &record.body, &Limits::default()).expect("a valid body");
            checked.to_body().expect("values that can be written again");
        })
        .collect()
}
