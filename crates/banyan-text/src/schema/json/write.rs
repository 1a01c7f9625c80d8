//! Formats to JSON Schema.

use serde_json::{Map, Value as Json, json};

use super::super::notation;
use super::super::notation::keys;
use super::super::reference::{may_refer, only_refers, shared_types};
use crate::json_names::{BYTES, REFERENCE, SHARED, member_name};
use banyan_ndr::{ByteOrder, Definition, EnumerationDef, Field, Format, Meter, RecordDef, Type, VariantDef};

pub(super) fn schema(format: &Format) -> Json {
    let writer = JsonSchemaWriter { format, keys: keys(format) };
    let mut schema = writer.root();
    let defs = writer.keys.iter().zip(format.definitions());
    let mut defs: Map<String, Json> =
        defs.map(|(key, definition)| (key.clone(), writer.definition(definition))).collect();
    defs.extend(writer.table().map(|table| (TABLE.to_owned(), table)));
    let order = if format.order() == ByteOrder::Big { "big" } else { "little" };
    let top = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format.name(),
        "$defs": defs,
        "x-banyan-definitions": writer.keys,
        "x-banyan-byte-order": order,
        "x-banyan-pointer": format.pointer().bytes(),
    });
    extend(&mut schema, top);
    schema
}

fn extend(schema: &mut Json, more: Json) {
    if let (Json::Object(schema), Json::Object(more)) = (schema, more) {
        schema.extend(more);
    }
}

struct JsonSchemaWriter<'a> {
    format: &'a Format,
    keys: Vec<String>,
}

impl JsonSchemaWriter<'_> {
    /// The table of shared values, if records of the format can have one.
    fn table(&self) -> Option<Json> {
        let types = shared_types(self.format);
        let entries: Vec<Json> = types.iter().map(|ty| self.ty(ty)).collect();
        (!entries.is_empty()).then(|| json!({ "type": "array", "items": { "anyOf": entries } }))
    }

    /// The root differs from its definition: it also bears the table of shared values, or is in it.
    fn root(&self) -> Json {
        let has_table = !shared_types(self.format).is_empty();
        let itself = match self.format.root() {
            Definition::Record(record) => self.record(record, has_table),
            Definition::Variant(variant) => self.variant(variant, has_table),
            Definition::Enumeration(_) => unreachable!("the root is a record or a variant"),
        };
        if !has_table || !may_refer(self.format, &self.format.root_type()) {
            return itself;
        }
        let mut reference = reference();
        reference["properties"][SHARED] = table_reference();
        json!({ "anyOf": [itself, reference] })
    }

    fn definition(&self, definition: &Definition) -> Json {
        let (mut schema, kind) = match definition {
            Definition::Record(record) => (self.record(record, false), "record"),
            Definition::Variant(variant) => (self.variant(variant, false), "variant"),
            Definition::Enumeration(enumeration) => (enumeration_schema(enumeration), "enumeration"),
        };
        extend(&mut schema, json!({ "title": definition.name(), "x-banyan-kind": kind }));
        if kind != "enumeration" {
            extend(&mut schema, json!({ "x-banyan-size": definition.size(), "x-banyan-align": definition.align() }));
        }
        if let Definition::Variant(variant) = definition {
            let layout = json!({ "x-banyan-tag-width": variant.tag_width, "x-banyan-payload-at": variant.payload_at });
            extend(&mut schema, layout);
        }
        schema
    }

    fn record(&self, record: &RecordDef, has_table: bool) -> Json {
        let mut properties: Map<String, Json> =
            record.fields.iter().map(|field| (member_name(&field.name).into(), self.field(field))).collect();
        if has_table {
            properties.insert(SHARED.into(), table_reference());
        }
        let required: Vec<_> = record.fields.iter().map(|field| member_name(&field.name)).collect();
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    }

    fn field(&self, field: &Field) -> Json {
        let mut schema = self.ty(&field.ty);
        let ty = notation::write(&field.ty, &self.keys);
        extend(&mut schema, json!({ "x-banyan-type": ty, "x-banyan-offset": field.offset }));
        if let Some(unit) = &field.unit {
            extend(&mut schema, json!({ "x-unit": unit }));
        }
        if let Some(description) = &field.description {
            extend(&mut schema, json!({ "description": description }));
        }
        match field.meter {
            Some(Meter::Counter) => extend(&mut schema, json!({ "x-meter": "counter" })),
            Some(Meter::Gauge) => extend(&mut schema, json!({ "x-meter": "gauge" })),
            None => {}
        }
        schema
    }

    fn variant(&self, variant: &VariantDef, has_table: bool) -> Json {
        let cases: Vec<Json> = variant
            .cases
            .iter()
            .map(|case| {
                let name = member_name(&case.name);
                let mut schema = match &case.payload {
                    None => json!({ "const": name }),
                    Some(ty) => {
                        let mut properties = Map::new();
                        properties.insert(name.clone().into(), self.ty(ty));
                        if has_table {
                            properties.insert(SHARED.into(), table_reference());
                        }
                        json!({
                            "type": "object",
                            "properties": properties,
                            "required": [name],
                            "additionalProperties": false,
                            "x-banyan-type": notation::write(ty, &self.keys),
                        })
                    }
                };
                extend(&mut schema, json!({ "x-banyan-case": case.name, "x-banyan-tag": case.tag }));
                schema
            })
            .collect();
        // No alternatives at all: a variant without cases has no values.
        if cases.is_empty() { json!({ "not": {}, "oneOf": cases }) } else { json!({ "oneOf": cases }) }
    }

    fn ty(&self, ty: &Type) -> Json {
        let mut choices = Vec::new();
        if !only_refers(ty) {
            choices.push(self.present(ty));
        }
        if may_refer(self.format, ty) {
            choices.push(reference());
        }
        if nullable(ty) {
            choices.push(json!({ "type": "null" }));
        }
        match choices.len() {
            1 => choices.remove(0),
            _ => json!({ "anyOf": choices }),
        }
    }

    /// The schema of what is there.
    fn present(&self, ty: &Type) -> Json {
        match ty {
            Type::Optional { item, .. } | Type::Ref { item, .. } => self.ty(item),
            Type::Int { width, signed } => integer(*width, *signed),
            Type::Float { .. } => {
                json!({ "type": ["number", "string"], "pattern": "^(NaN(:[0-9a-f]{4,16})?|-?inf)$" })
            }
            Type::Bool { .. } => json!({ "type": "boolean" }),
            Type::Char { .. } => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            Type::Str => json!({ "type": "string" }),
            Type::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
            Type::CStr => json!({ "anyOf": [
                { "type": "string" },
                { "type": "object", "properties": { BYTES: { "type": "string", "contentEncoding": "base64" } },
                  "required": [BYTES], "additionalProperties": false },
            ] }),
            Type::Enum(id) | Type::Record(id) | Type::Variant(id) => {
                json!({ "$ref": format!("#/$defs/{}", self.keys[id.index()]) })
            }
            Type::List { item } => json!({ "type": "array", "items": self.ty(item) }),
            Type::Array { item, dims, .. } => dims.iter().rev().fold(
                self.ty(item),
                |items, len| json!({ "type": "array", "items": items, "minItems": len, "maxItems": len }),
            ),
            Type::Sized { item, dims, .. } => {
                dims.iter().fold(self.ty(item), |items, _| json!({ "type": "array", "items": items }))
            }
        }
    }
}

