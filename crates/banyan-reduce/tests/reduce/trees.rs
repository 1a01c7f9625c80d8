//! The result does not depend on the tree, on who came first, or on how records are laid out.

use std::collections::BTreeMap;

use banyan_ndr::Value;
use proptest::prelude::*;

use crate::generate::{members, rounding_members, trees};
use crate::member::Member;
use crate::model;
use crate::tree::{Network, Tree, field};

fn with_tree(members: impl Strategy<Value = Vec<Member>>) -> impl Strategy<Value = (Vec<Member>, Tree, Tree)> {
    members.prop_flat_map(|members| {
        let count = members.len();
        (Just(members), trees(count), trees(count))
    })
}

/// Equal, NaN too, and 0 is not -0.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::F64(one), Value::F64(other)) => one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan(),
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        _ => one == other,
    }
}

fn assert_model(result: &Value, members: &[&Member]) {
    let wanted = model::result(members);
    for (name, wanted) in &wanted {
        let found = field(result, name);
        assert!(same(found, wanted), "{name} is {found:?}, but should be {wanted:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_root_of_any_tree_has_what_a_simple_program_computes_of_all_records((members, tree, _) in with_tree(members())) {
        let result = Network::new(model::FUNCTIONS, &members).values(&tree).unwrap();
        assert_model(&result, &members.iter().collect::<Vec<_>>());
        let Value::Record(fields) = &result else { panic!("no record") };
        prop_assert_eq!(fields.len(), model::result(&members.iter().collect::<Vec<_>>()).len());
    }

    #[test]
    fn groups_are_what_the_model_computes_of_their_members((members, tree, _) in with_tree(members())) {
        let specification = format!("{} by host, state", model::FUNCTIONS);
        let result = Network::new(&specification, &members).values(&tree).unwrap();
        let mut groups: BTreeMap<(&str, &str), Vec<&Member>> = BTreeMap::new();
        for member in &members {
            groups.entry((&member.host, &member.state)).or_default().push(member);
        }
        let Value::List(found) = field(&result, "groups") else { panic!("no groups in {result:?}") };
        prop_assert_eq!(found.len(), groups.len());
        for (group, ((host, state), members)) in found.iter().zip(groups) {
            prop_assert_eq!(field(group, "host"), &Value::from(host));
            prop_assert_eq!(field(group, "state"), &Value::from(state));
            assert_model(group, &members);
        }
        prop_assert_eq!(field(&result, "ungrouped"), &Value::Int(0));
    }

    #[test]
    fn sketches_do_not_depend_on_the_tree((members, one, other) in with_tree(members())) {
        for by in ["", " by state"] {
            let specification = format!("quantile(0, 0.5, 0.99, temp), distinct(host), distinct(cells){by}");
            let network = Network::new(&specification, &members);
            let (flat, one, other) = (network.result(&network.flat()), network.result(&one), network.result(&other));
            let bytes = flat.unwrap().1;
            prop_assert_eq!(&bytes[..], &one.unwrap().1[..]);
            prop_assert_eq!(&bytes[..], &other.unwrap().1[..]);
        }
    }

    #[test]
    fn sums_that_round_have_the_same_bits_whoever_comes_first((members, tree, _) in with_tree(rounding_members())) {
        let specification = "sum(temp), avg(temp), avg(rest), sum(cells), avg(cells), sum(mesh.elems[*].energy)";
        let mut network = Network::new(specification, &members);
        let forwards = network.result(&tree).unwrap().1;
        network.reversed = true;
        let backwards = network.result(&tree).unwrap().1;
        prop_assert_eq!(&forwards[..], &backwards[..]);
    }

    #[test]
    fn exact_sums_have_the_same_bits_on_any_tree((members, one, other) in with_tree(rounding_members())) {
        let network = Network::new("exact_sum(temp), exact_sum(cells), exact_sum(rest)", &members);
        let (one, other) = (network.result(&one).unwrap().1, network.result(&other).unwrap().1);
        prop_assert_eq!(&one[..], &other[..]);
    }
}
