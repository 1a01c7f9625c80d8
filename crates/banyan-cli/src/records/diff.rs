//! `banyan records diff`: two files record by record, by value.

use std::cmp::Ordering;
use std::io::Write;
use std::process::ExitCode;

use banyan_ndr::{DynRecord, F16, Value};
use clap::Args;
use serde_json::json;

use super::foreign::Foreign;
use super::memory::{Memory, explain};
use super::source::RecordSource;
use super::walk::RecordSeen;
use crate::failure::{During, Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use crate::screen::harmless;

/// Compare the records of two files by value, whatever machines wrote them
///
/// Records are compared in order and field by field. Byte order, layout, the order of fields, and the width and kind of
/// numbers do not matter. The exit status is 0 if all records are equal, and 1 if there is a difference or damage.
#[derive(Args)]
#[command(after_help = "\
Exit status: 0 no difference; 1 a difference, damage or failure; 2 wrong usage; 4 time limit; 5 not permitted.

Examples:
  banyan records diff before.bny after.bny
  banyan records diff written-on-s390x.bin written-on-x86.bin && echo the same
  banyan records diff a.bny b.bny --json | jq -r .path | sort | uniq -c")]
pub(crate) struct Diff {
    /// The first record file; `-` is standard input
    left: String,
    /// The second record file
    right: String,
    /// Show at most COUNT differences [default: 20, or all with --json]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
    /// One JSON object per difference
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: Memory,
    #[command(flatten)]
    foreign: Foreign,
}

/// Differences that a person wants to read.
const FEW: u64 = 20;

/// What was found so far.
struct Report<'d> {
    options: &'d Diff,
    out: std::io::BufWriter<output::Stdout>,
    found: u64,
}

