//! Reading a body into values.
//!
//! Iterative where the data sets the depth: what belongs to a recursive definition becomes an entry of the table, and
//! the entries wait in a queue. The recursion that is left follows the nesting of the format, which
//! [`Limits::nesting`] bounds.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt};

use super::DynRecord;
use super::targets::TypeKeys;
use crate::reflect::{Budget, Item, RecordView};
use crate::{DecodeError, Limits, Type, Value};

/// The whole record, its sharing kept, and about how much memory it takes.
pub(super) fn record(view: RecordView<'_>, limits: &Limits) -> Result<(DynRecord, usize), DecodeError> {
    let mut reader = ValueReader::new(view, limits, true)?;
    let item = view.root();
    reader.budget.take(view.format().size(), item.field_name())?;
    let root = if view.format().holds_recursive(item.ty()) {
        let target = (item.offset(), reader.types.key(item.ty()));
        let value = reader.entry(item)?;
        reader.seen.insert(target, 0);
        value
    } else {
        reader.value(item, 0)?
    };
    reader.finish()?;
    let record = DynRecord { format: view.format().clone(), root, shared: reader.shared };
    Ok((record, limits.value_bytes - reader.memory))
}

/// A part of a record, everything shared copied out.
pub(super) fn value(item: Item<'_>, limits: &Limits) -> Result<Value, DecodeError> {
    ValueReader::new(item.view(), limits, false)?.value(item, 0)
}

struct ValueReader<'a, 'l> {
    view: RecordView<'a>,
    limits: &'l Limits,
    budget: Budget,
    /// Bytes of memory that values may still take.
    memory: usize,
    types: TypeKeys<'a>,
    /// Entries of shared targets, by place and type.
    seen: HashMap<(usize, usize), usize>,
    /// Whether there is a table at all.
    keeps_sharing: bool,
    shared: Vec<Value>,
    /// Entries that are still to be read, in the order of their keys.
    waiting: VecDeque<Item<'a>>,
}

impl<'a, 'l> ValueReader<'a, 'l> {
    fn new(view: RecordView<'a>, limits: &'l Limits, keeps_sharing: bool) -> Result<ValueReader<'a, 'l>, DecodeError> {
        let len = view.body().len();
        if len > limits.body_bytes {
            let (path, found, limit) = (view.format().name().to_owned(), len as u64, limits.body_bytes as u64);
            return Err(DecodeError::Limit { path, found, limit, name: "body_bytes" });
        }
        Ok(ValueReader {
            view,
            limits,
            budget: Budget::new(len),
            memory: limits.value_bytes,
            types: TypeKeys::default(),
            seen: HashMap::new(),
            keeps_sharing,
            shared: Vec::new(),
            waiting: VecDeque::new(),
        })
    }

