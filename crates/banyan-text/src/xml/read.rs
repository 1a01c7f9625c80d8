//! XML elements to records.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::{BASE64, ENCODING, ITEM, MOST_ATTRIBUTES, NIL, REFERENCE, SHARED, unescape_name};
use crate::TextError;
use crate::error::line_and_column;
use crate::path::Depth;
use crate::reading::{Reading, Table, behind, may_be_null};
use crate::scalar::{parse_bytes, parse_char, parse_enum_name, parse_float, parse_float_word, parse_int, shown};
use banyan_ndr::internals::position_of;
use banyan_ndr::{DefId, DynRecord, Format, Limits, Type, Value};

pub(super) fn read(format: &Format, text: &str, limits: &Limits, skip_unknown: bool) -> Result<DynRecord, TextError> {
    // Positions are counted from behind a byte order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let root_type = format.root_type();
    let mut state = Reading::new(format, text, limits, skip_unknown);
    let mut entries = XmlEntries::default();
    let depth = Depth::root(limits);
    let root = Elements::new(&mut state, text, 0)
        .document(|elements, start| elements.element(start, &root_type, depth, Some(&mut entries)))?;
    let mut table = Table::new(entries.spans.len());
    while let Some((number, ty)) = state.next_shared() {
        state.path.enter_shared(number);
        let Some((from, to)) = entries.spans.get(number).copied() else {
            let has = entries.spans.len();
            return Err(unplaced(&state, text, format!("it is referred to, but {SHARED} has only {has}")));
        };
        let value = Elements::new(&mut state, &text[..to], from)
            .document(|elements, start| elements.element(start, ty, depth, None))?;
        table.set(number, value);
        state.path.leave();
    }
    let shared = table.finish().map_err(|number| {
        state.path.enter_shared(number);
        unplaced(&state, text, "nothing refers to it".into())
    })?;
    state.finish()?;
    Ok(DynRecord { format: format.clone(), root, shared })
}

fn unplaced(state: &Reading<'_>, text: &str, reason: String) -> TextError {
    let (line, column) = line_and_column(text, text.len());
    TextError::Value { path: state.path.to_string(), line, column, reason }
}

/// Where the shared values stand in the text. What they are is known when all that refers to them has been read.
#[derive(Default)]
struct XmlEntries {
    found: bool,
    spans: Vec<(usize, usize)>,
}

enum XmlReadFailure {
    Syntax(String),
    Value(String),
}

impl From<quick_xml::Error> for XmlReadFailure {
    fn from(error: quick_xml::Error) -> XmlReadFailure {
        XmlReadFailure::Syntax(error.to_string())
    }
}

impl From<String> for XmlReadFailure {
    fn from(reason: String) -> XmlReadFailure {
        XmlReadFailure::Value(reason)
    }
}

/// What the attributes of an element say.
#[derive(Default)]
struct Marks {
    nil: bool,
    reference: Option<u64>,
    base64: bool,
}

/// A reader of the elements of one part of the text.
struct Elements<'c, 'f, 't> {
    state: &'c mut Reading<'f>,
    xml: Reader<&'t [u8]>,
    text: &'t str,
    /// Where in the text the part begins.
    base: usize,
}

