//! The canonical encoding: the same bytes everywhere, read back as the same format, and the only bytes that are.

use proptest::prelude::*;

use super::random::{Parts, parts};
use super::sample::{U8, everything, format, record};
use crate::{ByteOrder, DefId, Definition, Format, FormatError, Limits, PointerWidth, Type};

/// The format with everything in it, as a big-endian machine with 4-byte references has it.
fn everything_format() -> Format {
    Format::new(ByteOrder::Big, PointerWidth::Four, everything()).expect("valid")
}

/// Its encoding.
const EVERYTHING: &[&str] = &[
    "010104040003616c6ca0010811016e000108050562797465730175080002000468616c660a02020004776964650c02040a1d",
    "686f7720776964652069742069732c20696e20c3856e67737472c3b66d026f6e10030100066c65747465721404040006636f",
    "6c6f757218050100046e616d651c0600046e6f746524070004626c6f6228080005706f696e7430090200057368617065400a",
    "0300056d61796265500b0408000400046e657874580c03090000066d6174726978600d01020203000400056e616d6573780e",
    "0600046772696480010f0002010100ac020001000206636f6c6f75720401020372656400046e6f6e65ffffffffffffffffff",
    "010005706f696e74100802017800020800017908020800010573686170651008040802076e6f7468696e67000005726f756e",
    "64c801010208",
];

