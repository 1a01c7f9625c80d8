//! The description of a C struct.

use crate::{
    ByteOrder, DefId, Definition, Dim, EnumerationDef, Field, Format, FormatError, Order, PointerWidth, RecordDef, Type,
};

/// A C struct described by hand: names, kinds, widths and offsets, as `sizeof`, `_Alignof` and `offsetof` give them.
///
/// Byte order and pointer width are this machine's unless [`order`](CStruct::order) and [`pointer_width`] say
/// otherwise, which makes it a description of another machine's struct.
///
/// [`pointer_width`]: CStruct::pointer_width
///
/// ```
/// use banyan_ndr::CStruct;
///
/// // struct particle { int id; double position[3]; char *name; int n; float *hits; };   on a 64-bit machine
/// let format = CStruct::new("particle", 56, 8)
///     .int("id", 0, 4)
///     .array("position", 8, CStruct::float_type(8), &[3])
///     .cstring("name", 32)
///     .int("n", 40, 4)
///     .sized_array("hits", 48, CStruct::float_type(4), "n")
///     .pointer_width(banyan_ndr::PointerWidth::Eight)
///     .build()?;
/// assert_eq!(format.fields().len(), 5);
/// # Ok::<(), banyan_ndr::FormatError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CStruct {
    order: ByteOrder,
    pointer: PointerWidth,
    size: u32,
    align: u32,
    fields: Vec<Member>,
    /// Its own record stands first, without fields until it is built.
    definitions: Vec<Definition>,
    /// The first mistake in what was said so far.
    mistake: Option<FormatError>,
}

#[derive(Debug, Clone)]
struct Member {
    field: Field,
    /// The names of the fields that give it its lengths, where its type has [`Dim::Field`]s.
    lengths: Vec<String>,
}

impl CStruct {
    /// A struct of `size` bytes, aligned to `align`.
    pub fn new(name: &str, size: u32, align: u32) -> CStruct {
        let own = Definition::Record(RecordDef { name: name.into(), size, align, fields: Vec::new() });
        CStruct {
            order: ByteOrder::NATIVE,
            pointer: PointerWidth::NATIVE,
            size,
            align,
            fields: Vec::new(),
            definitions: vec![own],
            mistake: None,
        }
    }

    /// The struct lies on a machine of this byte order.
    #[must_use]
    pub fn order(mut self, order: ByteOrder) -> CStruct {
        self.order = order;
        self
    }

    /// The struct lies on a machine with pointers of this width.
    #[must_use]
    pub fn pointer_width(mut self, pointer: PointerWidth) -> CStruct {
        self.pointer = pointer;
        self
    }

    /// A field of any type. Definitions that the type refers to must be this struct's own ([`CStruct::own_type`],
    /// [`CStruct::nested_type`], [`CStruct::enumeration_type`]).
    #[must_use]
    pub fn field(mut self, name: &str, offset: u32, ty: Type) -> CStruct {
        self.fields.push(Member { field: Field::new(name, offset, ty), lengths: Vec::new() });
        self
    }

    /// A signed integer of `width` bytes.
    #[must_use]
    pub fn int(self, name: &str, offset: u32, width: u8) -> CStruct {
        self.field(name, offset, Type::Int { width, signed: true })
    }

    /// An unsigned integer of `width` bytes.
    #[must_use]
    pub fn uint(self, name: &str, offset: u32, width: u8) -> CStruct {
        self.field(name, offset, Type::Int { width, signed: false })
    }

    /// A `float` (4 bytes) or `double` (8 bytes).
    #[must_use]
    pub fn float(self, name: &str, offset: u32, width: u8) -> CStruct {
        self.field(name, offset, Type::Float { width })
    }

    /// A `_Bool` or an integer that is used as one.
    #[must_use]
    pub fn boolean(self, name: &str, offset: u32, width: u8) -> CStruct {
        self.field(name, offset, Type::Bool { width })
    }

    /// A `char *` that is null or leads to a NUL-terminated string.
    #[must_use]
    pub fn cstring(self, name: &str, offset: u32) -> CStruct {
        self.field(name, offset, Type::CStr)
    }

    /// An array in the struct itself, `item name[dims[0]][dims[1]]…`.
    #[must_use]
    pub fn array(self, name: &str, offset: u32, item: Type, dims: &[u32]) -> CStruct {
        self.field(name, offset, Type::Array { item: item.into(), dims: dims.to_vec(), order: Order::Row })
    }

    /// A pointer to one `item`, null or not. Several pointers may lead to the same one, in cycles too.
    #[must_use]
    pub fn pointer(self, name: &str, offset: u32, item: Type) -> CStruct {
        self.field(name, offset, Type::Ref { item: item.into(), nullable: true, shared: true })
    }

    /// A pointer to as many items as another field says.
    #[must_use]
    pub fn sized_array(self, name: &str, offset: u32, item: Type, length: &str) -> CStruct {
        self.sized_matrix(name, offset, item, &[length], Order::Row)
    }

