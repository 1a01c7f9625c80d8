//! From the result of a reduction to the values of rows.

use banyan_ndr::Value;
use banyan_ranks::RankSet;

use crate::encoded::{decode, from_sortable, sortable, stamped_integer, unstamped};
use crate::plan::{EVENTS, KEY, Output, Plan};
use crate::scalar::canonical;
use crate::syntax::AggregateKind;

/// A result, as values.
#[derive(Debug, Default)]
pub(crate) struct GroupedValues {
    /// Of each group keys and aggregates.
    pub(crate) groups: Vec<Vec<Value>>,
    /// Events in all of them.
    pub(crate) events: u64,
    /// Events of groups that did not fit.
    pub(crate) ungrouped: u64,
    /// Lists that were cut.
    pub(crate) cut: u64,
}

/// Reads a result; none if it is none of this plan.
pub(crate) fn read(plan: &Plan, keys: usize, result: &Value) -> Option<GroupedValues> {
    let mut outcome = GroupedValues::default();
    let root = Fields::of(result)?;
    if keys == 0 {
        outcome.add(plan, keys, root)?;
        return Some(outcome);
    }
    let Value::List(groups) = root.get("groups")? else { return None };
    outcome.ungrouped = root.count("ungrouped");
    groups.iter().try_for_each(|group| outcome.add(plan, keys, Fields::of(group)?))?;
    Some(outcome)
}

impl GroupedValues {
    fn add(&mut self, plan: &Plan, keys: usize, row: Fields<'_>) -> Option<()> {
        let mut values = Vec::with_capacity(keys + plan.outputs.len());
        if keys > 0 {
            let Value::Bytes(key) = row.get(KEY)? else { return None };
            let mut rest = &key[..];
            for _ in 0..keys {
                values.push(decode(&mut rest)?);
            }
        }
        self.events = self.events.saturating_add(row.count(EVENTS));
        for output in &plan.outputs {
            values.push(row.output(output)?);
            self.cut += u64::from(row.get(&output.part(".cut")).is_some_and(|cut| *cut == Value::Bool(true)));
        }
        self.groups.push(values);
        Some(())
    }
}

/// The fields of a result or group by name.
#[derive(Clone, Copy)]
struct Fields<'v>(&'v [(String, Value)]);

impl<'v> Fields<'v> {
    fn of(value: &'v Value) -> Option<Fields<'v>> {
        match value {
            Value::Record(fields) => Some(Fields(fields)),
            _ => None,
        }
    }

    fn get(self, name: &str) -> Option<&'v Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn count(self, name: &str) -> u64 {
        match self.get(name) {
            Some(Value::Int(count)) => u64::try_from(*count).unwrap_or(0),
            _ => 0,
        }
    }

