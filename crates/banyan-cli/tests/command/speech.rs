//! What is said beside results: how much, where, and in which colours.

use std::process::Command;

use crate::pseudo_terminal::PseudoTerminal;
use crate::workshop::Workshop;

#[test]
fn quiet_says_nothing_but_why_the_command_failed() {
    let shop = Workshop::new();
    let members = shop.run(&["run", "-q", "--", "sh", "-c", "exit 3"]);
    let why = "banyan: 1 of 1 members failed\n  0 on localhost: exited with status 3\n";
    assert_eq!((members.status, members.err.as_str()), (1, why));
    let absent = shop.run(&["run", "-q", "-n", "2", "--", "/no/such/command"]);
    assert_eq!((absent.status, absent.err.matches("banyan:").count()), (1, 1), "{}", absent.err);
    let usage = shop.run(&["run", "--quiet", "-w", "a[", "--", "true"]);
    assert_eq!(usage.status, 2);
    assert!(usage.err.contains("is not closed"), "{}", usage.err);
}

#[test]
fn verbose_tells_what_is_done() {
    let shop = Workshop::new();
    shop.write("config.toml", "[groups]\ng = \"localhost\"\n");
    let ran = shop.run(&["run", "-v", "-w", "@g", "--", "true"]);
    assert!(ran.err.contains("banyan: group @g: localhost\nbanyan: all of 1 run after "), "{}", ran.err);
}

#[test]
fn a_log_keeps_everything_that_was_said_and_what_was_not_shown() {
    let shop = Workshop::new();
    for status in ["3", "4"] {
        shop.run(&["run", "-q", "--log", "log", "--", "sh", "-c", &format!("exit {status}")]);
    }
    let log = String::from_utf8(shop.read("log")).expect("text");
    assert_eq!(log.matches("Z [").count(), 4, "{log}");
    for part in ["note: all of 1 run after", "exited with status 3", "exited with status 4", "error: 1 of 1 members"] {
        assert!(log.contains(part), "{part}: {log}");
    }
    let refused = shop.run(&["topo", "gen", "4x16", "--log", "no/such/directory"]);
    assert!(refused.status == 1 && refused.err.contains("--log no/such/directory: no such file"), "{}", refused.err);
}

#[test]
fn a_log_that_cannot_be_written_is_told_once_and_ends_nothing() {
    let ran = Workshop::new().run(&["run", "-v", "--log", "/dev/full", "--no-label", "--", "echo", "well"]);
    assert_eq!((ran.out.as_str(), ran.status), ("well\n", 0), "{}", ran.err);
    let told = "banyan: --log: the file cannot be written: no space left on the device";
    assert_eq!(ran.err.lines().filter(|line| line.starts_with(told)).count(), 1, "{}", ran.err);
}

#[test]
fn a_log_level_tells_what_sessions_do_here_and_at_agents_and_their_keepers() {
    let shop = Workshop::new();
    let ran = shop.run(&["run", "-n", "2", "--no-label", "--log", "log", "--log-level", "debug", "--", "echo", "well"]);
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("well\nwell\n", "", 0));
    let log = String::from_utf8(shop.read("log")).expect("text");
    let (agents, own): (Vec<&str>, Vec<&str>) =
        log.lines().partition(|line| line.contains("[localhost agent ") || line.contains("[localhost keeper "));
    assert!(own.iter().all(|line| line.contains("Z [")), "{log}");
    for part in ["debug: banyan_boot::node::agents: session{", "role=\"front-end\"", "note: all of 2 run after"] {
        assert!(own.iter().any(|line| line.contains(part)), "{part}: {log}");
    }
    // A member may have ended before its agent was asked for a log.
    for part in ["role=\"agent\"}: the session is over here", "[localhost keeper "] {
        assert!(agents.iter().any(|line| line.contains(part)), "{part}: {log}");
    }
}

#[test]
fn without_a_file_events_go_to_standard_error_as_far_as_the_filter_lets_them() {
    let shop = Workshop::new();
    let words = |level| ["run", "--no-label", "--log-level", level, "--", "echo", "well"];
    let ran = shop.run(&words("banyan_boot=info,banyan_link=debug"));
    assert_eq!((ran.out.as_str(), ran.status), ("well\n", 0), "{}", ran.err);
    assert!(ran.err.lines().all(|line| line.starts_with("banyan: [")), "{}", ran.err);
    assert!(ran.err.contains("debug: banyan_link::") && !ran.err.contains("debug: banyan_boot::"), "{}", ran.err);
    assert!(ran.err.contains(" note: banyan_boot::node: session{"), "{}", ran.err);
    let loud = shop.run(&words("banyan_boot=loud"));
    assert!(loud.status == 2 && loud.err.contains("--log-level banyan_boot=loud: "), "{}", loud.err);
}

#[test]
fn every_verb_takes_the_common_options() {
    let shop = Workshop::new();
    let help = |words: &[&str]| shop.well(&[words, &["--help"]].concat());
    for words in [&["run"][..], &["topo", "draw"], &["records", "dump"], &["sim"], &["doctor"]] {
        let text = help(words);
        ["--color", "--quiet", "--verbose", "--log", "--log-level"].iter().for_each(|option| {
            assert!(text.contains(option), "{words:?}: {option}");
        });
    }
    for words in ["run", "doctor"] {
        let text = help(&[words]);
        let options = [
            "--hosts",
            "--hostfile",
            "--exclude",
            "--group",
            "--launcher",
            "--fanout",
            "--timeout",
            "--min-hosts",
            "--json",
        ];
        options.iter().for_each(|option| assert!(text.contains(option), "{words}: {option}"));
    }
}

#[test]
fn help_and_refusals_are_coloured_on_a_terminal_unless_that_is_not_wanted() {
    let written = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
        command.args(words).env("TERM", "xterm-256color").env_remove("NO_COLOR");
        String::from_utf8_lossy(&PseudoTerminal::start(&mut command, 120, 50).end().2).into_owned()
    };
    for words in [&["run", "--help"][..], &["run", "--bogus"]] {
        assert!(written(words).contains("\x1b["), "{words:?}");
        for never in [&["--color", "never"][..], &["--color=never"]] {
            let plain = written(&[never, words].concat());
            assert!(!plain.is_empty() && !plain.contains("\x1b["), "{never:?} {words:?}: {plain}");
        }
    }
}
