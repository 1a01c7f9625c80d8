//! Knobs that observers set, and actions that they ask for.

use std::time::Duration;

use banyan_ndr::Value;
use banyan_sensor::observe::{Answer, KnobInfo, Mailbox, Refusal, Request, Segment, SegmentError, Ticket, When};
use banyan_sensor::{Steering, SteeringEvent};

use crate::child::Step;
use crate::harness::{LIMIT, Program, wait_until};

/// A knob by its name.
fn knob(segment: &Segment, name: &str) -> KnobInfo {
    segment.knobs().unwrap().into_iter().find(|knob| knob.name == name).unwrap()
}

/// Sends a value.
fn send(program: &Program, mailbox: &mut Mailbox, name: &str, value: impl Into<Value>, when: When) -> Ticket {
    let knob = knob(&program.segment(), name);
    mailbox.send(&Request::set(&knob, knob.body(value).unwrap()).when(when)).unwrap()
}

fn mailbox(program: &Program) -> Mailbox {
    Mailbox::open(&program.segment(), "a test").unwrap()
}

fn show(program: &mut Program) -> String {
    program.send("show");
    program.expect("values ")
}

/// A step of the program, and the length that it was made with.
fn step(program: &mut Program, number: u64) -> f64 {
    program.send(&format!("step {number}"));
    program.expect("with ").parse().unwrap()
}

fn refusal(answer: Answer) -> Refusal {
    let Answer::Refused { why, .. } = answer else { panic!("{answer:?}") };
    why
}

#[test]
fn knobs_and_actions_are_listed_with_what_they_are() {
    let program = Program::start("steered");
    let segment = program.segment();
    let names: Vec<String> = segment.knobs().unwrap().into_iter().map(|knob| knob.name).collect();
    let expected = ["dt", "most", "method", "name", "stop", "adapt", "energy"].map(|name| format!("solver.{name}"));
    assert_eq!(names, expected);
    let dt = knob(&segment, "solver.dt");
    assert_eq!((dt.unit.as_str(), dt.description.as_str(), dt.read_only), ("s", "length of a step", false));
    assert_eq!(dt.range_text(), "1e-6..=1.0");
    assert_eq!(knob(&segment, "solver.most").range_text(), "1..1000");
    assert_eq!(knob(&segment, "solver.name").range_text(), "");
    assert!(knob(&segment, "solver.energy").read_only);
    let text = |name: &str| {
        let knob = knob(&segment, name);
        let shown = segment.shown_value(&knob).unwrap();
        assert_eq!((shown.changes, shown.by, shown.step), (0, None, None));
        knob.text(&shown.body)
    };
    assert_eq!(text("solver.dt"), "0.5");
    assert_eq!(text("solver.method"), "Cg");
    assert_eq!(text("solver.stop"), "{tolerance: 0.001, most: 7, label: \"first\"}");
    let actions = segment.actions().unwrap();
    let seen: Vec<_> =
        actions.iter().map(|action| (action.name.as_str(), action.description.as_str(), action.runs)).collect();
    assert_eq!(seen, [("checkpoint", "writes a checkpoint", 0)]);
    assert_eq!((segment.steering(), segment.step(), segment.steering_points()), (Steering::OwnUser, None, 0));
    assert_eq!(segment.steering_patience(), Duration::from_millis(100));
}

