//! Errors: where they point, and what they say.

use banyan_ndr::Record;
use banyan_query::{Query, QueryError, Selector, explain};
use proptest::prelude::*;

use crate::steps::Step;

/// The error of a text, or of its selector for steps.
fn error(text: &str) -> QueryError {
    match text.parse::<Query>() {
        Err(error) => error,
        Ok(query) => Selector::new(&query, "step", Step::format()).expect_err("the query is wrong"),
    }
}

#[test]
fn errors_point_at_the_part_that_is_wrong_and_say_what_to_do() {
    for (text, part, said) in [
        ("selekt * from step", "selekt", "selekt stands where select should"),
        ("select max(residul) from step", "residul", "Step has no field residul"),
        ("select max(residul) from step", "residul", "write residual; it has n, residual, level"),
        ("select node.tmp from step", "node.tmp", "write temp"),
        ("select node from step", "node", "name one of its fields, as in node.temp"),
        ("select temps from step", "temps", "name one of its items, as in temps[0]"),
        ("select temps[4] from step", "temps[4]", "behind the end of 4 items"),
        ("select n from other", "other", "the query does not ask step"),
        ("select maxx(n) from step", "maxx", "write max"),
        ("select count(), n from step", "n", "group by n"),
        ("select n from step where max(n) > 1", "max(n)", "behind having"),
        ("select max(max(n)) from step", "max(n)", "the argument of an aggregate"),
        ("select n from step where n", "n", "a number stands where a condition should"),
        ("select n from step where n = 'x'", "'x'", "a text stands where a number should"),
        ("select n from step where host = \"n1\"", "\"n1\"", "Step has no field n1"),
        ("select n from step every 1s", "every 1s", "every needs aggregates"),
        ("select count() from step every 5s sliding 2s", "every 5s sliding 2s", "a part of the width"),
        ("select count() from step every 5", "5", "a duration"),
        ("select n from step where name matches '('", "name matches '('", "not a regular expression"),
        ("select n, n from step", "n", "two columns have the name n"),
        ("select n from step where 1 < n < 3", "<", "with another comparison"),
        ("select 'x from step", "'", "this text is never closed"),
        ("select n from step where n ; 3", ";", "means nothing here"),
        ("select quantile(99, n) from step", "99", "takes a share from 0 to 1"),
        ("select sum(name) from step", "name", "a text stands where a number should"),
        ("select 3x from step", "3x", "250ms"),
        ("select top(3, n) + 1 from step", "top(3, n)", "a list stands where a single value should"),
    ] {
        let error = error(text);
        let shown = error.to_string();
        assert_eq!(&text[error.range()], part, "{shown}");
        assert!(shown.contains(said), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        let caret = lines[2].find('^').unwrap();
        assert_eq!(lines[1][caret..caret + part.len()], *part, "{shown}");
        assert_eq!(lines[2].trim().len(), part.len(), "{shown}");
    }
}

#[test]
fn errors_of_long_and_odd_texts_show_the_place() {
    let text = format!("select {}\n, x$y{} from step", "a, ".repeat(40) + "b", " ".repeat(300));
    let error = error(&text);
    let shown = error.to_string();
    assert!(shown.starts_with("line 2, column 4: '$' means nothing here"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 120), "{shown}");
}

#[test]
fn errors_command_no_terminal() {
    let shown = error("select \"\u{1b}[2J\".x from step").to_string();
    assert!(shown.starts_with("column 8: Step has no field  [2J"), "{shown:?}");
    assert!(!shown.chars().any(|character| character.is_control() && character != '\n'), "{shown:?}");
}

#[test]
fn texts_without_bounds_are_refused() {
    let deep = format!("select {}n{} from step", "(".repeat(5000), ")".repeat(5000));
    let long = format!("select n from step where {}", "n = 1 or ".repeat(1000) + "n = 2");
    let nots = format!("select n from step where {} flag", "not ".repeat(3000));
    let signs = format!("select {} n from step", "- ".repeat(6000));
    let truths = format!("select {}flag{} as x from step", "(".repeat(90), " = true)".repeat(90));
    let huge = format!("select n from step where {}", "n = 1 or ".repeat(100_000));
    for text in [deep, long, nots, signs, truths, huge] {
        assert!(error(&text).to_string().contains("are more than the"), "{:.40}", text);
    }
}

/// Words of which queries are made, and some that are none.
const WORDS: [&str; 62] = [
    "select",
    "from",
    "where",
    "group by",
    "every",
    "sliding",
    "having",
    "sample 1 in",
    "limit",
    "as",
    "and",
    "or",
    "not",
    "like",
    "matches",
    "true",
    "n",
    "residual",
    "node.temp",
    "temps[1]",
    "name",
    "state",
    "bytes",
    "list[0]",
    "\"host\"",
    "host",
    "rank",
    "time",
    "step",
    "count()",
    "max(",
    "sum(",
    "p99(",
    "quantile(0.5,",
    "top(2,",
    "hist(",
    "union(",
    "classes(",
    "abs(",
    "exists(",
    "delta(",
    "length(",
    "(",
    ")",
    ")",
    ",",
    "*",
    "+",
    "-",
    "/",
    "%",
    "=",
    "!=",
    "<",
    "'x%'",
    "'^x'",
    "1",
    "2.5",
    "1s",
    "2s",
    "é",
    "\u{1b}",
];

fn is_fine(text: &str) -> Result<(), TestCaseError> {
    let error = match text.parse::<Query>() {
        Err(error) => error,
        Ok(query) => {
            let again: Query = query.to_string().parse().unwrap_or_else(|error| panic!("{error}"));
            prop_assert_eq!(&again, &query);
            prop_assert!(explain(&query).contains("each host"));
            match Selector::new(&query, "step", Step::format()) {
                Err(error) => error,
                Ok(_) => return Ok(()),
            }
        }
    };
    prop_assert!(text.get(error.range()).is_some(), "{:?}: {:?}", text, error.range());
    let shown = error.to_string();
    prop_assert!(!shown.chars().any(|character| character.is_control() && character != '\n'), "{:?}", shown);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_words_are_a_query_or_an_error_with_a_place(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..14)) {
        is_fine(&words.join(" "))?;
        is_fine(&format!("select {} from step", words.join(" ")))?;
        is_fine(&format!("select count() from step where {}", words.join(" ")))?;
    }

    #[test]
    fn any_text_is_a_query_or_an_error_with_a_place(text in "\\PC{0,60}") {
        is_fine(&text)?;
        is_fine(&format!("select {text} from step"))?;
    }
}
