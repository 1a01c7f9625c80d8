//! What chapters show of benches has the shape of what these print now: the same words, in the same columns.

use serde_json::Value;

use crate::blocks::{found, listed_block, outputs};
use crate::shown::{assert_shown, pattern};
use crate::tables::{all_kept, launch, without_noise};
use crate::workshop::Workshop;

/// How the blocks begin that are compared here.
const COMPARED: &[(&str, &[&str])] = &[
    (
        "command-bench.md",
        &["round_trip (µs)", "left out: ", "{\"bench\":\"launch\"", "{\"bench\":\"layers\"", "study small", "value "],
    ),
    ("performance.md", &["latency: ", "one exchange"]),
];

#[test]
fn no_output_in_a_chapter_on_benches_is_left_out() {
    COMPARED.iter().for_each(|(chapter, beginnings)| assert_eq!(outputs(chapter), beginnings.len(), "{chapter}"));
}

/// The block of a chapter that begins so.
fn block(chapter: &str, language: &str, beginning: &str) -> String {
    listed_block(COMPARED, chapter, language, beginning)
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
