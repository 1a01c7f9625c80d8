//! Bodies to values and back, in the plainest way. Pointers are followed as if nothing were shared.

use banyan_ndr::wire::{ORIGIN, read_int, read_uint, write_uint};
use banyan_ndr::{Dim, Format, Order, RecordDef, Type, Value};

/// Reads a body that is known to be valid.
pub(crate) fn read(format: &Format, body: &[u8]) -> Value {
    Reader { format, body }.value(&format.root_type(), 0, None)
}

struct Reader<'a> {
    format: &'a Format,
    body: &'a [u8],
}

impl Reader<'_> {
    fn uint(&self, at: usize, width: usize) -> u128 {
        read_uint(&self.body[at..at + width], self.format.order())
    }

    fn pointer(&self, at: usize) -> usize {
        self.uint(at, self.format.pointer().bytes()) as usize
    }

    fn bytes(&self, at: usize) -> Vec<u8> {
        let count = self.pointer(at + self.format.pointer().bytes());
        if count == 0 { Vec::new() } else { self.body[self.pointer(at) - ORIGIN..][..count].to_vec() }
    }

    fn value(&self, ty: &Type, at: usize, record: Option<(&RecordDef, usize)>) -> Value {
        match ty {
            Type::Int { width, signed: true } => {
                Value::Int(read_int(&self.body[at..at + usize::from(*width)], self.format.order()))
            }
            Type::Int { width, signed: false } => {
                let value = self.uint(at, usize::from(*width));
                i128::try_from(value).map_or(Value::UInt(value), Value::Int)
            }
            Type::Float { width: 2 } => Value::F16(self.uint(at, 2) as u16),
            Type::Float { width: 4 } => Value::F32(f32::from_bits(self.uint(at, 4) as u32)),
            Type::Float { .. } => Value::F64(f64::from_bits(self.uint(at, 8) as u64)),
            Type::Bool { width } => Value::Bool(self.uint(at, usize::from(*width)) != 0),
            Type::Char { width } => {
                Value::Char(char::from_u32(self.uint(at, usize::from(*width)) as u32).expect("a character"))
            }
            Type::Enum(id) => {
                let enumeration = self.format.enumeration(*id);
                let bytes = &self.body[at..at + usize::from(enumeration.width)];
                let value = read_int(bytes, self.format.order());
                Value::Enum(self.format.name_of(*id, value).expect("a name").to_owned())
            }
            Type::Str => Value::Str(String::from_utf8(self.bytes(at)).expect("UTF-8")),
            Type::Bytes => Value::Bytes(self.bytes(at)),
            Type::CStr => match self.pointer(at) {
                0 => Value::Null,
                target => {
                    let bytes = self.body[target - ORIGIN..].split(|byte| *byte == 0).next().unwrap().to_vec();
                    String::from_utf8(bytes).map_or_else(|bad| Value::Bytes(bad.into_bytes()), Value::Str)
                }
            },
            Type::Record(id) => {
                let record = self.format.record(*id);
                let field = |field: &banyan_ndr::Field| {
                    (field.name.clone(), self.value(&field.ty, at + field.offset as usize, Some((record, at))))
                };
                Value::Record(record.fields.iter().map(field).collect())
            }
            Type::Variant(id) => {
                let variant = self.format.variant(*id);
                let tag = self.uint(at, usize::from(variant.tag_width)) as u64;
                let case = variant.cases.iter().find(|case| case.tag == tag).expect("a case");
                let payload = case.payload.as_ref();
                let payload = payload.map(|ty| Box::new(self.value(ty, at + variant.payload_at as usize, None)));
                Value::Case(case.name.clone(), payload)
            }
            Type::Optional { item, value_at, .. } => match self.body[at] {
                0 => Value::Null,
                _ => self.value(item, at + *value_at as usize, None),
            },
            Type::Ref { item, .. } => match self.pointer(at) {
                0 => Value::Null,
                target => self.value(item, target - ORIGIN, None),
            },
            Type::Array { item, dims, order } => {
                let lengths: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
                self.array(item, &lengths, *order, at)
            }
            Type::List { item } => {
                let count = self.pointer(at + self.format.pointer().bytes());
                let target = if count == 0 { 0 } else { self.pointer(at) - ORIGIN };
                self.array(item, &[count], Order::Row, target)
            }
            Type::Sized { item, dims, order } => {
                let (record, base) = record.expect("a field of a record");
                let length = |dim: &Dim| match dim {
                    Dim::Fixed(length) => *length as usize,
                    Dim::Field(number) => {
                        let field = &record.fields[usize::from(*number)];
                        self.uint(base + field.offset as usize, self.format.size_of(&field.ty)) as usize
                    }
                };
                let lengths: Vec<usize> = dims.iter().map(length).collect();
                let empty = lengths.contains(&0);
                let target = if empty { 0 } else { self.pointer(at) - ORIGIN };
                self.array(item, if empty { &[0] } else { &lengths }, *order, target)
            }
        }
    }

    fn array(&self, item: &Type, lengths: &[usize], order: Order, at: usize) -> Value {
        let size = self.format.size_of(item);
        nested(lengths, &mut Vec::new(), &mut |indices| {
            self.value(item, at + number(indices, lengths, order) * size, None)
        })
    }
}

/// The number of an element in memory.
pub(crate) fn number(indices: &[usize], lengths: &[usize], order: Order) -> usize {
    let mut pairs: Vec<(usize, usize)> = indices.iter().copied().zip(lengths.iter().copied()).collect();
    if order == Order::Column {
        pairs.reverse();
    }
    pairs.into_iter().fold(0, |number, (index, length)| number * length + index)
}

