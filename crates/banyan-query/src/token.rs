//! The words and signs of a query's text.

use std::sync::Arc;

use crate::error::{Fault, Problem, QueryError, Span};

/// Bytes of a text: longer ones are a mistake, or an attack.
pub(crate) const MAX_TEXT: usize = 16 << 10;

/// Units of time in nanoseconds, the smallest first.
pub(crate) const UNITS: [(&str, i64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A word: a keyword or a name.
    Word(String),
    /// A name in double quotes.
    Name(String),
    /// A text in single quotes.
    Text(String),
    Integer(i128),
    Float(f64),
    /// Nanoseconds.
    Duration(i64),
    Sign(&'static str),
    End,
}

/// All signs; those of two characters first.
const SIGNS: [&str; 18] =
    ["==", "!=", "<>", "<=", ">=", "=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ","];

pub(crate) fn is_first_of_name(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

pub(crate) fn is_of_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The words and signs with their places, and an end.
pub(crate) fn tokens(text: &Arc<str>) -> Result<Vec<(Token, Span)>, QueryError> {
    if text.len() > MAX_TEXT {
        let problem = Problem::TooMany { what: "bytes of a query", found: text.len(), limit: MAX_TEXT };
        let start = text.floor_char_boundary(MAX_TEXT);
        return Err(QueryError::new(text, Fault::new(Span { start, end: start }, problem)));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let (token, length) = token(&text[at..]).map_err(|(length, problem)| {
            QueryError::new(text, Fault::new(Span { start: at, end: at + length }, problem))
        })?;
        let is_end = token == Token::End;
        tokens.push((token, Span { start: at, end: at + length }));
        if is_end {
            return Ok(tokens);
        }
        at += length;
    }
}

/// The token that a text begins with, and its bytes.
fn token(rest: &str) -> Result<(Token, usize), (usize, Problem)> {
    let Some(first) = rest.chars().next() else { return Ok((Token::End, 0)) };
    let next = rest[first.len_utf8()..].chars().next();
    match first {
        '\'' => quoted(rest, '\'').map(|(text, length)| (Token::Text(text), length)).ok_or((1, Problem::Open("text"))),
        '"' => quoted(rest, '"').map(|(name, length)| (Token::Name(name), length)).ok_or((1, Problem::Open("name"))),
        '0'..='9' => number(rest),
        '.' if next.is_some_and(|next| next.is_ascii_digit()) => number(rest),
        '.' => Ok((Token::Sign("."), 1)),
        _ if is_first_of_name(first) => {
            let length = rest.find(|character| !is_of_name(character)).unwrap_or(rest.len());
            Ok((Token::Word(rest[..length].into()), length))
        }
        _ => match SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            Some(sign) => Ok((Token::Sign(sign), sign.len())),
            None => Err((first.len_utf8(), Problem::Character(first))),
        },
    }
}

/// What stands between two quotes, and how long it is with them. A quote within is doubled.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            text.push(character);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            text.push(quote);
        } else {
            return Some((text, at + 1));
        }
    }
    None
}

fn number(rest: &str) -> Result<(Token, usize), (usize, Problem)> {
    let digits = |from: usize| from + rest[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    let mut is_float = false;
    if rest[end..].starts_with('.') && digits(end + 1) > end + 1 {
        (end, is_float) = (digits(end + 1), true);
    }
    if let Some(exponent) = rest[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if digits(end + 1 + sign) > end + 1 + sign {
            (end, is_float) = (digits(end + 1 + sign), true);
        }
    }
    let text = &rest[..end];
    let unit: &str = &rest[end..end + rest[end..].find(|character| !is_of_name(character)).unwrap_or(rest.len() - end)];
    if !unit.is_empty() {
        return duration(text, unit).map(|token| (token, end + unit.len())).ok_or_else(|| {
            let found: String = rest[..end + unit.len()].chars().take(40).collect();
            (end + unit.len(), Problem::Number { found, wanted: "a duration or number" })
        });
    }
    let problem = |wanted| (end, Problem::Number { found: text.chars().take(40).collect(), wanted });
    match is_float {
        true => match text.parse() {
            Ok(number) if f64::is_finite(number) => Ok((Token::Float(number), end)),
            _ => Err(problem("a number below 1.8e308")),
        },
        false => match text.parse() {
            Ok(number) => Ok((Token::Integer(number), end)),
            Err(_) => Err(problem("an integer of at most 127 bits")),
        },
    }
}

fn duration(number: &str, unit: &str) -> Option<Token> {
    let unit = if unit == "µs" { "us" } else { unit };
    let (_, unit) = UNITS.into_iter().find(|(word, _)| *word == unit)?;
    let nanoseconds = match number.parse::<i64>() {
        Ok(whole) => whole.checked_mul(unit)?,
        Err(_) => {
            let nanoseconds = number.parse::<f64>().ok()? * unit as f64;
            let is_exact = nanoseconds < 9.0e15 && nanoseconds.fract() == 0.0;
            is_exact.then_some(nanoseconds as i64)?
        }
    };
    Some(Token::Duration(nanoseconds))
}