    /// A new entry of the table, to be read later.
    fn entry(&mut self, item: Item<'a>) -> Result<Value, DecodeError> {
        self.pay(size_of::<Value>() + size_of::<Item<'_>>(), item.field_name())?;
        self.shared.push(Value::Null);
        self.waiting.push_back(item);
        Ok(Value::Shared(self.shared.len() - 1))
    }

    fn finish(&mut self) -> Result<(), DecodeError> {
        let mut key = 0;
        while let Some(item) = self.waiting.pop_front() {
            let value = self.value(item, 0)?;
            self.shared[key] = value;
            key += 1;
        }
        Ok(())
    }

    fn value(&mut self, item: Item<'a>, depth: usize) -> Result<Value, DecodeError> {
        if depth > self.limits.nesting {
            let (path, found) = (item.field_name().to_owned(), depth as u64);
            return Err(DecodeError::Limit { path, found, limit: self.limits.nesting as u64, name: "nesting" });
        }
        self.budget.take(item.bytes_behind()?, item.field_name())?;
        match item.ty() {
            Type::Record(_) => self.record(item, depth),
            Type::Variant(_) => {
                let (name, payload) = item.case()?.expect("a variant has a case");
                self.pay(allocation(name.len()) + allocation(size_of::<Value>()), item.field_name())?;
                let payload = payload.map(|payload| self.value(payload, depth + 1)).transpose()?;
                Ok(Value::Case(name.into(), payload.map(Box::new)))
            }
            Type::Optional { item: inner, .. } => match item.target()? {
                None => Ok(Value::Null),
                Some(target) => {
                    self.apart(target, inner.is_indirect() || self.view.format().holds_recursive(inner), depth)
                }
            },
            Type::Ref { item: inner, shared, .. } => match item.target()? {
                None => Ok(Value::Null),
                Some(target) => self.target(target, inner, *shared, depth),
            },
            Type::Array { .. } => self.items(item, false, depth),
            Type::List { item: inner } | Type::Sized { item: inner, .. } => {
                let apart = self.view.format().holds_recursive(inner) && !inner.is_indirect();
                self.items(item, apart, depth)
            }
            _ => {
                let value = item.leaf()?;
                if let Value::Enum(text) | Value::Str(text) = &value {
                    self.pay(allocation(text.len()), item.field_name())?;
                } else if let Value::Bytes(bytes) = &value {
                    self.pay(allocation(bytes.len()), item.field_name())?;
                }
                Ok(value)
            }
        }
    }

    fn record(&mut self, item: Item<'a>, depth: usize) -> Result<Value, DecodeError> {
        let given = item.fields()?;
        let count = given.size_hint().0;
        self.pay(allocation(count.saturating_mul(size_of::<(String, Value)>())), item.field_name())?;
        let mut fields = Vec::with_capacity(count);
        for (name, field) in given {
            self.pay(allocation(name.len()), name)?;
            fields.push((name.to_owned(), self.value(field, depth + 1)?));
        }
        Ok(Value::Record(fields))
    }

    /// All items of an array or list; rows of one as lists.
    fn items(&mut self, item: Item<'a>, apart: bool, depth: usize) -> Result<Value, DecodeError> {
        let len = item.len()?;
        self.pay(allocation(len.saturating_mul(size_of::<Value>())), item.field_name())?;
        if let Some(numbers) = item.numbers()? {
            return Ok(Value::List(numbers));
        }
        let mut values = Vec::with_capacity(len);
        for element in item.iter()? {
            let element = element?;
            values.push(if element.is_part() {
                if depth > self.limits.nesting {
                    return self.value(element, depth + 1);
                }
                self.items(element, apart, depth + 1)?
            } else {
                self.apart(element, apart, depth)?
            });
        }
        Ok(Value::List(values))
    }

    /// A value that stands in the table if it must.
    fn apart(&mut self, item: Item<'a>, apart: bool, depth: usize) -> Result<Value, DecodeError> {
        if apart && self.keeps_sharing { self.entry(item) } else { self.value(item, depth + 1) }
    }

    fn target(&mut self, target: Item<'a>, ty: &'a Type, shared: bool, depth: usize) -> Result<Value, DecodeError> {
        if shared && self.keeps_sharing {
            let place = (target.offset(), self.types.key(ty));
            if let Some(key) = self.seen.get(&place) {
                return Ok(Value::Shared(*key));
            }
            self.pay(2 * size_of::<((usize, usize), usize)>(), target.field_name())?;
            self.seen.insert(place, self.shared.len());
        }
        self.budget.take(self.view.format().size_of(ty), target.field_name())?;
        self.apart(target, shared || ty.is_indirect() || self.view.format().holds_recursive(ty), depth)
    }

    /// Takes memory for what belongs to the field called `name`.
    fn pay(&mut self, bytes: usize, name: &str) -> Result<(), DecodeError> {
        let Some(left) = self.memory.checked_sub(bytes) else {
            let limit = self.limits.value_bytes;
            let found = (limit - self.memory).saturating_add(bytes) as u64;
            let path = name.chars().take(64).collect();
            return Err(DecodeError::Limit { path, found, limit: limit as u64, name: "value_bytes" });
        };
        self.memory = left;
        Ok(())
    }
}

/// What a piece of memory takes, with what the allocator adds.
fn allocation(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes.saturating_add(24) & !15 }
}
