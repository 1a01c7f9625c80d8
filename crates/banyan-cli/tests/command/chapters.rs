//! What chapters show of commands whose figures differ from run to run has the shape of what these print now: the same words,
//! in the same columns.
//!
//! Figures, numbers of processes and what machines decide may differ. Outputs that are always the same are in `document.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::doctor::{DECIDED, program};
use crate::look::settled;
use crate::shown::{assert_shown, pattern};
use crate::stack::{Job, compiled, golden};
use crate::tables::{all_kept, has_member_program, launch, without_noise};
use crate::workshop::Workshop;

/// How the blocks begin that are compared here. Those with a second word are files, which `document.rs` makes.
const COMPARED: &[(&str, &[&str])] = &[
    (
        "command-bench.md",
        &["round_trip (µs)", "left out: ", "{\"bench\":\"launch\"", "{\"bench\":\"layers\"", "study small", "value "],
    ),
    ("command-copy.md", &["banyan: 8.0 GB"]),
    ("command-demo.md", &["Banyan grows"]),
    ("command-doctor.md", &["ok "]),
    ("command-run.md", &["banyan: 3 of 64"]),
    ("command-stack.md", &["4 processes", "2 processes", "not read:\n"]),
    ("command-top.md", &["banyan top  4 hosts"]),
    ("performance.md", &["latency: ", "one exchange"]),
    ("tour.md", &["banyan top  1 host", "4 processes"]),
];

#[test]
fn no_output_in_a_chapter_on_a_command_is_left_out() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    for entry in fs::read_dir(&book).expect("the book") {
        let chapter = entry.expect("a name").file_name().to_string_lossy().into_owned();
        let listed = COMPARED.iter().find(|(name, _)| *name == chapter).map(|(_, beginnings)| *beginnings);
        if listed.is_none() && !chapter.starts_with("command-") {
            continue;
        }
        let compared = listed.unwrap_or_default();
        let text = fs::read_to_string(book.join(&chapter)).expect("the chapter");
        let outputs = ["\n```text\n", "\n```json\n"].map(|fence| text.matches(fence).count()).iter().sum::<usize>();
        assert_eq!(outputs, compared.len(), "{chapter}");
    }
}

/// The block of a chapter that begins so.
fn block(chapter: &str, language: &str, beginning: &str) -> String {
    assert!(COMPARED.iter().any(|it| it.0 == chapter && it.1.contains(&beginning)), "{beginning} is in no list");
    found(chapter, language, beginning)
}

/// The same for what is no output.
fn found(chapter: &str, language: &str, beginning: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(chapter);
    let text = fs::read_to_string(path).expect("the chapter");
    let fence = format!("\n```{language}\n");
    let blocks = text.split(&fence).skip(1).filter_map(|rest| rest.split("```\n").next());
    let mut found = blocks.filter(|block| block.starts_with(beginning));
    let block = found.next().unwrap_or_else(|| panic!("{chapter} has no block that begins with: {beginning}"));
    assert!(found.next().is_none(), "{chapter} has several blocks that begin with: {beginning}");
    block.to_owned()
}

#[test]
fn the_chapter_on_top_and_the_tour_show_a_page_as_it_is() {
    // Which of four hosts that are one machine is the busiest differs.
    let by_name = |page: &str| {
        let page = settled(page);
        let (head, table) = page.rsplit_once("\n\n").expect("a table");
        let mut rows: Vec<&str> = table.lines().collect();
        rows[1..].sort_unstable();
        format!("{head}\n\n{}\n", rows.join("\n"))
    };
    let printed = Workshop::new().well(&["top", "-n", "4", "--once"]);
    assert_shown(&by_name(&printed), &pattern(&by_name(&block("command-top.md", "text", "banyan top  4 hosts"))));
    let printed = Workshop::new().well(&["top", "--once"]);
    assert_shown(&by_name(&printed), &pattern(&by_name(&block("tour.md", "text", "banyan top  1 host"))));
}

