//! A test harness for sessions: each test runs in a process of its own, which is ended when it takes too long.
//!
//! The test program itself is also the agent and the member of its sessions, so it has its own `main`. It understands
//! what `cargo test` and nextest say to test programs. After each test the harness looks for what is left of it:
//! processes that carry the test's marker in their environment, and files in the directory that was `TMPDIR` for it. After all
//! of them it looks for sockets and shared memory, where it may make a [`place`] that is theirs alone; nextest starts a program
//! for each test, so that there, too, one test is to blame.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a test program speaks by its output")]

pub(crate) mod place;
pub(crate) mod processes;

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use processes::{MARKER, marked};

/// A test: its name, and what it does.
pub(crate) type Test = (&'static str, fn());

/// The longest that a test may take. None takes a tenth of it on an idle machine; a busy one is slow.
const TEST_LIMIT: Duration = Duration::from_secs(360);

/// How long the processes of a session may take to end after the test.
pub(crate) const END_LIMIT: Duration = Duration::from_secs(10);

/// Tests at the same time: most of them wait most of the time.
const SIDE_BY_SIDE: usize = 4;

/// The variable of the environment that says in which of several ways a test runs.
pub(crate) const WAY: &str = "BANYAN_TEST_WAY";

/// The way of tests that have no other.
pub(crate) const ONE: &str = "";

/// Makes a test of each function, called by its name.
#[macro_export]
macro_rules! tests {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), $module::$name as fn())),*]
    };
}

/// What the command line asks for.
#[derive(Debug, Default)]
struct Request {
    filters: Vec<String>,
    exact: bool,
    list: bool,
    /// Only tests that are usually left out.
    ignored: bool,
    include_ignored: bool,
    in_turn: bool,
}

impl Request {
    fn of(arguments: impl Iterator<Item = String>) -> Request {
        let mut request = Request::default();
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => request.exact = true,
                "--list" => request.list = true,
                "--ignored" => request.ignored = true,
                "--include-ignored" => request.include_ignored = true,
                "--test-threads=1" => request.in_turn = true,
                "--format" | "--skip" | "--color" | "--test-threads" | "-Z" => _ = arguments.next(),
                other if other.starts_with('-') => {}
                _ => request.filters.push(argument),
            }
        }
        request
    }

    fn wants(&self, name: &str) -> bool {
        let fits = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        self.filters.is_empty() || self.filters.iter().any(fits)
    }
}

