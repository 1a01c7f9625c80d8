//! What `--json` of the verbs that reach hosts prints, field by field: nothing is missing, and nothing is there that their
//! chapters do not have.

use serde_json::{Value, json};

use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::stack::{Job, compiled};
use crate::workshop::{Ran, Workshop};

/// A way to hosts that leads to none.
const NOWHERE: [&str; 4] = ["--launcher", "command:false {hosts} {agent}", "--host-timeout", "2s"];

/// Asserts that the objects with this event have a shape, besides `event`, and that there is one.
fn assert_events(ran: &Ran, event: &str, mut shape: Value) {
    let objects: Vec<Value> = ran.json().into_iter().filter(|object| object["event"] == event).collect();
    shape["event"] = "text".into();
    assert_shape(&objects.into(), &json!([shape]));
}

#[test]
fn every_kind_of_problem_is_in_the_book() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("a file of the repository");
    let source = read("crates/banyan-boot/src/problem.rs");
    let kinds = source.split("pub enum ProblemKind {").nth(1).and_then(|rest| rest.split('}').next()).expect("kinds");
    let kinds: Vec<&str> = kinds.lines().filter_map(|line| line.trim().strip_suffix(',')).collect();
    assert!(kinds.contains(&"Unreachable"), "{kinds:?}");
    let chapter = read("docs/command-run.md");
    for kind in kinds {
        assert!(chapter.contains(&format!("| `{kind}` | ")), "{kind}");
    }
}

#[test]
fn stacks_have_classes_a_tree_and_processes() {
    let shop = Workshop::new();
    let job = Job::start(&compiled(&shop), 2, 1);
    // The last one there is none of.
    let ran = shop.run(&["stack", "--json", "--lines", "--pid", &job.pids(), "--pid", "4194303"]);
    let class = json!({ "ranks": "text", "count": "count", "stacks": "list" });
    let step = json!({
        "parent": "count|nothing", "function": "text", "module": "text", "line?": "text", "ranks": "text",
        "count": "count", "here": "text",
    });
    let process = json!({
        "rank": "count", "host": "text", "pid": "count", "command": "text", "stacks": "count", "stopped_us": "number",
        "note?": "text", "unread?": { "kind": "text", "why": "text" },
    });
    let report = &ran.json()[0];
    assert_shape(
        report,
        &json!({
            "ranks": "text", "count": "count", "median_stop_us": "number", "longest_stop_us": "number", "classes": [class],
            "tree": [step],
            "processes": [process], "left_out": "list", "cut_short": "flag",
        }),
    );
    assert_shape(&report["classes"][0]["stacks"], &json!([["text"]]));
    assert_eq!(report["processes"][2]["unread"]["kind"], "gone");
    assert_documented("command-stack.md", report);
}

#[test]
fn copies_have_what_was_copied_gathered_and_wrong() {
    let shop = Workshop::new();
    shop.write("file", "content\n");
    let there = shop.path("{host}/").display().to_string();
    let hosts = ["copy", "--json", "-w", "n[1-2]", "--launcher", "local"];
    let copied = shop.run(&[&hosts[..], &["file", &there]].concat());
    let amounts = json!({ "files": "count", "bytes": "count", "delivered_bytes": "count", "had_bytes": "count" });
    let with = |more: Value| {
        let fields = [&amounts, &more].map(|fields| fields.as_object().expect("fields").clone());
        Value::Object(fields.into_iter().flatten().collect())
    };
    assert_events(&copied, "copied", with(json!({ "source": "text", "hosts": "count", "failed": "count" })));
    let summary = json!({
        "hosts": "count", "failed_hosts": "list", "left_out": "list", "delivered_bytes": "count", "had_bytes": "count",
        "timed_out": "flag", "interrupted": "flag", "seconds": "number", "exit_status": "count",
    });
    assert_events(&copied, "summary", summary.clone());
    let here = shop.path("file").display().to_string();
    let gathered = shop.run(&[&hosts[..], &["--gather", &here, "back"]].concat());
    assert_events(&gathered, "gathered", with(json!({ "host": "text", "failed": "flag" })));
    let wrong = shop.run(&[&hosts[..], &["--gather", "/no/such/file", "back"]].concat());
    assert_events(&wrong, "summary", summary);
    let problem = json!({ "host": "text|nothing", "kind": "text", "cause": "text", "remedy": "text" });
    assert_events(&wrong, "problem", problem);
    let nobody = shop.run(&[&["copy", "--json", "-w", "n1"], &NOWHERE[..], &["file", &there]].concat());
    assert_events(&nobody, "summary", nothing_launched(json!({ "hosts": "count" })));
    for ran in [copied, gathered, wrong, nobody] {
        assert_documented("command-copy.md", &ran.json().into());
    }
}

