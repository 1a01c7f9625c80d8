//! Formats from other people's JSON Schemas, as far as they fit.

use std::collections::{HashMap, HashSet};

use serde_json::Value as Json;

use super::super::SchemaError;
use super::drafts::{Drafts, integer, optional};
use banyan_ndr::{ByteOrder, Definition, Field, Format, Order, PointerWidth, RecordDef, Type};

/// Deepest nesting of schemas, `$ref`s followed.
const DEPTH: usize = 64;

/// Keywords that say something a format can express.
const UNDERSTOOD: [&str; 18] = [
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "$ref",
    "minimum",
    "maximum",
    "contentEncoding",
    "additionalProperties",
    "description",
    "x-unit",
];

/// Keywords that only describe, or only narrow what is allowed: the format allows more.
const PASSED_OVER: [&str; 19] = [
    "$schema",
    "$id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "uniqueItems",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
];

pub(super) fn format(schema: &Json, order: ByteOrder, pointer: PointerWidth) -> Result<Format, SchemaError> {
    let mut reader = ForeignSchemaReader { root: schema, drafts: Drafts::default(), known: HashMap::new() };
    let name = schema.get("title").and_then(Json::as_str).unwrap_or("Record");
    match reader.ty(schema, "#", name, 0)? {
        Type::Record(id) | Type::Variant(id) if id.index() == 0 => reader.drafts.finish(order, pointer),
        _ => Err(SchemaError::unfit("#", "type", "the root must be an object, or one of several")),
    }
}

struct ForeignSchemaReader<'a> {
    root: &'a Json,
    drafts: Drafts,
    /// Types by JSON pointer; a record that is being read is there too, as a pointer to it.
    known: HashMap<String, Type>,
}

impl<'a> ForeignSchemaReader<'a> {
    /// The type of a schema; `name` is what a definition in it is called.
    fn ty(&mut self, schema: &'a Json, at: &str, name: &str, depth: usize) -> Result<Type, SchemaError> {
        if let Some(known) = self.known.get(at) {
            return Ok(known.clone());
        }
        if depth > DEPTH {
            return Err(SchemaError::unfit(at, "$ref", format!("schemas are nested deeper than {DEPTH}")));
        }
        let Some(members) = schema.as_object() else {
            return Err(SchemaError::unfit(at, "schema", "is no object"));
        };
        let unknown =
            members.keys().find(|key| !UNDERSTOOD.contains(&key.as_str()) && !PASSED_OVER.contains(&key.as_str()));
        if let Some(keyword) = unknown {
            return Err(SchemaError::unfit(at, keyword, "has no place in a format"));
        }
        let ty = if let Some(target) = schema.get("$ref") {
            self.reference(target, at, depth)?
        } else if let Some(keyword) = ["anyOf", "oneOf"].into_iter().find(|keyword| schema.get(keyword).is_some()) {
            self.choice(schema, at, keyword, name, depth)?
        } else if schema.get("enum").is_some() {
            self.names(schema, at, name)?
        } else {
            self.plain(schema, at, name, depth)?
        };
        self.known.insert(at.to_owned(), ty.clone());
        Ok(ty)
    }

    fn reference(&mut self, target: &Json, at: &str, depth: usize) -> Result<Type, SchemaError> {
        let unfit = |reason: &str| SchemaError::unfit(at, "$ref", reason);
        let target = target.as_str().ok_or_else(|| unfit("is no string"))?;
        let pointer = target.strip_prefix('#').ok_or_else(|| unfit("leads out of this schema"))?;
        let schema = self.root.pointer(pointer).ok_or_else(|| unfit("leads nowhere"))?;
        let name = pointer.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or("Record");
        self.ty(schema, target, name, depth + 1)
    }

