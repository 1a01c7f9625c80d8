//! Formats back from the XML Schemas that are written here.

use std::collections::HashMap;

use super::super::notation::numbered;
use super::super::{SchemaError, finish, notation};
use super::tree::Node;
use crate::xml_names::unescape_name;
use banyan_ndr::{
    ByteOrder, Case, DefId, Definition, EnumerationDef, Field, Format, Meter, PointerWidth, RecordDef, Type, VariantDef,
};

pub(super) fn format(schema: &Node, order: ByteOrder, pointer: PointerWidth) -> Result<Format, SchemaError> {
    let keys = schema.get("b:definitions").ok_or_else(|| {
        let reason = "is missing: the format comes back only from XML Schemas that Banyan wrote; JSON Schemas by others are read";
        SchemaError::unfit("schema", "b:definitions", reason)
    })?;
    let keys: Vec<String> = keys.split(' ').map(str::to_owned).collect();
    let same_pointer = schema.get("b:pointer") == Some(pointer.bytes().to_string().as_str());
    let mut reader = XmlSchemaReader { keys: numbered(&keys), laid_out: same_pointer };
    let mut nodes: HashMap<&str, &Node> = HashMap::new();
    for node in schema.children.iter().filter(|node| node.get("b:kind").is_some()) {
        nodes.entry(node.get("name").unwrap_or_default()).or_insert(node);
    }
    let mut definitions = Vec::new();
    for key in &keys {
        let node = nodes
            .get(key.as_str())
            .ok_or_else(|| SchemaError::unfit("schema", key, "is in b:definitions, but not here"))?;
        definitions.push(reader.definition(node, key)?);
    }
    finish(order, pointer, definitions, reader.laid_out)
}

struct XmlSchemaReader<'a> {
    keys: HashMap<&'a str, DefId>,
    laid_out: bool,
}

impl XmlSchemaReader<'_> {
    fn definition(&mut self, node: &Node, at: &str) -> Result<Definition, SchemaError> {
        let name = unescape_name(needed(node, at, "b:name")?).into_owned();
        match needed(node, at, "b:kind")? {
            "record" => {
                let mut fields = Vec::new();
                for field in node.child("sequence").into_iter().flat_map(Node::content) {
                    fields.push(self.field(field, at)?);
                }
                let (size, align) = (self.layout(node, "b:size"), self.layout(node, "b:align"));
                Ok(Definition::Record(RecordDef { name, size, align, fields }))
            }
            "variant" => Ok(Definition::Variant(self.variant(node, at, name)?)),
            "enumeration" => Ok(Definition::Enumeration(self.enumeration(node, at, name)?)),
            other => Err(SchemaError::unfit(at, "b:kind", format!("{other:?} is unknown"))),
        }
    }

    fn field(&mut self, node: &Node, at: &str) -> Result<Field, SchemaError> {
        let name = unescape_name(needed(node, at, "name")?).into_owned();
        let at = format!("{at}/{name}");
        let documentation = node.child("annotation").and_then(|annotation| annotation.child("documentation"));
        let offset = self.layout(node, "b:offset");
        Ok(Field {
            unit: node.get("b:unit").map(|unit| unescape_name(unit).into_owned()),
            description: documentation.map(|documentation| unescape_name(&documentation.text).into_owned()),
            meter: match node.get("b:meter") {
                None => None,
                Some("counter") => Some(Meter::Counter),
                Some("gauge") => Some(Meter::Gauge),
                Some(other) => return Err(SchemaError::unfit(&at, "b:meter", format!("{other:?} is unknown"))),
            },
            ..Field::new(name, offset, self.ty(node, &at)?)
        })
    }

    fn variant(&mut self, node: &Node, at: &str, name: String) -> Result<VariantDef, SchemaError> {
        let mut cases = Vec::new();
        for case in node.child("choice").into_iter().flat_map(Node::content) {
            let name = unescape_name(needed(case, at, "name")?).into_owned();
            let at = format!("{at}/{name}");
            cases.push(Case {
                tag: number(case, &at, "b:tag")?,
                payload: case.get("b:type").map(|_| self.ty(case, &at)).transpose()?,
                name,
            });
        }
        Ok(VariantDef {
            name,
            size: self.layout(node, "b:size"),
            align: self.layout(node, "b:align"),
            tag_width: number(node, at, "b:tag-width")?,
            payload_at: self.layout(node, "b:payload-at"),
            cases,
        })
    }

    fn enumeration(&mut self, node: &Node, at: &str, name: String) -> Result<EnumerationDef, SchemaError> {
        let Type::Int { width, signed } = self.ty(node, at)? else {
            return Err(SchemaError::unfit(at, "b:type", "an enumeration is an integer"));
        };
        let mut names = Vec::new();
        let restrictions =
            node.child("union").into_iter().flat_map(Node::content).filter_map(|ty| ty.child("restriction"));
        for value in restrictions.flat_map(Node::content).filter(|node| node.name == "enumeration") {
            let text = needed(value, at, "value")?;
            let text = text.strip_prefix('#').unwrap_or(text);
            names.push((unescape_name(text).into_owned(), number(value, at, "b:value")?));
        }
        Ok(EnumerationDef { name, width, signed, names })
    }

    fn ty(&mut self, node: &Node, at: &str) -> Result<Type, SchemaError> {
        let parsed = notation::parse(needed(node, at, "b:type")?, &self.keys);
        let parsed = parsed.map_err(|reason| SchemaError::unfit(at, "b:type", reason))?;
        self.laid_out &= parsed.laid_out;
        Ok(parsed.ty)
    }

    /// A number of the layout. Where one is missing, everything will be laid out anew.
    fn layout(&mut self, node: &Node, name: &str) -> u32 {
        let number = node.get(name).and_then(|number| number.parse().ok());
        self.laid_out &= number.is_some();
        number.unwrap_or(0)
    }
}

fn needed<'a>(node: &'a Node, at: &str, name: &str) -> Result<&'a str, SchemaError> {
    node.get(name).ok_or_else(|| SchemaError::unfit(at, name, "is missing"))
}

fn number<N: std::str::FromStr>(node: &Node, at: &str, name: &str) -> Result<N, SchemaError> {
    needed(node, at, name)?.parse().map_err(|_| SchemaError::unfit(at, name, "is not a number that fits"))
}
