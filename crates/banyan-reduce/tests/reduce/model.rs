//! The same functions, written down as simply as possible over all members at once.

use std::collections::{BTreeMap, BTreeSet};

use banyan_ndr::Value;
use banyan_ranks::RankSet;

use crate::member::Member;

/// The specification that the model computes, without its `by`.
pub(crate) const FUNCTIONS: &str = "count(), count(rest), count(tags), sum(load), sum(temp), exact_sum(temp), \
    exact_sum(load), avg(load), avg(rest), min(temp), max(load), max(rest), first(host), first(rest), first(cells), \
    concat(host), concat(tags), top(3, load), top(2, temp), hist(temp, -10, 10, 7), hist(cells, 0, 1, 1), \
    classes(state), classes(tags), union(tags), union(load), sum(cells), avg(cells), min(cells), max(ints), sum(ints), \
    exact_sum(cells), sum(mesh.elems[*].energy), max(cells[0]) as corner";

fn float(value: f64) -> Value {
    Value::F64(value)
}

fn integer(value: i64) -> Value {
    Value::Int(value.into())
}

fn text(text: &str) -> Value {
    Value::Str(text.into())
}

fn list(values: impl IntoIterator<Item = Value>) -> Value {
    Value::List(values.into_iter().collect())
}

fn rank(rank: u32) -> Value {
    Value::Int(rank.into())
}

/// Value and owner of the best of all, the lowest rank on ties.
fn best<T: PartialOrd + Copy>(values: impl Iterator<Item = (T, u32)>, largest: bool) -> Option<(T, u32)> {
    let mut best: Option<(T, u32)> = None;
    for (value, who) in values {
        #[expect(clippy::eq_op, reason = "NaN is no candidate")]
        let is_number = value == value;
        let better = best.is_none_or(|(known, _)| if largest { value > known } else { value < known });
        if is_number && better {
            best = Some((value, who));
        }
    }
    best
}

/// Element by element; NaN yields to every number.
fn best_of_each<T: PartialOrd + Copy>(
    members: &[&Member],
    array: impl Fn(&Member) -> Vec<T>,
    largest: bool,
    value: impl Fn(T) -> Value,
) -> (Value, Value) {
    let length = members.first().map_or(0, |member| array(member).len());
    let bests: Vec<(T, u32)> = (0..length)
        .map(|index| {
            let each = members.iter().map(|member| (array(member)[index], member.rank));
            best(each, largest).unwrap_or_else(|| (array(members[0])[index], members[0].rank))
        })
        .collect();
    (list(bests.iter().map(|(best, _)| value(*best))), list(bests.iter().map(|(_, who)| rank(*who))))
}

fn sums(members: &[&Member], array: impl Fn(&Member) -> &[f64]) -> Vec<f64> {
    let length = members.first().map_or(0, |member| array(member).len());
    (0..length).map(|index| members.iter().map(|member| array(member)[index]).sum()).collect()
}

fn histogram(values: &[f64], low: f64, high: f64, bins: usize) -> [Value; 4] {
    let mut counts = vec![0; bins];
    let inside = values.iter().filter(|value| **value >= low && **value <= high);
    inside.for_each(|value| counts[(((value - low) / (high - low) * bins as f64) as usize).min(bins - 1)] += 1);
    let number = |test: &dyn Fn(f64) -> bool| integer(values.iter().filter(|value| test(**value)).count() as i64);
    [list(counts.into_iter().map(integer)), number(&|v| v < low), number(&|v| v > high), number(&|v| v.is_nan())]
}

fn top<T: PartialOrd + Copy>(mut values: Vec<(T, u32)>, most: usize, value: impl Fn(T) -> Value) -> (Value, Value) {
    values.sort_by(|one, other| other.0.partial_cmp(&one.0).expect("no NaN").then(one.1.cmp(&other.1)));
    values.truncate(most);
    (list(values.iter().map(|(kept, _)| value(*kept))), list(values.iter().map(|(_, who)| rank(*who))))
}

fn classes<'m>(values: impl Iterator<Item = (&'m str, u32)>) -> (Value, Value) {
    let mut classes: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    values.for_each(|(value, who)| classes.entry(value).or_default().push(who));
    let members = |ranks: &Vec<u32>| text(&RankSet::from_iter(ranks.iter().copied()).to_string());
    (list(classes.keys().map(|value| text(value))), list(classes.values().map(members)))
}

