//! Formats to XML Schema.

use super::super::notation;
use super::super::notation::keys;
use super::super::reference::{may_refer, only_refers, shared_types};
use super::tree::{Node, XS};
use super::{ANNOTATIONS, FLOAT, WIDE, WIDE_UNSIGNED};
use crate::xml_names::{ENCODING, ITEM, REFERENCE, SHARED, escape_name, escape_text};
use banyan_ndr::{ByteOrder, Definition, EnumerationDef, Field, Format, Meter, RecordDef, Type, VariantDef};

pub(super) fn schema(format: &Format) -> String {
    let writer = XmlSchemaWriter { format, keys: keys(format) };
    let order = if format.order() == ByteOrder::Big { "big" } else { "little" };
    let definitions = writer.keys.iter().zip(format.definitions());
    let schema = Node::new("schema")
        .with("xmlns:xs", XS)
        .with("xmlns:b", ANNOTATIONS)
        .with("b:definitions", writer.keys.join(" "))
        .with("b:byte-order", order)
        .with("b:pointer", format.pointer().bytes())
        .holding(writer.root())
        .holding_all(definitions.map(|(key, definition)| writer.definition(key, definition)))
        .holding(float())
        .holding(digits(WIDE, "-?[0-9]{1,39}"))
        .holding(digits(WIDE_UNSIGNED, "[0-9]{1,39}"));
    String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") + &schema.to_text()
}

struct XmlSchemaWriter<'a> {
    format: &'a Format,
    keys: Vec<String>,
}

impl XmlSchemaWriter<'_> {
    fn root(&self) -> Node {
        let types = shared_types(self.format);
        let refers = may_refer(self.format, &self.format.root_type());
        let mut content = Node::new("sequence");
        let group = Node::new("group").with("ref", &self.keys[0]);
        content = content.holding(if refers { group.with("minOccurs", 0) } else { group });
        if !types.is_empty() {
            // Which of the types an entry has, only those who refer to it know.
            let any =
                Node::new("any").with("processContents", "skip").with("minOccurs", 0).with("maxOccurs", "unbounded");
            let item = Node::new("complexType")
                .with("mixed", true)
                .holding(Node::new("sequence").holding(any))
                .holding(reference())
                .holding(encoding());
            let item = Node::new("element")
                .with("name", ITEM)
                .with("maxOccurs", "unbounded")
                .with("nillable", true)
                .holding(item);
            let table = Node::new("complexType").holding(Node::new("sequence").holding(item));
            content = content.holding(Node::new("element").with("name", SHARED).with("minOccurs", 0).holding(table));
        }
        let mut ty = Node::new("complexType").holding(content);
        if refers {
            ty = ty.holding(reference());
        }
        Node::new("element").with("name", escape_name(self.format.name())).holding(ty)
    }

    fn definition(&self, key: &str, definition: &Definition) -> Node {
        match definition {
            Definition::Record(record) => self.record(key, record),
            Definition::Variant(variant) => self.variant(key, variant),
            Definition::Enumeration(enumeration) => enumeration_type(key, enumeration),
        }
    }

    fn record(&self, key: &str, record: &RecordDef) -> Node {
        Node::new("group")
            .with("name", key)
            .with("b:kind", "record")
            .with("b:name", escape_name(&record.name))
            .with("b:size", record.size)
            .with("b:align", record.align)
            .holding(Node::new("sequence").holding_all(record.fields.iter().map(|field| self.field(field))))
    }

    fn field(&self, field: &Field) -> Node {
        let mut start = Node::new("element")
            .with("name", escape_name(&field.name))
            .with("b:type", notation::write(&field.ty, &self.keys))
            .with("b:offset", field.offset);
        if let Some(unit) = &field.unit {
            start = start.with("b:unit", escape_text(unit));
        }
        match field.meter {
            Some(Meter::Counter) => start = start.with("b:meter", "counter"),
            Some(Meter::Gauge) => start = start.with("b:meter", "gauge"),
            None => {}
        }
        if let Some(description) = &field.description {
            let documentation = Node::new("documentation").saying(&escape_text(description));
            start = start.holding(Node::new("annotation").holding(documentation));
        }
        self.typed(start, &field.ty)
    }

    fn variant(&self, key: &str, variant: &VariantDef) -> Node {
        let cases = variant.cases.iter().map(|case| {
            let start = Node::new("element").with("name", escape_name(&case.name)).with("b:tag", case.tag);
            match &case.payload {
                None => start.holding(Node::new("complexType")),
                Some(ty) => self.typed(start.with("b:type", notation::write(ty, &self.keys)), ty),
            }
        });
        Node::new("group")
            .with("name", key)
            .with("b:kind", "variant")
            .with("b:name", escape_name(&variant.name))
            .with("b:size", variant.size)
            .with("b:align", variant.align)
            .with("b:tag-width", variant.tag_width)
            .with("b:payload-at", variant.payload_at)
            .holding(Node::new("choice").holding_all(cases))
    }

    /// An element with its type.
    fn typed(&self, element: Node, ty: &Type) -> Node {
        self.place(element, ty, false, false)
    }

    fn place(&self, element: Node, ty: &Type, nillable: bool, refers: bool) -> Node {
        let nillable = nillable || matches!(ty, Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. });
        let refers = refers || may_refer(self.format, ty);
        if only_refers(ty) {
            return nil(element, nillable).holding(Node::new("complexType").holding(reference()));
        }
        match ty {
            Type::Optional { item, .. } | Type::Ref { item, .. } => self.place(element, item, nillable, refers),
            Type::Record(id) | Type::Variant(id) => {
                let group = Node::new("group").with("ref", &self.keys[id.index()]);
                nil(element, nillable).holding(complex(group, refers))
            }
            Type::List { item } => nil(element, nillable).holding(self.items(item, &[None], refers)),
            Type::Array { item, dims, .. } => {
                let dims: Vec<Option<u32>> = dims.iter().copied().map(Some).collect();
                nil(element, nillable).holding(self.items(item, &dims, refers))
            }
            Type::Sized { item, dims, .. } => {
                nil(element, nillable).holding(self.items(item, &vec![None; dims.len()], refers))
            }
            Type::CStr => {
                let extension = Node::new("extension").with("base", "xs:string").holding(encoding());
                let ty = Node::new("complexType").holding(Node::new("simpleContent").holding(extension));
                nil(element, nillable).holding(ty)
            }
            // A pointer to a scalar that is not shared holds it in its own place.
            _ => nil(element.with("type", self.simple(ty)), nillable),
        }
    }

    fn items(&self, item: &Type, dims: &[Option<u32>], refers: bool) -> Node {
        let element = Node::new("element").with("name", ITEM);
        let (least, most) = match dims[0] {
            Some(len) => (len.to_string(), len.to_string()),
            None => ("0".into(), "unbounded".into()),
        };
        let element = element.with("minOccurs", least).with("maxOccurs", most);
        let element = match &dims[1..] {
            [] => self.typed(element, item),
            further => element.holding(self.items(item, further, false)),
        };
        complex(element, refers)
    }

    fn simple(&self, ty: &Type) -> String {
        match ty {
            Type::Int { width, signed } => integer(*width, *signed).into(),
            Type::Float { .. } => FLOAT.into(),
            Type::Bool { .. } => "xs:boolean".into(),
            Type::Bytes => "xs:base64Binary".into(),
            Type::Enum(id) => self.keys[id.index()].clone(),
            _ => "xs:string".into(),
        }
    }
}