#[test]
fn values_of_all_kinds_are_set_at_once_and_acknowledged_with_what_was_before() {
    let mut program = Program::start("steered");
    let mut mailbox = mailbox(&program);
    let stop = Value::record([("tolerance", 1e-6.into()), ("most", 9u32.into()), ("label", "other".into())]);
    let values = [
        ("solver.dt", Value::from(0.25), "0.5"),
        ("solver.most", 999u32.into(), "100"),
        ("solver.method", Value::Enum("Gmres".into()), "Cg"),
        ("solver.name", "a longer name".into(), "\"none\""),
        ("solver.stop", stop, "{tolerance: 0.001, most: 7, label: \"first\"}"),
        ("solver.adapt", true.into(), "false"),
    ];
    for (name, value, before) in values {
        let ticket = send(&program, &mut mailbox, name, value, When::AtOnce);
        assert_eq!(mailbox.answer(ticket), Answer::Waiting);
        show(&mut program);
        let Answer::Done { old, step, .. } = mailbox.wait(ticket, LIMIT) else { panic!("{name}") };
        assert_eq!((knob(&program.segment(), name).text(&old).as_str(), step), (before, None), "{name}");
        let shown = program.segment().shown_value(&knob(&program.segment(), name)).unwrap();
        let by = shown.by.unwrap();
        assert_eq!((by.ticket, by.pid, by.label.as_str()), (ticket.number(), std::process::id().into(), "a test"));
        assert_eq!(shown.changes, 1);
    }
    let expected = "0.25 999 Gmres a longer name Stop { tolerance: 1e-6, most: 9, label: \"other\" } true 1 0";
    assert_eq!(show(&mut program), expected);
}

#[test]
fn what_a_knob_cannot_be_is_refused_with_the_reason_and_changes_nothing() {
    let mut program = Program::start("steered");
    let mut mailbox = mailbox(&program);
    let before = show(&mut program);
    let segment = program.segment();
    let dt = knob(&segment, "solver.dt");
    let body = |value: f64| dt.body(value).unwrap();
    let mut ask = |request: &Request| {
        let ticket = mailbox.send(request).unwrap();
        assert_eq!(show(&mut program), before);
        refusal(mailbox.wait(ticket, LIMIT))
    };
    for value in [0.0, 1.5, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(ask(&Request::set(&dt, body(value))), Refusal::Range, "{value}");
    }
    assert_eq!(ask(&Request::set(&knob(&segment, "solver.most"), vec![0xe8, 3, 0, 0])), Refusal::Range, "1000");
    for bytes in [vec![], vec![0; 7], vec![0; 4]] {
        assert_eq!(ask(&Request::set(&dt, bytes)), Refusal::NotAValue);
    }
    assert_eq!(ask(&Request::set(&knob(&segment, "solver.adapt"), vec![2])), Refusal::NotAValue);
    assert_eq!(ask(&Request::set(&knob(&segment, "solver.stop"), vec![0xff; 64])), Refusal::NotAValue);
    assert_eq!(ask(&Request::set(&dt, vec![0; 2000])), Refusal::TooLong);
    let name = knob(&segment, "solver.name");
    assert_eq!(ask(&Request::set(&name, name.body("x".repeat(1020)).unwrap())), Refusal::TooLong);
    let energy = knob(&segment, "solver.energy");
    assert_eq!(ask(&Request::set(&energy, energy.body(2.0).unwrap())), Refusal::ReadOnly);
    let mut unknown = dt.clone();
    unknown.index = 77;
    assert_eq!(ask(&Request::set(&unknown, body(0.25))), Refusal::Unknown);
    assert_eq!(ask(&Request::set(&dt, body(0.25)).when(When::Step(5))), Refusal::Passed, "it counts no steps");
}

#[test]
fn a_program_sets_its_read_only_knobs_and_observers_see_that() {
    let mut program = Program::start("steered");
    program.tell("energy 2.5");
    let segment = program.segment();
    let energy = knob(&segment, "solver.energy");
    let shown = segment.shown_value(&energy).unwrap();
    assert_eq!((energy.text(&shown.body).as_str(), shown.changes, shown.by), ("2.5", 1, None));
}

#[test]
fn a_change_for_the_next_steering_point_waits_for_one() {
    let mut program = Program::start("steered");
    let mut mailbox = mailbox(&program);
    let ticket = send(&program, &mut mailbox, "solver.dt", 0.25, When::NextPoint);
    assert!(show(&mut program).starts_with("0.5 "));
    assert_eq!(mailbox.wait_for_check(ticket, LIMIT), Answer::Committed { step: None });
    program.tell("point");
    assert!(mailbox.wait(ticket, LIMIT).is_final());
    assert!(show(&mut program).starts_with("0.25 "));
    assert_eq!(program.segment().steering_points(), 1);
}

