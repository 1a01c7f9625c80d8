//! What people see of a damaged file, whichever verb of `records` they give it to.

use crate::shown::assert_shown;
use crate::workshop::Workshop;

/// What each verb prints, its messages too, and its status.
const SEEN: &str = "\
$ banyan records stat damaged.bny
damaged.bny (Banyan): 3904 records, 101504 bytes
        3904 records         101504 bytes  7a5a372799f9b8372cce95f22c6af38a reading
  DAMAGE the block's checksum is wrong at bytes 176..131360 (4096 records lost)
banyan: damaged.bny: damaged in 1 place; what is whole is saved by: banyan records convert damaged.bny NEW.bny
status 1
$ banyan records dump damaged.bny --limit 2
  4096  reading {time: 5096, sensor: \"s1\", celsius: 4096.5}
  4097  reading {time: 5097, sensor: \"s2\", celsius: 4097.5}
banyan: damaged.bny: damaged: the block's checksum is wrong at bytes 176..131360 (4096 records lost)
status 1
$ banyan records dump damaged.bny --start 7999
  7999  reading {time: 8999, sensor: \"s1\", celsius: 7999.5}
banyan: damaged.bny: damaged: the block's checksum is wrong at bytes 176..131360 (4096 records lost)
status 1
$ banyan records convert damaged.bny saved.csv
banyan: damaged.bny: damaged: the block's checksum is wrong at bytes 176..131360 (4096 records lost)
status 1
$ banyan records diff readings.bny damaged.bny --limit 2
record 0: reading != nothing
record 1: reading != nothing
… and 4094 more; --limit shows more
banyan: damaged.bny: damaged: the block's checksum is wrong at bytes 176..131360 (4096 records lost)
status 1
";

#[test]
fn every_verb_shows_what_is_whole_and_tells_of_the_place_that_is_not() {
    let shop = Workshop::with_readings(8_000);
    // As it lies on one certain machine, so that places are the same everywhere.
    shop.well(&["records", "convert", "readings.bny", "damaged.bny", "--layout", "big32"]);
    let mut bytes = shop.read("damaged.bny");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    shop.write("damaged.bny", &bytes);
    let mut seen = String::new();
    for command in SEEN.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let ran = shop.shell(&format!("{{ {command}\n}} 2>&1"));
        seen += &format!("$ {command}\n{}status {}\n", ran.out, ran.status);
    }
    assert_shown(&seen, SEEN);
}
