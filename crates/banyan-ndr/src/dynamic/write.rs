//! Writing values as a body in the layout of their format.
//!
//! What lies in the fixed part of a record is written at once; what lies behind a reference gets its place at the end
//! of the body and waits in a queue. So the depth of the recursion is that of the format's fixed parts, whatever the
//! values refer to.

use std::collections::VecDeque;

use super::edit::real_lengths;
use super::fields::{FieldValues, lengths_of_arrays};
use super::fit::{refuse, within};
use super::number::{describe, to_bits};
use super::{DynRecord, targets::TypeKeys};
use crate::wire::{Slots, write_uint};
use crate::{Buffer, DefId, Dim, EncodeError, Format, Order, RecordDef, Type, Value, reflect};

/// The body of a record.
pub(super) fn body(record: &DynRecord) -> Result<Buffer, EncodeError> {
    let format = &record.format;
    let ty = reflect::root_type(format);
    let mut writer = ValueWriter {
        format,
        shared: &record.shared,
        slots: Slots { order: format.order(), pointer: format.pointer() },
        out: Buffer::new(),
        types: TypeKeys::default(),
        used: record.shared.iter().map(|_| Use::Never).collect(),
        waiting: VecDeque::new(),
    };
    writer.out.set_len(format.size());
    let mut root = &record.root;
    if let Value::Shared(key) = root {
        root = writer.entry(*key)?;
        writer.used[*key] = Use::Shared { ty: writer.types.key(ty), at: 0 };
    }
    writer.put(0, ty, root, "")?;
    while let Some(DeferredValue { at, what, value, name }) = writer.waiting.pop_front() {
        let written = match what {
            What::One(ty) => writer.put(at, ty, value, name),
            What::Run { item, dims, order } => writer.elements(at, item, &dims, order, value, name),
        };
        written.map_err(|error| within(error, name))?;
    }
    Ok(writer.out)
}

/// How an entry of the table was used.
enum Use {
    Never,
    /// In a place of its own, once.
    Once,
    /// Behind shared pointers to this type; it lies there.
    Shared {
        ty: usize,
        at: usize,
    },
}

/// A value whose place is kept free.
struct DeferredValue<'r> {
    at: usize,
    what: What<'r>,
    value: &'r Value,
    /// The field it lies behind.
    name: &'r str,
}

enum What<'r> {
    One(&'r Type),
    Run { item: &'r Type, dims: Vec<usize>, order: Order },
}

struct ValueWriter<'r> {
    format: &'r Format,
    shared: &'r [Value],
    slots: Slots,
    out: Buffer,
    types: TypeKeys<'r>,
    /// By key.
    used: Vec<Use>,
    waiting: VecDeque<DeferredValue<'r>>,
}

