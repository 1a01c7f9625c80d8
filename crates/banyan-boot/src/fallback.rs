//! A host whose agent the one that was planned could not start, and that was left to the front-end.

use std::fmt;

/// Bytes of what an agent says about it.
const TEXT_LIMIT: usize = 4096;

/// Who could not start whom, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fallback {
    /// The host whose agent was to be started.
    pub host: String,
    /// The host whose agent could not start it.
    pub by: String,
    /// Why.
    pub cause: String,
}

impl Fallback {
    /// As an agent says it to the node above.
    pub(crate) fn text(by: &str, cause: &str) -> String {
        let text = format!("{by}\n{cause}");
        text[..text.floor_char_boundary(TEXT_LIMIT)].to_owned()
    }

    /// What an agent has said of a host.
    pub(crate) fn of(host: &str, said: &[u8]) -> Fallback {
        let said = String::from_utf8_lossy(&said[..said.len().min(TEXT_LIMIT)]);
        let (by, cause) = said.split_once('\n').unwrap_or(("", &said));
        Fallback { host: host.to_owned(), by: by.to_owned(), cause: cause.to_owned() }
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fallback { host, by, cause } = self;
        write!(f, "host {host}: host {by} could not start its agent, the front-end did: {cause}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_is_who_could_not_start_whom() {
        let fallback = Fallback::of("n2", Fallback::text("n1", "no key").as_bytes());
        assert_eq!(fallback.to_string(), "host n2: host n1 could not start its agent, the front-end did: no key");
        assert_eq!(Fallback::of("n2", b"\xff").by, "");
        assert!(Fallback::text("n1", &"ä".repeat(TEXT_LIMIT)).len() <= TEXT_LIMIT);
    }
}
