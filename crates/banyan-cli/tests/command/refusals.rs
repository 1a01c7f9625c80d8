//! What the command says when it cannot do what it was asked.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use crate::vectors::golden;
use crate::workshop::Workshop;

/// Arguments behind `records`, the exit status, and what standard error begins with.
#[test]
fn every_refusal_names_the_thing_the_cause_and_the_remedy() {
    let shop = Workshop::with_readings(2);
    shop.write("empty", "");
    shop.write("noise", [0xa5; 100]);
    std::fs::create_dir(shop.path("directory")).expect("room");
    let index = golden("index_output.s390x");
    let refusals: [(&[&str], i32, &str); 15] = [
        (&["dump", "gone"], 1, "gone: no such file; give the path of a file, or - for standard input"),
        (&["dump", "directory"], 1, "directory: is a directory; give the files in it"),
        (&["stat", "empty"], 1, "empty: is empty; a record file without any record has a header"),
        (&["dump", "noise"], 1, "noise: no record file: neither Banyan's, nor one of FFS or PBIO. JSON lines and CSV"),
        (&["dump", "readings.jsonl"], 1, "readings.jsonl: no record file"),
        (&["dump", "readings.bny", "--format", "other"], 1, "readings.bny: has no format other; it has reading"),
        (&["dump", "readings.bny", "--fields", "kelvin"], 1, "readings.bny: --fields: "),
        (&["convert", "readings.jsonl", "x.bny"], 2, "readings.jsonl: JSON lines and CSV do not say what"),
        (&["convert", "readings.bny", "x.bny", "--schema", "reading.json"], 2, "readings.bny: --schema is for JSON"),
        (&["convert", "readings.bny", "x.what"], 2, "x.what: what kind of file is it? Give --as"),
        (&["convert", "readings.bny", "directory", "--as", "csv"], 1, "directory: is a directory; give the name"),
        (&["convert", "readings.bny", "no/x.csv"], 1, "no/x.csv: cannot be written: no such file or directory"),
        (&["convert", "readings.bny", "x.csv", "--time-field", "time"], 2, "--time-field is for record files"),
        (&["convert", &index, "x.bny", "--time-field", "nowhen"], 1, "--time-field nowhen: no record has such a field"),
        (&["diff", "-", "-"], 2, "standard input cannot be both files"),
    ];
    let files = shop.files();
    for (arguments, status, message) in refusals {
        let ran = shop.run(&[&["records"], arguments].concat());
        assert_eq!(ran.status, status, "{arguments:?}: {}", ran.err);
        assert!(ran.err.starts_with(&format!("banyan: {message}")), "{arguments:?}: {}", ran.err);
        assert_eq!((ran.err.lines().count(), ran.out.as_str()), (1, ""), "{arguments:?}: {}", ran.err);
    }
    assert_eq!(shop.files(), files, "nothing was left behind");
}

#[test]
fn what_is_no_record_file_is_refused_alike_by_name_and_on_standard_input() {
    let shop = Workshop::new();
    for noise in [&[0xa5; 10][..], &[0xa5; 100], &[0xa5; 5000], b"{\"time\":1}\n"] {
        shop.write("noise", noise);
        let by_name = shop.run(&["records", "dump", "noise"]);
        let as_input = shop.run_with_input(&["records", "dump", "-"], noise);
        assert_eq!((by_name.status, as_input.status), (1, 1));
        assert_eq!(by_name.err.replace("noise: ", "standard input: "), as_input.err);
    }
}

#[test]
fn wrong_usage_ends_with_status_2() {
    let shop = Workshop::new();
    for arguments in [&["records", "dump"][..], &["records", "show", "x"], &["records", "stat", "--what", "x"]] {
        assert_eq!(shop.run(arguments).status, 2, "{arguments:?}");
    }
}

#[test]
fn help_ends_with_examples() {
    let shop = Workshop::new();
    for verb in ["dump", "schema", "convert", "stat", "diff"] {
        let help = shop.well(&["records", verb, "--help"]);
        assert!(help.contains("Examples:\n  banyan records "), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn arguments_that_are_no_text_are_refused_or_names_of_files() {
    let shop = Workshop::new();
    for words in [&["records", "stat"][..], &["demo"], &["copy", "x"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_banyan"));
        command.args(words).arg(OsStr::from_bytes(b"bad\xff")).current_dir(shop.path("")).env("BANYAN_CONFIG", "");
        let output = command.output().expect("the command was built");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!([1, 2].contains(&output.status.code().unwrap_or(-1)), "{words:?}: {}: {said}", output.status);
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn with_json_a_verb_that_fails_says_so_in_an_object_too() {
    let shop = Workshop::with_readings(2);
    shop.write("no.toml", "what = 1");
    let failures: [&[&str]; 18] = [
        &["run", "--json", "-w", "a[", "--", "true"],
        &["run", "--json", "-w", "nowhere.invalid", "--launcher", "ssh", "--", "true"],
        &["copy", "--json", "gone", "/tmp/"],
        &["copy", "--json", "-w", "nowhere.invalid", "--launcher", "ssh", "readings.bny", "/tmp/"],
        &["top", "--json", "--once", "-w", "a["],
        &["clock", "--json", "-w", "a["],
        &["query", "--json", "select what"],
        &["stack", "--json", "--match", "no such program runs"],
        &["doctor", "--json", "-w", "a["],
        &["topo", "gen", "--json", "what"],
        &["records", "stat", "--json", "gone"],
        &["records", "convert", "--json", "gone", "x.bny"],
        &["bench", "no.toml", "--json"],
        &["sim", "--json", "--log", "no/where"],
        // What is refused before a verb begins.
        &["run", "--json", "--no-such-option"],
        &["records", "stat", "--json"],
        &["top", "--json", "--every", "soon"],
        // A limit that ends it in the middle.
        &["sim", "--json", "--members", "100000", "--timeout", "50ms"],
    ];
    for arguments in failures {
        let ran = shop.run(arguments);
        let last = ran.out.lines().last().unwrap_or_default();
        let object: serde_json::Value = serde_json::from_str(last).unwrap_or_default();
        assert_ne!(ran.status, 0, "{arguments:?}");
        assert_eq!(object["exit_status"], ran.status, "{arguments:?}: {} {}", ran.out, ran.err);
        let error = object["error"].as_str().unwrap_or_default();
        assert!(ran.err.contains(error) && !error.is_empty(), "{arguments:?}: {} {}", ran.out, ran.err);
        let objects = ran.out.lines().filter(|line| line.contains("\"error\":")).count();
        assert_eq!(objects, 1, "{arguments:?}: {}", ran.out);
    }
    let ran = shop.run(&["run", "--no-such-option", "--", "--json"]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""), "what is behind -- is not ours: {}", ran.err);
    // Standard output is for records there.
    let ran = shop.run(&["records", "convert", "--json", "gone", "-", "--as", "csv"]);
    assert_eq!((ran.status, ran.out.as_str()), (1, ""), "{}", ran.err);
}

#[test]
fn whatever_is_refused_has_the_name_of_the_command_before_it() {
    let shop = Workshop::new();
    let refused: [&[&str]; 5] = [
        &["run", "--bogus"],
        &["sim", "--seeds", "many"],
        &["top", "--every", "soon"],
        &["dance"],
        &["stack", "--pid", "1", "--match", "["],
    ];
    for arguments in refused {
        let ran = shop.run(arguments);
        assert!(ran.status == 2 && ran.err.starts_with("banyan: "), "{arguments:?}: {}", ran.err);
        assert!(!ran.err.contains("error:"), "{arguments:?}: {}", ran.err);
    }
}
