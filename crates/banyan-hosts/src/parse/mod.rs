//! From text to names: finds the operands and operators, works them out from left to right.
//!
//! Errors carry the byte offset of what is wrong. Time is proportional to the text and the names it spells out, of
//! which there are at most [`MAX_EXPANDED`].

use super::error::{Problem, Side, excerpt};
use super::limits::{MAX_EXPANDED, MAX_HOSTS, MAX_NAME_BYTES};
use super::name::{self, is_name_byte};
use super::names::Names;
use super::set::HostSet;
use super::template::{Piece, Template};

mod bracket;

/// A problem and the offset where it is.
pub(super) type Failure = (usize, Problem);

/// Finds the hosts of a group, or says why there are none.
pub(super) type Groups<'g> = &'g mut dyn FnMut(&str) -> Result<HostSet, String>;

/// Whether `#` begins a comment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    Allowed,
    Refused,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operator {
    Union,
    Difference,
    Intersection,
}

impl Operator {
    fn symbol(self) -> char {
        match self {
            Operator::Union => ',',
            Operator::Difference => '!',
            Operator::Intersection => '&',
        }
    }
}

/// What operators join.
enum Operand<'a> {
    Names(Template<'a>),
    Group(HostSet),
}

impl Operand<'_> {
    fn count(&self) -> usize {
        match self {
            Operand::Names(template) => usize::try_from(template.count()).unwrap_or(usize::MAX),
            Operand::Group(hosts) => hosts.len(),
        }
    }

    fn expand(&self, mut visit: impl FnMut(&str) -> Result<(), Problem>) -> Result<(), Problem> {
        match self {
            Operand::Names(template) => template.expand(visit),
            Operand::Group(hosts) => hosts.iter().try_for_each(&mut visit),
        }
    }
}

/// The names that a text stands for. Without `groups`, `@` begins nothing.
pub(super) fn parse(text: &str, comments: Comments, mut groups: Option<Groups<'_>>) -> Result<Names, Failure> {
    let mut parser = Parser { text, at: 0, comments };
    let mut names = Names::default();
    let mut expanded = 0;
    let mut is_first = true;
    while let Some(operator) = parser.operator(is_first)? {
        let start = parser.at;
        let operand = match &mut groups {
            Some(groups) if parser.peek() == Some(b'@') => Operand::Group(parser.group(groups)?),
            _ => Operand::Names(parser.operand()?),
        };
        let count = operand.count();
        if count > MAX_HOSTS {
            return Err((start, Problem::TooManyHosts));
        }
        expanded += count;
        if expanded > MAX_EXPANDED {
            return Err((start, Problem::TooMuchWork));
        }
        names = apply(names, operator, &operand, count).map_err(|problem| (start, problem))?;
        is_first = false;
    }
    Ok(names.without_gaps())
}

fn apply(mut names: Names, operator: Operator, operand: &Operand<'_>, count: usize) -> Result<Names, Problem> {
    match operator {
        Operator::Union => {
            names.reserve(count);
            operand.expand(|name| names.insert(name))?;
            Ok(names)
        }
        Operator::Difference => {
            operand.expand(|name| {
                names.remove(name);
                Ok(())
            })?;
            Ok(names)
        }
        Operator::Intersection => {
            let mut others = Names::default();
            others.reserve(count);
            operand.expand(|name| others.insert(name))?;
            Ok(names.filtered(|name| others.place_of(name).is_some()))
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    comments: Comments,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Goes to the next operand and says how it is joined to what was before; none at the end of the text.
    fn operator(&mut self, is_first: bool) -> Result<Option<Operator>, Failure> {
        let mut found = Operator::Union;
        let mut found_at = self.at;
        let missing = |operator: Operator, side| Problem::MissingOperand(operator.symbol(), side);
        while let Some(byte) = self.peek() {
            let operator = match byte {
                b',' => Operator::Union,
                b'!' => Operator::Difference,
                b'&' => Operator::Intersection,
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                b'#' if self.comments == Comments::Allowed => {
                    self.skip_line();
                    continue;
                }
                _ => return Ok(Some(found)),
            };
            if found != Operator::Union {
                return Err((found_at, missing(found, Side::Behind)));
            }
            if is_first && operator != Operator::Union {
                return Err((self.at, missing(operator, Side::Before)));
            }
            (found, found_at) = (operator, self.at);
            self.at += 1;
        }
        if found == Operator::Union { Ok(None) } else { Err((found_at, missing(found, Side::Behind))) }
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// Reads a name, with or without brackets. Stands on its first byte before and behind its last byte after.
    fn operand(&mut self) -> Result<Template<'a>, Failure> {
        let start = self.at;
        let mut pieces = Vec::new();
        let mut form = None;
        while let Some(byte) = self.peek() {
            match byte {
                b'[' => {
                    let opening = self.at;
                    pieces.push(self.bracket(start)?);
                    // The rules of names are checked on the text itself, with digits for what is in brackets.
                    let form = form.get_or_insert_with(String::new);
                    let known = start + form.len();
                    form.push_str(&self.text[known..opening]);
                    form.extend(std::iter::repeat_n('0', self.at - opening));
                }
                b']' => return Err((self.at, Problem::Unopened)),
                byte if is_name_byte(byte) => pieces.push(Piece::Text(self.literal())),
                _ if self.ends_operand(byte) => break,
                _ => return Err((self.at, Problem::Character(self.character()))),
            }
        }
        if let Some(form) = &mut form {
            let known = start + form.len();
            form.push_str(&self.text[known..self.at]);
        }
        let form = form.as_deref().unwrap_or(&self.text[start..self.at]);
        name::check_form(form).map_err(|(at, problem)| (start + at, problem))?;
        let template = Template { pieces };
        match template.longest() {
            0..=MAX_NAME_BYTES => Ok(template),
            longest => Err((start, Problem::NameTooLong(longest))),
        }
    }

    /// Reads `@GROUP` or `@SOURCE:GROUP`, and finds its hosts.
    fn group(&mut self, groups: &mut Groups<'_>) -> Result<HostSet, Failure> {
        let start = self.at;
        self.at += 1;
        let name = self.literal();
        match self.peek() {
            Some(byte) if !self.ends_operand(byte) => return Err((self.at, Problem::Character(self.character()))),
            _ if name.is_empty() => return Err((start, Problem::NoGroupName)),
            _ => {}
        }
        groups(name).map_err(|cause| (start, Problem::Group { name: excerpt(name), cause }))
    }

    fn ends_operand(&self, byte: u8) -> bool {
        b", \t\n\r!&".contains(&byte) || byte == b'#' && self.comments == Comments::Allowed
    }

    fn literal(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().position(|byte| !is_name_byte(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// The character that begins here. Between characters, `at` never stands.
    fn character(&self) -> char {
        self.text[self.at..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}
