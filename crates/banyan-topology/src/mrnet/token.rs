//! The words of MRNet's notation.

/// A word with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Arrow,
    Semicolon,
    Word(&'a str),
}

/// Cuts a text into words, each with the offset of its first byte.
pub(super) struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0 }
    }

    /// Goes over spaces and comments.
    fn skip(&mut self) -> &'a str {
        loop {
            let rest = &self.text[self.at..];
            let word = rest.trim_start();
            self.at += rest.len() - word.len();
            if !word.starts_with('#') {
                return word;
            }
            self.at += word.find('\n').unwrap_or(word.len());
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, Token<'a>);

    fn next(&mut self) -> Option<(usize, Token<'a>)> {
        let rest = self.skip();
        let start = self.at;
        let (length, token) = if rest.is_empty() {
            return None;
        } else if rest.starts_with("=>") {
            (2, Token::Arrow)
        } else if rest.starts_with(';') {
            (1, Token::Semicolon)
        } else {
            let ends = |(at, c): (usize, char)| c.is_whitespace() || ";#".contains(c) || rest[at..].starts_with("=>");
            let length = rest.char_indices().find(|at| ends(*at)).map_or(rest.len(), |(at, _)| at);
            (length, Token::Word(&rest[..length]))
        };
        self.at += length;
        Some((start, token))
    }
}

/// Whether a text is in this notation: arrows and semicolons stand in no outline.
pub(in super::super) fn is_mrnet(text: &str) -> bool {
    Tokens::of(text).any(|(_, token)| !matches!(token, Token::Word(_)))
}
