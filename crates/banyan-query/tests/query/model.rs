//! The obvious way: queries as trees, events as maps, everything computed again for each row. Slow, and apart from the crate.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use banyan_ndr::Value;

/// A value of an event or of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum V {
    Missing,
    Truth(bool),
    Int(i128),
    Float(f64),
    Text(String),
}

/// An event of a process.
#[derive(Debug, Clone)]
pub(crate) struct Happened {
    /// Its number among the processes.
    pub(crate) process: usize,
    pub(crate) sequence: u64,
    pub(crate) time: i64,
    pub(crate) fields: BTreeMap<&'static str, V>,
}

#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Field(&'static str),
    Context(&'static str),
    Constant(V),
    Compute(char, Box<Expr>, Box<Expr>),
    Compare(&'static str, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Call(&'static str, Box<Expr>),
    Like(Box<Expr>, &'static str),
}

#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) columns: Columns,
    pub(crate) filter: Option<Expr>,
    /// Width and slide.
    pub(crate) window: Option<(i64, Option<i64>)>,
    pub(crate) limit: Option<usize>,
}

#[derive(Debug, Clone)]
pub(crate) enum Columns {
    Rows(Vec<Expr>),
    Aggregates { keys: Vec<Expr>, items: Vec<(&'static str, Expr)>, least: Option<u64> },
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Field(name) => write!(f, "\"{name}\""),
            Expr::Context(name) => f.write_str(name),
            Expr::Constant(V::Truth(truth)) => write!(f, "{truth}"),
            Expr::Constant(V::Int(number)) => write!(f, "({number})"),
            Expr::Constant(V::Float(number)) => write!(f, "({number:?})"),
            Expr::Constant(V::Text(text)) => write!(f, "'{}'", text.replace('\'', "''")),
            Expr::Constant(V::Missing) => unreachable!("nothing is written so"),
            Expr::Compute(sign, left, right) => write!(f, "({left} {sign} {right})"),
            Expr::Compare(sign, left, right) => write!(f, "({left} {sign} {right})"),
            Expr::And(left, right) => write!(f, "({left} and {right})"),
            Expr::Or(left, right) => write!(f, "({left} or {right})"),
            Expr::Not(of) => write!(f, "(not {of})"),
            Expr::Call(name, of) => write!(f, "{name}({of})"),
            Expr::Like(of, pattern) => write!(f, "({of} like '{pattern}')"),
        }
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keyed = String::new();
        let mut having = String::new();
        let columns: Vec<String> = match &self.columns {
            Columns::Rows(columns) => columns.iter().map(ToString::to_string).collect(),
            Columns::Aggregates { keys, items, least } => {
                if !keys.is_empty() {
                    keyed =
                        format!(" group by {}", keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));
                }
                having = least.map_or_else(String::new, |least| format!(" having count() >= {least}"));
                let items = items.iter().map(|(name, of)| match *name {
                    "top2" => format!("top(2, {of})"),
                    name => format!("{name}({of})"),
                });
                keys.iter().map(ToString::to_string).chain(items).collect()
            }
        };
        let named = columns.iter().enumerate().map(|(number, column)| format!("{column} as c{number}"));
        write!(f, "select {} from step", named.collect::<Vec<_>>().join(", "))?;
        if let Some(filter) = &self.filter {
            write!(f, " where {filter}")?;
        }
        f.write_str(&keyed)?;
        if let Some((width, slide)) = self.window {
            write!(f, " every {width}ns")?;
            slide.map_or(Ok(()), |slide| write!(f, " sliding {slide}ns"))?;
        }
        f.write_str(&having)?;
        self.limit.map_or(Ok(()), |limit| write!(f, " limit {limit}"))
    }
}

/// Names and ranks of the processes.
pub(crate) const PROCESSES: [(&str, Option<u32>, u32); 4] =
    [("a", Some(0), 10), ("a", Some(1), 11), ("b", None, 10), ("c", Some(7), 3)];

fn number(value: &V) -> Option<f64> {
    match value {
        V::Truth(truth) => Some(if *truth { 1.0 } else { 0.0 }),
        V::Int(number) => Some(*number as f64),
        V::Float(number) => Some(*number),
        _ => None,
    }
}

