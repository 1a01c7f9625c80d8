//! Asking another program something: its answer within a time, or why there is none.

use std::io::{self, ErrorKind, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use banyan_boot::cause;

/// Bytes of an answer: the folded nodes of the largest clusters fit many times over.
const MAX_ANSWER: u64 = 4 << 20;

/// How often a program that has closed its output is asked whether it has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// What a program writes to standard output, if it succeeds within the limit.
pub fn ask(command: &mut Command, limit: Duration) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (status, out, err) = answer(command, limit).map_err(|cause| format!("{name}: {cause}"))?;
    if status.success() {
        return Ok(out);
    }
    let said = err.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim();
    Err(format!("{name} failed ({status}): {said}"))
}

/// How a program ended within the limit, and what it wrote to its standard output and errors.
pub(crate) fn answer(command: &mut Command, limit: Duration) -> Result<(ExitStatus, String, String), String> {
    let deadline = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(
        |error| match error.kind() {
            ErrorKind::NotFound => "it is not installed, or not in PATH".to_owned(),
            _ => cause(&error),
        },
    )?;
    let heard = hear(child.stdout.take()).and_then(|out| Ok([out, hear(child.stderr.take())?]));
    let heard = heard.map_err(|error| {
        // Nobody reads what it writes.
        let _ = child.kill();
        let _ = child.wait();
        cause(&error)
    })?;
    let too_slow = |mut child: Child| {
        // It has ended, or does so now.
        let _ = child.kill();
        let _ = child.wait();
        format!("no answer in {limit:?}")
    };
    let mut texts = Vec::new();
    for receiver in heard {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(text) => texts.push(text),
            Err(_) => return Err(too_slow(child)),
        }
    }
    loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => {
                let err = texts.pop().unwrap_or_default();
                return Ok((status, texts.pop().unwrap_or_default(), err));
            }
            None if Instant::now() >= deadline => return Err(too_slow(child)),
            None => std::thread::sleep(PAUSE),
        }
    }
}

/// Reads to the end in a thread of its own, which nobody waits for: a grandchild may hold the pipe for ever.
fn hear(pipe: Option<impl Read + Send + 'static>) -> io::Result<mpsc::Receiver<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            // What was read before an error is all there is.
            let _ = pipe.take(MAX_ANSWER).read_to_end(&mut bytes);
        }
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    })?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn an_answer_is_what_a_program_writes_if_it_succeeds() {
        let limit = Duration::from_secs(20);
        assert_eq!(ask(&mut sh("echo yes"), limit), Ok("yes\n".into()));
        let failed = ask(&mut sh("echo no >&2; exit 3"), limit).unwrap_err();
        assert_eq!(failed, "sh failed (exit status: 3): no");
        let missing = ask(&mut Command::new("/no/such/program"), limit).unwrap_err();
        assert_eq!(missing, "/no/such/program: it is not installed, or not in PATH");
    }

    #[test]
    fn a_program_that_does_not_answer_is_ended() {
        let late = ask(&mut sh("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert_eq!(late, "sh: no answer in 50ms");
    }
}
