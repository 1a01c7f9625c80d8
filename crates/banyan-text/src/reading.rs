//! What the readers of JSON and XML share: the path to where they are, what is missing and unknown, and the shared
//! values that were referred to but not read yet.

use std::collections::{HashMap, VecDeque};

use super::TextError;
use super::path::Path;
use super::scalar::{parse_enum_number, shown};
use banyan_ndr::internals::contradiction;
use banyan_ndr::{DefId, Field, Format, Limits, RecordDef, Type, Value};

/// Names listed in one error; of more only the number is told, so that the error is no larger than the text.
const MOST_NAMED: usize = 32;

/// Bytes of memory that may be filled in for each byte of a text, and for a text however short. What a text leaves out
/// takes as much memory as what it says, so that short objects could become many long records.
const FILLED_BYTES_PER_BYTE: usize = 256;
const FILLED_BYTES_AT_LEAST: usize = 16 << 20;

/// The state of one reading.
pub(super) struct Reading<'f> {
    pub(super) format: &'f Format,
    skip_unknown: bool,
    /// Bytes that may still be filled in.
    fillable: usize,
    pub(super) path: Path<'f>,
    missing: Names,
    unknown: Names,
    /// The first array whose length fields say something else than its items: where, and what.
    contradiction: Option<(String, String)>,
    /// What each number that was referred to leads to.
    types: HashMap<usize, &'f Type>,
    /// Numbers whose values are still to be read.
    open: VecDeque<usize>,
}

#[derive(Default)]
struct Names {
    names: Vec<String>,
    more: usize,
}

impl Names {
    fn add(&mut self, name: impl FnOnce() -> String) {
        if self.names.len() < MOST_NAMED {
            self.names.push(name());
        } else {
            self.more += 1;
        }
    }
}

