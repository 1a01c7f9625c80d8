//! Records to XML elements.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesStart, BytesText, Event};

use super::{BASE64, ENCODING, ITEM, NIL, REFERENCE, SHARED, XSI, escape_name, escape_text};
use crate::TextError;
use crate::path::Depth;
use crate::path::Path;
use crate::scalar::{Infinity, bytes_text, float_text};
use crate::sharing::Sharing;
use banyan_ndr::internals::FieldValues;
use banyan_ndr::{DefId, DynRecord, Format, Limits, Type, Value};

pub(super) fn to_string(record: &DynRecord, pretty: bool) -> Result<String, TextError> {
    let out = if pretty { Writer::new_with_indent(Vec::new(), b' ', 2) } else { Writer::new(Vec::new()) };
    let bytes = write(record, out)?;
    Ok(String::from_utf8(bytes).expect("all that is written is UTF-8"))
}

pub(super) fn write<W: io::Write>(record: &DynRecord, out: Writer<W>) -> Result<W, TextError> {
    let root_type = record.format.root_type();
    let sharing = Sharing::of(&record.format, &root_type, &record.root, &record.shared);
    let mut writing = XmlWriting { format: &record.format, sharing, path: Path::default(), out };
    let mut start = BytesStart::new(escape_name(record.format.name()).into_owned());
    start.push_attribute(("xmlns:xsi", XSI));
    let depth = Depth::root(&Limits::default());
    match writing.element(start, &root_type, &record.root, depth, true) {
        Ok(()) => Ok(writing.out.into_inner()),
        Err(XmlWriteFailure::Io(error)) => Err(TextError::Io(error)),
        Err(XmlWriteFailure::Value(reason)) => {
            Err(TextError::Unwritable { path: writing.path.or(record.format.name()), reason })
        }
    }
}

enum XmlWriteFailure {
    Io(io::Error),
    Value(String),
}

impl From<io::Error> for XmlWriteFailure {
    fn from(error: io::Error) -> XmlWriteFailure {
        XmlWriteFailure::Io(error)
    }
}

impl From<String> for XmlWriteFailure {
    fn from(reason: String) -> XmlWriteFailure {
        XmlWriteFailure::Value(reason)
    }
}

struct XmlWriting<'a, W> {
    format: &'a Format,
    sharing: Sharing<'a>,
    path: Path<'a>,
    out: Writer<W>,
}

impl<'a, W: io::Write> XmlWriting<'a, W> {
    /// Writes the element that `start` begins, with a value of type `ty` in it.
    fn element(
        &mut self,
        mut start: BytesStart<'_>,
        ty: &'a Type,
        value: &'a Value,
        depth: Depth,
        is_root: bool,
    ) -> Result<(), XmlWriteFailure> {
        let nullable = matches!(ty, Type::Optional { .. } | Type::CStr | Type::Ref { nullable: true, .. });
        match (ty, value) {
            (_, Value::Shared(key)) => {
                let number = self.sharing.number(*key).ok_or_else(|| format!("there is no shared value {key}"))?;
                start.push_attribute((REFERENCE, number.to_string().as_str()));
                if is_root {
                    return self.container(start, is_root, depth, |_| Ok(()));
                }
                Ok(self.out.write_event(Event::Empty(start))?)
            }
            (_, Value::Null) if nullable => {
                start.push_attribute((NIL, "true"));
                Ok(self.out.write_event(Event::Empty(start))?)
            }
            (Type::Optional { item, .. } | Type::Ref { item, .. }, _) => {
                self.element(start, item, value, depth.level()?, is_root)
            }
            (Type::Record(_), Value::Record(fields)) if fields.is_empty() && !is_root => {
                Ok(self.out.write_event(Event::Empty(start))?)
            }
            (Type::Record(_) | Type::Variant(_), _) => {
                let inner = depth.record()?;
                self.container(start, is_root, depth, |writing| writing.definition(ty, value, inner))
            }
            (Type::List { item }, Value::List(items)) => self.list(start, item, items, 1, depth),
            (Type::Array { item, dims, .. }, Value::List(items)) => self.list(start, item, items, dims.len(), depth),
            (Type::Sized { item, dims, .. }, Value::List(items)) => self.list(start, item, items, dims.len(), depth),
            (Type::CStr, Value::Bytes(bytes)) => {
                start.push_attribute((ENCODING, BASE64));
                self.text(start, &bytes_text(bytes))
            }
            _ => {
                let text = self.scalar(ty, value)?;
                self.text(start, &text)
            }
        }
    }

