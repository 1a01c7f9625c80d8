//! `topo`: trees made, checked and drawn.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::shape::assert_shape;
use crate::workshop::Workshop;

#[test]
fn what_gen_writes_check_takes_in_both_notations() {
    let shop = Workshop::new();
    for notation in ["banyan", "mrnet"] {
        shop.well(&["topo", "gen", "fanout:8:500", "-w", "node[1-20]", "--as", notation, "-o", "t"]);
        let checked = shop.run(&["topo", "check", "t", "--json"]);
        let found = &checked.json()[0];
        assert_eq!((checked.status, &found["ok"], &found["members"]), (0, &json!(true), &json!(500)), "{notation}");
        assert_eq!(found["children"]["most"], 8);
    }
    assert_eq!(shop.files(), ["t"], "nothing else is left behind");
}

#[test]
fn standard_input_is_checked_and_drawn_as_files_are() {
    let shop = Workshop::new();
    let text = shop.well(&["topo", "gen", "4x16"]);
    let checked = shop.run_with_input(&["topo", "check", "-"], text.as_bytes());
    assert_eq!(
        checked.out,
        "standard input: 4 agents, 64 members, 2 levels below the front-end, 4 to 16 children a node\n"
    );
    let drawn = shop.run_with_input(&["topo", "draw", "-"], text.as_bytes());
    assert_eq!(drawn.out, shop.well(&["topo", "draw", "4x16"]));
}

