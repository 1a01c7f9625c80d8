//! Every wrong text is refused with the place, the cause and the remedy.

use banyan_hosts::HostSet;
use banyan_hosts::{MAX_HOSTS, MAX_NAME_BYTES};

fn error(text: &str) -> String {
    match HostSet::parse(text) {
        Ok(set) => panic!("{text:?} was taken for {} hosts", set.len()),
        Err(error) => error.to_string(),
    }
}

/// Text, the place named, and a part of the message.
const WRONG: &[(&str, &str, &str)] = &[
    ("n[1-3", "column 2", "`[` is not closed; write `]`"),
    ("n[1-3\n]", "column 2", "`[` is not closed"),
    ("a,n]", "column 4", "`]` without a `[`"),
    ("n[1[2]]", "column 4", "`[` within brackets"),
    ("n[]", "column 3", "a number is missing"),
    ("n[1,]", "column 5", "a number is missing"),
    ("n[1--3]", "column 5", "\"-3\" is not a number"),
    ("n[x]", "column 3", "\"x\" is not a number"),
    ("n[1,  x-2]", "column 7", "\"x\" is not a number"),
    ("n[5-3]", "column 3", "5-3 runs backwards; write 3-5"),
    ("n[00-3]", "column 3", "write 00-03 or 0-3"),
    ("n[8-012]", "column 3", "write 008-012 or 8-12"),
    ("n[1-5/0]", "column 7", "at least 1"),
    ("n[5/2]", "column 5", "a step needs a range"),
    ("n[123456789012345678]", "column 3", "more than 17 digits"),
    ("!a", "column 1", "`!` lacks the set before it"),
    ("a!", "column 2", "`!` lacks the set behind it"),
    ("a!!b", "column 2", "`!` lacks the set behind it; write both sides, as in `n[1-9]!n3`"),
    ("a&,b", "column 2", "`&` lacks the set behind it"),
    ("a,-oProxyCommand", "column 3", "cannot begin with '-'"),
    ("user@-x", "column 6", "cannot begin with '-'"),
    ("..", "column 1", "cannot begin with '.'"),
    ("-n[1-3]", "column 1", "cannot begin with '-'"),
    ("@host", "column 1", "USER@HOST"),
    ("user@", "column 6", "USER@HOST"),
    ("a@b@c", "column 4", "at most one `@`"),
    ("n[1-2]@b@c", "column 9", "at most one `@`"),
    ("ssh://n1", "column 5", "without path or scheme"),
    ("a;b", "column 2", "write a comma between names"),
    ("a$(b)", "column 2", "cannot hold '$'"),
    ("a\u{7}", "column 2", "cannot hold '\\u{7}'"),
    ("ä", "column 1", "xn--"),
    ("n*", "column 2", "as in `n[1-16]`"),
    ("^hosts", "column 1", "host file"),
    ("a # b", "column 3", "comments stand in host files only"),
    ("[::1]:22", "column 6", "a port belongs into"),
    ("n[::1]", "column 2", "stands alone"),
    ("[a::b::c]", "column 2", "is not an IPv6 address"),
    ("[::1%]", "column 2", "is not an IPv6 address"),
    ("a\nb\nc d/e", "line 3, column 4", "cannot hold '/'"),
];

#[test]
fn an_error_says_where_what_and_what_to_write_instead() {
    for (text, place, message) in WRONG {
        let error = error(text);
        assert!(error.contains(&format!("{place}: ")) && error.contains(message), "{text:?}: {error}");
    }
}

#[test]
fn names_are_as_long_as_dns_allows_and_no_longer() {
    let longest = "n".repeat(MAX_NAME_BYTES);
    assert!(HostSet::parse(&longest).is_ok());
    assert!(error(&format!("{longest}n")).contains("254 bytes"));
    assert!(HostSet::parse(&format!("{}[8-9]", &longest[1..])).is_ok());
    assert!(error(&format!("{}[8-10]", &longest[1..])).contains("254 bytes"));
    assert!(HostSet::from_names([format!("{longest}n")]).is_err());
}

#[test]
fn sets_that_are_too_large_are_refused_before_they_are_spelled_out() {
    for text in ["n[1-9999999999]", "n[0-99999999999999999]", "a[0-999]b[0-999]c[0-999]", &"n[0-9]".repeat(120)] {
        assert!(error(text).contains("more than 1000000 hosts"), "{text}");
    }
    assert_eq!(HostSet::parse(&format!("n[1-{MAX_HOSTS}]")).unwrap().len(), MAX_HOSTS);
    assert!(error(&format!("n[1-{MAX_HOSTS}],x")).contains("more than 1000000 hosts"));
}

#[test]
fn a_short_text_cannot_ask_for_hours_of_work() {
    let again = "n[1-1000000]!n[1-1000000],".repeat(1000);
    assert!(error(&again).contains("spells out more than 4000000 names"));
    let long_names = format!("{}[1-1000000]", "n".repeat(200));
    assert!(error(&long_names).contains("take more than"));
}

#[test]
fn a_wrong_text_is_shown_in_part() {
    assert!(error(&format!("n[{}]", "x".repeat(1 << 20))).len() < 300);
}

#[test]
fn sets_that_are_too_large_together_are_refused() {
    let (many, few) = (HostSet::parse("n[1-999999]").unwrap(), HostSet::parse("x[1-2]").unwrap());
    let error = few.union(&many).unwrap_err().to_string();
    assert!(error.contains("both sets together: more than 1000000 hosts"), "{error}");
    assert_eq!(few.union(&few).unwrap(), few);
}