    fn choice(
        &mut self,
        schema: &'a Json,
        at: &str,
        keyword: &str,
        name: &str,
        depth: usize,
    ) -> Result<Type, SchemaError> {
        let unfit = |reason: &str| SchemaError::unfit(at, keyword, reason);
        let choices = schema[keyword].as_array().ok_or_else(|| unfit("is no list"))?;
        let choices = choices.iter().enumerate().map(|(index, choice)| (format!("{at}/{keyword}/{index}"), choice));
        let (nulls, others): (Vec<_>, Vec<_>) = choices.partition(|(_, choice)| choice["type"] == "null");
        let ty = match others.as_slice() {
            [] => return Err(unfit("has no alternatives but null")),
            [(at, only)] => self.ty(only, at, name, depth + 1)?,
            several if several.iter().all(|(_, choice)| choice["const"].is_string()) => {
                let names = several.iter().filter_map(|(_, choice)| choice["const"].as_str()).map(str::to_owned);
                self.drafts.enumeration(at, name, names.collect())?
            }
            several => {
                let id = self.drafts.begin(at, name)?;
                let pointer = Type::Ref { item: Type::Variant(id).into(), nullable: false, shared: false };
                self.known.insert(at.to_owned(), pointer);
                let mut cases = Vec::new();
                for (at, choice) in several {
                    cases.push(self.case(choice, at, keyword, depth)?);
                }
                self.drafts.set_variant(id, name, cases)
            }
        };
        Ok(if nulls.is_empty() { ty } else { optional(ty) })
    }

    /// `{"const": "Case"}`, or an object whose one property is the case.
    fn case(
        &mut self,
        choice: &'a Json,
        at: &str,
        keyword: &str,
        depth: usize,
    ) -> Result<(String, Option<Type>), SchemaError> {
        if let Some(name) = choice["const"].as_str() {
            return Ok((name.to_owned(), None));
        }
        let properties = choice["properties"].as_object().filter(|properties| properties.len() == 1);
        let case = properties.and_then(|properties| properties.iter().next());
        let (name, payload) = case.ok_or_else(|| {
            SchemaError::unfit(at, keyword, "alternatives must be a constant string, or an object with one property")
        })?;
        let at = format!("{at}/properties/{}", escape(name));
        Ok((name.clone(), Some(self.ty(payload, &at, name, depth + 1)?)))
    }

