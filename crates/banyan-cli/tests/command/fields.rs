//! Every field that `--json` prints stands in the chapter of its verb: what is stable must be written down.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Fields whose own fields are named by somebody else: options of a bench, by the plan of a study.
const NAMED_ELSEWHERE: &[&str] = &["parameters"];

/// Asserts that a chapter names every field of a value, in backquotes.
pub(crate) fn assert_documented(chapter: &str, value: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(chapter);
    let text = fs::read_to_string(path).expect("the chapter");
    let unknown: Vec<&str> = names(value).into_iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
    assert!(unknown.is_empty(), "docs/{chapter} has no word on {unknown:?}");
}

/// The names of all fields in a value.
fn names(value: &Value) -> BTreeSet<&str> {
    match value {
        Value::Object(fields) => {
            let own = fields.keys().map(String::as_str);
            let is_ours = |(name, _): &(&String, &Value)| !NAMED_ELSEWHERE.contains(&name.as_str());
            own.chain(fields.iter().filter(is_ours).flat_map(|(_, value)| names(value))).collect()
        }
        Value::Array(list) => list.iter().flat_map(names).collect(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn the_names_of_fields_are_found_at_every_depth() {
    let value = json!({ "rows": [{ "op": "a" }, { "ratio": { "to": "b" } }], "parameters": { "quick": "true" } });
    assert_eq!(names(&value), ["op", "parameters", "ratio", "rows", "to"].into());
}
