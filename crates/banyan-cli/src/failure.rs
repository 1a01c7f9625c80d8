//! Why a command ended without having done its work.

use std::fmt;
use std::io::{self, Write};
use std::process::{ExitCode, exit};

pub use banyan_boot::cause;
use clap::ColorChoice;
use serde_json::json;

use crate::escaped::escaped;
use crate::output::last_words;
pub use crate::speech::warn;
use crate::speech::{color_of_help, complain, is_json, paints};
use crate::status;

/// What parsers of numbers say, and what is wanted.
const NUMBERS: [(&str, &str); 5] = [
    ("invalid digit found in string", "a whole number is wanted, such as 4"),
    ("cannot parse integer from empty string", "a whole number is wanted, such as 4"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "a number is wanted, such as 0.5"),
];

/// What commands give: the exit status, or why there is none.
pub type Outcome = Result<ExitCode, Failure>;

/// A message for the user, and the exit status.
#[derive(Debug, Clone)]
pub struct Failure {
    message: String,
    status: u8,
    /// Whether an object of `--json` has told it.
    is_told: bool,
}

impl Failure {
    /// The work failed.
    pub fn new(message: impl fmt::Display) -> Failure {
        Failure::with_status(message, status::MEMBER_FAILED)
    }

    /// The command was given something that makes no sense.
    pub fn usage(message: impl fmt::Display) -> Failure {
        Failure::with_status(message, status::USAGE)
    }

    /// The system refused; if that is a matter of permission, the exit status says so.
    pub fn system(what: impl fmt::Display, error: &io::Error) -> Failure {
        let refused = error.kind() == io::ErrorKind::PermissionDenied;
        let status = if refused { status::NOT_PERMITTED } else { status::MEMBER_FAILED };
        Failure::with_status(format_args!("{what}: {}", cause(error)), status)
    }

    /// A file that stands for arguments cannot be read: wrong usage, unless the system does not permit it.
    pub(crate) fn unreadable(message: impl fmt::Display, error: &io::Error) -> Failure {
        let refused = error.kind() == io::ErrorKind::PermissionDenied;
        Failure::with_status(message, if refused { status::NOT_PERMITTED } else { status::USAGE })
    }

    /// A failure with an exit status of its own.
    pub fn with_status(message: impl fmt::Display, status: u8) -> Failure {
        Failure { message: message.to_string(), status, is_told: false }
    }

    /// An object of `--json` has told it.
    pub fn told(self) -> Failure {
        Failure { is_told: true, ..self }
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        self.status
    }

    /// Puts what was being worked on before the message.
    pub fn within(self, what: impl fmt::Display) -> Failure {
        Failure { message: format!("{what}: {}", self.message), ..self }
    }

    /// Puts what to do behind the message.
    pub fn with_remedy(self, remedy: impl fmt::Display) -> Failure {
        Failure { message: format!("{}; {remedy}", self.message), ..self }
    }

    /// Says so on standard error, and with `--json` on standard output, too.
    pub fn report(self) -> ExitCode {
        if is_json() && !self.is_told {
            // Where nobody reads it, standard error and the exit status still tell.
            let _ = writeln!(io::stdout(), "{}", self.object());
        }
        complain(self.message);
        ExitCode::from(self.status)
    }

    /// The same in the middle of the work, which ends with it, whatever it does then.
    pub(crate) fn end(self) -> ! {
        if is_json() {
            last_words(&self.object());
        }
        complain(self.message);
        exit(self.status.into())
    }

    /// What the parser of arguments has to say, in its own words and with its exit status. A command that was asked for objects
    /// ends with one here, too.
    pub(crate) fn refuse(error: &clap::Error) -> ! {
        if is_json() && error.use_stderr() {
            let text = error.render().to_string();
            let told = text.split("\n\nUsage:").next().unwrap_or_default().trim();
            let told = NUMBERS.iter().fold(told.to_owned(), |told, (said, wanted)| told.replace(said, wanted));
            last_words(&Failure::usage(told.strip_prefix("error: ").unwrap_or(&told)).object());
        }
        let text = error.render();
        if !text.to_string().starts_with("error:") {
            error.exit();
        }
        let is_coloured = match color_of_help() {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => paints(&io::stderr(), None),
        };
        let shown = if is_coloured { text.ansi().to_string() } else { text.to_string() };
        let shown = shown.replacen("error:", "banyan:", 1);
        // What the parser of numbers says is no help to people.
        let shown = NUMBERS.iter().fold(shown, |shown, (said, wanted)| shown.replace(said, wanted));
        let _ = write!(io::stderr(), "{shown}");
        exit(status::USAGE.into())
    }

    fn object(&self) -> String {
        escaped(&json!({ "error": self.message, "exit_status": self.status }).to_string()).into_owned()
    }
}

impl From<io::Error> for Failure {
    /// Reading is always reported with the name of the file: what comes without one is the output.
    fn from(error: io::Error) -> Failure {
        Failure::new(format!("the output cannot be written: {}", cause(&error)))
    }
}

/// Adds what was being worked on.
pub trait During<T> {
    /// Names the thing, usually a file.
    fn during(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> During<T> for Result<T, E> {
    fn during(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format!("{what}: {error}")))
    }
}
