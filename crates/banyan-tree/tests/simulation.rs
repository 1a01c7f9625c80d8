//! Trees from seeds, with everything that can go wrong.

use std::time::Duration;

use banyan_tree::sim::{FaultPlan, Plan, simulate};

#[track_caller]
fn holds(plan: &Plan) -> banyan_tree::sim::Outcome {
    match simulate(plan, &mut |_| {}) {
        Ok(outcome) => outcome,
        Err(failure) => panic!("{failure}\n{plan:?}"),
    }
}

#[test]
fn a_tree_grows_and_delivers_every_wave() {
    let outcome = holds(&Plan { shape: vec![4, 4, 4], waves: 100, ..Plan::default() });
    assert_eq!((outcome.members, outcome.waves, outcome.lost, outcome.moves), (64, 100, 0, 0));
}

#[test]
fn inner_nodes_die_and_no_wave_is_lost() {
    for seed in 0..200 {
        let faults = FaultPlan { count: 3, within: Duration::from_millis(40), hits_members: false, only_deaths: true };
        holds(&Plan { shape: vec![3, 4, 5], seed, waves: 60, streams: 2, faults, ..Plan::default() });
    }
}
