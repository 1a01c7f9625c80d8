//! Reading and changing the values of a record by path.

use super::fit::{Fitter, refuse, within};
use super::initial::Initial;
use super::{DynRecord, number::describe};
use crate::reflect::path::{self, PathSegment};
use crate::{Dim, EncodeError, Field, Format, RecordDef, Type, Value, reflect};

/// A place among the values of a record: an entry of the table (or the root), and which child is taken at each step.
#[derive(Debug, Clone, Default)]
struct ValuePath {
    base: Option<usize>,
    steps: Vec<usize>,
}

/// Where a path leads.
struct Located<'f> {
    place: ValuePath,
    ty: &'f Type,
    /// How many dimensions of the array `ty` have an index.
    indexed: usize,
    /// The record that it is a field of.
    owner: Option<(ValuePath, &'f RecordDef)>,
}

/// Why a path leads nowhere as the values are.
enum Miss<'f> {
    /// It never will.
    Wrong(String),
    /// A null stands in the way, where a value of this type could stand.
    Absent(ValuePath, &'f Type),
    /// Another case is there than the one of this name, whose payload has this type.
    OtherCase(ValuePath, &'f Type, String),
}

impl DynRecord {
    /// The value at a path, seen through pointers, optionals and the table.
    pub fn get(&self, path: &str) -> Result<&Value, EncodeError> {
        let segments = parse(path)?;
        let located = self.locate(&self.format, &segments).map_err(|miss| miss.into_error(path))?;
        Ok(self.resolve(self.at(&located.place)))
    }

    /// Puts a value at a path, if it can stand there: a number that the type holds exactly (floats round), a text for a
    /// string, a list of the right length for an array, a record with some or all of its fields, null for what may be
    /// null. On the way absent optionals and null pointers get a target, and a variant changes to the case that the
    /// path names. Setting an array that is sized by fields sets those too.
    pub fn set(&mut self, path: &str, value: impl Into<Value>) -> Result<(), EncodeError> {
        let format = self.format.clone();
        let segments = parse(path)?;
        let located = self.reach(&format, &segments, path)?;
        let mut fitter = Fitter { format: &format, shared: &mut self.shared };
        let fitted = match located.rest() {
            Some(part) => fitter.fit(value.into(), &part),
            None => fitter.fit(value.into(), located.ty),
        };
        let fitted = fitted.map_err(|error| within(error, path))?;
        match (segments.is_empty(), &self.root) {
            // Pointers to the root must find the new one.
            (true, Value::Shared(key)) => {
                let key = *key;
                self.shared[key] = fitted;
            }
            _ => *self.at_mut(&located.place) = fitted,
        }
        self.set_lengths(&located);
        Ok(())
    }

    /// Appends an item to the list at a path, or to an array sized by fields.
    pub fn push(&mut self, path: &str, value: impl Into<Value>) -> Result<(), EncodeError> {
        let format = self.format.clone();
        let located = self.reach(&format, &parse(path)?, path)?;
        let located = self.through(located).map_err(|miss| miss.into_error(path))?;
        let rest = located.rest();
        let (item, part) = match rest.as_ref().unwrap_or(located.ty) {
            Type::List { item } => (item.as_ref(), None),
            Type::Sized { item, dims, order } if dims.len() > 1 => {
                (item.as_ref(), Some(Type::Sized { item: item.clone(), dims: dims[1..].to_vec(), order: *order }))
            }
            Type::Sized { item, .. } => (item.as_ref(), None),
            other => {
                let reason = format!("{} cannot grow", format.type_name(other));
                return Err(within(refuse(reason), path));
            }
        };
        let mut fitter = Fitter { format: &format, shared: &mut self.shared };
        let mut fitted =
            fitter.fit(value.into(), part.as_ref().unwrap_or(item)).map_err(|error| within(error, path))?;
        if format.holds_recursive(item) && !item.is_indirect() && !matches!(fitted, Value::Shared(_)) && part.is_none()
        {
            self.shared.push(fitted);
            fitted = Value::Shared(self.shared.len() - 1);
        }
        match self.at_mut(&located.place) {
            Value::List(items) => items.push(fitted),
            other => {
                let reason = format!("{} is no list", describe(other));
                return Err(within(refuse(reason), path));
            }
        }
        self.set_lengths(&located);
        Ok(())
    }

    /// [`DynRecord::locate`], making what is absent on the way.
    fn reach<'f>(
        &mut self,
        format: &'f Format,
        segments: &[PathSegment<'_>],
        path: &str,
    ) -> Result<Located<'f>, EncodeError> {
        loop {
            let miss = match self.locate(format, segments) {
                Ok(located) => return Ok(located),
                Err(miss) => miss,
            };
            let (place, value) = match miss {
                Miss::Wrong(_) => return Err(miss.into_error(path)),
                Miss::Absent(place, ty) => {
                    let target = ty.item().expect("only what leads to an item can be absent");
                    let mut initial = Initial::new(format, &mut self.shared);
                    let mut value = initial.value(target);
                    if value != Value::Null || !target.is_indirect() {
                        let mut fitter = Fitter { format, shared: &mut self.shared };
                        value = fitter.fit(value, ty).map_err(|error| within(error, path))?;
                    } else {
                        self.shared.push(Value::Null);
                        value = Value::Shared(self.shared.len() - 1);
                    }
                    (place, value)
                }
                Miss::OtherCase(place, payload, case) => {
                    let payload = Initial::new(format, &mut self.shared).value(payload);
                    (place, Value::Case(case, Some(Box::new(payload))))
                }
            };
            *self.at_mut(&place) = value;
        }
    }

    fn locate<'f>(&self, format: &'f Format, segments: &[PathSegment<'_>]) -> Result<Located<'f>, Miss<'f>> {
        let ty = reflect::root_type(format);
        let mut located = Located { place: ValuePath::default(), ty, indexed: 0, owner: None };
        for segment in segments {
            located = self.through(located)?;
            located = match segment {
                PathSegment::Name(name) => self.named(format, located, name)?,
                PathSegment::Index(index) => self.indexed(format, located, *index)?,
            };
        }
        Ok(located)
    }

    /// Goes through pointers, optionals and entries of the table to a value in its own place.
    fn through<'f>(&self, mut located: Located<'f>) -> Result<Located<'f>, Miss<'f>> {
        // Each hop but a chain of entries makes the type smaller, so this many are never needed.
        for _ in 0..self.shared.len().saturating_add(1 << 16) {
            let value = self.at(&located.place);
            let is_entry = matches!(value, Value::Shared(_));
            match located.ty {
                Type::Optional { .. } | Type::Ref { .. } if *value == Value::Null => {
                    return Err(Miss::Absent(located.place, located.ty));
                }
                Type::Ref { item, .. } => located.ty = item,
                Type::Optional { item, .. } => {
                    located.ty = item;
                    if is_entry && !item.is_indirect() {
                        continue;
                    }
                }
                _ if is_entry => {}
                _ => return Ok(located),
            }
            if let Value::Shared(key) = value {
                if *key >= self.shared.len() {
                    return Err(Miss::Wrong(format!("there is no shared value {key}")));
                }
                located.place = ValuePath { base: Some(*key), steps: Vec::new() };
            }
        }
        Err(Miss::Wrong("shared values that stand for each other".into()))
    }

    fn named<'f>(&self, format: &'f Format, located: Located<'f>, name: &str) -> Result<Located<'f>, Miss<'f>> {
        let value = self.at(&located.place);
        match (located.ty, value) {
            (Type::Record(id), Value::Record(fields)) => {
                let record = format.record(*id);
                let field = format.field_of(*id, name);
                let (position, field) =
                    field.ok_or_else(|| Miss::Wrong(format!("{} has no field {name}", record.name)))?;
                let here = fields.get(position).is_some_and(|(other, _)| other == name);
                let elsewhere = || fields.iter().position(|(other, _)| other == name);
                let index = if here { Some(position) } else { elsewhere() };
                let index = index.ok_or_else(|| Miss::Wrong(format!("field {name} has no value")))?;
                let owner = Some((located.place.clone(), record));
                Ok(Located { place: located.place.child(index), ty: &field.ty, indexed: 0, owner })
            }
            (Type::Variant(id), value) => {
                let case = format.case_of(*id, name);
                let none = || Miss::Wrong(format!("{} has no case {name}", format.variant(*id).name));
                let case = case.ok_or_else(none)?;
                let payload = case.payload.as_ref();
                let ty = payload.ok_or_else(|| Miss::Wrong(format!("case {name} carries nothing")))?;
                match value {
                    Value::Case(at_hand, Some(_)) if at_hand == name => {
                        Ok(Located { place: located.place.child(0), ty, indexed: 0, owner: None })
                    }
                    _ => Err(Miss::OtherCase(located.place, ty, name.into())),
                }
            }
            (ty, _) => Err(Miss::Wrong(format!("{} has no fields, so no {name}", format.type_name(ty)))),
        }
    }

    fn indexed<'f>(&self, format: &'f Format, located: Located<'f>, index: usize) -> Result<Located<'f>, Miss<'f>> {
        let (item, rank) = match located.ty {
            Type::List { item } => (item, 1),
            Type::Array { item, dims, .. } => (item, dims.len()),
            Type::Sized { item, dims, .. } => (item, dims.len()),
            other => return Err(Miss::Wrong(format!("{} has no items", format.type_name(other)))),
        };
        let Value::List(items) = self.at(&located.place) else {
            return Err(Miss::Wrong("no list".into()));
        };
        if index >= items.len() {
            return Err(Miss::Wrong(format!("there is no item {index}, only {}", items.len())));
        }
        let place = located.place.child(index);
        if located.indexed + 1 == rank {
            return Ok(Located { place, ty: item, indexed: 0, owner: None });
        }
        Ok(Located { place, indexed: located.indexed + 1, ..located })
    }

    fn at(&self, place: &ValuePath) -> &Value {
        let base = place.base.map_or(&self.root, |key| &self.shared[key]);
        place.steps.iter().fold(base, |value, step| match value {
            Value::Record(fields) => &fields[*step].1,
            Value::List(items) => &items[*step],
            Value::Case(_, Some(payload)) => payload,
            _ => unreachable!("places are made along the values"),
        })
    }

    fn at_mut(&mut self, place: &ValuePath) -> &mut Value {
        let base = match place.base {
            None => &mut self.root,
            Some(key) => &mut self.shared[key],
        };
        place.steps.iter().fold(base, |value, step| match value {
            Value::Record(fields) => &mut fields[*step].1,
            Value::List(items) => &mut items[*step],
            Value::Case(_, Some(payload)) => payload,
            _ => unreachable!("places are made along the values"),
        })
    }

    /// Sets the length fields of an array that was changed as a whole.
    fn set_lengths(&mut self, located: &Located<'_>) {
        let (Type::Sized { dims, .. }, Some((owner, record)), 0) = (located.ty, &located.owner, located.indexed) else {
            return;
        };
        let lengths = real_lengths(self.at(&located.place), dims.len());
        let Value::Record(fields) = self.at_mut(owner) else { return };
        for (dim, length) in dims.iter().zip(lengths) {
            let Dim::Field(index) = dim else { continue };
            let name = &record.fields[usize::from(*index)].name;
            if let Some((_, value)) = fields.iter_mut().find(|(other, _)| other == name) {
                *value = Value::from(length);
            }
        }
    }
}

