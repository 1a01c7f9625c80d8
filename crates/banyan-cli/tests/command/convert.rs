//! `records convert`.

use crate::shown::assert_shown;
use crate::vectors::golden;
use crate::workshop::{Workshop, json_lines};

#[test]
fn json_lines_become_records_and_json_lines_again() {
    let shop = Workshop::with_readings(100);
    assert_eq!(shop.well(&["records", "convert", "readings.bny"]).as_bytes(), shop.read("readings.jsonl"));
}

#[test]
fn csv_becomes_records_and_csv_again() {
    let shop = Workshop::with_readings(100);
    shop.well(&["records", "convert", "readings.bny", "readings.csv"]);
    // Any file that has the format serves as schema.
    shop.well(&["records", "convert", "readings.csv", "again.bny", "--schema", "readings.bny"]);
    shop.well(&["records", "diff", "readings.bny", "again.bny"]);
    assert!(shop.read("readings.csv").starts_with(b"time,sensor,celsius\n1000,s0,0.5\n"));
}

#[test]
fn every_layout_holds_the_same_values() {
    let shop = Workshop::with_readings(100);
    for layout in ["native", "little64", "big64", "little32", "big32"] {
        shop.well(&["records", "convert", "readings.bny", "other.bny", "--layout", layout]);
        shop.well(&["records", "diff", "readings.bny", "other.bny"]);
    }
    let order = shop.well(&["records", "schema", "other.bny"]);
    assert!(order.contains("big-endian, 4-byte references"), "{order}");
}

#[test]
fn files_of_other_machines_become_record_files() {
    let shop = Workshop::new();
    let old = golden("context_test_output.sun8");
    shop.well(&["records", "convert", &old, "new.bny", "--layout", "native"]);
    shop.well(&["records", "diff", &old, "new.bny"]);
}

#[test]
fn comments_go_with_the_records() {
    let shop = Workshop::new();
    shop.well(&["records", "convert", &golden("file_output.win32"), "new.bny"]);
    shop.well(&["records", "convert", "new.bny", "newer.bny"]);
    let [new, newer] = ["new.bny", "newer.bny"].map(|name| shop.run(&["records", "stat", "--json", name]).json());
    assert_eq!(new[0]["comments"].as_array().map(Vec::len), Some(1));
    assert_eq!(new[0]["comments"], newer[0]["comments"]);
}

#[test]
fn a_file_may_be_converted_in_place() {
    let shop = Workshop::with_readings(5000);
    shop.well(&["records", "convert", "readings.bny", "readings.bny", "--fields", "time", "--layout", "big64"]);
    let lines = json_lines(&shop.well(&["records", "convert", "readings.bny"]));
    assert_eq!(lines.len(), 5000);
    assert_eq!(lines[4999], serde_json::json!({ "time": 5999 }));
}

#[test]
fn a_conversion_that_fails_leaves_no_file_and_harms_none() {
    let shop = Workshop::with_readings(2);
    let before = shop.files();
    shop.write("readings.jsonl", "{\"time\":1,\"sensor\":\"a\",\"celsius\":2}\n{\"time\":\"noon\"}\n");
    let whole = shop.read("readings.bny");
    for output in ["readings.bny", "new.bny", "new.csv", "new.jsonl"] {
        let ran = shop.run(&["records", "convert", "readings.jsonl", output, "--schema", "reading.json"]);
        assert_eq!(ran.status, 1);
        assert!(ran.err.starts_with("banyan: readings.jsonl: line 2, column 15: time: "), "{}", ran.err);
    }
    assert_eq!(shop.files(), before);
    assert_eq!(shop.read("readings.bny"), whole);
}

#[test]
fn a_table_of_several_formats_is_refused_and_one_of_them_written() {
    let shop = Workshop::new();
    let old = golden("context_test_output.s390x");
    let ran = shop.run(&["records", "convert", &old, "all.csv"]);
    assert!(ran.status == 1 && ran.err.contains("choose it with --format NAME"), "{}", ran.err);
    let name = json_lines(&shop.well(&["records", "dump", "--json", "--limit", "1", &old]))[0]["format"].clone();
    let name = name.as_str().expect("a name");
    shop.well(&["records", "convert", &old, "one.csv", "--format", name]);
    assert!(shop.files() == ["one.csv"] && shop.read("one.csv").len() > 10);
}

#[test]
fn of_several_formats_in_a_schema_file_one_must_be_chosen_by_name_or_id() {
    let shop = Workshop::with_readings(3);
    // The same name, another layout: two formats.
    shop.well(&["records", "convert", "readings.bny", "other.bny", "--layout", "big32"]);
    let ids: Vec<String> = ["readings.bny", "other.bny"]
        .map(|file| json_lines(&shop.well(&["records", "schema", "--json", file]))[0]["formats"][0]["id"].clone())
        .map(|id| id.as_str().expect("an id").to_owned())
        .to_vec();
    let old = golden("context_test_output.s390x");
    let ran = shop.run(&["records", "convert", "readings.jsonl", "new.bny", "--schema", &old]);
    assert!(ran.status == 1 && ran.err.contains("has several formats: "), "{}", ran.err);
    assert!(ran.err.contains("choose one with --format NAME"), "{}", ran.err);
    for (file, id) in ["readings.bny", "other.bny"].iter().zip(&ids) {
        let dumped = shop.well(&["records", "dump", file, "--format", &id[..8]]);
        assert_eq!(dumped.lines().count(), 3);
        let convert = ["records", "convert", "readings.jsonl", "new.bny", "--schema", file, "--format", &id[..4]];
        shop.well(&convert);
    }
    let ran = shop.run(&["records", "dump", "readings.bny", "--format", &ids[1][..8]]);
    assert!(ran.status == 1 && ran.err.contains("it has reading"), "{}", ran.err);
}

