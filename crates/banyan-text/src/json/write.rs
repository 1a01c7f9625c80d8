//! Records to JSON: any serde serializer is driven by a value and its type.

use std::cell::RefCell;

use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{BYTES, REFERENCE, SHARED, member_name};
use crate::path::Depth;
use crate::path::Path;
use crate::scalar::{Infinity, bytes_text, float_text};
use crate::sharing::Sharing;
use banyan_ndr::internals::FieldValues;
use banyan_ndr::{DefId, F16, Format, Type, Value};

/// One record on its way into text.
pub(super) struct JsonWriting<'a> {
    pub(super) format: &'a Format,
    pub(super) sharing: Sharing<'a>,
    /// Where in the record the writer is; after an error, where it happened.
    pub(super) path: RefCell<Path<'a>>,
}

/// A value and what it is.
pub(super) struct Typed<'a> {
    pub(super) writing: &'a JsonWriting<'a>,
    pub(super) ty: &'a Type,
    pub(super) value: &'a Value,
    pub(super) depth: Depth,
    /// The root bears the table of shared values.
    pub(super) is_root: bool,
}

impl Serialize for Typed<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match (self.ty, self.value) {
            (_, Value::Shared(key)) => self.reference(*key, out),
            (Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. }, Value::Null) => {
                out.serialize_unit()
            }
            (Type::Optional { item, .. } | Type::Ref { item, .. }, _) => {
                self.inner(item, self.value, self.depth.level().map_err(S::Error::custom)?).serialize(out)
            }
            (Type::Record(id), Value::Record(fields)) => self.record(*id, fields, out),
            (Type::Variant(id), Value::Case(name, payload)) => self.variant(*id, name, payload.as_deref(), out),
            (Type::List { item }, Value::List(_)) => self.items(item, 1).serialize(out),
            (Type::Array { item, dims, .. }, Value::List(_)) => self.items(item, dims.len()).serialize(out),
            (Type::Sized { item, dims, .. }, Value::List(_)) => self.items(item, dims.len()).serialize(out),
            _ => self.scalar(out),
        }
    }
}

