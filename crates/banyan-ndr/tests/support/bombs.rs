//! Short descriptions that mean thousands of millions of values: each definition holds the next one twice. Nothing
//! that works on formats may take time or memory for all of them.

use banyan_ndr::{ByteOrder, DefId, Definition, Field, Format, PointerWidth, RecordDef, Type};

/// How a definition holds the next.
#[derive(Clone, Copy)]
enum Hold {
    InPlace,
    Pointer,
    Shared,
}

impl Hold {
    fn ty(self, next: u16) -> Type {
        let next = Type::Record(DefId(next));
        match self {
            Hold::InPlace => next,
            Hold::Pointer => Type::Ref { item: next.into(), nullable: false, shared: false },
            Hold::Shared => Type::Ref { item: next.into(), nullable: false, shared: true },
        }
    }
}

/// Definitions that each hold `fields` of the next; the last holds a number.
fn bomb(levels: u16, fields: u32, hold: Hold, order: ByteOrder) -> Format {
    let mut definitions = vec![definition(levels, vec![("x".to_owned(), Type::Int { width: 4, signed: true })], 4)];
    let mut size = 4;
    for level in (0..levels).rev() {
        let step = if matches!(hold, Hold::InPlace) { size } else { 4 };
        let names = ["a", "b"].iter().take(fields as usize);
        definitions.push(definition(level, names.map(|name| ((*name).to_owned(), hold.ty(level + 1))).collect(), step));
        size = step * fields;
    }
    definitions.reverse();
    Format::new(order, PointerWidth::Four, definitions).unwrap()
}

pub(crate) fn definition(level: u16, fields: Vec<(String, Type)>, step: u32) -> Definition {
    let size = step * fields.len() as u32;
    let place = |(number, (name, ty)): (usize, (String, Type))| Field::new(name, number as u32 * step, ty);
    let fields = fields.into_iter().enumerate().map(place).collect();
    Definition::Record(RecordDef { name: format!("level{level}"), size, align: 4, fields })
}

/// The definitions of a description that is as long as a careless author might make it.
fn many() -> u16 {
    super::effort::share(4000) as u16
}

/// 2²⁸ numbers in 1 GiB, and more than can be counted behind pointers.
pub(crate) fn bombs(order: ByteOrder) -> [Format; 4] {
    [
        bomb(28, 2, Hold::InPlace, order),
        bomb(300, 2, Hold::Pointer, order),
        bomb(300, 2, Hold::Shared, order),
        bomb(many(), 1, Hold::Pointer, order),
    ]
}
