//! The canonical encoding of a format (`docs/wire.md`, "Descriptions"): numbers as LEB128, texts counted.

use super::check::{FormatError, limit};
use super::types::{
    ByteOrder, Case, DefId, Definition, Dim, EnumerationDef, Field, Meter, Order, PointerWidth, RecordDef, Type,
    VariantDef,
};
use crate::Limits;

const VERSION: u8 = 1;

const RECORD: u8 = 0;
const VARIANT: u8 = 1;
const ENUMERATION: u8 = 2;

const HAS_UNIT: u8 = 1;
const HAS_DESCRIPTION: u8 = 2;
const IS_COUNTER: u8 = 4;
const IS_GAUGE: u8 = 8;

pub(super) fn encode(order: ByteOrder, pointer: PointerWidth, definitions: &[Definition]) -> Vec<u8> {
    let order = u8::from(order == ByteOrder::Big);
    let mut out = FormatWriter(vec![VERSION, order, pointer.bytes() as u8]);
    out.number(definitions.len() as u64);
    for definition in definitions {
        match definition {
            Definition::Record(record) => out.record(record),
            Definition::Variant(variant) => out.variant(variant),
            Definition::Enumeration(enumeration) => out.enumeration(enumeration),
        }
    }
    out.0
}

struct FormatWriter(Vec<u8>);

impl FormatWriter {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn record(&mut self, record: &RecordDef) {
        self.byte(RECORD);
        self.text(&record.name);
        self.number(u64::from(record.size));
        self.number(u64::from(record.align));
        self.number(record.fields.len() as u64);
        for field in &record.fields {
            self.text(&field.name);
            self.number(u64::from(field.offset));
            self.ty(&field.ty);
            self.remarks(field);
        }
    }

    fn remarks(&mut self, field: &Field) {
        let mut flags = 0;
        flags |= if field.unit.is_some() { HAS_UNIT } else { 0 };
        flags |= if field.description.is_some() { HAS_DESCRIPTION } else { 0 };
        flags |= match field.meter {
            None => 0,
            Some(Meter::Counter) => IS_COUNTER,
            Some(Meter::Gauge) => IS_GAUGE,
        };
        self.byte(flags);
        for text in [&field.unit, &field.description].into_iter().flatten() {
            self.text(text);
        }
    }

    fn variant(&mut self, variant: &VariantDef) {
        self.byte(VARIANT);
        self.text(&variant.name);
        self.number(u64::from(variant.size));
        self.number(u64::from(variant.align));
        self.byte(variant.tag_width);
        self.number(u64::from(variant.payload_at));
        self.number(variant.cases.len() as u64);
        for case in &variant.cases {
            self.text(&case.name);
            self.number(case.tag);
            self.byte(u8::from(case.payload.is_some()));
            if let Some(payload) = &case.payload {
                self.ty(payload);
            }
        }
    }

    fn enumeration(&mut self, enumeration: &EnumerationDef) {
        self.byte(ENUMERATION);
        self.text(&enumeration.name);
        self.byte(enumeration.width);
        self.byte(u8::from(enumeration.signed));
        self.number(enumeration.names.len() as u64);
        for (name, value) in &enumeration.names {
            self.text(name);
            // The low 64 bits say all: the width and sign above give the rest back.
            self.number(*value as u64);
        }
    }

    fn ty(&mut self, ty: &Type) {
        match ty {
            Type::Int { width, signed: false } => self.0.extend([0, *width]),
            Type::Int { width, signed: true } => self.0.extend([1, *width]),
            Type::Float { width } => self.0.extend([2, *width]),
            Type::Bool { width } => self.0.extend([3, *width]),
            Type::Char { width } => self.0.extend([4, *width]),
            Type::Enum(id) => self.with_id(5, *id),
            Type::Str => self.byte(6),
            Type::CStr => self.byte(7),
            Type::Bytes => self.byte(8),
            Type::Record(id) => self.with_id(9, *id),
            Type::Variant(id) => self.with_id(10, *id),
            Type::Optional { item, value_at, size } => {
                self.byte(11);
                self.number(u64::from(*value_at));
                self.number(u64::from(*size));
                self.ty(item);
            }
            Type::Ref { item, nullable, shared } => {
                self.0.extend([12, u8::from(*nullable) | u8::from(*shared) << 1]);
                self.ty(item);
            }
            Type::Array { item, dims, order } => {
                self.0.extend([13, u8::from(*order == Order::Column)]);
                self.number(dims.len() as u64);
                dims.iter().for_each(|dim| self.number(u64::from(*dim)));
                self.ty(item);
            }
            Type::List { item } => {
                self.byte(14);
                self.ty(item);
            }
            Type::Sized { item, dims, order } => {
                self.0.extend([15, u8::from(*order == Order::Column)]);
                self.number(dims.len() as u64);
                for dim in dims {
                    let (kind, number) = match dim {
                        Dim::Fixed(length) => (0, u64::from(*length)),
                        Dim::Field(index) => (1, u64::from(*index)),
                    };
                    self.byte(kind);
                    self.number(number);
                }
                self.ty(item);
            }
        }
    }

