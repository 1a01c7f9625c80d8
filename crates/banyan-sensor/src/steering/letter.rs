//! A request, and its words in a slot of the mailbox.

use crate::layout::{LABEL_WORDS, WORD, letter};
use crate::payload;

/// When a request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum When {
    /// A knob: with the next `get` of any thread, or the next steering point. An action: at the next steering point.
    #[default]
    AtOnce,
    /// At the next steering point.
    NextPoint,
    /// At the first steering point that says this step or a later one. A program that has reached it refuses.
    Step(u64),
}

impl When {
    /// Its number, and the step.
    pub(crate) fn to_words(self) -> (u64, u64) {
        match self {
            When::AtOnce => (0, 0),
            When::NextPoint => (1, 0),
            When::Step(step) => (2, step),
        }
    }

    pub(crate) fn from_words(number: u64, step: u64) -> Option<When> {
        [When::AtOnce, When::NextPoint, When::Step(step)].into_iter().find(|when| when.to_words().0 == number)
    }
}

/// What an observer asks for. All of it may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Letter {
    pub(crate) pid: u64,
    pub(crate) start_time: u64,
    pub(crate) lease: u64,
    pub(crate) decision: u64,
    /// Index of a knob or action.
    pub(crate) target: u64,
    pub(crate) when: u64,
    pub(crate) step: u64,
    /// Bytes of the value.
    pub(crate) bytes: u64,
    pub(crate) label: [u64; LABEL_WORDS],
    /// Words of the value; in a slot there are always as many as a value can have.
    pub(crate) value: Vec<u64>,
}

impl Letter {
    /// The words behind the ticket.
    pub(crate) fn to_words(&self) -> Vec<u64> {
        let mut words = vec![0; letter::WORDS];
        let values = [
            (letter::PID, self.pid),
            (letter::START_TIME, self.start_time),
            (letter::LEASE, self.lease),
            (letter::DECISION, self.decision),
            (letter::TARGET, self.target),
            (letter::WHEN, self.when),
            (letter::STEP, self.step),
            (letter::BYTES, self.bytes),
        ];
        values.into_iter().for_each(|(at, value)| words[at] = value);
        words[letter::LABEL..letter::VALUE].copy_from_slice(&self.label);
        words[letter::VALUE..].iter_mut().zip(&self.value).for_each(|(word, value)| *word = *value);
        words.split_off(letter::TICKET + 1)
    }

    /// From the words behind the ticket.
    pub(crate) fn from_words(words: &[u64]) -> Option<Letter> {
        let word = |at: usize| words.get(at - letter::TICKET - 1).copied();
        let (label, value) = words.get(letter::LABEL - letter::TICKET - 1..)?.split_first_chunk()?;
        Some(Letter {
            pid: word(letter::PID)?,
            start_time: word(letter::START_TIME)?,
            lease: word(letter::LEASE)?,
            decision: word(letter::DECISION)?,
            target: word(letter::TARGET)?,
            when: word(letter::WHEN)?,
            step: word(letter::STEP)?,
            bytes: word(letter::BYTES)?,
            label: *label,
            value: value.to_vec(),
        })
    }
}

/// What a sender says about itself, as words: as much of it as there is room for.
pub(crate) fn label_words(label: &str) -> [u64; LABEL_WORDS] {
    let bytes = &label.as_bytes()[..label.floor_char_boundary(LABEL_WORDS * WORD)];
    let mut words = [0; LABEL_WORDS];
    words.iter_mut().zip(value_words(bytes)).for_each(|(word, text)| *word = text);
    words
}

/// Bytes as words, filled up with zeros.
pub(crate) fn value_words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut word = [0; WORD];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(word)
    };
    bytes.chunks(WORD).map(word).collect()
}

/// A label as text, without what terminals would obey.
pub(crate) fn label_text(label: &[u64; LABEL_WORDS]) -> String {
    let bytes = payload::bytes(label, LABEL_WORDS * WORD);
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::VALUE_WORDS;

    #[test]
    fn requests_come_back_as_they_were_written() {
        let mut value = value_words(b"a value");
        value.resize(VALUE_WORDS, 0);
        let label = label_words("somebody");
        let numbers = [1, 2, 3, 4, 5, 6, 7, 8];
        let [pid, start_time, lease, decision, target, when, step, bytes] = numbers;
        let letter = Letter { pid, start_time, lease, decision, target, when, step, bytes, label, value };
        let words = letter.to_words();
        assert_eq!(words.len(), letter::WORDS - 1);
        assert_eq!(Letter::from_words(&words), Some(letter));
        assert_eq!(Letter::from_words(&words[..20]), None);
    }

    #[test]
    fn moments_come_back_as_they_were_written() {
        for when in [When::AtOnce, When::NextPoint, When::Step(7)] {
            let (number, step) = when.to_words();
            assert_eq!(When::from_words(number, step), Some(when));
        }
        assert_eq!(When::from_words(3, 0), None);
    }

    #[test]
    fn labels_are_cut_at_characters_and_shown_without_control() {
        assert_eq!(label_text(&label_words("tool on n17")), "tool on n17");
        assert_eq!(label_text(&label_words(&"ä".repeat(40))), "ä".repeat(32));
        assert_eq!(label_text(&label_words(&format!("x{}", "ä".repeat(40)))), format!("x{}", "ä".repeat(31)));
        assert_eq!(label_text(&label_words("\x1b[31mred\n")), "[31mred");
        assert_eq!(label_text(&[u64::MAX; LABEL_WORDS]).chars().next(), Some('\u{fffd}'));
    }
}
