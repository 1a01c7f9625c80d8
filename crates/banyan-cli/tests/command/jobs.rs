//! `run` as a job of an interactive shell: in the background, stopped, and in the foreground again.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::pseudo_terminal::PseudoTerminal;
use crate::workshop::Workshop;

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
fn stopped_while_it_launches_it_stops_when_its_members_run() {
    let shop = Workshop::new();
    // A stand-in for ssh that says when it was started, and takes its time.
    shop.write("ssh", "#!/bin/sh\nfor last; do :; done\necho >started\nsleep 1\nexec sh -c \"$last\"\n");
    shop.shell("chmod +x ssh; mkfifo started");
    let mut shell = shell();
    shell.press(&format!("cd {}; export PATH=$PWD:$PATH HOME=$PWD XDG_CACHE_HOME=\n", shop.path("").display()));
    shell.press("banyan run --silence 3s --launcher ssh -w a -- sleep 1\n");
    shop.read("started");
    shell.press("\x1a");
    shell.wait_for("Stopped");
    shell.listen(SILENCE + SILENCE);
    shell.press("fg; echo status $?\n");
    shell.wait_for("status 0");
    leave(shell);
}

#[test]
fn stopped_it_stops_its_members_and_goes_on_with_them() {
    let mut shell = shell();
    shell.press("banyan run --silence 3s -n 2 -- sh -c 'echo first; sleep 5; echo second'\n");
    // When both have spoken the command no longer launches, and is not at their end by far.
    shell.wait_for("0 localhost: first");
    shell.wait_for("1 localhost: first");
    shell.press("\x1a");
    shell.wait_for("Stopped");
    shell.listen(SILENCE + SILENCE);
    let seconds = |screen: &[String]| screen.iter().filter(|line| line.contains("localhost: second")).count();
    let screen = shell.screen();
    assert_eq!(seconds(&screen), 0, "members are stopped: {}", screen.join("\n"));
    shell.press("fg; echo status $?\n");
    let screen = shell.wait_for("status 0");
    assert_eq!(seconds(&screen), 2, "{}", screen.join("\n"));
    leave(shell);
}
