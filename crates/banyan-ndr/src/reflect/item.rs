//! A place in a record and the type of what lies there.

use super::RecordView;
use super::elements::{Dims, Element, Elements};
use crate::dynamic::number;
use crate::wire::read_uint;
use crate::{DecodeError, Field, Format, Order, RecordDef, Type, Value};

/// A value inside a [`RecordView`]: looked at where it lies, checked when it is looked at. Copies freely; nothing is
/// allocated on the way to a value.
///
/// [`field`](Item::field), [`index`](Item::index), [`len`](Item::len) and [`get`](Item::get) go through pointers and
/// optionals by themselves. Errors name the nearest field; [`RecordView::value`] names the whole path.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    pub(super) view: RecordView<'a>,
    /// The field it lies in or behind.
    pub(super) name: &'a str,
    pub(super) at: usize,
    ty: &'a Type,
    /// The record it is a field of, where an array finds its lengths.
    owner: Option<(&'a RecordDef, usize)>,
    /// Set when it is a part of an array of several dimensions; `ty` is the array's then.
    part: Option<Elements<'a>>,
}

/// A value of fixed width.
pub(super) enum Scalar<'a> {
    Number(Value),
    /// An enumeration's value and its name, if it has one.
    Enumeration(Option<&'a str>, i128),
}

impl<'a> Item<'a> {
    /// What lies at `at`; all bytes of its place must lie in the body.
    pub(super) fn new(view: RecordView<'a>, name: &'a str, at: usize, ty: &'a Type) -> Item<'a> {
        Item { view, name, at, ty, owner: None, part: None }
    }

    pub(crate) fn view(&self) -> RecordView<'a> {
        self.view
    }

