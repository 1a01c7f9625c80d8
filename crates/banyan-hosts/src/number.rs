//! Numbers in host names: digits of which those in front count, because `n1` and `n01` are two hosts.

use super::limits::MAX_DIGITS;

const VALUE_BITS: u32 = 57;
const _: () = assert!(10_u64.pow(MAX_DIGITS as u32) < 1 << VALUE_BITS && MAX_DIGITS < 1 << (u64::BITS - VALUE_BITS));

/// Digits as they stand in a name: how many, then their value, in one word. Ordered by count, then by value, so that a
/// number is followed by the number that people expect behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Number(u64);

impl Number {
    /// Reads digits. None for anything but one to [`MAX_DIGITS`] digits.
    pub(super) fn read(digits: &[u8]) -> Option<Number> {
        if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let value = digits.iter().fold(0, |value, digit| value * 10 + u64::from(digit - b'0'));
        Some(Number::new(digits.len(), value))
    }

    fn new(width: usize, value: u64) -> Number {
        Number((width as u64) << VALUE_BITS | value)
    }

    pub(super) fn width(self) -> usize {
        (self.0 >> VALUE_BITS) as usize
    }

    pub(super) fn value(self) -> u64 {
        self.0 & ((1 << VALUE_BITS) - 1)
    }

    /// True if it begins with a zero that a number of this value needs not.
    pub(super) fn is_padded(self) -> bool {
        self.width() > 1 && self.value() < power_of_ten(self.width() - 1)
    }

    /// The number that follows among those of the same width.
    fn successor_of_same_width(self) -> Option<Number> {
        (self.value() + 1 < power_of_ten(self.width())).then_some(Number(self.0 + 1))
    }

    /// The number that follows: 10 after 9 and after 09, 100 after 99.
    fn successor(self) -> Option<Number> {
        let wider = || (self.width() < MAX_DIGITS).then(|| Number::new(self.width() + 1, self.value() + 1));
        self.successor_of_same_width().or_else(wider)
    }

    pub(super) fn push_to(self, text: &mut String) {
        push_padded(text, self.value(), self.width());
    }
}

fn power_of_ten(exponent: usize) -> u64 {
    10_u64.pow(exponent as u32)
}

/// Appends a number with zeros in front, up to `width` digits.
pub(super) fn push_padded(text: &mut String, mut value: u64, width: usize) {
    const DIGITS: usize = 20;
    let mut digits = [b'0'; DIGITS];
    let mut start = DIGITS;
    while value > 0 {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    let start = start.min(DIGITS - width.clamp(1, DIGITS));
    text.extend(digits[start..].iter().map(|digit| char::from(*digit)));
}

/// Numbers that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Run {
    pub(super) first: Number,
    pub(super) last: Number,
}

impl Run {
    /// True if `number` was added at the end. A run with zeros in front keeps its width: ClusterShell does not read
    /// `[01-100]`, everyone reads `[01-99,100]`.
    fn extend(&mut self, number: Number) -> bool {
        let next = if self.first.is_padded() { self.last.successor_of_same_width() } else { self.last.successor() };
        let follows = next == Some(number);
        if follows {
            self.last = number;
        }
        follows
    }
}

/// The runs of numbers given in their order.
pub(super) fn runs(numbers: impl Iterator<Item = Number>) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for number in numbers {
        if !runs.last_mut().is_some_and(|run| run.extend(number)) {
            runs.push(Run { first: number, last: number });
        }
    }
    runs
}
