//! What is written is read back.

use banyan_ndr::{DecodeError, DynRecord, Limits, RecordView};
use proptest::prelude::*;

use crate::generate::{self, Random};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::effort::share(200)))]

    #[test]
    fn a_body_read_and_written_again_is_the_same_body(seed: u64) {
        let mut random = Random(seed);
        let format = generate::format(&mut random);
        let record = generate::record(&mut random, &format);
        let body = record.to_body().unwrap();
        let again = DynRecord::from_body(&format, &body, &Limits::default())
            .unwrap_or_else(|error| panic!("{error}\n{format}\n{record:#}"));
        prop_assert_eq!(&again.to_body().unwrap()[..], &body[..], "{}\n{:#}\n{:#}", format, record, again);
        let third = DynRecord::from_body(&format, &again.to_body().unwrap(), &Limits::default()).unwrap();
        prop_assert_eq!(format!("{third:?}"), format!("{again:?}"));
    }

    #[test]
    fn every_leaf_that_a_walk_meets_is_found_by_its_path(seed: u64) {
        let mut random = Random(seed);
        let format = generate::format(&mut random);
        let body = generate::record(&mut random, &format).to_body().unwrap();
        let record = DynRecord::from_body(&format, &body, &Limits::default()).unwrap();
        let view = RecordView::new(&format, &body).unwrap();
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
    fn a_fresh_record_can_be_written_unless_a_pointer_waits_for_its_target(seed: u64) {
        let format = generate::format(&mut Random(seed));
        match DynRecord::new(&format).to_body() {
            Ok(body) => prop_assert!(DynRecord::from_body(&format, &body, &Limits::default()).is_ok()),
            Err(error) => prop_assert!(error.to_string().contains("must lead somewhere"), "{error}"),
        }
    }
}
