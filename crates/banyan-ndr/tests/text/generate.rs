//! Random formats and records of them, from a string of choices: an exhausted string chooses what is simplest, so
//! that proptest's shrinking of the string shrinks the record.

use banyan_ndr::*;
use proptest::prelude::*;

pub(crate) fn records() -> impl Strategy<Value = DynRecord> {
    proptest::collection::vec(any::<u8>(), 0..400).prop_map(|bytes| record(&mut Choices { bytes, at: 0 }))
}

pub(crate) struct Choices {
    bytes: Vec<u8>,
    at: usize,
}

impl Choices {
    fn byte(&mut self) -> u8 {
        self.at += 1;
        self.bytes.get(self.at - 1).copied().unwrap_or(0)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn bits(&mut self) -> u128 {
        (0..16).fold(0, |bits, _| bits << 8 | u128::from(self.byte()))
    }
}

fn record(choices: &mut Choices) -> DynRecord {
    let format = format(choices);
    let mut fill = Fill { format: &format, choices, shared: Vec::new() };
    let root = fill.value(&format.root_type(), 0);
    let shared = fill.shared.into_iter().map(|(_, value)| value.expect("filled in")).collect();
    DynRecord { format: format.clone(), root, shared }
}

fn format(choices: &mut Choices) -> Format {
    let kinds: Vec<u8> =
        (0..1 + choices.below(4)).map(|index| if index == 0 { 0 } else { choices.byte() % 4 }).collect();
    let definitions: Vec<Definition> = (0..kinds.len()).map(|index| definition(choices, &kinds, index)).collect();
    let pointer = choices.one(&[PointerWidth::Eight, PointerWidth::Four]);
    let order = choices.one(&[ByteOrder::Little, ByteOrder::Big]);
    Format::laid_out(order, pointer, definitions).expect("generated formats are valid")
}

fn definition(choices: &mut Choices, kinds: &[u8], index: usize) -> Definition {
    let name = format!("{}{}", choices.one(&["Node", "a b", "Ünit", "x"]), choices.below(2));
    match kinds[index] {
        2 => {
            let cases = (0..1 + choices.below(3)).map(|case| Case {
                name: self::name(choices, case),
                tag: 3 * case as u64 + u64::from(choices.byte() % 3),
                payload: (choices.below(3) > 0).then(|| ty(choices, kinds, index, 0)),
            });
            let cases = cases.collect();
            Definition::Variant(VariantDef {
                name,
                size: 0,
                align: 1,
                tag_width: choices.one(&[1, 2, 4, 8]),
                payload_at: 0,
                cases,
            })
        }
        3 => {
            let names = (0..choices.below(3)).map(|case| (self::name(choices, case), 7 * case as i128)).collect();
            let (width, signed) = (choices.one(&[1, 2, 4, 8]), choices.below(2) == 0);
            Definition::Enumeration(EnumerationDef { name, width, signed, names })
        }
        _ => {
            let mut fields = Vec::new();
            for field in 0..choices.below(5) {
                fields.push(self::field(choices, field, kinds, index));
            }
            if choices.below(4) == 1 {
                let position = fields.len() as u16;
                fields.push(Field::new("count", 0, Type::Int { width: 4, signed: false }));
                let dims = choices.one(&[vec![Dim::Field(position)], vec![Dim::Fixed(2), Dim::Field(position)]]);
                let ty = Type::Sized { item: Type::Int { width: 2, signed: true }.into(), dims, order: Order::Row };
                fields.push(Field::new("sized", 0, ty));
            }
            Definition::Record(RecordDef { name, size: 0, align: 1, fields })
        }
    }
}

fn field(choices: &mut Choices, position: usize, kinds: &[u8], index: usize) -> Field {
    let mut field = Field::new(name(choices, position), 0, ty(choices, kinds, index, 0));
    field.unit = (choices.below(4) == 1).then(|| "m/s".to_owned());
    field.description = (choices.below(4) == 1).then(|| "how <fast> & \"far\"\nit goes".to_owned());
    field.meter = choices.one(&[None, None, Some(Meter::Counter), Some(Meter::Gauge)]);
    field
}

fn name(choices: &mut Choices, position: usize) -> String {
    let names = ["a", "$ref", "$shared", "shared-values", "item", "1st", "_x0041_", "x y", "<&>", "naïve"];
    let name = choices.one(&names);
    if position == 0 { name.to_owned() } else { format!("{name}{position}") }
}

fn ty(choices: &mut Choices, kinds: &[u8], index: usize, depth: usize) -> Type {
    let any = choices.below(kinds.len());
    let later = (index + 1 < kinds.len()).then(|| index + 1 + any % (kinds.len() - index - 1));
    let scalars = 9;
    match choices.below(if depth < 3 { 18 } else { scalars }) {
        0 => Type::Int { width: choices.one(&[1, 2, 4, 8, 16]), signed: choices.below(2) == 0 },
        1 => Type::Float { width: choices.one(&[2, 4, 8]) },
        2 => Type::Bool { width: choices.one(&[1, 2, 4, 8]) },
        3 => Type::Char { width: choices.one(&[1, 4]) },
        4 => Type::Str,
        5 => Type::CStr,
        6 => Type::Bytes,
        7 | 8 => later.map_or(Type::Str, |later| reference(kinds, later)),
        9 | 10 => Type::Optional { item: ty(choices, kinds, index, depth + 1).into(), value_at: 0, size: 0 },
        11 => Type::List { item: ty(choices, kinds, index, depth + 1).into() },
        12 => Type::List { item: reference(kinds, any).into() },
        13 => Type::Ref { item: reference(kinds, any).into(), nullable: true, shared: choices.below(2) == 0 },
        14 | 15 => Type::Ref {
            item: ty(choices, kinds, index, depth + 1).into(),
            nullable: choices.below(2) == 0,
            shared: choices.below(2) == 0,
        },
        _ => Type::Array {
            item: ty(choices, kinds, index, depth + 1).into(),
            dims: choices.one(&[vec![1], vec![2, 3], vec![2, 1, 2]]),
            order: choices.one(&[Order::Row, Order::Column]),
        },
    }
}

fn reference(kinds: &[u8], index: usize) -> Type {
    let id = DefId(index as u16);
    match kinds[index] {
        2 => Type::Variant(id),
        3 => Type::Enum(id),
        _ => Type::Record(id),
    }
}

struct Fill<'a> {
    format: &'a Format,
    choices: &'a mut Choices,
    shared: Vec<(Type, Option<Value>)>,
}

