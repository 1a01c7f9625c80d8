//! The rules of conversion, applied to values instead of bytes.

use banyan_ndr::{Dim, Field, Format, RecordDef, Type, Value};

use super::body::{lengths, nested};

/// A type and the format it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Typed<'a> {
    pub(crate) format: &'a Format,
    pub(crate) ty: &'a Type,
}

impl<'a> Typed<'a> {
    fn of(self, ty: &'a Type) -> Typed<'a> {
        Typed { ty, ..self }
    }
}

/// Converts a whole record.
pub(crate) fn record(value: &Value, source: &Format, target: &Format) -> Result<Value, String> {
    let (s, d) = (source.root_type(), target.root_type());
    coerce(value, Typed { format: source, ty: &s }, Typed { format: target, ty: &d }, None)
}

fn coerce(value: &Value, s: Typed<'_>, d: Typed<'_>, default: Option<&Value>) -> Result<Value, String> {
    let nullable = matches!(d.ty, Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. });
    let may_be_null = matches!(s.ty, Type::Optional { .. } | Type::CStr | Type::Ref { .. });
    if may_be_null && *value == Value::Null {
        return match default {
            _ if nullable => Ok(Value::Null),
            Some(default) => Ok(default.clone()),
            None => Err("absent".into()),
        };
    }
    if let Type::Optional { item, .. } | Type::Ref { item, .. } = s.ty {
        let d = match d.ty {
            Type::Optional { item, .. } | Type::Ref { item, .. } => d.of(item),
            _ => d,
        };
        return coerce(value, s.of(item), d, None);
    }
    if let Type::Optional { item, .. } | Type::Ref { item, .. } = d.ty {
        return coerce(value, s, d.of(item), None);
    }
    match (s.ty, d.ty, value) {
        (Type::Record(from), Type::Record(to), Value::Record(values)) => {
            let fields = Fields { values, source: s.format.record(*from), target: d.format.record(*to) };
            let converted = fields
                .target
                .fields
                .iter()
                .map(|field| fields.field(field, s, d).map(|value| (field.name.clone(), value)));
            Ok(Value::Record(converted.collect::<Result<_, _>>()?))
        }
        (Type::Variant(from), Type::Variant(to), Value::Case(name, payload)) => {
            let from = s.format.variant(*from).cases.iter().find(|case| case.name == *name).expect("a case");
            let to = d.format.variant(*to).cases.iter().find(|case| case.name == *name).ok_or("unknown case")?;
            let payload = match (payload, &from.payload, &to.payload) {
                (Some(value), Some(from), Some(to)) => Some(Box::new(coerce(value, s.of(from), d.of(to), None)?)),
                (None, None, Some(to)) => Some(Box::new(unset(d.of(to)))),
                _ => None,
            };
            Ok(Value::Case(name.clone(), payload))
        }
        (_, Type::Array { item, dims, .. }, Value::List(_)) => {
            let have = lengths(value, dims.len());
            if have.iter().zip(dims).any(|(have, dim)| *have > *dim as usize) {
                return Err("too long".into());
            }
            let (from, to) = (s.of(s.ty.item().expect("an item")), d.of(item));
            let mut failed = None;
            let dims: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
            let made = nested(&dims, &mut Vec::new(), &mut |indices| match (at(value, indices), default) {
                (Some(value), _) => coerce(value, from, to, None).unwrap_or_else(|why| {
                    failed = Some(why);
                    Value::Null
                }),
                (None, Some(default)) => at(default, indices).expect("a whole default").clone(),
                (None, None) => unset(to),
            });
            failed.map_or(Ok(made), Err)
        }
        (_, Type::List { .. } | Type::Sized { .. }, Value::List(_)) => {
            let rank = if let Type::Sized { dims, .. } = d.ty { dims.len() } else { 1 };
            let (from, to) = (s.of(s.ty.item().expect("an item")), d.of(d.ty.item().expect("an item")));
            levels(value, rank, &|value| coerce(value, from, to, None))
        }
        (Type::Str | Type::CStr, Type::CStr, Value::Str(text)) if text.contains('\0') => Err("a NUL".into()),
        (Type::Str | Type::CStr | Type::Bytes, _, _) => Ok(value.clone()),
        (Type::Enum(_), Type::Enum(to), Value::Enum(name)) => {
            d.format.value_of(*to, name).map(|_| value.clone()).ok_or("unknown name".into())
        }
        (Type::Enum(from), _, Value::Enum(name)) => {
            number(&Value::Int(s.format.value_of(*from, name).expect("a value")), d.ty)
        }
        _ => number(value, d.ty),
    }
}

