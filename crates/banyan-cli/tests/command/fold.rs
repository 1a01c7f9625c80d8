//! `run --fold` and `run --diff`: identical outputs once, and what sets the others apart.

use serde_json::{Value, json};

use crate::workshop::{Ran, Workshop};

/// Runs a shell script on hosts that this machine acts out. Only the first gets what is given as input, so that it can
/// be another than the rest.
fn run(arguments: &[&str], script: &str, input: &str) -> Ran {
    let shop = Workshop::new();
    shop.write("numbers", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let arguments =
        [&["run", "--launcher", "local", "--input", "master"], arguments, &["--", "sh", "-c", script]].concat();
    shop.run_with_input(&arguments, input.as_bytes())
}

#[test]
fn identical_outputs_are_shown_once_with_the_hosts_that_wrote_them() {
    let ran = run(&["-w", "n[1-4]", "--fold"], "cat; echo the same", "");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), ("=== n[1-4] (4 of 4)\nthe same\n", "", 0));
}

#[test]
fn those_who_wrote_something_else_come_behind_most() {
    let ran = run(&["-w", "n[1-4]", "-b"], "cat; echo the same", "odd\n");
    assert_eq!(ran.out, "=== n[2-4] (3 of 4)\nthe same\n=== n1 (1 of 4)\nodd\nthe same\n");
}

#[test]
fn those_who_wrote_nothing_are_named_unless_nobody_wrote_anything() {
    assert_eq!(run(&["-w", "n[1-3]", "-b"], "cat", "").out, "");
    let ran = run(&["-w", "n[1-3]", "-b"], "cat", "alone");
    assert_eq!(ran.out, "=== n[2-3] (2 of 3) wrote nothing\n=== n1 (1 of 3)\nalone\n");
}

#[test]
fn a_member_cannot_write_the_title_of_others() {
    let ran = run(&["-w", "n[1-2]", "-b"], "cat; echo same", "===\n=== n2 (1 of 2)\nforged\n");
    assert_eq!(ran.out, "=== n1 (1 of 2)\n===\n\\=== n2 (1 of 2)\nforged\nsame\n=== n2 (1 of 2)\nsame\n");
    let ran = run(&["-w", "n[1-2]", "--diff"], "cat; echo '=== n2 (1 of 2)'", "odd\n");
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("=== ")).count(), 2, "{}", ran.out);
}

#[test]
fn members_of_one_host_are_named_by_rank_and_errors_are_folded_apart() {
    let ran = run(&["-w", "a,b", "-n", "2", "-b"], "cat; echo out; echo err >&2; exit 3", "");
    assert_eq!(ran.out, "=== 0-3 on a,b (4 of 4)\nout\n");
    let summary = "banyan: 4 of 4 members failed\n  0-3 on a,b: exited with status 3\n";
    assert_eq!(ran.err, format!("=== 0-3 on a,b (4 of 4)\nerr\n{summary}"));
    assert_eq!(ran.status, 1);
}

#[test]
fn a_diff_shows_only_what_is_other_than_with_most() {
    let ran = run(&["-w", "n[1-4]", "--diff"], "sed \"$(cat)\" numbers", "s/5/five/");
    let expected = "\
=== n[2-4] (3 of 4)\n1\n2\n3\n4\n5\n6\n7\n8\n9\n\
=== n1 (1 of 4)\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n";
    assert_eq!((ran.out.as_str(), ran.status), (expected, 0));
}

#[test]
fn a_diff_is_coloured_if_asked_for() {
    let ran = run(&["-w", "n[1-3]", "--diff", "--color", "always"], "sed \"$(cat)\" numbers", "s/5/five/");
    for part in ["\x1b[1;36m=== n1 (1 of 3)\x1b[0m", "\x1b[31m-5\x1b[0m", "\x1b[32m+five\x1b[0m"] {
        assert!(ran.out.contains(part), "{part:?}: {:?}", ran.out);
    }
}

#[test]
fn json_has_one_object_for_each_text_instead_of_each_line() {
    let ran = run(&["-w", "n[1-3]", "--diff", "--json"], "cat; echo same; echo err >&2", "odd\n");
    let objects = ran.json();
    let folded: Vec<&Value> = objects.iter().filter(|object| object["event"] == "folded").collect();
    let object = |stream: &str, members: &str, hosts: &str, count: u32, text: &str| {
        json!({
            "event": "folded", "stream": stream, "members": members, "hosts": hosts, "count": count, "text": text,
            "bytes_left_out": 0,
        })
    };
    let mut odd = object("stdout", "0", "n1", 1, "odd\nsame\n");
    odd["diff"] = "@@ -1 +1,2 @@\n+odd\n same\n".into();
    let expected = [object("stdout", "1-2", "n[2-3]", 2, "same\n"), odd, object("stderr", "0-2", "n[1-3]", 3, "err\n")];
    assert_eq!(folded, expected.iter().collect::<Vec<_>>());
    assert!(objects.iter().all(|object| object["event"] != "output"));
    assert_eq!(objects.last().map(|last| last["event"].clone()), Some("summary".into()));
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are() {
    let ran = run(&["-w", "n[1-2]", "-b", "--json"], "cat; printf '\\377\\n'", "");
    assert_eq!(ran.json().iter().find_map(|object| object["hex"].as_str().map(str::to_owned)), Some("ff0a".into()));
}

#[test]
fn what_was_written_until_the_time_limit_is_shown() {
    let ran = run(&["-w", "n[1-2]", "-b", "--timeout", "1s"], "echo begun; exec sleep 600", "");
    assert_eq!((ran.out.as_str(), ran.status), ("=== n[1-2] (2 of 2)\nbegun\n", 4));
}

#[test]
fn a_thousand_members_are_one_line() {
    let ran = Workshop::new().run(&["run", "-n", "1000", "--input", "none", "-b", "--", "echo", "all alike"]);
    let expected = "=== 0-999 on localhost (1000 of 1000)\nall alike\n";
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), (expected, "", 0));
}
