//! Programs that are killed, and observers that are.

use std::process::{Command, Stdio};

use banyan_sensor::observe::Segment;

use crate::child::Step;
use crate::harness::{Program, ROLE, wait_until};

#[test]
fn after_a_kill_all_that_was_committed_is_there_and_nothing_torn_is_shown() {
    for round in 0..20 {
        let mut program = Program::start("storms");
        let path = program.segments().remove(0);
        // Each round is killed at another moment.
        let mut live = Segment::open(&path).unwrap().read().unwrap();
        for _ in 0..=round {
            live.drain(|event| assert!(event.view::<Step>().unwrap().is_whole())).unwrap();
        }
        program.kill();
        let segment = Segment::open(&path).unwrap();
        assert_eq!(segment.identity().is_running(), Some(false));
        let mut reader = segment.read().unwrap();
        let mut last = std::collections::BTreeMap::new();
        reader
            .drain(|event| {
                let step = event.view::<Step>().unwrap();
                assert!(step.is_whole());
                // Without a gap to the end, thread by thread.
                if let Some(before) = last.insert(event.thread, step.number) {
                    assert_eq!(step.number, before + 1);
                }
            })
            .unwrap();
        let account = reader.accounts().remove(0);
        assert_eq!((account.in_flight(), reader.damaged()), (0, 0), "{account:?}");
        let emitted: u64 = last.values().map(|number| number + 1).sum();
        assert_eq!(account.emitted, emitted, "the last event of each thread is the last that was counted");
        assert_eq!(account.dropped.total(), account.dropped.overwritten);
    }
}

#[test]
fn a_reader_of_a_storm_sees_only_whole_events_and_its_account_is_exact() {
    let program = Program::start("storms");
    let mut observer = program.observe("step");
    let mut delivered = 0;
    for _ in 0..2000 {
        delivered += observer.drain(|event| assert!(event.view::<Step>().unwrap().is_whole())).unwrap();
    }
    drop(program);
    delivered += observer.drain(|_| ()).unwrap();
    let account = observer.accounts().remove(0);
    assert_eq!((account.delivered, account.in_flight()), (delivered, 0));
    assert_eq!(account.emitted, account.delivered + account.dropped.overwritten);
    assert_eq!(observer.reader().damaged(), 0);
}

/// Not a test of its own: a child that observes until it is killed.
#[test]
fn observes_as_a_child() {
    let Ok(path) = std::env::var("SENSOR_TEST_SEGMENT") else { return };
    let mut observer = Segment::open(path.as_ref()).unwrap().observe().unwrap();
    observer.watch("step");
    loop {
        observer.drain(|_| ()).unwrap();
    }
}

#[test]
fn slots_of_killed_observers_are_used_again() {
    let mut program = Program::start("steps");
    let path = program.segments().remove(0);
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "killed::observes_as_a_child", "--nocapture"]).env_remove(ROLE);
        command.env("SENSOR_TEST_SEGMENT", &path).stdout(Stdio::null()).spawn().unwrap()
    };
    let mut observers: Vec<_> = (0..8).map(|_| start()).collect();
    wait_until("eight observers", || Segment::open(&path).unwrap().observe().is_err());
    for observer in &mut observers {
        observer.kill().unwrap();
        observer.wait().unwrap();
    }
    let mut observer = program.observe("step");
    program.tell("emit 10");
    assert_eq!(observer.drain(|_| ()).unwrap(), 10);
}