impl<'f> Reading<'f> {
    pub(super) fn new(format: &'f Format, text: &str, limits: &Limits, skip_unknown: bool) -> Reading<'f> {
        let fillable = text.len().saturating_mul(FILLED_BYTES_PER_BYTE).max(FILLED_BYTES_AT_LEAST);
        Reading {
            format,
            skip_unknown,
            fillable: fillable.min(limits.value_bytes),
            path: Path::default(),
            missing: Names::default(),
            unknown: Names::default(),
            contradiction: None,
            types: HashMap::new(),
            open: VecDeque::new(),
        }
    }

    /// Notes a member that the format does not have; it is to be skipped.
    pub(super) fn unknown(&mut self, name: &str) {
        if !self.skip_unknown {
            let path = &self.path;
            let dot = if path.is_empty() { "" } else { "." };
            self.unknown.add(|| format!("{path}{dot}{}", shown(name).trim_matches('"')));
        }
    }

    /// The fields of a record in its order, those that were not there filled in.
    pub(super) fn complete(&mut self, record: &'f RecordDef, mut values: Vec<Option<Value>>) -> Result<Value, String> {
        let absent = record.fields.iter().zip(&values).filter(|(_, value)| value.is_none());
        self.pay(absent.map(|(field, _)| field.name.len() + size_of::<(String, Value)>()).sum())?;
        let mut fields = Vec::with_capacity(record.fields.len());
        for (field, value) in record.fields.iter().zip(values.iter_mut()) {
            let value = value.take().map_or_else(|| self.absent(field), Ok)?;
            fields.push((field.name.clone(), value));
        }
        if self.contradiction.is_none()
            && let Some((field, reason)) = contradiction(record, &fields)
        {
            self.path.enter(&field.name);
            self.contradiction = Some((self.path.to_string(), reason));
            self.path.leave();
        }
        Ok(Value::Record(fields))
    }

    fn absent(&mut self, field: &'f Field) -> Result<Value, String> {
        if let Some(default) = &field.default {
            self.pay(bytes_behind(default))?;
            return Ok(default.clone());
        }
        // A record of which every field can be filled needs no default of its own.
        if let Type::Record(id) = &field.ty
            && self.format.has_default(field)
        {
            let record = self.format.record(*id);
            return self.complete(record, vec![None; record.fields.len()]);
        }
        if !may_be_null(&field.ty) {
            self.path.enter(&field.name);
            self.missing.add(|| self.path.to_string());
            self.path.leave();
        }
        Ok(Value::Null)
    }

    fn pay(&mut self, bytes: usize) -> Result<(), String> {
        self.fillable = self.fillable.checked_sub(bytes).ok_or(
            "the text leaves out so much that the record would be hundreds of times as large; read it in parts, or raise \
             Limits::value_bytes if that is less",
        )?;
        Ok(())
    }

    /// A value of an enumeration by its number, which may be much shorter than its name.
    pub(super) fn enum_number(&mut self, text: &str, id: DefId) -> Result<Value, String> {
        let value = parse_enum_number(text, self.format, id)?;
        self.pay(bytes_behind(&value))?;
        Ok(value)
    }

    /// A reference by number from a place of type `ty`.
    pub(super) fn refer(&mut self, number: u64, ty: &'f Type) -> Result<Value, String> {
        let target = super::sharing::target(ty);
        let number = usize::try_from(number).map_err(|_| format!("there is no shared value {number}"))?;
        match self.types.get(&number) {
            Some(other) if *other != target => Err(format!(
                "shared value {number} is referred to as {} and as {}",
                self.format.type_name(other),
                self.format.type_name(target)
            )),
            Some(_) => Ok(Value::Shared(number)),
            None => {
                self.types.insert(number, target);
                self.open.push_back(number);
                Ok(Value::Shared(number))
            }
        }
    }

    /// The next shared value to read, and as what.
    pub(super) fn next_shared(&mut self) -> Option<(usize, &'f Type)> {
        let number = self.open.pop_front()?;
        Some((number, self.types[&number]))
    }

    /// What was missing or unknown in all.
    pub(super) fn finish(self) -> Result<(), TextError> {
        if !self.unknown.names.is_empty() {
            return Err(TextError::Unknown { members: self.unknown.names, more: self.unknown.more });
        }
        if !self.missing.names.is_empty() {
            return Err(TextError::Missing { fields: self.missing.names, more: self.missing.more });
        }
        if let Some((path, reason)) = self.contradiction {
            return Err(TextError::Unwritable { path, reason });
        }
        Ok(())
    }
}

/// The table of shared values, as its entries are read in whatever order they are referred to.
pub(super) struct Table(Vec<Option<Value>>);

impl Table {
    /// For `len` entries, all of which stand in the text.
    pub(super) fn new(len: usize) -> Table {
        Table(vec![None; len])
    }

    /// Keeps an entry; each is read once.
    pub(super) fn set(&mut self, number: usize, value: Value) {
        self.0[number] = Some(value);
    }

    /// All of them; or the number of one that nothing refers to, and that therefore has no type.
    pub(super) fn finish(self) -> Result<Vec<Value>, usize> {
        self.0.into_iter().enumerate().map(|(number, value)| value.ok_or(number)).collect()
    }
}

/// Whether null may stand at a place of this type.
pub(super) fn may_be_null(ty: &Type) -> bool {
    match ty {
        Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. } => true,
        Type::Ref { item, .. } => may_be_null(item),
        _ => false,
    }
}

/// The type behind pointers and optionals.
pub(super) fn behind(mut ty: &Type) -> &Type {
    while let Type::Optional { item, .. } | Type::Ref { item, .. } = ty {
        ty = item;
    }
    ty
}

/// Bytes of memory that a value takes besides its own place.
fn bytes_behind(value: &Value) -> usize {
    match value {
        Value::Enum(text) | Value::Str(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.iter().map(|item| size_of::<Value>() + bytes_behind(item)).sum(),
        Value::Record(fields) => {
            let field = |(name, value): &(String, Value)| name.len() + size_of_val(name) + bytes_behind(value);
            fields.iter().map(|named| field(named) + size_of::<Value>()).sum()
        }
        Value::Case(name, payload) => {
            name.len() + payload.as_ref().map_or(0, |payload| size_of::<Value>() + bytes_behind(payload))
        }
        _ => 0,
    }
}
