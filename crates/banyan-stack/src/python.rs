//! Stacks of Python programs, by `py-spy`, which knows how each version of the interpreter keeps them.

use std::fs;
use std::io::{self, Read};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::allowance::Allowance;
use crate::frame::{Frame, MAX_FRAMES};
use crate::sampler::SamplerOptions;

/// The program that reads them.
const PY_SPY: &str = "py-spy";

/// How many of them run at a time; each reads a good part of an interpreter.
const AT_A_TIME: usize = 4;

/// How often it may take too long before it is asked no more: what keeps it from one process keeps it from others.
const MAX_LATE: usize = 4;

/// What it may write, on each stream. A frame is about two hundred bytes, and the deepest stack has a few thousand.
const MAX_OUTPUT: u64 = 64 << 20;

/// The time between two looks whether it has ended, once it has closed its streams.
const PAUSE: Duration = Duration::from_millis(1);

/// The stacks of a process, from the outermost function to the innermost; `None` if it runs no Python.
pub(crate) type Stacks = Result<Option<Vec<Vec<Frame>>>, String>;

/// Asks `py-spy`, and remembers how often it took too long.
#[derive(Default)]
pub(crate) struct PySpy {
    late: AtomicUsize,
}

impl PySpy {
    /// The stacks of these processes, within what is left of the time.
    pub(crate) fn stacks(&self, pids: &[u32], options: &SamplerOptions, left: Allowance) -> Vec<Stacks> {
        let results: Vec<Mutex<Stacks>> = pids.iter().map(|_| Mutex::new(Ok(None))).collect();
        let (begin, next) = (Instant::now(), AtomicUsize::new(0));
        let work = || {
            while let Some((pid, result)) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                pids.get(at).zip(results.get(at))
            } {
                let patience = left.after(begin.elapsed()).next();
                let found = if runs_python(*pid) { self.of_process(*pid, options, patience) } else { Ok(None) };
                *result.lock().unwrap_or_else(PoisonError::into_inner) = found;
            }
        };
        thread::scope(|scope| {
            for _ in 1..AT_A_TIME.min(pids.len()) {
                // Where no more threads can be started, those that are there do it all.
                let _ = thread::Builder::new().name(PY_SPY.into()).spawn_scoped(scope, work);
            }
            work();
        });
        results.into_iter().map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
    }

    fn of_process(&self, pid: u32, options: &SamplerOptions, patience: Option<Duration>) -> Stacks {
        let Some(patience) = patience else {
            return Err(format!("{PY_SPY} was not asked, since the time for all processes was over"));
        };
        if self.late.load(Ordering::Relaxed) >= MAX_LATE {
            return Err(format!("{PY_SPY} was not asked, since it took too long {MAX_LATE} times"));
        }
        of_process(pid, options, patience).map_err(|why| match why {
            Failed::Late(why) => {
                self.late.fetch_add(1, Ordering::Relaxed);
                why
            }
            Failed::Otherwise(why) => why,
        })
    }
}

/// Why there are no stacks.
enum Failed {
    Late(String),
    Otherwise(String),
}

impl From<String> for Failed {
    fn from(why: String) -> Failed {
        Failed::Otherwise(why)
    }
}

fn of_process(pid: u32, options: &SamplerOptions, patience: Duration) -> Result<Option<Vec<Vec<Frame>>>, Failed> {
    let mut command = Command::new(PY_SPY);
    command.args(["dump", "--json", "--nonblocking", "--pid", &pid.to_string()]).stdin(Stdio::null());
    let output = output_within(&mut command, patience).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("there is no {PY_SPY} here, which reads the stacks of Python; get it with: pip install {PY_SPY}").into()
        }
        io::ErrorKind::TimedOut => {
            let limit = patience.as_secs_f64();
            Failed::Late(format!(
                "{PY_SPY} did not read the stacks of Python within {limit:.1} s, and was ended; try it with: {PY_SPY} dump \
                 --nonblocking --pid {pid}"
            ))
        }
        _ => format!("{PY_SPY}: {error}").into(),
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned();
        return Err(format!("{PY_SPY} could not read the stacks of Python: {last}").into());
    }
    let threads: Value = serde_json::from_slice(&output.stdout).map_err(|error| format!("{PY_SPY}: {error}"))?;
    let stacks = parse(&threads, options);
    // An interpreter that begins or ends has none; its own functions tell more than nothing.
    Ok((!stacks.is_empty()).then_some(stacks))
}