impl<'a> Typed<'a> {
    fn inner(&self, ty: &'a Type, value: &'a Value, depth: Depth) -> Typed<'a> {
        Typed { writing: self.writing, ty, value, depth, is_root: false }
    }

    fn reference<S: Serializer>(&self, key: usize, out: S) -> Result<S::Ok, S::Error> {
        let Some(number) = self.writing.sharing.number(key) else {
            return Err(S::Error::custom(format!("there is no shared value {key}")));
        };
        let mut map = out.serialize_map(None)?;
        map.serialize_entry(REFERENCE, &number)?;
        self.table(&mut map)?;
        map.end()
    }

    fn record<S: Serializer>(&self, id: DefId, values: &'a [(String, Value)], out: S) -> Result<S::Ok, S::Error> {
        let depth = self.depth.record().map_err(S::Error::custom)?;
        let record = self.writing.format.record(id);
        let given = FieldValues::new(self.writing.format, id, values);
        if let Some(name) = given.unknown {
            return Err(S::Error::custom(format!("{} has no field {name}", record.name)));
        }
        let mut map = out.serialize_map(None)?;
        for (field, value) in record.fields.iter().zip(given.values) {
            self.writing.path.borrow_mut().enter(&field.name);
            let value = value.ok_or_else(|| S::Error::custom("the record has no value for it"))?;
            map.serialize_entry(&member_name(&field.name), &self.inner(&field.ty, value, depth))?;
            self.writing.path.borrow_mut().leave();
        }
        self.table(&mut map)?;
        map.end()
    }

    fn variant<S: Serializer>(
        &self,
        id: DefId,
        name: &str,
        payload: Option<&'a Value>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        let depth = self.depth.record().map_err(S::Error::custom)?;
        let Some(case) = self.writing.format.case_of(id, name) else {
            let variant = self.writing.format.variant(id);
            return Err(S::Error::custom(format!("{name} is no case of {}", variant.name)));
        };
        match (&case.payload, payload) {
            (None, None) => out.serialize_str(&member_name(name)),
            (Some(ty), Some(value)) => {
                let mut map = out.serialize_map(None)?;
                self.writing.path.borrow_mut().enter(&case.name);
                map.serialize_entry(&member_name(name), &self.inner(ty, value, depth))?;
                self.writing.path.borrow_mut().leave();
                self.table(&mut map)?;
                map.end()
            }
            _ => Err(S::Error::custom(format!("case {name} with or without a payload, against its format"))),
        }
    }

    /// The table of shared values, as a member of the root.
    fn table<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        if self.is_root && !self.writing.sharing.entries().is_empty() {
            map.serialize_entry(SHARED, &JsonEntries { writing: self.writing, depth: self.depth })?;
        }
        Ok(())
    }

    fn items(&self, item: &'a Type, rank: usize) -> WriteItems<'a> {
        WriteItems { writing: self.writing, item, rank, value: self.value, depth: self.depth }
    }

    fn scalar<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match (self.ty, self.value) {
            (Type::Int { .. }, Value::Int(value)) => serialize_int(*value, out),
            (Type::Int { .. }, Value::UInt(value)) => out.serialize_str(&value.to_string()),
            (Type::Float { width: 8 }, Value::F64(value)) if value.is_finite() => out.serialize_f64(*value),
            (Type::Float { width: 4 }, Value::F32(value)) if value.is_finite() => out.serialize_f32(*value),
            (Type::Float { width: 2 }, Value::F16(bits)) if F16::from_bits(*bits).to_f32().is_finite() => {
                out.serialize_f32(F16::from_bits(*bits).to_f32())
            }
            (Type::Float { width }, value) => match float_text(value, *width, Infinity::Lower) {
                Some(word) => out.serialize_str(&word),
                None => self.misfit(),
            },
            (Type::Bool { .. }, Value::Bool(value)) => out.serialize_bool(*value),
            (Type::Char { .. }, Value::Char(value)) => out.serialize_char(*value),
            (Type::Enum(id), Value::Enum(name)) if self.writing.format.value_of(*id, name).is_some() => {
                out.serialize_str(name)
            }
            (Type::Enum(_), Value::Int(value)) => serialize_int(*value, out),
            (Type::Str | Type::CStr, Value::Str(text)) => out.serialize_str(text),
            (Type::Bytes, Value::Bytes(bytes)) => out.serialize_str(&bytes_text(bytes)),
            (Type::CStr, Value::Bytes(bytes)) => {
                let mut map = out.serialize_map(Some(1))?;
                map.serialize_entry(BYTES, &bytes_text(bytes))?;
                map.end()
            }
            _ => self.misfit(),
        }
    }

    fn misfit<T, E: Error>(&self) -> Result<T, E> {
        Err(E::custom(format!("the value is no {}", self.writing.format.type_name(self.ty))))
    }
}

/// Numbers that common readers of JSON hold exactly stay numbers; larger ones become strings of digits.
fn serialize_int<S: Serializer>(value: i128, out: S) -> Result<S::Ok, S::Error> {
    if let Ok(value) = i64::try_from(value) {
        out.serialize_i64(value)
    } else if let Ok(value) = u64::try_from(value) {
        out.serialize_u64(value)
    } else {
        out.serialize_str(&value.to_string())
    }
}

/// Items of a list, or lists of them for the further dimensions of an array.
struct WriteItems<'a> {
    writing: &'a JsonWriting<'a>,
    item: &'a Type,
    rank: usize,
    value: &'a Value,
    depth: Depth,
}

impl Serialize for WriteItems<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let depth = self.depth.level().map_err(S::Error::custom)?;
        let Value::List(items) = self.value else { return Err(S::Error::custom("the value is no list")) };
        let mut list = out.serialize_seq(Some(items.len()))?;
        for (index, value) in items.iter().enumerate() {
            self.writing.path.borrow_mut().enter_item(index);
            match self.rank {
                1 => list.serialize_element(&Typed {
                    writing: self.writing,
                    ty: self.item,
                    value,
                    depth,
                    is_root: false,
                }),
                _ => list.serialize_element(&WriteItems { value, depth, rank: self.rank - 1, ..*self }),
            }?;
            self.writing.path.borrow_mut().leave();
        }
        list.end()
    }
}

/// The table of shared values.
struct JsonEntries<'a> {
    writing: &'a JsonWriting<'a>,
    depth: Depth,
}

impl Serialize for JsonEntries<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        let entries = self.writing.sharing.entries();
        let mut list = out.serialize_seq(Some(entries.len()))?;
        for (number, (ty, value)) in entries.iter().enumerate() {
            self.writing.path.borrow_mut().enter_shared(number);
            list.serialize_element(&Typed { writing: self.writing, ty, value, depth: self.depth, is_root: false })?;
            self.writing.path.borrow_mut().leave();
        }
        list.end()
    }
}