#[test]
fn the_count_is_told_in_json_beside_the_records() {
    let shop = Workshop::with_readings(7);
    let told = shop.well(&["records", "convert", "readings.bny", "copy.bny", "--json"]);
    let wanted = serde_json::json!({ "input": "readings.bny", "output": "copy.bny", "records": 7, "damaged": false });
    assert_eq!(json_lines(&told), [wanted]);
    let ran = shop.run(&["records", "convert", "readings.bny", "--json"]);
    assert_eq!(ran.json().len(), 7);
    assert_eq!(json_lines(&ran.err)[0]["records"], 7);
}

#[test]
fn records_go_through_pipes_in_both_directions() {
    let shop = Workshop::with_readings(100);
    let line = "banyan records convert readings.bny - --as records --layout big32 | banyan records convert - back.bny";
    let ran = shop.shell(line);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    shop.well(&["records", "diff", "readings.bny", "back.bny"]);
}

#[test]
fn a_table_has_lists_as_json_and_nothing_for_what_is_not_there() {
    let file = golden("file_output.sun8");
    let words = ["records", "convert", &file, "-", "--as", "csv", "--format", "string_array"];
    assert_shown(
        &Workshop::new().well(&words),
        r#"array_len,base_string,array
1,,"[""b""]"
3,Whoa there!,"[""def"",""defg"",""defgh""]"
5,,"[""fghij"",""fghijk"",""fghijkl"",""fghijklm"",""fghijklmn""]"
7,Whoa there!,"[""hijklmn"",""hijklmno"",""hijklmnop"",""hijklmnopq"",""hijklmnopqr"",""hijklmnopqrs"",""hijklmnopqrst""]"
9,,"[""jklmnopqr"",""jklmnopqrs"",""jklmnopqrst"",""jklmnopqrstu"",""jklmnopqrstuv"",""jklmnopqrstuvw"",""jklmnopqrstuvwx"",""jklmnopqrstuvwxy"",""jklmnopqrstuvwxyz""]"
"#,
    );
}

#[test]
fn records_keep_their_times() {
    let shop = Workshop::with_readings(100);
    let times = |file: &str| {
        let told = shop.well(&["records", "stat", file, "--json"]);
        serde_json::from_str::<serde_json::Value>(&told).unwrap()["times"].clone()
    };
    shop.well(&["records", "convert", "readings.bny", "timed.bny", "--time-field", "time"]);
    assert_eq!(times("timed.bny"), serde_json::json!([1000, 1099]));
    for options in [&[][..], &["--layout", "big32"], &["--fields", "time,celsius"]] {
        shop.well(&[&["records", "convert", "timed.bny", "kept.bny"], options].concat());
        assert_eq!(times("kept.bny"), serde_json::json!([1000, 1099]), "{options:?}");
    }
    shop.well(&["records", "convert", "timed.bny", "other.bny", "--time-field", "celsius"]);
    assert_ne!(times("other.bny"), times("timed.bny"), "what is asked for counts");
    shop.write("cut.bny", std::fs::read(shop.path("timed.bny")).unwrap().split_last_chunk::<64>().unwrap().0);
    assert_eq!(shop.run(&["records", "convert", "cut.bny", "saved.bny"]).status, 1);
    assert_eq!(times("saved.bny"), times("timed.bny"));
}

#[test]
fn a_time_is_a_number() {
    let shop = Workshop::with_readings(3);
    let ran = shop.run(&["records", "convert", "readings.bny", "timed.bny", "--time-field", "sensor"]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("--time-field sensor: is not a number, so it cannot be a time"), "{}", ran.err);
    assert!(!shop.path("timed.bny").exists());
    shop.well(&["records", "convert", "readings.bny", "timed.bny", "--time-field", "celsius"]);
}

#[test]
fn a_reader_of_a_named_pipe_may_go_away_like_that_of_standard_output() {
    let shop = Workshop::with_readings(8_000);
    let first = "{\"time\":1000,\"sensor\":\"s0\",\"celsius\":0.5}\n";
    let ran = shop.shell("{ banyan records convert readings.bny /dev/stdout --as jsonl; echo $? >status; } | head -1");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), &shop.read("status")[..]), (first, "", &b"0\n"[..]));
    let ran = shop
        .shell("mkfifo pipe; head -1 pipe & banyan records convert readings.bny pipe --as jsonl; s=$?; wait; exit $s");
    assert_eq!((ran.out.as_str(), ran.err.as_str(), ran.status), (first, "", 0));
}
