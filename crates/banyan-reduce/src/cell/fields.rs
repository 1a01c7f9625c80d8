//! The fields in which the state of a function travels, and those of its result.
//!
//! The order of the fields is that of the places which the cells are given.

use banyan_ndr::Type;

use super::super::column::Column;
use super::super::value::Kind;
use super::super::{Aggregate, Function};
use super::exact::LIMBS;

/// Behind the name of a function or key whose field nobody has sent: why.
pub(crate) const MISSING: &str = ".missing";

const COUNT: Type = Type::Int { width: 8, signed: false };
const RANK: Type = Type::Int { width: 4, signed: false };
const BYTE: Type = Type::Int { width: 1, signed: false };
const FLAG: Type = Type::Bool { width: 1 };

fn list(item: Type) -> Type {
    Type::List { item: item.into() }
}

fn array(item: Type, length: u32) -> Type {
    Type::Array { item: item.into(), dims: vec![length], order: banyan_ndr::Order::Row }
}

/// Its layout is computed with the format's.
fn optional(item: Type) -> Type {
    Type::Optional { item: item.into(), value_at: 0, size: 0 }
}

/// Numbers of an array: integers of eight bytes, so that loops over them are fast.
fn element(kind: Kind) -> Type {
    match kind {
        Kind::Integer => Type::Int { width: 8, signed: true },
        other => other.ty(),
    }
}

/// Name and type of each field of a function's state.
pub(crate) fn partial(aggregate: &Aggregate, column: Column) -> Vec<(String, Type)> {
    let Column { kind, many } = column;
    if column.is_missing() {
        return named(&aggregate.name, vec![(MISSING, kind.ty())]);
    }
    let fields: Vec<(&str, Type)> = match &aggregate.function {
        Function::Count(_) => vec![("", COUNT)],
        Function::Sum(_) | Function::Average(_) if many => vec![("", list(element(kind))), (".count", COUNT)],
        Function::ExactSum(_) if many && kind == Kind::Float => {
            vec![("", list(COUNT)), (".special", list(BYTE)), (".count", COUNT)]
        }
        Function::ExactSum(_) if many => vec![("", list(element(kind))), (".count", COUNT)],
        Function::ExactSum(_) if kind == Kind::Float => vec![("", array(COUNT, LIMBS as u32)), (".special", BYTE)],
        Function::Sum(_) | Function::ExactSum(_) => vec![("", kind.ty())],
        Function::Average(_) => vec![("", kind.ty()), (".count", COUNT)],
        Function::Minimum(_) | Function::Maximum(_) if many => {
            vec![("", list(element(kind))), (".who", list(RANK)), (".count", COUNT)]
        }
        Function::Minimum(_) | Function::Maximum(_) => vec![("", optional(kind.ty())), (".who", RANK)],
        Function::First(_) if many => vec![("", list(kind.ty())), (".who", optional(RANK))],
        Function::First(_) => vec![("", optional(kind.ty())), (".who", optional(RANK))],
        Function::Concatenate(_) => vec![("", list(kind.ty())), (".who", list(RANK)), (".cut", COUNT)],
        Function::Top { .. } => vec![("", list(kind.ty())), (".who", list(RANK))],
        Function::Histogram { bins, .. } => {
            vec![("", array(COUNT, *bins)), (".under", COUNT), (".over", COUNT), (".nan", COUNT)]
        }
        Function::Quantile { .. } | Function::Distinct(_) => vec![("", Type::Bytes)],
        Function::Classes(_) => vec![("", list(kind.ty())), (".members", list(Type::Bytes)), (".others", Type::Bytes)],
        Function::Union(_) => vec![("", list(kind.ty())), (".cut", FLAG)],
    };
    named(&aggregate.name, fields)
}

/// Name and type of each field of a function's result.
pub(crate) fn result(aggregate: &Aggregate, column: Column) -> Vec<(String, Type)> {
    let Column { kind, many } = column;
    let fields = match &aggregate.function {
        _ if column.is_missing() => return partial(aggregate, column),
        Function::Sum(_) | Function::ExactSum(_) if many => vec![("", list(element(kind)))],
        Function::ExactSum(_) => vec![("", kind.ty())],
        Function::Average(_) if many => vec![("", list(Kind::Float.ty()))],
        Function::Average(_) => vec![("", optional(Kind::Float.ty()))],
        Function::Minimum(_) | Function::Maximum(_) if many => vec![("", list(element(kind))), (".who", list(RANK))],
        Function::Classes(_) => vec![("", list(kind.ty())), (".members", list(Type::Str)), (".others", Type::Str)],
        Function::Distinct(_) => vec![("", COUNT)],
        Function::Quantile { shares, .. } => return quantiles(aggregate, shares),
        _ => return partial(aggregate, column),
    };
    named(&aggregate.name, fields)
}

fn named(name: &str, fields: Vec<(&str, Type)>) -> Vec<(String, Type)> {
    fields.into_iter().map(|(suffix, ty)| (format!("{name}{suffix}"), ty)).collect()
}

/// One field for each share, named as if it had been asked for alone.
fn quantiles(aggregate: &Aggregate, shares: &[f64]) -> Vec<(String, Type)> {
    let has_own_name = aggregate.name != aggregate.function.to_string();
    let name = |share: &f64| match aggregate.function.path() {
        Some(path) if !has_own_name => format!("quantile({share}, {path})"),
        _ => format!("{}({share})", aggregate.name),
    };
    shares.iter().map(|share| (name(share), optional(Kind::Float.ty()))).collect()
}
