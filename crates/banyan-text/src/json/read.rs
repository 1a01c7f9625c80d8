//! JSON to records: a serde seed for each place of the format, so that nothing is built that does not fit it.
//!
//! Scalars are taken as the raw text of the JSON value and parsed here: serde_json would round long integers, and
//! how it hands numbers over depends on features that another crate of the same program may switch on.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{BYTES, REFERENCE, SHARED, field_name};
use crate::path::Depth;
use crate::reading::{Reading, behind, may_be_null};
use crate::scalar::{parse_bytes, parse_char, parse_enum_name, parse_float, parse_float_word, parse_int, shown};
use banyan_ndr::internals::position_of;
use banyan_ndr::{DefId, Type, Value};

/// A place of the format, into which the next JSON value is to be read.
pub(super) struct Destination<'c, 'f, 'de> {
    pub(super) reading: &'c mut Reading<'f>,
    pub(super) ty: &'f Type,
    pub(super) depth: Depth,
    /// Where the root puts the table of shared values; `None` for all other places.
    pub(super) table: Option<&'c mut Vec<&'de RawValue>>,
}

impl<'de> DeserializeSeed<'de> for Destination<'_, '_, 'de> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        match behind(self.ty) {
            Type::Record(_) | Type::Variant(_) | Type::Array { .. } | Type::List { .. } | Type::Sized { .. } => {
                from.deserialize_any(self)
            }
            _ => {
                let raw = <&RawValue as serde::Deserialize>::deserialize(from)?;
                self.scalar(raw.get()).map_err(D::Error::custom)
            }
        }
    }
}

impl<'de> Visitor<'de> for Destination<'_, '_, 'de> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.reading.format.type_name(self.ty))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.null().map_err(E::custom)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        let Type::Variant(id) = behind(self.ty) else {
            return Err(E::custom(format!("a string where the format has {}", self.reading.format.type_name(self.ty))));
        };
        match self.case(*id, text).map_err(E::custom)? {
            (name, None) => Ok(Value::Case(name.to_owned(), None)),
            (name, Some(_)) => Err(E::custom(format!("case {name} needs its payload: {{{name:?}: …}}"))),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Value, A::Error> {
        let dims = match behind(self.ty) {
            Type::Array { dims, .. } => dims.iter().copied().map(Some).collect(),
            Type::Sized { dims, .. } => vec![None; dims.len()],
            Type::List { .. } => vec![None],
            _ => {
                let wanted = self.reading.format.type_name(self.ty);
                return Err(A::Error::custom(format!("a list where the format has {wanted}")));
            }
        };
        let item = behind(self.ty).item().expect("arrays and lists have items");
        ReadItems { reading: self.reading, item, dims: &dims, depth: self.depth }.visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let first = map.next_key::<Cow<'de, str>>()?;
        let first = match first {
            Some(key) if key == SHARED && self.table.is_some() => {
                self.read_table(&mut map)?;
                map.next_key()?
            }
            other => other,
        };
        if first.as_deref() == Some(REFERENCE) {
            let number = map.next_value::<u64>()?;
            let value = self.reading.refer(number, self.ty).map_err(A::Error::custom)?;
            return match self.end(&mut map)? {
                None => Ok(value),
                Some(key) => Err(A::Error::custom(format!("{} beside {REFERENCE}", shown(&key)))),
            };
        }
        match behind(self.ty) {
            Type::Record(id) => self.record(*id, first, &mut map),
            Type::Variant(id) => self.variant(*id, first, &mut map),
            _ => {
                let wanted = self.reading.format.type_name(self.ty);
                Err(A::Error::custom(format!("an object where the format has {wanted}")))
            }
        }
    }
}

