//! What was looked at, how it is, and if it is not well: why, and what to do.

use std::fmt;

use serde_json::{Value, json};

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Level {
    Ok,
    /// Something will not work, or not for many.
    Warning,
    /// Sessions will not work.
    Problem,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Problem => "problem",
        })
    }
}

/// One thing on one host.
#[derive(Debug, Clone)]
pub(super) struct Finding {
    pub(super) host: String,
    /// What was looked at.
    pub(super) name: &'static str,
    pub(super) level: Level,
    /// How it is.
    pub(super) state: String,
    /// What does not work because of it; empty if all does.
    pub(super) cause: String,
    /// What to do, or to type; empty if nothing.
    pub(super) remedy: String,
}

impl Finding {
    /// All is well.
    pub(super) fn ok(name: &'static str, state: impl fmt::Display) -> Finding {
        let (state, level) = (state.to_string(), Level::Ok);
        Finding { host: String::new(), name, level, state, cause: String::new(), remedy: String::new() }
    }

    /// It is not.
    pub(super) fn bad(
        level: Level,
        name: &'static str,
        state: impl fmt::Display,
        cause: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> Finding {
        let (cause, remedy) = (cause.to_string(), remedy.to_string());
        Finding { level, cause, remedy, ..Finding::ok(name, state) }
    }

    /// The same on a host.
    pub(super) fn on(self, host: &str) -> Finding {
        Finding { host: host.to_owned(), ..self }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "event": "finding",
            "host": self.host,
            "name": self.name,
            "level": self.level.to_string(),
            "state": self.state,
            "cause": self.cause,
            "remedy": self.remedy,
        })
    }
}
