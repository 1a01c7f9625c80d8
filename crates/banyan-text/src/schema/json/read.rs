//! Formats back from the JSON Schemas that are written here.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::super::notation::numbered;
use super::super::{SchemaError, finish, notation};
use crate::json_names::field_name;
use banyan_ndr::{
    ByteOrder, Case, DefId, Definition, EnumerationDef, Field, Format, Meter, PointerWidth, RecordDef, Type, VariantDef,
};

/// Whether this is a schema of ours.
pub(super) fn is_ours(schema: &Json) -> bool {
    schema.get("x-banyan-definitions").is_some()
}

pub(super) fn format(schema: &Json, order: ByteOrder, pointer: PointerWidth) -> Result<Format, SchemaError> {
    let keys: Vec<String> = strings(schema, "", "x-banyan-definitions")?.into_iter().map(str::to_owned).collect();
    let same_pointer = schema.get("x-banyan-pointer").and_then(Json::as_u64) == Some(pointer.bytes() as u64);
    let mut reader = JsonSchemaReader { keys: numbered(&keys), laid_out: same_pointer };
    let mut definitions = Vec::new();
    for key in &keys {
        let at = format!("#/$defs/{key}");
        let Some(definition) = schema.get("$defs").and_then(|defs| defs.get(key)) else {
            return Err(SchemaError::unfit("#/$defs", key, "is in x-banyan-definitions, but not here"));
        };
        definitions.push(reader.definition(definition, &at)?);
    }
    finish(order, pointer, definitions, reader.laid_out)
}

struct JsonSchemaReader<'a> {
    keys: HashMap<&'a str, DefId>,
    /// Whether all that was read so far has its layout.
    laid_out: bool,
}

