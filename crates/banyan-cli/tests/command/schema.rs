//! `records schema`.

use crate::workshop::{Workshop, golden, json_lines};

#[test]
fn formats_are_shown_once_in_order() {
    let shop = Workshop::new();
    let shown = shop.well(&["records", "schema", "--json", &golden("context_test_output.ub12-64")]);
    let formats = json_lines(&shown)[0]["formats"].clone();
    assert_eq!(formats.as_array().map(Vec::len), Some(15), "formats without records are shown, too");
    let records: u64 = formats.as_array().expect("a list").iter().filter_map(|format| format["records"].as_u64()).sum();
    assert_eq!(records, 36);
}

#[test]
fn a_schema_that_was_shown_reads_the_records_back() {
    let shop = Workshop::with_readings(10);
    for (language, file) in [("json-schema", "shown.json"), ("xml-schema", "shown.xsd")] {
        shop.write(file, shop.well(&["records", "schema", "readings.bny", "--as", language]));
        shop.well(&["records", "convert", "readings.jsonl", "again.bny", "--schema", file]);
        shop.well(&["records", "diff", "readings.bny", "again.bny"]);
    }
}