fn whole(value: &V) -> Option<i128> {
    match value {
        V::Truth(truth) => Some(i128::from(*truth)),
        V::Int(number) => Some(*number),
        _ => None,
    }
}

impl Expr {
    pub(crate) fn of(&self, event: &Happened) -> V {
        match self {
            Expr::Field(name) => event.fields[name].clone(),
            Expr::Context(name) => {
                let (host, rank, pid) = PROCESSES[event.process];
                match *name {
                    "host" => V::Text(host.into()),
                    "rank" => rank.map_or(V::Missing, |rank| V::Int(rank.into())),
                    "pid" => V::Int(pid.into()),
                    "time" => V::Int(event.time.into()),
                    _ => V::Int(event.sequence.into()),
                }
            }
            Expr::Constant(value) => value.clone(),
            Expr::Compute(sign, left, right) => computed(*sign, &left.of(event), &right.of(event)),
            Expr::Compare(sign, left, right) => truth(compared(sign, &left.of(event), &right.of(event))),
            Expr::And(left, right) => truth(match (left.holds(event), right.holds(event)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }),
            Expr::Or(left, right) => truth(match (left.holds(event), right.holds(event)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            }),
            Expr::Not(of) => truth(of.holds(event).map(|holds| !holds)),
            Expr::Call("exists", of) => V::Truth(of.of(event) != V::Missing),
            Expr::Call("length", of) => match of.of(event) {
                V::Text(text) => V::Int(text.chars().count() as i128),
                _ => V::Missing,
            },
            Expr::Call(name, of) => match (*name, of.of(event)) {
                ("abs", V::Int(number)) => number.checked_abs().map_or(V::Missing, V::Int),
                ("floor", V::Int(number)) => V::Int(number),
                (name, value) => match (name, number(&value)) {
                    (_, None) => V::Missing,
                    ("abs", Some(number)) => V::Float(number.abs()),
                    ("floor", Some(number)) => V::Float(number.floor()),
                    (_, Some(number)) => V::Float(number.sqrt()),
                },
            },
            Expr::Like(of, pattern) => truth(match of.of(event) {
                V::Text(text) => Some(is_like(&text.chars().collect::<Vec<_>>(), &pattern.chars().collect::<Vec<_>>())),
                _ => None,
            }),
        }
    }

    pub(crate) fn holds(&self, event: &Happened) -> Option<bool> {
        match self.of(event) {
            V::Truth(truth) => Some(truth),
            _ => None,
        }
    }
}

fn truth(of: Option<bool>) -> V {
    of.map_or(V::Missing, V::Truth)
}

fn is_like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|skipped| is_like(&text[skipped..], rest)),
        [one, rest @ ..] => {
            text.first().is_some_and(|first| (*one == '_' || one == first) && is_like(&text[1..], rest))
        }
    }
}

fn computed(sign: char, left: &V, right: &V) -> V {
    if let (Some(left), Some(right)) = (whole(left), whole(right)) {
        let result = match sign {
            '+' => left.checked_add(right),
            '-' => left.checked_sub(right),
            '*' => left.checked_mul(right),
            '%' if right == 0 => None,
            '%' => left.checked_rem(right),
            _ => return V::Float(left as f64 / right as f64),
        };
        return result.map_or(V::Missing, V::Int);
    }
    match (number(left), number(right)) {
        (Some(left), Some(right)) => V::Float(match sign {
            '+' => left + right,
            '-' => left - right,
            '*' => left * right,
            '%' => left % right,
            _ => left / right,
        }),
        _ => V::Missing,
    }
}

fn compared(sign: &str, left: &V, right: &V) -> Option<bool> {
    let order = match (left, right) {
        (V::Text(left), V::Text(right)) => Some(left.cmp(right)),
        _ => match (whole(left), whole(right)) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => number(left)?.partial_cmp(&number(right)?),
        },
    };
    Some(match sign {
        "=" => order == Some(Ordering::Equal),
        "!=" => order != Some(Ordering::Equal),
        "<" => order == Some(Ordering::Less),
        ">=" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => unreachable!("no other signs are made"),
    })
}

