//! What the user sees of a session while it runs.

use std::io::{self, BufWriter, IsTerminal, Write};

use banyan_boot::{Event, ExitState, Lines, Problem};
use serde_json::{Value, json};

use super::screen::harmless;
use crate::failure::{Failure, warn};
use crate::output::{self, Stdout};

/// How events are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines behind rank and host.
    Labelled,
    /// Lines as they are.
    Bare,
    /// One JSON object each.
    Json,
}

/// Standard output and errors.
pub(super) struct Show {
    form: Form,
    out: BufWriter<Stdout>,
    err: BufWriter<io::Stderr>,
    out_is_terminal: bool,
    err_is_terminal: bool,
}

impl Show {
    pub(super) fn new(form: Form) -> Show {
        Show {
            form,
            out: output::stdout(),
            err: BufWriter::new(io::stderr()),
            out_is_terminal: io::stdout().is_terminal(),
            err_is_terminal: io::stderr().is_terminal(),
        }
    }

    /// Hands over what was gathered.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(self.err.flush()?)
    }

    pub(super) fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match (event, self.form) {
            (Event::Output(lines), Form::Json) => {
                lines.lines().try_for_each(|line| Ok(writeln!(self.out, "{}", line_json(lines, line))?))
            }
            (Event::Output(lines), _) => Ok(self.lines(lines)?),
            (Event::Exited { rank, host, state }, Form::Json) => self.object(&exit_json(*rank, host, state)),
            (Event::Problem(problem), Form::Json) => self.object(&problem_json(problem)),
            (Event::Problem(problem), _) => {
                self.flush()?;
                warn(problem);
                Ok(())
            }
            // The summary tells how members ended.
            _ => Ok(()),
        }
    }

    /// One JSON object on a line of its own.
    pub(super) fn object(&mut self, object: &Value) -> Result<(), Failure> {
        writeln!(self.out, "{object}")?;
        Ok(self.out.flush()?)
    }

    fn lines(&mut self, lines: &Lines) -> io::Result<()> {
        let label = (self.form == Form::Labelled).then(|| format!("{} {}: ", lines.rank, lines.host));
        let (out, terminal): (&mut dyn Write, bool) =
            if lines.errors { (&mut self.err, self.err_is_terminal) } else { (&mut self.out, self.out_is_terminal) };
        for line in lines.lines() {
            out.write_all(label.as_deref().unwrap_or_default().as_bytes())?;
            if terminal {
                out.write_all(harmless(line).as_bytes())?;
            } else {
                out.write_all(line)?;
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

fn line_json(lines: &Lines, line: &[u8]) -> Value {
    let stream = if lines.errors { "stderr" } else { "stdout" };
    let mut object = json!({
        "event": "output",
        "rank": lines.rank,
        "host": &*lines.host,
        "stream": stream,
        "line": String::from_utf8_lossy(line),
    });
    if std::str::from_utf8(line).is_err() {
        let hex: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
        object["hex"] = hex.into();
    }
    object
}

fn exit_json(rank: u32, host: &str, state: &ExitState) -> Value {
    let mut object = json!({
        "event": "exited",
        "rank": rank,
        "host": host,
        "status": state.status(),
        "state": state.to_string(),
    });
    if let ExitState::Signalled { signal, .. } = state {
        object["signal"] = (*signal).into();
    }
    object
}

/// A problem as one object.
pub(super) fn problem_json(problem: &Problem) -> Value {
    json!({
        "event": "problem",
        "host": problem.host,
        "kind": format!("{:?}", problem.kind),
        "cause": problem.cause,
        "remedy": problem.remedy,
        "members": problem.members,
    })
}
