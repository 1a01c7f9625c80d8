//! `bench PLAN`: studies that run without hands, go on where they were, and are compared.
//!
//! The bench of these tests is the cheapest there is: starting a tree of two members. A run that fails at once costs
//! nothing at all. One that takes minutes is cut off, and its processes must be gone long before it would have ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::environment::environment;
use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::workshop::{Workshop, json_lines};

/// So that nothing hangs; a fraction of what a long bench takes.
const PATIENCE: Duration = Duration::from_secs(20);

const TREE: &str = "[[bench]]\nbench = \"tree\"\nop = \"instantiate\"\nshape = \"1x2\"\nquick = true\n";
/// Takes minutes, so that it is cut off in the middle.
const LONG: &str = "[[bench]]\nbench = \"tree\"\n";
const FAILS: &str = "[[bench]]\nbench = \"collectives\"\nmember = \"mine=no/such/member\"\n";

/// Where the fields of events and results are written down.
const CHAPTER: &str = "command-bench.md";

fn plan(shop: &Workshop, study: &str, benches: &str) {
    shop.write("plan.toml", format!("[study]\nname = \"s\"\n{study}\n{benches}"));
}

/// The numbers in the events of runs.
fn ran(events: &[Value]) -> Vec<u64> {
    events.iter().filter(|event| event["event"] == "run").filter_map(|event| event["run"].as_u64()).collect()
}

fn object(shop: &Workshop, file: &str) -> Value {
    serde_json::from_slice(&shop.read(file)).expect("JSON")
}

#[test]
fn a_study_leaves_figures_for_programs_and_a_page_for_people_and_goes_on_after_a_failure() {
    let shop = Workshop::new();
    plan(&shop, "repetitions = 2\norder = \"shuffled\"", &format!("{FAILS}{TREE}"));
    let first = shop.run(&["bench", "plan.toml", "--json"]);
    let events = first.json();
    assert_eq!((first.status, ran(&events).len()), (1, 4), "{}", first.err);
    assert_eq!(events.last().expect("events")["failed"], json!([1, 3]));
    events.iter().for_each(assert_event);
    assert_documented(CHAPTER, &events.into());
    let results = object(&shop, "s/results.json");
    assert_results(&results);
    assert_documented(CHAPTER, &results);
    let figures = results["figures"].as_array().expect("figures");
    let of: BTreeSet<(&str, u64, u64)> = figures
        .iter()
        .filter_map(|figure| {
            Some((figure["system"].as_str()?, figure["repetition"].as_u64()?, figure["run"].as_u64()?))
        })
        .collect();
    assert_eq!(of, [("banyan", 1, 2), ("banyan", 2, 4), ("floor", 1, 2), ("floor", 2, 4)].into());
    assert!(figures.iter().all(|figure| figure["parameters"]["shape"] == "1x2" && figure["unit"] == "ms"), "{results}");
    let csv = String::from_utf8(shop.read("s/results.csv")).expect("text");
    assert!(csv.starts_with("study,run,bench,system,op,parameters,value,unit,repetition\ns,"), "{csv}");
    let records = json_lines(&shop.well(&["records", "dump", "s/results.records", "--json"]));
    assert_eq!((records.len(), csv.lines().count()), (4, 5));
    let run = object(&shop, "s/runs/0002.json");
    for fact in ["cores", "kernel", "load_before", "load_after", "version", "host"] {
        assert!(!run["environment"][fact].is_null(), "{fact}: {run}");
    }
    let page = String::from_utf8(shop.read("s/report.html")).expect("text");
    assert!(
        page.contains("<svg ") && page.contains("bench tree --op instantiate --shape 1x2 --quick --json"),
        "{page}"
    );
    assert!(page.contains("no/such/member: no such program"), "{page}");

    let again = shop.run(&["bench", "plan.toml", "--json"]);
    assert_eq!((again.status, ran(&again.json())), (1, vec![]), "nothing that is over is done again");
    let retried = shop.run(&["bench", "plan.toml", "--json", "--retry"]);
    assert_eq!(ran(&retried.json()).into_iter().collect::<BTreeSet<_>>(), [1, 3].into(), "only what failed");
    let told = shop.well(&["bench", "plan.toml", "--dry-run"]);
    assert!(
        told.contains("    1 failed  ") && told.contains("    2 done  ") && told.contains("to do: about 0 s"),
        "{told}"
    );
    let told = &json_lines(&shop.well(&["bench", "plan.toml", "--dry-run", "--retry", "--json"]))[0];
    assert_eq!((&told["at_most_seconds"], told["is_measured"].as_bool()), (&3600.0.into(), Some(false)), "{told}");
    let run = json!({
        "run": "count", "bench": "text", "repetition": "count", "parameters": "object", "command": ["text"],
        "done": "flag", "failed": "flag",
    });
    assert_shape(
        told,
        &json!({
            "study": "text", "directory": "text", "runs": [run], "seconds": "number", "is_measured": "flag",
            "at_most_seconds": "number",
        }),
    );
    assert_documented(CHAPTER, told);
}