/// A value in rows, or none where more than one is right.
pub(crate) type Wanted = Option<Value>;

/// A row: the last moment before which its window ends, and its values.
pub(crate) type WantedRow = (Option<i64>, Vec<Wanted>);

/// The rows of a question.
pub(crate) fn answer(question: &Question, events: &[Happened]) -> Vec<WantedRow> {
    let is_selected =
        |event: &&Happened| question.filter.as_ref().is_none_or(|filter| filter.holds(event) == Some(true));
    let mut selected: Vec<&Happened> = events.iter().filter(is_selected).collect();
    let mut rows = Vec::new();
    match &question.columns {
        Columns::Rows(columns) => {
            let place = |event: &&Happened| {
                let (host, _, pid) = PROCESSES[event.process];
                (event.time, host, pid, event.sequence)
            };
            selected.sort_by_key(place);
            let row = |event: &&Happened| columns.iter().map(|column| Some(value(&column.of(event)))).collect();
            rows.extend(selected.iter().map(|event| (Some(event.time), row(event))));
        }
        Columns::Aggregates { keys, items, least } => match question.window {
            None => rows.extend(groups(keys, items, *least, &selected).into_iter().map(|row| (None, row))),
            Some((width, slide)) => {
                let slide = slide.unwrap_or(width);
                let ends = selected.iter().flat_map(|event| {
                    let first = event.time.div_euclid(slide) + 1;
                    (first..first + width / slide).map(|end| end * slide)
                });
                let ends: std::collections::BTreeSet<i64> = ends.collect();
                for end in ends {
                    let within = |event: &&&Happened| (end - width..end).contains(&event.time);
                    let within: Vec<&Happened> = selected.iter().filter(within).copied().collect();
                    rows.extend(groups(keys, items, *least, &within).into_iter().map(|row| (Some(end), row)));
                }
            }
        },
    }
    rows.truncate(question.limit.unwrap_or(usize::MAX));
    rows
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

fn groups(keys: &[Expr], items: &[(&str, Expr)], least: Option<u64>, events: &[&Happened]) -> Vec<Vec<Wanted>> {
    let mut groups: Vec<(Vec<V>, Vec<&Happened>)> = Vec::new();
    for event in events {
        let key: Vec<V> = keys.iter().map(|key| plain(key.of(event))).collect();
        match groups.iter_mut().find(|(known, _)| order(known, &key) == Ordering::Equal) {
            Some((_, members)) => members.push(event),
            None => groups.push((key, vec![event])),
        }
    }
    groups.sort_by(|(one, _), (other, _)| order(one, other));
    groups.retain(|(_, members)| least.is_none_or(|least| members.len() as u64 >= least));
    let row = |(key, members): (Vec<V>, Vec<&Happened>)| {
        let keys = key.iter().map(|key| Some(value(key)));
        keys.chain(items.iter().map(|(name, of)| crate::aggregates::of(name, of, &members))).collect()
    };
    groups.into_iter().map(row).collect()
}

/// 0 for -0, and one NaN for all.
pub(crate) fn plain(value: V) -> V {
    match value {
        V::Float(number) if number.is_nan() => V::Float(f64::NAN),
        V::Float(number) => V::Float(number + 0.0),
        other => other,
    }
}

/// The order of keys and sets.
pub(crate) fn order(one: &[V], other: &[V]) -> Ordering {
    let rank = |value: &V| match value {
        V::Missing => 0,
        V::Truth(_) => 1,
        V::Int(_) => 2,
        V::Float(_) => 3,
        V::Text(_) => 4,
    };
    let each = one.iter().zip(other).map(|pair| match pair {
        (V::Truth(one), V::Truth(other)) => one.cmp(other),
        (V::Int(one), V::Int(other)) => one.cmp(other),
        (V::Float(one), V::Float(other)) => one.total_cmp(other),
        (V::Text(one), V::Text(other)) => one.cmp(other),
        (one, other) => rank(one).cmp(&rank(other)),
    });
    each.fold(Ordering::Equal, Ordering::then)
}
