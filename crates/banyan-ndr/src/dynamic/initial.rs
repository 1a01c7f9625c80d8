//! The values a record begins with.

use super::DynRecord;
use super::fit::Fitter;
use super::number::from_bits;
use super::recursion::{Recursion, is_indirect};
use crate::{Definition, Field, Format, Type, Value};

/// A record as [`DynRecord::new`] gives it.
pub(super) fn record(format: &Format) -> DynRecord {
    let recursion = Recursion::of(format);
    let mut shared = Vec::new();
    let ty = format.root_type();
    let root = if recursion.holds(&ty) {
        // The root's own entry is the first, as in a record that was read.
        shared.push(Value::Null);
        let value = Initial::new(format, &recursion, &mut shared).value(&ty);
        shared[0] = value;
        Value::Shared(0)
    } else {
        Initial::new(format, &recursion, &mut shared).value(&ty)
    };
    DynRecord { format: format.clone(), root, shared }
}

/// Most values that a record begins with. A short description can mean thousands of millions of fields, since each
/// definition can hold two of the next.
const MOST_VALUES: usize = 1 << 20;

/// Most pointers that lead from one to the next. Records in place are bounded by the format.
const MOST_POINTERS: usize = 64;

/// Makes values to begin with; new entries go to the end of the table.
pub(crate) struct Initial<'a> {
    format: &'a Format,
    recursion: &'a Recursion,
    shared: &'a mut Vec<Value>,
    /// How many values may still be made; everything behind is null.
    left: usize,
    /// How many pointers led here.
    pointers: usize,
}

impl<'a> Initial<'a> {
    pub(crate) fn new(format: &'a Format, recursion: &'a Recursion, shared: &'a mut Vec<Value>) -> Initial<'a> {
        Initial { format, recursion, shared, left: MOST_VALUES, pointers: 0 }
    }

    pub(super) fn value(&mut self, ty: &Type) -> Value {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return Value::Null,
        }
        match ty {
            Type::Int { .. } | Type::Float { .. } | Type::Bool { .. } | Type::Char { .. } => {
                from_bits(self.format, ty, 0).expect("zero is a value of each of them")
            }
            Type::Enum(id) => {
                let enumeration = self.format.enumeration(*id);
                let first = enumeration.names.first().map(|(name, _)| name.as_str());
                enumeration.name_of(0).or(first).map_or(Value::Null, |name| Value::Enum(name.into()))
            }
            Type::Str => Value::Str(String::new()),
            Type::Bytes => Value::Bytes(Vec::new()),
            Type::List { .. } | Type::Sized { .. } => Value::List(Vec::new()),
            Type::CStr | Type::Optional { .. } | Type::Ref { nullable: true, .. } => Value::Null,
            Type::Ref { item, shared, .. } => self.target(item, *shared),
            Type::Array { item, dims, .. } => self.array(item, dims),
            Type::Record(_) | Type::Variant(_) => self.definition(ty),
        }
    }

    fn target(&mut self, item: &Type, shared: bool) -> Value {
        if self.recursion.holds(item) || self.pointers == MOST_POINTERS {
            return Value::Null;
        }
        self.pointers += 1;
        let value = self.value(item);
        self.pointers -= 1;
        if !shared && !is_indirect(item) {
            return value;
        }
        self.shared.push(value);
        Value::Shared(self.shared.len() - 1)
    }

    pub(crate) fn array(&mut self, item: &Type, dims: &[u32]) -> Value {
        match dims {
            [] => self.value(item),
            [length, ..] if *length as usize > self.left => Value::Null,
            [length, inner @ ..] => Value::List((0..*length).map(|_| self.array(item, inner)).collect()),
        }
    }

    fn definition(&mut self, ty: &Type) -> Value {
        let format = self.format;
        match format.definition(ty.definition().expect("it is one")) {
            Definition::Record(record) => {
                Value::Record(record.fields.iter().map(|field| (field.name.clone(), self.field(field))).collect())
            }
            Definition::Variant(variant) => match variant.cases.first() {
                None => Value::Null,
                Some(case) => {
                    let payload = case.payload.as_ref().map(|payload| Box::new(self.value(payload)));
                    Value::Case(case.name.clone(), payload)
                }
            },
            Definition::Enumeration(_) => unreachable!("an enumeration is a number"),
        }
    }

    /// A field's default, if it declares one that fits it; what its type begins with otherwise.
    pub(crate) fn field(&mut self, field: &Field) -> Value {
        if let Some(default) = &field.default {
            let mut fitter = Fitter { format: self.format, recursion: self.recursion, shared: self.shared };
            if let Ok(value) = fitter.fit(default.clone(), &field.ty) {
                return value;
            }
        }
        self.value(&field.ty)
    }
}