impl Diff {
    pub(crate) fn run(self) -> Outcome {
        if self.left == "-" && self.right == "-" {
            return Err(Failure::usage("standard input cannot be both files"));
        }
        let mut report = Report { options: &self, out: output::stdout(), found: 0 };
        let (mut left, mut right) =
            (RecordSource::open(&self.left, self.foreign)?, RecordSource::open(&self.right, self.foreign)?);
        self.compare_all(&mut left, &mut right, &mut report)?;
        let limit = self.limit();
        if !self.json && report.found > limit {
            writeln!(report.out, "… and {} more; --limit shows more", report.found - limit)?;
        }
        report.out.flush()?;
        let damaged = left.warn_of_damage() | right.warn_of_damage();
        Ok(if report.found > 0 || damaged { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn limit(&self) -> u64 {
        self.limit.unwrap_or(if self.json { u64::MAX } else { FEW })
    }

    fn compare_all(
        &self,
        left: &mut RecordSource,
        right: &mut RecordSource,
        report: &mut Report<'_>,
    ) -> Result<(), Failure> {
        let mut progress = Progress::beside_output();
        let (mut left, mut right) = (left.records(0)?, right.records(0)?);
        let (mut one, mut other) = (left.next()?, right.next()?);
        // Records keep their numbers when others are lost, so those of the same number belong together.
        loop {
            let order = match (&one, &other) {
                (None, None) => return Ok(()),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.number.cmp(&other.number),
            };
            match (&one, &other) {
                (Some(one), Some(other)) if order.is_eq() => self.compare(one, other, report)?,
                (Some(one), _) if order.is_lt() => report.differ(one.number, "", one.format.name(), "nothing")?,
                (_, Some(other)) => report.differ(other.number, "", "nothing", other.format.name())?,
                _ => {}
            }
            if order.is_le() {
                progress.tell(|| format!("{} records", one.as_ref().map_or(0, |seen| seen.number)));
                one = left.next()?;
            }
            if order.is_ge() {
                other = right.next()?;
            }
        }
    }

    fn compare(&self, left: &RecordSeen<'_>, right: &RecordSeen<'_>, report: &mut Report<'_>) -> Result<(), Failure> {
        let number = left.number;
        if left.format.name() != right.format.name() {
            return report.differ(number, "", left.format.name(), right.format.name());
        }
        if left.format == right.format && left.body == right.body {
            return Ok(());
        }
        let limits = self.memory.limits();
        let within = |name: &str| format!("{name} record {number}");
        let read = |seen: &RecordSeen<'_>, name: &str| {
            let record = DynRecord::from_body(seen.format, seen.body, &limits);
            record.map_err(|error| explain(&error)).during(within(name))
        };
        let (one, other) = (read(left, &self.left)?, read(right, &self.right)?);
        let mut found = Vec::new();
        let mut differ = |path: &str, left: String, right: String| found.push((path.to_owned(), left, right));
        compare("", &one.root, &other.root, &mut differ);
        // Shared values are numbered as they are met, so equal records have equal tables.
        for key in 0..one.shared.len().max(other.shared.len()) {
            let [left, right] = [&one, &other].map(|record| record.shared.get(key).unwrap_or(&Value::Null));
            compare(&format!("shared[{key}]"), left, right, &mut differ);
        }
        found.iter().try_for_each(|(path, left, right)| report.differ(number, path, left, right))
    }
}

impl Report<'_> {
    fn differ(&mut self, record: u64, path: &str, left: &str, right: &str) -> Result<(), Failure> {
        self.found += 1;
        if self.found > self.options.limit() {
            return Ok(());
        }
        if self.options.json {
            let line = json!({ "record": record, "path": path, "left": left, "right": right });
            return Ok(writeln!(self.out, "{line}")?);
        }
        let place = if path.is_empty() { String::new() } else { format!(" {path}") };
        let line = format!("record {record}{place}: {left} != {right}");
        // Names are what the files say they are.
        Ok(writeln!(self.out, "{}", harmless(line.as_bytes()))?)
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
                let (one, other) = (ours.get(position), theirs.get(position));
                let path = format!("{path}[{position}]");
                compare(&path, one.unwrap_or(&missing), other.unwrap_or(&missing), differ);
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

/// Equal values, or equal numbers of other widths and kinds. Not-a-numbers are the same.
fn same(left: &Value, right: &Value) -> bool {
    match (float(left), float(right)) {
        (Some(left), Some(right)) => left == right || (left.is_nan() && right.is_nan()),
        (Some(float), None) => is_integer(float, right),
        (None, Some(float)) => is_integer(float, left),
        (None, None) => left == right,
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::F16(bits) => Some(f64::from(F16::from_bits(*bits).to_f32())),
        Value::F32(number) => Some(f64::from(*number)),
        Value::F64(number) => Some(*number),
        _ => None,
    }
}

/// Whether a value is the integer that a float is, to the last digit.
fn is_integer(float: f64, value: &Value) -> bool {
    let (is_negative, magnitude) = match value {
        Value::Int(number) => (*number < 0, number.unsigned_abs()),
        Value::UInt(number) => (false, *number),
        _ => return false,
    };
    // Larger ones would not keep their value.
    let is_whole = float.fract() == 0.0 && float.abs() < 2f64.powi(128);
    is_whole && float.abs() as u128 == magnitude && (magnitude == 0 || float.is_sign_negative() == is_negative)
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
    fn an_integer_is_the_float_of_its_value() {
        let whole = 1i128 << 100;
        for (integer, float) in
            [(5, 5.0), (-5, -5.0), (0, -0.0), (whole, 2f64.powi(100)), (i128::MIN, -(2f64.powi(127)))]
        {
            assert!(same(&Value::Int(integer), &Value::F64(float)), "{integer} {float}");
            assert!(same(&Value::F64(float), &Value::Int(integer)), "{integer} {float}");
        }
        for (integer, float) in
            [(5, 5.5), (5, -5.0), (whole + 1, 2f64.powi(100)), (i128::MAX, 2f64.powi(127)), (0, f64::NAN)]
        {
            assert!(!same(&Value::Int(integer), &Value::F64(float)), "{integer} {float}");
        }
        assert!(same(&Value::UInt(1 << 127), &Value::F32(2f32.powi(127))));
        assert!(!same(&Value::UInt(u128::MAX), &Value::F64(2f64.powi(128))));
        assert!(!same(&Value::Bool(true), &Value::F64(1.0)));
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
