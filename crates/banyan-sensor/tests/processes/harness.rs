//! Starts children of this test program in a role, and opens their segments.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use banyan_sensor::observe::{Observer, Segment};
use tempfile::TempDir;

/// The role of a child, and its argument.
pub(crate) const ROLE: &str = "SENSOR_TEST_ROLE";

/// The longest that anything takes here.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A program with sensors, and the directory of its segments. It ends with the test.
pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) directory: TempDir,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts a child and waits until it is ready.
    pub(crate) fn start(role: &str) -> Program {
        Self::start_with(role, &[])
    }

    pub(crate) fn start_with(role: &str, variables: &[(&str, &str)]) -> Program {
        let directory = tempfile::Builder::new().permissions(own()).tempdir_in("/dev/shm").unwrap();
        Self::start_in(directory, role, variables)
    }

    pub(crate) fn start_in(directory: TempDir, role: &str, variables: &[(&str, &str)]) -> Program {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.envs(variables.iter().copied());
        Self::start_command(directory, role, command)
    }

    /// Starts a child with a limit on the size of its files, in blocks.
    pub(crate) fn start_limited(role: &str, blocks: u32) -> Program {
        let directory = tempfile::Builder::new().permissions(own()).tempdir_in("/dev/shm").unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")]).arg(std::env::current_exe().unwrap());
        Self::start_command(directory, role, command)
    }

    fn start_command(directory: TempDir, role: &str, mut command: Command) -> Program {
        command.args(["--exact", "child::acts_its_role", "--nocapture"]).env(ROLE, role);
        command.env("BANYAN_SENSOR_DIR", directory.path());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut program = Program { child, directory, input, output };
        program.expect("ready");
        program
    }

    /// Sends a command and waits until it is done.
    pub(crate) fn tell(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
        self.expect("done");
    }

    /// Sends a command and does not wait.
    pub(crate) fn send(&mut self, command: &str) {
        writeln!(self.input, "{command}").unwrap();
    }

    /// Reads lines up to one that begins like this; returns the rest of it.
    pub(crate) fn expect(&mut self, beginning: &str) -> String {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the child has ended before {beginning:?}");
            // The test runner writes its own words into the same line.
            if let Some((_, rest)) = line.split_once(beginning) {
                return rest.trim().to_owned();
            }
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Its segments, the oldest first.
    pub(crate) fn segments(&self) -> Vec<PathBuf> {
        segments(self.directory.path())
    }

    pub(crate) fn segment(&self) -> Segment {
        Segment::open(&self.segments()[0]).unwrap()
    }

    pub(crate) fn observe(&self, sensor: &str) -> Observer {
        let mut observer = self.segment().observe().unwrap();
        assert!(observer.watch(sensor), "{sensor}");
        observer
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn own() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o700)
}

/// The segments in a directory, the oldest first.
pub(crate) fn segments(directory: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    // One whose name begins with a dot is still being made.
    let is_made = |path: &PathBuf| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|end| end == "segment");
    let mut segments: Vec<PathBuf> = paths.filter(is_made).filter(is_segment).collect();
    segments.sort_by_key(|path| {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        stem.rsplit('-').next().unwrap().parse::<u64>().ok()
    });
    segments
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}