    /// A pointer to an array of several dimensions, each the value of another field, outermost first.
    #[must_use]
    pub fn sized_matrix(mut self, name: &str, offset: u32, item: Type, lengths: &[&str], order: Order) -> CStruct {
        // The numbers of the fields are known when all are: `build` puts them in.
        let ty = Type::Sized { item: item.into(), dims: vec![Dim::Field(0); lengths.len()], order };
        let lengths = lengths.iter().map(|length| (*length).to_owned()).collect();
        self.fields.push(Member { field: Field::new(name, offset, ty), lengths });
        self
    }

    /// Another struct in this one.
    #[must_use]
    pub fn nested(mut self, name: &str, offset: u32, inner: &CStruct) -> CStruct {
        let ty = self.nested_type(inner);
        self.field(name, offset, ty)
    }

    /// An `enum` of `width` bytes (4 in most C).
    #[must_use]
    pub fn enumeration(
        mut self,
        name: &str,
        offset: u32,
        width: u8,
        type_name: &str,
        names: &[(&str, i128)],
    ) -> CStruct {
        let ty = self.enumeration_type(type_name, width, names);
        self.field(name, offset, ty)
    }

    /// The type of this struct itself, for pointers to its own kind.
    pub fn own_type() -> Type {
        Type::Record(DefId::ROOT)
    }

    /// The type of a float, for arrays and pointers.
    pub fn float_type(width: u8) -> Type {
        Type::Float { width }
    }

    /// The type of an integer, for arrays and pointers.
    pub fn int_type(width: u8) -> Type {
        Type::Int { width, signed: true }
    }

    /// Takes another struct's definitions over; its type, for arrays and pointers. The same struct taken over twice is
    /// one definition.
    pub fn nested_type(&mut self, inner: &CStruct) -> Type {
        let definitions = match inner.definitions() {
            Ok(definitions) => definitions,
            Err(mistake) => {
                self.mistake.get_or_insert(mistake);
                return Type::Int { width: 1, signed: false };
            }
        };
        let base = self.definitions.len();
        let moved: Vec<Definition> =
            definitions.into_iter().map(|definition| renumbered(definition, base as u16)).collect();
        // An equal struct that is already there has equal definitions behind it.
        let known = (1..base).find(|at| {
            let shifted = moved.iter().map(|definition| renumbered_from(definition.clone(), base as u16, *at as u16));
            self.definitions[*at..].len() >= moved.len()
                && self.definitions[*at..].iter().zip(shifted).all(|(a, b)| *a == b)
        });
        if let Some(at) = known {
            return Type::Record(DefId(at as u16));
        }
        self.definitions.extend(moved);
        Type::Record(DefId(base as u16))
    }

    /// An `enum`; its type, for arrays and pointers.
    pub fn enumeration_type(&mut self, name: &str, width: u8, names: &[(&str, i128)]) -> Type {
        let names = names.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let signed = true;
        let definition = Definition::Enumeration(EnumerationDef { name: name.into(), width, signed, names });
        if let Some(at) = self.definitions.iter().position(|other| *other == definition) {
            return Type::Enum(DefId(at as u16));
        }
        self.definitions.push(definition);
        Type::Enum(DefId((self.definitions.len() - 1) as u16))
    }

    /// Checks everything that was said.
    pub fn build(&self) -> Result<Format, FormatError> {
        Format::new(self.order, self.pointer, self.definitions()?)
    }

    fn definitions(&self) -> Result<Vec<Definition>, FormatError> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        let mut definitions = self.definitions.clone();
        let name = definitions[0].name().to_owned();
        if definitions.len() > usize::from(u16::MAX) {
            return Err(FormatError::Definition { definition: name, reason: "more than 65535 definitions".into() });
        }
        let fields = self.fields.iter().map(|member| self.resolved(member, &name)).collect::<Result<_, _>>()?;
        definitions[0] = Definition::Record(RecordDef { name, size: self.size, align: self.align, fields });
        Ok(definitions)
    }

    /// A member's field with the numbers of its length fields.
    fn resolved(&self, member: &Member, own: &str) -> Result<Field, FormatError> {
        let mut field = member.field.clone();
        let Type::Sized { dims, .. } = &mut field.ty else { return Ok(field) };
        for (dim, length) in dims.iter_mut().zip(&member.lengths) {
            let position = self.fields.iter().position(|other| other.field.name == *length);
            let position = position.and_then(|position| u16::try_from(position).ok());
            *dim = Dim::Field(position.ok_or_else(|| FormatError::Field {
                definition: own.into(),
                field: member.field.name.clone(),
                reason: format!("its length field {length} does not exist"),
            })?);
        }
        Ok(field)
    }
}

/// A definition whose ids begin at `base` instead of 0.
fn renumbered(definition: Definition, base: u16) -> Definition {
    renumbered_from(definition, 0, base)
}

fn renumbered_from(mut definition: Definition, from: u16, to: u16) -> Definition {
    if let Definition::Record(record) = &mut definition {
        record.fields.iter_mut().for_each(|field| renumber(&mut field.ty, from, to));
    }
    definition
}

fn renumber(ty: &mut Type, from: u16, to: u16) {
    match ty {
        Type::Enum(id) | Type::Record(id) | Type::Variant(id) => id.0 = (id.0 - from).saturating_add(to),
        Type::Optional { item, .. }
        | Type::Ref { item, .. }
        | Type::Array { item, .. }
        | Type::List { item }
        | Type::Sized { item, .. } => renumber(item, from, to),
        _ => {}
    }
}
