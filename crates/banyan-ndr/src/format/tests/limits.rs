//! Each limit on formats at its edge: what reaches it is fine, what passes it is refused with the limit's name, both
//! for those who describe a format and for those who receive one.

use super::sample::{U8, array, enumeration, format, format_within, list, record, sized, variant};
use crate::{DefId, Definition, Dim, Format, FormatError, Limits, Type};

/// Asserts that these definitions are a format under `limits`, and are none under limits that are lower by one.
#[track_caller]
fn assert_edge(definitions: Vec<Definition>, name: &str, field: fn(&mut Limits) -> &mut usize, edge: usize) {
    let encoded = format(definitions.clone()).expect("valid").encoded().to_vec();
    let mut limits = Limits::default();
    *field(&mut limits) = edge;
    assert!(format_within(definitions.clone(), &limits).is_ok(), "{name} at its limit");
    assert!(Format::decode(&encoded, &limits).is_ok(), "{name} at its limit, received");
    *field(&mut limits) = edge - 1;
    for refused in [format_within(definitions, &limits), Format::decode(&encoded, &limits)] {
        let error = refused.expect_err("above its limit");
        assert!(matches!(&error, FormatError::Limit { name: broken, .. } if *broken == name), "{error}");
    }
}

fn one_record(fields: Vec<(&str, u32, Type)>) -> Vec<Definition> {
    vec![Definition::Record(record("r", 64, 8, fields))]
}

#[test]
fn definitions() {
    let leaf = Definition::Record(record("leaf", 1, 1, vec![]));
    let mut definitions = one_record(vec![("f", 0, Type::Record(DefId(1)))]);
    definitions.push(leaf);
    assert_edge(definitions, "definitions", |limits| &mut limits.definitions, 2);
}

#[test]
fn fields_cases_and_names() {
    let fields = one_record(vec![("a", 0, U8), ("b", 1, U8), ("c", 2, U8)]);
    assert_edge(fields, "fields", |limits| &mut limits.fields, 3);
    let cases = variant("v", vec![("a", 0, None), ("b", 1, None)]);
    assert_edge(vec![Definition::Variant(cases)], "fields", |limits| &mut limits.fields, 2);
    let mut definitions = one_record(vec![("a", 0, Type::Enum(DefId(1)))]);
    definitions.push(Definition::Enumeration(enumeration("e", 1, false, &[("a", 0), ("b", 1)])));
    assert_edge(definitions, "fields", |limits| &mut limits.fields, 2);
}

#[test]
fn bytes_of_names_units_and_descriptions() {
    let name_bytes: fn(&mut Limits) -> &mut usize = |limits| &mut limits.name_bytes;
    // Bytes, not characters, are counted.
    assert_edge(one_record(vec![("länge", 0, U8)]), "name_bytes", name_bytes, 6);
    assert_edge(vec![Definition::Record(record("long", 1, 1, vec![]))], "name_bytes", name_bytes, 4);
    assert_edge(vec![Definition::Variant(variant("v", vec![("case", 0, None)]))], "name_bytes", name_bytes, 4);
    let remarked = |unit: Option<&str>, description: Option<&str>| {
        let mut record = record("r", 1, 1, vec![("f", 0, U8)]);
        record.fields[0].unit = unit.map(str::to_owned);
        record.fields[0].description = description.map(str::to_owned);
        vec![Definition::Record(record)]
    };
    assert_edge(remarked(Some("apples"), None), "name_bytes", name_bytes, 6);
    assert_edge(remarked(None, Some("how many")), "name_bytes", name_bytes, 8);
}

#[test]
fn depth_of_types() {
    let deep = (0..5).fold(U8, |item, _| list(item));
    assert_edge(one_record(vec![("f", 0, deep)]), "type_depth", |limits| &mut limits.type_depth, 5);
}

#[test]
fn dimensions_of_arrays() {
    let dimensions: fn(&mut Limits) -> &mut usize = |limits| &mut limits.dimensions;
    assert_edge(one_record(vec![("f", 0, array(U8, &[1, 2, 3]))]), "dimensions", dimensions, 3);
    let dims = [Dim::Field(0), Dim::Fixed(1), Dim::Field(0)];
    assert_edge(one_record(vec![("n", 0, U8), ("f", 8, sized(U8, &dims))]), "dimensions", dimensions, 3);
}

#[test]
fn bytes_of_the_fixed_part() {
    let fixed_bytes: fn(&mut Limits) -> &mut usize = |limits| &mut limits.fixed_bytes;
    assert_edge(one_record(vec![("f", 0, U8)]), "fixed_bytes", fixed_bytes, 64);
    assert_edge(vec![Definition::Variant(variant("v", vec![]))], "fixed_bytes", fixed_bytes, 16);
}

#[test]
fn bytes_of_what_lies_behind_references() {
    // Not part of any fixed part, and yet no item of a list may be larger than what is allowed for one.
    let limits = Limits { fixed_bytes: 64, ..Limits::default() };
    let of_bytes = |count| one_record(vec![("f", 0, list(array(U8, &[count])))]);
    assert!(format_within(of_bytes(64), &limits).is_ok());
    assert!(format_within(of_bytes(65), &limits).is_err());
}

#[test]
fn bytes_of_the_description() {
    let definitions = one_record(vec![("f", 0, U8)]);
    let length = format(definitions.clone()).expect("valid").encoded().len();
    assert_edge(definitions, "format_bytes", |limits| &mut limits.format_bytes, length);
}

#[test]
fn counts_that_no_encoding_could_hold_are_refused_before_memory_is_taken() {
    let limits = Limits { definitions: usize::MAX, ..Limits::default() };
    // Version, order, pointer width, and then 2^28 - 1 definitions.
    let bytes = [1, 0, 8, 0xff, 0xff, 0xff, 0x7f];
    assert!(matches!(Format::decode(&bytes, &limits), Err(FormatError::Truncated { .. })));
}
