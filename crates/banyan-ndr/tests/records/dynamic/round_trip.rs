//! What is written is read back.

use banyan_ndr::{DecodeError, DynRecord, Limits, RecordView, Value};
use proptest::prelude::*;

use super::records;
use crate::support::records::{Recipe, comparable, records_of};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(400)))]

    #[test]
    fn a_body_read_and_written_again_is_the_same_body(record in records()) {
        let format = &record.format;
        let body = record.to_body().unwrap_or_else(|error| panic!("{error}\n{format}\n{record:#}"));
        let again = DynRecord::from_body(format, &body, &Limits::default())
            .unwrap_or_else(|error| panic!("{error}\n{format}\n{record:#}"));
        prop_assert_eq!(&again.to_body().unwrap()[..], &body[..], "{}\n{:#}\n{:#}", format, record, again);
        let third = DynRecord::from_body(format, &again.to_body().unwrap(), &Limits::default()).unwrap();
        prop_assert_eq!(comparable(&third), comparable(&again));
    }

    #[test]
    fn a_record_that_is_set_field_by_field_has_the_same_body(
        record in records_of(Recipe { gaps: true, table: false })
    ) {
        prop_assert!(record.shared.is_empty());
        let Value::Record(fields) = &record.root else { panic!("the root is a record") };
        let mut fresh = DynRecord::new(&record.format);
        // Backwards, since an array sets its length fields; none of the generated names needs quotes.
        for (name, value) in fields.iter().rev() {
            fresh.set(name, value.clone()).unwrap_or_else(|error| panic!("{error}\n{}\n{record:#}", record.format));
        }
        prop_assert_eq!(&fresh.to_body().unwrap()[..], &record.to_body().unwrap()[..], "{:#}\n{:#}", fresh, record);
    }

    #[test]
    fn every_leaf_that_a_walk_meets_is_found_by_its_path(record in records()) {
        let format = &record.format;
        let body = record.to_body().unwrap();
        let record = DynRecord::from_body(format, &body, &Limits::default()).unwrap();
        let view = RecordView::new(format, &body).unwrap();
        view.walk(&Limits::default(), &mut |path, item| {
            let found = view.get(path)?;
            let through = found.follow()?;
            assert!(through.is_none_or(|through| through.offset() == item.offset() || found.offset() == item.offset()));
            let value = record.get(path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(format!("{:?}", item.to_value()?), format!("{value:?}"), "{path} of {record:#}");
            Ok::<(), DecodeError>(())
        })
        .unwrap_or_else(|error| panic!("{error}\n{format}\n{record:#}"));
    }

    #[test]
    fn a_fresh_record_can_be_written_unless_a_pointer_waits_for_its_target(record in records()) {
        let format = &record.format;
        match DynRecord::new(format).to_body() {
            Ok(body) => prop_assert!(DynRecord::from_body(format, &body, &Limits::default()).is_ok()),
            Err(error) => prop_assert!(error.to_string().contains("must lead somewhere"), "{error}"),
        }
    }
}