/// Sets those length fields that have no value yet from the arrays they belong to.
pub(crate) fn fill_lengths(record: &RecordDef, fields: &mut [(String, Value)]) {
    for (position, field) in record.fields.iter().enumerate() {
        let Type::Sized { dims, .. } = &field.ty else { continue };
        let lengths = real_lengths(&fields[position].1, dims.len());
        for (dim, length) in dims.iter().zip(lengths) {
            if let Dim::Field(index) = dim
                && let (_, value @ Value::Null) = &mut fields[usize::from(*index)]
            {
                *value = Value::from(length);
            }
        }
    }
}

/// The first array whose length fields contradict its items, and how. `fields` are all fields in the record's order.
pub fn contradiction<'r>(record: &'r RecordDef, fields: &[(String, Value)]) -> Option<(&'r Field, String)> {
    record.fields.iter().zip(fields).find_map(|(field, (_, value))| {
        let (Type::Sized { dims, .. }, Value::List(_)) = (&field.ty, value) else { return None };
        let declared = dims.iter().map(|dim| match dim {
            Dim::Fixed(length) => Some(i128::from(*length)),
            Dim::Field(index) => match fields[usize::from(*index)].1 {
                Value::Int(length) => Some(length),
                _ => None,
            },
        });
        let declared: Option<Vec<i128>> = declared.collect();
        let (declared, real) = (declared?, real_lengths(value, dims.len()));
        // Lengths behind one that is zero cannot be seen in the items.
        let seen = real.iter().position(|length| *length == 0).map_or(real.len(), |zero| zero + 1);
        let empty = declared.contains(&0) && real.contains(&0);
        let wrong = declared.iter().zip(&real).take(seen).find(|(declared, real)| **declared != **real as i128);
        let (declared, real) = wrong.filter(|_| !empty)?;
        Some((field, format!("has {real} items where its length field says {declared}")))
    })
}

