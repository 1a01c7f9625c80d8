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

const ORDINARY: &str = r#"
<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <xsd:element name="order" type="Order"/>
  <xsd:complexType name="Order">
    <xsd:sequence>
      <xsd:element name="id" type="xsd:unsignedInt"><xsd:annotation><xsd:documentation> by whom </xsd:documentation></xsd:annotation></xsd:element>
      <xsd:element name="note" type="xsd:string" minOccurs="0"/>
      <xsd:element name="line" type="Line" maxOccurs="unbounded"/>
      <xsd:element name="corner" type="xsd:double" minOccurs="4" maxOccurs="4"/>
      <xsd:element name="colour"><xsd:simpleType><xsd:restriction base="xsd:string"><xsd:enumeration value="red"/><xsd:enumeration value="blue"/></xsd:restriction></xsd:simpleType></xsd:element>
      <xsd:element name="parent" type="Order" minOccurs="0"/>
      <xsd:element name="how"><xsd:complexType><xsd:choice><xsd:element name="cash" type="xsd:long"/><xsd:element name="card" type="xsd:token"/></xsd:choice></xsd:complexType></xsd:element>
    </xsd:sequence>
  </xsd:complexType>
  <xsd:complexType name="Line"><xsd:all><xsd:element name="count" type="xsd:short"/></xsd:all></xsd:complexType>
</xsd:schema>"#;

#[test]
fn an_ordinary_schema_gives_a_format() {
    let format = format_from_xml_schema(ORDINARY, ByteOrder::Little, PointerWidth::Eight).unwrap();
    let types: Vec<String> = format.fields().iter().map(|field| format.type_name(&field.ty)).collect();
    assert_eq!(types, ["u32", "string?", "[Line]", "f64[4]", "colour", "&Order?", "how"]);
    assert_eq!(format.fields()[0].description.as_deref(), Some("by whom"));
}

#[test]
fn what_does_not_fit_is_named_with_its_place() {
    let error = |from: &str, to: &str| {
        let schema = ORDINARY.replacen(from, to, 1);
        assert_ne!(schema, ORDINARY);
        format_from_xml_schema(&schema, ByteOrder::Little, PointerWidth::Eight).unwrap_err().to_string()
    };
    assert_eq!(error("</xsd:all>", "</xsd:all><xsd:attribute name='a'/>"), "Line: attribute: has no place in a format");
    assert!(error("xsd:short", "xsd:NOTATION").starts_with("Line/count: xsd:NOTATION: is a type that is unknown"));
    assert!(error("<xsd:schema", "<!DOCTYPE x [<!ENTITY a 'b'>]><xsd:schema").contains("document type"));
    assert!(error("maxOccurs=\"4\"", "maxOccurs=\"-4\"").contains("Order/corner: maxOccurs: is no number"));
    let deep = "<a>".repeat(100_000);
    assert!(format_from_xml_schema(&deep, ByteOrder::Little, PointerWidth::Eight).is_err());
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
