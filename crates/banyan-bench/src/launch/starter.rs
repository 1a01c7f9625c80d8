//! Starters of others: whether they are here, how long they take, and if they fail, why.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use banyan_boot::cause;
use rustix::fs::{MemfdFlags, memfd_create};

/// A starter is given up after this many seconds.
const LIMIT: &str = "20";

/// What `timeout` ends with when it had to end the starter.
const TOO_LONG: i32 = 124;

/// Bytes at the end of what a starter said that are looked at, and letters of its last line that are told.
const LAST_BYTES: u64 = 4096;
const LAST_LETTERS: usize = 160;

/// A command that is given up when it takes too long.
pub(super) fn limited(words: &[impl AsRef<OsStr>]) -> Command {
    // `timeout` ends the starter with everything in its group.
    let mut command = Command::new("timeout");
    command.args(["--kill-after=2", LIMIT]).args(words);
    // Open MPI refuses to work for root unless it is told twice.
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// How long a command takes, or why it failed.
pub(super) fn time(command: &mut Command) -> Result<Duration, String> {
    // No pipe: what a starter leaves behind may hold its other end for ever.
    let said = memfd_create("said", MemfdFlags::CLOEXEC).map(File::from).ok();
    if let Some(said) = said.as_ref().and_then(|said| said.try_clone().ok()) {
        command.stderr(said);
    }
    let begin = Instant::now();
    let status = command.status().map_err(|error| format!("timeout cannot be run: {}", cause(&error)))?;
    if status.success() { Ok(begin.elapsed()) } else { Err(failure(status, &last_line(said.as_ref()))) }
}

fn failure(status: ExitStatus, said: &str) -> String {
    if status.code() == Some(TOO_LONG) {
        return format!("no end within {LIMIT} s");
    }
    let said = if said.is_empty() { "it said nothing" } else { said };
    format!("failed ({status}): {said}")
}

/// The last line that a starter said, without what would move a cursor.
fn last_line(said: Option<&File>) -> String {
    let read = |said: &File| {
        let mut bytes = vec![0; LAST_BYTES as usize];
        let from = said.metadata().ok()?.len().saturating_sub(LAST_BYTES);
        let count = said.read_at(&mut bytes, from).ok()?;
        bytes.truncate(count);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = said.and_then(read).unwrap_or_default();
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().filter(|letter| !letter.is_control()).take(LAST_LETTERS).collect()
}

/// Refuses a program that is not installed, or whose version does not have this word in it.
pub(super) fn says(program: &str, word: &str) -> Result<(), String> {
    let told = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    match told {
        Err(_) => Err(not_installed(program)),
        Ok(told) if String::from_utf8_lossy(&told.stdout).contains(word) => Ok(()),
        Ok(_) => Err(format!("{program} is another program: {program} --version does not say {word}")),
    }
}

/// Refuses a program that is not installed, or that fails with a flag with which it only says what it is.
pub(super) fn runs(program: &str, flag: &str) -> Result<(), String> {
    match Command::new(program).arg(flag).stdin(Stdio::null()).output() {
        Err(_) => Err(not_installed(program)),
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(format!("{program} {flag} fails ({})", ran.status)),
    }
}

fn not_installed(program: &str) -> String {
    format!("not installed: there is no {program} in PATH")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starter_that_fails_says_why_with_its_last_line() {
        let failed = time(&mut limited(&["sh", "-c", "echo first >&2; printf '\\033[1mlast\\n\\n' >&2; exit 3"]));
        assert_eq!(failed, Err("failed (exit status: 3): [1mlast".into()));
        assert_eq!(time(&mut limited(&["false"])), Err("failed (exit status: 1): it said nothing".into()));
        assert!(time(&mut limited(&["true"])).is_ok());
    }

    #[test]
    fn what_stays_behind_and_says_more_is_not_waited_for() {
        let took = time(&mut limited(&["sh", "-c", "sleep 5 & exit 0"])).expect("it ends well");
        assert!(took < Duration::from_secs(5), "{took:?}");
    }

    #[test]
    fn a_program_that_is_not_there_or_another_one_is_told_apart() {
        assert_eq!(runs("no-such-starter", "-V"), Err("not installed: there is no no-such-starter in PATH".into()));
        assert!(says("sh", "Open MPI").is_err_and(|why| why.starts_with("sh is another program")));
        assert_eq!(runs("true", "-V"), Ok(()));
    }
}
