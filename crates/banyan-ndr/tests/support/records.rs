//! Random formats and records of them: every kind of type, names that need care, recursion, sharing and cycles.

use banyan_ndr::*;
use proptest::prelude::*;

use super::Choices;

/// What the records are to be like.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    /// Whether there are gaps between fields; the layout is the natural one otherwise.
    pub(crate) gaps: bool,
    /// Whether values may stand in the table of shared ones.
    pub(crate) table: bool,
}

pub(crate) fn records_of(recipe: Recipe) -> impl Strategy<Value = DynRecord> {
    proptest::collection::vec(any::<u8>(), 0..400).prop_map(move |bytes| record(recipe, &mut Choices::new(&bytes)))
}

fn record(recipe: Recipe, choices: &mut Choices<'_>) -> DynRecord {
    let format = format(recipe, choices);
    let ty = format.root_type();
    // The root is an entry of the table if a pointer leads to it.
    let root = Entry { ty: ty.clone(), shared: true, value: None };
    let mut fill = Fill { format: &format, choices, table: vec![root] };
    let root = fill.value(&ty, 0);
    fill.table[0].value = Some(root);
    let shared: Vec<Value> = fill.table.into_iter().map(|entry| entry.value.expect("filled in")).collect();
    let mut found = false;
    let mut look = |value: &Value| found |= *value == Value::Shared(0);
    shared.iter().for_each(|value| visit(value, &mut look));
    if found {
        return DynRecord { format: format.clone(), root: Value::Shared(0), shared };
    }
    let lower = |value: Value| match value {
        Value::Shared(key) => Value::Shared(key - 1),
        other => other,
    };
    let mut shared = shared.into_iter().map(|value| map(value, &lower));
    let root = shared.next().expect("the root is the first");
    DynRecord { format: format.clone(), root, shared: shared.collect() }
}

fn format(recipe: Recipe, choices: &mut Choices<'_>) -> Format {
    let kinds: Vec<u8> =
        (0..1 + choices.below(4)).map(|index| if index == 0 { 0 } else { choices.byte() % 4 }).collect();
    let mut definitions: Vec<Definition> =
        (0..kinds.len()).map(|index| definition(recipe, choices, &kinds, index)).collect();
    let pointer = choices.of(&[PointerWidth::Eight, PointerWidth::Four]);
    let order = choices.of(&[ByteOrder::Little, ByteOrder::Big]);
    if !recipe.gaps {
        return Format::laid_out(order, pointer, definitions).expect("generated formats are valid");
    }
    for definition in &mut definitions {
        add_stuffing(definition, choices);
    }
    let stuffed = Format::laid_out(order, pointer, definitions).expect("generated formats are valid");
    let mut definitions = stuffed.definitions().to_vec();
    definitions.iter_mut().for_each(drop_stuffing);
    Format::new(order, pointer, definitions).expect("a format with gaps is valid")
}

const STUFFING: &str = "stuffing ";

/// Puts fields between the fields of a record: gaps, once they are taken away.
fn add_stuffing(definition: &mut Definition, choices: &mut Choices<'_>) {
    let Definition::Record(record) = definition else { return };
    let mut fields = Vec::new();
    for field in std::mem::take(&mut record.fields) {
        if choices.once_in(3) {
            let ty = Type::Int { width: choices.of(&[1, 2, 4, 8]), signed: false };
            fields.push(Field::new(format!("{STUFFING}{}", fields.len()), 0, ty));
        }
        fields.push(field);
    }
    let places: Vec<usize> = (0..fields.len()).filter(|at| !is_stuffing(&fields[*at])).collect();
    renumber(&mut fields, |number| places[number]);
    record.fields = fields;
}

fn drop_stuffing(definition: &mut Definition) {
    let Definition::Record(record) = definition else { return };
    let before: Vec<bool> = record.fields.iter().map(is_stuffing).collect();
    record.fields.retain(|field| !is_stuffing(field));
    renumber(&mut record.fields, |number| number - before[..number].iter().filter(|stuffing| **stuffing).count());
}

fn is_stuffing(field: &Field) -> bool {
    field.name.starts_with(STUFFING)
}

fn renumber(fields: &mut [Field], place: impl Fn(usize) -> usize) {
    for field in fields {
        let Type::Sized { dims, .. } = &mut field.ty else { continue };
        for dim in dims {
            if let Dim::Field(number) = dim {
                *number = place(usize::from(*number)) as u16;
            }
        }
    }
}

