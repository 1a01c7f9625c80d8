//! Rows as people and programs get them.

use std::fmt::Write;
use std::sync::Arc;

use banyan_ndr::Value;

/// A row of the result of a query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The version of the query that made it.
    pub version: u32,
    /// When its window begins, or when its event was: nanoseconds of the observer's clock. None if the window has no begin.
    pub begin: Option<i64>,
    /// When its window ends: the first moment that is not in it. The same as `begin` for a single event.
    pub end: Option<i64>,
    /// The names of the columns.
    pub columns: Arc<[String]>,
    /// The values, one for each column; [`Value::Null`] where one is missing.
    pub values: Vec<Value>,
}

impl Row {
    /// The value of a column.
    pub fn get(&self, column: &str) -> Option<&Value> {
        let position = self.columns.iter().position(|name| name == column)?;
        self.values.get(position)
    }

    /// As one line of JSON: `{"version":1,"begin":0,"end":1000000000,"row":{"host":"a","max(ms)":2.5}}`.
    ///
    /// Missing values are `null`. Floats that JSON lacks are the texts `"NaN"`, `"inf"` and `"-inf"`, and bytes are texts of
    /// hexadecimal digits.
    pub fn to_json(&self) -> String {
        let mut json = format!("{{\"version\":{},\"begin\":", self.version);
        time(&mut json, self.begin);
        json.push_str(",\"end\":");
        time(&mut json, self.end);
        json.push_str(",\"row\":");
        fields(&mut json, self.columns.iter().map(String::as_str).zip(&self.values));
        json.push('}');
        json
    }
}

fn time(json: &mut String, time: Option<i64>) {
    match time {
        Some(time) => write!(json, "{time}").expect("memory takes what is written"),
        None => json.push_str("null"),
    }
}

fn fields<'v>(json: &mut String, fields: impl Iterator<Item = (&'v str, &'v Value)>) {
    json.push('{');
    for (position, (name, value)) in fields.enumerate() {
        if position > 0 {
            json.push(',');
        }
        text(json, name);
        json.push(':');
        write_value(json, value);
    }
    json.push('}');
}

fn write_value(json: &mut String, value: &Value) {
    let written = match value {
        Value::Null | Value::Shared(_) => write!(json, "null"),
        Value::Bool(truth) => write!(json, "{truth}"),
        Value::Int(number) => write!(json, "{number}"),
        Value::UInt(number) => write!(json, "{number}"),
        Value::F16(bits) => return float(json, banyan_ndr::typed::F16::from_bits(*bits).to_f64()),
        Value::F32(number) if number.is_finite() => write!(json, "{number:?}"),
        Value::F32(number) => return float(json, f64::from(*number)),
        Value::F64(number) => return float(json, *number),
        Value::Char(character) => return text(json, character.encode_utf8(&mut [0; 4])),
        Value::Enum(name) | Value::Str(name) => return text(json, name),
        Value::Bytes(bytes) => {
            json.push('"');
            bytes.iter().for_each(|byte| write!(json, "{byte:02x}").expect("memory takes what is written"));
            json.push('"');
            Ok(())
        }
        Value::List(items) => {
            json.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    json.push(',');
                }
                write_value(json, item);
            }
            json.push(']');
            Ok(())
        }
        Value::Record(all) => return fields(json, all.iter().map(|(name, value)| (name.as_str(), value))),
        Value::Case(name, None) => return text(json, name),
        Value::Case(name, Some(payload)) => return fields(json, std::iter::once((name.as_str(), &**payload))),
    };
    written.expect("memory takes what is written");
}

fn float(json: &mut String, number: f64) {
    if number.is_finite() {
        write!(json, "{number:?}").expect("memory takes what is written");
    } else {
        text(
            json,
            if number.is_nan() {
                "NaN"
            } else if number > 0.0 {
                "inf"
            } else {
                "-inf"
            },
        );
    }
}

fn text(json: &mut String, text: &str) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            control if control.is_control() => {
                write!(json, "\\u{:04x}", u32::from(control)).expect("memory takes what is written");
            }
            other => json.push(other),
        }
    }
    json.push('"');
}
