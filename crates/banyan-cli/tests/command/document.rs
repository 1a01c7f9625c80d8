//! The documents of the command are true: their files are made, their commands run, and what these print is what they
//! show.
//!
//! A fenced block whose first line has a second word is a file of that name; one of `console` holds commands after `$`
//! and what they print. With `BANYAN_REWRITE_DOCS=1` in the environment the outputs are written anew.

use std::path::Path;

use crate::vectors::golden;
use crate::workshop::Workshop;

/// The examples show formats as they lie on a 64-bit little-endian machine.
#[cfg(all(target_endian = "little", target_pointer_width = "64"))]
#[test]
fn the_commands_in_the_documentation_of_records_print_what_it_shows() {
    let shop = Workshop::new();
    for (name, machine) in [("sparc.bin", "sun8"), ("x86-64.bin", "ub12-64")] {
        std::fs::copy(golden(&format!("file_output.{machine}")), shop.path(name)).expect("room");
    }
    is_true("command-records.md", &shop);
}

#[test]
fn the_commands_in_the_documentation_of_topologies_print_what_it_shows() {
    is_true("command-topo.md", &Workshop::new());
    is_true("topologies.md", &Workshop::new());
}

#[test]
fn the_commands_in_the_documentation_of_simulations_print_what_it_shows() {
    is_true("command-sim.md", &Workshop::new());
}

#[test]
fn the_commands_in_the_tour_print_what_it_shows() {
    is_true("tour.md", &Workshop::new());
}

#[test]
fn the_commands_in_the_documentation_of_running_print_what_it_shows() {
    is_true("command-run.md", &Workshop::new());
    is_true("configuration.md", &Workshop::new());
}

#[test]
fn the_commands_in_the_documentation_of_copying_print_what_it_shows() {
    is_true("command-copy.md", &Workshop::new());
}

#[test]
fn a_tool_of_ones_own_has_less_than_a_hundred_lines_and_its_chapter_shows_some_of_them() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| std::fs::read_to_string(top.join(path)).expect(path);
    let (example, chapter) = (read("crates/banyan/examples/own_tool.rs"), read("docs/own-tool.md"));
    let lines = example.lines().count();
    assert!(lines < 100, "{lines} lines; docs/own-tool.md promises less than a hundred");
    let shown: Vec<&str> =
        chapter.split("```rust,ignore\n").skip(1).filter_map(|rest| rest.split("```\n").next()).collect();
    assert!(!shown.is_empty(), "docs/own-tool.md shows nothing of it");
    shown.iter().for_each(|part| assert!(example.contains(part), "docs/own-tool.md: not in the example:\n{part}"));
}

fn is_true(document: &str, shop: &Workshop) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document);
    let text = std::fs::read_to_string(&path).expect("the document");
    let found = run(&text, shop);
    if std::env::var_os("BANYAN_REWRITE_DOCS").is_some() {
        std::fs::write(&path, &found).expect("the document can be written");
        return;
    }
    for (shown, printed) in text.lines().zip(found.lines()) {
        assert_eq!(shown, printed, "{document}: write it anew with BANYAN_REWRITE_DOCS=1");
    }
    assert_eq!(text.len(), found.len(), "{document}: write it anew with BANYAN_REWRITE_DOCS=1");
}

/// The document with what its commands print now.
fn run(text: &str, shop: &Workshop) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match info.split_once(' ') {
            None if info == "console" => block.iter().for_each(|line| out += &answer(line, shop)),
            Some((_, file)) => {
                let content: String = block.iter().map(|line| format!("{line}\n")).collect();
                shop.write(file, &content);
                out += &content;
            }
            None => block.iter().for_each(|line| out += &format!("{line}\n")),
        }
        out += "```\n";
    }
    out
}

/// A command and what it prints; nothing for what an earlier run printed.
fn answer(line: &str, shop: &Workshop) -> String {
    let Some(command) = line.strip_prefix("$ ") else { return String::new() };
    let ran = shop.shell(&format!("{{ {command}\n}} 2>&1"));
    format!("{line}\n{}", ran.out)
}
