//! Random formats and random values of them, from a seed.

use banyan_ndr::{
    ByteOrder, Case, DefId, Definition, Dim, DynRecord, EnumerationDef, Field, Format, Order, PointerWidth, RecordDef,
    Type, Value, VariantDef,
};

/// A small generator of numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn chance(&mut self) -> bool {
        self.below(2) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A format: a root record, an inner record that may refer to itself and to the root, a variant, an enumeration.
pub(crate) fn format(random: &mut Random) -> Format {
    let order = random.pick(&[ByteOrder::Little, ByteOrder::Big]);
    let pointer = random.pick(&[PointerWidth::Four, PointerWidth::Eight]);
    let enumeration = Definition::Enumeration(EnumerationDef {
        name: "colour".into(),
        width: random.pick(&[1, 2, 4, 8]),
        signed: true,
        names: vec![("red".into(), -3), ("green".into(), 0), ("blue".into(), 100)],
    });
    // Each may contain in its own place only those made before it.
    let mut maker = Maker { random, pointer, made: vec![(3, enumeration)] };
    let variant = maker.variant();
    maker.made.push((2, variant));
    let inner = maker.record("inner", 3);
    maker.made.push((1, inner));
    let root = maker.record("root", 6);
    maker.made.push((0, root));
    maker.made.sort_by_key(|(id, _)| *id);
    let definitions = maker.made.into_iter().map(|(_, definition)| definition).collect();
    Format::new(order, pointer, definitions).expect("generated formats are valid")
}

struct Maker<'r> {
    random: &'r mut Random,
    pointer: PointerWidth,
    made: Vec<(u16, Definition)>,
}

