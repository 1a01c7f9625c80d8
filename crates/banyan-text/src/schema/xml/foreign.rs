//! Formats from other people's XML Schemas, as far as they fit.

use std::collections::HashMap;

use super::super::SchemaError;
use super::super::foreign::{Drafts, optional};
use super::super::notation::scalar;
use super::tree::{Node, XS};
use banyan_ndr::{ByteOrder, Definition, Field, Format, Order, PointerWidth, RecordDef, Type};

/// Deepest nesting of types.
const DEPTH: usize = 64;

pub(super) fn format(schema: &Node, order: ByteOrder, pointer: PointerWidth) -> Result<Format, SchemaError> {
    if schema.name != "schema" {
        return Err(SchemaError::unfit("/", "schema", "the document is no XML Schema"));
    }
    let declared = schema.attributes().filter_map(|(name, space)| Some((name.strip_prefix("xmlns:")?, space)));
    let prefix = declared.filter(|(_, space)| *space == XS).map(|(prefix, _)| format!("{prefix}:")).next();
    let mut reader = Reader {
        types: types(schema),
        prefix: prefix.unwrap_or_default(),
        drafts: Drafts::default(),
        known: HashMap::new(),
    };
    let root = schema.child("element").ok_or_else(|| SchemaError::unfit("/", "element", "there is no root element"))?;
    let name = root.get("name").unwrap_or("Record");
    match reader.element_type(root, name, name, 0)? {
        Type::Record(id) | Type::Variant(id) if id.index() == 0 => reader.drafts.finish(order, pointer),
        _ => Err(SchemaError::unfit(name, "element", "the root element must have elements in it")),
    }
}

/// The types of a schema by name. Of two with one name the first counts.
fn types(schema: &Node) -> HashMap<&str, &Node> {
    let mut types = HashMap::new();
    for node in schema.content().filter(|node| matches!(node.name.as_str(), "complexType" | "simpleType")) {
        if let Some(name) = node.get("name") {
            types.entry(name).or_insert(node);
        }
    }
    types
}

struct Reader<'a> {
    /// The types that the schema names.
    types: HashMap<&'a str, &'a Node>,
    /// Of XML Schema's own types, with the colon.
    prefix: String,
    drafts: Drafts,
    /// Named types; one that is being read is there too, as a pointer to it.
    known: HashMap<&'a str, Type>,
}

impl<'a> Reader<'a> {
    /// The type of an element's content, without its occurrence.
    fn element_type(&mut self, element: &'a Node, at: &str, name: &str, depth: usize) -> Result<Type, SchemaError> {
        if depth > DEPTH {
            return Err(SchemaError::unfit(at, "element", format!("types are nested deeper than {DEPTH}")));
        }
        if let Some(ty) = element.get("type") {
            return self.named(ty, at, depth);
        }
        let content: Vec<&Node> = element.content().collect();
        match content.as_slice() {
            [only] if only.name == "complexType" => self.complex(only, at, name, None, depth),
            [only] if only.name == "simpleType" => self.simple(only, at, name, depth),
            _ => Err(SchemaError::unfit(at, "element", "has neither a type nor one within it")),
        }
    }

    fn named(&mut self, ty: &'a str, at: &str, depth: usize) -> Result<Type, SchemaError> {
        if let Some(known) = self.known.get(ty) {
            return Ok(known.clone());
        }
        if let Some(builtin) = ty.strip_prefix(self.prefix.as_str()).filter(|ty| !ty.contains(':')).and_then(builtin) {
            return Ok(builtin);
        }
        let found = ty.rsplit(':').next().and_then(|name| self.types.get(name).copied());
        let node =
            found.ok_or_else(|| SchemaError::unfit(at, ty, "is a type that is unknown or has no place in a format"))?;
        let name = node.get("name").unwrap_or(ty);
        let result = match node.name.as_str() {
            "complexType" => self.complex(node, name, name, Some(ty), depth + 1)?,
            _ => self.simple(node, name, name, depth + 1)?,
        };
        self.known.insert(ty, result.clone());
        Ok(result)
    }

