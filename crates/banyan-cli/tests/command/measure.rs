//! `bench records` and `demo`: that they run and say what they should, not how fast they are.

use std::collections::BTreeSet;

use crate::workshop::{Workshop, json_lines};

#[test]
fn a_plot_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let shop = Workshop::new();
    let ran = shop.run(&["bench", "records", "--plot", "no/such/plot.svg"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, ""));
    assert!(ran.err.starts_with("banyan: --plot no/such/plot.svg: cannot be written: no such file"), "{}", ran.err);
}

#[test]
fn the_bench_gives_one_object_with_every_operation_at_every_size_and_a_plot() {
    let shop = Workshop::new();
    let told = shop.well(&["bench", "records", "--quick", "--json", "--plot", "plot.svg"]);
    let lines = json_lines(&told);
    let object = &lines[0];
    assert_eq!((lines.len(), object["bench"].as_str()), (1, Some("records")));
    assert!(object["environment"]["cpu"].is_string());
    let rows = object["rows"].as_array().expect("rows");
    assert!(rows.iter().all(|row| row["ns"].as_f64().is_some_and(|ns| ns > 0.0)), "{told}");
    let of = |record: &str, op: &str| -> BTreeSet<u64> {
        let rows = rows.iter().filter(|row| row["op"] == op && row["record"] == record);
        rows.filter_map(|row| row["bytes"].as_u64()).collect()
    };
    let (plain, mixed) = (of("plain", "copy"), of("mixed", "copy"));
    assert_eq!((plain.len(), plain.last()), (4, Some(&99_872)));
    assert_eq!((mixed.len(), mixed.first()), (3, Some(&160)));
    for op in [
        "encode",
        "decode_same",
        "decode_extra_field",
        "decode_foreign",
        "decode_foreign_layout",
        "decode_foreign_interpreted",
    ] {
        assert_eq!((of("plain", op), of("mixed", op)), (plain.clone(), mixed.clone()), "{op}");
    }
    for op in ["lookup_1000", "compile"] {
        assert!(rows.iter().any(|row| row["op"] == op && row["bytes"] == 0), "{op}");
    }
    let plot = String::from_utf8(shop.read("plot.svg")).expect("text");
    assert!(plot.starts_with("<svg ") && plot.contains("a plain record") && plot.contains("a mixed record"), "{plot}");
}

#[test]
fn a_member_program_that_is_not_there_is_refused_with_the_command_that_builds_it() {
    let shop = Workshop::new();
    for bench in ["launch", "collectives"] {
        let ran = shop.run(&["bench", bench, "--member", "mine=no/such/member"]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{bench}");
        assert!(
            ran.err.starts_with("banyan: no/such/member: no such program; build it with `cargo build"),
            "{}",
            ran.err
        );
    }
    assert!(shop.files().is_empty(), "nothing was left behind");
}

#[test]
fn the_demo_fits_a_terminal() {
    let shop = Workshop::new();
    let story = shop.well(&["demo"]);
    assert!(story.lines().count() <= 50 && story.lines().all(|line| line.chars().count() <= 100), "{story}");
    assert!(story.contains("cellar") && story.contains("nothing was copied"), "{story}");
    assert_eq!(json_lines(&shop.well(&["demo", "--json"]))[0]["received"].as_array().map(Vec::len), Some(3));
}