    fn integer(self, name: &str) -> Option<i128> {
        match self.get(name) {
            Some(Value::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn float(self, name: &str) -> Option<f64> {
        match self.get(name) {
            Some(Value::F64(number)) => Some(*number),
            _ => None,
        }
    }

    fn list(self, name: &str) -> &'v [Value] {
        match self.get(name) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// The value of an aggregate. A field that is not there is that of a kind of number which nobody has sent.
    fn output(self, output: &Output) -> Option<Value> {
        let part = |suffix: &str| output.part(suffix);
        let (integer, float) = (self.integer(&part("")), self.float(&part("f")));
        Some(match output.aggregate.kind {
            AggregateKind::Count if output.column.is_none() => Value::from(self.count(EVENTS)),
            AggregateKind::Count => Value::from(self.count(&part(""))),
            AggregateKind::Sum | AggregateKind::Average => {
                let (integers, floats) = (self.count(&part("n")), self.count(&part("fn")));
                let is_average = output.aggregate.kind == AggregateKind::Average;
                sum(integer.unwrap_or(0), integers, float.unwrap_or(0.0), floats, is_average)
            }
            AggregateKind::Minimum => extreme(integer, float, false),
            AggregateKind::Maximum => extreme(integer, float, true),
            AggregateKind::First => recent(integer, self.integer(&part("f")), false),
            AggregateKind::Last => recent(integer, self.integer(&part("f")), true),
            AggregateKind::Top(most) => top(self.list(&part("")), self.list(&part("f")), most as usize),
            AggregateKind::Histogram { .. } => Value::record([
                ("counts", Value::List(self.list(&part("")).to_vec())),
                ("under", Value::from(self.count(&part(".under")))),
                ("over", Value::from(self.count(&part(".over")))),
                ("nan", Value::from(self.count(&part(".nan")))),
            ]),
            AggregateKind::Quantile(share) => {
                self.float(&format!("{}({share})", part(""))).map_or(Value::Null, Value::F64)
            }
            AggregateKind::Distinct => Value::from(self.count(&part(""))),
            AggregateKind::Union => Value::List(self.list(&part("")).iter().map(decoded).collect::<Option<_>>()?),
            AggregateKind::Classes => classes(self.list(&part("")))?,
        })
    }
}

fn sum(integer: i128, integers: u64, float: f64, floats: u64, is_average: bool) -> Value {
    let count = integers.saturating_add(floats);
    match (count, floats, is_average) {
        (0, ..) => Value::Null,
        (_, 0, false) => Value::Int(integer),
        (_, 0, true) => Value::F64(integer as f64 / count as f64),
        (_, _, is_average) => {
            let sum = if integers == 0 { float } else { float + integer as f64 };
            Value::F64(canonical(if is_average { sum / count as f64 } else { sum }))
        }
    }
}

/// Of an integer and a float that are equal, the integer.
fn extreme(integer: Option<i128>, float: Option<f64>, is_largest: bool) -> Value {
    match (integer, float) {
        (None, None) => Value::Null,
        (Some(integer), None) => Value::Int(integer),
        (None, Some(float)) => Value::F64(float),
        (Some(integer), Some(float)) => {
            let is_float = if is_largest { float > integer as f64 } else { float < integer as f64 };
            if is_float { Value::F64(float) } else { Value::Int(integer) }
        }
    }
}

/// Of an integer and a float of one time, the integer.
fn recent(integer: Option<i128>, float: Option<i128>, is_last: bool) -> Value {
    let as_integer = |stamped| Value::Int(stamped_integer(unstamped(stamped).1));
    let as_float = |stamped| Value::F64(from_sortable(unstamped(stamped).1));
    match (integer, float) {
        (None, None) => Value::Null,
        (Some(integer), None) => as_integer(integer),
        (None, Some(float)) => as_float(float),
        (Some(integer), Some(float)) => {
            let (one, other) = (unstamped(integer).0, unstamped(float).0);
            let is_float = if is_last { other > one } else { other < one };
            if is_float { as_float(float) } else { as_integer(integer) }
        }
    }
}

fn top(integers: &[Value], floats: &[Value], most: usize) -> Value {
    let size = |value: &Value| match value {
        Value::Int(number) => sortable(*number as f64),
        Value::F64(number) => sortable(*number),
        _ => 0,
    };
    let mut all: Vec<Value> = integers.iter().chain(floats).cloned().collect();
    // Stable, and both are in order: integers come before floats that are equal.
    all.sort_by_key(|value| std::cmp::Reverse(size(value)));
    all.truncate(most);
    Value::List(all)
}

fn decoded(value: &Value) -> Option<Value> {
    match value {
        Value::Bytes(bytes) => decode(&mut &bytes[..]),
        _ => None,
    }
}

/// Values with the ranks that have each.
fn classes(pairs: &[Value]) -> Option<Value> {
    let mut classes: Vec<(Value, RankSet)> = Vec::new();
    let mut last: &[u8] = &[];
    for pair in pairs {
        let Value::Bytes(bytes) = pair else { return None };
        let mut rest = &bytes[..];
        let value = decode(&mut rest)?;
        let own = &bytes[..bytes.len() - rest.len()];
        if classes.is_empty() || own != last {
            classes.push((value, RankSet::new()));
            last = own;
        }
        if let Value::Int(rank) = decode(&mut rest)? {
            classes.last_mut()?.1.insert(u32::try_from(rank).ok()?);
        }
    }
    let class =
        |(value, ranks): (Value, RankSet)| Value::record([("value", value), ("ranks", ranks.to_string().into())]);
    Some(Value::List(classes.into_iter().map(class).collect()))
}
