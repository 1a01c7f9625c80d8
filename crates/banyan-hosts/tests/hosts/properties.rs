//! What holds for all sets and all texts.

use std::collections::BTreeSet;

use banyan_hosts::HostSet;
use proptest::prelude::*;

/// Names that share shapes and numbers often, so that there is something to fold.
fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "n[0-9]{1,3}",
        2 => "r[0-2]c[0-3]",
        2 => "r[0-2]c[0-3]n0?[0-9]",
        1 => "10\\.0\\.[0-2]\\.[0-9]",
        1 => "x[0-9]{16,19}",
        1 => "(u@)?[a-z0-9_][a-z0-9._%:-]{0,6}",
    ]
}

fn hosts() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(host(), 0..80)
}

/// Texts made of what the syntax is made of.
fn expression() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        3 => "[a-c]{1,2}",
        3 => "[0-9]{1,3}",
        6 => prop::sample::select(vec!["[", "]", "-", ",", "/", "!", "&", " ", "\n", "#", "@", ":", "%", "[1-3]", "[::1]"])
            .prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

fn as_set(set: &HostSet) -> BTreeSet<&str> {
    set.iter().collect()
}

fn list(set: &HostSet) -> Vec<&str> {
    set.iter().collect()
}

/// The names of both lists in order, each once, the slow way.
fn distinct<'a>(left: &'a [String], right: &'a [String]) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for name in left.iter().chain(right) {
        if !distinct.contains(&name.as_str()) {
            distinct.push(name);
        }
    }
    distinct
}

proptest! {
    #[test]
    fn folded_names_parse_to_the_same_names(names in hosts()) {
        let set = HostSet::from_names(&names).unwrap();
        let again = HostSet::parse(&set.to_string()).unwrap();
        prop_assert_eq!(as_set(&again), names.iter().map(String::as_str).collect::<BTreeSet<_>>());
        prop_assert_eq!(again.to_string(), set.to_string());
    }

    #[test]
    fn order_does_not_change_the_folded_text(
        (names, shuffled) in hosts().prop_flat_map(|names| (Just(names.clone()), Just(names).prop_shuffle())),
    ) {
        let (set, other) = (HostSet::from_names(&names).unwrap(), HostSet::from_names(&shuffled).unwrap());
        prop_assert_eq!(set.to_string(), other.to_string());
        prop_assert_eq!(set, other);
    }

    #[test]
    fn sets_behave_like_lists_without_duplicates(left in hosts(), right in hosts()) {
        let (a, b) = (HostSet::from_names(&left).unwrap(), HostSet::from_names(&right).unwrap());
        let model = distinct(&left, &[]);
        prop_assert_eq!(list(&a), model.clone());
        for (index, name) in model.iter().enumerate() {
            prop_assert_eq!(a.index_of(name), Some(index));
            prop_assert_eq!(a.get(index), Some(*name));
        }
        let (both, left_only): (Vec<&str>, Vec<&str>) = model.iter().partition(|name| right.iter().any(|r| r == *name));
        let (intersection, difference, union) = (a.intersection(&b), a.exclude(&b), a.union(&b).unwrap());
        prop_assert_eq!(list(&intersection), both);
        prop_assert_eq!(list(&difference), left_only);
        prop_assert_eq!(list(&union), distinct(&left, &right));
    }

    #[test]
    fn operators_in_text_do_what_the_methods_do(
        first in host(), rest in prop::collection::vec((prop::sample::select(vec![',', '!', '&', ' ']), host()), 0..12),
    ) {
        let mut text = first.clone();
        let mut set = HostSet::from_names([first]).unwrap();
        for (operator, name) in rest {
            text.push(operator);
            text.push_str(&name);
            let operand = HostSet::from_names([name]).unwrap();
            set = match operator {
                '!' => set.exclude(&operand),
                '&' => set.intersection(&operand),
                _ => set.union(&operand).unwrap(),
            };
        }
        let parsed = HostSet::parse(&text).unwrap();
        prop_assert_eq!(list(&parsed), list(&set), "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = HostSet::parse(&text);
    }

    #[test]
    fn whatever_parses_holds_only_names_and_folds_back(text in expression()) {
        if let Ok(set) = HostSet::parse(&text) {
            prop_assert_eq!(&HostSet::from_names(set.iter()).unwrap(), &set);
            prop_assert_eq!(&HostSet::parse(&set.to_string()).unwrap(), &set);
        }
    }

    #[test]
    fn an_error_is_within_the_text(text in expression()) {
        if let Err(banyan_hosts::HostSetError::Text { at, .. }) = HostSet::parse(&text) {
            let line = text.split('\n').nth(at.line - 1).expect("a line of the text");
            prop_assert!(at.column <= line.chars().count() + 1);
        }
    }
}
