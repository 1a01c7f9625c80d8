//! A directory with files to work on, and the command run in it.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// What the readings of these tests look like.
const SCHEMA: &str = r#"{
  "title": "reading",
  "type": "object",
  "properties": {
    "time": { "type": "integer", "minimum": 0, "maximum": 4294967295 },
    "sensor": { "type": "string" },
    "celsius": { "type": "number" }
  },
  "required": ["time", "sensor", "celsius"]
}
"#;

/// A directory of its own for a test.
pub(crate) struct Workshop {
    directory: tempfile::TempDir,
}

/// What a run of the command gave.
pub(crate) struct Ran {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) status: i32,
}

impl Workshop {
    pub(crate) fn new() -> Workshop {
        Workshop { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// With `reading.json`, `readings.jsonl` and `readings.bny`: this many readings.
    pub(crate) fn with_readings(count: usize) -> Workshop {
        let shop = Workshop::new();
        shop.write("reading.json", SCHEMA);
        let line = |n| format!("{{\"time\":{},\"sensor\":\"s{}\",\"celsius\":{}.5}}\n", 1000 + n, n % 3, n);
        shop.write("readings.jsonl", (0..count).map(line).collect::<String>());
        shop.well(&["records", "convert", "readings.jsonl", "readings.bny", "--schema", "reading.json"]);
        shop
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).expect("a file in the test's own directory");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Names of all files, hidden ones too.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).expect("the test's own directory");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, &[])
    }

    /// In the directory, which has the only configuration: `config.toml` and `clustershell`, if they are there.
    fn configure(&self, command: &mut Command) {
        command.current_dir(self.directory.path());
        let config = if self.path("config.toml").exists() { "config.toml" } else { "" };
        command.env("BANYAN_CONFIG", config).env("CLUSTERSHELL_CFGDIR", self.path("clustershell"));
        command.env_remove("NO_COLOR").env("PATH", path_with_programs());
    }

    /// Runs the command with these bytes on standard input.
    pub(crate) fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let mut command = Command::new(crate::banyan());
        self.configure(command.args(arguments));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command was built");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("it ends");
        feeder.join().expect("feeding does not panic");
        Ran::new(output)
    }

    /// Runs the command, which must end well and quietly.
    pub(crate) fn well(&self, arguments: &[&str]) -> String {
        let Ran { out, err, status } = self.run(arguments);
        assert!(status == 0 && err.is_empty(), "{arguments:?} ended with {status}\n{err}");
        out
    }

    /// Runs a line of shell in which `banyan` is the command.
    pub(crate) fn shell(&self, line: &str) -> Ran {
        let mut shell = Command::new("sh");
        self.configure(shell.args(["-c", line]));
        Ran::new(shell.output().expect("a shell"))
    }
}

impl Ran {
    fn new(output: Output) -> Ran {
        Ran {
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            status: output.status.code().expect("it was not killed"),
        }
    }

    /// Standard output as one JSON value a line.
    pub(crate) fn json(&self) -> Vec<Value> {
        json_lines(&self.out)
    }
}

/// The directories of the programs that are tested, and then those where others are.
fn path_with_programs() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = crate::directories().into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(directories).expect("no directory has a colon in its name")
}

/// One JSON value a line.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests wants to know what was left out")]
pub(crate) fn skip(why: &str) {
    eprintln!("left out: {why}");
}
