//! Running a command: its output captured in the order in which it came, its time bounded, nothing of it left running
//! when the time is over, and the processor time it took counted.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// What `cargo run` puts into the environment of this program and the commands it runs must not inherit.
const INHERITED: &[&str] = &["CARGO", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "LD_LIBRARY_PATH"];

/// The unit in which Linux tells processor time, on every architecture that it runs on today.
const TICK: Duration = Duration::from_millis(10);

/// Between two looks at a process that has closed its output and is about to end.
const PAUSE: Duration = Duration::from_millis(2);

thread_local! {
    static PROCESSOR_TIME: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The processor time of all commands that this thread has run so far, with all that they started and waited for. Steps
/// run side by side, each in one thread: the difference of two calls is what the commands between them took. Services
/// that outlive the command which started them are not in it.
pub(crate) fn processor_time() -> Duration {
    PROCESSOR_TIME.get()
}

/// How commands are run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runner {
    /// Show output as it comes.
    pub(crate) verbose: bool,
    /// The longest that a command may take.
    pub(crate) limit: Duration,
}

/// A command that did not succeed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The command, as one would type it.
    pub(crate) command: String,
    /// What happened: its status, that it could not be started, that it took too long.
    pub(crate) reason: String,
    /// Everything it wrote.
    pub(crate) output: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n$ {}\n{}", self.output.trim_end(), self.command, self.reason)
    }
}

impl Failure {
    /// The last line it wrote, or what happened if it wrote nothing: short enough for a list.
    pub(crate) fn last_line(&self) -> String {
        let last = self.output.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or_else(|| self.reason.clone(), |line| line.trim().to_owned())
    }
}

impl Runner {
    /// Runs a command to its end and returns what it wrote, standard output and standard error together.
    pub(crate) fn run(self, command: &mut Command) -> Result<String, Failure> {
        for name in INHERITED {
            command.env_remove(name);
        }
        let text = in_words(command);
        let failure = |reason: String, output: String| Failure { command: text.clone(), reason, output };
        let cannot_start = |error: io::Error| failure(format!("cannot be started: {error}"), String::new());

        let (reader, writer) = io::pipe().map_err(cannot_start)?;
        let error_writer = writer.try_clone().map_err(cannot_start)?;
        let child = command.stdin(std::process::Stdio::null()).stdout(writer).stderr(error_writer).spawn();
        // The command keeps our ends of the pipe open; without this its output would never end.
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = child.map_err(cannot_start)?;

        let output = self.collect(reader);
        let ended = output.ended.recv_timeout(self.limit);
        if ended.is_err() {
            end_with_descendants(&mut child);
        }
        let written = output.reader.join().unwrap_or_default();
        PROCESSOR_TIME.set(PROCESSOR_TIME.get() + processor_time_of(child.id(), self.limit));
        let status = child.wait().map_err(|error| failure(format!("is lost: {error}"), written.clone()))?;
        match ended {
            Err(_) => Err(failure(format!("was ended after its {} s", self.limit.as_secs()), written)),
            Ok(()) if status.success() => Ok(written),
            Ok(()) => Err(failure(status.to_string(), written)),
        }
    }

    fn collect(self, mut reader: io::PipeReader) -> Collected {
        let (sender, ended) = mpsc::channel();
        let reader = thread::spawn(move || {
            let mut output = Vec::new();
            let mut chunk = [0; 8192];
            while let Ok(count @ 1..) = reader.read(&mut chunk) {
                output.extend_from_slice(&chunk[..count]);
                if self.verbose {
                    let _ = io::stdout().write_all(&chunk[..count]);
                }
            }
            let _ = sender.send(());
            String::from_utf8_lossy(&output).into_owned()
        });
        Collected { reader, ended }
    }
}

struct Collected {
    reader: thread::JoinHandle<String>,
    ended: mpsc::Receiver<()>,
}

