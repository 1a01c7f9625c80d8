//! How the command speaks: colours, and how much it says beside its results.
//!
//! Set once, when the arguments are known. Results go to standard output and are not this module's business; what is
//! said about them goes to standard error, and into the log, whether it was shown or not.

use std::ffi::OsString;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, ColorChoice, ValueEnum};
use tracing::{error, info};

use crate::failure::Failure;
use crate::log::{self, Log};
use crate::progress;
use crate::screen::harmless_text;

/// Options of every verb that take a value.
pub(crate) const TAKING_VALUES: [&str; 3] = ["--color", "--log", "--log-level"];

/// Under which options of every verb stand in its help.
pub(crate) const HEADING: &str = "Options of every verb";

/// When there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Options of every verb.
#[derive(Args)]
pub struct Speech {
    /// When to show colours
    #[arg(long, value_name = "WHEN", global = true, help_heading = HEADING)]
    color: Option<Color>,
    /// Print nothing on standard error except why the command failed
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = HEADING)]
    quiet: bool,
    /// Print more about what is done
    #[arg(short, long, global = true, help_heading = HEADING)]
    verbose: bool,
    #[command(flatten)]
    log: Log,
}

/// The arguments of this command; those behind `--` are somebody else's.
pub(crate) fn own_arguments() -> impl Iterator<Item = OsString> {
    std::env::args_os().skip(1).take_while(|argument| argument != "--")
}

/// Whether help, and what is wrong with arguments, is coloured. That is said while they are still being parsed, so only
/// `--color` itself is looked for.
pub(crate) fn color_of_help() -> ColorChoice {
    let mut chosen = ColorChoice::Auto;
    let mut is_next = false;
    for argument in own_arguments() {
        let argument = argument.to_string_lossy();
        let given = if is_next { Some(&*argument) } else { argument.strip_prefix("--color=") };
        match given.and_then(|given| Color::from_str(given, false).ok()) {
            Some(Color::Always) => chosen = ColorChoice::Always,
            Some(Color::Never) => chosen = ColorChoice::Never,
            Some(Color::Auto) => chosen = ColorChoice::Auto,
            None => {}
        }
        is_next = argument == "--color";
    }
    chosen
}

/// How it was decided to speak.
struct Manner {
    color: Option<Color>,
    quiet: bool,
    verbose: bool,
    json: bool,
}

static MANNER: OnceLock<Manner> = OnceLock::new();

/// What is said, by weight.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weight {
    Note,
    Warning,
    Error,
}

impl Speech {
    /// Decides it for the rest of this process, which was asked for `--json` or was not.
    pub fn begin(self, json: bool) -> Result<(), Failure> {
        let Speech { color, quiet, verbose, log } = self;
        MANNER.get_or_init(|| Manner { color, quiet, verbose, json });
        log.begin()
    }
}

/// Tells of something that matters to whoever is interested in how it goes: shown with -v.
pub fn note(message: impl fmt::Display) {
    say(Weight::Note, &message);
}

/// Tells the user of something on standard error.
pub fn warn(message: impl fmt::Display) {
    say(Weight::Warning, &message);
}

/// Tells why the command failed, even to those who want to hear nothing.
pub(crate) fn complain(message: impl fmt::Display) {
    say(Weight::Error, &message);
}

fn say(weight: Weight, message: &dyn fmt::Display) {
    let manner = MANNER.get();
    let (quiet, verbose) = manner.map_or((false, false), |manner| (manner.quiet, manner.verbose));
    let shown = match weight {
        Weight::Note => verbose,
        Weight::Warning => !quiet,
        Weight::Error => true,
    };
    // Some of it is what hosts said. And nobody may be there to read it, which is no reason to end.
    let message = harmless_text(&message.to_string());
    if shown {
        show(&message);
    }
    match weight {
        Weight::Note => info!(target: log::COMMAND, "{message}"),
        Weight::Warning => tracing::warn!(target: log::COMMAND, "{message}"),
        Weight::Error => error!(target: log::COMMAND, "{message}"),
    }
}

/// Puts a message on standard error.
pub(crate) fn show(message: &str) {
    let mut stderr = std::io::stderr().lock();
    progress::clear(&mut stderr);
    let _ = writeln!(stderr, "banyan: {message}");
}

/// Whether nothing is to be said about how the work goes.
pub fn is_quiet() -> bool {
    MANNER.get().is_some_and(|manner| manner.quiet)
}

/// Whether standard output is for something else than objects, whatever was asked for.
static IS_OUTPUT_TAKEN: AtomicBool = AtomicBool::new(false);

/// From now on standard output is for records.
pub(crate) fn take_output() {
    IS_OUTPUT_TAKEN.store(true, Ordering::Relaxed);
}

/// Whether programs read objects on standard output.
pub fn is_json() -> bool {
    // Before the arguments are parsed, they are only looked at.
    let is_asked_for = || own_arguments().any(|argument| argument == "--json");
    MANNER.get().map_or_else(is_asked_for, |manner| manner.json) && !IS_OUTPUT_TAKEN.load(Ordering::Relaxed)
}

/// Whether what goes to such a stream is coloured; `default` is what the configuration says.
pub(crate) fn paints(stream: &impl IsTerminal, default: Option<Color>) -> bool {
    let given = MANNER.get().and_then(|manner| manner.color);
    match given.or(default).unwrap_or(Color::Auto) {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
            stream.is_terminal() && !unwanted && !dumb
        }
    }
}

/// A time in UTC, as ISO 8601 writes it.
pub fn time(now: SystemTime) -> String {
    const DAY: u64 = 86_400;
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / DAY, since.as_secs() % DAY);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", since.subsec_millis())
}

/// Year, month and day, from days since the beginning of 1970. Years are counted from March here, so that the day that
/// comes and goes is the last.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    let days = days + 719_468; // since March 1 of the year 0
    let (era, day_of_era) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds: u64| time(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7));
        assert_eq!(at(0), "1970-01-01T00:00:00.007Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.007Z");
        assert_eq!(at(1_709_251_199), "2024-02-29T23:59:59.007Z");
        assert_eq!(at(1_794_831_099), "2026-11-16T12:11:39.007Z");
    }
}
