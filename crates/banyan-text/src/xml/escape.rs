//! Characters that XML cannot hold, or not in a name: `_xHHHH_`, as office documents have it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A name of a field, case or definition as the name of an element.
pub(crate) fn escape_name(name: &str) -> Cow<'_, str> {
    if name == super::SHARED {
        // Anything but the name itself, so that a field of this name is not taken for the table of shared values.
        return format!("_x{:04X}_{}", u32::from('s'), &name[1..]).into();
    }
    escape(name, |position, char| is_name_char(char, position == 0))
}

/// Text as the content of an element; what XML can hold is left to the ordinary escapes (`&lt;`).
pub(crate) fn escape_text(text: &str) -> Cow<'_, str> {
    escape(text, |_, char| match char {
        '\t' | '\n' | '\r' => true,
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => false,
        _ => true,
    })
}

fn escape(text: &str, allowed: impl Fn(usize, char) -> bool) -> Cow<'_, str> {
    let plain = |position, char| allowed(position, char) && !(char == '_' && begins_sequence(&text[position..]));
    if text.char_indices().all(|(position, char)| plain(position, char)) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (position, char) in text.char_indices() {
        if plain(position, char) {
            out.push(char);
        } else {
            write!(out, "_x{:04X}_", u32::from(char)).expect("a string takes everything");
        }
    }
    out.into()
}

/// The reverse of both.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains("_x") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("_x") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match sequence(rest) {
            Some((char, len)) => {
                out.push(char);
                rest = &rest[len..];
            }
            None => {
                out.push('_');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out.into()
}

/// Whether `_x` and four hexadecimal digits stand here. What follows does not matter: it could be an escape.
fn begins_sequence(text: &str) -> bool {
    text.strip_prefix("_x").is_some_and(|rest| digits(rest) >= 4)
}

fn sequence(text: &str) -> Option<(char, usize)> {
    let rest = text.strip_prefix("_x")?;
    let len = digits(rest);
    if !(4..=6).contains(&len) || rest.as_bytes().get(len) != Some(&b'_') {
        return None;
    }
    let code = u32::from_str_radix(&rest[..len], 16).ok()?;
    Some((char::from_u32(code)?, 2 + len + 1))
}

fn digits(text: &str) -> usize {
    text.bytes().take(7).take_while(u8::is_ascii_hexdigit).count()
}

/// The characters of XML names, without the colon, which belongs to namespaces.
fn is_name_char(char: char, first: bool) -> bool {
    match char {
        'a'..='z' | 'A'..='Z' | '_' => true,
        '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}' => !first,
        '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}' | '\u{370}'..='\u{37d}' => true,
        '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}' => true,
        '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' => true,
        '\u{fdf0}'..='\u{fffd}' | '\u{10000}'..='\u{effff}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_comes_back(text in "([_xX0-9A-Fa-f\\x00-\\x1f]|.){0,12}") {
            prop_assert_eq!(unescape(&escape_text(&text)).into_owned(), text.clone());
            prop_assert_eq!(unescape(&escape_name(&text)).into_owned(), text);
        }
    }

    #[test]
    fn only_what_must_be_is_escaped() {
        assert_eq!(escape_text("snake_case _x _x12 \\"), "snake_case _x _x12 \\");
        assert_eq!(escape_text("\u{1}_x0041\u{2}"), "_x0001__x005F_x0041_x0002_");
        assert_eq!(escape_name("1 b$"), "_x0031__x0020_b_x0024_");
        assert_eq!(escape_name("shared-values"), "_x0073_hared-values");
    }
}