    fn complex(
        &mut self,
        node: &'a Node,
        at: &str,
        name: &str,
        known_as: Option<&'a str>,
        depth: usize,
    ) -> Result<Type, SchemaError> {
        let content: Vec<&Node> = node.content().collect();
        let group = match content.as_slice() {
            [group] if matches!(group.name.as_str(), "sequence" | "all" | "choice") => *group,
            [] => return Err(SchemaError::unfit(at, "complexType", "has no elements")),
            [first, ..] => {
                let odd = content.iter().find(|node| !matches!(node.name.as_str(), "sequence" | "all" | "choice"));
                return Err(SchemaError::unfit(at, &odd.unwrap_or(first).name, "has no place in a format"));
            }
        };
        let id = self.drafts.begin(at, name)?;
        let is_choice = group.name == "choice";
        let itself = if is_choice { Type::Variant(id) } else { Type::Record(id) };
        if let Some(key) = known_as {
            let pointer = Type::Ref { item: itself.clone().into(), nullable: false, shared: false };
            self.known.insert(key, pointer);
        }
        let mut fields = Vec::new();
        for element in group.content() {
            fields.push(self.field(element, at, depth)?);
        }
        if is_choice {
            let cases = fields.into_iter().map(|field| (field.name, Some(field.ty))).collect();
            return Ok(self.drafts.set_variant(id, name, cases));
        }
        self.drafts.set(id, Definition::Record(RecordDef { name: name.into(), size: 0, align: 1, fields }));
        Ok(itself)
    }

    fn field(&mut self, element: &'a Node, at: &str, depth: usize) -> Result<Field, SchemaError> {
        if element.name != "element" {
            return Err(SchemaError::unfit(at, &element.name, "has no place in a format"));
        }
        let name = element.get("name").ok_or_else(|| SchemaError::unfit(at, "element", "must have a name"))?;
        let at = format!("{at}/{name}");
        let item = self.element_type(element, &at, name, depth + 1)?;
        let least: u32 = occurs(element, &at, "minOccurs")?.unwrap_or(1);
        let ty = match (element.get("maxOccurs"), occurs(element, &at, "maxOccurs")) {
            (Some("unbounded"), _) => Type::List { item: item.into() },
            (_, Ok(most)) => match (least, most.unwrap_or(1)) {
                (1, 1) => item,
                (0, 1) => optional(item),
                (least, most) if least == most && most > 0 => {
                    Type::Array { item: item.into(), dims: vec![most], order: Order::Row }
                }
                _ => Type::List { item: item.into() },
            },
            (_, Err(error)) => return Err(error),
        };
        let ty = if element.get("nillable") == Some("true") { optional(ty) } else { ty };
        let documentation = element.child("annotation").and_then(|annotation| annotation.child("documentation"));
        let description = documentation.map(|documentation| documentation.text.trim().to_owned());
        Ok(Field { description, ..Field::new(name, 0, ty) })
    }

    fn simple(&mut self, node: &'a Node, at: &str, name: &str, depth: usize) -> Result<Type, SchemaError> {
        let Some(restriction) = node.child("restriction") else {
            let odd = node.content().next().map_or("simpleType", |node| node.name.as_str());
            return Err(SchemaError::unfit(at, odd, "only restrictions have a place in a format"));
        };
        let values: Vec<String> = restriction
            .content()
            .filter(|facet| facet.name == "enumeration")
            .filter_map(|facet| facet.get("value").map(str::to_owned))
            .collect();
        let base = restriction.get("base").ok_or_else(|| SchemaError::unfit(at, "restriction", "must have a base"))?;
        if depth > DEPTH {
            return Err(SchemaError::unfit(at, "restriction", format!("types are nested deeper than {DEPTH}")));
        }
        match self.named(base, at, depth + 1)? {
            Type::Str if !values.is_empty() => self.drafts.enumeration(at, name, values),
            other => Ok(other),
        }
    }
}

fn occurs(element: &Node, at: &str, name: &str) -> Result<Option<u32>, SchemaError> {
    let number =
        element.get(name).map(|number| number.parse().map_err(|_| SchemaError::unfit(at, name, "is no number")));
    number.transpose()
}

/// XML Schema's own types.
fn builtin(name: &str) -> Option<Type> {
    scalar(match name {
        "byte" => "i8",
        "short" => "i16",
        "int" => "i32",
        "long" | "integer" | "nonPositiveInteger" | "negativeInteger" => "i64",
        "unsignedByte" => "u8",
        "unsignedShort" => "u16",
        "unsignedInt" => "u32",
        "unsignedLong" | "nonNegativeInteger" | "positiveInteger" => "u64",
        "float" => "f32",
        "double" | "decimal" => "f64",
        "boolean" => "bool",
        "base64Binary" => "bytes",
        "string" | "normalizedString" | "token" | "anyURI" | "date" | "dateTime" | "time" | "duration" | "Name"
        | "NCName" | "ID" | "language" => "string",
        _ => return None,
    })
}