impl<'r> ValueWriter<'r> {
    fn entry(&self, key: usize) -> Result<&'r Value, EncodeError> {
        self.shared
            .get(key)
            .ok_or_else(|| refuse(format!("there is no shared value {key}, only {}", self.shared.len())))
    }

    /// The value of an entry that is used in this one place.
    fn claim(&mut self, key: usize) -> Result<&'r Value, EncodeError> {
        let value = self.entry(key)?;
        match std::mem::replace(&mut self.used[key], Use::Once) {
            Use::Never => Ok(value),
            _ => Err(used_again(key)),
        }
    }

    /// Room for `count` items at the end.
    fn reserve(&mut self, ty: &Type, count: usize) -> Result<usize, EncodeError> {
        self.reserve_for(self.format.align_of(ty), self.format.size_of(ty), count)
    }

    fn reserve_for(&mut self, align: usize, size: usize, count: usize) -> Result<usize, EncodeError> {
        let at = self.out.len().next_multiple_of(align);
        let end = size.checked_mul(count).and_then(|bytes| at.checked_add(bytes));
        let end = end.filter(|end| *end <= self.slots.most()).ok_or(EncodeError::TooLong(end.unwrap_or(usize::MAX)))?;
        self.out.set_len(end);
        Ok(at)
    }

    /// Writes a value into its place; `name` is the field that it is or lies in.
    fn put(&mut self, at: usize, ty: &'r Type, value: &'r Value, name: &'r str) -> Result<(), EncodeError> {
        match (ty, value) {
            (Type::Ref { item, nullable, shared }, _) => self.pointer(at, item, *nullable, *shared, value, name),
            (Type::Optional { .. }, Value::Null) => Ok(()),
            (Type::Optional { item, value_at, .. }, _) => {
                self.out[at] = 1;
                let inner = match value {
                    Value::Shared(key) if item.is_indirect() => self.claim(*key)?,
                    other => other,
                };
                self.put(at + *value_at as usize, item, inner, name)
            }
            (_, Value::Shared(key)) => {
                let value = self.claim(*key)?;
                self.put(at, ty, value, name)
            }
            (Type::Str | Type::Bytes | Type::CStr, _) => self.text(at, ty, value),
            (Type::Record(id), Value::Record(fields)) => self.record(at, *id, fields),
            (Type::Variant(_), _) => self.variant(at, ty, value, name),
            (Type::Array { item, dims, order }, _) => {
                let dims: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
                self.elements(at, item, &dims, *order, value, name)
            }
            (Type::List { item }, Value::List(items)) => {
                if items.is_empty() {
                    return Ok(());
                }
                let target = self.reserve(item, items.len())?;
                self.slots.set_span(&mut self.out[at..], target, items.len());
                self.wait_for_run(target, item, vec![items.len()], Order::Row, value, name);
                Ok(())
            }
            (Type::Record(_) | Type::List { .. } | Type::Sized { .. }, other) => Err(self.unfit(other, ty)),
            _ => {
                let bits = to_bits(self.format, ty, value).map_err(refuse)?;
                let width = self.format.size_of(ty);
                write_uint(&mut self.out[at..at + width], bits, self.format.order());
                Ok(())
            }
        }
    }

    fn pointer(
        &mut self,
        at: usize,
        item: &'r Type,
        nullable: bool,
        shared: bool,
        value: &'r Value,
        name: &'r str,
    ) -> Result<(), EncodeError> {
        let value = match value {
            Value::Null if nullable => return Ok(()),
            Value::Null if !item.is_indirect() => return Err(refuse("null, but the pointer must lead somewhere")),
            Value::Shared(key) if shared => return self.shared_pointer(at, item, *key, name),
            Value::Shared(key) => self.claim(*key)?,
            other => other,
        };
        let target = self.reserve(item, 1)?;
        self.refer(at, target, item, value, name)
    }

    fn shared_pointer(&mut self, at: usize, item: &'r Type, key: usize, name: &'r str) -> Result<(), EncodeError> {
        let value = self.entry(key)?;
        let ty = self.types.key(item);
        match self.used[key] {
            Use::Never => {
                let target = self.reserve(item, 1)?;
                self.used[key] = Use::Shared { ty, at: target };
                self.refer(at, target, item, value, name)
            }
            Use::Shared { ty: known, at: target } if known == ty => {
                self.slots.set_reference(&mut self.out[at..], Some(target));
                Ok(())
            }
            Use::Shared { .. } => Err(refuse(format!("shared value {key} is used as two types"))),
            Use::Once => Err(used_again(key)),
        }
    }

    fn refer(
        &mut self,
        at: usize,
        target: usize,
        ty: &'r Type,
        value: &'r Value,
        name: &'r str,
    ) -> Result<(), EncodeError> {
        self.slots.set_reference(&mut self.out[at..], Some(target));
        self.waiting.push_back(DeferredValue { at: target, what: What::One(ty), value, name });
        Ok(())
    }

    fn wait_for_run(
        &mut self,
        at: usize,
        item: &'r Type,
        dims: Vec<usize>,
        order: Order,
        value: &'r Value,
        name: &'r str,
    ) {
        self.waiting.push_back(DeferredValue { at, what: What::Run { item, dims, order }, value, name });
    }

    fn text(&mut self, at: usize, ty: &Type, value: &Value) -> Result<(), EncodeError> {
        let bytes = match (ty, value) {
            (Type::CStr, Value::Null) => return Ok(()),
            (Type::Str | Type::CStr, Value::Str(text)) => text.as_bytes(),
            (Type::Bytes | Type::CStr, Value::Bytes(bytes)) => bytes,
            (_, other) => return Err(self.unfit(other, ty)),
        };
        if matches!(ty, Type::CStr) {
            if bytes.contains(&0) {
                return Err(refuse("a C string cannot contain a NUL"));
            }
            let target = self.reserve_for(1, 1, bytes.len() + 1)?;
            self.out[target..target + bytes.len()].copy_from_slice(bytes);
            self.slots.set_reference(&mut self.out[at..], Some(target));
        } else if !bytes.is_empty() {
            let target = self.reserve_for(1, 1, bytes.len())?;
            self.out[target..].copy_from_slice(bytes);
            self.slots.set_span(&mut self.out[at..], target, bytes.len());
        }
        Ok(())
    }

    fn record(&mut self, at: usize, id: DefId, given: &'r [(String, Value)]) -> Result<(), EncodeError> {
        static MISSING: Value = Value::Null;
        let record = self.format.record(id);
        let values = FieldValues::new(self.format, id, given).values;
        let lengths = lengths_of_arrays(record, |position| values[position]);
        let fields = Fields { record, values: &values, lengths: &lengths };
        for (position, field) in record.fields.iter().enumerate() {
            let value = values[position].unwrap_or(&MISSING);
            let place = at + field.offset as usize;
            let written = match (&field.ty, value) {
                (Type::Sized { .. }, _) => self.sized(place, &fields, field, value),
                // A length field without a value is written with its array.
                (Type::Int { .. }, Value::Null) => self.length(place, &field.ty, lengths[position]),
                _ => self.put(place, &field.ty, value, &field.name),
            };
            written.map_err(|error| within(error, &field.name))?;
        }
        Ok(())
    }

    /// Writes a length field that has no value of its own.
    fn length(&mut self, at: usize, ty: &Type, length: Option<usize>) -> Result<(), EncodeError> {
        let length = length.ok_or_else(|| refuse("it has no value"))?;
        let bits = to_bits(self.format, ty, &Value::from(length)).map_err(refuse)?;
        let width = self.format.size_of(ty);
        write_uint(&mut self.out[at..at + width], bits, self.format.order());
        Ok(())
    }

    fn sized(
        &mut self,
        at: usize,
        fields: &Fields<'_>,
        field: &'r crate::Field,
        value: &'r Value,
    ) -> Result<(), EncodeError> {
        let Type::Sized { item, dims, order } = &field.ty else { unreachable!("asked for an array sized by fields") };
        let value = match value {
            Value::Shared(key) => self.claim(*key)?,
            other => other,
        };
        let items = match value {
            Value::List(items) => items.as_slice(),
            // An array of no items may be a null pointer.
            Value::Null => &[],
            other => return Err(self.unfit(other, &field.ty)),
        };
        let mut lengths = Vec::with_capacity(dims.len());
        for dim in dims {
            lengths.push(match dim {
                Dim::Fixed(length) => u128::from(*length),
                Dim::Field(index) => fields.declared_length(usize::from(*index))?,
            });
        }
        if items.is_empty() && lengths.contains(&0) {
            return Ok(());
        }
        let real = real_lengths(value, dims.len());
        for (declared, actual) in lengths.iter().zip(&real) {
            if *declared != *actual as u128 {
                return Err(EncodeError::Length { field: String::new(), declared: *declared, actual: *actual });
            }
        }
        let count = real.iter().try_fold(1usize, |count, length| count.checked_mul(*length));
        let count = count.ok_or(EncodeError::TooLong(usize::MAX))?;
        let target = if count == 0 { 0 } else { self.reserve(item, count)? };
        self.slots.set_reference(&mut self.out[at..], (count > 0).then_some(target));
        self.wait_for_run(target, item, real, *order, value, &field.name);
        Ok(())
    }

    fn variant(&mut self, at: usize, ty: &'r Type, value: &'r Value, name: &'r str) -> Result<(), EncodeError> {
        let Type::Variant(id) = ty else { unreachable!("asked for a variant") };
        let variant = self.format.variant(*id);
        let Value::Case(case, payload) = value else { return Err(self.unfit(value, ty)) };
        let found = self.format.case_of(*id, case);
        let found = found.ok_or_else(|| refuse(format!("{} has no case {case}", variant.name)))?;
        let tag = &mut self.out[at..at + usize::from(variant.tag_width)];
        write_uint(tag, u128::from(found.tag), self.format.order());
        match (&found.payload, payload) {
            (None, None) => Ok(()),
            (Some(ty), Some(payload)) => self
                .put(at + variant.payload_at as usize, ty, payload, name)
                .map_err(|error| within(error, &found.name)),
            (None, Some(_)) => Err(refuse(format!("case {case} carries nothing"))),
            (Some(_), None) => Err(refuse(format!("case {case} must carry a value"))),
        }
    }

    /// Writes the items of nested lists to where their indices say, from `base` on.
    fn elements(
        &mut self,
        base: usize,
        item: &'r Type,
        dims: &[usize],
        order: Order,
        value: &'r Value,
        name: &'r str,
    ) -> Result<(), EncodeError> {
        let mut strides = vec![self.format.size_of(item); dims.len()];
        for position in 0..dims.len() {
            let faster = match order {
                Order::Row => &dims[position + 1..],
                Order::Column => &dims[..position],
            };
            strides[position] *= faster.iter().product::<usize>();
        }
        self.nested(base, item, dims, &strides, value, name)
    }

    fn nested(
        &mut self,
        at: usize,
        item: &'r Type,
        dims: &[usize],
        strides: &[usize],
        value: &'r Value,
        name: &'r str,
    ) -> Result<(), EncodeError> {
        let ([length, dims @ ..], [stride, strides @ ..]) = (dims, strides) else {
            return self.put(at, item, value, name);
        };
        let value = match value {
            Value::Shared(key) => self.claim(*key)?,
            other => other,
        };
        let Value::List(items) = value else { return Err(refuse(format!("{} is no list", describe(value)))) };
        if items.len() != *length {
            return Err(refuse(format!("{} items where there must be {length}", items.len())));
        }
        for (index, value) in items.iter().enumerate() {
            self.nested(at + index * stride, item, dims, strides, value, name)
                .map_err(|error| within(error, &format!("[{index}]")))?;
        }
        Ok(())
    }

    fn unfit(&self, value: &Value, ty: &Type) -> EncodeError {
        refuse(format!("{} is no {}", describe(value), self.format.type_name(ty)))
    }
}

fn used_again(key: usize) -> EncodeError {
    refuse(format!("shared value {key} is used again, but not by shared pointers only"))
}

/// The fields of a record that is being written, by position.
struct Fields<'v> {
    record: &'v RecordDef,
    values: &'v [Option<&'v Value>],
    /// What the arrays say that these fields give their lengths.
    lengths: &'v [Option<usize>],
}

impl Fields<'_> {
    /// What a length field says, or what its array says for it.
    fn declared_length(&self, position: usize) -> Result<u128, EncodeError> {
        let name = &self.record.fields[position].name;
        match self.values[position] {
            Some(Value::Int(length)) => {
                u128::try_from(*length).map_err(|_| refuse(format!("its length field {name} is {length}")))
            }
            Some(Value::UInt(length)) => Ok(*length),
            None | Some(Value::Null) => Ok(self.lengths[position].unwrap_or(0) as u128),
            Some(other) => Err(refuse(format!("its length field {name} is {}", describe(other)))),
        }
    }
}
