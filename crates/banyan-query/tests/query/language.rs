//! The language: what expressions come to.

use crate::steps::{Step, lines};

/// The one value that an expression has for a step.
fn value(expression: &str, step: &Step) -> String {
    let rows = lines(&format!("select {expression} as x from step"), std::slice::from_ref(step));
    rows[0].strip_prefix("\"x\":").unwrap().to_owned()
}

#[test]
fn expressions_are_computed_as_documented() {
    let step = Step { level: -7, ..Step::new(5) };
    for (expression, wanted) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 / 2", "3.5"),
        ("-7 % 4", "-3"),
        ("7 % 0", "null"),
        ("1 / 0", "\"inf\""),
        ("n - 10", "-5"),
        ("n * 1.5", "7.5"),
        ("170141183460469231731687303715884105727 + 1", "null"),
        ("abs(level)", "7"),
        ("floor(residual)", "2.0"),
        ("round(2.5)", "3.0"),
        ("ceil(2)", "2"),
        ("sqrt(16)", "4.0"),
        ("length(name)", "6"),
        ("level > -8 and level < -6", "true"),
        ("not flag or false", "true"),
        ("state", "\"Busy\""),
        ("state = 'Busy'", "true"),
        ("node.temp", "25.0"),
        ("temps[3] = 5", "true"),
        ("list[2]", "2"),
        ("list[9]", "null"),
        ("list[9] > 0", "null"),
        ("list[9] > 0 or true", "true"),
        ("list[9] > 0 and false", "false"),
        ("not list[9] > 0", "null"),
        ("exists(list[9])", "false"),
        ("bytes", "500"),
        ("name like 'st%5'", "true"),
        ("name like 'st_p%'", "true"),
        ("name not like '%x%'", "true"),
        ("name matches '^step [0-9]$'", "true"),
        ("host", "\"n1\""),
        ("job", "\"4711\""),
        ("rank + pid + thread", "107"),
        ("sensor", "\"step\""),
        ("time", "0"),
        ("5ms", "5000000"),
        ("'it''s'", "\"it's\""),
        ("flag + 1", "1"),
        ("1 < 2 = true", ""),
    ] {
        match wanted {
            "" => assert!(format!("select {expression} as x from step").parse::<banyan_query::Query>().is_err()),
            _ => assert_eq!(value(expression, &step), wanted, "{expression}"),
        }
    }
}

#[test]
fn missing_values_are_left_out_by_where() {
    let steps: Vec<Step> = (0..7).map(Step::new).collect();
    assert_eq!(lines("select n from step where bytes > 0", &steps).len(), 4);
    assert_eq!(lines("select n from step where not (bytes > 0)", &steps).len(), 0);
    assert_eq!(lines("select n from step where not exists(bytes)", &steps), ["\"n\":0", "\"n\":3", "\"n\":6"]);
}

#[test]
fn delta_and_rate_look_at_the_event_before_in_its_thread() {
    let steps: Vec<Step> = [1, 4, 5].map(Step::new).to_vec();
    let wanted = [
        "\"delta(n)\":null,\"rate(bytes)\":null",
        "\"delta(n)\":3,\"rate(bytes)\":300.0",
        "\"delta(n)\":1,\"rate(bytes)\":100.0",
    ];
    assert_eq!(lines("select delta(n), rate(bytes) from step", &steps), wanted);
    assert_eq!(lines("select n from step where delta(n) > 2", &steps), ["\"n\":4"]);
}

#[test]
fn text_is_canonical_and_read_back_as_the_same_query() {
    for text in [
        "select * from solver.step",
        "select a, b.c[3] as d from s where a > 1 and not (b = 'x' or c) limit 5",
        "select count(), p99(ms), quantile(0.999, ms), top(3, ms), hist(ms, -1.0, 1e300, 10) from s every 5s sliding 1s",
        "select \"host\", host, \"odd name\".x as \"select\" from \"odd sensor\".y sample 1 in 10",
        "select max(a - (b - c) * -2) from s group by host, a % 2 every 250ms having max(a - (b - c) * -2) > -1.5",
        "select -(-3), -(3), - a, -(- a), 1.0 - -1 from s where a not like '%x' and b matches '^y'",
        "select (a = b) = true from s where (not a) = b",
    ] {
        let query: banyan_query::Query = text.parse().unwrap_or_else(|error| panic!("{error}"));
        let again: banyan_query::Query = query.to_string().parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again, query);
        assert_eq!(again.to_string(), query.to_string());
    }
}
