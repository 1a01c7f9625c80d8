//! What happens to events for which there is no room.

use banyan_sensor::observe::Account;

use crate::child::Step;
use crate::harness::Program;

/// More events than a ring holds, and what the observer finds then.
fn overflow(role: &str, events: u64) -> (Vec<u64>, Account) {
    let mut program = Program::start(role);
    let mut observer = program.observe("step");
    program.tell(&format!("emit {events}"));
    let mut numbers = Vec::new();
    observer.drain(|event| numbers.push(event.view::<Step>().unwrap().number)).unwrap();
    let account = observer.accounts().remove(0);
    assert_eq!((account.emitted, account.in_flight()), (events, 0), "{account:?}");
    assert_eq!(account.delivered, numbers.len() as u64);
    (numbers, account)
}

#[test]
fn the_oldest_are_overwritten_and_counted() {
    let (numbers, account) = overflow("steps", 100_000);
    assert!(account.dropped.overwritten > 0 && numbers.len() > 5000);
    assert_eq!(account.dropped.total(), account.dropped.overwritten);
    let first = 100_000 - numbers.len() as u64;
    assert!(numbers.iter().copied().eq(first..100_000), "the newest are there, without a gap");
}

#[test]
fn the_newest_are_dropped_while_an_observer_has_not_read_the_others() {
    let (numbers, account) = overflow("newest", 100_000);
    assert_eq!(account.dropped.total(), account.dropped.full);
    assert!(account.dropped.full > 0 && numbers.len() > 5000);
    assert!(numbers.iter().copied().eq(0..numbers.len() as u64), "the oldest are there, without a gap");
}

#[test]
fn an_observer_that_has_read_makes_room_for_the_newest() {
    let mut program = Program::start("newest");
    let mut observer = program.observe("step");
    for _ in 0..50 {
        program.tell("emit 5000");
        assert_eq!(observer.drain(|_| ()).unwrap(), 5000);
    }
}

#[test]
fn of_the_latest_only_the_last_is_there_and_the_others_are_counted() {
    let (numbers, account) = overflow("latest", 1000);
    assert_eq!(numbers, [999]);
    assert_eq!(account.dropped.superseded, 999);
}

#[test]
fn one_in_ten_is_one_in_ten() {
    let (numbers, account) = overflow("one_in_10", 1000);
    assert!(numbers.iter().copied().eq((0..1000).step_by(10)));
    assert_eq!(account.dropped.sampled, 900);
}

#[test]
fn a_writer_waits_for_its_observer_no_longer_than_its_limit_and_once() {
    let start = std::time::Instant::now();
    let (numbers, account) = overflow("block", 20_000);
    assert!(account.dropped.timed_out > 0 && numbers.len() > 5000);
    // 13,000 events of 20 ms would be four minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn a_writer_that_waits_goes_on_when_its_observer_has_read() {
    let mut program = Program::start("block");
    let mut observer = program.observe("step");
    program.send("emit 200000");
    let mut count = 0;
    crate::harness::wait_until("all events", || {
        count += observer.drain(|_| ()).unwrap();
        let account = &observer.accounts()[0];
        account.emitted == 200_000 && account.in_flight() == 0
    });
    let account = &observer.accounts()[0];
    assert_eq!(account.dropped.total() + count, 200_000, "{account:?}");
}
