//! `records dump`.

use serde_json::json;

use crate::shape::assert_shape;
use crate::shown::assert_shown;
use crate::vectors::golden;
use crate::workshop::{Ran, Workshop, json_lines};

#[test]
fn records_are_shown_one_a_line_with_their_numbers() {
    let shop = Workshop::with_readings(3);
    let shown = shop.well(&["records", "dump", "readings.bny", "--start", "1"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(lines[0].trim_start().starts_with("1  reading {") && lines[0].contains("1.5"), "{shown}");
}

#[test]
fn json_has_every_value_and_says_where_it_is_from() {
    let shop = Workshop::with_readings(2);
    let lines = json_lines(&shop.well(&["records", "dump", "--json", "readings.bny"]));
    assert_eq!(lines.len(), 2);
    let line = json!({
        "file": "text", "record": "count", "format": "text", "id": "text", "time?": "number", "value": "object",
    });
    assert_shape(&json!(lines), &json!([line]));
    assert_eq!(lines[1]["file"], "readings.bny");
    assert_eq!(lines[1]["record"], 1);
    assert_eq!(lines[1]["format"], "reading");
    assert_eq!(lines[1]["id"].as_str().map(str::len), Some(32));
    assert_eq!(lines[1]["value"], serde_json::json!({ "time": 1001, "sensor": "s1", "celsius": 1.5 }));
}

#[test]
fn only_the_fields_asked_for_are_shown() {
    let shop = Workshop::with_readings(1);
    let lines = json_lines(&shop.well(&["records", "dump", "--json", "--fields", "celsius", "readings.bny"]));
    assert_eq!(lines[0]["value"], serde_json::json!({ "celsius": 0.5 }));
}

#[test]
fn standard_input_shows_the_same_as_the_file() {
    let shop = Workshop::with_readings(50);
    for name in ["readings.bny".to_owned(), golden("index_output.s390x")] {
        let bytes = std::fs::read(shop.path(&name)).expect("the file");
        let piped = shop.run_with_input(&["records", "dump", "-", "--start", "7"], &bytes);
        assert_eq!(piped.out, shop.well(&["records", "dump", &name, "--start", "7"]));
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_it_quietly() {
    let shop = Workshop::with_readings(8_000);
    for command in
        ["dump readings.bny", "dump --json readings.bny", "convert readings.bny", "convert readings.bny --as csv -"]
    {
        let ran = shop.shell(&format!("{{ banyan records {command}; echo $? >status; }} | head -1"));
        assert_eq!(ran.err, "", "{command}");
        assert_eq!(ran.out.lines().count(), 1, "{command}");
        assert_eq!(shop.read("status"), b"0\n", "{command}");
    }
}

#[test]
fn golden_files_of_every_architecture_are_shown_whole() {
    let shop = Workshop::new();
    for (name, records) in [
        ("context_test_output.arm6l", 36),
        ("context_test_output.s390x", 36),
        ("context_test_output.sun8", 36),
        ("context_test_output.ub12-64", 36),
        ("context_test_output.win32", 36),
        ("file_output.s390x", 32),
        ("file_output.sun8", 32),
        ("index_output.s390x", 32),
    ] {
        let lines = json_lines(&shop.well(&["records", "dump", "--json", &golden(name)]));
        assert_eq!(lines.len(), records, "{name}");
        assert!(lines.iter().all(|line| line["value"].is_object()), "{name}");
    }
}

#[test]
fn a_damaged_file_is_shown_as_far_as_it_is_whole() {
    let shop = Workshop::with_readings(8_000);
    let mut bytes = shop.read("readings.bny");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    shop.write("damaged.bny", &bytes);
    let whole = shop.well(&["records", "dump", "readings.bny"]);
    let ran = shop.run(&["records", "dump", "damaged.bny"]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.starts_with("banyan: damaged.bny: damaged: "), "{}", ran.err);
    let (shown, all) = (ran.out.lines().count(), whole.lines().count());
    assert!(shown < all && shown > all / 2, "{shown} of {all}");
    assert!(ran.out.lines().all(|line| whole.contains(line)));
}

#[test]
fn people_see_lists_texts_and_what_is_not_there_in_a_line_or_in_several() {
    let shop = Workshop::new();
    let file = golden("file_output.sun8");
    assert_shown(
        &shop.well(&["records", "dump", &file, "--start", "22", "--limit", "4"]),
        "    22  EventV {vec_length: 1, eventv: [{elem: ['A'], len: 1}]}
    23  string_array {array_len: 1, base_string: null, array: [\"b\"]}
    24  EventV {vec_length: 3, eventv: [{elem: ['A', 'B', 'C'], len: 3}, {elem: ['A', 'B', 'C', 'D'], len: 4}, \
         {elem: ['A', 'B', 'C', 'D', 'E'], len: 5}]}
    25  string_array {array_len: 3, base_string: \"Whoa there!\", array: [\"def\", \"defg\", \"defgh\"]}
",
    );
    assert_shown(&shop.well(&["records", "dump", &file, "--start", "18", "--limit", "1", "--pretty"]), PRETTY);
}

const PRETTY: &str = "    18  variant array format {
  string field: \"variant1\"
  icount: 2
  var_int_array: [297, 298]
  var_string_array: [
    {
      integer field: 0
      short field: 0
      long field: 0
      string field: \"substring0\"
      double field: 0.0
      char field: 'a'
    }
    {
      integer field: 345
      short field: 1
      long field: 785
      string field: \"substring1\"
      double field: 3.1415
      char field: 'c'
    }
  ]
  double field: 0.0
  var_double_array: [0.0, 2.717]
}
";

#[test]
fn a_stream_with_a_gap_begins_with_the_first_record_behind_it() {
    let shop = Workshop::with_readings(8_000);
    let mut bytes = shop.read("readings.bny");
    let place = bytes.len() / 4;
    bytes[place] ^= 1;
    shop.write("damaged.bny", &bytes);
    let first = |ran: Ran| ran.out.lines().next().map(str::to_owned);
    let named = |start: &str| first(shop.run(&["records", "dump", "damaged.bny", "--start", start]));
    let piped = |start: &str| first(shop.run_with_input(&["records", "dump", "-", "--start", start], &bytes));
    assert_ne!(named("7"), first(shop.run(&["records", "dump", "readings.bny", "--start", "7"])), "it is in the gap");
    for start in ["0", "7", "7999", "8000"] {
        assert_eq!(piped(start), named(start), "--start {start}");
    }
}

/// A list of records whose names are much longer than their values: as values it takes a hundred times its bytes.
#[test]
fn a_record_that_takes_too_much_memory_is_an_error_that_names_the_option() {
    let shop = Workshop::new();
    let names: Vec<String> = (0..8).map(|number| format!("{}{number}", "long".repeat(60))).collect();
    let small = json!({ "type": "integer", "minimum": 0, "maximum": 9 });
    let item = json!({
        "type": "object", "required": names,
        "properties": names.iter().map(|name| (name.clone(), small.clone())).collect::<serde_json::Map<_, _>>(),
    });
    let items = json!({ "type": "array", "items": item });
    let schema = json!({ "title": "long", "type": "object", "properties": { "v": items }, "required": ["v"] });
    shop.write("schema.json", schema.to_string().as_bytes());
    let record: serde_json::Map<_, _> = names.iter().map(|name| (name.clone(), json!(1))).collect();
    shop.write("in.jsonl", format!("{}\n", json!({ "v": vec![record; 2000] })).as_bytes());
    shop.well(&["records", "convert", "in.jsonl", "out.bny", "--schema", "schema.json"]);

    let ran = shop.run(&["records", "dump", "out.bny", "--memory", "1"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.out.contains("INVALID") && ran.out.contains("allow more with --memory MIB"), "{}", ran.out);
    let ran = shop.run(&["records", "convert", "out.bny", "out.csv", "--memory", "1"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert!(ran.err.contains("allow more with --memory MIB"), "{}", ran.err);
    shop.well(&["records", "dump", "out.bny", "--memory", "64"]);
    shop.well(&["records", "dump", "out.bny"]);
}
