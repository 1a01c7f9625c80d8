//! Whether a value can stand for a type; if so, in the one form in which records hold it.

use super::fields::{lengths_of_arrays, position_of};
use super::initial::Initial;
use super::number::{describe, from_bits, to_bits};
use crate::{DefId, Dim, EncodeError, Format, Type, Value};

/// Checks values and brings them into the form in which [`DynRecord::from_body`](super::DynRecord::from_body) would
/// have read them: numbers of the type's own kind, all fields in order, targets in the table where they belong.
pub(crate) struct Fitter<'a> {
    pub(crate) format: &'a Format,
    pub(crate) shared: &'a mut Vec<Value>,
}

/// Puts a name or index before the path of an error.
pub(super) fn within(error: EncodeError, place: &str) -> EncodeError {
    let join = |path: String| {
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        format!("{place}{dot}{path}")
    };
    match error {
        EncodeError::Value { path, reason } => EncodeError::Value { path: join(path), reason },
        EncodeError::Length { field, declared, actual } => EncodeError::Length { field: join(field), declared, actual },
        other => other,
    }
}

/// An error at the place itself; those who call add the path.
pub(super) fn refuse(reason: impl Into<String>) -> EncodeError {
    EncodeError::Value { path: String::new(), reason: reason.into() }
}