#[test]
fn a_change_for_a_step_is_made_at_that_step() {
    let mut program = Program::start("steered");
    let mut mailbox = mailbox(&program);
    assert_eq!(step(&mut program, 1), 0.5);
    let ticket = send(&program, &mut mailbox, "solver.dt", 0.25, When::Step(3));
    assert_eq!(step(&mut program, 2), 0.5);
    assert_eq!(mailbox.answer(ticket), Answer::Committed { step: Some(2) });
    assert_eq!(step(&mut program, 3), 0.25);
    let answer = mailbox.wait(ticket, LIMIT);
    assert!(matches!(answer, Answer::Done { step: Some(3), .. }), "{answer:?}");
    let late = send(&program, &mut mailbox, "solver.dt", 0.125, When::Step(3));
    assert_eq!(step(&mut program, 4), 0.25);
    assert_eq!(refusal(mailbox.wait(late, LIMIT)), Refusal::Passed);
    assert_eq!(program.segment().step(), Some(4));
}

/// Proposes a length of steps from a step on; the program has looked.
fn propose(program: &mut Program, mailbox: &mut Mailbox, value: f64, at: u64) -> Ticket {
    let dt = knob(&program.segment(), "solver.dt");
    let request = Request::set(&dt, dt.body(value).unwrap()).when(When::Step(at)).proposed();
    let ticket = mailbox.send(&request).unwrap();
    show(program);
    ticket
}

#[test]
fn a_proposal_is_held_until_it_is_committed_and_then_made_at_its_step() {
    let mut program = Program::start("steered");
    let mut mailbox = mailbox(&program);
    step(&mut program, 1);
    let ticket = propose(&mut program, &mut mailbox, 0.25, 3);
    assert_eq!(mailbox.answer(ticket), Answer::Held { step: Some(1) });
    assert!(mailbox.commit(ticket).unwrap());
    assert_eq!(step(&mut program, 2), 0.5);
    assert_eq!(mailbox.answer(ticket), Answer::Committed { step: Some(2) });
    assert!(mailbox.cancel(ticket).unwrap(), "too late");
    assert_eq!(step(&mut program, 3), 0.25);
    assert!(matches!(mailbox.wait(ticket, LIMIT), Answer::Done { step: Some(3), .. }));
}

#[test]
fn a_cancelled_proposal_is_never_made() {
    let mut program = Program::start("steered");
    let mut mailbox = mailbox(&program);
    step(&mut program, 1);
    let ticket = propose(&mut program, &mut mailbox, 0.25, 3);
    assert!(mailbox.cancel(ticket).unwrap());
    assert_eq!(step(&mut program, 3), 0.5);
    assert_eq!(mailbox.answer(ticket), Answer::Cancelled);
}

#[test]
fn a_program_waits_at_the_step_for_a_decision_that_comes_in_time() {
    let mut program = Program::start("steered");
    program.tell("patience 60000");
    let mut mailbox = mailbox(&program);
    step(&mut program, 1);
    let ticket = propose(&mut program, &mut mailbox, 0.25, 2);
    program.send("step 2");
    // It takes a request for the next point when it is there, and not before.
    let there = send(&program, &mut mailbox, "solver.most", 9u32, When::NextPoint);
    assert!(matches!(mailbox.wait(there, LIMIT), Answer::Done { step: Some(2), .. }));
    assert_eq!(mailbox.answer(ticket), Answer::Held { step: Some(1) });
    mailbox.commit(ticket).unwrap();
    assert_eq!(program.expect("with "), "0.25");
}