#[test]
fn the_chapter_on_running_shows_who_failed_as_it_is() {
    let failing = "case $BANYAN_HOST in node1|node2|node8) exit 1;; esac";
    let hosts = ["run", "-w", "node[1-64]", "--launcher", "local"];
    let ran = Workshop::new().run(&[&hosts[..], &["--", "sh", "-c", failing]].concat());
    assert_eq!(ran.err, block("command-run.md", "text", "banyan: 3 of 64"));
}

#[test]
fn the_chapter_on_copying_shows_the_rate_as_it_is() {
    let shop = Workshop::new();
    shop.write("big", vec![7; 1 << 20]);
    let target = shop.path("hosts/{host}/").display().to_string();
    let ran = shop.run(&["copy", "-v", "-w", "n[1-8]", "--launcher", "local", "big", &target]);
    let rate = ran.err.lines().find(|line| line.contains("delivered")).unwrap_or_else(|| panic!("{}", ran.err));
    assert_shown(&format!("{rate}\n"), &pattern(&block("command-copy.md", "text", "banyan: 8.0 GB")));
}

#[test]
fn the_chapter_on_stacks_and_the_tour_show_a_job_that_hangs_as_it_is() {
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 4, 2);
    let printed = shop.well(&["stack", "--pid", &job.pids()]);
    let heading = |text: &str| text.lines().next().map(|line| format!("{line}\n")).expect("a line");
    for chapter in ["command-stack.md", "tour.md"] {
        let shown = block(chapter, "text", "4 processes");
        assert_shown(&golden(&printed), &pattern(&golden(&shown)));
        assert_shown(&heading(&printed), &pattern(&heading(&shown)));
    }
}

#[test]
fn the_chapter_on_stacks_shows_threads_as_they_are() {
    let shop = Workshop::new();
    let job = Job::start_threads(&compiled(&shop), 2, 3);
    let printed = shop.well(&["stack", "--pid", &job.pids(), "--threads"]);
    let shown = block("command-stack.md", "text", "2 processes");
    // What a system does before `main` and before the function of a thread is its own affair.
    let ours = |text: &str| -> String {
        let words =
            ["_start", "__libc_start_main", "__libc_start_call_main", "clone3", "__clone3", "clone", "start_thread"];
        let line = |line: &str| {
            let system = words.iter().find(|word| line.ends_with(&format!(" {word}")));
            system.map_or_else(|| line.to_owned(), |word| line.replace(word, "SYSTEM"))
        };
        let mut lines: Vec<String> = golden(text).lines().map(line).collect();
        lines.dedup_by(|next, before| next.trim() == "SYSTEM" && before.ends_with("SYSTEM"));
        lines.join("\n") + "\n"
    };
    assert_shown(&ours(&printed), &pattern(&ours(&shown)));
}

/// Starts a process that waits uninterruptibly.
fn stuck(shop: &Workshop) -> Job {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/stuck.c");
    let path: PathBuf = shop.path("solver");
    let made = Command::new("cc").args(["-O2", "-o"]).arg(&path).arg(source).status();
    assert!(made.expect("cc, which links Rust programs too").success());
    let mut job = Job(Vec::new());
    job.add_until(&mut Command::new(path), ") D ");
    job
}

#[test]
fn the_chapter_on_stacks_shows_what_cannot_be_read_as_it_is() {
    let shop = Workshop::new();
    let job = stuck(&shop);
    let ran = shop.run(&["stack", "--pid", &job.pids()]);
    let (_, printed) = ran.out.split_once("\n\nnot read:\n").unwrap_or_else(|| panic!("{}{}", ran.out, ran.err));
    // In which function of the kernel it waits is not for everyone to know.
    let anywhere = |text: &str| match text.split_once(" is uninterruptible") {
        Some((before, after)) => {
            let call = after.find(", system call").expect("a system call");
            format!("{before} is uninterruptible{}", &after[call..])
        }
        None => panic!("{text}"),
    };
    let shown = block("command-stack.md", "text", "not read:\n");
    let shown = shown.strip_prefix("not read:\n").expect("its beginning");
    assert_shown(&anywhere(printed), &pattern(&anywhere(shown)));
}