/// Asserts that an event of a study has the fields of its kind.
fn assert_event(event: &Value) {
    let shape = match event["event"].as_str() {
        Some("begin") => {
            json!({ "event": "text", "study": "text", "directory": "text", "runs": "count", "done": "count" })
        }
        Some("run") => json!({
            "event": "text", "run": "count", "done": "count", "runs": "count", "bench": "text", "repetition": "count",
            "parameters": "object", "seconds": "number", "error": "text|nothing", "command": ["text"],
        }),
        _ => json!({
            "event": "text", "study": "text", "directory": "text", "runs": "count", "done": "count", "failed": "list",
            "figures": "count", "report": "text",
        }),
    };
    assert_shape(event, &shape);
}

/// Asserts that the results of a study have their fields.
fn assert_results(results: &Value) {
    let figure = json!({
        "study": "text", "run": "count", "bench": "text", "system": "text", "op": "text", "parameters": "object",
        "value": "number", "unit": "text", "repetition": "count",
    });
    let mut machine = environment();
    machine["checked_out?"] = "text".into();
    assert_shape(
        results,
        &json!({
            "study": "text", "runs": "count", "failed": "list", "environments": [machine], "figures": [figure],
        }),
    );
}

/// A study that tells its events.
struct Running {
    child: Child,
    events: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(shop: &Workshop) -> Running {
        Running::start_by(Command::new(env!("CARGO_BIN_EXE_banyan-bench")), shop, &[])
    }

    fn start_by(mut command: Command, shop: &Workshop, more: &[&str]) -> Running {
        command.args(["plan.toml", "--json", "-q"]).args(more);
        command.current_dir(shop.path("")).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command was built");
        let events = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        Running { child, events }
    }

