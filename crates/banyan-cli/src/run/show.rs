//! What the user sees of a session while it runs.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::time::Instant;

use banyan_boot::{Event, ExitState, Lines, Problem};
use serde_json::{Value, json};

use super::folded::{Folded, Look};
use super::is_loss;
use super::stream::Stream;
use crate::failure::{Failure, warn};
use crate::paint::{Paint, Style};
use crate::progress::Progress;
use crate::screen::harmless;
use crate::speech::{Color, complain, note, paints};

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
    out: BufWriter<Stream<StdoutLock<'static>>>,
    err: BufWriter<Stream<io::Stderr>>,
    out_look: Look,
    err_look: Look,
    folded: Option<Gathered>,
}

/// What is shown in the end instead of at once.
struct Gathered {
    folded: Folded,
    /// How far it is until then.
    progress: Progress,
    /// When the last line came.
    last: Option<Instant>,
}

impl Show {
    /// `color` is what the configuration says about colours.
    pub(super) fn new(form: Form, color: Option<Color>) -> Show {
        let (out, err) = (io::stdout(), io::stderr());
        let look = |paints, terminal| Look { paint: Paint(paints), terminal };
        Show {
            form,
            out_look: look(paints(&out, color), out.is_terminal()),
            err_look: look(paints(&err, color), err.is_terminal()),
            out: Stream::buffered(out.lock()),
            err: Stream::buffered(err),
            folded: None,
        }
    }

    /// From now on output is gathered, and shown by [`Show::unfold`].
    pub(super) fn fold(&mut self, folded: Folded) {
        self.folded = Some(Gathered { folded, progress: Progress::new(), last: None });
    }

    /// Hands over what was gathered for the streams.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(self.err.flush()?)
    }

    /// Whether something was shown that nobody will read.
    pub(super) fn is_unread(&self) -> bool {
        self.out.get_ref().is_unread() || self.err.get_ref().is_unread()
    }

    /// Says how far it is, to those who see nothing else of it.
    pub(super) fn progress(&mut self, text: impl FnOnce() -> String) {
        if let Some(gathered) = &mut self.folded {
            gathered.progress.tell(text);
        }
    }

    /// Shows what was folded.
    pub(super) fn unfold(&mut self) -> Result<(), Failure> {
        // The line that says how far it is goes with it.
        let Some(Gathered { folded, last, .. }) = self.folded.take() else { return Ok(()) };
        if self.form == Form::Json {
            return folded.to_json().iter().try_for_each(|object| self.object(object));
        }
        folded.show_out(&mut self.out, self.out_look)?;
        self.out.flush()?;
        folded.show_err(&mut self.err, self.err_look)?;
        self.err.flush()?;
        if let Some(last) = last {
            note(format_args!("all was shown {:.1} ms after the last line came", last.elapsed().as_secs_f64() * 1e3));
        }
        Ok(())
    }

    pub(super) fn event(&mut self, event: &Event) -> Result<(), Failure> {
        match (event, self.form) {
            (Event::Output(lines), _) if self.folded.is_some() => {
                if let Some(gathered) = &mut self.folded {
                    gathered.folded.note(lines);
                    gathered.last = Some(Instant::now());
                }
                Ok(())
            }
            (Event::Output(lines), Form::Json) => {
                lines.lines().try_for_each(|line| Ok(writeln!(self.out, "{}", line_json(lines, line))?))
            }
            (Event::Output(lines), _) => Ok(self.lines(lines)?),
            (Event::Exited { rank, host, state }, Form::Json) => self.object(&exit_json(*rank, host, state)),
            (Event::Problem(problem), Form::Json) => self.object(&problem_json(problem)),
            (Event::Problem(problem), _) => {
                self.flush()?;
                if is_loss(problem) {
                    complain(problem)
                } else {
                    warn(problem)
                }
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
        let (out, look): (&mut dyn Write, Look) =
            if lines.errors { (&mut self.err, self.err_look) } else { (&mut self.out, self.out_look) };
        let label = || look.paint.text(Style::Label, format_args!("{} {}:", lines.rank, lines.host)) + " ";
        let label = (self.form == Form::Labelled).then(label).unwrap_or_default();
        for line in lines.lines() {
            out.write_all(label.as_bytes())?;
            if look.terminal {
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
    hex_unless_text(&mut object, line);
    object
}

/// Bytes that are no text are given as they are, too.
pub(super) fn hex_unless_text(object: &mut Value, bytes: &[u8]) {
    if std::str::from_utf8(bytes).is_err() {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        object["hex"] = hex.into();
    }
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
    if *state == ExitState::OutOfTime {
        object["limit"] = "time".into();
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
