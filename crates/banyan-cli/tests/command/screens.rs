//! What people see in a terminal: the whole screen, as it is in the end, and what stood there meanwhile.
//!
//! The live view of `top` is in `top.rs`, and its whole screens in `within.rs`.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::pseudo_terminal::PseudoTerminal;
use crate::told::{BEGINNING, told, told_in, without_numbers};
use crate::workshop::Workshop;

/// Longer than work may take before it says how far it is.
const A_SECOND: Duration = Duration::from_millis(1100);

/// Only so that a broken command does not hang the tests.
const PATIENCE: Duration = Duration::from_secs(120);

fn banyan(shop: &Workshop, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.args(arguments).current_dir(shop.path("")).env("BANYAN_CONFIG", "");
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    command
}

/// What is on the screen when the command has ended, and every byte that it wrote.
fn ended(mut terminal: PseudoTerminal) -> (Vec<String>, String) {
    let (status, restored, bytes) = terminal.end_in_place();
    assert!(status.success() && restored, "{status}: {}", String::from_utf8_lossy(&bytes));
    terminal.bytes.clone_from(&bytes);
    let lines: Vec<String> = terminal.screen().into_iter().filter(|line| !line.is_empty()).collect();
    (lines, String::from_utf8_lossy(&bytes).into_owned())
}

/// The block of the README that shows what the demo prints.
fn demo_of_the_readme() -> Vec<String> {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).expect("a README");
    told_in(&readme)
}

#[test]
fn the_demo_prints_what_the_readme_shows_plain_in_a_pipe_and_in_colour_on_a_terminal() {
    let shop = Workshop::new();
    let plain = shop.well(&["demo"]);
    assert!(!plain.contains('\x1b'), "{plain}");
    assert!(plain.starts_with(BEGINNING), "{plain}");
    assert_eq!(told_in(&plain), demo_of_the_readme());
    let (screen, bytes) = ended(PseudoTerminal::start(&mut banyan(&shop, &["demo"]), 110, 70));
    assert!(bytes.contains("\x1b["), "no colours: {bytes}");
    assert_eq!(told(screen.iter().map(String::as_str)), demo_of_the_readme());
    let mut without = banyan(&shop, &["demo"]);
    let (_, bytes) = ended(PseudoTerminal::start(without.env("NO_COLOR", "1"), 110, 70));
    assert!(!bytes.contains("\x1b[3") && !bytes.contains("\x1b[1m"), "NO_COLOR: {bytes}");
}

#[test]
fn a_copy_shows_a_bar_with_its_rate_and_in_the_end_only_what_was_copied() {
    let shop = Workshop::new();
    // Several parts, so that there is something to tell between them.
    shop.write("big", vec![7; 96 << 20]);
    let target = shop.path("copies/{host}/").display().to_string();
    let words = ["copy", "-w", "n[1-2]", "--launcher", "local", "big", &target];
    let mut terminal = PseudoTerminal::start(&mut banyan(&shop, &words), 100, 10);
    // What takes less than a second shows no bar; so it is held up for as long, once files are on their way.
    let deadline = Instant::now() + PATIENCE;
    while !shop.path("copies/n1").exists() && !shop.path("copies/n2").exists() {
        assert!(Instant::now() < deadline, "nothing is copied");
        std::thread::yield_now();
    }
    terminal.signal("STOP");
    terminal.listen(A_SECOND);
    terminal.signal("CONT");
    let (screen, bytes) = ended(terminal);
    let bars: Vec<&str> = bytes.split("\r\x1b[K").filter(|part| part.starts_with('[')).collect();
    assert!(!bars.is_empty(), "{bytes:?}");
    for bar in bars {
        let (drawn, rest) = bar.split_once(']').expect("the end of the bar");
        assert!(drawn.len() == 25 && drawn[1..].bytes().all(|letter| b"#-".contains(&letter)), "{bar}");
        let rest = rest.replace("kB", "MB");
        assert_eq!(without_numbers(std::iter::once(&*rest)), ["N % N MB of N MB N MB/s"], "{bar}");
    }
    assert_eq!(screen, ["big: 1 file, 100.7 MB, on 2 hosts: 201.3 MB delivered"]);
}

#[test]
fn what_members_write_cannot_move_the_cursor() {
    let shop = Workshop::new();
    let words = ["run", "--", "printf", "a\\033[2Jb\\rc\\n"];
    let (screen, _) = ended(PseudoTerminal::start(&mut banyan(&shop, &words), 80, 5));
    assert_eq!(screen, ["0 localhost: a\\u{1b}[2Jb\\rc"]);
}

#[test]
fn a_fold_on_a_terminal_has_its_titles_and_the_summary_below() {
    let shop = Workshop::new();
    let words = ["run", "-b", "-w", "n[1-3]", "--launcher", "local", "--", "echo", "alike"];
    let (screen, bytes) = ended(PseudoTerminal::start(&mut banyan(&shop, &words), 80, 8));
    assert_eq!(screen, ["=== n[1-3] (3 of 3)", "alike"]);
    assert!(bytes.contains("\x1b["), "titles stand out: {bytes:?}");
}

#[test]
fn how_far_it_is_stays_on_one_line_gives_way_to_messages_and_is_not_for_those_who_want_quiet() {
    let shop = Workshop::new();
    let program = format!("echo up >>{}; while :; do echo on; sleep 0.1; done", shop.path("up").display());
    let words = ["run", "-b", "-n", "2", "--input", "none", "--", "sh", "-c", &program];
    let start = |options: &[&str]| {
        PseudoTerminal::start(&mut banyan(&shop, &[&words[..1], options, &words[1..]].concat()), 20, 10)
    };
    // It is the older one: when the other says how far it is, it would have, too.
    let (mut quiet, mut loud) = (start(&["-q"]), start(&[]));
    loud.wait_for("0 of 2 members have");
    let end = Instant::now() + PATIENCE;
    while std::fs::read_to_string(shop.path("up")).unwrap_or_default().lines().count() < 4 {
        assert!(Instant::now() < end, "not all members of both run");
        std::thread::park_timeout(Duration::from_millis(2));
    }
    loud.signal("INT");
    quiet.signal("INT");
    let ended = |terminal: &mut PseudoTerminal| {
        let (_, _, bytes) = terminal.end_in_place();
        terminal.bytes.clone_from(&bytes);
        (terminal.screen(), String::from_utf8_lossy(&bytes).into_owned())
    };
    let (screen, bytes) = ended(&mut loud);
    assert_eq!(screen[0], "banyan: the members", "{bytes:?}");
    let told: Vec<&str> =
        bytes.split("\r\x1b[K").filter(|part| part.starts_with(|it: char| it.is_ascii_digit())).collect();
    assert!(!told.is_empty() && told.iter().all(|line| line.len() < 20), "{told:?}");
    let (_, bytes) = ended(&mut quiet);
    assert!(!bytes.contains("\x1b[K") && !bytes.contains("interrupted"), "{bytes:?}");
}
