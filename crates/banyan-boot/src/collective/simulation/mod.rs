//! Whole sessions in one process, from a seed: random trees, random calls, every order of delivery that links allow,
//! members that lose their way or exit at any point. Everyone gets what the model says or an error that is true, and
//! nobody waits for ever.

mod chance;
mod script;
mod tree;

use banyan_ranks::RankSet;
use proptest::prelude::*;

use self::{
    chance::Chance,
    script::ScriptedCall,
    tree::{SimulatedState, Tree},
};
use super::CollectiveError;

/// A session of up to nine members and what they will call.
fn session(seed: u64, steps: usize) -> (Tree, Vec<ScriptedCall>, Chance) {
    let mut chance = Chance(seed);
    let size = 1 + chance.below(9);
    let mut tree = Tree::random(size, &mut chance);
    // Long scripts of small data run ahead of each other; short ones of long data need GO and pieces.
    let is_large = chance.one_in(3);
    let count = chance.below(if is_large { 6 } else { steps }) + 1;
    let script: Vec<ScriptedCall> = (0..count).map(|_| ScriptedCall::random(size, is_large, &mut chance)).collect();
    tree.set_script(&script);
    (tree, script, chance)
}

/// Everyone who waits asks once for whom.
fn ask_all(tree: &mut Tree, chance: &mut Chance) {
    tree.members.iter_mut().for_each(|member| member.asks = 1);
    tree.run(chance);
}

/// Members that have not entered a collective.
fn outside(tree: &Tree, number: usize) -> RankSet {
    (0..).zip(&tree.members).filter(|(_, member)| member.entered <= number).map(|(rank, _)| rank).collect()
}

/// Those who are away come, and everyone gets what it should.
fn finish(tree: &mut Tree, script: &[ScriptedCall], chance: &mut Chance) {
    tree.members.iter_mut().for_each(|member| member.is_away_from = None);
    tree.run(chance);
    check(tree, script, None);
    assert!(tree.members.iter().all(|member| member.results.len() == script.len()));
}

/// The number of the first collective that failed, if members were told of one.
fn first_failure(tree: &Tree) -> Option<usize> {
    tree.reasons.keys().next().map(|number| *number as usize)
}

/// Nobody waits; what is before the first failure is complete, and what is complete is right. `lost` called something
/// else at a step.
fn check(tree: &Tree, script: &[ScriptedCall], lost: Option<(usize, usize)>) {
    let failure = first_failure(tree).unwrap_or(script.len());
    for (rank, member) in tree.members.iter().enumerate() {
        assert_ne!(member.state, SimulatedState::Calling, "member {rank} waits for ever: {}", tree.waiting());
        for (at, result) in member.results.iter().enumerate().filter(|(at, _)| lost != Some((rank, *at))) {
            match result {
                Ok(outcome) => assert!(*outcome == script[at].expected(rank), "member {rank} at {at}: {outcome:?}"),
                Err(CollectiveError::Failed(reason)) => {
                    assert!(at >= failure, "member {rank} at {at}: {reason}");
                    assert!(tree.reasons.values().any(|told| told == reason));
                }
                Err(error) => panic!("{error}"),
            }
        }
        let has_exited = member.state != SimulatedState::Finished;
        assert!(has_exited || member.results.len() >= failure.min(script.len()), "member {rank} stopped early");
    }
}

/// `0-3,5` as numbers.
fn ranks(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse().unwrap()..=last.parse::<usize>().unwrap()
    };
    list.split(',').flat_map(range).collect()
}

