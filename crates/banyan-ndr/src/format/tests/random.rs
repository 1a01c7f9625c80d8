//! Random valid definitions: made from a list of numbers, so that a shorter list is a simpler format.

use proptest::prelude::*;

use super::sample::{boxed, enumeration};
use crate::format::types::{align_of, size_of};
use crate::{ByteOrder, Case, DefId, Definition, Dim, Field, Meter, Order, PointerWidth, RecordDef, Type, VariantDef};

/// What a format is made of.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) order: ByteOrder,
    pub(super) pointer: PointerWidth,
    pub(super) definitions: Vec<Definition>,
}

/// Any valid format of moderate size.
pub(super) fn parts() -> impl Strategy<Value = Parts> {
    prop::collection::vec(any::<u32>(), 0..120).prop_map(|numbers| Maker::new(numbers).parts())
}

/// Larger items are not repeated, so that nested arrays stay far from the limits.
const REPEATED_BYTES: u64 = 1024;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Record,
    Variant,
    Enumeration,
}

struct Maker {
    numbers: std::vec::IntoIter<u32>,
    pointer: PointerWidth,
    kinds: Vec<Kind>,
    /// Made from the last to the first; only what is made already can lie within another.
    definitions: Vec<Definition>,
}

impl Maker {
    fn new(numbers: Vec<u32>) -> Maker {
        Maker { numbers: numbers.into_iter(), pointer: PointerWidth::Eight, kinds: Vec::new(), definitions: Vec::new() }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.numbers.next().map_or(0, |number| number as usize % bound)
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn parts(mut self) -> Parts {
        let order = self.of(&[ByteOrder::Little, ByteOrder::Big]);
        self.pointer = self.of(&[PointerWidth::Eight, PointerWidth::Four]);
        self.kinds
            .push(self.numbers.next().map_or(Kind::Record, |n| if n % 4 == 0 { Kind::Variant } else { Kind::Record }));
        for _ in 0..self.below(6) {
            let kind = self.of(&[Kind::Record, Kind::Variant, Kind::Enumeration]);
            self.kinds.push(kind);
        }
        // Placeholders, until their turn comes.
        self.definitions = vec![Definition::Enumeration(enumeration("", 1, false, &[])); self.kinds.len()];
        for at in (0..self.kinds.len()).rev() {
            self.definitions[at] = match self.kinds[at] {
                Kind::Record => Definition::Record(self.record(at)),
                Kind::Variant => Definition::Variant(self.variant(at)),
                Kind::Enumeration => self.enumeration(at),
            };
        }
        Parts { order, pointer: self.pointer, definitions: self.definitions }
    }

    fn enumeration(&mut self, at: usize) -> Definition {
        let (width, signed) = (self.of(&[1, 2, 4, 8]), self.of(&[false, true]));
        let low = if signed { -(1i128 << (8 * u32::from(width) - 1)) } else { 0 };
        let names = [("least", low), ("zero", if signed { 0 } else { 1 }), ("größer", 100)];
        let count = self.below(names.len() + 1);
        Definition::Enumeration(enumeration(&format!("e{at}"), width, signed, &names[..count]))
    }

    fn record(&mut self, at: usize) -> RecordDef {
        let mut fields: Vec<Field> = (0..self.below(6))
            .map(|index| {
                let ty = self.ty(at, 0);
                self.remarked(Field::new(format!("f{index}"), 0, ty))
            })
            .collect();
        let lengths = fields.iter().enumerate().filter(|(_, field)| matches!(field.ty, Type::Int { .. }));
        let lengths: Vec<Dim> = lengths.map(|(index, _)| Dim::Field(index as u16)).collect();
        if !lengths.is_empty() && self.of(&[true, false]) {
            let dims = vec![self.of(&lengths), self.of(&[Dim::Fixed(3), lengths[0]])];
            let ty = Type::Sized { item: boxed(self.ty_elsewhere(1)), dims, order: self.order() };
            fields.push(Field::new("sized", 0, ty));
        }
        let (size, align) = self.lay_out(&mut fields);
        RecordDef { name: format!("r{at}"), size, align, fields }
    }

    /// Gives each field its place, some records from the last field to the first.
    fn lay_out(&mut self, fields: &mut [Field]) -> (u32, u32) {
        let (mut end, mut most) = (0u32, 1);
        let backward = self.of(&[false, true]);
        let count = fields.len();
        for index in 0..count {
            let field = &mut fields[if backward { count - 1 - index } else { index }];
            let align = align_of(&field.ty, self.pointer, &self.definitions);
            field.offset = end.next_multiple_of(align);
            end = field.offset + size_of(&field.ty, self.pointer, &self.definitions).expect("small") as u32;
            most = most.max(align);
        }
        (end.max(1).next_multiple_of(most), most)
    }

    fn remarked(&mut self, field: Field) -> Field {
        let unit = self.of(&[None, None, Some("m/s")]).map(str::to_owned);
        let description = self.of(&[None, None, Some("größe")]).map(str::to_owned);
        let meter = self.of(&[None, None, Some(Meter::Counter), Some(Meter::Gauge)]);
        Field { unit, description, meter, ..field }
    }

    fn variant(&mut self, at: usize) -> VariantDef {
        let tag_width = self.of(&[1, 2, 4, 8]);
        let (mut align, mut payload_size) = (u32::from(tag_width), 0);
        let cases: Vec<Case> = (0..self.below(5))
            .map(|index| {
                let payload = self.of(&[true, false]).then(|| self.ty(at, 0));
                Case { name: format!("c{index}"), tag: 7 * index as u64, payload }
            })
            .collect();
        for payload in cases.iter().filter_map(|case| case.payload.as_ref()) {
            align = align.max(align_of(payload, self.pointer, &self.definitions));
            payload_size = payload_size.max(size_of(payload, self.pointer, &self.definitions).expect("small") as u32);
        }
        let size = (align + payload_size).next_multiple_of(align);
        VariantDef { name: format!("v{at}"), size, align, tag_width, payload_at: align, cases }
    }

    fn order(&mut self) -> Order {
        self.of(&[Order::Row, Order::Column])
    }

    /// A type for a place in definition `at`: only later definitions may lie within it.
    fn ty(&mut self, at: usize, depth: usize) -> Type {
        let nested = |maker: &mut Maker| boxed(maker.ty(at, depth + 1));
        match self.below(if depth < 3 { 12 } else { 8 }) {
            0..4 => self.number(),
            4 => self.of(&[&Type::Str, &Type::CStr, &Type::Bytes]).clone(),
            5..8 if at + 1 < self.kinds.len() => {
                let inner = at + 1 + self.below(self.kinds.len() - at - 1);
                self.mention(inner)
            }
            8 => {
                let item = nested(self);
                let value_at = align_of(&item, self.pointer, &self.definitions);
                let end = value_at + size_of(&item, self.pointer, &self.definitions).expect("small") as u32;
                Type::Optional { item, value_at, size: end.next_multiple_of(value_at) }
            }
            9 => {
                let item = boxed(self.ty_elsewhere(depth + 1));
                Type::Ref { item, nullable: self.of(&[true, false]), shared: self.of(&[false, true]) }
            }
            10 => {
                let item = nested(self);
                if size_of(&item, self.pointer, &self.definitions).expect("small") > REPEATED_BYTES {
                    return *item;
                }
                let dims = (0..=self.below(3)).map(|_| 1 + self.below(4) as u32).collect();
                Type::Array { item, dims, order: self.order() }
            }
            _ => Type::List { item: boxed(self.ty_elsewhere(depth + 1)) },
        }
    }

    /// A type for a place behind a reference: any definition may be there.
    fn ty_elsewhere(&mut self, depth: usize) -> Type {
        if self.of(&[true, false]) {
            let any = self.below(self.kinds.len());
            return self.mention(any);
        }
        self.ty(self.kinds.len() - 1, depth)
    }

    fn mention(&self, at: usize) -> Type {
        let id = DefId(at as u16);
        match self.kinds[at] {
            Kind::Record => Type::Record(id),
            Kind::Variant => Type::Variant(id),
            Kind::Enumeration => Type::Enum(id),
        }
    }

    fn number(&mut self) -> Type {
        match self.below(5) {
            0 => Type::Int { width: self.of(&[1, 2, 4, 8, 16]), signed: false },
            1 => Type::Int { width: self.of(&[1, 2, 4, 8, 16]), signed: true },
            2 => Type::Float { width: self.of(&[2, 4, 8]) },
            3 => Type::Bool { width: self.of(&[1, 2, 4, 8]) },
            _ => Type::Char { width: self.of(&[1, 4]) },
        }
    }
}
