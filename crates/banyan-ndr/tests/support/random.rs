//! Random models, variations of them that can be converted to, and values.

use banyan_ndr::{Order, Type, Value};

use super::Choices;
use super::body::nested;
use super::model::{FieldModel, Model};

const INTEGER_WIDTHS: [u8; 5] = [1, 2, 4, 8, 16];

fn int(width: u8, signed: bool) -> Model {
    Model::Simple(Type::Int { width, signed })
}

/// The fields of a record.
pub(crate) fn record(choices: &mut Choices<'_>, depth: usize) -> Model {
    let mut fields = Vec::new();
    for number in 0..1 + choices.below(5) {
        let name = format!("f{number}");
        let model = match choices.below(12) {
            11 => sized(&name, 1 + choices.below(2), inner(choices, depth), choices),
            _ => any(choices, depth),
        };
        fields.push(FieldModel { name, model, default: None });
    }
    add_lengths(&mut fields);
    Model::Record(fields)
}

fn sized(name: &str, rank: usize, item: Model, choices: &mut Choices<'_>) -> Model {
    let lengths = (0..rank).map(|dim| format!("{name}_n{dim}")).collect();
    Model::Sized { item: Box::new(item), lengths, order: choices.of(&[Order::Row, Order::Column]) }
}

/// The length fields that arrays need and the record lacks.
fn add_lengths(fields: &mut Vec<FieldModel>) {
    let needed: Vec<String> = fields
        .iter()
        .filter_map(|field| if let Model::Sized { lengths, .. } = &field.model { Some(lengths.clone()) } else { None })
        .flatten()
        .collect();
    for name in needed {
        if let Some(field) = fields.iter_mut().find(|field| field.name == name) {
            // A variation may have made something else of it.
            field.model = int(4, false);
        } else {
            fields.push(FieldModel { name, model: int(4, false), default: None });
        }
    }
}

fn any(choices: &mut Choices<'_>, depth: usize) -> Model {
    if depth == 0 {
        return simple(choices);
    }
    match choices.below(14) {
        0 => record(choices, depth - 1),
        1 => Model::Optional(Box::new(inner(choices, depth - 1))),
        2 => {
            let item = Box::new(inner(choices, depth - 1));
            Model::Ref { item, nullable: choices.once_in(2), shared: choices.once_in(2) }
        }
        3 => Model::List(Box::new(any(choices, depth - 1))),
        4 => {
            let dims = (0..1 + choices.below(2)).map(|_| 1 + choices.below(3) as u32).collect();
            let order = choices.of(&[Order::Row, Order::Column]);
            Model::Array { item: Box::new(any(choices, depth - 1)), dims, order }
        }
        5 => {
            let case = |number: usize, choices: &mut Choices<'_>| {
                let payload = (!choices.once_in(3)).then(|| any(choices, depth - 1));
                (format!("case{number}"), payload)
            };
            Model::Variant((0..1 + choices.below(3)).map(|number| case(number, choices)).collect())
        }
        _ => simple(choices),
    }
}

/// Something that is not null itself, so that null means one thing.
fn inner(choices: &mut Choices<'_>, depth: usize) -> Model {
    match any(choices, depth) {
        Model::Optional(item) => *item,
        Model::Ref { item, .. } => *item,
        Model::Simple(Type::CStr) => Model::Simple(Type::Str),
        other => other,
    }
}

fn simple(choices: &mut Choices<'_>) -> Model {
    Model::Simple(match choices.below(10) {
        0..3 => Type::Int { width: choices.of(&INTEGER_WIDTHS), signed: choices.once_in(2) },
        3 | 4 => Type::Float { width: choices.of(&[2, 4, 8]) },
        5 => Type::Bool { width: choices.of(&[1, 2, 4, 8]) },
        6 => Type::Char { width: choices.of(&[1, 4]) },
        7 => choices.of(&[Type::Str, Type::CStr, Type::Bytes].each_ref()).clone(),
        _ => {
            let names = (0..1 + choices.below(4)).map(|number| (format!("name{number}"), number as i128 * 3 - 3));
            return Model::Enumeration { width: choices.of(&[1, 2, 4, 8]), names: names.collect() };
        }
    })
}

/// A model that values of `model` can be converted to, though perhaps not every value.
pub(crate) fn variation(model: &Model, choices: &mut Choices<'_>) -> Model {
    vary(model, "", choices)
}

fn vary_fields(fields: &[FieldModel], choices: &mut Choices<'_>) -> Vec<FieldModel> {
    let mut varied = Vec::new();
    for field in fields {
        if choices.once_in(6) {
            continue;
        }
        let model = vary(&field.model, &field.name, choices);
        let default = (matches!(model, Model::Array { .. }) || choices.once_in(3)).then_some(());
        let default = default.filter(|()| !matches!(model, Model::Sized { .. })).map(|()| value(&model, choices));
        varied.push(FieldModel { name: field.name.clone(), model, default });
    }
    if choices.once_in(3) {
        let model = any(choices, 1);
        let default = Some(value(&model, choices));
        varied.push(FieldModel { name: "added".into(), model, default });
    }
    if !varied.is_empty() {
        let by = choices.below(varied.len());
        varied.rotate_left(by);
    }
    add_lengths(&mut varied);
    varied
}

