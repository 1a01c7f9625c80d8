//! What aggregates come to, by their definition.

use std::slice::from_ref;

use banyan_ndr::Value;

use crate::model::{Expr, Happened, PROCESSES, V, Wanted, order, plain};

/// An aggregate of some events; none where it is only about that.
pub(crate) fn of(name: &str, expression: &Expr, events: &[&Happened]) -> Wanted {
    let all: Vec<(V, &Happened)> = events.iter().map(|event| (expression.of(event), *event)).collect();
    let there = all.iter().filter(|(value, _)| *value != V::Missing).count();
    let numbers: Vec<&V> = all.iter().map(|(value, _)| value).filter(|value| is_summed(value)).collect();
    Some(match name {
        "count" => Value::from(there),
        "sum" | "avg" => sum(&numbers, name == "avg"),
        "min" | "max" => extreme(&numbers, name == "max"),
        "first" | "last" => recent(&all, name == "last"),
        "top2" => {
            let mut sorted: Vec<V> = numbers.into_iter().filter(|value| !is_nan(value)).map(as_number).collect();
            sorted.sort_by(|one, other| {
                float(other)
                    .total_cmp(&float(one))
                    .then(is_float(one).cmp(&is_float(other)))
                    .then(order(from_ref(other), from_ref(one)))
            });
            Value::List(sorted.iter().take(2).map(value).collect())
        }
        "union" => {
            Value::List(different(all.iter().map(|(value, _)| plain(value.clone()))).iter().map(value).collect())
        }
        "classes" => {
            let values = different(all.iter().map(|(value, _)| plain(value.clone())));
            let class = |class: &V| {
                let own = all.iter().filter(|(value, _)| order(&[plain(value.clone())], from_ref(class)).is_eq());
                let ranks: banyan_ranks::RankSet = own.filter_map(|(_, event)| PROCESSES[event.process].1).collect();
                Value::record([("value", value(class)), ("ranks", ranks.to_string().into())])
            };
            Value::List(values.iter().map(class).collect())
        }
        _ => return None,
    })
}

/// Whether a number takes part in sums and extremes.
fn is_summed(value: &V) -> bool {
    match value {
        V::Int(number) => number.unsigned_abs() <= 1 << 90,
        V::Float(_) | V::Truth(_) => true,
        V::Missing | V::Text(_) => false,
    }
}

fn as_number(value: &V) -> V {
    match value {
        V::Truth(truth) => V::Int((*truth).into()),
        V::Float(number) => V::Float(number + 0.0),
        other => other.clone(),
    }
}

fn float(value: &V) -> f64 {
    match as_number(value) {
        V::Int(number) => number as f64,
        V::Float(number) => number + 0.0,
        _ => f64::NAN,
    }
}

fn is_float(value: &V) -> bool {
    matches!(value, V::Float(_))
}

fn is_nan(value: &V) -> bool {
    matches!(value, V::Float(number) if number.is_nan())
}

fn value(of: &V) -> Value {
    match of {
        V::Missing => Value::Null,
        V::Truth(truth) => Value::Bool(*truth),
        V::Int(number) => Value::Int(*number),
        V::Float(number) => Value::F64(*number + 0.0),
        V::Text(text) => Value::Str(text.clone()),
    }
}

fn different(values: impl Iterator<Item = V>) -> Vec<V> {
    let mut all: Vec<V> = values.filter(|value| *value != V::Missing).collect();
    all.sort_by(|one, other| order(from_ref(one), from_ref(other)));
    all.dedup_by(|one, other| order(from_ref(one), from_ref(other)).is_eq());
    all
}

