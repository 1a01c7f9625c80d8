//! `top`: what real members tell of this machine, as a page, as objects and in a terminal.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::look::{HOSTS, assert_page, host, settled, summary};
use crate::pseudo_terminal::PseudoTerminal;
use crate::shape::assert_shape;
use crate::shown::assert_shown;
use crate::workshop::{Workshop, json_lines};

const METRICS: [(&str, &str); 10] = [
    ("cpu", "%"),
    ("memory", "%"),
    ("run_queue", "tasks"),
    ("pressure_cpu", "%"),
    ("pressure_memory", "%"),
    ("pressure_io", "%"),
    ("network_in", "B/s"),
    ("network_out", "B/s"),
    ("disk_read", "B/s"),
    ("disk_write", "B/s"),
];

#[test]
fn one_look_is_one_object_with_every_number_of_every_host() {
    let out = Workshop::new().well(&["top", "--act", "3", "--once", "--json", "--every", "200ms"]);
    let [object] = &json_lines(&out)[..] else { panic!("one object: {out}") };
    assert_eq!((&object["event"], &object["by"], &object["hosts"]), (&"tick".into(), &"host".into(), &3.into()));
    assert_eq!((&object["interval_seconds"], &object["silent"]), (&0.2.into(), &Value::Array(Vec::new())));
    let cost = json!({
        "front_end_bytes_per_second": "number", "front_end_cpu_percent": "number", "host_cpu_percent_max": "number",
        "host_memory_bytes_max": "number",
    });
    let shape = json!({
        "event": "text", "by": "text", "hosts": "count", "interval_seconds": "number", "cost": cost, "of": "nothing",
        "others": "object|nothing", "rows": ["object"], "silent": "list", "summary": "object",
    });
    assert_shape(object, &shape);
    let rows = object["rows"].as_array().expect("rows");
    let mut hosts: Vec<&str> = rows.iter().map(|row| row["host"].as_str().expect("a name")).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["local1", "local2", "local3"]);
    for (name, unit) in METRICS {
        let summary = &object["summary"][name];
        assert_eq!(summary["unit"], unit, "{name}");
        let values: Vec<f64> = rows.iter().filter_map(|row| row[name].as_f64()).collect();
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{name}: {object}"));
        // Some kernels do not count pressure; everything else is told by all.
        if values.is_empty() && name.starts_with("pressure") {
            continue;
        }
        assert_eq!(values.len(), 3, "{name}: {object}");
        let (min, max) = (number(&summary["min"]["value"]), number(&summary["max"]["value"]));
        assert_eq!(min, values.iter().copied().fold(f64::INFINITY, f64::min), "{name}");
        assert_eq!(max, values.iter().copied().fold(f64::NEG_INFINITY, f64::max), "{name}");
        let within = |value: f64| (min..=max).contains(&value);
        assert!(within(number(&summary["median"])) && within(number(&summary["p99"])), "{name}: {summary}");
        let top = summary["top"].as_array().expect("the largest");
        assert_eq!((top.len(), &top[0]), (3, &summary["max"]), "{name}");
        assert!(unit != "%" || values.iter().all(|value| (0.0..=100.0).contains(value)), "{name}: {values:?}");
    }
    let cpu = |row: &Value| row["cpu"].as_f64().expect("a number");
    assert!(rows.windows(2).all(|pair| cpu(&pair[0]) >= cpu(&pair[1])), "sorted by what cores do: {rows:?}");
    for name in ["host_cpu_percent_max", "host_memory_bytes_max", "front_end_cpu_percent", "front_end_bytes_per_second"]
    {
        assert!(object["cost"][name].as_f64().is_some_and(|cost| cost > 0.0), "{name}: {}", object["cost"]);
    }
}

#[test]
fn one_look_is_a_page() {
    let out = Workshop::new().well(&["top", "--act", "2", "--once", "--sort", "host", "--every", "200ms"]);
    let table = format!("{HOSTS}\n{}{}", host("local1"), host("local2"));
    assert_page(&out, "banyan top  2 hosts  by host  every 0.2 s", 2, &table);
}

