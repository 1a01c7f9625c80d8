//! `bench PLAN`: studies that run without hands, go on where they were, and are compared.
//!
//! The bench of these tests is the cheapest there is: starting a tree of two members. A run that fails at once costs
//! nothing at all.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::workshop::{Workshop, json_lines};

/// So that nothing hangs.
const PATIENCE: Duration = Duration::from_secs(60);

const TREE: &str = "[[bench]]\nbench = \"tree\"\nop = \"instantiate\"\nshape = \"1x2\"\nquick = true\n";
/// Takes many seconds, so that it is cut off in the middle.
const LONG: &str = "[[bench]]\nbench = \"tree\"\nshape = \"1x2\"\n";
const FAILS: &str = "[[bench]]\nbench = \"collectives\"\nmember = \"mine=no/such/member\"\n";

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
    assert_eq!(events.last().expect("events")["failed"], serde_json::json!([1, 3]));
    let results = object(&shop, "s/results.json");
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
}

/// A study that tells its events.
struct Running {
    child: Child,
    events: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(shop: &Workshop) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
        command.args(["bench", "plan.toml", "--json", "-q"]).current_dir(shop.path("")).stdin(Stdio::null());
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

    fn end(mut self) -> std::process::ExitStatus {
        self.child.wait().expect("it ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether some process belongs to a study.
fn is_left(study: u32) -> bool {
    let mark = format!("BANYAN_STUDY={study}");
    let of = |process: &Path| fs::read(process.join("environ")).unwrap_or_default();
    let processes = fs::read_dir("/proc").expect("processes").flatten();
    processes
        .into_iter()
        .any(|process| of(&process.path()).split(|byte| *byte == 0).any(|word| word == mark.as_bytes()))
}

#[test]
fn a_study_that_was_killed_goes_on_where_it_was_and_leaves_no_process() {
    let shop = Workshop::new();
    plan(&shop, "repetitions = 3", TREE);
    let mut study = Running::start(&shop);
    let id = study.child.id();
    assert_eq!(study.wait_for("run")["run"], 1);
    study.signal(Signal::KILL);
    study.end();
    let deadline = Instant::now() + PATIENCE;
    while is_left(id) {
        assert!(Instant::now() < deadline, "a process of the study is still there");
        std::thread::yield_now();
    }
    // Usually it is killed in its second run; how far it came is not for this test to say.
    let file = |number: &u64| format!("s/runs/{number:04}.json");
    let (done, left): (Vec<u64>, Vec<u64>) = (1..=3).partition(|number| shop.path(&file(number)).exists());
    let before: Vec<Vec<u8>> = done.iter().map(|number| shop.read(&file(number))).collect();
    let events = json_lines(&shop.well(&["bench", "plan.toml", "--json"]));
    assert_eq!((done.first(), ran(&events)), (Some(&1), left));
    assert_eq!(done.iter().map(|number| shop.read(&file(number))).collect::<Vec<_>>(), before);
    let left = fs::read_dir(shop.path("s/runs")).expect("runs").count();
    assert_eq!((left, object(&shop, "s/results.json")["runs"].as_u64()), (3, Some(3)), "no unfinished files");
}

#[test]
fn an_interrupted_study_has_results_of_what_was_done_and_says_how_to_go_on() {
    let shop = Workshop::new();
    plan(&shop, "", &format!("{TREE}{LONG}"));
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut study = Running::start(&shop);
        // The first time there is a run to wait for; the second time the long one has begun, or will be told not to.
        study.wait_for(if signal == Signal::INT { "run" } else { "begin" });
        study.signal(signal);
        assert_eq!(study.wait_for("end")["done"], 1);
        assert_eq!(study.end().code(), Some(status));
    }
    let results = object(&shop, "s/results.json");
    assert_eq!((&results["runs"], &results["failed"]), (&1.into(), &serde_json::json!([])), "it did not fail either");
    let told = shop.well(&["bench", "plan.toml", "--dry-run"]);
    assert!(told.contains("    1 done  ") && told.contains("    2       "), "{told}");
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
fn a_run_that_does_not_end_is_cut_off_at_its_deadline() {
    let shop = Workshop::new();
    plan(&shop, "deadline = \"20ms\"", TREE);
    let ran = shop.run(&["bench", "plan.toml"]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("failed: no end in 20ms; give it more with deadline in the plan"), "{}", ran.out);
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
    assert_eq!(shop.run(&["bench", "s/plan.toml", "--into", "s", "-q"]).status, 1, "as the message says");
    let others = shop.run(&["bench", "plan.toml", "--into", "."]);
    assert_eq!(others.status, 2);
    assert!(others.err.contains("has files that are no study's; name another directory with --into"), "{}", others.err);
    assert_eq!(shop.files(), files, "nothing was made");
    fs::create_dir(shop.path("cut")).expect("room");
    shop.write("cut/.study.json.unfinished", "");
    assert_eq!(shop.run(&["bench", "s/plan.toml", "--into", "cut", "-q"]).status, 1, "a study that was hardly begun");
}

#[test]
fn a_rehearsal_shows_the_commands_and_makes_nothing() {
    let shop = Workshop::new();
    plan(&shop, "repetitions = 2", "[[bench]]\nbench = \"tree\"\nshape = [\"1x2\", \"2x2\"]\nquick = true\n");
    let told = shop.well(&["bench", "plan.toml", "--dry-run"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines[0], "study s: 4 runs (2 configurations, 2 times), into s");
    let commands: Vec<&str> = lines.iter().filter_map(|line| Some(line.split_once("/banyan ")?.1)).collect();
    let (small, large) = ("bench tree --shape 1x2 --quick --json", "bench tree --shape 2x2 --quick --json");
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
            serde_json::json!({
                "study": directory, "run": at, "bench": "tree", "system": system, "op": "waves",
                "parameters": {"shape": "4x16"}, "value": value, "unit": "waves/s", "repetition": at,
            })
        };
        let mut figures: Vec<Value> = values.into_iter().enumerate().map(figure).collect();
        figures.push(figures[0].clone());
        figures[5]["system"] = directory.into();
        let results = serde_json::json!({"study": directory, "runs": 5, "failed": [], "figures": figures});
        shop.write(&format!("{directory}/results.json"), results.to_string());
    };
    write("old", "banyan", [10.0, 10.1, 10.2, 10.3, 10.4]);
    write("new", "banyan", [15.0, 15.1, 15.2, 15.3, 15.4]);
    let told = shop.well(&["bench", "--compare", "old", "new/results.json"]);
    assert!(told.contains("1.490") && told.contains(" faster\n"), "{told}");
    assert!(told.contains("only in the old one: tree waves old shape=4x16\n"), "{told}");
    let compared = &json_lines(&shop.well(&["bench", "--compare", "new", "old", "--json"]))[0];
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
    for line in ["#!/bin/sh\n", "#SBATCH --job-name=s\n", "#SBATCH --nodes=3\n", "#SBATCH --time=5:00\n"] {
        assert!(script.contains(line), "{line} is not in\n{script}");
    }
    let command =
        format!("bench {0}/plan.toml --into {0}/s\n", fs::canonicalize(shop.path("")).expect("there").display());
    assert!(script.ends_with(&command), "{script}");
    assert_eq!(shop.files(), ["plan.toml"]);
    let refused = shop.run(&["bench", "plan.toml", "--submit", "slurm", "--partition", "a b"]);
    assert_eq!(refused.status, 2, "{}", refused.err);

    fs::create_dir(shop.path("bin")).expect("room");
    let nowhere = shop.shell("banyan=$(command -v banyan); PATH=$PWD/bin; $banyan bench plan.toml --submit slurm");
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
