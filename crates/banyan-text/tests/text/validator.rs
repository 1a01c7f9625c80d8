//! A validator for just the keywords of JSON Schema that Banyan writes. An unknown keyword is a failure, so that the
//! tests cannot pass by looking away.

use serde_json::Value as Json;

pub(crate) fn validate(root: &Json, schema: &Json, value: &Json) -> Result<(), String> {
    let members = schema.as_object().ok_or("a schema is an object")?;
    for (keyword, argument) in members {
        check(root, schema, keyword, argument, value).map_err(|error| format!("{keyword}: {error}"))?;
    }
    Ok(())
}

fn check(root: &Json, schema: &Json, keyword: &str, argument: &Json, value: &Json) -> Result<(), String> {
    let holds = |condition: bool| if condition { Ok(()) } else { Err(format!("{argument} does not hold for {value}")) };
    match keyword {
        "$schema" | "title" | "description" | "$defs" | "contentEncoding" => Ok(()),
        _ if keyword.starts_with("x-") => Ok(()),
        "$ref" => {
            let target = root.pointer(argument.as_str().unwrap().strip_prefix('#').unwrap());
            validate(root, target.ok_or("leads nowhere")?, value)
        }
        "type" => match argument {
            Json::Array(types) => holds(types.iter().any(|ty| is_type(ty, value))),
            ty => holds(is_type(ty, value)),
        },
        "anyOf" => holds(passing(root, argument, value) >= 1),
        "oneOf" => holds(passing(root, argument, value) == 1),
        "not" => holds(validate(root, argument, value).is_err()),
        "enum" => holds(argument.as_array().unwrap().contains(value)),
        "const" => holds(argument == value),
        "minimum" => holds(!value.is_number() || at_least(value, argument)),
        "maximum" => holds(!value.is_number() || at_least(argument, value)),
        "minLength" => {
            holds(!value.is_string() || value.as_str().unwrap().chars().count() as u64 >= argument.as_u64().unwrap())
        }
        "maxLength" => {
            holds(!value.is_string() || value.as_str().unwrap().chars().count() as u64 <= argument.as_u64().unwrap())
        }
        "minItems" => holds(!value.is_array() || value.as_array().unwrap().len() as u64 >= argument.as_u64().unwrap()),
        "maxItems" => holds(!value.is_array() || value.as_array().unwrap().len() as u64 <= argument.as_u64().unwrap()),
        "pattern" => holds(!value.is_string() || matches_pattern(argument.as_str().unwrap(), value.as_str().unwrap())),
        "items" => value.as_array().into_iter().flatten().try_for_each(|item| validate(root, argument, item)),
        "required" => {
            let names = argument.as_array().unwrap();
            holds(!value.is_object() || names.iter().all(|name| value.get(name.as_str().unwrap()).is_some()))
        }
        "properties" => {
            value.as_object().into_iter().flatten().try_for_each(|(name, member)| match argument.get(name) {
                Some(schema) => validate(root, schema, member).map_err(|error| format!("{name}: {error}")),
                None => Ok(()),
            })
        }
        "additionalProperties" => {
            let known = |name: &String| schema["properties"].get(name).is_some();
            holds(!value.is_object() || value.as_object().unwrap().keys().all(known))
        }
        other => Err(format!("keyword {other} is unknown to the validator")),
    }
}

fn passing(root: &Json, schemas: &Json, value: &Json) -> usize {
    schemas.as_array().unwrap().iter().filter(|schema| validate(root, schema, value).is_ok()).count()
}

fn is_type(ty: &Json, value: &Json) -> bool {
    match ty.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_i64() || value.is_u64(),
        other => panic!("type {other}"),
    }
}

fn at_least(value: &Json, bound: &Json) -> bool {
    let integer = |value: &Json| value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    match (integer(value), integer(bound)) {
        (Some(value), Some(bound)) => value >= bound,
        _ => value.as_f64() >= bound.as_f64(),
    }
}

/// The three patterns that are written.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let digits =
        |text: &str, least: usize| (least..=39).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    match pattern {
        "^(NaN(:[0-9a-f]{4,16})?|-?inf)$" => matches!(text, "NaN" | "inf" | "-inf") || text.starts_with("NaN:"),
        "^[0-9]{20,39}$" => digits(text, 20),
        "^-?[0-9]{19,39}$" => digits(text.strip_prefix('-').unwrap_or(text), 19),
        other => panic!("pattern {other}"),
    }
}