/// `name` is that of the field; empty for what is no field of its own.
fn vary(model: &Model, name: &str, choices: &mut Choices<'_>) -> Model {
    let nullable_already = matches!(model, Model::Optional(_) | Model::Ref { .. } | Model::Simple(Type::CStr));
    let is_sized = matches!(model, Model::Sized { .. });
    if !nullable_already && !is_sized && choices.once_in(12) {
        return Model::Optional(Box::new(not_null(vary(model, "", choices))));
    }
    if !nullable_already && !is_sized && choices.once_in(12) {
        let item = Box::new(not_null(vary(model, "", choices)));
        return Model::Ref { item, nullable: choices.once_in(2), shared: choices.once_in(2) };
    }
    match model {
        Model::Simple(ty) => Model::Simple(vary_simple(ty, choices)),
        Model::Enumeration { .. } if choices.once_in(4) => int(8, true),
        Model::Enumeration { names, .. } => vary_names(names.clone(), choices),
        Model::Record(fields) => Model::Record(vary_fields(fields, choices)),
        Model::Variant(cases) => vary_cases(cases, choices),
        Model::Optional(item) | Model::Ref { item, .. } => {
            let item = not_null(vary(item, "", choices));
            match choices.below(3) {
                0 => Model::Optional(Box::new(item)),
                1 => Model::Ref { item: Box::new(item), nullable: true, shared: choices.once_in(2) },
                _ => item,
            }
        }
        Model::Array { item, dims, order } => {
            let item = Box::new(vary(item, "", choices));
            match choices.below(4) {
                0 if dims.len() == 1 => Model::List(item),
                1 if !name.is_empty() => sized(name, dims.len(), *item, choices),
                2 if !name.is_empty() => {
                    let dims = dims.iter().map(|dim| dim + choices.below(3) as u32).collect();
                    Model::Array { item, dims, order: choices.of(&[Order::Row, Order::Column]) }
                }
                _ => Model::Array {
                    item,
                    dims: dims.clone(),
                    order: if choices.once_in(2) { Order::Row } else { *order },
                },
            }
        }
        Model::List(item) => {
            let item = Box::new(vary(item, "", choices));
            match choices.below(6) {
                0 if !name.is_empty() => Model::Array { item, dims: vec![3], order: Order::Row },
                1 if !name.is_empty() => sized(name, 1, *item, choices),
                _ => Model::List(item),
            }
        }
        Model::Sized { item, lengths, .. } => {
            let item = Box::new(vary(item, "", choices));
            match choices.below(4) {
                0 if lengths.len() == 1 => Model::List(item),
                1 => {
                    Model::Array { item, dims: vec![3; lengths.len()], order: choices.of(&[Order::Row, Order::Column]) }
                }
                _ => sized(name, lengths.len(), *item, choices),
            }
        }
    }
}

fn vary_names(mut names: Vec<(String, i128)>, choices: &mut Choices<'_>) -> Model {
    if names.len() > 1 && choices.once_in(4) {
        names.pop();
    }
    if choices.once_in(2) {
        let shift = choices.below(5) as i128;
        names.iter_mut().for_each(|(_, value)| *value += shift);
    }
    Model::Enumeration { width: choices.of(&[1, 2, 4, 8]), names }
}

fn vary_cases(cases: &[(String, Option<Model>)], choices: &mut Choices<'_>) -> Model {
    let vary_case = |(name, payload): &(String, Option<Model>), choices: &mut Choices<'_>| {
        (name.clone(), payload.as_ref().map(|payload| vary(payload, "", choices)))
    };
    let mut cases: Vec<_> = cases.iter().map(|case| vary_case(case, choices)).collect();
    if choices.once_in(2) {
        cases.reverse();
    }
    if cases.len() > 1 && choices.once_in(4) {
        cases.pop();
    }
    Model::Variant(cases)
}

fn not_null(model: Model) -> Model {
    match model {
        Model::Optional(item) => *item,
        Model::Ref { item, .. } => *item,
        Model::Simple(Type::CStr) => Model::Simple(Type::Str),
        other => other,
    }
}

