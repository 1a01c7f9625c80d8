//! Programs to look at: compiled for the test, started, and ended with it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// A time after which a test has failed; nothing takes a hundredth of it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with programs.
pub(crate) struct Shop(tempfile::TempDir);

impl Shop {
    pub(crate) fn new() -> Shop {
        Shop(tempfile::tempdir().expect("a temporary directory"))
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, content).expect("a directory of our own");
        path
    }

    /// Compiles one of `tests/programs` with these arguments.
    pub(crate) fn compile(&self, source: &str, arguments: &[&str]) -> PathBuf {
        let path = self.0.path().join(source);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(format!("{source}.c"));
        let mut compiler = Command::new("cc");
        compiler.args(arguments).arg("-pthread").arg("-o").arg(&path).arg(source);
        assert!(compiler.status().expect("cc, which links Rust programs too").success());
        path
    }
}

/// A process that waits until it is dropped.
pub(crate) struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a program, and waits until it is where it will stay.
    pub(crate) fn start(program: &Path, arguments: &[u32], state: char) -> Running {
        Running::start_command(Command::new(program).args(arguments.iter().map(ToString::to_string)), state)
    }

    /// The same of a command.
    pub(crate) fn start_command(command: &mut Command, state: char) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a program that is there");
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("a pipe"));
        let mut running = Running { child, input, output: BufReader::new(output) };
        assert_eq!(running.line(), "ready\n");
        running.wait_for(state);
        running
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a pipe");
        line
    }

    pub(crate) fn state(&self) -> char {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).expect("it is there");
        text.rsplit(')').next().and_then(|rest| rest.trim().chars().next()).expect("a state")
    }

    pub(crate) fn wait_for(&self, state: char) {
        let deadline = Instant::now() + PATIENCE;
        while self.state() != state {
            assert!(Instant::now() < deadline, "pid {} is {} and not {state}", self.pid(), self.state());
            std::thread::yield_now();
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let done = Command::new("kill").args([&format!("-{name}"), &self.pid().to_string()]).status();
        assert!(done.expect("kill").success());
    }

    pub(crate) fn status(&self, key: &str) -> String {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it is there");
        let line = text.lines().find_map(|line| line.strip_prefix(key)).expect("a line of that name");
        line.trim_start_matches(':').trim().into()
    }

    /// Lets it end by itself; gives its status.
    pub(crate) fn end(mut self) -> Option<i32> {
        self.input = None;
        self.child.wait().expect("a child").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