/// Findings; of those that are decided elsewhere only whose they are, and of clocks the first.
fn settled_findings(text: &str) -> String {
    let (mut out, mut details) = (String::new(), true);
    for line in text.lines() {
        let decided = DECIDED.iter().find_map(|name| line.split_once(&format!(": {name}: ")).map(|it| (it.0, name)));
        match decided {
            Some((level_and_hosts, name)) => {
                let hosts = level_and_hosts.split_whitespace().nth(1).expect("hosts");
                (out, details) = (out + &format!("LEVEL    {hosts}: {name}: STATE\n"), false);
            }
            None if line.starts_with(' ') && !details => {}
            None => {
                let line = if line.contains(": clock: ") { line.split("; ").next().expect("a part") } else { line };
                (out, details) = (out + line + "\n", true);
            }
        }
    }
    ["TiB", "MiB"].iter().fold(out, |text, unit| text.replace(&format!(" {unit} free"), " GiB free"))
}

#[test]
fn the_chapter_on_the_doctor_shows_findings_as_they_are() {
    let shop = Workshop::new();
    for directory in ["bin", "tmp"] {
        fs::create_dir(shop.path(directory)).expect("room");
    }
    program(&shop, "ssh", "echo 'OpenSSH_9.2p1, OpenSSL 3.0.19' >&2");
    let here = shop.path("").display().to_string();
    let ran = shop.shell(&format!(
        "unset XDG_CACHE_HOME SSH_AUTH_SOCK; export HOME=\"$PWD\" TMPDIR=\"$PWD/tmp\" BANYAN_CONFIG=; PATH=\"$PWD/bin\"\n\
         '{}' doctor -w 'node[1-8]' --launcher local",
        env!("CARGO_BIN_EXE_banyan")
    ));
    let here = here.trim_end_matches('/');
    let printed = ran.out.replace(&format!("{here}/tmp"), "/tmp").replace(here, "/u/ana");
    let shown = settled_findings(&block("command-doctor.md", "text", "ok "));
    assert_shown(&settled_findings(&printed), &pattern(&shown));
}

#[test]
fn the_chapter_on_the_demo_shows_it_as_the_readme_does() {
    // Which is what it prints: `screens.rs` looks.
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).expect("a README");
    assert!(readme.contains(&block("command-demo.md", "text", "Banyan grows")), "README.md shows another demo");
}

/// What a bench prints below the line on the machine.
fn figures(arguments: &[&str]) -> String {
    let printed = Workshop::new().well(&[&["bench"], arguments].concat());
    printed.split_once("\n\n").expect("a machine").1.to_owned()
}

#[test]
fn the_chapter_on_benches_shows_a_tree_as_it_is() {
    let options = ["--op", "round_trip", "--op", "waves", "--op", "recovery"];
    let printed = figures(&[&["tree", "--quick", "--shape", "4x16"], &options[..]].concat());
    let shown = all_kept(&block("command-bench.md", "text", "round_trip (µs)"));
    // What is promised or quoted is not measured.
    let wanted = |line: &str| match line.find(['≤', '≥']) {
        Some(at) => pattern(&line[..at]) + &line[at..] + "\n",
        None => format!("{line}\n"),
    };
    assert_shown(&all_kept(&printed), &shown.lines().map(wanted).collect::<String>());
}

#[test]
fn the_chapter_on_performance_shows_layers_as_they_are() {
    let sizes = ["--size", "64", "--size", "16384", "--size", "1048576"];
    let printed = figures(&[&["layers", "--quick", "--plot", "layers.svg"], &sizes[..]].concat());
    let shown = block("performance.md", "text", "latency: ");
    assert_shown(&without_noise(&printed), &pattern(&without_noise(&shown)));
}

#[test]
fn the_chapter_on_performance_shows_exchanges_as_they_are() {
    let printed = figures(&["exchange", "--quick", "--plot", "exchange.svg"]);
    assert_shown(&printed, &pattern(&block("performance.md", "text", "one exchange")));
}