    /// Waits for an event of this kind.
    fn wait_for(&mut self, kind: &str) -> Value {
        let mut events =
            self.events.by_ref().map(|line| serde_json::from_str(&line.expect("a line")).expect("an event"));
        events.find(|event: &Value| event["event"] == kind).unwrap_or_else(|| panic!("no event {kind}"))
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Waits until a bench of the study has started the members of a tree, and gives all of its processes.
    fn wait_for_members(&self) -> BTreeSet<Process> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // The study itself, the bench, a keeper, an agent, two members.
            let below = below(self.child.id());
            if below.len() >= 6 {
                return below;
            }
            assert!(Instant::now() < deadline, "the bench has not started its members");
            std::thread::yield_now();
        }
    }

    fn end(mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process id, and when the kernel started the process: nobody else has both.
type Process = (u32, u64);

/// The parent of a process and when it was started; nothing if it has ended.
fn look_at(id: u32) -> Option<(u32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let is_over = ["Z", "X"].contains(&fields[0]);
    (!is_over).then(|| Some((fields[1].parse().ok()?, fields[19].parse().ok()?)))?
}

/// A process and all that descend from it.
fn below(root: u32) -> BTreeSet<Process> {
    let ids = fs::read_dir("/proc").expect("processes").flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let all: BTreeMap<u32, (u32, u64)> = ids.filter_map(|id| Some((id, look_at(id)?))).collect();
    let is_below = |id: u32| {
        let mut line = std::iter::successors(Some(id), |id| all.get(id).map(|(parent, _)| *parent)).take(100);
        line.any(|id| id == root)
    };
    all.iter().filter(|(id, _)| is_below(**id)).map(|(id, (_, start))| (*id, *start)).collect()
}

/// Waits until all of them have ended; what has not by the deadline is ended, and the test fails.
fn wait_for_the_end_of(mut processes: BTreeSet<Process>, deadline: Instant) {
    loop {
        processes.retain(|(id, start)| look_at(*id).is_some_and(|(_, other)| other == *start));
        if processes.is_empty() {
            return;
        }
        if Instant::now() >= deadline {
            let ids = processes.iter().filter_map(|(id, _)| Pid::from_raw(i32::try_from(*id).ok()?));
            for id in ids {
                let _ = kill_process(id, Signal::KILL);
            }
            panic!("still there: {processes:?}");
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_study_that_was_killed_leaves_no_process_and_goes_on_where_it_was() {
    let shop = Workshop::new();
    plan(&shop, "repetitions = 2", &format!("{FAILS}{LONG}"));
    let mut study = Running::start(&shop);
    assert_eq!(study.wait_for("run")["run"], 1);
    let processes = study.wait_for_members();
    study.signal(Signal::KILL);
    study.end();
    wait_for_the_end_of(processes, Instant::now() + PATIENCE);
    let first = shop.read("s/runs/0001.json");
    let mut study = Running::start(&shop);
    assert_eq!(study.wait_for("begin")["done"], 1);
    study.wait_for_members();
    study.signal(Signal::INT);
    assert_eq!(study.wait_for("end")["done"], 1);
    assert_eq!(shop.read("s/runs/0001.json"), first, "it is not done again");
}

#[test]
fn an_interrupted_study_leaves_no_process_and_has_results_of_what_was_done() {
    let shop = Workshop::new();
    plan(&shop, "", &format!("{TREE}{LONG}"));
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut study = Running::start(&shop);
        study.wait_for(if signal == Signal::INT { "run" } else { "begin" });
        let mut processes = study.wait_for_members();
        processes.retain(|(id, _)| *id != study.child.id());
        study.signal(signal);
        assert_eq!(study.wait_for("end")["done"], 1);
        wait_for_the_end_of(processes, Instant::now());
        assert_eq!(study.end().code(), Some(status));
    }
    let results = object(&shop, "s/results.json");
    assert_eq!((&results["runs"], &results["failed"]), (&1.into(), &json!([])), "it did not fail either");
    let left: Vec<_> =
        fs::read_dir(shop.path("s/runs")).expect("runs").flatten().map(|file| file.file_name()).collect();
    assert_eq!(left, ["0001.json"], "no unfinished files");
    let told = shop.well(&["bench", "plan.toml", "--dry-run"]);
    assert!(told.contains("    1 done  ") && told.contains("    2       "), "{told}");
}

#[test]
fn an_interrupted_retry_keeps_what_failed() {
    let shop = Workshop::new();
    plan(&shop, "deadline = \"10ms\"", LONG);
    assert_eq!(shop.run(&["bench", "plan.toml", "-q"]).status, 1, "nothing ends so soon");
    let failed = shop.read("s/runs/0001.json");
    plan(&shop, "", LONG);
    let mut study = Running::start_by(Command::new(env!("CARGO_BIN_EXE_banyan-bench")), &shop, &["--retry"]);
    assert_eq!(study.wait_for("begin")["done"], 0);
    study.wait_for_members();
    study.signal(Signal::INT);
    let end = study.wait_for("end");
    assert_eq!((&end["done"], &end["failed"]), (&1.into(), &json!([1])), "as before");
    assert_eq!(shop.read("s/runs/0001.json"), failed);
}

#[test]
fn a_study_goes_on_when_its_terminal_hangs_up_or_its_output_has_no_room() {
    let shop = Workshop::new();
    plan(&shop, "repetitions = 2", TREE);
    let mut nohup = Command::new("sh");
    nohup.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_banyan-bench")]);
    let mut study = Running::start_by(nohup, &shop, &[]);
    study.wait_for("run");
    study.signal(Signal::HUP);
    assert_eq!((study.wait_for("end")["done"].as_u64(), study.end().code()), (Some(2), Some(0)));
    let full = shop.shell("banyan bench plan.toml --into full > /dev/full");
    assert_eq!((full.status, full.err.lines().count()), (0, 1), "{}", full.err);
    assert!(full.err.starts_with("banyan: standard output cannot be written (no space left"), "{}", full.err);
    assert_eq!(object(&shop, "full/results.json")["runs"], 2);
}

#[test]
fn two_studies_do_not_work_in_one_directory_at_once() {
    let shop = Workshop::new();
    plan(&shop, "", FAILS);
    assert_eq!(shop.run(&["bench", "plan.toml"]).status, 1);
    let lock = fs::File::open(shop.path("s/.lock")).expect("a lock");
    flock(&lock, FlockOperation::NonBlockingLockExclusive).expect("nobody holds it any more");
    let second = shop.run(&["bench", "plan.toml", "--retry"]);
    assert_eq!((second.status, second.out.as_str()), (1, ""));
    assert!(second.err.starts_with("banyan: s: another banyan bench works on this study; wait"), "{}", second.err);
}

#[test]
fn a_run_that_does_not_end_is_cut_off_at_its_deadline_with_all_it_has_started() {
    // Members that leave their group and their parents; a machine may be too slow for the first deadline.
    for deadline in ["2s", "20s"] {
        let shop = Workshop::new();
        shop.write("member", "#!/bin/sh\nsetsid sleep 1000 &\necho $! >> started\nsleep 1000\n");
        assert_eq!(shop.shell("chmod +x member").status, 0);
        let bench = "[[bench]]\nbench = \"collectives\"\nmembers = 2\nmember = \"mine=./member\"\n";
        plan(&shop, &format!("deadline = \"{deadline}\""), bench);
        let ran = shop.run(&["bench", "plan.toml"]);
        let says = format!("failed: no end in {deadline}; give it more with deadline in the plan");
        assert!(ran.status == 1 && ran.out.contains(&says), "{}{}", ran.out, ran.err);
        let Ok(started) = fs::read_to_string(shop.path("started")) else { continue };
        let started: Vec<u32> = started.lines().map(|id| id.parse().expect("a process id")).collect();
        assert!(!started.is_empty());
        let there = started.into_iter().filter_map(|id| Some((id, look_at(id)?.1))).collect();
        return wait_for_the_end_of(there, Instant::now());
    }
    panic!("no member was started in 20 s");
}

#[test]
fn a_file_that_is_not_the_run_it_should_be_is_named_with_the_remedy() {
    let shop = Workshop::new();
    plan(&shop, "repetitions = 2", FAILS);
    assert_eq!(shop.run(&["bench", "plan.toml", "-q"]).status, 1);
    let (first, second) = (shop.read("s/runs/0001.json"), shop.read("s/runs/0002.json"));
    let mut odd = object(&shop, "s/runs/0002.json");
    odd.as_object_mut().expect("an object").remove("error");
    odd["output"] = json!({"rows": [7]});
    for (content, says) in [
        (first, "is another run"),
        (b"{".to_vec(), "EOF while parsing"),
        (odd.to_string().into_bytes(), "row 1 does not say who did what"),
    ] {
        shop.write("s/runs/0002.json", content);
        let ran = shop.run(&["bench", "plan.toml"]);
        assert_eq!((ran.status, ran.out.as_str()), (1, ""));
        assert!(ran.err.starts_with(&format!("banyan: s/runs/0002.json: {says}")), "{}", ran.err);
        assert!(ran.err.ends_with("; remove it, and the run is done again\n"), "{}", ran.err);
    }
    shop.write("s/runs/0002.json", second);
    assert_eq!(ran(&shop.run(&["bench", "plan.toml", "--json"]).json()), Vec::<u64>::new());
}

#[test]
fn a_changed_plan_is_noticed_and_a_directory_of_others_left_alone() {
    let shop = Workshop::new();
    plan(&shop, "", FAILS);
    assert_eq!(shop.run(&["bench", "plan.toml", "-q"]).status, 1);
    plan(&shop, "# only a comment, and time\ndeadline = \"5s\"", FAILS);
    assert_eq!(shop.run(&["bench", "plan.toml", "-q"]).status, 1, "the same runs");
    plan(&shop, "repetitions = 2", FAILS);
    let files = shop.files();
    let changed = shop.run(&["bench", "plan.toml"]);
    assert_eq!((changed.status, changed.out.as_str()), (2, ""));
    assert!(changed.err.starts_with("banyan: s: was begun with another plan"), "{}", changed.err);
    assert!(changed.err.contains("s/plan.toml --into s") && changed.err.lines().count() == 1, "{}", changed.err);
    let as_told = shop.run(&["bench", "s/plan.toml", "--into", "s", "--json"]).json();
    assert_eq!((&as_told[0]["done"], ran(&as_told)), (&1.into(), vec![]), "{as_told:?}");
    let others = shop.run(&["bench", "plan.toml", "--into", "."]);
    assert_eq!(others.status, 2);
    assert!(
        others.err.contains("has files that are not a study's; name another directory with --into"),
        "{}",
        others.err
    );
    assert_eq!(shop.files(), files, "nothing was made");
    fs::create_dir(shop.path("cut")).expect("room");
    shop.write("cut/.study.json.unfinished", "");
    assert_eq!(shop.run(&["bench", "s/plan.toml", "--into", "cut", "-q"]).status, 1, "a study that was hardly begun");
}

#[test]
fn a_study_keeps_its_name_wherever_its_plan_lies() {
    let shop = Workshop::new();
    shop.write("mine.toml", FAILS);
    assert_eq!(shop.run(&["bench", "mine.toml", "-q"]).status, 1);
    let again = shop.run(&["bench", "mine/plan.toml", "--into", "mine", "--json"]).json();
    assert_eq!((&again[0]["study"], &again[0]["done"]), (&"mine".into(), &1.into()), "{again:?}");
    shop.write("bare", FAILS);
    let itself = shop.run(&["bench", "bare"]);
    assert_eq!((itself.status, itself.err.as_str()), (2, "banyan: bare: is a file; name a directory with --into\n"));
    let directory = shop.run(&["bench", "mine"]);
    assert_eq!(directory.status, 2);
    assert!(directory.err.ends_with("go on with: banyan bench mine/plan.toml --into mine\n"), "{}", directory.err);
    shop.write("here.toml", format!("[study]\ndirectory = \"\"\n{FAILS}"));
    let here = shop.run(&["bench", "here.toml"]);
    assert!(here.err.starts_with("banyan: .: has files that are not a study's"), "{}", here.err);
}

#[test]
fn a_rehearsal_shows_the_commands_and_makes_nothing() {
    let shop = Workshop::new();
    plan(&shop, "repetitions = 2", "[[bench]]\nbench = \"tree\"\nshape = [\"1x2\", \"2x2\"]\nquick = true\n");
    let told = shop.well(&["bench", "plan.toml", "--dry-run"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "study s: 4 runs (2 configurations, 2 times), into s");
    let commands: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once("/banyan-bench ")?.1)).collect();
    let (small, large) = ("tree --shape 1x2 --quick --json", "tree --shape 2x2 --quick --json");
    assert_eq!(commands, [small, large, small, large]);
    assert!(lines[5].starts_with("to do: about ") && lines[5].contains("a guess"), "{told}");
    assert_eq!(shop.files(), ["plan.toml"]);
}

#[test]
fn what_is_no_plan_is_refused_with_line_and_remedy() {
    let shop = Workshop::new();
    plan(&shop, "", "[[bench]]\nbench = \"tree\"\nshape = [\"1x2\",\n \"4x\"]\n");
    shop.write("job.toml", "[[bench]]\nbench = \"launch\"\nslurm-nodes = \"{nodes}\"\n");
    for (arguments, says) in [
        (
            &["bench", "job.toml"][..],
            "banyan: {nodes} in the plan stands for the nodes of a job; start it with --submit",
        ),
        (&["bench", "plan.toml"], "banyan: plan.toml, line 7: invalid value '4x' for '--shape <AxB>'"),
        (&["bench", "tre"], "banyan: tre: no such file; give the plan of a study, or one of the benches: records"),
        (&["bench", "--dry-run"], "banyan: which study? Give its plan"),
        (&["bench", "plan.toml", "tree"], "banyan: a bench has its own options"),
        (&["bench", "--compare", "gone", "plan.toml"], "banyan: gone: no such file; give the directory of a study"),
        (&["bench", "--compare", "plan.toml", "plan.toml"], "banyan: plan.toml: no results of a study: "),
    ] {
        let ran = shop.run(arguments);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.starts_with(says) && ran.err.lines().count() == 1, "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn two_studies_are_compared_value_by_value() {
    let shop = Workshop::new();
    let write = |directory: &str, system: &str, values: [f64; 5]| {
        fs::create_dir(shop.path(directory)).expect("room");
        let figure = |(at, value): (usize, f64)| {
            json!({
                "study": directory, "run": at, "bench": "tree", "system": system, "op": "waves",
                "parameters": {"shape": "4x16"}, "value": value, "unit": "waves/s", "repetition": at,
            })
        };
        let mut figures: Vec<Value> = values.into_iter().enumerate().map(figure).collect();
        figures.push(figures[0].clone());
        figures[5]["system"] = directory.into();
        let machine = json!({
            "host": directory, "cpu": "c", "cores": 2, "kernel": "k", "arch": "a", "load_before": 0.5, "load_after": 0.5,
            "version": "v", "build": "release",
        });
        let results =
            json!({"study": directory, "runs": 5, "failed": [], "environments": [machine], "figures": figures});
        assert_results(&results);
        shop.write(&format!("{directory}/results.json"), results.to_string());
    };
    write("old", "banyan", [10.0, 10.1, 10.2, 10.3, 10.4]);
    write("new", "banyan", [15.0, 15.1, 15.2, 15.3, 15.4]);
    let told = shop.well(&["bench", "--compare", "old", "new/results.json"]);
    assert!(told.contains("1.490") && told.contains(" faster\n"), "{told}");
    assert!(told.contains("only in the old one: tree waves old shape=4x16\n"), "{told}");
    let compared = &json_lines(&shop.well(&["bench", "--compare", "new", "old", "--json"]))[0];
    let key = json!({ "bench": "text", "system": "text", "op": "text", "parameters": "object", "unit": "text" });
    let side = json!({ "median": "number", "runs": "count" });
    let interval = json!({ "low": "number", "high": "number", "coverage": "number" });
    let mut value = key.clone();
    for (name, shape) in [("old", &side), ("new", &side), ("interval", &interval)] {
        value[name] = shape.clone();
    }
    for (name, kind) in [("ratio", "number"), ("verdict", "text")] {
        value[name] = kind.into();
    }
    let difference = json!({ "fact": "text", "old": "text", "new": "text" });
    let shape = json!({ "differences": [difference], "values": [value], "only_old": [key], "only_new": [key] });
    assert_shape(compared, &shape);
    assert_documented(CHAPTER, compared);
    let value = &compared["values"][0];
    assert_eq!((&value["verdict"], &value["old"]["runs"]), (&"slower".into(), &5.into()), "{compared}");
    let (low, high) = (value["interval"]["low"].as_f64(), value["interval"]["high"].as_f64());
    assert!(low.is_some_and(|low| low > 0.6) && high.is_some_and(|high| high < 0.72), "{compared}");
    assert_eq!(
        (&compared["only_old"][0]["system"], &compared["only_new"][0]["system"]),
        (&"new".into(), &"old".into())
    );
}

#[test]
fn a_job_script_is_shown_and_submitted_or_it_is_said_why_not() {
    let shop = Workshop::new();
    plan(&shop, "", TREE);
    let script = shop.well(&["bench", "plan.toml", "--submit", "slurm", "--dry-run", "--nodes", "3", "--time", "5:00"]);
    for line in [
        "#!/bin/sh\n",
        "#SBATCH --job-name=s\n",
        "#SBATCH --nodes=3\n",
        "#SBATCH --time=5:00\n",
        "#SBATCH --open-mode=append\n",
    ] {
        assert!(script.contains(line), "{line} is not in\n{script}");
    }
    let command =
        format!("bench {0}/plan.toml --into {0}/s\n", fs::canonicalize(shop.path("")).expect("there").display());
    assert!(script.ends_with(&command), "{script}");
    assert_eq!(shop.files(), ["plan.toml"]);
    for odd in [["--partition", "a b"], ["--into", "a\nb"]] {
        let refused = shop.run(&[&["bench", "plan.toml", "--submit", "slurm", "--dry-run"][..], &odd].concat());
        assert_eq!((refused.status, refused.out.as_str()), (2, ""), "{}", refused.err);
    }

    fs::create_dir(shop.path("bin")).expect("room");
    let nowhere = shop.shell("bench=$(command -v banyan-bench); PATH=$PWD/bin; $bench plan.toml --submit slurm");
    assert_eq!(nowhere.status, 1);
    assert!(
        nowhere.err.starts_with("banyan: sbatch: it is not installed, or not in PATH; the script is"),
        "{}",
        nowhere.err
    );
    let stand_in = "printf '#!/bin/sh\\ncp $2 submitted\\necho \"77;here\"\\n' > bin/sbatch && chmod +x bin/sbatch";
    let ran = shop.shell(&format!("{stand_in} && PATH=$PWD/bin:$PATH banyan bench plan.toml --submit slurm"));
    assert_eq!((ran.status, ran.out.as_str()), (0, "job 77: study s into s; look at: squeue -j 77\n"), "{}", ran.err);
    assert_eq!(shop.read("submitted"), shop.read("s/job.sh"));
    let told = shop.shell("PATH=$PWD/bin:$PATH banyan bench plan.toml --submit slurm --json").json();
    let mut shape = json!({ "event": "text", "job": "text", "script": "text", "directory": "text" });
    assert_shape(&told[0], &shape);
    assert_documented(CHAPTER, &told.into());
    let told = shop.run(&["bench", "plan.toml", "--submit", "slurm", "--dry-run", "--json"]).json();
    shape["job"] = "nothing".into();
    shape["text"] = "text".into();
    assert_shape(&told[0], &shape);
    assert_eq!(told[0]["text"].as_str().map(str::as_bytes), Some(&*shop.read("s/job.sh")));
    assert_documented(CHAPTER, &told.into());
}

#[test]
fn the_example_plan_of_the_documentation_is_one() {
    let shop = Workshop::new();
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let example = fs::read_to_string(documents.join("example-plan.toml")).expect("the example");
    let document = fs::read_to_string(documents.join("command-bench.md")).expect("the document");
    assert!(document.contains(&example), "docs/command-bench.md shows another plan than docs/example-plan.toml");
    shop.write("plan.toml", example);
    let told = shop.well(&["bench", "plan.toml", "--dry-run"]);
    assert!(told.contains("to do: about "), "{told}");
}