#[test]
fn without_a_decision_a_program_goes_on_after_its_limit_and_says_so() {
    for milliseconds in [0, 30] {
        let mut program = Program::start("steered");
        program.tell(&format!("patience {milliseconds}"));
        let mut mailbox = mailbox(&program);
        step(&mut program, 1);
        let ticket = propose(&mut program, &mut mailbox, 0.25, 2);
        let start = std::time::Instant::now();
        assert_eq!(step(&mut program, 2), 0.5);
        assert!(start.elapsed() >= Duration::from_millis(milliseconds));
        assert_eq!(mailbox.answer(ticket), Answer::Missed { step: Some(2) });
        assert!(!mailbox.commit(ticket).unwrap(), "its slot is free");
        assert_eq!(step(&mut program, 3), 0.5);
    }
}

#[test]
fn of_two_proposals_for_one_step_the_second_is_refused() {
    let mut program = Program::start("steered");
    let (mut first, mut second) = (mailbox(&program), mailbox(&program));
    step(&mut program, 1);
    let held = propose(&mut program, &mut first, 0.25, 5);
    let other = propose(&mut program, &mut second, 0.125, 5);
    assert_eq!(refusal(second.wait(other, LIMIT)), Refusal::Busy);
    let later = propose(&mut program, &mut second, 0.125, 6);
    [(&mut first, held), (&mut second, later)].into_iter().for_each(|(mailbox, ticket)| {
        mailbox.commit(ticket).unwrap();
    });
    let steps: Vec<f64> = (4..=7).map(|number| step(&mut program, number)).collect();
    assert_eq!(steps, [0.5, 0.25, 0.125, 0.125]);
}

#[test]
fn actions_are_run_at_steering_points_and_counted() {
    let mut program = Program::start("steered");
    let mut mailbox = mailbox(&program);
    let action = program.segment().actions().unwrap().remove(0);
    let ticket = mailbox.send(&Request::run(&action)).unwrap();
    assert!(show(&mut program).ends_with(" 0"));
    program.tell("point");
    assert!(matches!(mailbox.wait(ticket, LIMIT), Answer::Done { .. }));
    step(&mut program, 1);
    let ticket = mailbox.send(&Request::run(&action).when(When::Step(3))).unwrap();
    step(&mut program, 2);
    assert!(show(&mut program).ends_with(" 1"));
    step(&mut program, 3);
    assert!(matches!(mailbox.wait(ticket, LIMIT), Answer::Done { step: Some(3), .. }));
    assert!(show(&mut program).ends_with(" 2"));
    assert_eq!(program.segment().actions().unwrap()[0].runs, 2);
}

#[test]
fn nobody_steers_a_program_that_does_not_allow_it() {
    let mut by_itself = Program::start("steered");
    by_itself.tell("off");
    let by_owner = Program::start_with("steered", &[("BANYAN_STEERING", "off")]);
    for mut program in [by_itself, by_owner] {
        assert_eq!(program.segment().steering(), Steering::Off);
        let mut mailbox = mailbox(&program);
        let ticket = send(&program, &mut mailbox, "solver.dt", 0.25, When::AtOnce);
        assert!(show(&mut program).starts_with("0.5 "));
        assert_eq!(refusal(mailbox.wait(ticket, LIMIT)), Refusal::Off);
    }
}

