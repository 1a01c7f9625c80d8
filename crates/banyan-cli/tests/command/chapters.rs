//! What chapters show of commands whose figures differ from run to run has the shape of what these print now: the same words,
//! in the same columns.
//!
//! Figures, numbers of processes and what machines decide may differ. Outputs that are always the same are in `document.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::blocks::{book, listed_block, outputs};
use crate::doctor::{DECIDED, program};
use crate::look::settled;
use crate::shown::{assert_shown, pattern};
use crate::stack::{Job, compiled, golden};
use crate::workshop::Workshop;

/// How the blocks begin that are compared here. Those with a second word are files, which `document.rs` makes.
pub(crate) const COMPARED: &[(&str, &[&str])] = &[
    ("command-clock.md", &["host "]),
    ("command-copy.md", &["banyan: 8.0 GB"]),
    ("command-demo.md", &["Banyan grows"]),
    ("command-doctor.md", &["ok ", "warning  node9"]),
    ("command-query.md", &["time ", "events: "]),
    ("command-run.md", &["banyan: 3 of 64"]),
    ("command-stack.md", &["4 processes", "2 processes", "not read:\n"]),
    ("command-top.md", &["banyan top  4 hosts"]),
    ("tour.md", &["banyan top  1 host", "4 processes"]),
];

#[test]
fn no_output_in_a_chapter_on_a_command_is_left_out() {
    // That on benches is compared by the tests of `banyan-bench`.
    let chapters = chapters_on_commands().into_iter().filter(|chapter| chapter != "command-bench.md");
    for chapter in chapters.filter(|chapter| COMPARED.iter().all(|(name, _)| name != chapter)) {
        assert_eq!(outputs(&chapter), 0, "{chapter}");
    }
    COMPARED.iter().for_each(|(chapter, beginnings)| assert_eq!(outputs(chapter), beginnings.len(), "{chapter}"));
}

/// The chapters that are named for a command.
fn chapters_on_commands() -> Vec<String> {
    let entries = fs::read_dir(book()).expect("the book");
    let names = entries.map(|entry| entry.expect("a name").file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("command-")).collect()
}

/// The block of a chapter that begins so.
fn block(chapter: &str, language: &str, beginning: &str) -> String {
    listed_block(COMPARED, chapter, language, beginning)
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
    let printed = Workshop::new().well(&["top", "--act", "4", "--once"]);
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
