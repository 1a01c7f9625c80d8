//! `records diff`.

use crate::shown::assert_shown;
use crate::vectors::golden;
use crate::workshop::Workshop;

#[test]
fn what_different_machines_wrote_of_the_same_values_is_the_same() {
    let shop = Workshop::new();
    for (kind, machines) in [
        ("context_test_output", &["arm6l", "s390x", "sun8", "win32"][..]),
        ("file_output", &["s390x", "sun8", "win32"]),
    ] {
        for machine in machines {
            let (left, right) = (golden(&format!("{kind}.ub12-64")), golden(&format!("{kind}.{machine}")));
            assert_eq!(shop.well(&["records", "diff", &left, &right]), "", "{kind} {machine}");
        }
    }
}

#[test]
fn a_changed_value_is_named_by_its_path() {
    let shop = Workshop::with_readings(3);
    let changed = String::from_utf8(shop.read("readings.jsonl")).expect("text").replace("1.5", "7.25");
    shop.write("changed.jsonl", changed);
    shop.well(&["records", "convert", "changed.jsonl", "changed.bny", "--schema", "reading.json", "--layout", "big32"]);
    let ran = shop.run(&["records", "diff", "readings.bny", "changed.bny"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, "record 1 celsius: 1.5 != 7.25\n"));
    let ran = shop.run(&["records", "diff", "--json", "readings.bny", "changed.bny"]);
    let wanted = serde_json::json!({ "record": 1, "path": "celsius", "left": "1.5", "right": "7.25" });
    assert_eq!(ran.json(), [wanted]);
}

#[test]
fn records_that_only_one_file_has_are_told() {
    let shop = Workshop::with_readings(2);
    let first = String::from_utf8(shop.read("readings.jsonl")).expect("text");
    shop.write("one.jsonl", first.lines().next().expect("a line"));
    shop.well(&["records", "convert", "one.jsonl", "one.bny", "--schema", "reading.json"]);
    let ran = shop.run(&["records", "diff", "readings.bny", "one.bny"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, "record 1: reading != nothing\n"));
}

#[test]
fn differences_beyond_the_limit_are_counted() {
    let shop = Workshop::with_readings(30);
    shop.write(
        "other.jsonl",
        String::from_utf8(shop.read("readings.jsonl")).expect("text").replace("\":\"s", "\":\"t"),
    );
    shop.well(&["records", "convert", "other.jsonl", "other.bny", "--schema", "reading.json"]);
    let ran = shop.run(&["records", "diff", "readings.bny", "other.bny", "--limit", "2"]);
    assert_eq!(ran.out.lines().count(), 3);
    assert!(ran.out.ends_with("… and 28 more; --limit shows more\n"), "{}", ran.out);
}

#[test]
fn records_behind_lost_ones_are_still_compared_with_their_like() {
    let shop = Workshop::with_readings(8_000);
    let mut bytes = shop.read("readings.bny");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    shop.write("damaged.bny", &bytes);
    let ran = shop.run(&["records", "diff", "readings.bny", "damaged.bny", "--limit", "100000"]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.lines().all(|line| line.ends_with(": reading != nothing")), "{}", ran.out);
    assert!(ran.out.lines().count() < 4_000 && ran.err.contains("damaged.bny: damaged: "), "{}", ran.err);
}

#[test]
fn people_see_records_of_other_formats_by_their_names_and_the_rest_counted() {
    let shop = Workshop::with_readings(3);
    let ran = shop.run(&["records", "diff", &golden("file_output.sun8"), "readings.bny", "--limit", "4"]);
    assert_eq!((ran.status, ran.err.as_str()), (1, ""));
    assert_shown(
        &ran.out,
        "\
record 0: first format != reading
record 1: structured array format != reading
record 2: string format != reading
record 3: string format != nothing
… and 28 more; --limit shows more
",
    );
}

#[test]
fn names_of_fields_cannot_move_the_cursor() {
    let shop = Workshop::new();
    shop.write(
        "odd.json",
        r#"{"title":"odd","type":"object","properties":{"a\u001b[2Jb":{"type":"integer"}},"required":["a\u001b[2Jb"]}"#,
    );
    for (name, value) in [("one", 1), ("two", 2)] {
        shop.write(&format!("{name}.jsonl"), format!("{{\"a\\u001b[2Jb\":{value}}}\n"));
        shop.well(&["records", "convert", &format!("{name}.jsonl"), &format!("{name}.bny"), "--schema", "odd.json"]);
    }
    let ran = shop.run(&["records", "diff", "one.bny", "two.bny"]);
    assert_eq!((ran.out.as_str(), ran.status), ("record 0 a\\u{1b}[2Jb: 1 != 2\n", 1));
}