fn definition(recipe: Recipe, choices: &mut Choices<'_>, kinds: &[u8], index: usize) -> Definition {
    let name = format!("{}{}", choices.of(&["Node", "a b", "Ünit", "x"]), choices.below(2));
    match kinds[index] {
        2 => {
            let cases = (0..1 + choices.below(3)).map(|case| Case {
                name: self::name(choices, case),
                tag: 3 * case as u64 + u64::from(choices.byte() % 3),
                payload: (choices.below(3) > 0).then(|| ty(recipe, choices, kinds, index, 0)),
            });
            let cases = cases.collect();
            Definition::Variant(VariantDef {
                name,
                size: 0,
                align: 1,
                tag_width: choices.of(&[1, 2, 4, 8]),
                payload_at: 0,
                cases,
            })
        }
        3 => {
            let (width, signed) = (choices.of(&[1, 2, 4, 8]), choices.below(2) == 0);
            let first = if signed { -7 } else { 0 };
            let names =
                (0..choices.below(3)).map(|case| (self::name(choices, case), first + 7 * case as i128)).collect();
            Definition::Enumeration(EnumerationDef { name, width, signed, names })
        }
        _ => {
            let mut fields = Vec::new();
            for field in 0..choices.below(5) {
                fields.push(self::field(recipe, choices, field, kinds, index));
            }
            if choices.once_in(3) {
                fields.extend(sized(recipe, choices, fields.len() as u16, kinds, index));
            }
            Definition::Record(RecordDef { name, size: 0, align: 1, fields })
        }
    }
}

/// An array and the fields that hold its lengths, to stand from `first` on.
fn sized(recipe: Recipe, choices: &mut Choices<'_>, first: u16, kinds: &[u8], index: usize) -> [Field; 3] {
    let rows = Type::Int { width: choices.of(&[1, 2, 4, 8]), signed: choices.below(2) == 0 };
    let columns = Type::Int { width: 2, signed: false };
    let (by_rows, by_columns) = (Dim::Field(first), Dim::Field(first + 1));
    let dims = match choices.below(3) {
        0 => vec![by_rows],
        1 => vec![Dim::Fixed(2), by_rows],
        _ => vec![by_rows, Dim::Fixed(2), by_columns],
    };
    let item = ty(recipe, choices, kinds, index, 2).into();
    let ty = Type::Sized { item, dims, order: choices.of(&[Order::Row, Order::Column]) };
    [Field::new("rows", 0, rows), Field::new("columns", 0, columns), Field::new("sized", 0, ty)]
}

fn field(recipe: Recipe, choices: &mut Choices<'_>, position: usize, kinds: &[u8], index: usize) -> Field {
    let mut field = Field::new(name(choices, position), 0, ty(recipe, choices, kinds, index, 0));
    field.unit = (choices.below(4) == 1).then(|| "m/s".to_owned());
    field.description = (choices.below(4) == 1).then(|| "how <fast> & \"far\"\nit goes".to_owned());
    field.meter = choices.of(&[None, None, Some(Meter::Counter), Some(Meter::Gauge)]);
    field
}

fn name(choices: &mut Choices<'_>, position: usize) -> String {
    let names = ["a", "$ref", "$shared", "shared-values", "item", "1st", "_x0041_", "x y", "<&>", "naïve"];
    let name = choices.of(&names);
    if position == 0 { name.to_owned() } else { format!("{name}{position}") }
}

fn ty(recipe: Recipe, choices: &mut Choices<'_>, kinds: &[u8], index: usize, depth: usize) -> Type {
    let any = choices.below(kinds.len());
    let later = (index + 1 < kinds.len()).then(|| index + 1 + any % (kinds.len() - index - 1));
    let scalars = 9;
    match choices.below(if depth < 3 { 18 } else { scalars }) {
        0 => Type::Int { width: choices.of(&[1, 2, 4, 8, 16]), signed: choices.below(2) == 0 },
        1 => Type::Float { width: choices.of(&[2, 4, 8]) },
        2 => Type::Bool { width: choices.of(&[1, 2, 4, 8]) },
        3 => Type::Char { width: choices.of(&[1, 4]) },
        4 => Type::Str,
        5 => Type::CStr,
        6 => Type::Bytes,
        7 | 8 => later.map_or(Type::Str, |later| reference(kinds, later)),
        9 | 10 => {
            let item = target(recipe, ty(recipe, choices, kinds, index, depth + 1));
            Type::Optional { item: item.into(), value_at: 0, size: 0 }
        }
        11 => Type::List { item: ty(recipe, choices, kinds, index, depth + 1).into() },
        12 => Type::List { item: reference(kinds, any).into() },
        13 => Type::Ref {
            item: reference(kinds, any).into(),
            nullable: true,
            shared: recipe.table && choices.below(2) == 0,
        },
        14 | 15 => Type::Ref {
            item: target(recipe, ty(recipe, choices, kinds, index, depth + 1)).into(),
            nullable: choices.below(2) == 0,
            shared: recipe.table && choices.below(2) == 0,
        },
        _ => Type::Array {
            item: ty(recipe, choices, kinds, index, depth + 1).into(),
            dims: [vec![1], vec![2, 3], vec![2, 1, 2]][choices.below(3)].clone(),
            order: choices.of(&[Order::Row, Order::Column]),
        },
    }
}