fn vary_simple(ty: &Type, choices: &mut Choices<'_>) -> Type {
    match ty {
        Type::Int { .. } if choices.once_in(6) => Type::Float { width: choices.of(&[2, 4, 8]) },
        Type::Int { .. } if choices.once_in(12) => Type::Bool { width: 1 },
        Type::Float { .. } if choices.once_in(6) => Type::Int { width: choices.of(&INTEGER_WIDTHS), signed: true },
        Type::Bool { .. } if choices.once_in(6) => Type::Int { width: choices.of(&INTEGER_WIDTHS), signed: true },
        Type::Int { .. } if choices.once_in(2) => {
            Type::Int { width: choices.of(&INTEGER_WIDTHS), signed: choices.once_in(2) }
        }
        Type::Float { .. } => Type::Float { width: choices.of(&[2, 4, 8]) },
        Type::Bool { .. } => Type::Bool { width: choices.of(&[1, 2, 4, 8]) },
        Type::Char { .. } => Type::Char { width: choices.of(&[1, 4]) },
        Type::Str | Type::CStr if choices.once_in(2) => Type::Str,
        Type::Str | Type::CStr => Type::CStr,
        other => other.clone(),
    }
}

/// A value of a model.
pub(crate) fn value(model: &Model, choices: &mut Choices<'_>) -> Value {
    match model {
        Model::Simple(ty) => simple_value(ty, choices),
        Model::Enumeration { names, .. } => Value::Enum(names[choices.below(names.len())].0.clone()),
        Model::Record(fields) => record_value(fields, choices),
        Model::Variant(cases) => {
            let (name, payload) = &cases[choices.below(cases.len())];
            Value::Case(name.clone(), payload.as_ref().map(|payload| Box::new(value(payload, choices))))
        }
        Model::Optional(item) | Model::Ref { item, nullable: true, .. } => {
            if choices.once_in(3) {
                Value::Null
            } else {
                value(item, choices)
            }
        }
        Model::Ref { item, .. } => value(item, choices),
        Model::Array { item, dims, .. } => {
            let lengths: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
            nested(&lengths, &mut Vec::new(), &mut |_| value(item, choices))
        }
        Model::List(item) => Value::List((0..choices.below(4)).map(|_| value(item, choices)).collect()),
        Model::Sized { .. } => panic!("only as a field"),
    }
}

fn record_value(fields: &[FieldModel], choices: &mut Choices<'_>) -> Value {
    let mut values: Vec<(String, Value)> = Vec::new();
    let mut known = Vec::new();
    for field in fields {
        let made = match &field.model {
            Model::Sized { item, lengths, .. } => {
                let empty = choices.once_in(4);
                let sizes: Vec<usize> = lengths.iter().map(|_| if empty { 0 } else { 1 + choices.below(3) }).collect();
                known.extend(lengths.iter().cloned().zip(sizes.iter().copied()));
                nested(&sizes, &mut Vec::new(), &mut |_| value(item, choices))
            }
            model => value(model, choices),
        };
        values.push((field.name.clone(), made));
    }
    for (name, length) in known {
        if let Some((_, value)) = values.iter_mut().find(|(other, _)| *other == name) {
            *value = Value::Int(length as i128);
        }
    }
    Value::Record(values)
}

fn simple_value(ty: &Type, choices: &mut Choices<'_>) -> Value {
    match ty {
        Type::Int { width, signed } => {
            let unused = 128 - 8 * u32::from(*width);
            let bits = match choices.below(8) {
                0 => choices.bits(usize::from(*width)),
                1 => u128::MAX >> unused,
                2 => 1 << (127 - unused),
                _ => choices.below(100) as u128,
            };
            if *signed {
                Value::Int((bits << unused) as i128 >> unused)
            } else {
                i128::try_from(bits).map_or(Value::UInt(bits), Value::Int)
            }
        }
        Type::Float { width: 2 } => Value::F16((choices.bits(2) as u16) & 0xfbff),
        Type::Float { width: 4 } => match choices.below(3) {
            0 => Value::F32(f32::from_bits(choices.bits(4) as u32 & 0xff7f_ffff)),
            _ => Value::F32(choices.below(100) as f32),
        },
        Type::Float { .. } => match choices.below(3) {
            0 => Value::F64(f64::from_bits(choices.bits(8) as u64 & 0xffef_ffff_ffff_ffff)),
            1 => Value::F64(choices.below(100) as f64 / 7.0),
            _ => Value::F64(choices.below(100) as f64),
        },
        Type::Bool { .. } => Value::Bool(choices.once_in(2)),
        Type::Char { width } => match choices.below(3) {
            0 if *width == 4 => Value::Char('\u{1F333}'),
            1 => Value::Char('\u{e9}'),
            _ => Value::Char('a'),
        },
        Type::Str => Value::Str(text(choices)),
        Type::CStr if choices.once_in(4) => Value::Null,
        Type::CStr => Value::Str(text(choices).replace('\0', "0")),
        Type::Bytes => Value::Bytes((0..choices.below(5)).map(|_| choices.byte()).collect()),
        other => panic!("{other:?} is not simple"),
    }
}

fn text(choices: &mut Choices<'_>) -> String {
    (0..choices.below(6)).map(|_| choices.of(&['a', 'b', '\u{e4}', '\u{1F333}', 'a', 'c', '\0'])).collect()
}