/// Runs the tests that the command line asks for. `ignored`: they run only when told to, for this reason.
///
/// Each test runs in all of these ways at the same time, which takes little longer: most tests wait most of the time. The
/// processes of a test find theirs in [`WAY`]. Where there is but one way it is [`ONE`].
pub(crate) fn run(tests: &[Test], ignored: Option<&str>, ways: &[&str]) -> ExitCode {
    let request = Request::of(std::env::args().skip(1));
    let wanted: Vec<&Test> = tests.iter().filter(|(name, _)| request.wants(name)).collect();
    if request.list {
        let shown = wanted.iter().filter(|_| !request.ignored || ignored.is_some());
        shown.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if let (Ok(_), [(_, test)]) = (std::env::var(MARKER), &wanted[..]) {
        test();
        processes::assert_no_children();
        return ExitCode::SUCCESS;
    }
    if let Some(reason) = ignored.filter(|_| !request.ignored && !request.include_ignored) {
        wanted.iter().for_each(|(name, _)| println!("test {name} ... ignored, {reason}"));
        return ExitCode::SUCCESS;
    }
    if ignored.is_none() && request.ignored {
        return ExitCode::SUCCESS;
    }
    if ignored.is_none() {
        place::enter();
    }
    let mut failed = run_all(&wanted, ways, if request.in_turn { 1 } else { SIDE_BY_SIDE });
    let left = place::left(Instant::now() + END_LIMIT);
    if !left.is_empty() {
        failed += 1;
        eprintln!("sockets or shared memory are left:\n{}\n", left.join("\n"));
    }
    println!("\ntest result: {} passed; {failed} failed", wanted.len().saturating_sub(failed));
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_all(tests: &[&Test], ways: &[&str], side_by_side: usize) -> usize {
    let (next, failed, speaking) = (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new(()));
    std::thread::scope(|scope| {
        for _ in 0..side_by_side.min(tests.len()) {
            scope.spawn(|| {
                while let Some((name, _)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let begin = Instant::now();
                    let result = run_one(name, ways);
                    let _speaking = speaking.lock().unwrap();
                    let time = begin.elapsed().as_secs_f64();
                    match result {
                        Ok(()) => println!("test {name} ... ok ({time:.2} s)"),
                        Err(why) => {
                            failed.fetch_add(1, Ordering::Relaxed);
                            println!("test {name} ... FAILED ({time:.2} s)");
                            eprintln!("---- {name} ----\n{why}\n");
                        }
                    }
                }
            });
        }
    });
    failed.into_inner()
}

/// Runs one test in all ways at the same time.
fn run_one(name: &str, ways: &[&str]) -> Result<(), String> {
    let results: Vec<(&str, Result<String, String>)> = std::thread::scope(|scope| {
        let running: Vec<_> = ways
            .iter()
            .map(|way| (*way, scope.spawn(move || run_for(name, &[(WAY, way)], Some(TEST_LIMIT)))))
            .collect();
        running.into_iter().map(|(way, test)| (way, test.join().unwrap())).collect()
    });
    let failed = results.into_iter().filter_map(|(way, result)| {
        let why = result.err()?;
        Some(if way == ONE { why } else { format!("{WAY}={way}: {why}") })
    });
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n")) }
}

/// Runs one test in a process of its own, with these variables in its environment, and looks for what is left. Without a limit
/// it may take as long as it likes. Returns what it has said.
pub(crate) fn run_for(name: &str, variables: &[(&str, &str)], limit: Option<Duration>) -> Result<String, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let said = tempfile::tempfile().map_err(|error| error.to_string())?;
    let values: Vec<&str> = variables.iter().map(|(_, value)| *value).collect();
    let marker = format!("{}-{name}-{}", std::process::id(), values.join("-"));
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = || said.try_clone().map(Stdio::from).map_err(|error| error.to_string());
    let mut child = Command::new(this)
        .args(["--exact", name])
        .env(MARKER, &marker)
        .env("TMPDIR", directory.path())
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(output()?)
        .stderr(output()?)
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut wrong = Vec::new();
    match wait(&mut child, limit) {
        Some(status) if status.success() => {}
        Some(status) => wrong.push(format!("{status}, signal {:?}", status.signal())),
        None => wrong.push(format!("did not end within {} s", limit.unwrap_or_default().as_secs())),
    }
    let left = processes::wait_until_gone(|| marked(&marker), Instant::now() + END_LIMIT);
    if !left.is_empty() {
        wrong.push(format!("processes are left:\n{}", processes::describe(&left)));
        processes::end(&left);
    }
    let files: Vec<_> = std::fs::read_dir(directory.path()).into_iter().flatten().flatten().collect();
    if !files.is_empty() {
        wrong.push(format!("files are left: {files:?}"));
    }
    let mut text = String::new();
    let read = std::io::Seek::rewind(&mut &said).and_then(|()| std::io::Read::read_to_string(&mut &said, &mut text));
    let text = read.map_or_else(|error| format!("its output cannot be read: {error}"), |_| text);
    if wrong.is_empty() {
        return Ok(text);
    }
    wrong.push(text);
    Err(wrong.join("\n"))
}

fn wait(child: &mut Child, limit: Option<Duration>) -> Option<std::process::ExitStatus> {
    let Some(limit) = limit else { return child.wait().ok() };
    match processes::wait_for_child(child, Instant::now() + limit) {
        Some(status) => Some(status),
        None => {
            let _ = child.kill();
            let _ = child.wait();
            None
        }
    }
}