    fn names(&mut self, schema: &'a Json, at: &str, name: &str) -> Result<Type, SchemaError> {
        let values = schema["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
        let (nulls, others): (Vec<_>, Vec<_>) = values.iter().partition(|value| value.is_null());
        let names: Option<Vec<String>> = others.iter().map(|value| value.as_str().map(str::to_owned)).collect();
        let names = names.filter(|names| !names.is_empty());
        let names = names.ok_or_else(|| SchemaError::unfit(at, "enum", "only strings (and null) can be named"))?;
        let ty = self.drafts.enumeration(at, name, names)?;
        Ok(if nulls.is_empty() { ty } else { optional(ty) })
    }

    fn plain(&mut self, schema: &'a Json, at: &str, name: &str, depth: usize) -> Result<Type, SchemaError> {
        let types: Vec<&str> = match &schema["type"] {
            Json::String(only) => vec![only],
            Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
            _ if schema.get("properties").is_some() => vec!["object"],
            _ => return Err(SchemaError::unfit(at, "type", "is missing: a place must have one type")),
        };
        let others: Vec<&str> = types.iter().copied().filter(|ty| *ty != "null").collect();
        let [one] = others.as_slice() else {
            return Err(SchemaError::unfit(at, "type", "there must be one type, besides null"));
        };
        let ty = match *one {
            "object" => self.record(schema, at, name, depth)?,
            "array" => self.array(schema, at, name, depth)?,
            "integer" => integer(bound(schema, at, "minimum")?, bound(schema, at, "maximum")?),
            "number" => Type::Float { width: 8 },
            "boolean" => Type::Bool { width: 1 },
            "string" if schema["contentEncoding"] == "base64" => Type::Bytes,
            "string" if schema.get("contentEncoding").is_none() => Type::Str,
            "string" => return Err(SchemaError::unfit(at, "contentEncoding", "only base64 is known")),
            other => return Err(SchemaError::unfit(at, "type", format!("{other:?} is unknown"))),
        };
        Ok(if others.len() < types.len() { optional(ty) } else { ty })
    }

    fn record(&mut self, schema: &'a Json, at: &str, name: &str, depth: usize) -> Result<Type, SchemaError> {
        if schema["additionalProperties"].is_object() {
            return Err(SchemaError::unfit(at, "additionalProperties", "a record's fields must be known by name"));
        }
        let id = self.drafts.begin(at, name)?;
        let pointer = Type::Ref { item: Type::Record(id).into(), nullable: false, shared: false };
        self.known.insert(at.to_owned(), pointer);
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let required: Vec<&str> = required.iter().filter_map(Json::as_str).collect();
        let is_required: HashSet<&str> = required.iter().copied().collect();
        let Some(properties) = schema["properties"].as_object() else {
            return Err(SchemaError::unfit(at, "properties", "is missing: a record's fields must be known by name"));
        };
        // JSON objects have no order; the list of required names does.
        let rest = properties.keys().map(String::as_str).filter(|name| !is_required.contains(name));
        let mut fields = Vec::new();
        for name in required.iter().copied().chain(rest) {
            let at = format!("{at}/properties/{}", escape(name));
            let property = properties.get(name);
            let property = property.ok_or_else(|| SchemaError::unfit(&at, "required", "there is no such property"))?;
            let ty = self.ty(property, &at, name, depth + 1)?;
            let ty = if is_required.contains(name) { ty } else { optional(ty) };
            let text = |keyword: &str| property[keyword].as_str().map(str::to_owned);
            fields.push(Field { unit: text("x-unit"), description: text("description"), ..Field::new(name, 0, ty) });
        }
        self.drafts.set(id, Definition::Record(RecordDef { name: name.into(), size: 0, align: 1, fields }));
        Ok(Type::Record(id))
    }

    fn array(&mut self, schema: &'a Json, at: &str, name: &str, depth: usize) -> Result<Type, SchemaError> {
        let prefix = schema["prefixItems"].as_array();
        let (item, keyword, len) = match (prefix, schema.get("items")) {
            (Some(prefix), None | Some(Json::Bool(false))) => {
                let first = prefix.first().filter(|first| prefix.iter().all(|other| other == *first));
                let reason = "the items of an array must have one type";
                let first = first.ok_or_else(|| SchemaError::unfit(at, "prefixItems", reason))?;
                (first, "prefixItems/0", Some(prefix.len() as u64))
            }
            (None, Some(items)) if items.is_object() => {
                let (least, most) = (schema["minItems"].as_u64(), schema["maxItems"].as_u64());
                (items, "items", least.filter(|least| Some(*least) == most && *least > 0))
            }
            _ => return Err(SchemaError::unfit(at, "items", "the items of an array must have one type")),
        };
        let item = self.ty(item, &format!("{at}/{keyword}"), name, depth + 1)?;
        match len {
            None => Ok(Type::List { item: item.into() }),
            Some(len) => {
                let len = u32::try_from(len).map_err(|_| SchemaError::unfit(at, "maxItems", "is too large"))?;
                Ok(dimension(len, item))
            }
        }
    }
}

/// An array of arrays is an array of more dimensions.
fn dimension(len: u32, item: Type) -> Type {
    match item {
        Type::Array { item, mut dims, order: Order::Row } => {
            dims.insert(0, len);
            Type::Array { item, dims, order: Order::Row }
        }
        _ => Type::Array { item: item.into(), dims: vec![len], order: Order::Row },
    }
}

fn bound(schema: &Json, at: &str, keyword: &str) -> Result<Option<i128>, SchemaError> {
    let Some(value) = schema.get(keyword) else { return Ok(None) };
    let integer = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    integer.map(Some).ok_or_else(|| SchemaError::unfit(at, keyword, "is no integer of 64 bits"))
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