/// Whether null itself may stand here. Pointers that cannot be null leave the question to what they point to.
fn nullable(ty: &Type) -> bool {
    matches!(ty, Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. })
}

/// Where the table of shared values is described. No definition has this key, which is not plain.
const TABLE: &str = "shared-values";

fn table_reference() -> Json {
    json!({ "$ref": format!("#/$defs/{TABLE}") })
}

fn reference() -> Json {
    json!({
        "type": "object",
        "properties": { REFERENCE: { "type": "integer", "minimum": 0 } },
        "required": [REFERENCE],
        "additionalProperties": false,
    })
}

fn integer(width: u8, signed: bool) -> Json {
    let bits = 8 * u32::from(width);
    match (signed, bits) {
        (false, 128) => json!({ "type": ["integer", "string"], "minimum": 0, "maximum": u64::MAX,
            "pattern": "^[0-9]{20,39}$" }),
        (true, 128) => json!({ "type": ["integer", "string"], "minimum": i64::MIN, "maximum": u64::MAX,
            "pattern": "^-?[0-9]{19,39}$" }),
        (false, _) => json!({ "type": "integer", "minimum": 0, "maximum": u64::MAX >> (64 - bits) }),
        (true, _) => json!({ "type": "integer", "minimum": i64::MIN >> (64 - bits),
            "maximum": i64::MAX >> (64 - bits) }),
    }
}

fn enumeration_schema(enumeration: &EnumerationDef) -> Json {
    let names: Vec<&str> = enumeration.names.iter().map(|(name, _)| name.as_str()).collect();
    let values: Vec<Json> = enumeration
        .names
        .iter()
        .map(|(_, value)| i64::try_from(*value).map_or_else(|_| json!(*value as u64), |value| json!(value)))
        .collect();
    json!({
        "anyOf": [{ "enum": names }, integer(enumeration.width, enumeration.signed)],
        "x-banyan-type": notation::write(
            &Type::Int { width: enumeration.width, signed: enumeration.signed }, &[]),
        "x-banyan-names": names,
        "x-banyan-values": values,
    })
}
