//! Every rule that a format must keep has a test here that breaks it, and nothing but it.

use super::sample::{U8, U32, array, boxed, enumeration, format, list, record, sized, variant};
use crate::{ByteOrder, Case, DefId, Definition, Dim, Format, PointerWidth, Type};

const INT: Type = Type::Int { width: 8, signed: true };

/// Why these definitions are no format.
fn refused(definitions: Vec<Definition>) -> String {
    format(definitions).expect_err("it breaks a rule").to_string()
}

#[track_caller]
fn assert_refused(definitions: Vec<Definition>, reason: &str) {
    let message = refused(definitions);
    assert!(message.contains(reason), "{message}");
}

/// A record of 64 bytes with one field, at byte 0.
fn with_field(ty: Type) -> Vec<Definition> {
    vec![Definition::Record(record("r", 64, 8, vec![("f", 0, ty)]))]
}

fn with_payload(payload: Type) -> Vec<Definition> {
    vec![Definition::Variant(variant("v", vec![("c", 1, Some(payload))]))]
}

#[test]
fn a_format_has_a_root_that_is_a_record_or_a_variant() {
    assert_refused(vec![], "has no definition");
    let colour = Definition::Enumeration(enumeration("colour", 1, false, &[("red", 0)]));
    assert_refused(vec![colour], "colour: the root must be a record or a variant");
    assert!(format(with_field(INT)).is_ok());
    assert!(format(with_payload(INT)).is_ok());
}

#[test]
fn nothing_is_without_a_name() {
    let empty = "is empty";
    assert_refused(vec![Definition::Record(record("", 1, 1, vec![]))], empty);
    assert_refused(vec![Definition::Record(record("r", 1, 1, vec![("", 0, U8)]))], empty);
    assert_refused(vec![Definition::Variant(variant("v", vec![("", 0, None)]))], empty);
    let mut definitions = with_field(Type::Enum(DefId(1)));
    definitions.push(Definition::Enumeration(enumeration("e", 1, false, &[("", 0)])));
    assert_refused(definitions, empty);
}

#[test]
fn names_within_a_definition_are_distinct() {
    let twins = vec![("a", 0, U8), ("b", 1, U8), ("a", 2, U8)];
    assert_refused(vec![Definition::Record(record("r", 8, 8, twins))], "r: two fields are called a");
    let twins = vec![("a", 0, None), ("a", 1, None)];
    assert_refused(vec![Definition::Variant(variant("v", twins))], "v: two cases are called a");
    let mut definitions = with_field(Type::Enum(DefId(1)));
    definitions.push(Definition::Enumeration(enumeration("e", 1, false, &[("a", 0), ("a", 1)])));
    assert_refused(definitions, "e: two names are called a");
}

#[test]
fn sizes_are_positive_multiples_of_an_alignment_that_is_a_power_of_two() {
    let laid_out = |size, align| vec![Definition::Record(record("r", size, align, vec![]))];
    assert_refused(laid_out(0, 1), "r: its size of 0 is no positive multiple");
    assert_refused(laid_out(12, 8), "r: its size of 12 is no positive multiple of its alignment of 8");
    assert_refused(laid_out(12, 3), "r: 3 is no alignment");
    assert_refused(laid_out(12, 0), "r: 0 is no alignment");
    assert_refused(laid_out(1 << 17, 1 << 17), "is no alignment");
    assert!(format(laid_out(1 << 16, 1 << 16)).is_ok());
    let mut odd = variant("v", vec![]);
    odd.align = 6;
    assert_refused(vec![Definition::Variant(odd)], "v: 6 is no alignment");
}

#[test]
fn fields_lie_within_their_record_and_apart_from_each_other() {
    let outside = vec![("a", 0, U32), ("b", 5, U32)];
    assert_refused(vec![Definition::Record(record("r", 8, 8, outside))], "r.b: ends at byte 9, behind the record's 8");
    let overlapping = vec![("late", 3, U8), ("a", 0, U32)];
    assert_refused(vec![Definition::Record(record("r", 8, 8, overlapping))], "r.late: overlaps field a");
    let far = vec![("a", u32::MAX, U32)];
    assert_refused(vec![Definition::Record(record("r", 8, 8, far))], "r.a: is larger than the limit");
    let side_by_side = vec![("b", 4, U32), ("a", 0, U32)];
    assert!(format(vec![Definition::Record(record("r", 8, 8, side_by_side))]).is_ok());
}

#[test]
fn the_sizes_of_arrays_do_not_overflow() {
    let huge = array(array(INT, &[u32::MAX, u32::MAX]), &[u32::MAX]);
    assert_refused(with_field(huge), "r.f: is larger than the limit");
    assert_refused(with_field(array(INT, &[9])), "r.f: ends at byte 72, behind the record's 64");
}