impl Maker<'_> {
    fn size_align(&self, ty: &Type) -> (u32, u32) {
        let pointer = self.pointer.bytes() as u32;
        match ty {
            Type::Int { width, .. } | Type::Float { width } | Type::Bool { width } | Type::Char { width } => {
                (u32::from(*width), u32::from(*width))
            }
            Type::Enum(id) | Type::Record(id) | Type::Variant(id) => {
                let (_, definition) = self.made.iter().find(|(other, _)| *other == id.0).expect("made before");
                (definition.size(), definition.align())
            }
            Type::CStr | Type::Ref { .. } | Type::Sized { .. } => (pointer, pointer),
            Type::Str | Type::Bytes | Type::List { .. } => (2 * pointer, pointer),
            Type::Optional { item, size, .. } => (*size, self.size_align(item).1),
            Type::Array { item, dims, .. } => {
                let (size, align) = self.size_align(item);
                (size * dims.iter().product::<u32>(), align)
            }
        }
    }

    fn ty(&mut self, depth: u32, behind: bool) -> Type {
        let compound = if depth == 0 { 9 } else { 16 };
        match self.random.below(compound) {
            0 | 1 => Type::Int { width: self.random.pick(&[1, 2, 4, 8, 16]), signed: self.random.chance() },
            2 => Type::Float { width: self.random.pick(&[2, 4, 8]) },
            3 => Type::Bool { width: self.random.pick(&[1, 2, 4, 8]) },
            4 => Type::Char { width: self.random.pick(&[1, 4]) },
            5 => Type::Enum(DefId(3)),
            6 => Type::Str,
            7 => Type::CStr,
            8 => Type::Bytes,
            9 => self.optional(depth, behind),
            10 => Type::Ref {
                item: self.ty(depth - 1, true).into(),
                nullable: self.random.chance(),
                shared: self.random.chance(),
            },
            11 => Type::Array {
                item: self.ty(depth - 1, behind).into(),
                dims: (0..=self.random.below(2)).map(|_| 1 + self.random.below(3) as u32).collect(),
                order: self.random.pick(&[Order::Row, Order::Column]),
            },
            12 | 13 => Type::List { item: self.ty(depth - 1, true).into() },
            _ => self.definition(behind),
        }
    }

    /// A record or variant; behind a reference any, in place one of those made before. Pointers to what may contain
    /// itself are made nullable elsewhere, so that finite values exist.
    fn definition(&mut self, behind: bool) -> Type {
        let has = |id: u16| self.made.iter().any(|(other, _)| *other == id);
        match (behind, has(1), has(2)) {
            (_, true, _) => Type::Record(DefId(1)),
            (_, _, true) => Type::Variant(DefId(2)),
            _ => Type::Str,
        }
    }

    fn optional(&mut self, depth: u32, behind: bool) -> Type {
        let item = self.ty(depth - 1, behind);
        let (size, align) = self.size_align(&item);
        let size = (align + size).next_multiple_of(align);
        Type::Optional { item: item.into(), value_at: align, size }
    }

    fn variant(&mut self) -> Definition {
        let tag_width = self.random.pick(&[1, 2, 4, 8]);
        let payloads = [None, Some(self.ty(2, false)), Some(self.ty(1, false))];
        let places: Vec<(u32, u32)> = payloads.iter().flatten().map(|ty| self.size_align(ty)).collect();
        let align = places.iter().map(|place| place.1).max().unwrap().max(u32::from(tag_width));
        let payload_at = align;
        let size = (payload_at + places.iter().map(|place| place.0).max().unwrap()).next_multiple_of(align);
        let names = ["nothing", "something", "other"];
        let cases = names.iter().zip(payloads).enumerate();
        let cases =
            cases.map(|(tag, (name, payload))| Case { name: (*name).into(), tag: 7 * tag as u64, payload }).collect();
        Definition::Variant(VariantDef { name: "choice".into(), size, align, tag_width, payload_at, cases })
    }

    fn record(&mut self, name: &str, count: u64) -> Definition {
        let mut types: Vec<Type> = (0..=self.random.below(count)).map(|_| self.ty(3, false)).collect();
        types.push(Type::Int { width: self.random.pick(&[1, 4, 8]), signed: self.random.chance() });
        types.push(Type::Int { width: 2, signed: false });
        let (rows, columns) = (types.len() as u16 - 2, types.len() as u16 - 1);
        types.push(Type::Sized {
            item: self.ty(1, true).into(),
            dims: vec![Dim::Field(rows), Dim::Fixed(2), Dim::Field(columns)],
            order: self.random.pick(&[Order::Row, Order::Column]),
        });
        // To itself, to the root, in a list of its own kind: the recursive shapes.
        let target = if name == "inner" { self.random.pick(&[0, 1]) } else { 0 };
        let item = Box::new(Type::Record(DefId(target)));
        types.push(match self.random.below(3) {
            0 => Type::Ref { item, nullable: true, shared: true },
            1 => Type::Ref { item, nullable: true, shared: false },
            _ => Type::List { item },
        });
        let mut at = 0u32;
        let mut align = 1;
        let mut fields = Vec::new();
        for (index, ty) in types.into_iter().enumerate() {
            let (size, field_align) = self.size_align(&ty);
            at = at.next_multiple_of(field_align) + field_align * self.random.below(2) as u32;
            align = align.max(field_align);
            fields.push(Field::new(format!("{name}_{index}"), at, ty));
            at += size;
        }
        let size = at.next_multiple_of(align);
        Definition::Record(RecordDef { name: name.into(), size, align, fields })
    }
}

/// A record with random values, set field by field.
pub(crate) fn record(random: &mut Random, format: &Format) -> DynRecord {
    let mut record = DynRecord::new(format);
    for field in format.fields() {
        let is_length = matches!(field.ty, Type::Int { .. }) && is_length(format.fields(), &field.name);
        if !is_length {
            let value = value(random, format, &field.ty, 2);
            record.set(&field.name, value).unwrap_or_else(|error| panic!("{error}\n{format}"));
        }
    }
    if random.chance() {
        share(random, &mut record);
    }
    record
}

