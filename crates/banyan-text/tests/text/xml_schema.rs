//! XML Schemas: the format comes back from them, and they accept what is written.

use std::process::Command;

use banyan_ndr::*;
use banyan_text::schema::*;
use banyan_text::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::records;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::support::effort::share(256)))]

    #[test]
    fn the_format_comes_back_from_its_schema(record in records()) {
        let format = record.format;
        let schema = xml_schema(&format);
        let back = format_from_xml_schema(&schema, format.order(), format.pointer()).unwrap();
        prop_assert_eq!(back.to_string(), format.to_string());
        prop_assert_eq!(back.id(), format.id());
        let other = if format.pointer() == PointerWidth::Four { PointerWidth::Eight } else { PointerWidth::Four };
        let anew = format_from_xml_schema(&schema, format.order(), other).unwrap();
        prop_assert_eq!(format_from_xml_schema(&xml_schema(&anew), format.order(), format.pointer()).unwrap().id(), format.id());
    }

    #[test]
    fn no_schema_makes_the_reader_panic(record in records(), at in any::<prop::sample::Index>(), with in "[\\PC]{0,3}") {
        let mut text = xml_schema(&record.format);
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &with);
        let _ = format_from_xml_schema(&text, ByteOrder::Big, PointerWidth::Four);
    }
}

/// Needs `xmllint` (libxml2-utils), and says nothing where it is not installed. Emulated machines start what is not there,
/// and it fails.
#[test]
fn the_schema_accepts_what_is_written() {
    let is_there = || Command::new("xmllint").arg("--version").output().is_ok_and(|output| output.status.success());
    if cfg!(miri) || !is_there() {
        return;
    }
    let folder = tempfile();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..60 {
        let record = records().new_tree(&mut runner).unwrap().current();
        let (schema, instance) = (folder.join("schema.xsd"), folder.join("record.xml"));
        std::fs::write(&schema, xml_schema(&record.format)).unwrap();
        std::fs::write(&instance, to_xml_pretty(&record).unwrap()).unwrap();
        let output =
            Command::new("xmllint").arg("--noout").arg("--schema").args([&schema, &instance]).output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        let (schema, instance) = (std::fs::read_to_string(schema).unwrap(), std::fs::read_to_string(instance).unwrap());
        assert!(output.status.success(), "{complaint}\n{schema}\n{instance}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

fn tempfile() -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("banyan-xml-schema-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_schema_by_others_and_broken_xml_are_refused_with_the_reason() {
    let error =
        |schema: &str| format_from_xml_schema(schema, ByteOrder::Little, PointerWidth::Eight).unwrap_err().to_string();
    let ordinary = r#"<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema"><xsd:element name="a"/></xsd:schema>"#;
    assert!(error(ordinary).starts_with("schema: b:definitions: is missing"), "{}", error(ordinary));
    assert!(error(&format!("<!DOCTYPE x [<!ENTITY a 'b'>]>{ordinary}")).contains("document type"));
    error(&"<a>".repeat(100_000));
}

#[test]
fn white_space_in_units_and_names_of_values_is_kept() {
    let mut field = Field::new("a", 0, Type::Enum(DefId(1)));
    field.unit = Some("a\tb\nc".into());
    let names = vec![("x\ny".to_owned(), 1), ("#1".to_owned(), 2)];
    let enumeration = EnumerationDef { name: "E".into(), width: 1, signed: false, names };
    let record = RecordDef { name: "R".into(), size: 1, align: 1, fields: vec![field] };
    let definitions = vec![Definition::Record(record), Definition::Enumeration(enumeration)];
    let format = Format::new(ByteOrder::Little, PointerWidth::Eight, definitions).unwrap();
    let back = format_from_xml_schema(&xml_schema(&format), ByteOrder::Little, PointerWidth::Eight).unwrap();
    assert_eq!(back.id(), format.id());
}