impl<'f, 'de> Destination<'_, 'f, 'de> {
    fn null(self) -> Result<Value, String> {
        match may_be_null(self.ty) {
            true => Ok(Value::Null),
            false => Err(format!("null where the format has {}", self.reading.format.type_name(self.ty))),
        }
    }

    fn read_table<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        match &mut self.table {
            Some(table) if table.is_empty() => **table = map.next_value()?,
            _ => return Err(A::Error::custom(format!("{SHARED} stands here twice"))),
        }
        Ok(())
    }

    /// The next key that is not the table of shared values.
    fn end<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<Option<Cow<'de, str>>, A::Error> {
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if self.table.is_none() || key != SHARED {
                return Ok(Some(key));
            }
            self.read_table(map)?;
        }
        Ok(None)
    }

    fn record<A: MapAccess<'de>>(
        mut self,
        id: DefId,
        first: Option<Cow<'de, str>>,
        map: &mut A,
    ) -> Result<Value, A::Error> {
        let depth = self.depth.record().map_err(A::Error::custom)?;
        let record = self.reading.format.record(id);
        let mut values: Vec<Option<Value>> = vec![None; record.fields.len()];
        let mut next = first;
        // Members mostly come in the order of the fields: the search begins behind the last one found.
        let mut expected = 0;
        while let Some(key) = next {
            let name = field_name(&key);
            match name.and_then(|name| position_of(self.reading.format, id, expected, name)) {
                Some(position) if values[position].is_some() => {
                    return Err(A::Error::custom(format!("{} stands here twice", shown(&key))));
                }
                Some(position) => {
                    let field = &record.fields[position];
                    self.reading.path.enter(&field.name);
                    values[position] = Some(map.next_value_seed(self.inner(&field.ty, depth))?);
                    self.reading.path.leave();
                    expected = position + 1;
                }
                None => {
                    self.reading.unknown(&key);
                    map.next_value::<IgnoredAny>()?;
                }
            }
            next = self.end(map)?;
        }
        self.reading.complete(record, values).map_err(A::Error::custom)
    }

    fn variant<A: MapAccess<'de>>(
        mut self,
        id: DefId,
        first: Option<Cow<'de, str>>,
        map: &mut A,
    ) -> Result<Value, A::Error> {
        let depth = self.depth.record().map_err(A::Error::custom)?;
        let Some(key) = first else {
            let variant = self.reading.format.variant(id);
            return Err(A::Error::custom(format!("an empty object, where a case of {} should be", variant.name)));
        };
        let (name, payload) = match self.case(id, &key).map_err(A::Error::custom)? {
            (name, Some(payload)) => (name, payload),
            (name, None) => return Err(A::Error::custom(format!("case {name} has no payload: write {name:?}"))),
        };
        self.reading.path.enter(name);
        let value = map.next_value_seed(self.inner(payload, depth))?;
        self.reading.path.leave();
        match self.end(map)? {
            None => Ok(Value::Case(name.to_owned(), Some(Box::new(value)))),
            Some(key) => Err(A::Error::custom(format!("{} beside case {name}: a variant has one case", shown(&key)))),
        }
    }

    /// The case of a variant that a member's name stands for, and its payload.
    fn case(&self, id: DefId, key: &str) -> Result<(&'f str, Option<&'f Type>), String> {
        let format = self.reading.format;
        let case = field_name(key).and_then(|name| format.case_of(id, name));
        let case = case.ok_or_else(|| format!("{} is no case of {}", shown(key), format.variant(id).name))?;
        Ok((&case.name, case.payload.as_ref()))
    }

    fn inner(&mut self, ty: &'f Type, depth: Depth) -> Destination<'_, 'f, 'de> {
        Destination { reading: self.reading, ty, depth, table: None }
    }

    fn scalar(self, raw: &str) -> Result<Value, String> {
        match raw.as_bytes().first() {
            Some(b'n') => self.null(),
            Some(b'{') => self.object(raw),
            Some(b'"') => {
                let text = serde_json::from_str(raw).map_err(|error| error.to_string())?;
                self.text(text)
            }
            Some(b't' | b'f') if matches!(behind(self.ty), Type::Bool { .. }) => Ok(Value::Bool(raw == "true")),
            Some(b'-' | b'0'..=b'9') => match behind(self.ty) {
                Type::Int { width, signed } => parse_int(raw, *width, *signed),
                Type::Float { width } => parse_float(raw, *width),
                Type::Enum(id) => self.reading.enum_number(raw, *id),
                _ => self.misfit(raw),
            },
            _ => self.misfit(raw),
        }
    }

    fn text(self, text: String) -> Result<Value, String> {
        match behind(self.ty) {
            Type::Str => Ok(Value::Str(text)),
            Type::CStr if text.contains('\0') => Err("a C string cannot contain U+0000".into()),
            Type::CStr => Ok(Value::Str(text)),
            Type::Bytes => parse_bytes(&text).map(Value::Bytes),
            Type::Int { width, signed } => parse_int(&text, *width, *signed),
            Type::Float { width } => parse_float_word(&text, *width),
            Type::Char { width } => parse_char(&text, *width),
            Type::Enum(id) => parse_enum_name(&text, self.reading.format, *id),
            _ => self.misfit(&text),
        }
    }

    /// The objects that stand for scalars: a reference, and a C string that is not UTF-8.
    fn object(self, raw: &str) -> Result<Value, String> {
        let members: std::collections::BTreeMap<String, &RawValue> =
            serde_json::from_str(raw).map_err(|_| self.describe(raw))?;
        match members.first_key_value() {
            Some((key, value)) if members.len() == 1 && key == REFERENCE => {
                let number = value.get().parse().map_err(|_| format!("{} is not a number", shown(value.get())))?;
                self.reading.refer(number, self.ty)
            }
            Some((key, value)) if members.len() == 1 && key == BYTES && matches!(behind(self.ty), Type::CStr) => {
                let text: String = serde_json::from_str(value.get()).map_err(|_| self.describe(raw))?;
                let bytes = parse_bytes(&text)?;
                if bytes.contains(&0) {
                    return Err("a C string cannot contain a zero byte".into());
                }
                Ok(String::from_utf8(bytes).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::Str))
            }
            _ => self.misfit(raw),
        }
    }

    fn misfit(&self, raw: &str) -> Result<Value, String> {
        Err(self.describe(raw))
    }

    fn describe(&self, raw: &str) -> String {
        format!("{} where the format has {}", shown(raw), self.reading.format.type_name(self.ty))
    }
}

/// The items of a list, or the lists of an array's further dimensions.
struct ReadItems<'c, 'f, 'd> {
    reading: &'c mut Reading<'f>,
    item: &'f Type,
    dims: &'d [Option<u32>],
    depth: Depth,
}

impl<'de> DeserializeSeed<'de> for ReadItems<'_, '_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ReadItems<'_, '_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of {}", self.reading.format.type_name(self.item))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let depth = self.depth.level().map_err(A::Error::custom)?;
        let mut items = Vec::new();
        loop {
            self.reading.path.enter_item(items.len());
            let reading = &mut *self.reading;
            let next = match self.dims {
                [_, further @ ..] if !further.is_empty() => {
                    list.next_element_seed(ReadItems { reading, item: self.item, dims: further, depth })?
                }
                _ => list.next_element_seed(Destination { reading, ty: self.item, depth, table: None })?,
            };
            self.reading.path.leave();
            match next {
                Some(value) => items.push(value),
                None => break,
            }
        }
        match self.dims.first() {
            Some(Some(len)) if items.len() as u64 != u64::from(*len) => {
                Err(A::Error::custom(format!("{} items where the format has {len}", items.len())))
            }
            _ => Ok(Value::List(items)),
        }
    }
}
