//! Why a command ended without having done its work.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// What commands give: the exit status, or why there is none.
pub(crate) type Outcome = Result<ExitCode, Failure>;

/// A message for the user, or nothing at all when whoever read the output has gone away.
pub(crate) struct Failure {
    message: Option<String>,
    status: u8,
}

impl Failure {
    /// The work failed.
    pub(crate) fn new(message: impl fmt::Display) -> Failure {
        Failure { message: Some(message.to_string()), status: 1 }
    }

    /// The command was given something that makes no sense.
    pub(crate) fn usage(message: impl fmt::Display) -> Failure {
        Failure { message: Some(message.to_string()), status: 2 }
    }

    /// Whatever went wrong in a library: quiet when it was that the reader closed the pipe.
    pub(crate) fn of(error: impl std::error::Error) -> Failure {
        let mut cause = error.source();
        while let Some(inner) = cause {
            if is_broken_pipe(inner) {
                return Failure { message: None, status: 0 };
            }
            cause = inner.source();
        }
        Failure::new(error)
    }

    /// Puts what was being worked on before the message.
    pub(crate) fn within(mut self, what: &str) -> Failure {
        self.message = self.message.map(|message| format!("{what}: {message}"));
        self
    }

    /// Says so on standard error.
    #[expect(clippy::print_stderr, reason = "this is where the command speaks to its user")]
    pub(crate) fn report(self) -> ExitCode {
        if let Some(message) = self.message {
            eprintln!("banyan: {message}");
        }
        ExitCode::from(self.status)
    }
}

impl From<io::Error> for Failure {
    /// A reader that closed the pipe has seen enough: no complaint.
    fn from(error: io::Error) -> Failure {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure { message: None, status: 0 };
        }
        Failure::new(error)
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Adds what was being worked on.
pub(crate) trait During<T> {
    /// Names the thing, usually a file.
    fn during(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> During<T> for Result<T, E> {
    fn during(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format!("{what}: {error}")))
    }
}
