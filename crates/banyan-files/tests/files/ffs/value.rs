//! A plain reader of bodies that checks the rules of `docs/wire.md` as it goes. It follows references recursively and
//! makes trees of what is shared, so it must not be given cycles.

use banyan_files::ffs::FfsRecord;
use banyan_ndr::wire::{Slots, read_int, read_uint};
use banyan_ndr::{DefId, Dim, Format, Order, Type, Value};

/// The value of a record, with the fields of every record sorted by name: their order is the writer's own business.
pub(crate) fn value_of(record: &FfsRecord) -> Value {
    let format = &record.format;
    assert!(format.fits(record.body.len()), "{format} does not fit {} bytes", record.body.len());
    let walk = Walk { format, body: &record.body };
    walk.record(DefId::ROOT, 0)
}

/// A field by its path.
pub(crate) fn get<'v>(value: &'v Value, path: &str) -> &'v Value {
    path.split('/').fold(value, |value, step| match value {
        Value::Record(fields) => &fields.iter().find(|(name, _)| name == step).unwrap_or_else(|| panic!("{step}")).1,
        Value::List(items) => &items[step.parse::<usize>().unwrap()],
        other => panic!("{step} of {other:?}"),
    })
}

struct Walk<'r> {
    format: &'r Format,
    body: &'r [u8],
}

impl Walk<'_> {
    fn slots(&self) -> Slots {
        Slots { order: self.format.order(), pointer: self.format.pointer() }
    }

    fn record(&self, id: DefId, at: usize) -> Value {
        let definition = self.format.record(id);
        let mut fields: Vec<(String, Value)> = Vec::new();
        for field in &definition.fields {
            let place = at + field.offset as usize;
            let value = match &field.ty {
                Type::Sized { item, dims, order } => {
                    let dims: Vec<usize> = dims
                        .iter()
                        .map(|dim| match dim {
                            Dim::Fixed(len) => *len as usize,
                            Dim::Field(number) => {
                                let field = &definition.fields[usize::from(*number)];
                                let Value::Int(len) = self.value(&field.ty, at + field.offset as usize) else {
                                    panic!("{} is no integer", field.name)
                                };
                                usize::try_from(len).unwrap()
                            }
                        })
                        .collect();
                    let target = self.slots().reference(self.body, place).unwrap();
                    assert_eq!(target.is_none(), dims.contains(&0), "{}", field.name);
                    let target = target.unwrap_or(0);
                    assert!(target.is_multiple_of(self.format.align_of(item)), "{}", field.name);
                    self.array(item, &dims, *order, target, 0, dims.iter().product())
                }
                ty => self.value(ty, place),
            };
            fields.push((field.name.clone(), value));
        }
        fields.sort_by(|a, b| a.0.cmp(&b.0));
        Value::Record(fields)
    }

    fn value(&self, ty: &Type, at: usize) -> Value {
        let order = self.format.order();
        let bytes = |width: u8| &self.body[at..at + usize::from(width)];
        match ty {
            Type::Int { width, signed: true } => Value::Int(read_int(bytes(*width), order)),
            Type::Int { width, signed: false } => Value::Int(read_uint(bytes(*width), order) as i128),
            Type::Float { width: 4 } => Value::F64(f32::from_bits(read_uint(bytes(4), order) as u32).into()),
            Type::Float { .. } => Value::F64(f64::from_bits(read_uint(bytes(8), order) as u64)),
            Type::Bool { width } => match read_uint(bytes(*width), order) {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => panic!("{other} is no bool"),
            },
            Type::Char { .. } => Value::Char(self.body[at].into()),
            Type::CStr => match self.slots().reference(self.body, at).unwrap() {
                None => Value::Null,
                Some(target) => {
                    let text = self.body[target..].split(|byte| *byte == 0).next().unwrap();
                    Value::Str(String::from_utf8(text.to_vec()).unwrap())
                }
            },
            Type::Record(id) => self.record(*id, at),
            Type::Ref { item, .. } => match self.slots().reference(self.body, at).unwrap() {
                None => Value::Null,
                Some(target) => {
                    assert!(target.is_multiple_of(self.format.align_of(item)));
                    self.value(item, target)
                }
            },
            Type::Array { item, dims, order } => {
                let dims: Vec<usize> = dims.iter().map(|dim| *dim as usize).collect();
                self.array(item, &dims, *order, at, 0, dims.iter().product())
            }
            Type::List { item } => {
                let (target, count) = self.slots().span(self.body, at).unwrap();
                assert!(target.is_multiple_of(self.format.align_of(item)));
                self.array(item, &[count], Order::Row, target, 0, count)
            }
            other => panic!("{other:?} is not made from FFS descriptions"),
        }
    }

    /// The items of a (sub)array whose first is number `first` of those at `at`; `total` is their number in all.
    fn array(&self, item: &Type, dims: &[usize], order: Order, at: usize, first: usize, total: usize) -> Value {
        let Some((len, inner)) = dims.split_first() else {
            return self.value(item, at + first * self.format.size_of(item));
        };
        let step = match order {
            Order::Row => inner.iter().product::<usize>(),
            // The first index is fastest: each dimension strides over the product of those before it.
            Order::Column => total / dims.iter().product::<usize>().max(1),
        };
        let items = (0..*len).map(|index| self.array(item, inner, order, at, first + index * step, total));
        Value::List(items.collect())
    }
}