impl JsonSchemaReader<'_> {
    fn definition(&mut self, schema: &Json, at: &str) -> Result<Definition, SchemaError> {
        let name = string(schema, at, "title")?.to_owned();
        match string(schema, at, "x-banyan-kind")? {
            "record" => Ok(Definition::Record(self.record(schema, at, name)?)),
            "variant" => Ok(Definition::Variant(self.variant(schema, at, name)?)),
            "enumeration" => Ok(Definition::Enumeration(self.enumeration(schema, at, name)?)),
            other => Err(SchemaError::unfit(at, "x-banyan-kind", format!("{other:?} is unknown"))),
        }
    }

    fn record(&mut self, schema: &Json, at: &str, name: String) -> Result<RecordDef, SchemaError> {
        let mut fields = Vec::new();
        for member in strings(schema, at, "required")? {
            let at = format!("{at}/properties/{}", member.replace('~', "~0").replace('/', "~1"));
            let Some(field) = schema.get("properties").and_then(|properties| properties.get(member)) else {
                return Err(SchemaError::unfit(&at, "required", "names a property that is not there"));
            };
            let name = field_name(member).ok_or_else(|| SchemaError::unfit(&at, member, "is not a name of a field"))?;
            let offset = self.layout(field, "x-banyan-offset");
            fields.push(Field {
                unit: field.get("x-unit").and_then(Json::as_str).map(str::to_owned),
                description: field.get("description").and_then(Json::as_str).map(str::to_owned),
                meter: meter(field, &at)?,
                ..Field::new(name, offset, self.ty(field, &at)?)
            });
        }
        let (size, align) = (self.layout(schema, "x-banyan-size"), self.layout(schema, "x-banyan-align"));
        Ok(RecordDef { name, size, align, fields })
    }

    fn variant(&mut self, schema: &Json, at: &str, name: String) -> Result<VariantDef, SchemaError> {
        let mut cases = Vec::new();
        for (index, case) in array(schema, at, "oneOf")?.iter().enumerate() {
            let at = format!("{at}/oneOf/{index}");
            let tag = case.get("x-banyan-tag").and_then(Json::as_u64);
            cases.push(Case {
                name: string(case, &at, "x-banyan-case")?.to_owned(),
                tag: tag.ok_or_else(|| SchemaError::unfit(&at, "x-banyan-tag", "is missing or no number"))?,
                payload: case.get("x-banyan-type").map(|_| self.ty(case, &at)).transpose()?,
            });
        }
        let tag_width = schema.get("x-banyan-tag-width").and_then(Json::as_u64);
        let tag_width = tag_width.and_then(|width| u8::try_from(width).ok());
        Ok(VariantDef {
            name,
            size: self.layout(schema, "x-banyan-size"),
            align: self.layout(schema, "x-banyan-align"),
            tag_width: tag_width.ok_or_else(|| SchemaError::unfit(at, "x-banyan-tag-width", "is missing"))?,
            payload_at: self.layout(schema, "x-banyan-payload-at"),
            cases,
        })
    }

    fn enumeration(&mut self, schema: &Json, at: &str, name: String) -> Result<EnumerationDef, SchemaError> {
        let Type::Int { width, signed } = self.ty(schema, at)? else {
            return Err(SchemaError::unfit(at, "x-banyan-type", "an enumeration is an integer"));
        };
        let names = strings(schema, at, "x-banyan-names")?;
        let values = array(schema, at, "x-banyan-values")?;
        let values = values.iter().map(|value| {
            let unsigned = value.as_u64().map(i128::from);
            unsigned.or_else(|| value.as_i64().map(i128::from))
        });
        let values: Option<Vec<i128>> = values.collect();
        let values = values.filter(|values| values.len() == names.len());
        let values = values.ok_or_else(|| SchemaError::unfit(at, "x-banyan-values", "needs a number for each name"))?;
        let names = names.into_iter().map(str::to_owned).zip(values).collect();
        Ok(EnumerationDef { name, width, signed, names })
    }

    fn ty(&mut self, schema: &Json, at: &str) -> Result<Type, SchemaError> {
        let text = string(schema, at, "x-banyan-type")?;
        let parsed = notation::parse(text, &self.keys);
        let parsed = parsed.map_err(|reason| SchemaError::unfit(at, "x-banyan-type", reason))?;
        self.laid_out &= parsed.laid_out;
        Ok(parsed.ty)
    }

    /// A number of the layout. Where one is missing, everything will be laid out anew.
    fn layout(&mut self, schema: &Json, keyword: &str) -> u32 {
        let number = schema.get(keyword).and_then(Json::as_u64).and_then(|number| u32::try_from(number).ok());
        self.laid_out &= number.is_some();
        number.unwrap_or(0)
    }
}

fn meter(field: &Json, at: &str) -> Result<Option<Meter>, SchemaError> {
    match field.get("x-meter").and_then(Json::as_str) {
        None => Ok(None),
        Some("counter") => Ok(Some(Meter::Counter)),
        Some("gauge") => Ok(Some(Meter::Gauge)),
        Some(other) => Err(SchemaError::unfit(at, "x-meter", format!("{other:?} is unknown"))),
    }
}

fn string<'a>(schema: &'a Json, at: &str, keyword: &str) -> Result<&'a str, SchemaError> {
    let text = schema.get(keyword).and_then(Json::as_str);
    text.ok_or_else(|| SchemaError::unfit(at, keyword, "is missing or no string"))
}

fn array<'a>(schema: &'a Json, at: &str, keyword: &str) -> Result<&'a [Json], SchemaError> {
    let array = schema.get(keyword).and_then(Json::as_array);
    array.map(Vec::as_slice).ok_or_else(|| SchemaError::unfit(at, keyword, "is missing or no list"))
}

fn strings<'a>(schema: &'a Json, at: &str, keyword: &str) -> Result<Vec<&'a str>, SchemaError> {
    let strings = array(schema, at, keyword)?.iter().map(Json::as_str).collect::<Option<Vec<_>>>();
    strings.ok_or_else(|| SchemaError::unfit(at, keyword, "is no list of strings"))
}