/// The lengths of nested lists, outermost first, as their first items show them.
pub(super) fn real_lengths(value: &Value, rank: usize) -> Vec<usize> {
    let mut value = Some(value);
    (0..rank)
        .map(|_| match value {
            Some(Value::List(items)) => {
                value = items.first();
                items.len()
            }
            _ => 0,
        })
        .collect()
}

impl ValuePath {
    fn child(mut self, step: usize) -> ValuePath {
        self.steps.push(step);
        self
    }
}

impl Located<'_> {
    /// The type of a part of an array of several dimensions.
    fn rest(&self) -> Option<Type> {
        match (self.indexed, self.ty) {
            (1.., Type::Array { item, dims, order }) => {
                Some(Type::Array { item: item.clone(), dims: dims[self.indexed..].to_vec(), order: *order })
            }
            (1.., Type::Sized { item, dims, order }) => {
                Some(Type::Sized { item: item.clone(), dims: dims[self.indexed..].to_vec(), order: *order })
            }
            _ => None,
        }
    }
}

impl Miss<'_> {
    fn into_error(self, path: &str) -> EncodeError {
        let reason = match self {
            Miss::Wrong(reason) => reason,
            Miss::Absent(..) => "absent: a null or an absent value stands in the way".into(),
            Miss::OtherCase(_, _, case) => format!("it is another case than {case}"),
        };
        EncodeError::Value { path: path.into(), reason }
    }
}

fn parse(path: &str) -> Result<Vec<PathSegment<'_>>, EncodeError> {
    path::parse(path).map_err(|bad| EncodeError::Value { path: path.into(), reason: bad.to_string() })
}