impl<'c, 'f, 't> Elements<'c, 'f, 't> {
    fn new(state: &'c mut Reading<'f>, text: &'t str, base: usize) -> Elements<'c, 'f, 't> {
        let mut xml = Reader::from_str(&text[base..]);
        xml.config_mut().expand_empty_elements = true;
        xml.config_mut().check_comments = true;
        Elements { state, xml, text, base }
    }

    /// Reads the one element of the part.
    fn document(
        mut self,
        read: impl FnOnce(&mut Self, BytesStart<'t>) -> Result<Value, XmlReadFailure>,
    ) -> Result<Value, TextError> {
        let result = self.only_element(read);
        result.map_err(|failure| {
            let (line, column) = line_and_column(self.text, self.position());
            match failure {
                XmlReadFailure::Syntax(reason) => TextError::Syntax { line, column, reason },
                XmlReadFailure::Value(reason) => {
                    TextError::Value { path: self.state.path.or(self.state.format.name()), line, column, reason }
                }
            }
        })
    }

    fn only_element(
        &mut self,
        read: impl FnOnce(&mut Self, BytesStart<'t>) -> Result<Value, XmlReadFailure>,
    ) -> Result<Value, XmlReadFailure> {
        let start = loop {
            match self.xml.read_event()? {
                Event::Decl(_) if self.base == 0 => {}
                Event::Start(start) => break start,
                event => self.pass(event)?,
            }
        };
        let value = read(self, start)?;
        loop {
            match self.xml.read_event()? {
                Event::Eof => return Ok(value),
                event => self.pass(event)?,
            }
        }
    }

    fn position(&self) -> usize {
        self.base + usize::try_from(self.xml.buffer_position()).unwrap_or(usize::MAX - self.base)
    }

    /// Passes over what may stand between elements; all else is an error.
    fn pass(&self, event: Event<'_>) -> Result<(), XmlReadFailure> {
        match event {
            Event::Comment(_) => Ok(()),
            Event::Text(text) if text.xml10_content().trim_ascii().is_empty() => Ok(()),
            Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => {
                Err(XmlReadFailure::Value("text where only elements can be".into()))
            }
            Event::DocType(_) => Err(XmlReadFailure::Syntax("a document type is not allowed".into())),
            Event::PI(_) | Event::Decl(_) => {
                Err(XmlReadFailure::Syntax("a processing instruction is not allowed".into()))
            }
            Event::Eof => Err(XmlReadFailure::Syntax("the text ends in the middle".into())),
            Event::Start(_) | Event::Empty(_) => Err(XmlReadFailure::Value("an element where none can be".into())),
            Event::End(_) => Err(XmlReadFailure::Value("an element is missing".into())),
        }
    }

    /// The next element within the current one; `None` at its end.
    fn next(&mut self) -> Result<Option<BytesStart<'t>>, XmlReadFailure> {
        loop {
            match self.xml.read_event()? {
                Event::Start(start) => return Ok(Some(start)),
                Event::End(_) => return Ok(None),
                event => self.pass(event)?,
            }
        }
    }

    fn marks(&self, start: &BytesStart<'_>) -> Result<Marks, XmlReadFailure> {
        let mut marks = Marks::default();
        for (number, attribute) in start.attributes().enumerate() {
            if number == MOST_ATTRIBUTES {
                return Err(XmlReadFailure::Syntax(format!("an element has more than {MOST_ATTRIBUTES} attributes")));
            }
            let attribute = attribute.map_err(|error| XmlReadFailure::Syntax(error.to_string()))?;
            let (key, value): (&str, &str) = (attribute.key.as_ref(), &attribute.value);
            match (key, value) {
                (NIL, "true" | "1") => marks.nil = true,
                (NIL, "false" | "0") | ("xsi:schemaLocation" | "xsi:noNamespaceSchemaLocation", _) => {}
                (REFERENCE, number) => {
                    let number = number.parse().map_err(|_| format!("{} is not a number", shown(number)))?;
                    marks.reference = Some(number);
                }
                (ENCODING, BASE64) => marks.base64 = true,
                _ if key == "xmlns" || key.starts_with("xmlns:") => {}
                _ => return Err(XmlReadFailure::Value(format!("attribute {}={} is unknown", key, shown(value)))),
            }
        }
        Ok(marks)
    }

    /// Reads the rest of an element, of which `start` was read, as a value of type `ty`.
    fn element(
        &mut self,
        start: BytesStart<'t>,
        ty: &'f Type,
        depth: Depth,
        mut table: Option<&mut XmlEntries>,
    ) -> Result<Value, XmlReadFailure> {
        let marks = self.marks(&start)?;
        let inner = behind(ty);
        if marks.base64 && !matches!(inner, Type::CStr) {
            return Err(XmlReadFailure::Value(format!("{ENCODING} is only for C strings")));
        }
        if let Some(number) = marks.reference {
            let value = self.state.refer(number, ty)?;
            return match self.next_field(&mut table)? {
                None => Ok(value),
                Some(_) => Err(XmlReadFailure::Value(format!("an element in one with {REFERENCE}"))),
            };
        }
        if marks.nil {
            if !may_be_null(ty) {
                return Err(XmlReadFailure::Value(format!("nil where the format has {}", self.type_name(ty))));
            }
            return self
                .next()?
                .map_or(Ok(Value::Null), |_| Err(XmlReadFailure::Value("an element in one that is nil".into())));
        }
        match inner {
            Type::Record(id) => self.record(*id, depth.record()?, table),
            Type::Variant(id) => self.variant(*id, depth.record()?, table),
            Type::List { item } => self.items(item, &[None], depth),
            Type::Array { item, dims, .. } => {
                self.items(item, &dims.iter().copied().map(Some).collect::<Vec<_>>(), depth)
            }
            Type::Sized { item, dims, .. } => self.items(item, &vec![None; dims.len()], depth),
            _ => {
                let text = self.text()?;
                Ok(self.scalar(inner, &text, marks.base64)?)
            }
        }
    }

    /// The next element that is not the table of shared values, which is noted.
    fn next_field(&mut self, table: &mut Option<&mut XmlEntries>) -> Result<Option<BytesStart<'t>>, XmlReadFailure> {
        while let Some(start) = self.next()? {
            let Some(entries) = table.as_deref_mut().filter(|_| start.name().as_ref() == SHARED) else {
                return Ok(Some(start));
            };
            if std::mem::replace(&mut entries.found, true) {
                return Err(XmlReadFailure::Value(format!("{SHARED} stands here twice")));
            }
            let mut from = self.position();
            while let Some(item) = self.next()? {
                if item.name().as_ref() != ITEM {
                    return Err(XmlReadFailure::Value(format!("{} in {SHARED}", shown(item.name().as_ref()))));
                }
                self.xml.read_to_end(item.name())?;
                entries.spans.push((from, self.position()));
                from = self.position();
            }
        }
        Ok(None)
    }

    fn record(&mut self, id: DefId, depth: Depth, mut table: Option<&mut XmlEntries>) -> Result<Value, XmlReadFailure> {
        let record = self.state.format.record(id);
        let mut values: Vec<Option<Value>> = vec![None; record.fields.len()];
        let mut expected = 0;
        while let Some(start) = self.next_field(&mut table)? {
            let name = name_of(&start);
            match position_of(self.state.format, id, expected, &name) {
                Some(position) if values[position].is_some() => {
                    return Err(XmlReadFailure::Value(format!("{} stands here twice", shown(&name))));
                }
                Some(position) => {
                    let field = &record.fields[position];
                    self.state.path.enter(&field.name);
                    values[position] = Some(self.element(start, &field.ty, depth, None)?);
                    self.state.path.leave();
                    expected = position + 1;
                }
                None => {
                    self.state.unknown(&name);
                    self.xml.read_to_end(start.name())?;
                }
            }
        }
        Ok(self.state.complete(record, values)?)
    }

    fn variant(
        &mut self,
        id: DefId,
        depth: Depth,
        mut table: Option<&mut XmlEntries>,
    ) -> Result<Value, XmlReadFailure> {
        let variant = self.state.format.variant(id);
        let Some(start) = self.next_field(&mut table)? else {
            return Err(XmlReadFailure::Value(format!("no case of {}", variant.name)));
        };
        let name = name_of(&start);
        let case = self.state.format.case_of(id, &name);
        let case = case.ok_or_else(|| format!("{} is no case of {}", shown(&name), variant.name))?;
        self.state.path.enter(&case.name);
        let payload = match &case.payload {
            Some(ty) => Some(Box::new(self.element(start, ty, depth, None)?)),
            None => match self.next()? {
                None => None,
                Some(_) => return Err(XmlReadFailure::Value("an element in a case without payload".into())),
            },
        };
        self.state.path.leave();
        match self.next_field(&mut table)? {
            None => Ok(Value::Case(case.name.clone(), payload)),
            Some(_) => Err(XmlReadFailure::Value(format!("an element beside case {}: a variant has one", case.name))),
        }
    }

    fn items(&mut self, item: &'f Type, dims: &[Option<u32>], depth: Depth) -> Result<Value, XmlReadFailure> {
        let depth = depth.level()?;
        let mut items = Vec::new();
        while let Some(start) = self.next()? {
            if start.name().as_ref() != ITEM {
                return Err(XmlReadFailure::Value(format!(
                    "{} where only {ITEM} can be",
                    shown(start.name().as_ref())
                )));
            }
            self.state.path.enter_item(items.len());
            items.push(match &dims[1..] {
                [] => self.element(start, item, depth, None)?,
                further => self.items(item, further, depth)?,
            });
            self.state.path.leave();
        }
        match dims[0] {
            Some(len) if items.len() as u64 != u64::from(len) => {
                Err(XmlReadFailure::Value(format!("{} items where the format has {len}", items.len())))
            }
            _ => Ok(Value::List(items)),
        }
    }

    /// The text of an element that has no elements, up to its end.
    fn text(&mut self) -> Result<String, XmlReadFailure> {
        let mut text = String::new();
        loop {
            match self.xml.read_event()? {
                Event::Text(part) => text.push_str(&part.xml10_content()),
                Event::CData(part) => text.push_str(&part.xml10_content()),
                Event::GeneralRef(entity) => match entity.resolve_char_ref()? {
                    Some(char) => text.push(char),
                    None => {
                        let name = entity.into_inner();
                        let known = quick_xml::escape::resolve_predefined_entity(&name);
                        let known = known
                            .ok_or_else(|| XmlReadFailure::Syntax(format!("entity {} is unknown", shown(&name))))?;
                        text.push_str(known);
                    }
                },
                Event::Comment(_) => {}
                Event::End(_) => break,
                event => self.pass(event)?,
            }
        }
        Ok(match unescape_name(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(text) => text,
        })
    }

    fn scalar(&mut self, ty: &Type, text: &str, base64: bool) -> Result<Value, String> {
        let word = text.trim_ascii();
        match ty {
            Type::Int { width, signed } => parse_int(word, *width, *signed),
            Type::Float { width } => parse_float(word, *width).or_else(|error| {
                let first = word.trim_start_matches('-').bytes().next();
                if first.is_some_and(|byte| byte.is_ascii_digit()) {
                    Err(error)
                } else {
                    parse_float_word(word, *width)
                }
            }),
            Type::Bool { .. } => match word {
                "true" | "1" => Ok(Value::Bool(true)),
                "false" | "0" => Ok(Value::Bool(false)),
                _ => Err(format!("{} is neither true nor false", shown(word))),
            },
            Type::Char { width } => parse_char(text, *width),
            Type::Enum(id) => {
                let format = self.state.format;
                match text.strip_prefix('#') {
                    Some(name) if name.starts_with('#') => parse_enum_name(name, format, *id),
                    Some(number) => self.state.enum_number(number, *id),
                    None => parse_enum_name(text, format, *id),
                }
            }
            Type::Bytes => parse_bytes(word).map(Value::Bytes),
            Type::CStr if base64 => {
                let bytes = parse_bytes(word)?;
                if bytes.contains(&0) {
                    return Err("a C string cannot contain a zero byte".into());
                }
                Ok(String::from_utf8(bytes).map_or_else(|error| Value::Bytes(error.into_bytes()), Value::Str))
            }
            Type::CStr if text.contains('\0') => Err("a C string cannot contain U+0000".into()),
            _ => Ok(Value::Str(text.to_owned())),
        }
    }

    fn type_name(&self, ty: &Type) -> String {
        self.state.format.type_name(ty)
    }
}

fn name_of(start: &BytesStart<'_>) -> String {
    unescape_name(start.name().as_ref()).into_owned()
}