#[test]
fn processes_users_and_jobs_are_told_of_all_hosts_together() {
    let shop = Workshop::new();
    let look = |by: &str| {
        let out = shop.well(&["top", "--act", "2", "--once", "--json", "--every", "200ms", "--by", by]);
        json_lines(&out).remove(0)
    };
    let users = look("user");
    // Both hosts are this machine, so everyone is on both.
    for row in users["rows"].as_array().expect("rows") {
        assert!(row["name"].is_string() && row["cpu"].as_f64() >= Some(0.0) && row["memory"].as_f64() > Some(0.0));
        assert!(row["processes"].as_f64() >= row["hosts"].as_f64(), "{row}");
    }
    assert_eq!(users["rows"][0]["hosts"], 2.0);
    assert_eq!(users["others"], Value::Null, "there are not so many users");
    let jobs = look("job");
    assert!(!jobs["rows"].as_array().expect("rows").is_empty());
    let processes = look("process");
    let rows = processes["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["pid"].as_f64() >= Some(1.0) && row["user"].is_string()), "{rows:?}");
    assert!(rows.iter().any(|row| row["host"] == "local1") && rows.iter().any(|row| row["host"] == "local2"));
}

#[test]
fn users_are_added_up_on_the_way_through_a_tree() {
    let hosts = ["-w", "n[1-6]", "--launcher", "local", "--fanout", "2"];
    let look = ["top", "--once", "--json", "--every", "200ms", "--by", "user", "--sort", "memory"];
    let out = Workshop::new().well(&[&look[..], &hosts].concat());
    let rows = json_lines(&out)[0]["rows"].as_array().expect("rows").clone();
    // All hosts are this machine: whoever is there is on all of them, once.
    let names: std::collections::BTreeSet<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names.len(), rows.len(), "{rows:?}");
    assert_eq!(rows[0]["hosts"], 6.0, "{rows:?}");
    assert!(rows.windows(2).all(|pair| pair[0]["memory"].as_f64() >= pair[1]["memory"].as_f64()), "{rows:?}");
}

#[test]
fn objects_come_until_the_reader_has_seen_enough() {
    let ran = Workshop::new().shell("banyan top --act 1 --json --every 100ms | head -n 3");
    assert_eq!((ran.json().len(), ran.err.as_str()), (3, ""));
}

/// A command with a member that has been stopped; both end with the test.
struct Stopped(Child, u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        signal("CONT", self.1);
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([format!("-{name}"), process.to_string()]).status().expect("kill").success());
}

/// A member below this process.
fn member_below(process: u32) -> u32 {
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let parent = |pid: u32| stat(pid).rsplit(')').next()?.split_whitespace().nth(1)?.parse::<u32>().ok();
    let is_below = |pid: &u32| std::iter::successors(Some(*pid), |pid| parent(*pid)).any(|above| above == process);
    let is_member =
        |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words.ends_with(b"\0top-member\0"));
    let all =
        std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    all.filter(is_member).find(is_below).expect("a member")
}

#[test]
fn a_host_that_is_silent_does_not_slow_the_others() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    let mut child = command.args(["top", "--act", "3", "--json"]).stdout(Stdio::piped()).spawn().expect("it was built");
    let mut ticks = BufReader::new(child.stdout.take().expect("a pipe")).lines().map(|line| {
        let tick: Value = serde_json::from_str(&line.expect("a line")).expect("an object");
        tick["silent"].as_array().expect("a list").len()
    });
    ticks.next().expect("a tick");
    let member = member_below(child.id());
    let _stopped = Stopped(child, member);
    signal("STOP", member);
    ticks.find(|silent| *silent == 1).expect("it is seen to be silent");
    let begin = Instant::now();
    assert_eq!(ticks.by_ref().take(4).collect::<Vec<_>>(), [1; 4]);
    assert!(begin.elapsed() < Duration::from_secs(8), "four ticks of a second took {:?}", begin.elapsed());
    signal("CONT", member);
    ticks.find(|silent| *silent == 0).expect("it comes back");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let shop = Workshop::new();
    for (arguments, says) in [
        (&["top"][..], "the live view needs a terminal; elsewhere use --once or --json"),
        (&["top", "--once", "--sort", "pid"], "--sort pid: there are host, cpu, memory, run_queue"),
        (&["top", "--once", "--act", "2", "-w", "n1"], "--act simulates hosts on this machine"),
        (&["top", "--once", "--every", "1ms"], "would show little but its own cost"),
    ] {
        let ran = shop.run(arguments);
        assert!(ran.status == 2 && ran.err.contains(says), "{arguments:?}: {} {}", ran.status, ran.err);
    }
}