impl Fitter<'_> {
    pub(crate) fn fit(&mut self, value: Value, ty: &Type) -> Result<Value, EncodeError> {
        if let Value::Shared(key) = value {
            // What it stands for is checked when it is written: it may be set later.
            return if key < self.shared.len() {
                Ok(value)
            } else {
                Err(refuse(format!("there is no shared value {key}, only {}", self.shared.len())))
            };
        }
        match ty {
            Type::Int { .. } | Type::Float { .. } | Type::Bool { .. } | Type::Char { .. } | Type::Enum(_) => {
                let bits = to_bits(self.format, ty, &value).map_err(refuse)?;
                let mask = u128::MAX >> (128 - 8 * self.format.size_of(ty));
                from_bits(self.format, ty, bits & mask).map_err(|wanted| refuse(format!("it is no {wanted}")))
            }
            Type::Str => match value {
                Value::Str(_) => Ok(value),
                other => Err(self.unfit(&other, ty)),
            },
            Type::CStr => self.c_string(value, ty),
            Type::Bytes => self.bytes(value, ty),
            Type::Optional { item, .. } => match value {
                Value::Null => Ok(Value::Null),
                value => {
                    let value = self.fit(value, item)?;
                    Ok(self.tabled(value, item.is_indirect() || self.format.holds_recursive(item)))
                }
            },
            Type::Ref { item, nullable, shared } => match value {
                Value::Null if *nullable => Ok(Value::Null),
                Value::Null if !item.is_indirect() => Err(refuse("null, but the pointer must lead somewhere")),
                value => {
                    let value = self.fit(value, item)?;
                    Ok(self.tabled(value, *shared || item.is_indirect() || self.format.holds_recursive(item)))
                }
            },
            Type::Array { item, dims, .. } => self.array(value, item, dims),
            Type::List { item } => self.items(value, item, None),
            Type::Sized { item, dims, .. } => self.sized(value, item, dims),
            Type::Record(id) => self.record(value, *id),
            Type::Variant(_) => self.variant(value, ty),
        }
    }

    fn tabled(&mut self, value: Value, needed: bool) -> Value {
        if !needed || matches!(value, Value::Shared(_)) {
            return value;
        }
        self.shared.push(value);
        Value::Shared(self.shared.len() - 1)
    }

    fn c_string(&self, value: Value, ty: &Type) -> Result<Value, EncodeError> {
        let bytes = match &value {
            Value::Null => return Ok(Value::Null),
            Value::Str(text) => text.as_bytes(),
            Value::Bytes(bytes) => bytes,
            other => return Err(self.unfit(other, ty)),
        };
        if bytes.contains(&0) {
            return Err(refuse("a C string cannot contain a NUL"));
        }
        Ok(match value {
            Value::Bytes(bytes) => {
                String::from_utf8(bytes).map_or_else(|bad| Value::Bytes(bad.into_bytes()), Value::Str)
            }
            other => other,
        })
    }

    fn bytes(&self, value: Value, ty: &Type) -> Result<Value, EncodeError> {
        match value {
            Value::Bytes(bytes) => Ok(Value::Bytes(bytes)),
            Value::List(items) => {
                let byte = |item: &Value| match item {
                    Value::Int(number) => u8::try_from(*number).map_err(|_| refuse(format!("{number} is no byte"))),
                    other => Err(self.unfit(other, ty)),
                };
                items.iter().map(byte).collect::<Result<_, _>>().map(Value::Bytes)
            }
            other => Err(self.unfit(&other, ty)),
        }
    }

    /// Items in a row; as many as `length` says, if it says so.
    fn items(&mut self, value: Value, item: &Type, length: Option<usize>) -> Result<Value, EncodeError> {
        let items = self.list(value, length)?;
        let apart = self.format.holds_recursive(item) && !item.is_indirect();
        let mut fitted = Vec::with_capacity(items.len());
        for (index, value) in items.into_iter().enumerate() {
            let value = self.fit(value, item).map_err(|error| within(error, &format!("[{index}]")))?;
            fitted.push(self.tabled(value, apart && length.is_none()));
        }
        Ok(Value::List(fitted))
    }

    fn list(&self, value: Value, length: Option<usize>) -> Result<Vec<Value>, EncodeError> {
        let items = match value {
            Value::List(items) => items,
            Value::Bytes(bytes) => bytes.into_iter().map(Value::from).collect(),
            other => return Err(refuse(format!("{} is no list", describe(&other)))),
        };
        match length {
            Some(length) if length != items.len() => {
                Err(refuse(format!("{} items where there must be {length}", items.len())))
            }
            _ => Ok(items),
        }
    }

    fn array(&mut self, value: Value, item: &Type, dims: &[u32]) -> Result<Value, EncodeError> {
        match dims {
            [length] => self.items(value, item, Some(*length as usize)),
            [length, inner @ ..] => {
                let mut rows = self.list(value, Some(*length as usize))?;
                for (index, row) in rows.iter_mut().enumerate() {
                    let taken = std::mem::replace(row, Value::Null);
                    *row = self.array(taken, item, inner).map_err(|error| within(error, &format!("[{index}]")))?;
                }
                Ok(Value::List(rows))
            }
            [] => self.fit(value, item),
        }
    }

    fn sized(&mut self, value: Value, item: &Type, dims: &[Dim]) -> Result<Value, EncodeError> {
        let [_, inner @ ..] = dims else { return self.fit(value, item) };
        if inner.is_empty() {
            return self.items(value, item, None);
        }
        let mut rows = self.list(value, None)?;
        for (index, row) in rows.iter_mut().enumerate() {
            let taken = std::mem::replace(row, Value::Null);
            *row = self.sized(taken, item, inner).map_err(|error| within(error, &format!("[{index}]")))?;
        }
        Ok(Value::List(rows))
    }

    fn record(&mut self, value: Value, id: DefId) -> Result<Value, EncodeError> {
        let record = self.format.record(id);
        let Value::Record(given) = value else {
            return Err(refuse(format!("{} is no record {}", describe(&value), record.name)));
        };
        let is_length = lengths_of_arrays(record, |_| None);
        let mut values: Vec<Option<Value>> = vec![None; record.fields.len()];
        for (index, (name, value)) in given.into_iter().enumerate() {
            let position = position_of(self.format, id, index, &name);
            let position = position.ok_or_else(|| refuse(format!("{} has no field {name}", record.name)))?;
            values[position].get_or_insert(value);
        }
        let mut fields = Vec::with_capacity(record.fields.len());
        for (index, (field, value)) in record.fields.iter().zip(values).enumerate() {
            let value = match value {
                Some(Value::Null) | None if is_length[index].is_some() => Value::Null,
                Some(value) => self.fit(value, &field.ty).map_err(|error| within(error, &field.name))?,
                None => Initial::new(self.format, self.shared).field(field),
            };
            fields.push((field.name.clone(), value));
        }
        super::edit::fill_lengths(record, &mut fields);
        Ok(Value::Record(fields))
    }

    fn variant(&mut self, value: Value, ty: &Type) -> Result<Value, EncodeError> {
        let Type::Variant(id) = ty else { unreachable!("asked for a variant") };
        let (name, payload) = match value {
            Value::Case(name, payload) => (name, payload),
            Value::Str(name) | Value::Enum(name) => (name, None),
            other => return Err(self.unfit(&other, ty)),
        };
        let case = self.format.case_of(*id, &name);
        let case = case.ok_or_else(|| refuse(format!("{} has no case {name}", self.format.variant(*id).name)))?;
        let payload = match (&case.payload, payload) {
            (None, None) => None,
            (None, Some(_)) => return Err(refuse(format!("case {name} carries nothing"))),
            (Some(ty), None) => {
                let unspoken = self.format.unspoken_payload(case);
                let value = unspoken.ok_or_else(|| refuse(format!("case {name} must carry a value")))?;
                Some(Box::new(self.fit(value, ty).map_err(|error| within(error, &name))?))
            }
            (Some(ty), Some(value)) => Some(Box::new(self.fit(*value, ty).map_err(|error| within(error, &name))?)),
        };
        Ok(Value::Case(name, payload))
    }

    fn unfit(&self, value: &Value, ty: &Type) -> EncodeError {
        refuse(format!("{} is no {}", describe(value), self.format.type_name(ty)))
    }
}
