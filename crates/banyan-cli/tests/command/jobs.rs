//! `run` as a job of an interactive shell: in the background, stopped, and in the foreground again.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::pseudo_terminal::PseudoTerminal;

/// After so much silence agents take a front-end for gone.
const SILENCE: Duration = Duration::from_secs(3);

/// A shell that has a terminal, and jobs.
fn shell() -> PseudoTerminal {
    let directory = Path::new(env!("CARGO_BIN_EXE_banyan")).parent().expect("it lies in a directory");
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", "sh", "-i"]).env("PATH", path).env("PS1", "> ").env("BANYAN_CONFIG", "");
    PseudoTerminal::start(&mut command, 100, 40)
}

fn leave(mut shell: PseudoTerminal) {
    shell.press("exit\n");
    assert!(shell.end().0.success());
}

#[test]
fn in_the_background_it_does_not_read_from_the_terminal() {
    let mut shell = shell();
    shell.press("banyan run -n 2 -- sh -c 'sleep 1; echo done' & wait $!; echo status $?\n");
    shell.wait_for("status 0");
    shell.press("exit $(banyan run --no-label -- head -n 1)\n0\n");
    assert!(shell.end().0.success(), "what is typed reaches a command in the foreground");
}

#[test]
fn stopped_it_stops_its_members_and_goes_on_with_them() {
    let mut shell = shell();
    shell.press("banyan run -n 2 --no-label -- sh -c 'echo first; sleep 1; echo second'\n");
    shell.wait_for("first");
    shell.press("\x1a");
    shell.wait_for("Stopped");
    shell.listen(SILENCE + SILENCE);
    let screen = shell.screen();
    assert!(!screen.iter().any(|line| line == "second"), "members are stopped: {}", screen.join("\n"));
    shell.press("fg; echo status $?\n");
    let screen = shell.wait_for("status 0");
    assert_eq!(screen.iter().filter(|line| *line == "second").count(), 2, "{}", screen.join("\n"));
    leave(shell);
}
