//! Processes that come from processes with sensors.

use std::os::unix::process::CommandExt;

use banyan_sensor::Sensor;
use banyan_sensor::observe::{Segment, find_in};

use crate::child::Step;
use crate::harness::{Program, wait_until};

/// Makes a child that emits so many steps once somebody watches it, and waits for its end.
pub(crate) fn fork_and_emit(step: &Sensor<Step>, count: u64) {
    in_a_child(|| {
        step.emit(&Step::new(0));
        while !step.is_watched() {
            std::thread::yield_now();
        }
        (0..count).for_each(|number| step.emit(&Step::new(number)));
    });
}

/// Makes a child that acts, and waits for its end.
pub(crate) fn in_a_child(act: impl FnOnce()) {
    // SAFETY: the child uses sensors and knobs, which this is about, and ends without anything else.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // It ends with the test, also with one that fails.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
        act();
        // SAFETY: always is.
        unsafe { libc::_exit(0) };
    }
    let child = rustix::process::Pid::from_raw(child).unwrap();
    rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()).unwrap();
}

/// Runs this program anew in the same process.
pub(crate) fn become_it_again() {
    let error = std::process::Command::new(std::env::current_exe().unwrap()).args(std::env::args().skip(1)).exec();
    panic!("{error}");
}

#[test]
fn a_child_of_fork_has_a_segment_of_its_own_and_leaves_the_parents_alone() {
    let mut program = Program::start("steps");
    let mut parent = program.observe("step");
    program.tell("emit 10");
    program.send("fork 1000");
    wait_until("the segment of the child", || program.segments().len() == 2);
    let segment = Segment::open(&program.segments()[1]).unwrap();
    assert_ne!(segment.identity().pid, program.child.id());
    let mut child = segment.observe().unwrap();
    assert!(child.watch("step"));
    program.expect("done");
    program.tell("emit 10");
    for (observer, expected) in [(&mut child, 1000), (&mut parent, 20)] {
        assert_eq!(observer.drain(|event| assert!(event.view::<Step>().unwrap().is_whole())).unwrap(), expected);
        let account = observer.accounts().remove(0);
        assert_eq!((account.emitted, account.delivered, account.in_flight()), (expected, expected, 0));
    }
}

#[test]
fn after_exec_the_program_has_a_new_segment_and_the_old_one_counts_as_replaced() {
    let mut program = Program::start("always");
    program.tell("emit 10");
    program.send("exec");
    program.expect("ready");
    program.tell("emit 20");
    let found = find_in(program.directory.path());
    let seen: Vec<(u32, bool)> = found.iter().map(|found| (found.pid, found.is_replaced)).collect();
    assert_eq!(seen, [(program.child.id(), true), (program.child.id(), false)]);
    for (found, expected) in found.iter().zip([10, 20]) {
        let mut reader = Segment::open(&found.path).unwrap().read().unwrap();
        assert_eq!(reader.drain(|_| ()).unwrap(), expected);
    }
}

#[test]
fn a_program_that_nobody_watches_leaves_nothing_behind() {
    let mut program = Program::start("steps");
    program.tell("emit 10");
    program.send("end");
    program.child.wait().unwrap();
    assert_eq!(std::fs::read_dir(program.directory.path()).unwrap().count(), 0);
}

#[test]
fn an_observer_reads_the_last_events_of_a_program_that_has_ended_and_left_nothing() {
    let mut program = Program::start("steps");
    let mut observer = program.observe("step");
    program.tell("emit 10");
    program.send("end");
    program.child.wait().unwrap();
    assert_eq!(std::fs::read_dir(program.directory.path()).unwrap().count(), 0);
    assert_eq!(observer.drain(|_| ()).unwrap(), 10);
    assert_eq!(observer.segment().identity().is_running(), Some(false));
}

#[test]
fn events_of_sensors_that_are_always_written_outlive_their_program() {
    let mut program = Program::start("always");
    program.tell("emit 10");
    program.send("end");
    program.child.wait().unwrap();
    assert_eq!(program.segment().read().unwrap().drain(|_| ()).unwrap(), 10);
}
