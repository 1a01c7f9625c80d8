//! `records stat`.

use serde_json::json;

use crate::shape::assert_shape;
use crate::vectors::golden;
use crate::workshop::Workshop;

#[test]
fn everything_in_a_file_is_counted() {
    let shop = Workshop::with_readings(1000);
    let convert = ["records", "convert", "readings.bny", "timed.bny", "--time-field", "time"];
    shop.well(&convert);
    let ran = shop.run(&["records", "stat", "--json", "timed.bny"]);
    let stat = &ran.json()[0];
    assert_eq!(ran.status, 0);
    assert_eq!(stat["records"], 1000);
    assert_eq!(stat["times"], json!([1000, 1999]));
    assert_eq!(stat["finished"], true);
    assert_eq!(stat["damage"], json!([]));
    assert_eq!(stat["formats"][0]["name"], "reading");
    assert_eq!(stat["formats"][0]["records"], 1000);
    assert_eq!(stat["formats"][0]["bytes"], stat["bytes"]);
}

#[test]
fn comments_of_foreign_files_are_told() {
    let shop = Workshop::new();
    let shown = shop.well(&["records", "stat", &golden("file_output.s390x")]);
    assert!(shown.contains("(FFS): 32 records") && shown.contains("  comment"), "{shown}");
}

#[test]
fn a_torn_file_is_told_with_its_offsets_and_ends_in_failure() {
    let shop = Workshop::with_readings(8_000);
    let bytes = shop.read("readings.bny");
    shop.write("torn.bny", &bytes[..bytes.len() - 1000]);
    let ran = shop.run(&["records", "stat", "--json", "torn.bny"]);
    assert_eq!(ran.status, 1);
    let damage = &ran.json()[0]["damage"];
    assert_eq!(damage.as_array().map(Vec::len), Some(1), "{damage}");
    let end = damage[0]["offset"].as_u64().expect("an offset") + damage[0]["length"].as_u64().expect("a length");
    assert_eq!(end, bytes.len() as u64 - 1000);
    assert!(ran.err.contains("torn.bny: damaged in 1 place"), "{}", ran.err);
}

#[test]
fn a_torn_foreign_file_is_told_too() {
    let shop = Workshop::new();
    let bytes = std::fs::read(golden("file_output.s390x")).expect("a golden file");
    shop.write("torn.bin", &bytes[..bytes.len() - 5]);
    let ran = shop.run(&["records", "stat", "torn.bin", "--json"]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    assert_eq!(ran.json()[0]["records"], 31);
    let place =
        json!({ "offset": "count", "length": "count|nothing", "records_lost": "count|nothing", "reason": "text" });
    let format = json!({ "id": "text", "name": "text", "records": "count", "bytes": "count" });
    assert_shape(
        &ran.json()[0],
        &json!({
            "file": "text", "kind": "text", "finished": "flag|nothing", "records": "count", "bytes": "count",
            "formats": [format], "times": "nothing", "comments": [{ "before_record": "count", "text": "text" }],
            "attributes": "object", "damage": [place],
        }),
    );
}

#[test]
fn what_is_whole_of_a_damaged_file_is_saved_by_converting_it() {
    let shop = Workshop::with_readings(8_000);
    let mut bytes = shop.read("readings.bny");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x80;
    shop.write("damaged.bny", &bytes);
    let damaged = &shop.run(&["records", "stat", "--json", "damaged.bny"]).json()[0];
    let ran = shop.run(&["records", "convert", "damaged.bny", "saved.bny"]);
    assert_eq!(ran.status, 1);
    let saved = &shop.run(&["records", "stat", "--json", "saved.bny"]).json()[0];
    assert_eq!(saved["records"], damaged["records"]);
    assert_eq!(saved["damage"], json!([]));
    let lost = damaged["damage"][0]["records_lost"].as_u64().expect("it is known");
    assert_eq!(saved["records"].as_u64().map(|kept| kept + lost), Some(8_000));
}

#[test]
fn a_file_that_cannot_be_read_keeps_nobody_from_the_others() {
    let shop = Workshop::with_readings(3);
    for (verb, shows) in [("stat", "3 records"), ("schema", "celsius"), ("dump", "2.5")] {
        let ran = shop.run(&["records", verb, "gone", "readings.bny"]);
        assert!(ran.status == 1 && ran.err.starts_with("banyan: gone: no such file"), "{verb}: {}", ran.err);
        assert!(ran.out.contains(shows), "{verb}: {}", ran.out);
        let ran = shop.run(&["records", verb, "--json", "gone", "readings.bny"]);
        let objects = ran.json();
        let gone = if verb == "schema" { &objects[0]["unread"][0] } else { &objects[0] };
        assert_eq!((&gone["file"], &gone["exit_status"]), (&json!("gone"), &json!(1)), "{verb}: {}", ran.out);
        assert!(ran.status == 1 && ran.out.contains("reading"), "{verb}: {}", ran.out);
    }
}