#[test]
fn numbers_have_known_widths() {
    for (ty, reason) in [
        (Type::Int { width: 3, signed: true }, "integer of 3 bytes"),
        (Type::Int { width: 0, signed: false }, "integer of 0 bytes"),
        (Type::Float { width: 16 }, "float of 16 bytes"),
        (Type::Bool { width: 16 }, "bool of 16 bytes"),
        (Type::Char { width: 2 }, "char of 2 bytes"),
    ] {
        assert_refused(with_field(ty.clone()), &format!("r.f: {reason}"));
        assert_refused(with_field(list(ty.clone())), reason);
        assert_refused(with_payload(ty), &format!("v.c: {reason}"));
    }
}

#[test]
fn what_a_type_mentions_is_there_and_of_its_kind() {
    for ty in [Type::Record(DefId(9)), Type::Enum(DefId(0)), Type::Variant(DefId(0))] {
        assert_refused(with_field(list(ty)), "is missing or of another kind");
    }
    assert!(format(with_field(list(Type::Record(DefId(0))))).is_ok());
}

#[test]
fn an_optional_value_lies_behind_its_flag_and_within_its_size() {
    let optional = |value_at, size| with_field(Type::Optional { item: boxed(U32), value_at, size });
    assert_refused(optional(0, 8), "does not lie behind the flag");
    assert_refused(optional(4, 7), "does not lie behind the flag");
    assert_refused(optional(u32::MAX, 8), "larger than the limit");
    assert!(format(optional(4, 8)).is_ok());
}

#[test]
fn arrays_have_dimensions_and_none_is_zero() {
    assert_refused(with_field(array(U8, &[])), "needs dimensions of at least 1");
    assert_refused(with_field(array(U8, &[2, 0])), "needs dimensions of at least 1");
}

#[test]
fn an_array_sized_by_fields_stands_beside_integer_fields_of_its_record() {
    let beside = |ty: Type, dims: &[Dim]| {
        vec![Definition::Record(record("r", 64, 8, vec![("n", 0, ty), ("f", 16, sized(U8, dims))]))]
    };
    assert!(format(beside(INT, &[Dim::Fixed(2), Dim::Field(0)])).is_ok());
    assert_refused(beside(INT, &[]), "needs a field");
    assert_refused(beside(INT, &[Dim::Fixed(2)]), "needs a field");
    assert_refused(beside(INT, &[Dim::Field(0), Dim::Fixed(0)]), "dimensions of at least 1");
    assert_refused(beside(INT, &[Dim::Field(1)]), "r.f: field number 1, its length, is no integer field");
    assert_refused(beside(INT, &[Dim::Field(2)]), "r.f: field number 2, its length, is no integer field");
    assert_refused(beside(Type::Float { width: 8 }, &[Dim::Field(0)]), "is no integer field");
}

#[test]
fn an_array_sized_by_fields_is_nothing_within_another_type() {
    let hidden = list(sized(U8, &[Dim::Field(0)]));
    let fields = vec![("n", 0, INT), ("f", 16, hidden.clone())];
    assert_refused(vec![Definition::Record(record("r", 64, 8, fields))], "r.f: an array sized by another field must");
    assert_refused(with_payload(sized(U8, &[Dim::Field(0)])), "v.c: an array sized by another field must");
    let pointer = Type::Ref { item: boxed(sized(U8, &[Dim::Field(0)])), nullable: true, shared: false };
    assert_refused(with_payload(pointer), "v.c: an array sized by another field must");
}

#[test]
fn a_variant_has_a_tag_and_its_payloads_behind_it() {
    let changed = |change: fn(&mut crate::VariantDef)| {
        let mut variant = variant("v", vec![("c", 1, Some(INT))]);
        change(&mut variant);
        vec![Definition::Variant(variant)]
    };
    assert_refused(changed(|v| v.tag_width = 3), "v: a tag of 3 bytes");
    assert_refused(changed(|v| v.tag_width = 16), "v: a tag of 16 bytes");
    assert_refused(changed(|v| v.payload_at = 3), "v: the payload does not lie between tag and end");
    assert_refused(changed(|v| v.payload_at = 17), "v: the payload does not lie between tag and end");
    assert_refused(changed(|v| v.payload_at = 9), "v.c: its payload ends behind the variant");
    assert!(format(changed(|v| v.tag_width = 8)).is_ok());
}