fn nil(element: Node, nillable: bool) -> Node {
    if nillable { element.with("nillable", true) } else { element }
}

/// A type with elements in it, of which none need be there when it can refer to a shared value instead.
fn complex(content: Node, refers: bool) -> Node {
    let sequence = Node::new("sequence").holding(content);
    if refers {
        Node::new("complexType").holding(sequence.with("minOccurs", 0)).holding(reference())
    } else {
        Node::new("complexType").holding(sequence)
    }
}

fn reference() -> Node {
    Node::new("attribute").with("name", REFERENCE).with("type", "xs:unsignedLong")
}

fn encoding() -> Node {
    let base64 = Node::new("enumeration").with("value", "base64");
    let restriction = Node::new("restriction").with("base", "xs:string").holding(base64);
    Node::new("attribute").with("name", ENCODING).holding(Node::new("simpleType").holding(restriction))
}

/// Floats: those of XML Schema, and the bits of NaNs.
fn float() -> Node {
    let bits = Node::new("pattern").with("value", "NaN:[0-9a-f]{4,16}");
    let restriction = Node::new("restriction").with("base", "xs:string").holding(bits);
    let union =
        Node::new("union").with("memberTypes", "xs:double").holding(Node::new("simpleType").holding(restriction));
    Node::new("simpleType").with("name", FLOAT).holding(union)
}

/// Integers longer than validators must know.
fn digits(name: &str, pattern: &str) -> Node {
    let pattern = Node::new("pattern").with("value", pattern);
    let restriction = Node::new("restriction").with("base", "xs:token").holding(pattern);
    Node::new("simpleType").with("name", name).holding(restriction)
}

fn integer(width: u8, signed: bool) -> &'static str {
    match (signed, width) {
        (true, 1) => "xs:byte",
        (true, 2) => "xs:short",
        (true, 4) => "xs:int",
        (true, 8) => "xs:long",
        (true, _) => WIDE,
        (false, 1) => "xs:unsignedByte",
        (false, 2) => "xs:unsignedShort",
        (false, 4) => "xs:unsignedInt",
        (false, 8) => "xs:unsignedLong",
        (false, _) => WIDE_UNSIGNED,
    }
}

fn enumeration_type(key: &str, enumeration: &EnumerationDef) -> Node {
    let names = enumeration.names.iter().map(|(name, value)| {
        let escape = if name.starts_with('#') { "#" } else { "" };
        Node::new("enumeration").with("value", format!("{escape}{}", escape_text(name))).with("b:value", value)
    });
    let numbers = Node::new("pattern").with("value", "#-?[0-9]+");
    let restriction = || Node::new("restriction").with("base", "xs:string");
    // A restriction without any facet would allow every string.
    let named =
        (!enumeration.names.is_empty()).then(|| Node::new("simpleType").holding(restriction().holding_all(names)));
    let union =
        Node::new("union").holding_all(named).holding(Node::new("simpleType").holding(restriction().holding(numbers)));
    Node::new("simpleType")
        .with("name", key)
        .with("b:kind", "enumeration")
        .with("b:name", escape_name(&enumeration.name))
        .with("b:type", notation::write(&Type::Int { width: enumeration.width, signed: enumeration.signed }, &[]))
        .holding(union)
}