#[test]
fn a_host_that_cannot_be_reached_has_a_status_of_its_own() {
    let launcher = "command:false {hosts} {agent}";
    let ran = Workshop::new().run(&["top", "-w", "n1", "--launcher", launcher, "--once", "--host-timeout", "2s"]);
    assert!(ran.status == 3 && ran.err.contains("n1") && ran.out.is_empty(), "{} {}", ran.status, ran.err);
}

#[test]
fn a_time_limit_has_a_status_of_its_own() {
    let ran = Workshop::new().run(&["top", "--act", "1", "--json", "--every", "60s", "--timeout", "50ms"]);
    let object: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
    assert!(ran.status == 4 && object["exit_status"] == 4, "{} {} {}", ran.status, ran.out, ran.err);
}

fn top(arguments: &[&str]) -> PseudoTerminal {
    top_of_size(arguments, 120, 30)
}

fn top_of_size(arguments: &[&str], columns: u16, rows: u16) -> PseudoTerminal {
    let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
    command.arg("top").args(arguments).env("TERM", "xterm-256color").env_remove("NO_COLOR");
    command.env("BANYAN_CONFIG", "");
    PseudoTerminal::start(&mut command, columns, rows)
}

/// The screen of a usual terminal, sorted by a column that is shown for that reason alone.
fn usual() -> String {
    let summary = summary(8, 8);
    format!(
        "\
banyan top  2 hosts  by host  every 0.2 s
cost: # % of a core and # a host at most; here # % and #/s
wait:mem  ▒▒

{summary}
host           CPU  memory wait:mem▼  wait:io  net in  net out  disk rd  disk wr
local            #       #         #        #       #        #        #        #
local            #       #         #        #       #        #        #        #




q quit  ↑↓ choose  enter look into  esc back  ←→ sort  / filter  b by  p pause
"
    )
}

#[test]
fn all_that_is_shown_fits_into_the_usual_terminal() {
    let mut terminal = top_of_size(&["--act", "2", "--sort", "pressure_memory", "--every", "200ms"], 80, 24);
    let screen = terminal.wait("both hosts", |screen| {
        !screen[1].contains("here 0.00 % and 0 B/s")
            && screen.iter().filter(|line| line.starts_with("local")).count() == 2
    });
    // Either may be the first.
    let screen = settled(&(screen.join("\n") + "\n")).replace("local1", "local ").replace("local2", "local ");
    assert_shown(&screen, &usual());
    terminal.press("q");
    has_ended(terminal);
}

#[test]
fn the_member_is_listed_under_the_name_of_its_program() {
    let shop = Workshop::new();
    // One of its own, so that other tests have no such processes.
    let name = format!("top-{}", std::process::id());
    fs::copy(env!("CARGO_BIN_EXE_banyan"), shop.path(&name)).expect("room");
    let words = "top --once --json --every 200ms --by process";
    let ran = shop.shell(&format!("./{name} {words} --filter {name}"));
    let rows = &json_lines(&ran.out)[0]["rows"];
    let is_member = |row: &Value| row["command"].as_str().is_some_and(|command| command.ends_with(" top-member"));
    assert!(rows.as_array().expect("rows").iter().any(is_member), "{rows} {}", ran.err);
}

#[test]
fn one_look_in_a_terminal_is_as_wide_as_that() {
    for by in ["host", "process", "user", "job"] {
        let terminal =
            top_of_size(&["--act", "2", "--once", "--every", "200ms", "--color", "never", "--by", by], 80, 24);
        let (status, _, bytes) = terminal.end();
        let page = String::from_utf8_lossy(&bytes);
        assert!(status.success() && page.contains("CPU▼"), "{status}: {page}");
        assert!(page.lines().all(|line| line.trim_end().chars().count() <= 80), "{page}");
    }
}

/// It ended well, and left the terminal as it was: the page of before, a cursor, and settings.
fn has_ended(terminal: PseudoTerminal) {
    has_ended_with(terminal, 0);
}