/// Nested lists from a function of the indices.
pub(crate) fn nested(lengths: &[usize], indices: &mut Vec<usize>, element: &mut dyn FnMut(&[usize]) -> Value) -> Value {
    let Some(length) = lengths.get(indices.len()) else { return element(indices) };
    let mut items = Vec::new();
    for index in 0..*length {
        indices.push(index);
        items.push(nested(lengths, indices, element));
        indices.pop();
    }
    Value::List(items)
}

/// Writes a value that fits the format.
pub(crate) fn write(format: &Format, value: &Value) -> Vec<u8> {
    let mut writer = Writer { format, body: vec![0; format.size()] };
    writer.value(&format.root_type(), value, 0);
    writer.body
}

struct Writer<'a> {
    format: &'a Format,
    body: Vec<u8>,
}

impl Writer<'_> {
    fn uint(&mut self, at: usize, width: usize, value: u128) {
        let order = self.format.order();
        write_uint(&mut self.body[at..at + width], value, order);
    }

    fn pointer(&mut self, at: usize, target: usize) {
        self.uint(at, self.format.pointer().bytes(), (target + ORIGIN) as u128);
    }

    fn count(&mut self, at: usize, count: usize) {
        let width = self.format.pointer().bytes();
        self.uint(at + width, width, count as u128);
    }

    fn reserve(&mut self, len: usize, align: usize) -> usize {
        let at = self.body.len().next_multiple_of(align);
        self.body.resize(at + len, 0);
        at
    }

    fn bytes(&mut self, at: usize, bytes: &[u8]) {
        if !bytes.is_empty() {
            let target = self.reserve(bytes.len(), 1);
            self.body[target..].copy_from_slice(bytes);
            self.pointer(at, target);
            self.count(at, bytes.len());
        }
    }

    fn value(&mut self, ty: &Type, value: &Value, at: usize) {
        let width = |ty: &Type| self.format.size_of(ty);
        match (ty, value) {
            (Type::Int { .. }, Value::Int(value)) => self.uint(at, width(ty), *value as u128),
            (Type::Int { .. }, Value::UInt(value)) => self.uint(at, width(ty), *value),
            (Type::Float { .. }, Value::F16(bits)) => self.uint(at, 2, u128::from(*bits)),
            (Type::Float { .. }, Value::F32(value)) => self.uint(at, 4, u128::from(value.to_bits())),
            (Type::Float { .. }, Value::F64(value)) => self.uint(at, 8, u128::from(value.to_bits())),
            (Type::Bool { .. }, Value::Bool(value)) => self.uint(at, width(ty), u128::from(*value)),
            (Type::Char { .. }, Value::Char(value)) => self.uint(at, width(ty), u128::from(u32::from(*value))),
            (Type::Enum(id), Value::Enum(name)) => {
                let value = self.format.value_of(*id, name).expect("a value");
                self.uint(at, width(ty), value as u128);
            }
            (Type::Str, Value::Str(text)) => self.bytes(at, text.as_bytes()),
            (Type::Bytes, Value::Bytes(bytes)) => self.bytes(at, bytes),
            (Type::CStr, Value::Str(text)) => {
                let target = self.reserve(text.len() + 1, 1);
                self.body[target..target + text.len()].copy_from_slice(text.as_bytes());
                self.pointer(at, target);
            }
            (Type::CStr | Type::Optional { .. } | Type::Ref { .. }, Value::Null) => {}
            (Type::Record(id), Value::Record(values)) => {
                for (name, value) in values {
                    let field = self.format.field_of(*id, name).expect("a field").1.clone();
                    self.value(&field.ty, value, at + field.offset as usize);
                }
            }
            (Type::Variant(id), Value::Case(name, payload)) => {
                let variant = self.format.variant(*id).clone();
                let case = variant.cases.iter().find(|case| case.name == *name).expect("a case");
                self.uint(at, usize::from(variant.tag_width), u128::from(case.tag));
                if let (Some(ty), Some(value)) = (&case.payload, payload) {
                    self.value(ty, value, at + variant.payload_at as usize);
                }
            }
            (Type::Optional { item, value_at, .. }, value) => {
                self.body[at] = 1;
                self.value(item, value, at + *value_at as usize);
            }
            (Type::Ref { item, .. }, value) => {
                let target = self.reserve(self.format.size_of(item), self.format.align_of(item));
                self.pointer(at, target);
                self.value(item, value, target);
            }
            (Type::Array { item, dims, order }, value) => {
                let lengths: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
                self.array(item, &lengths, *order, value, at);
            }
            (Type::List { item }, Value::List(items)) => {
                if !items.is_empty() {
                    let target = self.reserve(items.len() * self.format.size_of(item), self.format.align_of(item));
                    self.pointer(at, target);
                    self.count(at, items.len());
                    self.array(item, &[items.len()], Order::Row, value, target);
                }
            }
            (Type::Sized { item, dims, order }, value) => {
                let lengths = lengths(value, dims.len());
                if !lengths.contains(&0) {
                    let count = lengths.iter().product::<usize>();
                    let target = self.reserve(count * self.format.size_of(item), self.format.align_of(item));
                    self.pointer(at, target);
                    self.array(item, &lengths, *order, value, target);
                }
            }
            _ => panic!("{value:?} is no {ty:?}"),
        }
    }

    fn array(&mut self, item: &Type, lengths: &[usize], order: Order, value: &Value, at: usize) {
        let size = self.format.size_of(item);
        nested(lengths, &mut Vec::new(), &mut |indices| {
            let element = indices.iter().fold(value, |value, index| match value {
                Value::List(items) => &items[*index],
                other => other,
            });
            self.value(item, element, at + number(indices, lengths, order) * size);
            Value::Null
        });
    }
}

/// The lengths of nested lists; all 0 behind an empty one.
pub(crate) fn lengths(value: &Value, rank: usize) -> Vec<usize> {
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
