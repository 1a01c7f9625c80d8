//! XML: what is accepted as a record of some format is a record, and reads the same once it was written as XML again.

use banyan_fuzz::{Bytes, format};
use banyan_ndr::{DynRecord, Limits};
use banyan_text::{from_xml, from_xml_skipping, to_xml};

pub(crate) fn target(bytes: &[u8]) {
    let mut input = Bytes(bytes);
    let Some(format) = format(&mut input) else { return };
    let Ok(text) = str::from_utf8(input.0) else { return };
    let limits = Limits::default();
    let _ = from_xml_skipping(&format, text, &limits);
    let Ok(record) = from_xml(&format, text, &limits) else { return };
    // Lengths that contradict their arrays are found only here.
    let Ok(body) = record.to_body() else { return };
    let read = DynRecord::from_body(&format, &body, &limits).expect("what was written can be read");
    let written = to_xml(&read).expect("it is no deeper than what was accepted");
    let again = from_xml(&format, &written, &limits).expect("what was written is accepted");
    assert_eq!(again.to_body().expect("as before")[..], body[..]);
}