impl Fill<'_> {
    fn value(&mut self, ty: &Type, depth: usize) -> Value {
        match ty {
            Type::Int { width, signed } => {
                let shift = 128 - 8 * u32::from(*width);
                let bits = self.choices.bits();
                match signed {
                    true => Value::Int((bits << shift) as i128 >> shift),
                    false => i128::try_from(bits >> shift).map_or(Value::UInt(bits >> shift), Value::Int),
                }
            }
            Type::Float { width: 2 } => Value::F16(self.float() as u16),
            Type::Float { width: 4 } => Value::F32(f32::from_bits(self.float() as u32)),
            Type::Float { .. } => Value::F64(f64::from_bits(self.float() as u64)),
            Type::Bool { .. } => Value::Bool(self.choices.below(2) == 1),
            Type::Char { width: 1 } => Value::Char(self.choices.byte().into()),
            Type::Char { .. } => {
                Value::Char(self.choices.one(&['a', ' ', '\0', '\r', '<', '😀', '\u{ffff}', '\u{85}']))
            }
            Type::Enum(id) => {
                let names = &self.format.enumeration(*id).names;
                let at = self.choices.below(names.len() + 1);
                names.get(at).map_or(Value::Int(101), |(name, _)| Value::Enum(name.clone()))
            }
            Type::Str => Value::Str(self.text()),
            Type::CStr => match self.choices.below(4) {
                0 => Value::Null,
                1 => Value::Bytes(vec![0xff, 0xfe, self.choices.byte() | 1]),
                _ => Value::Str(self.text().replace('\0', "")),
            },
            Type::Bytes => Value::Bytes((0..self.choices.below(5)).map(|_| self.choices.byte()).collect()),
            Type::Record(id) => self.record(*id, depth),
            Type::Variant(id) => {
                let case = self.choices.one(&self.format.variant(*id).cases);
                let payload = case.payload.map(|ty| Box::new(self.value(&ty, depth + 1)));
                Value::Case(case.name, payload)
            }
            Type::Optional { item, .. } => match (depth < 8 && self.choices.below(3) > 0, is_indirect(item)) {
                (false, _) => Value::Null,
                (true, true) => self.entry(item, false, depth),
                (true, false) => self.value(item, depth + 1),
            },
            Type::Ref { nullable: true, .. } if depth > 8 || self.choices.below(3) == 0 => Value::Null,
            Type::Ref { item, shared, .. } if *shared || is_indirect(item) => self.entry(item, *shared, depth),
            Type::Ref { item, .. } => self.value(item, depth + 1),
            Type::List { item } => {
                let len = if depth > 6 { 0 } else { self.choices.below(4) };
                Value::List((0..len).map(|_| self.value(item, depth + 1)).collect())
            }
            Type::Array { item, dims, .. } => self.array(item, dims, depth),
            Type::Sized { .. } => unreachable!("filled in with its record"),
        }
    }

    fn record(&mut self, id: DefId, depth: usize) -> Value {
        let fields = self.format.record(id).fields.clone();
        let count = self.choices.below(3) as u32;
        let values = fields.iter().map(|field| {
            let value = match &field.ty {
                Type::Sized { dims, item, .. } if dims.len() == 1 => self.array(item, &[count], depth),
                Type::Sized { item, .. } => self.array(item, &[2, count], depth),
                _ if field.name == "count" => Value::Int(count.into()),
                ty => self.value(ty, depth + 1),
            };
            (field.name.clone(), value)
        });
        Value::Record(values.collect())
    }

    fn array(&mut self, item: &Type, dims: &[u32], depth: usize) -> Value {
        match dims {
            [] => self.value(item, depth + 1),
            [len, further @ ..] => Value::List((0..*len).map(|_| self.array(item, further, depth)).collect()),
        }
    }

    /// An entry of the table: at times one that is there already, be it in the middle of being filled in.
    fn entry(&mut self, item: &Type, shared: bool, depth: usize) -> Value {
        let known = self.shared.iter().position(|(ty, _)| ty == item);
        if let Some(key) = known.filter(|_| shared && self.choices.below(3) == 0) {
            return Value::Shared(key);
        }
        let key = self.shared.len();
        self.shared.push((item.clone(), None));
        let value = self.value(item, depth + 1);
        self.shared[key].1 = Some(value);
        Value::Shared(key)
    }

    fn float(&mut self) -> u128 {
        match self.choices.below(4) {
            0 => self.choices.one(&[0, 0x7c00, 0xfc00, 0x8000, 0x7e00, 0x7e01, 0x7f80_0000, 0xffc0_0000, 0x7ff8 << 48]),
            _ => self.choices.bits(),
        }
    }

    fn text(&mut self) -> String {
        let parts =
            ["", "a", " ", "\n", "\r\n", "\u{1}", "]]>", "<b>", "&amp;", "\\", "\"", "_x0041_", "😀", "\u{feff}"];
        (0..self.choices.below(4)).map(|_| self.choices.one(&parts)).collect()
    }
}

fn is_indirect(ty: &Type) -> bool {
    matches!(ty, Type::Optional { .. } | Type::Ref { .. } | Type::CStr)
}

/// A record with its floats as bits, so that NaNs compare.
pub(crate) fn comparable(record: &DynRecord) -> (FormatId, Value, Vec<Value>) {
    (record.format.id(), bits(&record.root), record.shared.iter().map(bits).collect())
}

fn bits(value: &Value) -> Value {
    match value {
        Value::F32(value) => Value::UInt(value.to_bits().into()),
        Value::F64(value) => Value::UInt(value.to_bits().into()),
        Value::List(items) => Value::List(items.iter().map(bits).collect()),
        Value::Record(fields) => {
            Value::Record(fields.iter().map(|(name, value)| (name.clone(), bits(value))).collect())
        }
        Value::Case(name, payload) => Value::Case(name.clone(), payload.as_deref().map(|value| Box::new(bits(value)))),
        other => other.clone(),
    }
}