#[test]
fn changes_are_events_of_the_stream() {
    let mut program = Program::start("steered");
    let mut observer = program.observe("banyan.steering");
    let mut mailbox = mailbox(&program);
    step(&mut program, 1);
    send(&program, &mut mailbox, "solver.dt", 0.25, When::Step(2));
    propose(&mut program, &mut mailbox, 0.125, 3);
    program.tell("patience 0");
    (2..=3).for_each(|number| assert_eq!(step(&mut program, number), 0.25));
    program.tell("energy 2.5");
    let action = program.segment().actions().unwrap().remove(0);
    mailbox.send(&Request::run(&action)).unwrap();
    step(&mut program, 4);
    let mut decoder = banyan_ndr::Decoder::new();
    let mut seen = Vec::new();
    let format = observer.sensors().find(|sensor| sensor.name == "banyan.steering").unwrap().format.clone().unwrap();
    let id = decoder.learn(&format).unwrap();
    observer.drain(|event| seen.push(decoder.decode::<SteeringEvent>(id, event.body).unwrap())).unwrap();
    let short: Vec<_> = seen
        .iter()
        .map(|event| format!("{} {} {} {} {} {}", event.name, event.what, event.old, event.new, event.step, event.who))
        .collect();
    let expected = [
        "solver.dt set 0.5 0.25 2 a test",
        "solver.dt missed  0.125 3 a test",
        "solver.energy set 1.0 2.5 3 program",
        "checkpoint run   4 a test",
    ];
    assert_eq!(short, expected);
    assert_eq!((seen[0].old_number, seen[0].new_number), (0.5, 0.25));
}

#[test]
fn a_child_of_fork_has_knobs_of_its_own_with_the_values_of_its_parent() {
    let mut program = Program::start("steered");
    let mut parent = mailbox(&program);
    step(&mut program, 1);
    let ticket = propose(&mut program, &mut parent, 0.125, 3);
    program.send("fork");
    assert_eq!(program.expect("child "), "0.5");
    wait_until("the segment of the child", || program.segments().len() == 2);
    let segment = Segment::open(&program.segments()[1]).unwrap();
    let mut child = Mailbox::open(&segment, "a test").unwrap();
    let dt = knob(&segment, "solver.dt");
    let set = child.send(&Request::set(&dt, dt.body(0.25).unwrap())).unwrap();
    assert!(matches!(child.wait(set, LIMIT), Answer::Done { .. }));
    assert_eq!(program.expect("child "), "0.25");
    program.expect("done");
    assert!(show(&mut program).starts_with("0.5 "), "the parent has its own");
    parent.commit(ticket).unwrap();
    assert_eq!(step(&mut program, 3), 0.125);
}

#[test]
fn threads_see_a_record_whole_while_it_changes() {
    let mut program = Program::start("whole");
    let mut mailbox = mailbox(&program);
    let pair = knob(&program.segment(), "pair");
    for number in (0..2000).chain([u64::MAX]) {
        let Step { number, check } = Step::new(number);
        let value = Value::record([("number", number.into()), ("check", check.into())]);
        let ticket = mailbox.send(&Request::set(&pair, pair.body(value).unwrap())).unwrap();
        assert!(matches!(mailbox.wait(ticket, LIMIT), Answer::Done { .. }));
    }
    assert_eq!(program.expect("torn "), "0");
}

#[test]
fn what_cannot_be_steered_says_so() {
    let program = Program::start("steps");
    let error = Mailbox::open(&program.segment(), "a test").unwrap_err();
    assert!(matches!(error, SegmentError::NothingToSteer { .. }), "{error}");
    assert!(program.segment().knobs().unwrap().is_empty());
}

#[test]
fn a_mailbox_has_sixteen_slots_and_dropping_an_observer_frees_its_own() {
    let mut program = Program::start("steered");
    step(&mut program, 1);
    let mut first = mailbox(&program);
    for at in 0..16 {
        propose(&mut program, &mut first, 0.25, 100 + at);
    }
    let mut second = mailbox(&program);
    let dt = knob(&program.segment(), "solver.dt");
    let request = Request::set(&dt, dt.body(0.25).unwrap());
    let error = second.send(&request).unwrap_err();
    assert!(matches!(error, SegmentError::MailboxFull { most: 16, .. }), "{error}");
    drop(first);
    let ticket = second.send(&request).unwrap();
    show(&mut program);
    assert!(matches!(second.wait(ticket, LIMIT), Answer::Done { .. }));
    // Nothing of the others is held.
    assert_eq!(step(&mut program, 200), 0.25);
}