    /// The format of the record it lies in.
    pub fn format(&self) -> &'a Format {
        self.view.format()
    }

    /// Its type. A row of an array of several dimensions has the type of the array; see [`Item::is_part`].
    pub fn ty(&self) -> &'a Type {
        self.ty
    }

    /// The name of the nearest field it lies in or behind; the format's name at the root.
    pub fn field_name(&self) -> &'a str {
        self.name
    }

    /// Whether it is a part of an array of several dimensions: some of the indices given, not all.
    pub fn is_part(&self) -> bool {
        self.part.is_some()
    }

    /// Its type in words: `f64[3]`, `[Elem]`, `string?`.
    pub fn type_name(&self) -> String {
        let name = self.format().type_name(self.ty);
        if self.is_part() { format!("part of {name}") } else { name }
    }

    /// Where its bytes begin in the body.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Whether it is a null pointer, a null C string or an absent value.
    pub fn is_null(&self) -> Result<bool, DecodeError> {
        match self.ty {
            Type::CStr => Ok(self.reference()?.is_none()),
            _ => Ok(self.target()?.is_none()),
        }
    }

    /// One step through a pointer or optional: what it leads to, or `None`. Anything else leads to itself.
    pub fn target(&self) -> Result<Option<Item<'a>>, DecodeError> {
        match self.ty {
            Type::Optional { item, value_at, .. } if self.part.is_none() => match self.view.body()[self.at] {
                0 => Ok(None),
                1 => Ok(Some(Item::new(self.view, self.name, self.at + *value_at as usize, item))),
                flag => Err(self.invalid(flag, "flag of an optional value")),
            },
            Type::Ref { item, nullable, .. } => match self.reference()? {
                None if *nullable => Ok(None),
                None => Err(self.invalid("null", "pointer that must lead somewhere")),
                Some(target) => {
                    self.view.check_target(target, 1, item, self.name)?;
                    Ok(Some(Item::new(self.view, self.name, target, item)))
                }
            },
            _ => Ok(Some(*self)),
        }
    }

    /// Through all pointers and optionals to a value, or `None`.
    pub fn follow(&self) -> Result<Option<Item<'a>>, DecodeError> {
        let mut item = *self;
        while matches!(item.ty, Type::Optional { .. } | Type::Ref { .. }) {
            match item.target()? {
                None => return Ok(None),
                Some(target) => item = target,
            }
        }
        Ok(Some(item))
    }

    /// [`Item::follow`], where nothing is an error.
    pub fn deref(&self) -> Result<Item<'a>, DecodeError> {
        self.follow()?.ok_or_else(|| DecodeError::Absent { path: self.name.into() })
    }

    /// The fields of a record; the payload of the case at hand, by its name, for a variant; nothing for others.
    pub fn fields(&self) -> Result<impl Iterator<Item = (&'a str, Item<'a>)> + use<'a>, DecodeError> {
        let item = self.deref()?;
        let (fields, payload) = match item.ty {
            Type::Record(id) => (item.format().record(*id).fields.as_slice(), None),
            Type::Variant(_) => (&[][..], item.case()?.and_then(|(name, payload)| Some((name, payload?)))),
            _ => (&[][..], None),
        };
        Ok(fields.iter().map(move |field| (field.name.as_str(), item.of(field))).chain(payload))
    }

    /// A field of a record, or the payload of a variant's case by the case's name.
    pub fn field(&self, name: &str) -> Result<Item<'a>, DecodeError> {
        let item = self.deref()?;
        match item.ty {
            Type::Record(id) if item.part.is_none() => {
                let field = item.format().field_of(*id, name).map(|(_, field)| item.of(field));
                field.ok_or_else(|| item.astray(format!("{} has no field {name}", item.format().record(*id).name)))
            }
            Type::Variant(id) => match item.case()? {
                Some((case, Some(payload))) if case == name => Ok(payload),
                Some((case, None)) if case == name => Err(item.astray(format!("case {case} carries nothing"))),
                Some((case, _)) => {
                    let known = item.format().case_of(*id, name).is_some();
                    Err(item.astray(if known {
                        format!("it is {case}, not {name}")
                    } else {
                        format!("{} has no case {name}", item.format().variant(*id).name)
                    }))
                }
                None => unreachable!("a variant has a case"),
            },
            _ => Err(item.astray(format!("{} has no fields, so no {name}", item.type_name()))),
        }
    }

    fn of(&self, field: &'a Field) -> Item<'a> {
        let Type::Record(id) = self.ty else { unreachable!("fields belong to records") };
        let owner = Some((self.format().record(*id), self.at));
        Item { owner, ..Item::new(self.view, &field.name, self.at + field.offset as usize, &field.ty) }
    }

    /// The name of a variant's case and its payload; `None` for other types.
    pub fn case(&self) -> Result<Option<(&'a str, Option<Item<'a>>)>, DecodeError> {
        let Type::Variant(id) = self.ty else { return Ok(None) };
        let variant = self.format().variant(*id);
        let tag = read_uint(self.bytes_at(self.at, usize::from(variant.tag_width)), self.format().order());
        let case = u64::try_from(tag).ok().and_then(|tag| self.format().case_with_tag(*id, tag));
        let case = case.ok_or_else(|| self.invalid(tag, "case of the variant"))?;
        let payload = case.payload.as_ref();
        let at = self.at + variant.payload_at as usize;
        Ok(Some((&case.name, payload.map(|ty| Item::new(self.view, self.name, at, ty)))))
    }

    /// The number of items of an array or list (along the next dimension), of bytes of a string; 0 for null, and for
    /// an array of several dimensions one of which is 0.
    pub fn len(&self) -> Result<usize, DecodeError> {
        let Some(item) = self.follow()? else { return Ok(0) };
        match item.ty {
            Type::Str | Type::Bytes | Type::CStr => Ok(item.text_bytes()?.map_or(0, <[u8]>::len)),
            _ => match item.elements()? {
                Some(elements) => elements.len(item.name),
                None => Err(item.astray(format!("{} has no length", item.type_name()))),
            },
        }
    }

    /// Whether [`Item::len`] is 0.
    pub fn is_empty(&self) -> Result<bool, DecodeError> {
        Ok(self.len()? == 0)
    }

    /// An item of an array or list. An array of several dimensions is indexed once for each, outermost first.
    pub fn index(&self, index: usize) -> Result<Item<'a>, DecodeError> {
        let item = self.deref()?;
        let elements = item.elements()?;
        let elements = elements.ok_or_else(|| item.astray(format!("{} has no items", item.type_name())))?;
        let len = elements.len(item.name)?;
        if index >= len {
            return Err(item.astray(format!("there is no item {index}, only {len}")));
        }
        item.element(&elements, index)
    }

    /// All items of an array or list, one after the other (rows, where there are several dimensions).
    pub fn iter(&self) -> Result<impl Iterator<Item = Result<Item<'a>, DecodeError>> + use<'a>, DecodeError> {
        let item = self.follow()?;
        let elements = match &item {
            Some(item) => {
                Some(item.elements()?.ok_or_else(|| item.astray(format!("{} has no items", item.type_name())))?)
            }
            None => None,
        };
        let len = elements.as_ref().map_or(Ok(0), |elements| elements.len(self.name))?;
        Ok(item
            .zip(elements)
            .into_iter()
            .flat_map(move |(item, elements)| (0..len).map(move |index| item.element(&elements, index))))
    }

    fn element(&self, elements: &Elements<'a>, index: usize) -> Result<Item<'a>, DecodeError> {
        Ok(match elements.at(index, self.name)? {
            Element::Item(at) => Item::new(self.view, self.name, at, elements.item),
            Element::Part(part) => Item { part: Some(part), ..*self },
        })
    }

    /// The items of an array or list, if it is one.
    pub(super) fn elements(&self) -> Result<Option<Elements<'a>>, DecodeError> {
        if self.part.is_some() {
            return Ok(self.part);
        }
        Ok(Some(match self.ty {
            Type::Array { item, dims, order } => Elements::in_place(self.view, item, dims, *order, self.at),
            Type::List { item } => {
                let (target, count) = self.span()?;
                let target = (count > 0).then_some(target);
                Elements::behind(self.view, item, Dims::Count(count), Order::Row, target, self.name)?
            }
            Type::Sized { item, dims, order } => {
                let (record, at) = self.owner.expect("an array sized by fields is a field");
                let dims = Dims::Fields(dims, record, at);
                Elements::behind(self.view, item, dims, *order, self.reference()?, self.name)?
            }
            _ => return Ok(None),
        }))
    }

    /// The bytes of a string, C string or blob, without the NUL; `None` for a null C string and for other types.
    pub(super) fn text_bytes(&self) -> Result<Option<&'a [u8]>, DecodeError> {
        let body = self.view.body();
        match self.ty {
            Type::Str | Type::Bytes => {
                let (target, count) = self.span()?;
                let end = target.checked_add(count);
                let bytes = end.and_then(|end| body.get(target..end));
                bytes.map(Some).ok_or_else(|| self.view.outside(self.name, target, count))
            }
            Type::CStr => {
                let Some(target) = self.reference()? else { return Ok(None) };
                let rest = &body[target..];
                let end = rest.iter().position(|byte| *byte == 0);
                end.map(|end| Some(&rest[..end])).ok_or_else(|| self.view.outside(self.name, target, rest.len() + 1))
            }
            _ => Ok(None),
        }
    }

    /// The items of an array or list of bytes, as they lie; `None` for other types.
    pub(super) fn byte_items(&self) -> Result<Option<&'a [u8]>, DecodeError> {
        let Some(elements) = self.elements()? else { return Ok(None) };
        if self.is_part() || !matches!(elements.item, Type::Int { width: 1, .. } | Type::Char { width: 1 }) {
            return Ok(None);
        }
        let start = elements.start();
        Ok(Some(self.bytes_at(start, elements.bytes(self.name)?)))
    }

    /// All items, where they are numbers side by side: read without an item for each. `None` for other types.
    pub(crate) fn numbers(&self) -> Result<Option<Vec<Value>>, DecodeError> {
        let Some(elements) = self.elements()? else { return Ok(None) };
        if elements.rank() != 1 || !matches!(elements.item, Type::Int { .. } | Type::Float { .. }) {
            return Ok(None);
        }
        let (format, start) = (self.format(), elements.start());
        let bytes = self.bytes_at(start, elements.bytes(self.name)?);
        let number = |bytes| number::from_bits(format, elements.item, read_uint(bytes, format.order()));
        let numbers = bytes.chunks_exact(format.size_of(elements.item)).map(number);
        Ok(Some(numbers.map(|number| number.expect("any bits are a number")).collect()))
    }

    /// The bytes of a string as text.
    pub(super) fn text(&self) -> Result<Option<&'a str>, DecodeError> {
        let bytes = self.text_bytes()?;
        bytes.map(std::str::from_utf8).transpose().map_err(|error| self.invalid(error, "UTF-8 text"))
    }

    /// A number, bool, character or enumeration value; `None` for other types.
    pub(super) fn scalar(&self) -> Result<Option<Scalar<'a>>, DecodeError> {
        if !matches!(
            self.ty,
            Type::Int { .. } | Type::Float { .. } | Type::Bool { .. } | Type::Char { .. } | Type::Enum(_)
        ) {
            return Ok(None);
        }
        let format = self.format();
        let bits = read_uint(self.bytes_at(self.at, format.size_of(self.ty)), format.order());
        if let Type::Enum(id) = self.ty {
            let number = number::enumeration_number(format.enumeration(*id), bits);
            return Ok(Some(Scalar::Enumeration(format.name_of(*id, number), number)));
        }
        number::from_bits(format, self.ty, bits)
            .map(|value| Some(Scalar::Number(value)))
            .map_err(|wanted| self.invalid(bits, wanted))
    }

    /// A number, name, text or bytes as a value.
    pub(crate) fn leaf(&self) -> Result<Value, DecodeError> {
        match self.scalar()? {
            Some(Scalar::Number(value)) => return Ok(value),
            Some(Scalar::Enumeration(Some(name), _)) => return Ok(Value::Enum(name.into())),
            Some(Scalar::Enumeration(None, number)) => return Ok(Value::Int(number)),
            None => {}
        }
        let Some(bytes) = self.text_bytes()? else { return Ok(Value::Null) };
        match self.ty {
            Type::Str => Ok(Value::Str(self.text()?.expect("a string is never null").into())),
            Type::CStr => Ok(std::str::from_utf8(bytes).map_or_else(|_| Value::Bytes(bytes.into()), Value::from)),
            _ => Ok(Value::Bytes(bytes.into())),
        }
    }

    fn reference(&self) -> Result<Option<usize>, DecodeError> {
        self.view
            .slots()
            .reference(self.view.body(), self.at)
            .map_err(|bad| DecodeError::bad_reference(bad, self.name, self.view.body().len()))
    }

    fn span(&self) -> Result<(usize, usize), DecodeError> {
        self.view
            .slots()
            .span(self.view.body(), self.at)
            .map_err(|bad| DecodeError::bad_reference(bad, self.name, self.view.body().len()))
    }

    fn bytes_at(&self, at: usize, len: usize) -> &'a [u8] {
        &self.view.body()[at..at + len]
    }

    pub(super) fn invalid(&self, found: impl ToString, wanted: &'static str) -> DecodeError {
        DecodeError::Invalid { path: self.name.into(), found: found.to_string(), wanted }
    }

    fn astray(&self, reason: String) -> DecodeError {
        DecodeError::Path { path: self.name.into(), reason }
    }
}