    fn with_id(&mut self, kind: u8, id: DefId) {
        self.byte(kind);
        self.number(u64::from(id.0));
    }
}

type Decoded = (ByteOrder, PointerWidth, Vec<Definition>);

pub(super) fn decode(bytes: &[u8], limits: &Limits) -> Result<Decoded, FormatError> {
    limit("the format description", bytes.len(), limits.format_bytes, "format_bytes")?;
    let mut input = FormatReader { bytes, at: 0, limits };
    input.one_of("version of format descriptions", |version| (version == VERSION).then_some(()))?;
    let order = input.one_of("byte order", |order| match order {
        0 => Some(ByteOrder::Little),
        1 => Some(ByteOrder::Big),
        _ => None,
    })?;
    let pointer = input.one_of("pointer width", |width| match width {
        4 => Some(PointerWidth::Four),
        8 => Some(PointerWidth::Eight),
        _ => None,
    })?;
    let definitions =
        input.list("definitions of the format", limits.definitions, "definitions", FormatReader::definition)?;
    if input.at != bytes.len() {
        return Err(FormatError::NotCanonical);
    }
    Ok((order, pointer, definitions))
}

struct FormatReader<'a> {
    bytes: &'a [u8],
    at: usize,
    limits: &'a Limits,
}

impl FormatReader<'_> {
    fn byte(&mut self, what: &'static str) -> Result<u8, FormatError> {
        let byte = *self.bytes.get(self.at).ok_or(FormatError::Truncated { at: self.at, what })?;
        self.at += 1;
        Ok(byte)
    }

    fn one_of<T>(&mut self, what: &'static str, meaning: impl Fn(u8) -> Option<T>) -> Result<T, FormatError> {
        let byte = self.byte(what)?;
        meaning(byte).ok_or(FormatError::Unknown { at: self.at - 1, found: u64::from(byte), what })
    }

    fn flag(&mut self, what: &'static str) -> Result<bool, FormatError> {
        self.one_of(what, |byte| if byte < 2 { Some(byte == 1) } else { None })
    }

    fn number(&mut self, what: &'static str) -> Result<u64, FormatError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(what)?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(FormatError::Unknown { at: self.at - 1, found: number, what })
    }

    fn small<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, FormatError> {
        let at = self.at;
        let found = self.number(what)?;
        T::try_from(found).map_err(|_| FormatError::Unknown { at, found, what })
    }

    fn text(&mut self, what: &'static str) -> Result<String, FormatError> {
        let at = self.at;
        let len: usize = self.small(what)?;
        limit(what, len, self.limits.name_bytes, "name_bytes")?;
        let end = self.at.checked_add(len).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(FormatError::Truncated { at: self.bytes.len(), what })?;
        let text = std::str::from_utf8(&self.bytes[self.at..end]);
        let text = text.map_err(|_| FormatError::Unknown { at, found: len as u64, what: "UTF-8 text" })?;
        self.at = end;
        Ok(text.to_owned())
    }

    /// A counted list. Each entry takes at least one byte, so memory stays in proportion to the input.
    fn list<T>(
        &mut self,
        what: &'static str,
        most: usize,
        name: &'static str,
        mut entry: impl FnMut(&mut Self) -> Result<T, FormatError>,
    ) -> Result<Vec<T>, FormatError> {
        let count: usize = self.small(what)?;
        limit(what, count, most, name)?;
        if count > self.bytes.len() - self.at {
            return Err(FormatError::Truncated { at: self.bytes.len(), what });
        }
        (0..count).map(|_| entry(self)).collect()
    }

    fn definition(&mut self) -> Result<Definition, FormatError> {
        match self.one_of("kind of definition", |kind| (kind <= ENUMERATION).then_some(kind))? {
            RECORD => self.record().map(Definition::Record),
            VARIANT => self.variant().map(Definition::Variant),
            _ => self.enumeration().map(Definition::Enumeration),
        }
    }

    fn record(&mut self) -> Result<RecordDef, FormatError> {
        Ok(RecordDef {
            name: self.text("the name of a record")?,
            size: self.small("the size of a record")?,
            align: self.small("the alignment of a record")?,
            fields: self.list("the fields of a record", self.limits.fields, "fields", Self::field)?,
        })
    }

    fn field(&mut self) -> Result<Field, FormatError> {
        let name = self.text("the name of a field")?;
        let offset = self.small("the offset of a field")?;
        let ty = self.ty(0)?;
        let flags = self.one_of("set of remarks on a field", |flags| (flags < 12).then_some(flags))?;
        let unit = (flags & HAS_UNIT != 0).then(|| self.text("a unit")).transpose()?;
        let description = (flags & HAS_DESCRIPTION != 0).then(|| self.text("a description")).transpose()?;
        let meter = match flags & (IS_COUNTER | IS_GAUGE) {
            IS_COUNTER => Some(Meter::Counter),
            IS_GAUGE => Some(Meter::Gauge),
            _ => None,
        };
        Ok(Field { unit, description, meter, ..Field::new(name, offset, ty) })
    }

    fn variant(&mut self) -> Result<VariantDef, FormatError> {
        Ok(VariantDef {
            name: self.text("the name of a variant")?,
            size: self.small("the size of a variant")?,
            align: self.small("the alignment of a variant")?,
            tag_width: self.byte("the width of a tag")?,
            payload_at: self.small("the place of a payload")?,
            cases: self.list("the cases of a variant", self.limits.fields, "fields", Self::case)?,
        })
    }

    fn case(&mut self) -> Result<Case, FormatError> {
        Ok(Case {
            name: self.text("the name of a case")?,
            tag: self.number("a tag")?,
            payload: self.flag("sign of a payload")?.then(|| self.ty(0)).transpose()?,
        })
    }

    fn enumeration(&mut self) -> Result<EnumerationDef, FormatError> {
        let name = self.text("the name of an enumeration")?;
        let width = self.byte("the width of an enumeration")?;
        let signed = self.flag("sign of an enumeration")?;
        let names = self.list("the names of an enumeration", self.limits.fields, "fields", |input| {
            let name = input.text("the name of a value")?;
            let value = input.number("the value of a name")?;
            Ok((name, if signed { i128::from(value as i64) } else { i128::from(value) }))
        })?;
        Ok(EnumerationDef { name, width, signed, names })
    }

    fn ty(&mut self, depth: usize) -> Result<Type, FormatError> {
        limit("the nesting of a type", depth, self.limits.type_depth, "type_depth")?;
        let kind = self.one_of("kind of type", |kind| (kind <= 15).then_some(kind))?;
        Ok(match kind {
            0 | 1 => Type::Int { width: self.byte("the width of an integer")?, signed: kind == 1 },
            2 => Type::Float { width: self.byte("the width of a float")? },
            3 => Type::Bool { width: self.byte("the width of a bool")? },
            4 => Type::Char { width: self.byte("the width of a char")? },
            5 => Type::Enum(DefId(self.small("a definition")?)),
            6 => Type::Str,
            7 => Type::CStr,
            8 => Type::Bytes,
            9 => Type::Record(DefId(self.small("a definition")?)),
            10 => Type::Variant(DefId(self.small("a definition")?)),
            11 => Type::Optional {
                value_at: self.small("the place of an optional value")?,
                size: self.small("the size of an optional value")?,
                item: Box::new(self.ty(depth + 1)?),
            },
            12 => {
                let flags = self.one_of("set of pointer flags", |flags| (flags < 4).then_some(flags))?;
                let item = Box::new(self.ty(depth + 1)?);
                Type::Ref { item, nullable: flags & 1 != 0, shared: flags & 2 != 0 }
            }
            13 => Type::Array {
                order: self.order()?,
                dims: self.list("the dimensions of an array", self.limits.dimensions, "dimensions", |input| {
                    input.small("a dimension")
                })?,
                item: Box::new(self.ty(depth + 1)?),
            },
            14 => Type::List { item: Box::new(self.ty(depth + 1)?) },
            _ => Type::Sized {
                order: self.order()?,
                dims: self.list("the dimensions of an array", self.limits.dimensions, "dimensions", |input| {
                    Ok(match input.flag("kind of dimension")? {
                        false => Dim::Fixed(input.small("a dimension")?),
                        true => Dim::Field(input.small("the field of a dimension")?),
                    })
                })?,
                item: Box::new(self.ty(depth + 1)?),
            },
        })
    }

    fn order(&mut self) -> Result<Order, FormatError> {
        Ok(if self.flag("order of an array")? { Order::Column } else { Order::Row })
    }
}