fn sum(numbers: &[&V], is_average: bool) -> Value {
    if numbers.is_empty() {
        return Value::Null;
    }
    let integers: Vec<i128> = numbers
        .iter()
        .filter_map(|value| match as_number(value) {
            V::Int(number) => Some(number),
            _ => None,
        })
        .collect();
    let floats: Vec<f64> = numbers.iter().filter(|value| is_float(value)).map(|value| float(value)).collect();
    let integer: i128 = integers.iter().sum();
    let sum = match (integers.is_empty(), floats.is_empty()) {
        (_, true) if !is_average => return Value::Int(integer),
        (_, true) => integer as f64,
        (true, false) => exact(&floats),
        (false, false) => exact(&floats) + integer as f64,
    };
    Value::F64(if is_average { sum / numbers.len() as f64 } else { sum })
}

fn extreme(numbers: &[&V], is_largest: bool) -> Value {
    let mut best: Option<V> = None;
    for kind in [false, true] {
        for number in numbers.iter().filter(|value| is_float(value) == kind && !is_nan(value)) {
            let number = as_number(number);
            let is_better = best.as_ref().is_none_or(|best| match (&number, best) {
                (V::Int(one), V::Int(other)) if is_largest => one > other,
                (V::Int(one), V::Int(other)) => one < other,
                (one, other) if is_largest => float(one) > float(other),
                (one, other) => float(one) < float(other),
            });
            if is_better {
                best = Some(number);
            }
        }
    }
    best.map_or(Value::Null, |best| value(&best))
}

fn recent(all: &[(V, &Happened)], is_last: bool) -> Value {
    let numbers =
        all.iter().map(|(value, event)| (plain(as_number(value)), event.time)).filter(|(value, _)| match value {
            V::Int(number) => i64::try_from(*number).is_ok(),
            V::Float(_) => true,
            _ => false,
        });
    // Of one time, integers before floats; of one kind the largest is the last.
    let mut numbers: Vec<(V, i64)> = numbers.collect();
    numbers.sort_by(|(one, then), (other, time)| then.cmp(time).then(order(from_ref(one), from_ref(other))));
    let time = if is_last { numbers.last() } else { numbers.first() }.map(|(_, time)| *time);
    let of_time: Vec<&V> = numbers.iter().filter(|(_, at)| Some(*at) == time).map(|(value, _)| value).collect();
    let integers: Vec<&V> = of_time.iter().filter(|value| !is_float(value)).copied().collect();
    let among = if integers.is_empty() { of_time } else { integers };
    let chosen = if is_last { among.last() } else { among.first() };
    chosen.map_or(Value::Null, |chosen| value(chosen))
}

/// The sum of floats, rounded once, to the nearest, ties to even: expansions of parts that do not overlap.
fn exact(floats: &[f64]) -> f64 {
    if floats.iter().any(|float| !float.is_finite()) {
        let is_nan = floats.iter().any(|float| float.is_nan());
        let (up, down) = (floats.contains(&f64::INFINITY), floats.contains(&f64::NEG_INFINITY));
        return match (is_nan || up && down, up) {
            (true, _) => f64::NAN,
            (false, true) => f64::INFINITY,
            (false, false) => f64::NEG_INFINITY,
        };
    }
    let mut parts: Vec<f64> = Vec::new();
    for float in floats {
        let mut rest = *float;
        let mut kept = Vec::new();
        for part in parts {
            let (large, small) = if rest.abs() < part.abs() { (part, rest) } else { (rest, part) };
            let sum = large + small;
            let error = small - (sum - large);
            if error != 0.0 {
                kept.push(error);
            }
            rest = sum;
        }
        kept.push(rest);
        parts = kept;
    }
    // From the largest on; what is left decides ties.
    let mut sum = parts.pop().unwrap_or(0.0);
    while let Some(next) = parts.pop() {
        let before = sum;
        sum = before + next;
        let error = next - (sum - before);
        if error != 0.0 {
            if let Some(below) = parts.last()
                && (*below > 0.0) == (error > 0.0)
                && (error * 2.0) == (sum + error * 2.0) - sum
            {
                sum += error * 2.0;
            }
            break;
        }
    }
    if sum == 0.0 { 0.0 } else { sum }
}
