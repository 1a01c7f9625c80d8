//! Record files: whatever the bytes, the reader finds records that lie in them, or says what is lost.

use banyan_files::{Reader, StreamReader};
use banyan_ndr::{Buffer, DynRecord, Limits};

pub(crate) fn target(bytes: &[u8]) {
    if let Ok(reader) = Reader::from_bytes(Buffer::from_slice(bytes)) {
        for record in reader.records(0) {
            let start = usize::try_from(record.offset).expect("a place in the file");
            assert_eq!(record.body, &bytes[start..][..record.body.len()]);
            let _ = DynRecord::from_body(&record.format, record.body, &Limits::default());
        }
        reader.seek_time(..).for_each(drop);
        let _ = (reader.verify(), reader.damage());
        for number in [0, 1, reader.len(), u64::MAX / 2, u64::MAX] {
            let _ = reader.record(number);
        }
    }
    let Ok(mut stream) = StreamReader::new(bytes) else { return };
    while let Ok(Some(record)) = stream.next() {
        assert!(record.format.fits(record.body.len()));
    }
    let _ = stream.damage();
}
