//! A program with sensors, as tests start it: the observer does not know of it.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use banyan_sensor::{Action, Knob, Record, Sensor};
use rustix::process::{Pid, Signal, kill_process};

/// The first argument of the program.
pub(crate) const ROLE: &str = "program";

/// The first argument of a program that takes steps until it is ended.
pub(crate) const RANK: &str = "rank";

/// An event whose parts tell whether they belong together.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) n: u64,
    pub(crate) residual: f64,
}

impl Step {
    pub(crate) fn new(n: u64) -> Step {
        Step { n, residual: n as f64 * 0.5 }
    }
}

/// Another type.
#[derive(Record, Debug, Clone, PartialEq)]
pub(crate) struct Note {
    pub(crate) text: String,
}

/// Does what it is told by its standard input.
pub(crate) fn run() -> ExitCode {
    let step = Sensor::<Step>::options("solver.step").unit("1").description("one step").build().unwrap();
    let dt = Knob::options("solver.dt", 0.5).range(1e-6..=1.0).unit("s").build().unwrap();
    let _checkpoint = Action::new("checkpoint", || ()).unwrap();
    let mut steps = 0;
    say("ready");
    let mut n = 0;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let (word, count) = line.split_once(' ').unwrap_or((&line, "0"));
        let count: u64 = count.parse().unwrap();
        match word {
            "emit" => emit(&step, &mut n, count),
            // Faster than rings are read, in bursts, so that some are lost.
            "pour" => (0..count / 1000).for_each(|_| emit(&step, &mut n, 1000)),
            // So slowly that none is lost.
            "drip" => (0..count).for_each(|_| {
                emit(&step, &mut n, 1);
                std::thread::park_timeout(std::time::Duration::from_micros(50));
            }),
            // Steps of a solver, each with an event that has the value of the knob.
            "march" => (0..count).for_each(|_| {
                banyan_sensor::step(steps);
                step.emit(&Step { n: steps, residual: dt.get() });
                steps += 1;
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            }),
            "note" => Sensor::<Note>::new("solver.note").unwrap().emit(&Note { text: format!("{count} steps") }),
            _ => break,
        }
        say(&format!("done {n}"));
    }
    ExitCode::SUCCESS
}

/// Takes steps until it is ended.
pub(crate) fn run_as_rank() -> ExitCode {
    let step = Sensor::<Step>::new("solver.step").unwrap();
    for n in 0.. {
        step.emit(&Step::new(n));
        std::thread::park_timeout(std::time::Duration::from_millis(1));
    }
    ExitCode::SUCCESS
}

fn emit(step: &Sensor<Step>, n: &mut u64, count: u64) {
    for _ in 0..count {
        step.emit(&Step::new(*n));
        *n += 1;
    }
}

fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{words}").unwrap();
    out.flush().unwrap();
}

/// Such a program. It ends with the test.
pub(crate) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it with a rank, and waits until it has its sensor.
    pub(crate) fn start(directory: &Path, rank: u32) -> Program {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(ROLE).env("BANYAN_SENSOR_DIR", directory).env("OMPI_COMM_WORLD_RANK", rank.to_string());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut program = Program { child, input, output };
        assert_eq!(program.hear(), "ready");
        program
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Tells it to do something, and does not wait.
    pub(crate) fn tell(&mut self, words: &str) {
        writeln!(self.input.as_mut().unwrap(), "{words}").unwrap();
    }

    /// Waits until it has done that; how many events it has emitted in all.
    pub(crate) fn done(&mut self) -> u64 {
        let line = self.hear();
        line.strip_prefix("done ").unwrap_or_else(|| panic!("{line:?}")).parse().unwrap()
    }

    /// Both.
    pub(crate) fn does(&mut self, words: &str) -> u64 {
        self.tell(words);
        self.done()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.child.id() as i32).unwrap(), signal).unwrap();
    }

    /// Ends it in good order.
    pub(crate) fn quit(mut self) {
        self.input = None;
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