/// The ranks that stand behind `member` or `members` at the beginning of a clause.
fn ranks_of(clause: &str) -> Vec<usize> {
    ranks(clause.split(' ').nth(1).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn everyone_gets_what_the_model_says_in_every_order(seed: u64, leave: bool) {
        let (mut tree, script, mut chance) = session(seed, 60);
        tree.leave = leave;
        tree.run(&mut chance);
        check(&tree, &script, None);
        prop_assert!(tree.members.iter().all(|member| member.results.len() == script.len()));
        prop_assert!(tree.members.iter().flat_map(|member| &member.results).all(Result::is_ok));
    }

    #[test]
    fn a_mismatch_is_an_error_that_says_who_is_where(seed: u64) {
        let (mut tree, script, mut chance) = session(seed, 40);
        prop_assume!(tree.members.len() > 1);
        let (rank, step) = (chance.below(tree.members.len()), chance.below(script.len()));
        let (call, own) = script[step].other();
        tree.replace(rank, step, own);
        tree.run(&mut chance);
        check(&tree, &script, Some((rank, step)));

        prop_assert_eq!(first_failure(&tree), Some(step));
        prop_assert_eq!(tree.reasons.len(), 1);
        let reason = &tree.reasons[&(step as u32)];
        let clauses = reason.strip_prefix(&format!("collective {step}: ")).unwrap();
        let clauses = clauses.replace(&script[step].call.to_string(), "RIGHT").replace(&call.to_string(), "WRONG");
        let (wrong, right): (Vec<&str>, Vec<&str>) = clauses.split(", ").partition(|clause| clause.ends_with("WRONG"));
        prop_assert_eq!((wrong.len(), right.len()), (1, 1), "{}", reason);
        prop_assert_eq!(ranks_of(wrong[0]), [rank]);
        let right = ranks_of(right[0]);
        prop_assert!(right.iter().all(|right| *right != rank && tree.members[*right].entered > step));
    }

    #[test]
    fn a_member_that_exits_fails_only_what_it_is_missing_in(seed: u64) {
        let (mut tree, script, mut chance) = session(seed, 40);
        let rank = chance.below(tree.members.len());
        tree.members[rank].exits_after = Some(chance.below(4 * script.len()));
        tree.run(&mut chance);
        check(&tree, &script, None);

        let entered = tree.members[rank].entered;
        prop_assert!(tree.reasons.len() <= 1);
        for (number, reason) in &tree.reasons {
            let number = *number as usize;
            let (cause, others) = reason.split_once("; ").unwrap_or((reason, ""));
            let name = format!("member {rank} on host h");
            prop_assert!(cause.starts_with(&name), "{}", reason);
            if cause.contains("before it entered") {
                prop_assert_eq!(number, entered);
                let collective = format!("before it entered collective {number}");
                prop_assert!(cause.contains(&collective), "{}", reason);
            } else {
                prop_assert_eq!(number + 1, entered);
                let collective = format!("in collective {number} ({})", script[number].call);
                // Its call is named if somebody else is known to be in it.
                prop_assert!(others.is_empty() || cause.contains(&collective), "{}", reason);
            }
            if !others.is_empty() {
                let waiting = ranks_of(others);
                prop_assert!(waiting.iter().all(|other| *other != rank && tree.members[*other].entered > number));
            }
        }
        let others_finished = tree.members.iter().enumerate().all(|(other, member)| {
            other == rank || member.results.len() == script.len() || member.results.last().is_some_and(Result::is_err)
        });
        prop_assert!(others_finished);
    }

    #[test]
    fn nobody_waits_for_ever_whatever_goes_wrong(seed: u64) {
        let (mut tree, script, mut chance) = session(seed, 40);
        let size = tree.members.len();
        for _ in 0..chance.below(4) {
            tree.members[chance.below(size)].exits_after = Some(chance.below(4 * script.len()));
        }
        let (rank, step) = (chance.below(size), chance.below(script.len()));
        let (_, own) = script[step].other();
        tree.replace(rank, step, own);
        tree.run(&mut chance);
        check(&tree, &script, Some((rank, step)));
    }

    #[test]
    fn members_that_wait_are_told_who_has_not_entered_and_go_on_when_those_have(seed: u64) {
        let (mut tree, script, mut chance) = session(seed, 40);
        let step = chance.below(script.len());
        for member in &mut tree.members {
            member.is_away_from = chance.one_in(3).then_some(step);
        }
        tree.run(&mut chance);
        ask_all(&mut tree, &mut chance);
        for member in tree.members.iter().filter(|member| member.waits()) {
            let [(number, absent)] = &member.answers[..] else { panic!("{:?}", member.answers) };
            prop_assert_eq!(&absent.not_entered, &outside(&tree, *number));
            prop_assert!(absent.unknown.is_empty() && absent.silent_agents == 0);
        }
        finish(&mut tree, &script, &mut chance);
    }

    #[test]
    fn agents_that_do_not_answer_are_named_with_their_members(seed: u64) {
        let (mut tree, script, mut chance) = session(seed, 40);
        let step = chance.below(script.len());
        for member in &mut tree.members {
            member.is_away_from = chance.one_in(3).then_some(step);
        }
        tree.run(&mut chance);
        let frozen = tree.freeze_one(&mut chance);
        prop_assume!(frozen.is_some());
        let (node, below) = frozen.unwrap();
        ask_all(&mut tree, &mut chance);
        for (rank, member) in (0..).zip(&tree.members).filter(|(_, member)| member.waits()) {
            let [(number, absent)] = &member.answers[..] else {
                prop_assert!(below.contains(rank), "nobody answers member {rank}");
                continue;
            };
            let outside = outside(&tree, *number);
            let unknown = if outside.is_disjoint(&below) { RankSet::new() } else { below.clone() };
            prop_assert_eq!(&absent.not_entered, &outside.difference(&below));
            let silent = if unknown.is_empty() { Vec::new() } else { vec![format!("h{node}")] };
            prop_assert_eq!((&absent.unknown, &absent.silent_hosts), (&unknown, &silent));
        }
        tree.thaw();
        finish(&mut tree, &script, &mut chance);
    }

    #[test]
    fn questions_at_any_time_are_answered_truly_and_change_nothing(seed: u64, is_slow: bool) {
        let (mut tree, script, mut chance) = session(seed, 60);
        tree.is_slow = is_slow;
        tree.members.iter_mut().for_each(|member| member.asks = chance.below(20));
        finish(&mut tree, &script, &mut chance);
    }

    #[test]
    fn sums_of_floats_have_the_same_bits_in_every_order(seed: u64, orders: [u64; 2]) {
        let results = orders.map(|order| {
            let mut chance = Chance(seed);
            let size = 2 + chance.below(8);
            let mut tree = Tree::random(size, &mut chance);
            tree.set_script(&[ScriptedCall::delicate_sum(size, &mut chance)]);
            tree.run(&mut Chance(order));
            tree.members.into_iter().flat_map(|member| member.results).collect::<Vec<_>>()
        });
        prop_assert!(results[0].iter().all(|result| result.is_ok() && *result == results[0][0]));
        prop_assert_eq!(&results[0], &results[1]);
    }
}
