//! What the objects of `--json` look like: their fields, and of which kind these are.

use serde_json::{Value, json};

/// Asserts that a value has a shape. `"text"`, `"number"`, `"count"`, `"flag"`, `"object"`, `"list"` and `"nothing"` are kinds,
/// `"number|nothing"` is one of several; a list has elements of the shape of its first, and at least one; an object has
/// exactly the fields of its shape, but for those with `?` behind their names, which may be missing.
pub(crate) fn assert_shape(value: &Value, shape: &Value) {
    if let Err(place) = compare(value, shape) {
        panic!("{place} in {value:#}");
    }
}

/// The place that differs, if any does.
fn compare(value: &Value, shape: &Value) -> Result<(), String> {
    match (value, shape) {
        (_, Value::String(kinds)) if kinds.split('|').any(|kind| is_of(value, kind)) => Ok(()),
        (Value::Array(list), Value::Array(shape)) if !list.is_empty() => {
            list.iter().enumerate().try_for_each(|(at, value)| within(&at.to_string(), compare(value, &shape[0])))
        }
        (Value::Object(fields), Value::Object(shapes)) => {
            let is_known = |name: &String| shapes.contains_key(name) || shapes.contains_key(&format!("{name}?"));
            if let Some(name) = fields.keys().find(|name| !is_known(name)) {
                return Err(format!("{name}: is not documented"));
            }
            shapes.iter().try_for_each(|(name, shape)| match fields.get(name.trim_end_matches('?')) {
                Some(value) => within(name, compare(value, shape)),
                None if name.ends_with('?') => Ok(()),
                None => Err(format!("{name}: is missing")),
            })
        }
        _ => Err(format!("{value}: is no {shape}")),
    }
}

fn within(name: &str, compared: Result<(), String>) -> Result<(), String> {
    compared.map_err(|place| format!("{name}: {place}"))
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "text" => value.is_string(),
        "number" => value.is_number(),
        "count" => value.is_u64(),
        "flag" => value.is_boolean(),
        "object" => value.is_object(),
        "list" => value.is_array(),
        "nothing" => value.is_null(),
        other => panic!("{other} is not a kind"),
    }
}

#[test]
fn what_is_missing_too_much_or_of_another_kind_is_found() {
    let shape = json!({ "rows": [{ "op": "text", "ms?": "number|nothing" }] });
    for fits in [json!({ "rows": [{ "op": "a" }] }), json!({ "rows": [{ "op": "a", "ms": null }] })] {
        assert_eq!(compare(&fits, &shape), Ok(()));
    }
    for (value, place) in [
        (json!({}), "rows: is missing"),
        (json!({ "rows": [] }), "rows: []: is no [{\"ms?\":\"number|nothing\",\"op\":\"text\"}]"),
        (json!({ "rows": [{ "op": "a" }, { "op": 1 }] }), "rows: 1: op: 1: is no \"text\""),
        (json!({ "rows": [{ "op": "a", "s": 1 }] }), "rows: 0: s: is not documented"),
    ] {
        assert_eq!(compare(&value, &shape), Err(place.into()));
    }
}