/// What a command writes. One that takes longer is killed; what it has started itself and left behind is not waited for.
fn output_within(command: &mut Command, limit: Duration) -> io::Result<Output> {
    let deadline = Instant::now() + limit;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let readers = reader(child.stdout.take()).and_then(|stdout| Ok((stdout, reader(child.stderr.take())?)));
    let (stdout, stderr) = readers.inspect_err(|_| end(&mut child))?;
    let left = || deadline.saturating_duration_since(Instant::now());
    let read = stdout.recv_timeout(left()).and_then(|stdout| Ok((stdout, stderr.recv_timeout(left())?)));
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if read.is_ok() && !left().is_zero() => thread::sleep(PAUSE),
            Ok(None) => break Err(io::ErrorKind::TimedOut.into()),
            Err(error) => break Err(error),
        }
    };
    if status.is_err() {
        end(&mut child);
    }
    let (stdout, stderr) = read.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
    Ok(Output { status: status?, stdout, stderr })
}

/// Ends a child that has not been waited for: the number is still its own.
fn end(child: &mut Child) {
    // One that has ended by itself need not be killed.
    let _ = child.kill();
    let _ = child.wait();
}

/// What comes from a pipe until it ends.
fn reader(pipe: Option<impl Read + Send + 'static>) -> io::Result<Receiver<Vec<u8>>> {
    let (sender, receiver) = sync_channel(1);
    thread::Builder::new().name("reader".into()).spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error is what there is.
        let _ = pipe.map(|pipe| pipe.take(MAX_OUTPUT).read_to_end(&mut bytes));
        let _ = sender.send(bytes);
    })?;
    Ok(receiver)
}

/// Whether an interpreter is mapped into the process: as its program, or as a library.
fn runs_python(pid: u32) -> bool {
    let maps = fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let text = String::from_utf8_lossy(&maps);
    let mut names = text.lines().filter_map(|line| line.rsplit('/').next());
    names.any(|name| name.starts_with("python") || name.starts_with("libpython"))
}

/// The threads as py-spy writes them: a list, each with its frames, the innermost first.
fn parse(threads: &Value, options: &SamplerOptions) -> Vec<Vec<Frame>> {
    let threads = threads.as_array().map(Vec::as_slice).unwrap_or_default();
    let stacks = threads.iter().filter_map(|thread| {
        let frames = thread["frames"].as_array()?;
        Some(frames.iter().take(MAX_FRAMES).rev().map(|frame| self::frame(frame, options)).collect())
    });
    // py-spy has the main thread last; the first it lists is the youngest.
    let mut stacks: Vec<Vec<Frame>> = stacks.collect();
    if !options.threads && stacks.len() > 1 {
        let main = threads.iter().position(|thread| thread["thread_name"] == "MainThread").unwrap_or(stacks.len() - 1);
        stacks = stacks.into_iter().nth(main).into_iter().collect();
    }
    // The oldest first, as they are numbered.
    stacks.reverse();
    stacks
}

fn frame(frame: &Value, options: &SamplerOptions) -> Frame {
    let short = frame["short_filename"].as_str().or(frame["filename"].as_str()).unwrap_or_default();
    let file = short.rsplit('/').next().unwrap_or_default();
    let line = frame["line"].as_u64().filter(|_| options.lines).map(|line| format!("{file}:{line}").into());
    Frame { function: frame["name"].as_str().unwrap_or("?").into(), module: file.into(), line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        let begin = Instant::now();
        for never in ["echo begun; exec sleep 1000", "exec >&- 2>&-; exec sleep 1000"] {
            let mut command = Command::new("sh");
            let ended = output_within(command.args(["-c", never]), Duration::from_millis(50));
            assert_eq!(ended.map_err(|error| error.kind()), Err(io::ErrorKind::TimedOut), "{never}");
        }
        assert!(begin.elapsed() < Duration::from_secs(900), "none was waited for");
    }

    #[test]
    fn of_a_program_that_ends_all_that_it_wrote_is_there() {
        let mut command = Command::new("sh");
        command.args(["-c", "seq 100000; echo why >&2; exit 7"]);
        let output = output_within(&mut command, Duration::from_secs(60)).expect("it ends");
        assert_eq!((output.status.code(), output.stdout.len(), &output.stderr[..]), (Some(7), 588_895, &b"why\n"[..]));
    }

    #[test]
    fn what_py_spy_writes_becomes_stacks_of_the_main_thread_or_of_all() {
        let written = json!([
            { "thread_name": "worker", "frames": [{ "name": "wait", "short_filename": "threading.py", "line": 3 }] },
            { "thread_name": "MainThread", "frames": [
                { "name": "step", "short_filename": "a/train.py", "line": 7 },
                { "name": "<module>", "short_filename": "a/train.py", "line": 9 },
            ] },
        ]);
        let mut options = SamplerOptions { lines: true, ..SamplerOptions::default() };
        let shown = |stacks: Vec<Vec<Frame>>| -> Vec<Vec<String>> {
            stacks.iter().map(|stack| stack.iter().map(ToString::to_string).collect()).collect()
        };
        assert_eq!(shown(parse(&written, &options)), [["<module> at train.py:9", "step at train.py:7"]]);
        options.threads = true;
        assert_eq!(parse(&written, &options).len(), 2);
        assert!(parse(&json!({ "no": 1 }), &options).is_empty());
    }
}
