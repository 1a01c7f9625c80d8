//! JSON as programs read it: the little of it that is written here.

use std::fmt::Write as _;

/// A text, in quotes.
pub(super) fn text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 0x20 => drop(write!(out, "\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A list of values that are JSON already.
pub(super) fn list(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

/// An object; its values are JSON already.
pub(super) fn object<const N: usize>(members: [(&str, String); N]) -> String {
    let members = members.map(|(name, value)| format!("{}:{value}", text(name)));
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_text_must_not_hold_is_escaped() {
        assert_eq!(text("a\"b\\c\nd\u{1}é"), r#""a\"b\\c\u000ad\u0001é""#);
    }

    #[test]
    fn values_are_put_together() {
        let value = object([("a", list(["1".to_owned(), text("x")])), ("b", "null".to_owned())]);
        assert_eq!(value, r#"{"a":[1,"x"],"b":null}"#);
    }
}