/// Lets a shared pointer of the root lead to the root itself.
fn share(_random: &mut Random, record: &mut DynRecord) {
    let format = record.format.clone();
    for field in format.fields() {
        if let (Type::Ref { item, shared: true, .. }, Value::Shared(root)) = (&field.ty, &record.root)
            && **item == format.root_type()
        {
            let root = Value::Shared(*root);
            record.set(&field.name, root).expect("the root is of the type the pointer leads to");
        }
    }
}

fn is_length(fields: &[Field], name: &str) -> bool {
    fields.iter().any(|field| match &field.ty {
        Type::Sized { dims, .. } => {
            dims.iter().any(|dim| matches!(dim, Dim::Field(index) if fields[usize::from(*index)].name == name))
        }
        _ => false,
    })
}

fn value(random: &mut Random, format: &Format, ty: &Type, depth: u32) -> Value {
    let wide = u128::from(random.next()) << 64 | u128::from(random.next());
    match ty {
        Type::Int { width, signed: false } => Value::from(wide >> (128 - 8 * u32::from(*width))),
        Type::Int { width, signed: true } => Value::Int(wide as i128 >> (128 - 8 * u32::from(*width))),
        Type::Float { width: 2 } => Value::F16(wide as u16),
        Type::Float { width: 4 } => Value::F32(f32::from_bits(wide as u32)),
        Type::Float { .. } => Value::F64(f64::from_bits(wide as u64)),
        Type::Bool { .. } => Value::Bool(random.chance()),
        Type::Char { width: 1 } => Value::Char(char::from(wide as u8)),
        Type::Char { .. } => Value::Char(random.pick(&['a', 'ß', '→', '\u{10ffff}', '\0'])),
        Type::Enum(_) => Value::Enum(random.pick(&["red", "green", "blue"]).into()),
        Type::Str => Value::from(random.pick(&["", "a", "größer", "a longer text\n\0"])),
        Type::CStr => match random.below(3) {
            0 => Value::Null,
            1 => Value::from(random.pick(&["", "text"])),
            _ => Value::Bytes(vec![0xff, 0xfe]),
        },
        Type::Bytes => Value::Bytes((0..random.below(5)).map(|_| wide as u8).collect()),
        Type::Optional { item, .. } => match random.chance() {
            true => Value::Null,
            false => value(random, format, item, depth),
        },
        Type::Ref { item, nullable, .. } => match *nullable && (depth == 0 || random.below(3) == 0) {
            true => Value::Null,
            false => value(random, format, item, depth.saturating_sub(1)),
        },
        Type::Array { item, dims, .. } => {
            let dims: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
            nested(random, format, item, &dims, depth)
        }
        Type::List { item } => {
            let count = if depth == 0 { 0 } else { random.below(3) as usize };
            nested(random, format, item, &[count], depth.saturating_sub(1))
        }
        Type::Sized { item, dims, .. } => {
            let dims: Vec<usize> = dims
                .iter()
                .map(|dim| match dim {
                    Dim::Fixed(length) => *length as usize,
                    Dim::Field(_) => random.below(if depth == 0 { 1 } else { 3 }) as usize,
                })
                .collect();
            nested(random, format, item, &dims, depth.saturating_sub(1))
        }
        Type::Record(id) => {
            let fields = &format.record(*id).fields;
            let values = fields.iter().filter(|field| !is_length(fields, &field.name));
            Value::record(
                values.map(|field| (field.name.clone(), value(random, format, &field.ty, depth))).collect::<Vec<_>>(),
            )
        }
        Type::Variant(id) => {
            let cases = &format.variant(*id).cases;
            let case = &cases[random.below(cases.len() as u64) as usize];
            let payload = case.payload.as_ref().map(|ty| Box::new(value(random, format, ty, depth)));
            Value::Case(case.name.clone(), payload)
        }
    }
}

fn nested(random: &mut Random, format: &Format, item: &Type, dims: &[usize], depth: u32) -> Value {
    match dims {
        [] => value(random, format, item, depth),
        [length, inner @ ..] => Value::List((0..*length).map(|_| nested(random, format, item, inner, depth)).collect()),
    }
}
