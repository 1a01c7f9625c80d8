//! XML: what is written reads back, and what does not fit is refused with its place.

use banyan_ndr::*;
use banyan_text::*;
use proptest::prelude::*;

use super::records;
use crate::support::records::comparable;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(1024)))]

    #[test]
    fn every_record_survives_xml(record in records()) {
        let text = to_xml(&record).unwrap();
        let back = from_xml(&record.format, &text, &Limits::default());
        let back = back.unwrap_or_else(|error| panic!("{error}\n{text}\n{}", record.format));
        prop_assert_eq!(comparable(&back), comparable(&record), "{}", text);
        let pretty = from_xml(&record.format, &to_xml_pretty(&record).unwrap(), &Limits::default()).unwrap();
        prop_assert_eq!(comparable(&pretty), comparable(&record));
    }

    #[test]
    fn no_text_makes_the_reader_panic(record in records(), at in any::<prop::sample::Index>(), with in "[\\PC]{0,3}") {
        let mut text = to_xml(&record).unwrap();
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.truncate(at);
        text.push_str(&with);
        let _ = from_xml(&record.format, &text, &Limits::default());
    }
}
