//! Knobs and actions of programs that run.

use std::collections::BTreeMap;
use std::time::Duration;

use banyan_monitor::{Outcome, When};
use rustix::process::Signal;

use crate::program::{Program, Step};
use crate::setup::{PATIENCE, Stage, deadline, wait_for_sensors};

/// Steps of a millisecond, far more than a test needs. The programs end with the test.
const FOR_LONG: &str = "march 1000000";

pub(crate) fn a_knob_is_set_in_all_processes_and_each_acknowledges_or_says_why_not() {
    let stage = Stage::new(2);
    let mut programs: Vec<Program> = (0..4).map(|rank| stage.program(rank as usize / 2, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 4);
    programs.iter_mut().for_each(|program| program.tell(FOR_LONG));
    let knobs = observer.knobs(PATIENCE).unwrap();
    assert_eq!(knobs.len(), 4);
    assert!(
        knobs.iter().all(|knob| (&*knob.name, &*knob.value, &*knob.unit) == ("solver.dt", "0.5", "s")),
        "{knobs:?}"
    );
    for when in [When::AtOnce, When::NextPoint] {
        let new = if when == When::AtOnce { 0.25 } else { 0.125 };
        let change = observer.set("solver.dt", new, when, PATIENCE).unwrap();
        assert!(change.is_done() && change.answers.len() == 4, "{change}");
        let old = (new * 2.0).to_string();
        assert!(change.answers.iter().all(|answer| answer.old == old && answer.step.is_some()), "{change:?}");
    }
    let change = observer.set("solver.dt", 2.0, When::AtOnce, PATIENCE).unwrap();
    let is_refused = |outcome: &Outcome| matches!(outcome, Outcome::Refused(why) if why.contains("range"));
    assert!(change.answers.len() == 4 && change.answers.iter().all(|answer| is_refused(&answer.outcome)), "{change}");
    assert!(observer.run("checkpoint", PATIENCE).unwrap().is_done());
    assert!(observer.set("no.such.knob", 1.0, When::AtOnce, PATIENCE).unwrap().answers.is_empty());
    assert!(observer.knobs(PATIENCE).unwrap().iter().all(|knob| knob.value == "0.125"));
}

pub(crate) fn a_knob_changes_at_one_step_in_all_processes_or_in_none() {
    let stage = Stage::new(2);
    let mut programs: Vec<Program> = (0..4).map(|rank| stage.program(rank as usize / 2, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 4);
    let tap = observer.tap("solver.step").unwrap();
    programs.iter_mut().for_each(|program| program.tell(FOR_LONG));
    let change = observer.set("solver.dt", 0.25, When::SameStep, PATIENCE).unwrap();
    assert!(change.is_done() && change.answers.len() == 4, "{change}");
    let step = change.step.unwrap();
    assert!(change.answers.iter().all(|answer| answer.step == Some(step)), "{change:?}");
    let mut first = BTreeMap::new();
    while first.len() < 4 {
        let event = tap.recv_timeout(deadline()).unwrap();
        let Step { n, residual } = event.read().unwrap();
        if residual == 0.25 {
            first.entry(event.process.rank).or_insert(n);
        }
    }
    assert!(first.values().all(|n| *n == step), "{first:?} at {step}");
    drop(tap);
    // One that is stopped cannot answer, so the others do not change.
    programs[2].signal(Signal::STOP);
    let change = observer.set("solver.dt", 0.5, When::SameStep, Duration::from_secs(1)).unwrap();
    assert_eq!((change.is_done(), change.step), (false, None), "{change}");
    assert!(change.answers.iter().any(|answer| answer.outcome == Outcome::Silent), "{change}");
    programs[2].signal(Signal::CONT);
    // It goes on, and nothing that was taken back is done.
    let change = observer.set("solver.dt", 0.25, When::NextPoint, PATIENCE).unwrap();
    assert!(change.is_done() && change.answers.iter().all(|answer| answer.old == "0.25"), "{change:?}");
}
