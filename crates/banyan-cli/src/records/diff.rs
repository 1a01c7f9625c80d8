//! `banyan records diff`: two files record by record, by value.

use std::io::Write;
use std::process::ExitCode;

use banyan_ndr::{DynRecord, Limits, Value};
use clap::Args;
use serde_json::json;

use super::source::{Seen, Source};
use crate::failure::{During, Failure, Outcome};
use crate::output;

/// Compare the records of two files.
///
/// Records are compared in order, field by field, by value: byte order, layout and width do not matter. Exit status 1
/// when there are differences.
#[derive(Args)]
pub(crate) struct Diff {
    /// One file of records; `-` for standard input
    left: String,
    /// The other
    right: String,
    /// Show at most so many differences
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    /// One JSON object a difference
    #[arg(long)]
    json: bool,
}

/// A place where the files differ.
struct Difference {
    record: u64,
    path: String,
    left: String,
    right: String,
}

impl Diff {
    pub(crate) fn run(self) -> Outcome {
        if self.left == "-" && self.right == "-" {
            return Err(Failure::usage("standard input cannot be both files"));
        }
        let (mut left, mut right) = (Source::open(&self.left)?, Source::open(&self.right)?);
        let mut out = output::stdout();
        let mut found = 0;
        loop {
            let differences = match (left.next()?, right.next()?) {
                (None, None) => break,
                (Some(left), Some(right)) => self.compare(&left, &right)?,
                (left, right) => {
                    let number = left.as_ref().or(right.as_ref()).map_or(0, |seen| seen.number);
                    let name = |seen: Option<Seen<'_>>| seen.map_or("nothing".into(), |seen| seen.format.name().into());
                    vec![Difference { record: number, path: String::new(), left: name(left), right: name(right) }]
                }
            };
            for difference in &differences {
                found += 1;
                if found <= self.limit {
                    self.show(&mut out, difference)?;
                }
            }
        }
        if !self.json && found > self.limit {
            writeln!(out, "… and {} more differences", found - self.limit)?;
        }
        out.flush()?;
        Ok(if found > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn compare(&self, left: &Seen<'_>, right: &Seen<'_>) -> Result<Vec<Difference>, Failure> {
        let mut found = Vec::new();
        let mut differ = |path: &str, left: String, right: String, record: u64| {
            found.push(Difference { record, path: path.to_owned(), left, right });
        };
        let number = left.number;
        if left.format.name() != right.format.name() {
            differ("", left.format.name().into(), right.format.name().into(), number);
            return Ok(found);
        }
        let limits = Limits::default();
        let one = DynRecord::from_body(left.format, left.body, &limits).during(&self.left)?;
        let other = DynRecord::from_body(right.format, right.body, &limits).during(&self.right)?;
        compare("", &one.root, &other.root, &mut |path, left, right| differ(path, left, right, number));
        // Shared values are numbered as they are met, so equal records have equal tables.
        let (tables, longest) = ((&one.shared, &other.shared), one.shared.len().max(other.shared.len()));
        for key in 0..longest {
            let path = format!("shared[{key}]");
            let (left, right) = (tables.0.get(key).unwrap_or(&Value::Null), tables.1.get(key).unwrap_or(&Value::Null));
            compare(&path, left, right, &mut |path, left, right| differ(path, left, right, number));
        }
        Ok(found)
    }

    fn show(&self, out: &mut impl Write, difference: &Difference) -> Result<(), Failure> {
        let Difference { record, path, left, right } = difference;
        if self.json {
            writeln!(out, "{}", json!({ "record": record, "path": path, "left": left, "right": right }))?;
        } else {
            let place = if path.is_empty() { String::new() } else { format!(" {path}") };
            writeln!(out, "record {record}{place}: {left} != {right}")?;
        }
        Ok(())
    }
}

/// Tells of every place where two values differ.
fn compare(path: &str, left: &Value, right: &Value, differ: &mut dyn FnMut(&str, String, String)) {
    let missing = Value::Null;
    match (left, right) {
        (Value::Record(ours), Value::Record(theirs)) => {
            let find = |fields: &'_ [(String, Value)], name: &str| fields.iter().position(|field| field.0 == name);
            for (name, value) in ours {
                let other = find(theirs, name).map_or(&missing, |position| &theirs[position].1);
                compare(&join(path, name), value, other, differ);
            }
            for (name, value) in theirs.iter().filter(|(name, _)| find(ours, name).is_none()) {
                compare(&join(path, name), &missing, value, differ);
            }
        }
        (Value::List(ours), Value::List(theirs)) => {
            for position in 0..ours.len().max(theirs.len()) {
                let at = |items: &'_ [Value]| items.get(position).cloned().unwrap_or(Value::Null);
                compare(&format!("{path}[{position}]"), &at(ours), &at(theirs), differ);
            }
        }
        (Value::Case(ours, Some(one)), Value::Case(theirs, Some(other))) if ours == theirs => {
            compare(&join(path, ours), one, other, differ);
        }
        _ if same(left, right) => {}
        _ => differ(path, shown(left), shown(right)),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Equal values, or equal numbers of other widths. Not-a-numbers are the same.
fn same(left: &Value, right: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::F32(number) => Some(f64::from(*number)),
        Value::F64(number) => Some(*number),
        _ => None,
    };
    match (number(left), number(right)) {
        (Some(left), Some(right)) => left == right || (left.is_nan() && right.is_nan()),
        _ => left == right,
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Int(number) => number.to_string(),
        Value::F32(number) => number.to_string(),
        Value::F64(number) => number.to_string(),
        Value::Str(text) => format!("{text:?}"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(left: &Value, right: &Value) -> Vec<String> {
        let mut found = Vec::new();
        compare("", left, right, &mut |path, left, right| found.push(format!("{path}: {left} != {right}")));
        found
    }

    fn record(fields: &[(&str, Value)]) -> Value {
        Value::Record(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
    }

    #[test]
    fn width_and_order_of_fields_make_no_difference() {
        let left = record(&[("a", Value::F32(0.5)), ("b", Value::Int(1))]);
        let right = record(&[("b", Value::Int(1)), ("a", Value::F64(0.5))]);
        assert_eq!(differences(&left, &right), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_named_by_its_path() {
        let list = |items: &[i128]| Value::List(items.iter().map(|item| Value::Int(*item)).collect());
        let left = record(&[("a", list(&[1, 2])), ("b", Value::Str("x".into()))]);
        let right = record(&[("a", list(&[1, 3, 4])), ("c", Value::Int(5))]);
        let wanted = ["a[1]: 2 != 3", "a[2]: nothing != 4", "b: \"x\" != nothing", "c: nothing != 5"];
        assert_eq!(differences(&left, &right), wanted);
    }
}
