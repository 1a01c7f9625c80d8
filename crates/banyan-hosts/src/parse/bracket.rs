//! What stands in brackets: numbers, or an IPv6 address.

use std::net::Ipv6Addr;

use super::{Failure, Parser};
use crate::error::{Problem, excerpt};
use crate::name::is_name_byte;
use crate::number::{Number, push_padded};
use crate::template::{Piece, Range};

impl<'a> Parser<'a> {
    /// Reads a bracket of the name that begins at `name`. Stands on `[` before and behind `]` after.
    pub(super) fn bracket(&mut self, name: usize) -> Result<Piece<'a>, Failure> {
        let (opening, inner) = (self.at, self.at + 1);
        let ends_it = |byte: u8| matches!(byte, b'[' | b']' | b'\n' | b'\r');
        let closing = self.text[inner..].bytes().position(ends_it).map(|length| inner + length);
        let closing = match closing.map(|at| (at, self.text.as_bytes()[at])) {
            Some((closing, b']')) => closing,
            Some((second, b'[')) => return Err((second, Problem::Nested)),
            _ => return Err((opening, Problem::Unclosed)),
        };
        let content = &self.text[inner..closing];
        self.at = closing + 1;
        if content.contains(':') {
            let before = &self.text[name..opening];
            self.address(before, content, opening)
        } else {
            numbers(content, inner).map(Piece::Numbers)
        }
    }

    fn address(&self, before: &str, content: &'a str, opening: usize) -> Result<Piece<'a>, Failure> {
        let (address, zone) = match content.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (content, None),
        };
        let is_zone = |zone: &str| !zone.is_empty() && zone.bytes().all(|byte| is_name_byte(byte) && byte != b'@');
        if address.parse::<Ipv6Addr>().is_err() || !zone.is_none_or(is_zone) {
            return Err((opening + 1, Problem::Address(excerpt(content))));
        }
        let user_only = before.is_empty() || before.ends_with('@');
        let is_last = self.peek().is_none_or(|byte| self.ends_operand(byte));
        match (user_only, is_last) {
            (true, true) => Ok(Piece::Text(content)),
            (false, _) => Err((opening, Problem::AddressAlone)),
            (true, false) => Err((self.at, Problem::AddressAlone)),
        }
    }
}

/// Reads `1-4,7,10-90/5`, which begins at `offset`.
fn numbers(content: &str, offset: usize) -> Result<Vec<Range>, Failure> {
    let mut ranges = Vec::new();
    let mut at = offset;
    for item in content.split(',') {
        ranges.push(range(item, at)?);
        at += item.len() + 1;
    }
    Ok(ranges)
}

/// Reads `7`, `1-4` or `10-90/5`, which begins at `offset`.
fn range(item: &str, offset: usize) -> Result<Range, Failure> {
    let (ends, step) = match item.split_once('/') {
        Some((ends, step)) => (ends, Some((step, offset + ends.len() + 1))),
        None => (item, None),
    };
    let Some((first, last)) = ends.split_once('-') else {
        let only = number(ends, offset)?;
        return match step {
            None => Ok(Range { first: only.value(), last: only.value(), step: 1, width: only.width() }),
            Some((_, at)) => Err((at, Problem::Step)),
        };
    };
    let (first, last) = (number(first, offset)?, number(last, offset + first.len() + 1)?);
    check_ends(first, last).map_err(|problem| (offset, problem))?;
    let step = match step {
        None => 1,
        Some((step, at)) => match number(step, at)?.value() {
            0 => return Err((at, Problem::Step)),
            step => step,
        },
    };
    Ok(Range { first: first.value(), last: last.value(), step, width: first.width() })
}

/// The start says how wide the numbers are. Where the end says something else, the range is refused: `8-012` may mean
/// two things.
fn check_ends(first: Number, last: Number) -> Result<(), Problem> {
    if last.value() < first.value() {
        return Err(Problem::Backwards { first: written(first), last: written(last) });
    }
    let (is_wider, is_narrower) = (last.width() > first.width(), last.width() < first.width());
    if is_wider && last.is_padded() || is_narrower {
        let width = first.width().max(last.width());
        let range = |width| {
            let mut text = String::new();
            push_padded(&mut text, first.value(), width);
            text.push('-');
            push_padded(&mut text, last.value(), width);
            text
        };
        let written = format!("{}-{}", written(first), written(last));
        let bare = format!("{}-{}", first.value(), last.value());
        return Err(Problem::Padding { range: written, padded: range(width), bare });
    }
    Ok(())
}

fn written(number: Number) -> String {
    let mut text = String::new();
    number.push_to(&mut text);
    text
}

/// Reads one number with blanks around it.
fn number(text: &str, offset: usize) -> Result<Number, Failure> {
    let digits = text.trim_matches([' ', '\t']);
    let at = offset + (text.len() - text.trim_start_matches([' ', '\t']).len());
    if digits.is_empty() {
        return Err((offset, Problem::MissingNumber));
    }
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let problem = || if is_number { Problem::TooManyDigits } else { Problem::NotANumber(excerpt(digits)) };
    Number::read(digits.as_bytes()).ok_or_else(|| (at, problem()))
}
