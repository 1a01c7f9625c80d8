//! LTTng-UST: a C program with one tracepoint, compiled here, with a session daemon of its own.
//!
//! It takes part where the compiler, the library and the daemon are installed and no other daemon
//! runs. Everything it starts ends with the measurement.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::EventRow;
use crate::{Effort, Timing};

const SYSTEM: &str = "lttng_ust";

/// The program that is measured.
const SOURCES: [(&str, &str); 2] = [("step.h", include_str!("lttng/step.h")), ("main.c", include_str!("lttng/main.c"))];

/// Events of a batch; all batches of a run fit into the buffers of the tracing session.
const EVENTS: usize = 1000;

/// How long the daemon may take until it answers.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often to ask whether it does.
const LOOK: Duration = Duration::from_millis(20);

/// The packages that bring what is needed.
const REMEDY: &str = "install gcc, lttng-tools and liblttng-ust-dev";

/// What a tracepoint costs with a tracing session and without.
///
/// # Errors
/// Why it cannot be measured here.
pub(super) fn measure(effort: Effort) -> Result<Vec<EventRow>, String> {
    let directory = tempfile::tempdir().map_err(|error| format!("no temporary directory: {error}"))?;
    let directory = directory.path();
    compile(directory)?;
    let idle = batches(directory, effort)?;
    let _daemon = Daemon::start(directory)?;
    let output = format!("--output={}", directory.join("trace").display());
    lttng(directory, &["create", "banyan-bench", &output])?;
    lttng(directory, &["enable-channel", "-u", "steps", "--discard", "--subbuf-size=4M", "--num-subbuf=8"])?;
    lttng(directory, &["enable-event", "-u", "banyan_bench:step", "-c", "steps"])?;
    lttng(directory, &["start"])?;
    let traced = batches(directory, effort);
    lttng(directory, &["destroy"])?;
    Ok(vec![
        EventRow::nanoseconds(SYSTEM, "emit_observed", traced?),
        EventRow::nanoseconds(SYSTEM, "emit_unobserved", idle),
    ])
}

fn compile(directory: &Path) -> Result<(), String> {
    for (name, text) in SOURCES {
        std::fs::write(directory.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    let arguments = ["-O2", "-I.", "-o", "steps", "main.c", "-llttng-ust", "-ldl"];
    run(Command::new("cc").args(arguments), directory).map(drop).map_err(|why| format!("{why}; {REMEDY}"))
}

/// The best and the middle of many batches.
fn batches(directory: &Path, effort: Effort) -> Result<Timing, String> {
    let arguments = [effort.batches.to_string(), EVENTS.to_string()];
    let printed = run(Command::new("./steps").args(arguments), directory)?;
    let mut times: Vec<f64> = printed.lines().filter_map(|line| line.trim().parse().ok()).collect();
    times.sort_by(f64::total_cmp);
    let (best, median) = (times.first().copied(), times.get(times.len() / 2).copied());
    best.zip(median).map(|(best, median)| Timing { best, median }).ok_or_else(|| "it printed no times".to_owned())
}

fn lttng(directory: &Path, arguments: &[&str]) -> Result<String, String> {
    // Without the option the client starts a daemon that nobody ends.
    run(Command::new("lttng").arg("--no-sessiond").args(arguments), directory)
}

/// Runs a command in the directory, which is its home too, and gives what it printed.
fn run(command: &mut Command, directory: &Path) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.current_dir(directory).env("HOME", directory).env("LTTNG_HOME", directory).stdin(Stdio::null());
    match command.output() {
        Err(error) => Err(format!("{name} cannot be run: {error}")),
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
            let line = said.lines().find(|line| line.to_ascii_lowercase().contains("error")).unwrap_or_default();
            Err(format!("{name} failed ({}): {}", output.status, line.trim()))
        }
    }
}

/// A session daemon, ended when dropped.
struct Daemon(Child);

impl Daemon {
    fn start(directory: &Path) -> Result<Daemon, String> {
        if lttng(directory, &["list"]).is_ok() {
            return Err("an lttng-sessiond runs already; end it to measure this".to_owned());
        }
        let mut command = Command::new("lttng-sessiond");
        command.args(["--no-kernel", "--quiet"]).env("HOME", directory).env("LTTNG_HOME", directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("lttng-sessiond cannot be run: {error}; {REMEDY}"))?;
        let mut daemon = Daemon(child);
        daemon.wait_until_it_answers(directory)?;
        Ok(daemon)
    }

    fn wait_until_it_answers(&mut self, directory: &Path) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while lttng(directory, &["list"]).is_err() {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(format!("lttng-sessiond ended at once ({status})"));
            }
            if Instant::now() >= deadline {
                return Err(format!("lttng-sessiond does not answer within {} s", PATIENCE.as_secs()));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        // It ends its consumer daemons when it is asked to end, and not when it is killed.
        kill_process(Pid::from_child(&self.0), Signal::TERM)?;
        self.0.wait().map(drop)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // One that has ended already is what was wanted.
        let _ = self.end();
    }
}
