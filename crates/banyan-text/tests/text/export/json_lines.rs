//! Lines of JSON.

use banyan_ndr::{Format, Limits};
use banyan_text::export::{ImportError, JsonLines, write_json_line};
use proptest::prelude::*;

use super::records;
use super::samples::{body, format, record};
use crate::support::records::comparable;

fn lines(format: &Format, bodies: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for body in bodies {
        write_json_line(format, body, &Limits::default(), &mut out).unwrap();
    }
    out
}

proptest! {
    #[test]
    fn any_record_comes_back_from_its_line(record in records()) {
        let body = body(&record);
        let text = lines(&record.format, &[&body, &body]);
        prop_assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 2);
        let expected = banyan_ndr::DynRecord::from_body(&record.format, &body, &Limits::default()).unwrap();
        for read in JsonLines::new(&text[..], &record.format, Limits::default()) {
            prop_assert_eq!(comparable(&read.unwrap()), comparable(&expected));
        }
    }
}

#[test]
fn a_line_that_is_no_record_is_named_and_the_others_are_read() {
    let good = lines(&format(), &[&body(&record(3))]);
    let text = [&good[..], b"\n", b"{\"step\":-1}\n", b"\xff\n", &good[..]].concat();
    let read: Vec<_> = JsonLines::new(&text[..], &format(), Limits::default()).collect();
    assert_eq!(read.len(), 4);
    assert!(matches!(read[1], Err(ImportError::Line { line: 3, .. })));
    assert!(matches!(read[2], Err(ImportError::Line { line: 4, .. })));
    let messages: Vec<String> = read.iter().filter_map(|read| Some(read.as_ref().err()?.to_string())).collect();
    assert!(messages[0].starts_with("line 3, column 11: step: "), "{messages:?}");
    assert_eq!(messages[1], "line 4, column 1: this is not UTF-8");
    for good in [&read[0], &read[3]] {
        assert_eq!(body(good.as_ref().unwrap())[..], body(&record(3))[..]);
    }
}