/// What may lie behind a pointer or in an optional: pointers in pointers need the table.
fn target(recipe: Recipe, ty: Type) -> Type {
    if is_indirect(&ty) && !recipe.table { Type::Bytes } else { ty }
}

fn reference(kinds: &[u8], index: usize) -> Type {
    let id = DefId(index as u16);
    match kinds[index] {
        2 => Type::Variant(id),
        3 => Type::Enum(id),
        _ => Type::Record(id),
    }
}

struct Fill<'a, 'c> {
    format: &'a Format,
    choices: &'a mut Choices<'c>,
    table: Vec<Entry>,
}

/// An entry of the table of shared values.
struct Entry {
    ty: Type,
    /// Whether shared pointers lead to it. One that stands in the place of a value can be used there only.
    shared: bool,
    /// None while it is being filled in.
    value: Option<Value>,
}

impl Fill<'_, '_> {
    fn value(&mut self, ty: &Type, depth: usize) -> Value {
        match ty {
            Type::Int { width, signed } => {
                let shift = 128 - 8 * u32::from(*width);
                let bits = self.choices.bits(16);
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
            Type::Char { .. } => Value::Char(self.choices.of(&['a', ' ', '\0', '\r', '<', '😀', '\u{ffff}', '\u{85}'])),
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
                let cases = &self.format.variant(*id).cases;
                let case = &cases[self.choices.below(cases.len())];
                let payload = case.payload.as_ref().map(|ty| Box::new(self.value(ty, depth + 1)));
                Value::Case(case.name.clone(), payload)
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
        let most = if depth > 6 { 1 } else { 3 };
        let (rows, columns) = (self.choices.below(most) as u32, self.choices.below(most) as u32);
        let values = fields.iter().map(|field| {
            let value = match &field.ty {
                Type::Sized { dims, item, .. } => {
                    let lengths: &[u32] = match dims.len() {
                        1 => &[rows],
                        2 => &[2, rows],
                        _ => &[rows, 2, columns],
                    };
                    self.array(item, lengths, depth)
                }
                _ if field.name == "rows" => Value::Int(rows.into()),
                _ if field.name == "columns" => Value::Int(columns.into()),
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

    /// An entry of the table: for shared pointers at times one that is there already, be it in the middle of being
    /// filled in.
    fn entry(&mut self, item: &Type, shared: bool, depth: usize) -> Value {
        let known = self.table.iter().position(|entry| shared && entry.shared && entry.ty == *item);
        if let Some(key) = known.filter(|_| self.choices.below(3) == 0) {
            return Value::Shared(key);
        }
        let key = self.table.len();
        self.table.push(Entry { ty: item.clone(), shared, value: None });
        let value = self.value(item, depth + 1);
        self.table[key].value = Some(value);
        Value::Shared(key)
    }

    fn float(&mut self) -> u128 {
        match self.choices.below(4) {
            0 => self.choices.of(&[0, 0x7c00, 0xfc00, 0x8000, 0x7e00, 0x7e01, 0x7f80_0000, 0xffc0_0000, 0x7ff8 << 48]),
            _ => self.choices.bits(16),
        }
    }

    fn text(&mut self) -> String {
        let parts =
            ["", "a", " ", "\n", "\r\n", "\u{1}", "]]>", "<b>", "&amp;", "\\", "\"", "_x0041_", "😀", "\u{feff}"];
        (0..self.choices.below(4)).map(|_| self.choices.of(&parts)).collect()
    }
}

fn is_indirect(ty: &Type) -> bool {
    matches!(ty, Type::Optional { .. } | Type::Ref { .. } | Type::CStr)
}

/// A record with its floats as bits, so that NaNs compare.
pub(crate) fn comparable(record: &DynRecord) -> (FormatId, Value, Vec<Value>) {
    let bits = |value: Value| match value {
        Value::F32(value) => Value::UInt(value.to_bits().into()),
        Value::F64(value) => Value::UInt(value.to_bits().into()),
        other => other,
    };
    let of = |value: &Value| map(value.clone(), &bits);
    (record.format.id(), of(&record.root), record.shared.iter().map(of).collect())
}

/// Changes what has no parts.
fn map(value: Value, change: &impl Fn(Value) -> Value) -> Value {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(|item| map(item, change)).collect()),
        Value::Record(fields) => {
            Value::Record(fields.into_iter().map(|(name, value)| (name, map(value, change))).collect())
        }
        Value::Case(name, payload) => Value::Case(name, payload.map(|value| Box::new(map(*value, change)))),
        other => change(other),
    }
}

fn visit(value: &Value, look: &mut impl FnMut(&Value)) {
    look(value);
    match value {
        Value::List(items) => items.iter().for_each(|item| visit(item, look)),
        Value::Record(fields) => fields.iter().for_each(|(_, value)| visit(value, look)),
        Value::Case(_, Some(payload)) => visit(payload, look),
        _ => {}
    }
}