/// An item that nobody gave: the defaults of its fields, zeros for the rest.
fn unset(d: Typed<'_>) -> Value {
    match d.ty {
        Type::Record(id) => {
            let value = |field: &Field| field.default.clone().unwrap_or_else(|| unset(d.of(&field.ty)));
            Value::Record(d.format.record(*id).fields.iter().map(|field| (field.name.clone(), value(field))).collect())
        }
        Type::Int { .. } => Value::Int(0),
        Type::Float { width: 4 } => Value::F32(0.0),
        Type::Float { width: 8 } => Value::F64(0.0),
        Type::Bool { .. } => Value::Bool(false),
        Type::Str => Value::Str(String::new()),
        Type::List { .. } => Value::List(Vec::new()),
        Type::CStr | Type::Optional { .. } | Type::Ref { nullable: true, .. } => Value::Null,
        other => panic!("the generator gives defaults for {other:?}"),
    }
}

struct Fields<'a> {
    values: &'a [(String, Value)],
    source: &'a RecordDef,
    target: &'a RecordDef,
}

impl Fields<'_> {
    fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    fn field(&self, field: &Field, s: Typed<'_>, d: Typed<'_>) -> Result<Value, String> {
        if let Some(length) = self.length(field) {
            return number(&Value::Int(length as i128), &field.ty);
        }
        match (self.value(&field.name), &field.default) {
            (Some(value), default) => {
                let from = self.source.fields.iter().find(|other| other.name == field.name).expect("a field");
                coerce(value, s.of(&from.ty), d.of(&field.ty), default.as_ref())
            }
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => Ok(Value::Null),
        }
    }

    /// The length of the array that the target's `field` sizes.
    fn length(&self, field: &Field) -> Option<usize> {
        self.target.fields.iter().find_map(|array| {
            let Type::Sized { dims, .. } = &array.ty else { return None };
            let is_this = |dim: &Dim| {
                matches!(dim, Dim::Field(number) if self.target.fields[usize::from(*number)].name == field.name)
            };
            let position = dims.iter().position(is_this)?;
            Some(lengths(self.value(&array.name)?, dims.len())[position])
        })
    }
}

fn at<'a>(value: &'a Value, indices: &[usize]) -> Option<&'a Value> {
    indices.iter().try_fold(value, |value, index| match value {
        Value::List(items) => items.get(*index),
        _ => None,
    })
}

fn levels(value: &Value, rank: usize, item: &dyn Fn(&Value) -> Result<Value, String>) -> Result<Value, String> {
    match (rank, value) {
        (0, value) => item(value),
        (_, Value::List(items)) => {
            items.iter().map(|value| levels(value, rank - 1, item)).collect::<Result<_, _>>().map(Value::List)
        }
        _ => Err("no list".into()),
    }
}

