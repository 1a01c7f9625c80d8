//! The log of the command: its own messages, `tracing` events of the libraries below it, and what agents log.
//!
//! With `--log` everything goes into a file. Without it, `--log-level` puts events on standard error; the command's own
//! messages are there anyway. Agents, their keepers and their guards get the same filter, and their lines come back
//! ([`AgentLog`]).

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use banyan_boot::{AgentLog, LogLines};
use clap::Args;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::{LookupSpan, Registry};

use crate::failure::{Failure, cause};
use crate::screen::harmless_text;
use crate::speech::{HEADING, show, time};

/// The target of the command's own messages.
pub(crate) const COMMAND: &str = "banyan_cli";

/// Options about the log.
#[derive(Args)]
pub(crate) struct Log {
    /// Append all messages to FILE, with the time
    #[arg(long, value_name = "FILE", global = true, help_heading = HEADING)]
    log: Option<PathBuf>,
    /// Log what happens in sessions and networks, here and at agents
    ///
    /// LEVEL is error, warn, info, debug or trace. A FILTER has levels for parts of the program, with commas between:
    /// banyan_tree=debug,banyan_link=trace. Lines go to the file of --log, or to standard error.
    #[arg(long, value_name = "LEVEL|FILTER", global = true, help_heading = HEADING)]
    log_level: Option<String>,
}

/// What `--log-level` says, and the file of `--log`.
struct Chosen {
    filter: Option<String>,
    file: Option<Mutex<File>>,
}

static CHOSEN: OnceLock<Chosen> = OnceLock::new();

/// Whether it was said that the file cannot be written.
static IS_FILE_LOST: AtomicBool = AtomicBool::new(false);

impl Log {
    /// Begins it for the rest of this process.
    pub(crate) fn begin(self) -> Result<(), Failure> {
        let events = self.log_level.as_deref().map(parse).transpose()?.unwrap_or_default();
        let open = |path: PathBuf| {
            let file = OpenOptions::new().create(true).append(true).open(&path);
            file.map(Mutex::new).map_err(|error| Failure::system(format_args!("--log {}", path.display()), &error))
        };
        let file = self.log.map(open).transpose()?;
        let own = if file.is_some() { LevelFilter::INFO } else { LevelFilter::OFF };
        let is_wanted = file.is_some() || self.log_level.is_some();
        let _ = CHOSEN.set(Chosen { filter: self.log_level, file });
        if is_wanted {
            let line = |line: &str| put(&format!("[{}] {line}", std::process::id()));
            subscribe(events.with_target(COMMAND, own), line);
        }
        Ok(())
    }
}

/// A filter from its text.
fn parse(text: &str) -> Result<Targets, Failure> {
    text.parse().map_err(|error| {
        Failure::usage(format_args!(
            "--log-level {text}: {error}; use a level (error, warn, info, debug, trace) or parts with levels: \
             banyan_tree=debug,banyan_link=trace"
        ))
    })
}

/// What agents are to log, if anything.
pub(crate) fn of_agents() -> Option<AgentLog> {
    let filter = CHOSEN.get()?.filter.clone()?;
    Some(AgentLog::new(filter, |line| put(&harmless_text(&bracketed(line)))))
}

/// The line of an agent with its writer, which stands before the first colon, in brackets.
fn bracketed(line: &str) -> String {
    line.split_once(": ").map_or_else(|| line.to_owned(), |(who, what)| format!("[{who}] {what}"))
}

/// In an agent, its keeper or its guard: begins its log.
pub(crate) fn begin_at_agent(filter: &str, lines: LogLines) {
    // What the front-end has understood.
    if let Ok(filter) = parse(filter) {
        subscribe(filter, move |line| lines.write(line));
    }
}

/// Puts a line into the file, or where there is none on standard error.
fn put(line: &str) {
    let Some(file) = CHOSEN.get().and_then(|chosen| chosen.file.as_ref()) else { return show(line) };
    let line = format!("{} {line}\n", time(SystemTime::now()));
    // One write a line, so that those of several commands do not mix.
    let written = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    if let Err(error) = written
        && !IS_FILE_LOST.swap(true, Ordering::Relaxed)
    {
        // A full disk must not end the work, and those who want to hear nothing want their log.
        let _ = writeln!(io::stderr(), "banyan: --log: the file cannot be written: {}", cause(&error));
    }
}

/// From now on events are lines.
fn subscribe(filter: Targets, line: impl Fn(&str) + Send + Sync + 'static) {
    let layer = tracing_subscriber::fmt::layer().event_format(Line).with_writer(Lines(line)).log_internal_errors(false);
    let subscriber = Registry::default().with(layer.with_filter(filter));
    // The first one counts.
    let _ = tracing::subscriber::set_global_default(subscriber);
}

/// How an event becomes a line.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            Level::INFO => "note",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        write!(to, "{level}: ")?;
        if event.metadata().target() != COMMAND {
            write!(to, "{}: ", event.metadata().target())?;
        }
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.as_str());
            write!(to, "{}{{{fields}}}: ", span.name())?;
        }
        let mut text = String::new();
        context.field_format().format_fields(Writer::new(&mut text), event)?;
        to.write_str(&harmless_text(&text))
    }
}

/// Takes lines one after the other.
struct Lines<F>(F);

impl<'a, F: Fn(&str) + 'a> MakeWriter<'a> for Lines<F> {
    type Writer = OneLine<'a, F>;

    fn make_writer(&'a self) -> OneLine<'a, F> {
        OneLine(&self.0)
    }
}

/// A line, which comes in one write.
struct OneLine<'a, F>(&'a F);

impl<F: Fn(&str)> Write for OneLine<'_, F> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0(&String::from_utf8_lossy(line));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_writes_at_an_agent_stands_in_brackets() {
        assert_eq!(bracketed("n1 keeper 7: note: a: b"), "[n1 keeper 7] note: a: b");
        assert_eq!(bracketed("cut"), "cut");
    }

    #[test]
    fn a_filter_is_a_level_or_parts_with_levels() {
        for good in ["debug", "banyan_tree=trace", "info,banyan_link=off"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        assert!(parse("banyan_tree=loud").is_err());
    }
}