/// The command as one would type it, variables first.
fn in_words(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let variables = variables.map(|(name, value)| format!("{}={}", name.to_string_lossy(), quoted(value)));
    let program = std::iter::once(command.get_program()).chain(command.get_args());
    variables.chain(program.map(quoted)).collect::<Vec<_>>().join(" ")
}

fn quoted(text: &std::ffi::OsStr) -> String {
    let text = text.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "-_=+/.,:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.into_owned() } else { format!("'{text}'") }
}

/// Ends a process and all that it started. It shares our process group, so that an interrupt at the keyboard reaches
/// it; hence its descendants are looked up one by one.
fn end_with_descendants(child: &mut Child) {
    let mut ended = vec![child.id()];
    let processes = parents();
    let mut next = 0;
    while let Some(parent) = ended.get(next).copied() {
        ended.extend(processes.iter().filter(|(_, of)| *of == parent).map(|(process, _)| process));
        next += 1;
    }
    let numbers: Vec<String> = ended.iter().map(u32::to_string).collect();
    let _ = Command::new("sh").arg("-c").arg(format!("kill -9 {}", numbers.join(" "))).status();
    let _ = child.kill();
}

/// Every process of this machine with its parent.
fn parents() -> Vec<(u32, u32)> {
    let Ok(entries) = Path::new("/proc").read_dir() else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let process = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((process, status(process)?.get(1)?.parse().ok()?))
        })
        .collect()
}

/// What a child of ours took in all, once it has ended and before it is waited for: from then on nobody can know.
fn processor_time_of(child: u32, limit: Duration) -> Duration {
    let deadline = Instant::now() + limit;
    while let Some(status) = status(child) {
        let has_ended = status.first().is_some_and(|state| state == "Z");
        if has_ended || Instant::now() > deadline {
            // Its own in user and system mode, and the same of the processes it waited for.
            let ticks = status.iter().skip(11).take(4).filter_map(|ticks| ticks.parse::<u32>().ok()).sum::<u32>();
            return TICK * ticks;
        }
        thread::sleep(PAUSE);
    }
    Duration::ZERO
}

/// What the kernel tells of a process behind its name: state, parent and so on, as proc(5) lists them.
fn status(process: u32) -> Option<Vec<String>> {
    let line = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // "pid (name) state parent …"; the name can hold anything, so look behind its last parenthesis.
    Some(line.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// Where a program lies, if it can be run by its name alone.
pub(crate) fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNER: Runner = Runner { verbose: false, limit: Duration::from_secs(60) };

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_errors_come_in_order() {
        let output = RUNNER.run(&mut shell("echo one; echo two >&2; echo three")).expect("succeeds");
        assert_eq!(output, "one\ntwo\nthree\n");
    }

    #[test]
    fn a_failure_shows_command_status_and_output() {
        let failure = RUNNER.run(shell("echo why; exit 3").env("COLOUR", "dark red")).expect_err("fails");
        assert_eq!(failure.last_line(), "why");
        assert_eq!(failure.to_string(), "why\n$ COLOUR='dark red' sh -c 'echo why; exit 3'\nexit status: 3");
    }

    #[test]
    fn a_missing_program_is_a_failure_that_names_it() {
        let failure = RUNNER.run(&mut Command::new("no-such-program")).expect_err("fails");
        assert!(failure.to_string().contains("$ no-such-program\ncannot be started: "));
    }

    #[test]
    fn the_processor_time_of_a_command_includes_what_it_started() {
        let before = processor_time();
        RUNNER.run(&mut shell("sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true")).expect("succeeds");
        let counted = processor_time();
        assert!(counted > before);
        RUNNER.run(&mut shell("sleep 0.2")).expect("succeeds");
        assert!(processor_time() - counted < Duration::from_millis(200));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let runner = Runner { verbose: false, limit: Duration::from_millis(300) };
        // The inner shell holds the pipe open: only if it is ended as well does this test come to its end.
        let failure = runner.run(&mut shell("sh -c 'sleep 1000; true'; true")).expect_err("too long");
        assert!(failure.reason.starts_with("was ended after"));
    }
}