/// A number as another type, if that can hold it.
fn number(value: &Value, ty: &Type) -> Result<Value, String> {
    let float = match value {
        Value::F16(bits) => Some(half(*bits)),
        Value::F32(value) => Some(f64::from(*value)),
        Value::F64(value) => Some(*value),
        _ => None,
    };
    let misfit = || format!("{value:?} does not fit {ty:?}");
    match ty {
        Type::Char { width } => match value {
            Value::Char(value) if *width == 4 || u32::from(*value) < 256 => Ok(Value::Char(*value)),
            _ => Err(misfit()),
        },
        Type::Float { width } => match (float, value) {
            (Some(float), _) => narrow(float, *width).ok_or_else(misfit),
            (None, Value::Int(whole)) => {
                let made = narrow(*whole as f64, *width).ok_or_else(misfit)?;
                let back = match made {
                    Value::F16(bits) => half(bits),
                    Value::F32(value) => f64::from(value),
                    Value::F64(value) => value,
                    _ => unreachable!(),
                };
                let exact = back.abs() < 1e38 && back as i128 == *whole && (back as i128) as f64 == back;
                if exact { Ok(made) } else { large_exact(*whole as f64, *whole, made).ok_or_else(misfit) }
            }
            (None, Value::UInt(whole)) => {
                let made = narrow(*whole as f64, *width).ok_or_else(misfit)?;
                if whole.trailing_zeros() >= 128 - 11 {
                    Ok(made)
                } else {
                    wide_exact(*whole, *width).ok_or_else(misfit)
                }
            }
            _ => Err(misfit()),
        },
        Type::Bool { .. } => match value {
            Value::Bool(_) => Ok(value.clone()),
            Value::Int(0) => Ok(Value::Bool(false)),
            Value::Int(1) => Ok(Value::Bool(true)),
            _ => Err(misfit()),
        },
        Type::Int { width, signed } => {
            let whole = match (value, float) {
                (_, Some(float)) if float.fract() != 0.0 || float.abs() >= 1.7e38 => return Err(misfit()),
                (_, Some(float)) => Value::Int(float as i128),
                (Value::Bool(value), _) => Value::Int(i128::from(*value)),
                _ => value.clone(),
            };
            let bits = 8 * u32::from(*width);
            let fits = match &whole {
                Value::Int(value) if *signed => bits == 128 || (-(1 << (bits - 1))..1 << (bits - 1)).contains(value),
                Value::Int(value) => *value >= 0 && (bits == 128 || *value < 1 << bits),
                Value::UInt(_) => !signed && bits == 128,
                _ => false,
            };
            if fits { Ok(whole) } else { Err(misfit()) }
        }
        _ => Err(misfit()),
    }
}

/// Integers of about 2^127, where comparing as above would overflow.
fn large_exact(float: f64, whole: i128, made: Value) -> Option<Value> {
    (whole == i128::MIN && float == -(2f64.powi(127)) && !matches!(made, Value::F16(_))).then_some(made)
}

fn wide_exact(whole: u128, width: u8) -> Option<Value> {
    let significant = 128 - whole.leading_zeros() - whole.trailing_zeros();
    match width {
        4 if significant <= 24 => Some(Value::F32(whole as f32)),
        8 if significant <= 53 => Some(Value::F64(whole as f64)),
        _ => None,
    }
}

fn narrow(value: f64, width: u8) -> Option<Value> {
    match width {
        8 => Some(Value::F64(value)),
        4 => Some(value as f32).filter(|narrow| narrow.is_finite()).map(Value::F32),
        _ => nearest_half(value).map(Value::F16),
    }
}

fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    match bits >> 10 & 0x1f {
        0 => sign * fraction * 2f64.powi(-14),
        exponent => sign * (1.0 + fraction) * 2f64.powi(i32::from(exponent) - 15),
    }
}

/// The nearest of all finite 16-bit floats, found by looking at each.
fn nearest_half(value: f64) -> Option<u16> {
    if value.abs() >= 65520.0 {
        return None;
    }
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let distance = |bits: u16| (half(bits) - value.abs()).abs();
    let nearest = (0..0x7c00u16).min_by(|a, b| distance(*a).total_cmp(&distance(*b)).then((a & 1).cmp(&(b & 1))));
    nearest.map(|bits| bits | sign)
}
