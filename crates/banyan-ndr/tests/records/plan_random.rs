//! Conversions of random records between random formats, compared with the rules applied to values.

use banyan_ndr::{Buffer, ByteOrder, ConvertOptions, Format, Plan, PointerWidth};
use proptest::prelude::*;

use crate::support::model::{Model, lay_out};
use crate::support::{Choices, body, coerce, random};

const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
const POINTERS: [PointerWidth; 2] = [PointerWidth::Four, PointerWidth::Eight];

fn format(model: &Model, choices: &mut Choices<'_>) -> Format {
    let (order, pointer) = (choices.of(&ORDERS), choices.of(&POINTERS));
    lay_out(model, order, pointer, choices)
}

/// Bodies that are damaged, for each conversion that code is generated for, and after how many bytes others are cut.
const DAMAGED: usize = 64;
const CUT_EVERY: usize = 7;

/// A buffer that has held something else.
fn used_buffer() -> Buffer {
    Buffer::from_slice(&[0xaa; 1 << 12])
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(2000)))]

    #[test]
    fn what_is_written_is_read_back(bytes in choices()) {
        let mut choices = Choices::new(&bytes);
        let model = random::record(&mut choices, 3);
        let format = format(&model, &mut choices);
        let value = random::value(&model, &mut choices);
        let read = body::read(&format, &body::write(&format, &value));
        prop_assert_eq!(format!("{:?}", read), format!("{:?}", value));
    }

    #[test]
    fn a_conversion_does_what_the_rules_say(bytes in choices()) {
        let mut choices = Choices::new(&bytes);
        let model = random::record(&mut choices, 3);
        let source = format(&model, &mut choices);
        let value = random::value(&model, &mut choices);
        let target = format(&random::variation(&model, &mut choices), &mut choices);
        let body = body::write(&source, &value);

        let plan = Plan::new(&source, &target, &ConvertOptions::default()).map_err(|error| {
            TestCaseError::fail(format!("{error}\n{source}{target}"))
        })?;
        let (mut out, mut again) = (Buffer::new(), used_buffer());
        let converted = plan.convert(&body, &mut out);
        prop_assert_eq!(&converted, &plan.convert_interpreted(&body, &mut again));
        match (converted, coerce::record(&value, &source, &target)) {
            (Ok(()), Ok(wanted)) => {
                prop_assert_eq!(&*out, &*again, "bytes that a buffer held before");
                prop_assert_eq!(format!("{:?}", body::read(&target, &out)), format!("{:?}", wanted), "{}", plan);
                if plan.is_identity() {
                    prop_assert_eq!(format!("{:?}", body::read(&target, &body)), format!("{:?}", wanted));
                }
            }
            (Err(_), Err(_)) => {}
            (converted, wanted) => prop_assert!(false, "{:?} but should {:?}\n{}{}{}", converted, wanted, source, target, plan),
        }
    }

    #[test]
    fn damaged_bodies_are_converted_or_refused(bytes in choices(), damage in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8)) {
        let mut choices = Choices::new(&bytes);
        let model = random::record(&mut choices, 3);
        let source = format(&model, &mut choices);
        let mut body = body::write(&source, &random::value(&model, &mut choices));
        let target = format(&random::variation(&model, &mut choices), &mut choices);
        let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
        for (at, byte) in damage {
            let at = usize::from(at) % body.len();
            body[at] = byte;
        }
        let (mut out, mut again) = (Buffer::new(), used_buffer());
        let converted = plan.convert(&body, &mut out);
        prop_assert_eq!(&converted, &plan.convert(&body, &mut again));
        if converted.is_ok() {
            prop_assert_eq!(&*out, &*again);
        }
    }

    #[test]
    fn a_format_is_identical_to_itself(bytes in choices()) {
        let mut choices = Choices::new(&bytes);
        let model = random::record(&mut choices, 3);
        let format = format(&model, &mut choices);
        prop_assert!(Plan::new(&format, &format, &ConvertOptions::default()).unwrap().is_identity());
    }
}

proptest! {
    // Generating code takes long in a debug build.
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(48).max(12)))]

    #[test]
    fn generated_code_does_what_interpretation_does(
        bytes in choices(),
        damages in proptest::collection::vec(proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8), DAMAGED)
    ) {
        let mut choices = Choices::new(&bytes);
        let model = random::record(&mut choices, 3);
        let source = format(&model, &mut choices);
        let whole = body::write(&source, &random::value(&model, &mut choices));
        let target = format(&random::variation(&model, &mut choices), &mut choices);
        let plan = Plan::new(&source, &target, &ConvertOptions::default()).unwrap();
        plan.compile();
        let damaged = damages.iter().map(|damage| {
            let mut body = whole.clone();
            for (at, byte) in damage {
                let at = usize::from(*at) % body.len();
                body[at] = *byte;
            }
            body
        });
        let cut = (0..whole.len()).step_by(CUT_EVERY).map(|length| whole[..length].to_vec());
        for body in std::iter::once(whole.clone()).chain(damaged).chain(cut) {
            let (mut generated, mut interpreted) = (Buffer::new(), used_buffer());
            let converted = plan.convert(&body, &mut generated);
            prop_assert_eq!(&converted, &plan.convert_interpreted(&body, &mut interpreted));
            if converted.is_ok() {
                prop_assert_eq!(&*generated, &*interpreted);
            }
        }
    }
}
