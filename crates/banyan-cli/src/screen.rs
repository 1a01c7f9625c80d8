//! Lines of strangers on a terminal: nothing in them may move the cursor, forge a label or talk to the terminal.

use std::fmt::Write as _;

/// The line with everything but text and tabs shown as an escape.
pub fn harmless(line: &[u8]) -> String {
    let mut shown = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() && letter != '\t' || turns_the_text(letter) {
                shown.extend(letter.escape_default());
            } else {
                shown.push(letter);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// A text of several lines, each of them harmless.
pub fn harmless_text(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| harmless(line.as_bytes())).collect();
    lines.join("\n")
}

/// Marks that change the direction of what follows them, and so what seems to stand where.
pub(super) fn turns_the_text(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_and_control_is_shown() {
        assert_eq!(harmless("grün\tist\r".as_bytes()), "grün\tist\\r");
        assert_eq!(harmless(b"\x1b[2J0 n1: forged"), "\\u{1b}[2J0 n1: forged");
        assert_eq!(harmless(b"\xff\x9b"), "\\xff\\x9b");
        assert_eq!(harmless("\u{9b}31m\u{202e}".as_bytes()), "\\u{9b}31m\\u{202e}");
    }
}
