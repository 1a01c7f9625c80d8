//! Queries with rows of single events.

use crate::steps::{Step, lines, rows};

#[test]
fn rows_are_in_order_and_end_at_the_limit() {
    let steps: Vec<Step> = (0..8).map(Step::new).collect();
    let query = "select n, name as what from step where level > 0 limit 2";
    assert_eq!(lines(query, &steps), ["\"n\":3,\"what\":\"step 3\"", "\"n\":4,\"what\":\"step 4\""]);
}

#[test]
fn whole_events_come_with_what_is_known_of_them() {
    let rows = rows("select * from step", &[Step::new(2)]);
    let wanted = "{\"version\":0,\"begin\":0,\"end\":0,\"row\":{\"time\":0,\"host\":\"n1\",\"rank\":3,\"pid\":99,\
                  \"thread\":5,\"sequence\":0,\"sensor\":\"step\",\"event\":{\"n\":2,\"residual\":1.0,\"level\":0,\
                  \"flag\":true,\"state\":\"Idle\",\"node\":{\"temp\":22.0},\"temps\":[0.0,1.0,2.0,2.0],\
                  \"name\":\"step 2\",\"bytes\":200,\"list\":[0,1]}}}";
    assert_eq!(rows[0].to_json(), wanted);
}

#[test]
fn a_sample_is_the_same_whoever_looks() {
    let steps: Vec<Step> = (0..2000).map(|n| Step::new(n % 10)).collect();
    let once = lines("select sequence from step sample 1 in 10", &steps);
    assert!((100..400).contains(&once.len()), "{}", once.len());
    assert_eq!(once, lines("select sequence from step sample 1 in 10", &steps));
}
