//! What is cut where there is too much: the same on any tree, and the result says so.

use std::collections::BTreeSet;

use banyan_ndr::Value;
use banyan_reduce::ReductionLimits;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::generate::{members, trees};
use crate::tree::{Network, field};

const SPECIFICATION: &str = "concat(load), union(load), classes(load), count()";

fn small() -> ReductionLimits {
    ReductionLimits::default().items(3).groups(2)
}

fn integers(value: &Value) -> Vec<i64> {
    let Value::List(items) = value else { panic!("{value:?} is no list") };
    let integer = |item: &Value| match item {
        Value::Int(value) => i64::try_from(*value).unwrap(),
        other => panic!("{other:?} is no integer"),
    };
    items.iter().map(integer).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_is_cut_does_not_depend_on_the_tree(
        (members, one, other) in members().prop_flat_map(|members| {
            let count = members.len();
            (Just(members), trees(count), trees(count))
        })
    ) {
        for by in ["", " by host"] {
            let specification = format!("{SPECIFICATION}{by}");
            let network = Network { limits: small(), ..Network::new(&specification, &members) };
            let (one, other) = (network.result(&one).unwrap().1, network.result(&other).unwrap().1);
            prop_assert_eq!(&one[..], &other[..]);
        }
    }

    #[test]
    fn what_is_kept_and_what_is_cut_add_up(
        (members, tree) in members().prop_flat_map(|members| {
            let count = members.len();
            (Just(members), trees(count))
        })
    ) {
        let network = Network { limits: small(), ..Network::new(SPECIFICATION, &members) };
        let result = network.values(&tree).unwrap();
        let loads: Vec<i64> = members.iter().map(|member| member.load).collect();
        let kept = integers(field(&result, "concat(load)"));
        prop_assert_eq!(&kept[..], &loads[..loads.len().min(3)]);
        prop_assert_eq!(field(&result, "concat(load).cut"), &Value::Int((loads.len() - kept.len()) as i128));
        let distinct: BTreeSet<i64> = loads.iter().copied().collect();
        let smallest: Vec<i64> = distinct.iter().copied().take(3).collect();
        prop_assert_eq!(&integers(field(&result, "union(load)")), &smallest);
        prop_assert_eq!(field(&result, "union(load).cut"), &Value::Bool(distinct.len() > 3));
        prop_assert_eq!(&integers(field(&result, "classes(load)")), &smallest);
        let others = members.iter().filter(|member| !smallest.contains(&member.load)).map(|member| member.rank);
        let others = others.collect::<banyan_ranks::RankSet>().to_string();
        prop_assert_eq!(field(&result, "classes(load).others"), &Value::from(others.as_str()));
        prop_assert_eq!(field(&result, "count()"), &Value::Int(loads.len() as i128));
    }

    #[test]
    fn groups_with_the_smallest_keys_stay_and_the_rest_is_counted(
        (members, tree) in members().prop_flat_map(|members| {
            let count = members.len();
            (Just(members), trees(count))
        })
    ) {
        let network = Network { limits: small(), ..Network::new("count() by host", &members) };
        let result = network.values(&tree).unwrap();
        let hosts: BTreeSet<&str> = members.iter().map(|member| member.host.as_str()).collect();
        let kept: Vec<&str> = hosts.into_iter().take(2).collect();
        let Value::List(groups) = field(&result, "groups") else { panic!("no groups") };
        let found: Vec<Value> = groups.iter().map(|group| field(group, "host").clone()).collect();
        prop_assert_eq!(found, kept.iter().map(|host| Value::from(*host)).collect::<Vec<_>>());
        let rest = members.iter().filter(|member| !kept.contains(&member.host.as_str())).count();
        prop_assert_eq!(field(&result, "ungrouped"), &Value::Int(rest as i128));
    }
}

#[test]
fn a_text_that_is_too_long_is_an_error() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut members = members().new_tree(&mut runner).expect("members").current();
    members[0].host = "far too long".into();
    let limits = ReductionLimits::default().value_bytes(11);
    let network = Network { limits, ..Network::new("union(host)", &members) };
    let error = network.result(&network.flat()).unwrap_err().to_string();
    let wanted = "union(host): 12 bytes of one value are more than 11 (ReductionLimits::value_bytes)";
    assert!(error.ends_with(wanted), "{error}");
}