fn decode(bytes: &[u8]) -> Result<Format, FormatError> {
    Format::decode(bytes, &Limits::default())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn format_of(parts: Parts) -> Format {
    Format::new(parts.order, parts.pointer, parts.definitions).expect("valid")
}

/// Whether a definition can be reached from itself, by trying all ways.
fn reaches_itself(definitions: &[Definition]) -> bool {
    let count = definitions.len();
    let mut reaches = vec![vec![false; count]; count];
    for (from, definition) in definitions.iter().enumerate() {
        for ty in definition.types() {
            let innermost = std::iter::successors(Some(ty), |ty| ty.item()).last();
            innermost.and_then(Type::definition).into_iter().for_each(|to: DefId| reaches[from][to.index()] = true);
        }
    }
    for middle in 0..count {
        for from in 0..count {
            for to in 0..count {
                reaches[from][to] |= reaches[from][middle] && reaches[middle][to];
            }
        }
    }
    (0..count).any(|index| reaches[index][index])
}

#[test]
fn the_smallest_format_is_encoded_as_documented() {
    let format = format(vec![Definition::Record(record("r", 1, 1, vec![("f", 0, U8)]))]).expect("valid");
    // Version, order, pointer width, 1 definition: a record "r" of size 1, alignment 1, with 1 field: "f" at 0,
    // unsigned of width 1, no remarks.
    assert_eq!(format.encoded(), b"\x01\x00\x08\x01\x00\x01r\x01\x01\x01\x01f\x00\x00\x01\x00");
}

#[test]
fn the_encoding_and_the_id_of_a_format_never_change() {
    let format = everything_format();
    assert_eq!(hex(format.encoded()), EVERYTHING.concat());
    assert_eq!(format.id().to_string(), "f394360f4012a1b8bdb3111a8327f93b");
}

#[test]
fn every_cut_is_noticed() {
    let format = everything_format();
    for end in 0..format.encoded().len() {
        let cut = decode(&format.encoded()[..end]);
        assert!(matches!(cut, Err(FormatError::Truncated { .. })), "cut at {end}: {cut:?}");
    }
}

#[test]
fn other_forms_of_the_same_description_are_refused() {
    let canonical = b"\x01\x00\x08\x01\x00\x01r\x01\x01\x01\x01f\x00\x00\x01\x00";
    assert!(decode(canonical).is_ok());
    let long_number = b"\x01\x00\x08\x01\x00\x01r\x81\x00\x01\x01\x01f\x00\x00\x01\x00";
    assert_eq!(decode(long_number).unwrap_err(), FormatError::NotCanonical);
    let trailing = [canonical.as_slice(), &[0]].concat();
    assert_eq!(decode(&trailing).unwrap_err(), FormatError::NotCanonical);
    let unused = [b"\x01\x00\x08\x02", &canonical[4..], b"\x00\x01u\x01\x01\x00"].concat();
    assert_eq!(decode(&unused).unwrap_err(), FormatError::NotCanonical);
    let (first, second) = (b"\x00\x01a\x01\x01\x00", b"\x00\x01b\x01\x01\x00");
    let root = |fields: &[u8]| [b"\x01\x00\x08\x03\x00\x01r\x02\x01\x02", fields].concat();
    let in_order = [&root(b"\x01f\x00\x09\x01\x00\x01g\x01\x09\x02\x00"), &first[..], second].concat();
    let in_disorder = [&root(b"\x01f\x00\x09\x02\x00\x01g\x01\x09\x01\x00"), &first[..], second].concat();
    assert!(decode(&in_order).is_ok());
    assert_eq!(decode(&in_disorder).unwrap_err(), FormatError::NotCanonical);
}

#[test]
fn bytes_without_a_meaning_are_named() {
    let valid = b"\x01\x00\x08\x01\x00\x01r\x01\x01\x01\x01f\x00\x00\x01\x00";
    for (at, byte, what) in [
        (0, 2, "version of format descriptions"),
        (1, 2, "byte order"),
        (2, 5, "pointer width"),
        (4, 3, "kind of definition"),
        (6, 0xff, "UTF-8 text"),
        (13, 16, "kind of type"),
        (15, 12, "set of remarks on a field"),
        (15, 16, "set of remarks on a field"),
    ] {
        let mut bytes = valid.to_vec();
        bytes[at] = byte;
        let error = decode(&bytes).expect_err("no such thing");
        assert!(matches!(&error, FormatError::Unknown { what: named, .. } if *named == what), "{at}: {error}");
    }
}

#[test]
fn numbers_above_64_bits_are_refused() {
    let mut bytes = b"\x01\x00\x08".to_vec();
    bytes.extend([0xff; 9]);
    let at_most = [&bytes[..], &[0x01]].concat();
    assert!(matches!(decode(&at_most), Err(FormatError::Limit { .. } | FormatError::Unknown { .. })));
    for last in [0x02, 0x7f, 0x81] {
        let above = [&bytes[..], &[last]].concat();
        assert!(matches!(decode(&above), Err(FormatError::Unknown { .. })), "{last}");
    }
}

#[test]
fn the_listing_of_a_format_names_everything_in_it() {
    let format = everything_format();
    let listing = format.to_string();
    assert!(listing.starts_with("format all "));
    let names = format.fields().iter().map(|field| field.name.as_str());
    for name in names.chain([
        "colour: i32",
        "round: f64",
        "u8[u][300]",
        "u32[2][3] by column",
        "&shared all?",
        "[bytes] counter",
    ]) {
        assert!(listing.contains(name), "{name} is not in\n{listing}");
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(parts in parts()) {
        let format = format_of(parts);
        let decoded = decode(format.encoded()).expect("its own encoding");
        prop_assert_eq!(decoded.id(), format.id());
        prop_assert_eq!(decoded.encoded(), format.encoded());
        prop_assert_eq!(decoded.order(), format.order());
        prop_assert_eq!(decoded.pointer(), format.pointer());
        prop_assert_eq!(decoded.definitions(), format.definitions());
    }

    #[test]
    fn a_cut_description_is_never_a_format(parts in parts(), cut in any::<prop::sample::Index>()) {
        let format = format_of(parts);
        let end = cut.index(format.encoded().len());
        let noticed = matches!(decode(&format.encoded()[..end]), Err(FormatError::Truncated { .. }));
        prop_assert!(noticed);
    }

    #[test]
    fn a_changed_byte_makes_another_format_or_none(parts in parts(), at in any::<prop::sample::Index>(), change in 1u8..) {
        let format = format_of(parts);
        let mut bytes = format.encoded().to_vec();
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        if let Ok(other) = decode(&bytes) {
            prop_assert_eq!(other.encoded(), &bytes[..]);
            prop_assert_ne!(other.id(), format.id());
        }
    }

    #[test]
    fn any_bytes_are_refused_or_canonical(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let described = [&[1, 0, 8, 1], &bytes[..]].concat();
        for bytes in [bytes, described] {
            if let Ok(format) = decode(&bytes) {
                prop_assert_eq!(format.encoded(), &bytes[..]);
            }
        }
    }

    #[test]
    fn recursion_is_found(parts in parts()) {
        let format = format_of(parts);
        prop_assert_eq!(format.is_recursive(), reaches_itself(format.definitions()));
    }

    #[test]
    fn a_format_without_references_takes_exactly_its_size(parts in parts()) {
        let format = format_of(parts);
        prop_assert!(format.fits(format.size()) && !format.fits(format.size() - 1));
        prop_assert_eq!(format.fits(format.size() + 1), format.has_references());
    }
}
