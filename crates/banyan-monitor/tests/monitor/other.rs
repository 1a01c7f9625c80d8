//! An observer in a process of its own, to be killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};

use crate::setup::{Stage, wait_for_sensors};

/// The first argument of such a process.
pub(crate) const ROLE: &str = "observer";

pub(crate) fn run(directory: &str) -> ExitCode {
    let stage = Stage::existing(directory);
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 1);
    let tap = observer.tap("solver.step").unwrap();
    say("ready");
    tap.iter().for_each(|_| say("event"));
    ExitCode::SUCCESS
}

fn say(words: &str) {
    // Nobody may listen any more.
    let _ = writeln!(std::io::stdout(), "{words}");
}

pub(crate) struct OtherObserver {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl OtherObserver {
    pub(crate) fn start(directory: &std::path::Path) -> OtherObserver {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg(ROLE).arg(directory).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut other = OtherObserver { child, output };
        other.expect("ready");
        other
    }

    fn expect(&mut self, words: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), words);
    }

    pub(crate) fn expect_event(&mut self) {
        self.expect("event");
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for OtherObserver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
