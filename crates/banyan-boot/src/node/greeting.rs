//! What comes from a starter before there is a link: banners, the request for the program, the agent's first line.
//!
//! Login shells print all sorts of things. Everything before the agent's own line is kept as noise (for error messages)
//! and skipped, up to a bound.

use crate::launcher::packed::Packer;
use crate::launcher::ssh::NEED;

/// The agent's first line, before the number of its protocol. The same in every protocol.
pub(crate) const READY: &str = "BANYAN-AGENT-READY";

/// Noise that is skipped at most.
pub(crate) const NOISE_BOUND: usize = 64 * 1024;

/// Lines of noise that are kept for error messages.
const KEPT_BYTES: usize = 400;

/// What a line means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum GreetingLine {
    /// The host has not the program, and can unpack it with these.
    Need { unpackers: Vec<Packer> },
    /// The agent runs, and speaks this protocol; 0 when it does not say.
    Ready { protocol: u16 },
}

/// Reads the greeting byte by byte, so that nothing behind it is taken.
#[derive(Debug, Default)]
pub(crate) struct Greeting {
    line: Vec<u8>,
    seen: usize,
    kept: Vec<u8>,
}

impl Greeting {
    /// Takes bytes up to the end of the first line that means something; says how many were taken.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> (usize, Option<GreetingLine>) {
        for (at, byte) in bytes.iter().enumerate() {
            self.seen += 1;
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            match meaning(&line) {
                Some(meaning) => return (at + 1, Some(meaning)),
                None => self.keep(&line),
            }
        }
        (bytes.len(), None)
    }

    /// Too much noise: this is no agent.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.seen > NOISE_BOUND
    }

    /// The end of the noise, for people.
    pub(crate) fn noise(&self) -> String {
        let all = [&self.kept[..], &self.line[..]].concat();
        let start = all.len().saturating_sub(KEPT_BYTES);
        String::from_utf8_lossy(&all[start..]).trim().replace('\n', " / ")
    }

    fn keep(&mut self, line: &[u8]) {
        self.kept.extend_from_slice(line);
        self.kept.push(b'\n');
        let surplus = self.kept.len().saturating_sub(KEPT_BYTES);
        self.kept.drain(..surplus);
    }
}

fn meaning(line: &[u8]) -> Option<GreetingLine> {
    let line = line.trim_ascii_end();
    // A prompt, an escape sequence or any other bytes without an end of line may stand before it.
    if let Some(names) = words_behind(NEED, line) {
        let names: Vec<&[u8]> = names.collect();
        let is_named = |packer: &Packer| names.contains(&packer.name().as_bytes());
        return Some(GreetingLine::Need { unpackers: Packer::ALL.into_iter().filter(is_named).collect() });
    }
    // Later releases may say more behind the number.
    let number = words_behind(READY, line)?.next().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
    Some(GreetingLine::Ready { protocol: number.unwrap_or_default() })
}

/// The words behind this one, wherever it stands in the line.
fn words_behind<'a>(word: &str, line: &'a [u8]) -> Option<impl Iterator<Item = &'a [u8]>> {
    let at = line.windows(word.len()).position(|window| window == word.as_bytes())?;
    Some(line[at + word.len()..].split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_before_the_agents_line_is_skipped_and_kept_for_messages() {
        let mut greeting = Greeting::default();
        let text = format!("Welcome to n1!\nno mail\n\u{1b}[0m{READY} 1\nrest");
        let (taken, line) = greeting.push(text.as_bytes());
        assert_eq!(line, Some(GreetingLine::Ready { protocol: 1 }));
        assert_eq!(&text[taken..], "rest");
        assert_eq!(greeting.noise(), "Welcome to n1! / no mail");
    }

    #[test]
    fn what_stands_behind_the_number_of_the_protocol_is_for_later_releases() {
        let found = |line: &str| Greeting::default().push(line.as_bytes()).1;
        assert_eq!(found("BANYAN-AGENT-READY 2 and more\r\n"), Some(GreetingLine::Ready { protocol: 2 }));
        assert_eq!(found("BANYAN-AGENT-READY 0.1.0\n"), Some(GreetingLine::Ready { protocol: 0 }));
    }

    #[test]
    fn endless_noise_is_given_up() {
        let mut greeting = Greeting::default();
        for _ in 0..=NOISE_BOUND / 64 {
            assert_eq!(greeting.push(&[b'x'; 64]).1, None);
        }
        assert!(greeting.is_hopeless());
        assert!(greeting.noise().len() <= KEPT_BYTES);
    }

    #[test]
    fn the_request_for_the_program_is_understood_however_it_is_cut() {
        let mut greeting = Greeting::default();
        let text = format!("hello\r\n{NEED}\r\n");
        let found: Vec<GreetingLine> = text.bytes().filter_map(|byte| greeting.push(&[byte]).1).collect();
        assert_eq!(found, [GreetingLine::Need { unpackers: vec![] }]);
    }

    #[test]
    fn bytes_that_are_no_text_before_a_line_do_not_hide_it() {
        let found = |line: String| Greeting::default().push(&[&[0xff, 0xc3, 0], line.as_bytes()].concat()).1;
        assert_eq!(found(format!("{NEED}\n")), Some(GreetingLine::Need { unpackers: vec![] }));
        let unpackers = Packer::ALL.to_vec();
        assert_eq!(found(format!("{NEED} zstd gzip\r\n")), Some(GreetingLine::Need { unpackers }));
        assert_eq!(found(format!("{NEED} gzip other\n")), Some(GreetingLine::Need { unpackers: vec![Packer::Gzip] }));
        assert_eq!(found(format!("{READY} 1\n")), Some(GreetingLine::Ready { protocol: 1 }));
    }
}
