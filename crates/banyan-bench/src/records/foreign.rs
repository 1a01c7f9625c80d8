//! The same record as another machine would send it: other byte order, other layout, another field.

use banyan_ndr::{Buffer, ByteOrder, Definition, DynRecord, Field, Format, Limits, Record, Scratch, Type, encode};

/// How the sender differs from this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sender {
    /// It has the other byte order.
    pub swapped: bool,
    /// It puts a field before all others that the receiver does not know.
    pub extra_field: bool,
    /// Its nested records are eight bytes longer.
    pub longer_elements: bool,
}

/// A record in a foreign layout.
#[derive(Debug, Clone)]
pub struct Foreign {
    /// The sender's format.
    pub format: Format,
    /// The record as the sender sends it.
    pub body: Buffer,
}

impl Sender {
    /// What this sender would send for `record`.
    pub fn send<T: Record>(self, record: &T) -> Foreign {
        let mut scratch = Scratch::default();
        let native = encode(record, &mut scratch).expect("the sample can be encoded").body_to_buffer();
        let format = self.format(T::format());
        let sample = DynRecord::from_body(T::format(), &native, &Limits::default()).expect("it was just encoded");
        let mut foreign = DynRecord::new(&format);
        let banyan_ndr::Value::Record(fields) = &sample.root else { unreachable!("samples are records") };
        for (name, value) in fields {
            foreign.set(name, self.lengthened(value.clone())).expect("the formats have the same fields");
        }
        let body = foreign.to_body().expect("it fits its format");
        Foreign { format, body }
    }

    fn lengthened(self, value: banyan_ndr::Value) -> banyan_ndr::Value {
        use banyan_ndr::Value;
        match value {
            Value::List(items) if self.longer_elements => {
                Value::List(items.into_iter().map(|item| self.lengthened(item)).collect())
            }
            Value::Record(mut fields) if self.longer_elements => {
                fields.push(("unexpected".into(), Value::Int(-1)));
                Value::Record(fields)
            }
            other => other,
        }
    }

    fn format(self, native: &Format) -> Format {
        let order = match (native.order(), self.swapped) {
            (ByteOrder::Little, true) | (ByteOrder::Big, false) => ByteOrder::Big,
            _ => ByteOrder::Little,
        };
        let mut definitions = native.definitions().to_vec();
        if self.longer_elements {
            definitions.iter_mut().skip(1).for_each(lengthen);
            let lengths: Vec<u32> = definitions.iter().map(Definition::size).collect();
            grow_array(&mut definitions[0], &lengths);
        }
        if self.extra_field {
            let Definition::Record(root) = &mut definitions[0] else { unreachable!("samples are records") };
            root.fields.iter_mut().for_each(|field| field.offset += root.align.max(8));
            root.fields.insert(0, Field::new("unexpected", 0, Type::Int { width: 8, signed: true }));
            root.size += root.align.max(8);
        }
        Format::new(order, native.pointer(), definitions).expect("a valid format stays one")
    }
}

fn lengthen(definition: &mut Definition) {
    if let Definition::Record(record) = definition {
        record.fields.push(Field::new("unexpected", record.size, Type::Int { width: 8, signed: true }));
        record.size += 8;
    }
}

/// The root's last field is an array of records that became longer.
fn grow_array(root: &mut Definition, lengths: &[u32]) {
    let Definition::Record(root) = root else { unreachable!("samples are records") };
    if let Some(Field { offset, ty: Type::Array { item, dims, .. }, .. }) = root.fields.last() {
        let id = item.definition().expect("an array of records");
        root.size = offset + lengths[id.index()] * dims.iter().product::<u32>();
    }
}