fn has_ended_with(terminal: PseudoTerminal, expected: i32) {
    let (status, restored, bytes) = terminal.end();
    assert!(status.code() == Some(expected) && restored, "{status}, settings restored: {restored}");
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.ends_with("\x1b[0m\x1b[?25h\x1b[?1049l"), "{:?}", &text[text.len().saturating_sub(200)..]);
}

#[test]
fn the_live_view_shows_hosts_looks_into_one_and_gives_the_terminal_back() {
    let mut terminal = top(&["--act", "2", "--sort", "host", "--every", "200ms"]);
    let screen = terminal.wait("both hosts", |screen| {
        screen[0].starts_with("banyan top  2 hosts  by host  every 0.2 s")
            && screen.iter().any(|line| line.starts_with("local2"))
    });
    assert!(screen[1].starts_with("cost: "), "{}", screen.join("\n"));
    assert!(screen[29].starts_with("q quit"), "{}", screen.join("\n"));
    terminal.press("\x1b[B\r");
    terminal.wait("processes", |screen| {
        screen[0].contains("processes of local2") && screen.iter().any(|line| line.contains("banyan"))
    });
    terminal.press("/no such process\r");
    terminal.wait("the filter", |screen| {
        screen[0].contains("only \"no such process\"") && !screen[16..].iter().any(|line| line.contains("banyan"))
    });
    terminal.press("\x1b");
    terminal.wait_for("by host");
    terminal.press("bb");
    terminal.wait_for("by user");
    terminal.press("q");
    has_ended(terminal);
}

#[test]
fn a_live_view_that_ends_by_its_time_limit_says_so_below_what_was_there_before() {
    let (status, restored, bytes) = top(&["--act", "1", "--every", "200ms", "--timeout", "6s"]).end();
    let said = String::from_utf8_lossy(&bytes);
    let behind = said.rsplit("\x1b[?1049l").next().unwrap_or_default();
    assert!(status.code() == Some(4) && restored && behind.contains("--timeout"), "{status}: {behind:?}");
}

#[test]
fn other_rows_are_looked_at_during_a_pause_too() {
    let mut terminal = top(&["--act", "2", "--sort", "host", "--every", "200ms"]);
    terminal.wait_for("local2");
    terminal.press("p");
    terminal.wait_for("paused");
    terminal.press("\r");
    terminal.wait_for("processes of local1");
    // On a busy machine others stand before it.
    terminal.press("/banyan\r");
    terminal.wait("processes", |screen| {
        screen[0].ends_with("paused")
            && screen[16..].iter().any(|line| line.starts_with("banyan") && line.contains("local1"))
    });
    terminal.press("q");
    has_ended(terminal);
}

#[test]
fn the_live_view_shows_hosts_that_are_named() {
    let mut terminal = top(&["-w", "n[1-2]", "--launcher", "local", "--sort", "host", "--every", "200ms"]);
    terminal.wait("both hosts", |screen| {
        screen[0].starts_with("banyan top  2 hosts")
            && ["n1 ", "n2 "].iter().all(|name| screen.iter().any(|line| line.starts_with(name)))
    });
    terminal.press("q");
    has_ended(terminal);
}

#[test]
fn the_live_view_follows_the_size_of_the_terminal() {
    let mut terminal = top(&["--act", "1", "--every", "200ms"]);
    terminal.wait_for("median");
    terminal.resize(60, 10);
    terminal.wait("a smaller screen", |screen| {
        screen[9].starts_with("q quit") && !screen.iter().any(|line| line.contains("median"))
    });
    terminal.press("\x03");
    has_ended(terminal);
}

#[test]
fn a_signal_ends_the_live_view_as_well_as_a_key() {
    let mut terminal = top(&["--act", "1", "--every", "200ms"]);
    terminal.wait_for("median");
    terminal.signal("TERM");
    has_ended_with(terminal, 143);
}

#[test]
fn a_signal_that_was_ignored_when_it_began_does_not_end_the_live_view() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_banyan"), "top", "--act", "1"]);
    command.args(["--every", "200ms"]).env("TERM", "xterm-256color").env("BANYAN_CONFIG", "");
    let mut terminal = PseudoTerminal::start(&mut command, 120, 30);
    terminal.wait_for("median");
    terminal.signal("HUP");
    terminal.press("b");
    terminal.wait_for("by job");
    terminal.press("q");
    has_ended(terminal);
}
