//! What a record is made of, apart from how it is laid out; and layouts of it.

use banyan_ndr::{
    ByteOrder, Case, DefId, Definition, Dim, EnumerationDef, Field, Format, Order, PointerWidth, RecordDef, Type,
    Value, VariantDef,
};

use super::Choices;

/// A type without positions and definitions.
#[derive(Debug, Clone)]
pub(crate) enum Model {
    /// A number type, a string, bytes: anything without inner types.
    Simple(Type),
    Enumeration {
        width: u8,
        names: Vec<(String, i128)>,
    },
    Record(Vec<FieldModel>),
    /// Tags follow the order of the cases.
    Variant(Vec<(String, Option<Model>)>),
    Optional(Box<Model>),
    Ref {
        item: Box<Model>,
        nullable: bool,
        shared: bool,
    },
    Array {
        item: Box<Model>,
        dims: Vec<u32>,
        order: Order,
    },
    List(Box<Model>),
    /// Sized by the fields with these names.
    Sized {
        item: Box<Model>,
        lengths: Vec<String>,
        order: Order,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct FieldModel {
    pub(crate) name: String,
    pub(crate) model: Model,
    pub(crate) default: Option<Value>,
}

/// Lays a record out with random padding, fields in random places.
pub(crate) fn lay_out(model: &Model, order: ByteOrder, pointer: PointerWidth, choices: &mut Choices<'_>) -> Format {
    let mut layout = Layout { pointer, definitions: Vec::new(), choices };
    layout.ty(model);
    Format::new(order, pointer, layout.definitions).expect("a valid format")
}

struct Layout<'a, 'c> {
    pointer: PointerWidth,
    definitions: Vec<Definition>,
    choices: &'a mut Choices<'c>,
}

impl Layout<'_, '_> {
    fn reserve(&mut self) -> DefId {
        let name = format!("definition {}", self.definitions.len());
        self.definitions.push(Definition::Enumeration(EnumerationDef { name, width: 1, signed: false, names: vec![] }));
        DefId(self.definitions.len() as u16 - 1)
    }

    fn set(&mut self, id: DefId, definition: Definition) {
        self.definitions[id.index()] = definition;
    }

    fn name(&self, id: DefId) -> String {
        format!("definition {}", id.0)
    }

    /// Size and alignment.
    fn measure(&self, ty: &Type) -> (u32, u32) {
        let pointer = self.pointer.bytes() as u32;
        match ty {
            Type::Int { width, .. } | Type::Float { width } | Type::Bool { width } | Type::Char { width } => {
                (u32::from(*width), u32::from(*width))
            }
            Type::Enum(id) | Type::Record(id) | Type::Variant(id) => {
                let definition = &self.definitions[id.index()];
                (definition.size(), definition.align())
            }
            Type::CStr | Type::Ref { .. } | Type::Sized { .. } => (pointer, pointer),
            Type::Str | Type::Bytes | Type::List { .. } => (2 * pointer, pointer),
            Type::Optional { item, size, .. } => (*size, self.measure(item).1),
            Type::Array { item, dims, .. } => {
                let (size, align) = self.measure(item);
                (size * dims.iter().product::<u32>(), align)
            }
        }
    }

    fn ty(&mut self, model: &Model) -> Type {
        match model {
            Model::Simple(ty) => ty.clone(),
            Model::Enumeration { width, names } => {
                let id = self.reserve();
                let (name, names) = (self.name(id), names.clone());
                self.set(id, Definition::Enumeration(EnumerationDef { name, width: *width, signed: true, names }));
                Type::Enum(id)
            }
            Model::Record(fields) => self.record(fields),
            Model::Variant(cases) => self.variant(cases),
            Model::Optional(item) => {
                let item = self.ty(item);
                let (size, align) = self.measure(&item);
                let value_at = align * (1 + self.choices.below(2) as u32);
                let size = (value_at + size).next_multiple_of(align) + align * self.choices.below(2) as u32;
                Type::Optional { item: Box::new(item), value_at, size }
            }
            Model::Ref { item, nullable, shared } => {
                Type::Ref { item: Box::new(self.ty(item)), nullable: *nullable, shared: *shared }
            }
            Model::Array { item, dims, order } => {
                Type::Array { item: Box::new(self.ty(item)), dims: dims.clone(), order: *order }
            }
            Model::List(item) => Type::List { item: Box::new(self.ty(item)) },
            Model::Sized { .. } => panic!("only as a field"),
        }
    }

    fn record(&mut self, fields: &[FieldModel]) -> Type {
        let id = self.reserve();
        let mut laid = Vec::new();
        let (mut end, mut most) = (0, 1);
        for field in fields {
            let ty = match &field.model {
                Model::Sized { item, lengths, order } => {
                    let number = |name: &String| fields.iter().position(|field| field.name == *name).unwrap() as u16;
                    let dims = lengths.iter().map(|name| Dim::Field(number(name))).collect();
                    Type::Sized { item: Box::new(self.ty(item)), dims, order: *order }
                }
                model => self.ty(model),
            };
            let (size, align) = self.measure(&ty);
            let offset: u32 = u32::next_multiple_of(end, align) + align * (self.choices.below(4) / 3) as u32;
            end = offset + size;
            most = align.max(most);
            laid.push(Field { default: field.default.clone(), ..Field::new(field.name.clone(), offset, ty) });
        }
        let size = end.max(1).next_multiple_of(most) + most * (self.choices.below(4) / 3) as u32;
        let record = RecordDef { name: self.name(id), size, align: most, fields: laid };
        self.set(id, Definition::Record(record));
        Type::Record(id)
    }

    fn variant(&mut self, cases: &[(String, Option<Model>)]) -> Type {
        let id = self.reserve();
        let tag_width = self.choices.of(&[1, 2, 4, 8]);
        let (mut most, mut largest) = (u32::from(tag_width), 0);
        let mut laid = Vec::new();
        for (tag, (name, payload)) in cases.iter().enumerate() {
            let payload = payload.as_ref().map(|payload| self.ty(payload));
            if let Some((size, align)) = payload.as_ref().map(|payload| self.measure(payload)) {
                largest = size.max(largest);
                most = align.max(most);
            }
            laid.push(Case { name: name.clone(), tag: tag as u64, payload });
        }
        let size = (most + largest).next_multiple_of(most);
        let name = self.name(id);
        let variant = VariantDef { name, size, align: most, tag_width, payload_at: most, cases: laid };
        self.set(id, Definition::Variant(variant));
        Type::Variant(id)
    }
}
