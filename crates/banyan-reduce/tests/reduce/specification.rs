//! Specifications as text and from the builder.

use banyan_reduce::Specification;
use proptest::prelude::*;

const EVERYTHING: &str = "max(temp), avg(load), top(5, rss), hist(latency, 0, 100, 20), quantile(0.5, 0.99, load), \
    distinct(user), classes(state), union(tags), sum(mesh.elems[*].energy), count(), count(x), first(host), \
    concat(name), min(a[3].b), exact_sum(\"odd.name\".x) as odd by host, rack.row";

#[test]
fn every_function_is_read_and_written_back() {
    let specification: Specification = EVERYTHING.parse().unwrap();
    assert_eq!(specification.to_string(), EVERYTHING);
    assert_eq!(specification.aggregates().len(), 15);
    assert_eq!(specification.by().len(), 2);
}

#[test]
fn the_builder_makes_what_the_text_says() {
    let built = Specification::builder()
        .max("temp")
        .avg("load")
        .top(5, "rss")
        .hist("latency", 0.0, 100.0, 20)
        .quantile(&[0.5, 0.99], "load")
        .distinct("user")
        .classes("state")
        .union("tags")
        .sum("mesh.elems[*].energy")
        .count()
        .count_of("x")
        .first("host")
        .concat("name")
        .min("a[3].b")
        .exact_sum("\"odd.name\".x")
        .named("odd")
        .by("host")
        .by("rack.row")
        .build();
    assert_eq!(built.unwrap(), EVERYTHING.parse().unwrap());
}

#[test]
fn spaces_do_not_matter() {
    let tight: Specification = "max(temp),top(5,rss)by host".parse().unwrap();
    let wide: Specification = "  max ( temp ) ,\n top( 5 , rss )  by  host ".parse().unwrap();
    assert_eq!(tight, wide);
}

#[test]
fn what_is_wrong_is_named_with_column_and_remedy() {
    for (text, message) in [
        ("", "column 1: a function is missing; write for example max(temp), avg(load)"),
        ("max(temp),", "column 11: a function is missing; write for example max(temp), avg(load)"),
        ("max(temp) avg(load)", "column 11: \"avg(load)\" stands where a comma, by, or the end should"),
        ("max temp", "column 5: \"temp\" stands where an opening parenthesis should"),
        ("max(temp", "column 9: \"the end of the text\" stands where a closing parenthesis should"),
        ("(temp)", "column 1: \"(temp)\" stands where a function should"),
        ("max()", "column 5: max does not take 0 arguments; write it as max(temp)"),
        ("top(rss, 5)", "column 5: top takes a whole number where \"rss\" stands; write it as top(5, rss)"),
        ("top(0, rss)", "column 5: top keeps 1 to 65536 values; write it as top(5, rss)"),
        ("hist(x, 5, 5, 3)", "column 6: hist begins below its end; write it as hist(latency, 0, 100, 20)"),
        (
            "hist(x, 0, nan, 3)",
            "column 12: hist takes a number where \"nan\" stands; write it as hist(latency, 0, 100, 20)",
        ),
        ("hist(x, 0, 1, 0)", "column 6: hist has 1 to 65536 parts; write it as hist(latency, 0, 100, 20)"),
        ("quantile(1.5, x)", "column 10: quantile takes shares from 0 to 1; write it as quantile(0.5, 0.99, load)"),
        ("quantile(x)", "column 10: quantile does not take 1 arguments; write it as quantile(0.5, 0.99, load)"),
        ("max(a..b)", "column 6: the path \"a..b\" has an empty name"),
        ("max(a[x])", "column 6: the path \"a[x]\" has an index that is neither a number nor *"),
        ("max(a[1)", "column 6: the path \"a[1\" has a bracket that is never closed"),
        (
            "count() by host as x",
            "column 12: the path \"host as x\" has a sign that no name has; put the name in quotes",
        ),
        ("max(a) by .b", "column 11: the path \".b\" begins with a dot"),
        ("max(a) by", "column 10: the path \"\" is empty; name a field, as in load or mesh.elems[*].energy"),
        ("max(a) as", "column 10: \"the end of the text\" stands where a name should"),
        ("max(a), max(a)", "max(a) stands there twice; leave one out, or give it a name of its own: max(a) as other"),
        (
            "sum(ä), mean(b)",
            "column 9: there is no function mean; there are count, sum, exact_sum, avg, min, max, first, \
          concat, top, hist, quantile, distinct, classes and union",
        ),
    ] {
        assert_eq!(text.parse::<Specification>().unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn the_builder_says_what_is_wrong_when_it_builds() {
    let error = Specification::builder().max("a..b").by("c").build().unwrap_err();
    assert_eq!(error.to_string(), "column 2: the path \"a..b\" has an empty name");
    let error = Specification::builder().hist("x", 1.0, 0.0, 5).build().unwrap_err();
    assert_eq!(error.to_string(), "column 1: hist begins below its end; write it as hist(latency, 0, 100, 20)");
    let error = Specification::builder().max("x").named("hot spot").build().unwrap_err();
    assert_eq!(error.to_string(), "\"hot spot\" is not a name for a result; use letters, digits and _");
    assert!(Specification::builder().build().is_err());
}

#[test]
fn specifications_have_bounds() {
    let many = (0..257).map(|field| format!("sum(f{field})")).collect::<Vec<_>>().join(", ");
    assert_eq!(
        many.parse::<Specification>().unwrap_err().to_string(),
        "257 functions are more than the 256 allowed; use several streams"
    );
    let deep = format!("sum({})", vec!["a"; 65].join("."));
    assert!(deep.parse::<Specification>().unwrap_err().to_string().contains("more steps than any record is deep"));
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "(sum|top|max)\\([a-z0-9_(),.\\[\\]*\" ]{0,20}\\)( (by|as) [a-z.\" ]{0,9})?") {
        if let Ok(specification) = text.parse::<Specification>() {
            prop_assert_eq!(specification.to_string().parse::<Specification>().unwrap(), specification);
        }
    }
}
