//! What the user sees of a session while it runs.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use banyan_boot::{Event, ExitState, Problem, ProblemKind, RankSet};
use serde_json::{Value, json};

use super::folded::{Folded, TextStyle};
use super::is_loss;
use super::joiner::{Joiner, KEPT_BYTES, Origin, Piece};
use super::side::Side;
use crate::escaped::write_object;
use crate::failure::{Failure, warn};
use crate::hosts::Missing;
use crate::paint::{Paint, Style};
use crate::progress::Progress;
use crate::speech::{Color, complain, note, paints};

/// How events are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EventForm {
    /// Lines behind rank and host.
    Labelled,
    /// Lines behind the host.
    HostLabelled,
    /// Lines as they are.
    Bare,
    /// One JSON object each.
    Json,
}

/// Standard output and errors.
pub(super) struct Show {
    form: EventForm,
    out: Side,
    err: Side,
    joiner: Joiner,
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
    pub(super) fn new(form: EventForm, color: Option<Color>) -> Show {
        let side = |to: Box<dyn Write>, paints, terminal| Side::new(to, TextStyle { paint: Paint(paints), terminal });
        let (out, err) = (io::stdout(), io::stderr());
        Show {
            form,
            out: side(Box::new(out.lock()), paints(&out, color), out.is_terminal()),
            err: side(Box::new(io::stderr()), paints(&err, color), err.is_terminal()),
            joiner: Joiner::new(KEPT_BYTES),
            folded: None,
        }
    }

    /// There is one member, whose lines nobody else's come between: without labels it is a pipe.
    pub(super) fn only_one(&mut self) {
        if self.form == EventForm::Bare && !self.out.look.terminal && !self.err.look.terminal {
            self.joiner = Joiner::new(0);
        }
    }

    /// From now on output is gathered, and shown by [`Show::unfold`].
    pub(super) fn fold(&mut self, folded: Folded) {
        self.folded = Some(Gathered { folded, progress: Progress::start(), last: None });
    }

    /// Hands over what was gathered for the streams.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush()?;
        Ok(self.err.flush()?)
    }

    /// Whether something was shown that nobody will read.
    pub(super) fn is_unread(&self) -> bool {
        self.out.is_unread() || self.err.is_unread()
    }

    /// Says how far it is, to those who see nothing else of it.
    pub(super) fn progress(&mut self, text: impl FnOnce() -> String) {
        if let Some(gathered) = &mut self.folded {
            gathered.progress.tell(text);
        }
    }

    /// Whether output is gathered.
    pub(super) fn is_folding(&self) -> bool {
        self.folded.is_some()
    }

    /// Shows what was folded, but nothing of members that never ran.
    pub(super) fn unfold(&mut self, unreached: &RankSet) -> Result<(), Failure> {
        // The line that says how far it is goes with it.
        let Some(Gathered { mut folded, last, .. }) = self.folded.take() else { return Ok(()) };
        folded.leave_out(unreached);
        if self.form == EventForm::Json {
            return folded.objects().try_for_each(|object| self.object(&object));
        }
        folded.show_out(&mut self.out.to, self.out.look)?;
        self.out.flush()?;
        folded.show_err(&mut self.err.to, self.err.look)?;
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
            (Event::Output(lines), _) => {
                let Show { form, out, err, joiner, .. } = self;
                Ok(joiner.take(lines, |origin, piece| show(*form, out, err, origin, piece))?)
            }
            (Event::Exited { rank, host, state }, form) => {
                self.finish(Some(*rank))?;
                if form == EventForm::Json { self.object(&exit_json(*rank, host, state)) } else { Ok(()) }
            }
            (Event::Problem(problem), EventForm::Json) => self.object(&problem_json(problem)),
            // The summary tells of hosts that were not reached, those with the same cause together.
            (Event::Problem(problem), _) if Missing::is_told_by(problem) => Ok(()),
            (Event::Problem(problem), _) => {
                self.err.begin_line()?;
                self.flush()?;
                match problem.kind {
                    // The summary tells, once for all hosts.
                    ProblemKind::LeftRunning | ProblemKind::NotStarted => {}
                    _ if is_loss(problem) => complain(problem),
                    _ => warn(problem),
                }
                Ok(())
            }
            // The summary tells how members ended.
            _ => Ok(()),
        }
    }

    /// One JSON object on a line of its own.
    pub(super) fn object(&mut self, object: &Value) -> Result<(), Failure> {
        write_object(&mut self.out.to, object)?;
        Ok(self.out.flush()?)
    }

    /// Shows what is left of a member that has ended, or of all. Where lines have labels, the last one gets an end.
    pub(super) fn finish(&mut self, rank: Option<u32>) -> Result<(), Failure> {
        let Show { form, out, err, joiner, .. } = self;
        joiner.finish(rank, |origin, piece| show(*form, out, err, origin, piece))?;
        if matches!(form, EventForm::Labelled | EventForm::HostLabelled) {
            out.end_line_of(rank)?;
            err.end_line_of(rank)?;
        }
        Ok(())
    }
}

/// Shows a line, or a piece of one.
fn show(form: EventForm, out: &mut Side, err: &mut Side, origin: &Origin, piece: Piece<'_>) -> io::Result<()> {
    if form == EventForm::Json {
        return write_object(&mut out.to, &piece_json(origin, piece));
    }
    let side = if origin.errors { err } else { out };
    let paint = side.look.paint;
    let label = || match form {
        EventForm::Labelled => paint.text(Style::Label, format_args!("{} {}:", origin.rank, origin.host)) + " ",
        EventForm::HostLabelled => paint.text(Style::Label, format_args!("{}:", origin.host)) + " ",
        EventForm::Bare | EventForm::Json => String::new(),
    };
    side.write(origin.rank, label, piece)
}

fn piece_json(origin: &Origin, piece: Piece<'_>) -> Value {
    let mut object = json!({
        "event": "output",
        "rank": origin.rank,
        "host": &*origin.host,
        "stream": if origin.errors { "stderr" } else { "stdout" },
        "line": String::from_utf8_lossy(piece.bytes),
    });
    if !piece.is_ended {
        object["partial"] = true.into();
    }
    hex_unless_text(&mut object, piece.bytes);
    object
}

/// Bytes that are no text are given as they are, too.
pub(super) fn hex_unless_text(object: &mut Value, bytes: &[u8]) {
    if std::str::from_utf8(bytes).is_err() {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from(DIGITS[usize::from(digit)]));
        object["hex"] = bytes.iter().flat_map(digits).collect::<String>().into();
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