/// The fields of the result over these members, which are in the order of their ranks.
pub(crate) fn result(members: &[&Member]) -> Vec<(String, Value)> {
    let mut fields = Vec::new();
    let mut put = |name: &str, value: Value| fields.push((name.to_owned(), value));
    let optional = |value: Option<f64>| value.map_or(Value::Null, float);
    let rests: Vec<(f64, u32)> = members.iter().filter_map(|member| Some((member.rest?, member.rank))).collect();
    let temps: Vec<f64> = members.iter().map(|member| member.temp).collect();
    let loads: i64 = members.iter().map(|member| member.load).sum();
    let tagged = || members.iter().flat_map(|member| member.tags.iter().map(|tag| (tag.as_str(), member.rank)));
    // Sums of quarters are exact, so their order does not matter. The sum of no values, -0, is shown as 0.
    let sum = |values: &[f64]| values.iter().sum::<f64>() + 0.0;

    put("count()", integer(members.len() as i64));
    put("count(rest)", integer(rests.len() as i64));
    put("count(tags)", integer(tagged().count() as i64));
    put("sum(load)", integer(loads));
    put("sum(temp)", float(sum(&temps)));
    put("exact_sum(temp)", float(sum(&temps)));
    put("exact_sum(load)", integer(loads));
    put("avg(load)", optional((!members.is_empty()).then(|| loads as f64 / members.len() as f64)));
    let rest_sum: f64 = rests.iter().map(|(rest, _)| rest).sum();
    put("avg(rest)", optional((!rests.is_empty()).then(|| rest_sum / rests.len() as f64)));
    let mut put_best = |name: &str, best: Option<(Value, u32)>| {
        let (value, who) = best.map_or((Value::Null, 0), |(value, who)| (value, who));
        put(name, value);
        put(&format!("{name}.who"), rank(who));
    };
    let coldest = best(members.iter().map(|member| (member.temp, member.rank)), false);
    put_best("min(temp)", coldest.map(|(temp, who)| (float(temp), who)));
    let busiest = best(members.iter().map(|member| (member.load, member.rank)), true);
    put_best("max(load)", busiest.map(|(load, who)| (integer(load), who)));
    put_best("max(rest)", best(rests.iter().copied(), true).map(|(rest, who)| (float(rest), who)));
    let corner = best(members.iter().map(|member| (member.cells[0], member.rank)), true);
    put_best("corner", corner.map(|(cell, who)| (float(cell), who)));

    let mut put_first = |name: &str, first: Option<(Value, u32)>| {
        put(name, first.as_ref().map_or(Value::Null, |(value, _)| value.clone()));
        put(&format!("{name}.who"), first.map_or(Value::Null, |(_, who)| rank(who)));
    };
    put_first("first(host)", members.first().map(|member| (text(&member.host), member.rank)));
    put_first("first(rest)", rests.first().map(|(rest, who)| (float(*rest), *who)));
    let first_cells = members.first().map(|member| (list(member.cells.iter().copied().map(float)), member.rank));
    put_first("first(cells)", first_cells);
    put("concat(host)", list(members.iter().map(|member| text(&member.host))));
    put("concat(host).who", list(members.iter().map(|member| rank(member.rank))));
    put("concat(host).cut", integer(0));
    put("concat(tags)", list(tagged().map(|(tag, _)| text(tag))));
    put("concat(tags).who", list(tagged().map(|(_, who)| rank(who))));
    put("concat(tags).cut", integer(0));

    let (values, who) = top(members.iter().map(|member| (member.load, member.rank)).collect(), 3, integer);
    put("top(3, load)", values);
    put("top(3, load).who", who);
    let numbers = members.iter().filter(|member| !member.temp.is_nan());
    let (values, who) = top(numbers.map(|member| (member.temp, member.rank)).collect(), 2, float);
    put("top(2, temp)", values);
    put("top(2, temp).who", who);
    let cells: Vec<f64> = members.iter().flat_map(|member| member.cells.iter().copied()).collect();
    for (name, values) in [
        ("hist(temp, -10, 10, 7)", histogram(&temps, -10.0, 10.0, 7)),
        ("hist(cells, 0, 1, 1)", histogram(&cells, 0.0, 1.0, 1)),
    ] {
        for (suffix, value) in ["", ".under", ".over", ".nan"].into_iter().zip(values) {
            put(&format!("{name}{suffix}"), value);
        }
    }
    sets(members, &mut put);
    elementwise(members, put);
    fields
}

fn sets(members: &[&Member], mut put: impl FnMut(&str, Value)) {
    let tagged = || members.iter().flat_map(|member| member.tags.iter().map(|tag| (tag.as_str(), member.rank)));
    let states = classes(members.iter().map(|member| (member.state.as_str(), member.rank)));
    for (name, (values, who)) in [("classes(state)", states), ("classes(tags)", classes(tagged()))] {
        put(name, values);
        put(&format!("{name}.members"), who);
        put(&format!("{name}.others"), text(""));
    }
    put("union(tags)", list(tagged().map(|(tag, _)| tag).collect::<BTreeSet<_>>().into_iter().map(text)));
    put("union(tags).cut", Value::Bool(false));
    put(
        "union(load)",
        list(members.iter().map(|member| member.load).collect::<BTreeSet<_>>().into_iter().map(integer)),
    );
    put("union(load).cut", Value::Bool(false));
}

fn elementwise(members: &[&Member], mut put: impl FnMut(&str, Value)) {
    let cells = sums(members, |member| &member.cells);
    put("sum(cells)", list(cells.iter().copied().map(float)));
    put("exact_sum(cells)", list(cells.iter().map(|sum| float(sum + 0.0))));
    put("avg(cells)", list(cells.iter().map(|sum| float(sum / members.len() as f64))));
    let (values, who) = best_of_each(members, |member| member.cells.clone(), false, float);
    put("min(cells)", values);
    put("min(cells).who", who);
    let (values, who) = best_of_each(members, |member| member.ints.clone(), true, integer);
    put("max(ints)", values);
    put("max(ints).who", who);
    let length = members.first().map_or(0, |member| member.ints.len());
    put("sum(ints)", list((0..length).map(|index| integer(members.iter().map(|member| member.ints[index]).sum()))));
    put("sum(mesh.elems[*].energy)", list(sums(members, |member| &member.energy).into_iter().map(float)));
}
