//! Aggregating queries.

use crate::steps::{Step, lines, rows};

fn steps(count: u64) -> Vec<Step> {
    (0..count).map(Step::new).collect()
}

#[test]
fn aggregates_are_those_of_the_events_that_where_selects() {
    let query = "select count(), count(bytes), sum(n), avg(n), min(residual), max(level), first(n), last(residual), \
                 distinct(state) as d from step where n >= 2";
    let wanted = "\"count()\":6,\"count(bytes)\":4,\"sum(n)\":27,\"avg(n)\":4.5,\"min(residual)\":1.0,\"max(level)\":5,\
                  \"first(n)\":2,\"last(residual)\":3.5,\"d\":2";
    assert_eq!(lines(query, &steps(8)), [wanted]);
}

#[test]
fn lists_come_whole() {
    let query = "select top(2, n), union(state), classes(flag), hist(n, 0, 8, 2) as h from step";
    let wanted = "\"top(2, n)\":[7,6],\"union(state)\":[\"Busy\",\"Idle\"],\
                  \"classes(flag)\":[{\"value\":false,\"ranks\":\"3\"},{\"value\":true,\"ranks\":\"3\"}],\
                  \"h\":{\"counts\":[4,4],\"under\":0,\"over\":0,\"nan\":0";
    assert_eq!(lines(query, &steps(8)), [wanted]);
}

#[test]
fn groups_are_sorted_and_a_missing_key_is_a_group() {
    let query = "select bytes, count(), sum(n) / count() as mean from step group by bytes having count() > 0";
    let wanted = [
        "\"bytes\":null,\"count()\":2,\"mean\":1.5",
        "\"bytes\":100,\"count()\":1,\"mean\":1.0",
        "\"bytes\":200,\"count()\":1,\"mean\":2.0",
        "\"bytes\":400,\"count()\":1,\"mean\":4.0",
    ];
    assert_eq!(lines(query, &steps(5)), wanted);
}

#[test]
fn windows_have_the_events_of_their_time() {
    let rows = rows("select count(), max(n) from step every 2s", &steps(5));
    let times: Vec<_> = rows.iter().map(|row| (row.begin.unwrap(), row.end.unwrap())).collect();
    let second = 1_000_000_000;
    assert_eq!(times, [(0, 2 * second), (2 * second, 4 * second), (4 * second, 6 * second)]);
    let counts: Vec<_> = rows.iter().map(|row| row.get("count()").unwrap().clone()).collect();
    assert_eq!(counts, [2, 2, 1].map(|count: u64| count.into()));
}

#[test]
fn windows_that_slide_share_events() {
    let query = "select count() as c from step where n != 3 every 3s sliding 1s";
    let wanted = ["1", "2", "3", "2", "2", "1", "2", "1", "1"].map(|count| format!("\"c\":{count}"));
    let mut events = steps(6);
    events.truncate(6);
    // At 0, 1, 2, 4 and 5; windows end with 1, 2, … 8.
    assert_eq!(lines(query, &events), ["1", "2", "3", "2", "2", "2", "2", "1"].map(|count| format!("\"c\":{count}")));
    assert_eq!(wanted.len(), 9);
}

#[test]
fn values_that_are_missing_are_in_no_aggregate() {
    let query =
        "select sum(bytes), avg(bytes), min(bytes), max(list[100]), sum(list[100]) as s, count(bytes) from step";
    let wanted = "\"sum(bytes)\":700,\"avg(bytes)\":233.33333333333334,\"min(bytes)\":100,\"max(list[100])\":null,\
                  \"s\":null,\"count(bytes)\":3";
    assert_eq!(lines(query, &steps(5)), [wanted]);
}

#[test]
fn a_limit_ends_the_rows() {
    assert_eq!(lines("select n, count() from step group by n limit 3", &steps(8)).len(), 3);
}