/// A comparison without what it came to: intervals are as long as figures are, and verdicts are found by measuring.
fn without_verdicts(table: &str) -> String {
    let heading = table.lines().next().expect("a heading");
    let before = heading[..heading.find("95 %").expect("an interval")].chars().count();
    let row = |line: &str| match line.split_once(" values: ") {
        Some((count, _)) => format!("{count} values\n"),
        None => line.chars().take(before).chain("INTERVAL\n".chars()).collect(),
    };
    format!("{heading}\n{}", table.lines().skip(1).map(row).collect::<String>())
}

#[test]
fn the_chapter_on_benches_shows_a_study_and_a_comparison_as_they_are() {
    let shop = Workshop::new();
    shop.write("plan.toml", found("command-bench.md", "toml", "[study]\nname = \"small\""));
    let told = shop.well(&["bench", "plan.toml", "--into", "before"]);
    assert_shown(&told, &pattern(&block("command-bench.md", "text", "study small")));
    shop.well(&["bench", "plan.toml", "--into", "after"]);
    let compared = without_verdicts(&shop.well(&["bench", "--compare", "before", "after"]));
    assert_shown(&compared, &pattern(&without_verdicts(&block("command-bench.md", "text", "value "))));
}

/// An object of a chapter, in which … stands for more of the same.
fn object(chapter: &str, beginning: &str) -> Value {
    let text = block(chapter, "json", beginning).replace("{…}", "{}").replace(",…", "");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{chapter}: {error}: {text}"))
}

/// Asserts that two values have the same fields, the same words and numbers in the same places.
fn assert_alike(shown: &Value, printed: &Value) {
    match (shown, printed) {
        (Value::Object(shown), Value::Object(printed)) => {
            let names = |fields: &serde_json::Map<String, Value>| fields.keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(shown), names(printed));
            shown.iter().for_each(|(name, value)| assert_alike(value, &printed[name]));
        }
        (Value::Number(_), Value::Number(_)) | (Value::Bool(_), Value::Bool(_)) => {}
        _ => assert_eq!(shown, printed),
    }
}

/// Asserts that rows of a chapter's object are like those that are printed with the same words in these fields.
fn assert_rows(shown: &Value, printed: &Value, list: &str, same: &[&str]) {
    assert_eq!(shown["bench"], printed["bench"]);
    let rows = shown[list].as_array().filter(|rows| !rows.is_empty()).expect("rows");
    for row in rows {
        let mut candidates = printed[list].as_array().expect("rows").iter();
        let found = candidates.find(|printed| same.iter().all(|name| printed[*name] == row[*name]));
        assert_alike(row, found.unwrap_or_else(|| panic!("nothing is like {row} in {printed}")));
    }
}

#[test]
fn the_chapter_on_benches_shows_rows_of_layers_as_they_are() {
    let ran = Workshop::new().run(&["bench", "layers", "--quick", "--size", "64", "--plot", "none", "--json"]);
    let shown = object("command-bench.md", "{\"bench\":\"layers\"");
    assert_rows(&shown, &ran.json()[0], "rows", &["layer", "measure", "bytes"]);
}

#[test]
fn the_chapter_on_benches_shows_who_was_left_out_of_launches_as_it_is() {
    if !has_member_program() {
        return;
    }
    let insecure = "[ \"$1\" != -V ] || exit 0; echo 'pdsh@here: module path \"/usr/lib/pdsh\" insecure.' >&2; exit 1";
    let starters = [("pdsh", insecure)];
    let printed = launch(&starters, "").out;
    for line in block("command-bench.md", "text", "left out: ").lines() {
        assert!(printed.lines().any(|printed| printed == line), "{line}\nis not in\n{printed}");
    }
    let printed = &launch(&starters, "--json").json()[0];
    let shown = object("command-bench.md", "{\"bench\":\"launch\"");
    assert_rows(&shown, printed, "rows", &["system", "op", "program"]);
    assert_rows(&shown, printed, "left_out", &["system"]);
}