#[test]
fn tags_are_distinct_and_fit_their_width() {
    let tagged = |tag_width: u8, tags: &[u64]| {
        let mut variant = variant("v", vec![]);
        variant.tag_width = tag_width;
        let case = |(index, tag): (usize, &u64)| Case { name: format!("c{index}"), tag: *tag, payload: None };
        variant.cases = tags.iter().enumerate().map(case).collect();
        vec![Definition::Variant(variant)]
    };
    assert_refused(tagged(1, &[3, 3]), "v.c1: its tag 3 is taken or too large");
    assert_refused(tagged(1, &[256]), "v.c0: its tag 256 is taken or too large");
    assert!(format(tagged(1, &[255, 0])).is_ok());
    assert!(format(tagged(8, &[u64::MAX])).is_ok());
}

#[test]
fn values_of_an_enumeration_are_distinct_and_fit_its_width() {
    let valued = |width: u8, signed: bool, names: &[(&str, i128)]| {
        let mut definitions = with_field(Type::Enum(DefId(1)));
        definitions.push(Definition::Enumeration(enumeration("e", width, signed, names)));
        definitions
    };
    assert_refused(valued(3, false, &[]), "e: an enumeration of 3 bytes");
    assert_refused(valued(1, false, &[("a", 1), ("b", 1)]), "e.b: its value 1 is taken or does not fit");
    assert_refused(valued(1, false, &[("a", 256)]), "e.a: its value 256");
    assert_refused(valued(1, false, &[("a", -1)]), "e.a: its value -1");
    assert_refused(valued(1, true, &[("a", 128)]), "e.a: its value 128");
    assert_refused(valued(8, false, &[("a", 1 << 64)]), "e.a: its value 18446744073709551616");
    assert!(format(valued(1, true, &[("a", -128), ("b", 127)])).is_ok());
    assert!(format(valued(8, false, &[("a", u64::MAX.into())])).is_ok());
    assert!(format(valued(8, true, &[("a", i64::MIN.into()), ("b", i64::MAX.into())])).is_ok());
}

#[test]
fn no_record_lies_within_itself() {
    let within = |item: Type| vec![("f", 0, item)];
    let direct = record("r", 64, 8, within(Type::Record(DefId(0))));
    assert_refused(vec![Definition::Record(direct)], "r: lies within itself");
    let inner = record("inner", 64, 8, within(Type::Record(DefId(0))));
    let outer = record("outer", 64, 8, within(array(Type::Record(DefId(1)), &[1])));
    assert_refused(vec![Definition::Record(outer), Definition::Record(inner)], "lies within itself");
    let by_reference = Type::Ref { item: boxed(Type::Record(DefId(0))), nullable: true, shared: false };
    assert!(format(with_field(by_reference)).expect("a list node").is_recursive());
}

#[test]
fn records_are_nested_to_a_bounded_depth() {
    let nested = |count: u16| {
        let inner = (1..count).map(|next| record(&format!("r{next}"), 8, 8, vec![("f", 0, Type::Record(DefId(next)))]));
        let last = record("last", 8, 8, vec![("f", 0, INT)]);
        format(inner.chain([last]).map(Definition::Record).collect())
    };
    assert!(nested(65).is_ok());
    assert!(nested(66).is_err_and(|error| error.to_string().contains("more than 64 deep")));
}

#[test]
fn the_order_of_definitions_and_those_not_mentioned_do_not_matter() {
    let root = |first: u16, second: u16| {
        let fields = vec![("a", 0, Type::Record(DefId(first))), ("b", 8, Type::Record(DefId(second)))];
        Definition::Record(record("root", 16, 8, fields))
    };
    let leaf = |name: &str| Definition::Record(record(name, 8, 8, vec![("f", 0, INT)]));
    let one = format(vec![root(1, 2), leaf("x"), leaf("y")]).expect("valid");
    let other = format(vec![root(3, 1), leaf("y"), leaf("unused"), leaf("x")]).expect("valid");
    assert_eq!(one.id(), other.id());
    assert_eq!(one.definitions(), other.definitions());
    let swapped = format(vec![root(2, 1), leaf("x"), leaf("y")]).expect("valid");
    assert_ne!(one.id(), swapped.id());
}

#[test]
fn ids_tell_machines_apart_but_not_defaults() {
    let id = |order, pointer| Format::new(order, pointer, with_field(INT)).expect("valid").id();
    let native = id(ByteOrder::Little, PointerWidth::Eight);
    assert_ne!(native, id(ByteOrder::Big, PointerWidth::Eight));
    assert_ne!(native, id(ByteOrder::Little, PointerWidth::Four));
    let mut with_default = record("r", 64, 8, vec![("f", 0, INT)]);
    with_default.fields[0].default = Some(crate::Value::Int(7));
    assert_eq!(native, format(vec![Definition::Record(with_default)]).expect("valid").id());
}