/// Arguments behind `topo`, the exit status, and what standard error begins with.
#[test]
fn every_refusal_names_the_thing_the_cause_and_the_remedy() {
    let shop = Workshop::new();
    shop.write("noise", [0xff; 100]);
    shop.write("empty", "");
    shop.write("twice", "a:0 => b:0 c:0 ;\nc:0 => b:0 ;\n");
    shop.write("lines", "front-end\n  agents on node[1-4]\n");
    let refusals: [(&[&str], i32, &str); 14] = [
        (&["gen", "star"], 2, "star: line 1, column 1: \"star\" is not a topology; write 4x16"),
        (&["gen", "64x64x64x64"], 2, "64x64x64x64: more than 4194304 nodes; is a count right?"),
        (&["gen", "hosts:16:8"], 2, "hosts:16:8: hosts:… hangs members under the agents of their hosts, and no host"),
        (&["gen", "4x16", "-w", "node[1-"], 2, "-w: host set, line 1, column 5"),
        (&["gen", "4x16", "-w", ","], 2, "no host is named; look at -w, -g and --hostfile"),
        (&["gen", "4x16", "--hostfile", "gone"], 2, "--hostfile: host file gone: no such file or directory; name a"),
        (&["gen", "4x16", "-o", "no/x"], 1, "no/x: cannot be written: no such file or directory"),
        (&["check", "gone"], 1, "gone: no such file; give the path of a file, or - for standard input"),
        (&["check", "noise"], 2, "noise: the byte at offset 0 is no text; is it a topology?"),
        (&["check", "empty"], 2, "empty: there is no member; a topology has"),
        (&["check", "twice"], 2, "twice: line 2, column 8: b:0 has two parents, a:0 (line 1) and c:0; leave it"),
        (&["check", "twice", "-w", "a"], 2, "twice: line 1, column 8: host \"b\" is not one of the given hosts; add"),
        (&["draw", "lines"], 2, "lines: line 2, column 3: an agent without members below it has nothing to do"),
        (&["draw", "gone"], 2, "gone: no such file, and as a word: line 1, column 1: \"gone\" is not a topology"),
    ];
    let files = shop.files();
    for (arguments, status, message) in refusals {
        let ran = shop.run(&[&["topo"], arguments].concat());
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.err);
        assert!(ran.err.starts_with(&format!("banyan: {message}")), "{arguments:?}: {}", ran.err);
        assert_eq!((ran.err.lines().count(), ran.out.as_str()), (1, ""), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(shop.files(), files, "nothing was left behind");
}

#[test]
fn all_files_are_checked_though_one_is_wrong() {
    let shop = Workshop::new();
    shop.write("good", "a:0 => b:0 ;\n");
    shop.write("cycle", "a:0 => b:0 ;\nb:0 => a:0 ;\n");
    let people = shop.run(&["topo", "check", "cycle", "good"]);
    assert_eq!(people.status, 2);
    assert!(people.err.starts_with("banyan: cycle: line 1, column 8: b:0 => a:0 => b:0 is a cycle"), "{}", people.err);
    assert!(
        people.out.starts_with("good: 0 agents, 1 member, 1 level below the front-end, 1 child a node, on 2 hosts")
    );
    let programs = shop.run(&["topo", "check", "cycle", "good", "--json"]);
    assert_eq!((programs.status, programs.err.as_str()), (2, ""));
    let found = programs.json();
    assert_eq!(found[0]["error"]["kind"], "cycle");
    assert_eq!((&found[0]["error"]["line"], &found[0]["error"]["column"]), (&json!(1), &json!(8)));
    assert_eq!((&found[1]["ok"], &found[1]["hosts"]), (&json!(true), &json!(2)));
}

#[test]
fn a_word_is_a_word_though_a_file_has_its_name() {
    let shop = Workshop::new();
    shop.write("4x16", "front-end\n  members 3\n");
    assert!(shop.well(&["topo", "draw", "4x16"]).contains("64 members"));
    assert!(shop.well(&["topo", "draw", "./4x16"]).contains("3 members"));
}

#[test]
fn every_form_of_a_picture_is_whole() {
    let shop = Workshop::new();
    let svg = shop.well(&["topo", "draw", "fanout:16:1000", "--as", "svg"]);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("67 agents, 1000 members"));
    let dot = shop.well(&["topo", "draw", "binomial:32", "--as", "dot"]);
    assert!(dot.starts_with("digraph topology {\n") && dot.ends_with("}\n"));
    let ran = shop.run(&["topo", "draw", "8x8x8", "--json"]);
    let branch = json!({
        "role": "text", "count": "count", "stands_for": "count", "agents": "count", "members": "count", "hosts": "text",
        "children": "list", "cut": "flag",
    });
    let children = json!({ "least": "count", "mean": "number", "most": "count" });
    let shape = json!({
        "agents": "count", "branches": [branch], "children": children, "depth": "count", "hosts": "count",
        "members": "count", "nodes": "count",
    });
    assert_shape(&ran.json()[0], &shape);
    let branches = ran.json()[0]["branches"].as_array().expect("a list").clone();
    assert_eq!(branches.len(), 4);
    assert_eq!((&branches[3]["role"], &branches[3]["count"]), (&json!("member"), &json!(8)));
}

#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_banyan"))
        .args(["topo", "gen", "fanout:16:100000", "--as", "mrnet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command was built");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn help_ends_with_examples() {
    let shop = Workshop::new();
    for verb in ["gen", "check", "draw"] {
        let help = shop.well(&["topo", verb, "--help"]);
        assert!(help.contains("Examples:\n  banyan topo "), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn a_file_that_cannot_be_read_keeps_no_other_from_being_checked() {
    let shop = Workshop::new();
    shop.well(&["topo", "gen", "4x16", "-o", "good.topo"]);
    let ran = shop.run(&["topo", "check", "gone", "good.topo"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.out.starts_with("good.topo: 4 agents") && ran.err.starts_with("banyan: gone: no such file"),
        "{}",
        ran.err
    );
    let ran = shop.run(&["topo", "check", "--json", "gone", "good.topo"]);
    let objects = ran.json();
    assert_eq!((ran.status, &objects[0]["file"], &objects[0]["ok"]), (1, &json!("gone"), &json!(false)));
    assert_eq!((&objects[0]["error"]["kind"], &objects[0]["exit_status"]), (&json!("unreadable"), &json!(1)));
    assert_eq!((objects.len(), &objects[1]["ok"]), (2, &json!(true)));
}