/// The summary of a command that came to no host, besides its `event`; members are named where the verb has them.
fn nothing_launched(more: Value) -> Value {
    let problem = json!({
        "event": "text", "host": "text", "kind": "text", "cause": "text", "remedy": "text", "members?": "text",
    });
    let mut shape = json!({ "error": "text", "problems": [problem], "timed_out": "flag", "exit_status": "count" });
    for (name, kind) in more.as_object().expect("fields") {
        shape[name] = kind.clone();
    }
    shape
}

#[test]
fn runs_have_who_failed_what_was_folded_and_why_nothing_was_launched() {
    let shop = Workshop::new();
    let hosts = ["run", "--json", "-w", "n[1-3]", "--launcher", "local"];
    let script = "echo $BANYAN_HOST | tr 12 11; [ $BANYAN_HOST != n3 ] || kill -9 $$";
    let folded = shop.run(&[&hosts[..], &["--diff", "--", "sh", "-c", script]].concat());
    let class = json!({
        "stream": "text", "members": "text", "hosts": "text", "count": "count", "text": "text",
        "bytes_left_out": "count", "diff?": "text",
    });
    assert_events(&folded, "folded", class);
    let end = json!({ "rank": "count", "host": "text", "status": "count", "state": "text", "signal?": "count" });
    assert_events(&folded, "exited", end);
    let failed = json!({ "members": "text", "hosts": "text", "status": "count", "state": "text" });
    let summary = json!({
        "members": "count", "succeeded": "count", "failed": [failed], "unknown": "count", "left_out": "list",
        "refused": {},
        "timed_out": "flag", "seconds": "number", "exit_status": "count",
    });
    assert_events(&folded, "summary", summary);
    let nobody = shop.run(&[&["run", "--json", "-w", "n1"], &NOWHERE[..], &["--", "true"]].concat());
    assert_eq!(nobody.status, 3, "{}", nobody.err);
    assert_events(&nobody, "summary", nothing_launched(json!({ "members": "count" })));
    for ran in [folded, nobody] {
        assert_documented("command-run.md", &ran.json().into());
    }
}

/// What a row of `top` has, by what it is about.
fn row_of_top(by: &str) -> Value {
    let amount = "number|nothing";
    match by {
        "host" => json!({
            "host": "text", "cpu": amount, "memory": amount, "run_queue": amount, "pressure_cpu": amount,
            "pressure_memory": amount, "pressure_io": amount, "network_in": amount, "network_out": amount,
            "disk_read": amount, "disk_write": amount,
        }),
        "process" => json!({
            "name": "text", "pid": "number", "user": "text", "host": "text", "rank": amount, "state": "text",
            "cpu": "number", "memory": "number", "disk_read": amount, "disk_write": amount, "command": "text",
        }),
        _ => json!({ "name": "text", "processes": "number", "hosts": "number", "cpu": "number", "memory": "number" }),
    }
}

#[test]
fn looks_have_a_summary_and_rows_by_host_process_job_and_user() {
    let shop = Workshop::new();
    for by in ["host", "process", "job", "user"] {
        let ran = shop.run(&["top", "--act", "2", "--once", "--json", "--every", "200ms", "--by", by]);
        let look = &ran.json()[0];
        assert_shape(&look["rows"], &json!([row_of_top(by)]));
        let amount = "number|nothing";
        for summary in look["summary"].as_object().expect("a summary").values() {
            assert_shape(
                summary,
                &json!({
                    "unit": "text", "min": "object|nothing", "median": amount, "p99": amount, "max": "object|nothing",
                    "top": "list",
                }),
            );
            let all = summary["top"].as_array().expect("a list").iter().chain([&summary["min"], &summary["max"]]);
            let value = json!({ "host": "text", "value": "number" });
            all.filter(|of| !of.is_null()).for_each(|of| assert_shape(of, &value));
        }
        if !look["others"].is_null() {
            let rest = json!({ "rows": "number", "processes": "number", "cpu": "number", "memory": "number" });
            assert_shape(&look["others"], &rest);
        }
    }
}
