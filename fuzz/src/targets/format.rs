//! Format descriptions: any bytes are refused with an error, or are the canonical encoding of a valid format.

use banyan_ndr::{Format, Limits};

pub(crate) fn target(bytes: &[u8]) {
    let Ok(format) = Format::decode(bytes, &Limits::default()) else { return };
    assert_eq!(format.encoded(), bytes, "what decodes is canonical");
    let again = Format::new(format.order(), format.pointer(), format.definitions().to_vec());
    assert_eq!(again.expect("what was decoded is valid").id(), format.id());
    for definition in format.definitions() {
        for ty in definition.types() {
            assert!(format.size_of(ty) <= definition.size() as usize);
            for ty in std::iter::successors(Some(ty), |ty| ty.item()) {
                assert!(format.size_of(ty) > 0 && format.align_of(ty).is_power_of_two());
            }
        }
    }
    let text = format.to_string();
    assert!(!text.chars().any(|char| char.is_control() && char != '\n'), "names command no terminal: {text:?}");
    assert!(text.contains(format.name()) || format.name().escape_debug().to_string() != format.name());
}