    /// An element with elements in it; the root's last one is the table of shared values.
    fn container(
        &mut self,
        start: BytesStart<'_>,
        is_root: bool,
        depth: Depth,
        content: impl FnOnce(&mut Self) -> Result<(), XmlWriteFailure>,
    ) -> Result<(), XmlWriteFailure> {
        self.out.write_event(Event::Start(start.borrow()))?;
        content(self)?;
        if is_root && !self.sharing.entries().is_empty() {
            self.out.write_event(Event::Start(BytesStart::new(SHARED)))?;
            for number in 0..self.sharing.entries().len() {
                let (ty, value) = self.sharing.entries()[number];
                self.path.enter_shared(number);
                self.element(BytesStart::new(ITEM), ty, value, depth, false)?;
                self.path.leave();
            }
            self.out.write_event(Event::End(BytesStart::new(SHARED).to_end()))?;
        }
        Ok(self.out.write_event(Event::End(start.to_end()))?)
    }

    fn definition(&mut self, ty: &'a Type, value: &'a Value, depth: Depth) -> Result<(), XmlWriteFailure> {
        match (ty, value) {
            (Type::Record(id), Value::Record(values)) => self.fields(*id, values, depth),
            (Type::Variant(id), Value::Case(name, payload)) => {
                let case = self.format.case_of(*id, name);
                let case = case.ok_or_else(|| format!("{name} is no case of {}", self.format.variant(*id).name))?;
                let start = BytesStart::new(escape_name(&case.name));
                self.path.enter(&case.name);
                match (&case.payload, payload) {
                    (None, None) => self.out.write_event(Event::Empty(start))?,
                    (Some(ty), Some(value)) => self.element(start, ty, value, depth, false)?,
                    _ => return Err(XmlWriteFailure::Value("its payload is there or not, against the format".into())),
                }
                self.path.leave();
                Ok(())
            }
            _ => Err(self.misfit(ty)),
        }
    }

    fn fields(&mut self, id: DefId, values: &'a [(String, Value)], depth: Depth) -> Result<(), XmlWriteFailure> {
        let given = FieldValues::new(self.format, id, values);
        if let Some(name) = given.unknown {
            return Err(XmlWriteFailure::Value(format!("the format has no field {name}")));
        }
        for (field, value) in self.format.record(id).fields.iter().zip(given.values) {
            self.path.enter(&field.name);
            let value = value.ok_or_else(|| "the record has no value for it".to_owned())?;
            self.element(BytesStart::new(escape_name(&field.name)), &field.ty, value, depth, false)?;
            self.path.leave();
        }
        Ok(())
    }

    fn list(
        &mut self,
        start: BytesStart<'_>,
        item: &'a Type,
        items: &'a [Value],
        rank: usize,
        depth: Depth,
    ) -> Result<(), XmlWriteFailure> {
        let depth = depth.level()?;
        self.out.write_event(Event::Start(start.borrow()))?;
        for (index, value) in items.iter().enumerate() {
            self.path.enter_item(index);
            match value {
                Value::List(items) if rank > 1 => self.list(BytesStart::new(ITEM), item, items, rank - 1, depth)?,
                _ if rank > 1 => return Err(XmlWriteFailure::Value("the value is no list".into())),
                _ => self.element(BytesStart::new(ITEM), item, value, depth, false)?,
            }
            self.path.leave();
        }
        Ok(self.out.write_event(Event::End(start.to_end()))?)
    }

    fn text(&mut self, start: BytesStart<'_>, text: &str) -> Result<(), XmlWriteFailure> {
        let text = escape_text(text);
        let mut escaped = quick_xml::escape::escape(text);
        if escaped.contains('\r') {
            // A reader takes a bare carriage return for a line feed.
            escaped = escaped.replace('\r', "&#13;").into();
        }
        self.out.write_event(Event::Start(start.borrow()))?;
        self.out.write_event(Event::Text(BytesText::from_escaped(escaped)))?;
        Ok(self.out.write_event(Event::End(start.to_end()))?)
    }

    fn scalar(&self, ty: &Type, value: &Value) -> Result<String, XmlWriteFailure> {
        Ok(match (ty, value) {
            (Type::Int { .. }, Value::Int(value)) => value.to_string(),
            (Type::Int { .. }, Value::UInt(value)) => value.to_string(),
            (Type::Float { width }, _) => float_text(value, *width, Infinity::Upper).ok_or_else(|| self.misfit(ty))?,
            (Type::Bool { .. }, Value::Bool(value)) => value.to_string(),
            (Type::Char { .. }, Value::Char(value)) => value.to_string(),
            (Type::Enum(id), Value::Enum(name)) if self.format.value_of(*id, name).is_some() => {
                // The sign of a number without a name must not begin a name.
                match name.strip_prefix('#') {
                    Some(rest) => format!("##{rest}"),
                    None => name.clone(),
                }
            }
            (Type::Enum(_), Value::Int(value)) => format!("#{value}"),
            (Type::Str | Type::CStr, Value::Str(text)) => text.clone(),
            (Type::Bytes, Value::Bytes(bytes)) => bytes_text(bytes),
            _ => return Err(self.misfit(ty)),
        })
    }

    fn misfit(&self, ty: &Type) -> XmlWriteFailure {
        XmlWriteFailure::Value(format!("the value is no {}", self.format.type_name(ty)))
    }
}
