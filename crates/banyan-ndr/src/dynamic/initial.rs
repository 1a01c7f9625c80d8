//! The values a record begins with.

use super::DynRecord;
use super::fit::Fitter;
use super::number::from_bits;
use crate::{Definition, Field, Format, Type, Value};

/// A record as [`DynRecord::new`] gives it.
pub(super) fn record(format: &Format) -> DynRecord {
    let mut shared = Vec::new();
    let ty = format.root_type();
    let root = if format.holds_recursive(&ty) {
        // The root's own entry is the first, as in a record that was read.
        shared.push(Value::Null);
        let value = Initial::new(format, &mut shared).value(&ty);
        shared[0] = value;
        Value::Shared(0)
    } else {
        Initial::new(format, &mut shared).value(&ty)
    };
    DynRecord { format: format.clone(), root, shared }
}

/// Makes values to begin with; new entries go to the end of the table.
pub(crate) struct Initial<'a> {
    pub(crate) format: &'a Format,
    pub(crate) shared: &'a mut Vec<Value>,
    /// Values that may still be made.
    left: usize,
    /// Definitions around the current value.
    depth: usize,
}

/// Most values that a record begins with, and how deep they nest. A short format can describe thousands of millions;
/// what is beyond this is null until it is set.
const MOST_VALUES: usize = 1 << 20;
const MOST_DEPTH: usize = 128;

impl<'a> Initial<'a> {
    pub(crate) fn new(format: &'a Format, shared: &'a mut Vec<Value>) -> Initial<'a> {
        Initial { format, shared, left: MOST_VALUES, depth: 0 }
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
                let first = self.format.enumeration(*id).names.first().map(|(name, _)| name.as_str());
                self.format.name_of(*id, 0).or(first).map_or(Value::Int(0), |name| Value::Enum(name.into()))
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
        if self.format.holds_recursive(item) || self.depth > MOST_DEPTH {
            return Value::Null;
        }
        let value = self.value(item);
        if !shared && !item.is_indirect() {
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
        self.depth += 1;
        let value = self.begin(self.format.definition(ty.definition().expect("it is one")));
        self.depth -= 1;
        value
    }

    fn begin(&mut self, definition: &Definition) -> Value {
        match definition {
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
            let mut fitter = Fitter { format: self.format, shared: self.shared };
            if let Ok(value) = fitter.fit(default.clone(), &field.ty) {
                return value;
            }
        }
        self.value(&field.ty)
    }
}
