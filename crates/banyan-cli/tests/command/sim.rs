//! `sim`: trees in one process, from a seed.

use serde_json::json;

use crate::fields::assert_documented;
use crate::shape::assert_shape;
use crate::workshop::Workshop;

#[test]
fn a_seed_gives_the_same_run_again_and_another_seed_another() {
    let shop = Workshop::new();
    let run = |seed: &str| shop.well(&["sim", "--shape", "3x3x3", "--faults", "5", "--seed", seed]);
    let first = run("1");
    assert_eq!(first, run("1"));
    assert_ne!(first, run("2"));
    assert!(first.starts_with("3x3x3: 27 members under 12 inner nodes\nwaves delivered           50"), "{first}");
}

#[test]
fn json_says_what_came_of_it() {
    let shop = Workshop::new();
    let ran = shop.run(&["sim", "--members", "60", "--fanout", "8", "--seeds", "3", "--only-deaths", "--json"]);
    let found = &ran.json()[0]["sim"];
    assert_eq!(ran.status, 0);
    let shape = json!({
        "shape": "text", "seed": "count", "seeds": "count", "members": "count", "inner": "count", "degree": "count",
        "faults": "count", "waves": "count", "late": "count", "lost": "count", "dropped": "count",
        "filtered": "count", "moves": "count", "messages": "count", "held_bytes": "count", "seconds": "number", "virtual_seconds": "number",
        "failure": "text|nothing", "replay": "text|nothing",
    });
    assert_shape(found, &shape);
    assert_documented("command-sim.md", &ran.json()[0]);
    assert_eq!((&found["shape"], &found["members"]), (&"8x8".into(), &64.into()));
    assert_eq!(
        (&found["waves"], &found["lost"], &found["failure"]),
        (&150.into(), &0.into(), &serde_json::Value::Null)
    );
}

#[test]
fn a_trace_tells_everything_that_happens() {
    let shop = Workshop::new();
    let trace = shop.well(&["sim", "--shape", "2x2", "--faults", "1", "--only-deaths", "--trace"]);
    for word in ["fault: ", "dials", "Attach", "Welcome", "delivered stream 1 0-"] {
        assert!(trace.contains(word), "{word} is not in the trace");
    }
}

#[test]
fn a_trace_for_programs_is_of_objects_too() {
    let ran = Workshop::new().run(&["sim", "--shape", "2x2", "--waves", "1", "--trace", "--json"]);
    let mut objects = ran.json();
    assert!(objects.pop().is_some_and(|last| last["sim"].is_object()), "{}", ran.out);
    assert!(!objects.is_empty() && objects.iter().all(|object| object["trace"].is_string()), "{}", ran.out);
}

#[test]
fn a_tree_without_streams_is_refused() {
    let ran = Workshop::new().run(&["sim", "--streams", "0"]);
    assert!(ran.status == 2 && ran.err.contains("--streams"), "{} {}", ran.status, ran.err);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let shop = Workshop::new();
    for arguments in [
        &["sim", "--shape", "4x"][..],
        &["sim", "--shape", "9999x9999x9999"],
        &["sim", "--members", "0"],
        &["sim", "--members", "10", "--shape", "2x5"],
        &["sim", "--fanout", "1", "--members", "10"],
    ] {
        let refused = shop.run(arguments);
        assert_eq!((refused.status, refused.out.as_str()), (2, ""), "{arguments:?}");
        assert!(!refused.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn no_run_at_all_is_refused() {
    let ran = Workshop::new().run(&["sim", "--seeds", "0"]);
    assert!(ran.status == 2 && ran.out.is_empty() && ran.err.contains("--seeds"), "{}{}", ran.out, ran.err);
}

#[test]
fn the_run_that_the_demo_recommends_has_failures() {
    let shown = Workshop::new().well(&["sim", "--faults", "12", "--members-fail"]);
    assert!(shown.contains("members given up           3"), "{shown}");
}
