//! JSON that a terminal may show: control characters and marks that turn the text around are escapes.
//!
//! JSON escapes control characters below U+0020 only. The others, and marks that change the direction of text, stand in
//! strings alone, so `\u` escapes in their place mean the same.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::Value;

use crate::screen::turns_the_text;

/// A text of JSON with such letters as escapes.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let is_harmful = |letter: char| letter.is_control() && letter > '\u{7e}' || turns_the_text(letter);
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 6);
    for letter in text.chars() {
        if is_harmful(letter) {
            let _ = write!(shown, "\\u{:04x}", u32::from(letter));
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// The beginning of a letter whose rest was not written yet, in what is written piece by piece.
#[derive(Default)]
pub(crate) struct Escaping {
    held: Vec<u8>,
}

impl Escaping {
    /// Writes a piece of JSON, escaped, but for a letter that is cut at its end.
    pub(crate) fn write(&mut self, to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        if self.held.is_empty() && bytes.iter().all(|byte| *byte < 0x7f) {
            return to.write_all(bytes);
        }
        self.held.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.held) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // What is no text is nobody's JSON.
            _ => self.held.len(),
        };
        match std::str::from_utf8(&self.held[..whole]) {
            Ok(text) => to.write_all(escaped(text).as_bytes())?,
            Err(_) => to.write_all(&self.held)?,
        }
        self.held.drain(..whole);
        Ok(())
    }
}

/// Writes an object as a line, without a copy of its text.
pub(crate) fn write_object(to: &mut impl Write, object: &Value) -> io::Result<()> {
    struct Through<'t, W>(&'t mut W, Escaping);
    impl<W: Write> Write for Through<'_, W> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1.write(self.0, bytes)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.flush()
        }
    }
    serde_json::to_writer(Through(to, Escaping::default()), object)?;
    to.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn any_pieces_mean_the_same_and_hold_nothing_harmful(text in ".{0,40}", piece in 1..9_usize) {
            let value = json!({ "text": text.clone() + "\u{9b}\u{202e}\u{7f}" });
            let (mut escaping, mut out) = (Escaping::default(), Vec::new());
            value.to_string().as_bytes().chunks(piece).for_each(|bytes| escaping.write(&mut out, bytes).unwrap());
            prop_assert_eq!(serde_json::from_slice::<Value>(&out).unwrap(), value);
            let out = String::from_utf8(out).unwrap();
            prop_assert!(!out.contains(|letter: char| letter.is_control() || turns_the_text(letter)));
        }
    }
}
