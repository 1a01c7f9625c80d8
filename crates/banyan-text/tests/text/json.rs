//! JSON: what is written reads back, and what does not fit is refused with its place.

use banyan_ndr::*;
use banyan_text::*;
use proptest::prelude::*;

use super::records;
use crate::support::records::comparable;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(1024)))]

    #[test]
    fn every_record_survives_json(record in records()) {
        let text = to_json(&record).unwrap();
        let back = from_json(&record.format, &text, &Limits::default());
        let back = back.unwrap_or_else(|error| panic!("{error}\n{text}\n{}", record.format));
        prop_assert_eq!(comparable(&back), comparable(&record), "{}", text);
        let pretty = from_json(&record.format, &to_json_pretty(&record).unwrap(), &Limits::default()).unwrap();
        prop_assert_eq!(comparable(&pretty), comparable(&record));
    }

    #[test]
    fn a_received_record_survives_json_and_xml(record in records()) {
        let limits = Limits::default();
        let body = record.to_body().unwrap_or_else(|error| panic!("{error}\n{record:?}"));
        let received = DynRecord::from_body(&record.format, &body, &limits).unwrap();
        let by_json = from_json(&record.format, &to_json(&received).unwrap(), &limits).unwrap();
        prop_assert_eq!(comparable(&by_json), comparable(&received));
        prop_assert_eq!(&by_json.to_body().unwrap()[..], &body[..]);
        let by_xml = from_xml(&record.format, &to_xml(&received).unwrap(), &limits).unwrap();
        prop_assert_eq!(comparable(&by_xml), comparable(&received));
    }

    #[test]
    fn no_text_makes_the_reader_panic(record in records(), at in any::<prop::sample::Index>(), with in "[\\PC]{0,3}") {
        let mut text = to_json(&record).unwrap();
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.truncate(at);
        text.push_str(&with);
        let _ = from_json(&record.format, &text, &Limits::default());
    }
}

#[test]
fn records_within_each_other_are_read_up_to_the_limit_on_nesting() {
    let node = CStruct::new("node", 16, 8).pointer_width(PointerWidth::Eight);
    let format = node.int("value", 0, 4).pointer("next", 8, CStruct::own_type()).build().unwrap();
    let limits = Limits::default().nesting(10);
    let node = |inner: String, _| format!(r#"{{"value":1,"next":{inner}}}"#);
    let json = |length| from_json(&format, &(0..length).fold("null".to_owned(), node), &limits);
    json(10).unwrap();
    assert!(json(11).unwrap_err().to_string().contains("Limits::nesting"));
}
