//! A schema document as a tree of elements: made and written, or parsed and looked at.

use quick_xml::events::{BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

use super::super::SchemaError;
use crate::xml_names::MOST_ATTRIBUTES;

/// The namespace of XML Schema.
pub(super) const XS: &str = "http://www.w3.org/2001/XMLSchema";

/// Deepest nesting of elements in a schema.
const DEPTH: usize = 96;

/// An element.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// Without its prefix; elements that are not of XML Schema have none.
    pub(super) name: String,
    attributes: Vec<(String, String)>,
    pub(super) children: Vec<Node>,
    pub(super) text: String,
}

impl Node {
    /// An element of XML Schema.
    pub(super) fn new(name: &str) -> Node {
        Node { name: name.into(), ..Node::default() }
    }

    /// With an attribute more.
    pub(super) fn with(mut self, name: &str, value: impl ToString) -> Node {
        self.attributes.push((name.into(), value.to_string()));
        self
    }

    /// With an element more in it.
    pub(super) fn holding(mut self, child: Node) -> Node {
        self.children.push(child);
        self
    }

    /// With more elements in it.
    pub(super) fn holding_all(mut self, children: impl IntoIterator<Item = Node>) -> Node {
        self.children.extend(children);
        self
    }

    /// With text in it.
    pub(super) fn saying(mut self, text: &str) -> Node {
        self.text = text.into();
        self
    }

    /// An attribute, by its name as it is written.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The first element of a name in it.
    pub(super) fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All but annotations.
    pub(super) fn content(&self) -> impl Iterator<Item = &Node> {
        self.children.iter().filter(|child| child.name != "annotation")
    }

    /// As text, indented.
    pub(super) fn to_text(&self) -> String {
        let mut out = Writer::new_with_indent(Vec::new(), b' ', 2);
        self.write(&mut out).expect("a vector takes everything");
        String::from_utf8(out.into_inner()).expect("all that is written is UTF-8") + "\n"
    }

    fn write(&self, out: &mut Writer<Vec<u8>>) -> std::io::Result<()> {
        let mut start = BytesStart::new(format!("xs:{}", self.name));
        for (name, value) in &self.attributes {
            start.push_attribute((name.as_str(), value.as_str()));
        }
        if self.children.is_empty() && self.text.is_empty() {
            return out.write_event(Event::Empty(start));
        }
        out.write_event(Event::Start(start.borrow()))?;
        if !self.text.is_empty() {
            out.write_event(Event::Text(BytesText::new(&self.text)))?;
        }
        self.children.iter().try_for_each(|child| child.write(out))?;
        out.write_event(Event::End(start.to_end()))
    }

    /// Parses a document. The prefix of XML Schema may be any, or none, if the root declares it.
    pub(super) fn parse(text: &str) -> Result<Node, SchemaError> {
        let mut xml = Reader::from_str(text);
        xml.config_mut().expand_empty_elements = true;
        let mut open: Vec<Node> = vec![Node::default()];
        let mut prefix = None;
        loop {
            let event = xml.read_event().map_err(|error| SchemaError::Syntax(error.to_string()))?;
            let node = open.last_mut().expect("the outermost is never closed");
            match event {
                Event::Start(start) => {
                    let attributes = attributes(&start)?;
                    let prefix = prefix.get_or_insert_with(|| prefix_of(&attributes));
                    let full = start.name().as_ref().to_owned();
                    let name = full.strip_prefix(prefix.as_str()).filter(|name| !name.contains(':'));
                    let name = name.unwrap_or_default().to_owned();
                    if open.len() > DEPTH {
                        return Err(SchemaError::Syntax(format!("elements are nested deeper than {DEPTH}")));
                    }
                    open.push(Node { name, attributes, ..Node::default() });
                }
                Event::End(_) => {
                    let done = open.pop().expect("the reader matches ends with starts");
                    open.last_mut().expect("the outermost is never closed").children.push(done);
                }
                Event::Text(part) => node.text.push_str(&part.xml10_content()),
                Event::CData(part) => node.text.push_str(&part.xml10_content()),
                Event::GeneralRef(entity) => node.text.push_str(&resolve(&entity)?),
                Event::DocType(_) => return Err(SchemaError::Syntax("a document type is not allowed".into())),
                Event::Eof => break,
                Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::Empty(_) => {}
            }
        }
        let mut document = open.pop().filter(|_| open.is_empty()).unwrap_or_default();
        match document.children.len() {
            1 => Ok(document.children.remove(0)),
            _ => Err(SchemaError::Syntax("a document has one element, which is closed".into())),
        }
    }
}

/// The prefix that the root's attributes give to XML Schema, with its colon.
fn prefix_of(attributes: &[(String, String)]) -> String {
    let declared = attributes.iter().find(|(name, value)| value == XS && name.starts_with("xmlns"));
    match declared.and_then(|(name, _)| name.strip_prefix("xmlns:")) {
        Some(prefix) => format!("{prefix}:"),
        None => String::new(),
    }
}

fn attributes(start: &BytesStart<'_>) -> Result<Vec<(String, String)>, SchemaError> {
    let syntax = |error: String| SchemaError::Syntax(error);
    start
        .attributes()
        .enumerate()
        .map(|(number, attribute)| {
            if number == MOST_ATTRIBUTES {
                return Err(syntax(format!("an element has more than {MOST_ATTRIBUTES} attributes")));
            }
            let attribute = attribute.map_err(|error| syntax(error.to_string()))?;
            let value = attribute.normalized_value(quick_xml::XmlVersion::Explicit1_0);
            let value = value.map_err(|error| syntax(error.to_string()))?;
            let name: &str = attribute.key.as_ref();
            Ok((name.to_owned(), value.into_owned()))
        })
        .collect()
}

fn resolve(entity: &quick_xml::events::BytesRef<'_>) -> Result<String, SchemaError> {
    let char = entity.resolve_char_ref().map_err(|error| SchemaError::Syntax(error.to_string()))?;
    if let Some(char) = char {
        return Ok(char.to_string());
    }
    let name = entity.xml10_content();
    let known = quick_xml::escape::resolve_predefined_entity(&name);
    known.map(str::to_owned).ok_or_else(|| SchemaError::Syntax(format!("entity {name:?} is unknown")))
}
