//! Random members and trees.

use proptest::prelude::*;

use crate::member::{Layout, Member, STATES};
use crate::tree::Tree;

/// Quarters: floats that every width holds and that add up without rounding.
fn quarters() -> impl Strategy<Value = f64> {
    prop_oneof![9 => (-60_i32..60).prop_map(|quarters| f64::from(quarters) / 4.0), 1 => Just(f64::NAN)]
}

/// Floats whose sums depend on the order.
fn any_floats() -> impl Strategy<Value = f64> {
    (any::<i32>(), -30_i32..30).prop_map(|(mantissa, exponent)| f64::from(mantissa) * 2_f64.powi(exponent))
}

fn layouts() -> impl Strategy<Value = Layout> {
    (any::<bool>(), any::<bool>(), any::<[u8; 10]>()).prop_map(|(big, short_pointers, choices)| Layout {
        big,
        short_pointers,
        choices,
    })
}

fn words() -> impl Strategy<Value = String> {
    "[a-d]{0,2}"
}

fn member(lengths: (usize, usize, usize), floats: BoxedStrategy<f64>) -> impl Strategy<Value = Member> {
    let (cells, ints, energy) = lengths;
    let numbers = (floats.clone(), -9_i64..9, prop::option::of(floats.clone()));
    let texts = ("[a-e]", prop::sample::select(&STATES[..]), prop::collection::vec(words(), 0..4));
    let arrays = (
        prop::collection::vec(floats.clone(), cells),
        prop::collection::vec(-300_i64..300, ints),
        prop::collection::vec(floats, energy),
    );
    (numbers, texts, arrays, layouts()).prop_map(
        |((temp, load, rest), (host, state, tags), (cells, ints, energy), layout)| Member {
            rank: 0,
            temp,
            load,
            host,
            state: state.into(),
            tags,
            cells,
            ints,
            energy,
            rest,
            layout,
        },
    )
}

/// Members with ascending ranks that are not all neighbours, in few layouts.
fn members_of(floats: BoxedStrategy<f64>) -> impl Strategy<Value = Vec<Member>> {
    (1_usize..6, 0_usize..4, 0_usize..3).prop_flat_map(move |lengths| {
        let each = (member(lengths, floats.clone()), 1_u32..4);
        prop::collection::vec(each, 1..20).prop_map(|members| {
            let mut rank = 0;
            let ranked = |(member, step): (Member, u32)| {
                rank += step;
                Member { rank, ..member }
            };
            members.into_iter().map(ranked).collect()
        })
    })
}

/// Members whose floats add up without rounding.
pub(crate) fn members() -> impl Strategy<Value = Vec<Member>> {
    members_of(quarters().boxed())
}

/// Members whose floats round when they are added.
pub(crate) fn rounding_members() -> impl Strategy<Value = Vec<Member>> {
    let wide = |mut members: Vec<Member>| {
        // Narrow floats would round before they are added, which is another matter.
        for member in &mut members {
            for choice in [0, 6, 7, 8] {
                member.layout.choices[choice] %= 2;
            }
            member.layout.choices[0] = 0;
        }
        members
    };
    members_of(any_floats().boxed()).prop_map(wide)
}

/// A tree over `count` leaves, which hang in no particular order.
pub(crate) fn trees(count: usize) -> impl Strategy<Value = Tree> {
    let order = Just((0..count).collect::<Vec<usize>>()).prop_shuffle();
    (order, prop::collection::vec(1_usize..6, 1..8)).prop_map(|(order, widths)| {
        let mut nodes: Vec<Tree> = order.into_iter().map(Tree::Leaf).collect();
        let mut widths = widths.into_iter().cycle();
        while nodes.len() > 1 {
            let width = widths.next().unwrap_or(2);
            let at = nodes.len().saturating_sub(width + 1);
            let children = nodes.split_off(at);
            nodes.insert(0, Tree::Inner(children));
        }
        match nodes.pop() {
            Some(inner @ Tree::Inner(_)) => inner,
            Some(leaf) => Tree::Inner(vec![leaf]),
            None => Tree::Inner(Vec::new()),
        }
    })
}
