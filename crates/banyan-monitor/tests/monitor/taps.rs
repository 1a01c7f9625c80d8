//! Taps: every event as it was emitted.

use std::collections::BTreeMap;

use banyan_monitor::{Event, Happening, Job, MonitorError, Observer, Tap};
use rustix::process::Signal;

use crate::program::{Note, Program, Step};
use crate::setup::{PATIENCE, Stage, deadline, expect, rows_of, settled, wait_for_sensors};

/// The steps that come of each rank until there are so many.
fn take(tap: &Tap, count: usize) -> BTreeMap<u64, Vec<u64>> {
    let mut steps: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut last = i64::MIN;
    for number in 0..count {
        let event = tap.recv_timeout(deadline()).unwrap_or_else(|error| panic!("event {number} of {count}: {error}"));
        assert!(event.time >= last, "events are in order");
        last = event.time;
        let step: Step = event.read().unwrap();
        assert_eq!(step, Step::new(step.n));
        steps.entry(event.process.rank.unwrap()).or_default().push(step.n);
    }
    steps
}

pub(crate) fn events_of_programs_that_run_already_come_in_order_with_who_emitted_them() {
    let stage = Stage::new(1);
    let mut programs: Vec<Program> = (0..3).map(|rank| stage.program(0, rank)).collect();
    programs.iter_mut().for_each(|program| _ = program.does("emit 100"));
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 3);
    let tap = observer.tap("solver.step").unwrap();
    programs.iter_mut().for_each(|program| _ = program.does("emit 500"));
    let steps = take(&tap, 1500);
    assert!(steps.values().all(|steps| *steps == (100..600).collect::<Vec<u64>>()), "{steps:?}");
    let pids: Vec<u32> = observer.processes().iter().map(|process| process.pid).collect();
    assert!(programs.iter().all(|program| pids.contains(&program.pid())));
    let sensors = observer.sensors();
    let known: Vec<&str> = sensors.iter().filter(|it| it.name == "solver.step").map(|it| it.unit.as_str()).collect();
    assert_eq!(known, ["1"], "three programs have one sensor");
}

pub(crate) fn processes_and_sensors_that_appear_later_are_watched_and_ends_are_told() {
    let stage = Stage::new(1);
    let observer = Observer::attach(&Job::all().sensor("solver.note"), &stage.options()).unwrap();
    let tap = observer.tap("solver.*").unwrap();
    let mut program = stage.program(0, 7);
    let _other = stage.program(0, 8);
    program.does("note 1");
    expect(&observer, "its sensor", |happening| match happening {
        Happening::Sensor { sensor, .. } if sensor.name == "solver.note" => Some(()),
        _ => None,
    });
    // Once the ledger has it, it is watched.
    let end = deadline();
    while rows_of(&observer.ledger(PATIENCE).unwrap(), tap.number()).count() < 2 {
        assert!(std::time::Instant::now() < end);
    }
    program.does("note 17");
    let event = tap.recv_timeout(PATIENCE).unwrap();
    assert_eq!(event.read::<Note>().unwrap(), Note { text: "17 steps".into() });
    let pid = program.pid();
    program.does("emit 1000");
    program.quit();
    assert_eq!(take(&tap, 1000)[&7].len(), 1000, "its last events come");
    let ended = expect(&observer, "its end", |happening| match happening {
        Happening::Ended(process) => Some(process.pid),
        _ => None,
    });
    assert_eq!(ended, pid, "the program without the sensor is not of the job");
    assert!(observer.processes().is_empty());
}

pub(crate) fn an_observer_that_takes_nothing_loses_events_which_are_counted() {
    let stage = Stage::new(1);
    let mut program = stage.program(0, 0);
    let observer = Observer::attach(&Job::all(), &stage.options().most_waiting(10)).unwrap();
    wait_for_sensors(&observer, "solver.step", 1);
    let tap = observer.tap("solver.step").unwrap();
    // More than all queues on the way have room for.
    let mut emitted = 0;
    let end = deadline();
    loop {
        emitted = program.does("pour 100000").max(emitted);
        let ledger = observer.ledger(PATIENCE).unwrap();
        if rows_of(&ledger, tap.number()).any(|row| row.behind > 0) {
            break;
        }
        assert!(std::time::Instant::now() < end, "{ledger:?}");
    }
    let mut taken = 0;
    let ledger = settled(&observer, tap.number(), || {
        while tap.try_recv().unwrap().is_some() {
            taken += 1;
        }
    });
    let totals = ledger.totals(tap.number());
    (taken..totals.delivered).for_each(|_| _ = tap.recv_timeout(deadline()).unwrap());
    assert!(tap.try_recv().unwrap().is_none());
    assert_eq!(totals.emitted, emitted, "{totals}");
    assert!(totals.behind > 0 && totals.delivered > 0);
}

/// What has come of a tap: by version, and the steps of each rank.
#[derive(Default)]
struct Seen {
    versions: BTreeMap<u32, u64>,
    steps: BTreeMap<u64, Vec<u64>>,
    count: u64,
}

impl Seen {
    fn add(&mut self, event: &Event) {
        self.count += 1;
        *self.versions.entry(event.version).or_default() += 1;
        self.steps.entry(event.process.rank.unwrap()).or_default().push(event.read::<Step>().unwrap().n);
    }

    /// Takes what comes up to an event of this version.
    fn take_until(&mut self, tap: &Tap, version: u32) {
        loop {
            let event = tap.recv_timeout(deadline()).unwrap_or_else(|error| panic!("version {version}: {error}"));
            self.add(&event);
            if event.version == version {
                return;
            }
        }
    }
}

pub(crate) fn the_ledger_balances_whoever_is_killed_or_stopped_and_however_often_a_tap_is_replaced() {
    const STOPPED: usize = 1;
    const KILLED: usize = 5;
    let stage = Stage::new(4);
    let mut programs: Vec<Program> = (0..8).map(|rank| stage.program(rank as usize / 2, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 8);
    let tap = observer.tap("solver.step").unwrap();
    let mut seen = Seen::default();
    for (version, sensors) in (1..).zip(["solver.step", "solver.*", "solver.step", "solver.st*"]) {
        if version > 1 {
            assert_eq!(tap.replace(sensors).unwrap(), version);
        }
        let mut running = programs.iter_mut().enumerate().filter(|(rank, _)| version < 3 || *rank != KILLED);
        running.by_ref().for_each(|(_, program)| program.tell("drip 1000"));
        seen.take_until(&tap, version);
        match version {
            1 => programs[STOPPED].signal(Signal::STOP),
            2 => {
                programs[KILLED].signal(Signal::KILL);
                let (_, agent) = crate::relatives::agents()[0];
                rustix::process::kill_process(agent, Signal::KILL).unwrap();
            }
            3 => programs[STOPPED].signal(Signal::CONT),
            _ => {}
        }
    }
    for (_, program) in programs.iter_mut().enumerate().filter(|(rank, _)| *rank != KILLED) {
        let done = (0..4).map(|_| program.done()).last();
        assert_eq!(done, Some(4000));
    }
    let ledger = settled(&observer, tap.number(), || {
        while let Some(event) = tap.try_recv().unwrap() {
            seen.add(&event);
        }
    });
    let totals = ledger.totals(tap.number());
    (seen.count..totals.delivered).for_each(|_| seen.add(&tap.recv_timeout(deadline()).unwrap()));
    assert!(tap.try_recv().unwrap().is_none());
    assert_eq!(ledger.unknown, Vec::<String>::new());
    assert_eq!(totals.dropped + totals.behind, 0, "nobody was too fast: {totals}");
    let (mut delivered, mut emitted) = (BTreeMap::<u32, u64>::new(), BTreeMap::<u64, u64>::new());
    for row in rows_of(&ledger, tap.number()) {
        *delivered.entry(row.version).or_default() += row.selected;
        *emitted.entry(row.process.as_ref().unwrap().rank.unwrap()).or_default() += row.emitted;
    }
    assert_eq!(seen.versions, delivered, "what came is what the ledger says");
    let came = ledger.delivered.iter().map(|((_, version), count)| (*version, *count));
    assert_eq!(came.collect::<BTreeMap<u32, u64>>(), delivered);
    assert_eq!(delivered.len(), 4);
    for (rank, steps) in seen.steps {
        assert_eq!(steps, (0..emitted[&rank]).collect::<Vec<u64>>(), "rank {rank}: each once and in order");
        assert!(rank == KILLED as u64 || steps.len() == 4000);
    }
}

pub(crate) fn a_killed_observer_is_not_noticed_by_others() {
    let stage = Stage::new(1);
    let mut program = stage.program(0, 0);
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 1);
    let tap = observer.tap("solver.step").unwrap();
    let mut other = stage.start_observer();
    program.does("emit 100");
    other.expect_event();
    other.kill();
    program.does("emit 400");
    assert_eq!(take(&tap, 500)[&0], (0..500).collect::<Vec<u64>>());
    let totals = settled(&observer, tap.number(), || ()).totals(tap.number());
    assert_eq!((totals.emitted, totals.delivered), (500, 500));
}

pub(crate) fn an_observer_that_is_dropped_leaves_nothing() {
    let stage = Stage::new(2);
    let observer = stage.observer();
    let tap = observer.tap("solver.step").unwrap();
    crate::relatives::wait_until("agents run", deadline(), || crate::relatives::agents().first().copied());
    drop(observer);
    assert!(matches!(tap.recv(), Err(MonitorError::Ended(None))));
    crate::relatives::assert_alone(PATIENCE);
}

pub(crate) fn a_killed_probe_is_told_and_the_ledger_says_what_is_not_known() {
    let stage = Stage::new(2);
    let mut programs: Vec<Program> = (0..2).map(|rank| stage.program(rank as usize, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 2);
    let tap = observer.tap("solver.step").unwrap();
    programs.iter_mut().for_each(|program| _ = program.does("emit 100"));
    assert_eq!(take(&tap, 200).len(), 2);
    settled(&observer, tap.number(), || ());
    let probes: Vec<_> = crate::relatives::others();
    let is_probe = |pid: &rustix::process::Pid| crate::harness::processes::name(*pid) == "banyan-probe";
    let probe = probes.into_iter().find(is_probe).unwrap();
    rustix::process::kill_process(probe, Signal::KILL).unwrap();
    let hosts = expect(&observer, "its loss", |happening| match happening {
        Happening::ProbesLost(hosts) => Some(hosts.clone()),
        _ => None,
    });
    programs.iter_mut().for_each(|program| _ = program.does("emit 10"));
    assert_eq!(take(&tap, 10).len(), 1, "the other host goes on");
    let ledger = observer.ledger(PATIENCE).unwrap();
    assert_eq!(ledger.unknown, hosts);
    let mut emitted: Vec<(bool, u64)> = rows_of(&ledger, tap.number()).map(|row| (row.is_old, row.emitted)).collect();
    emitted.sort_unstable();
    assert_eq!(emitted, [(false, 110), (true, 100)], "what was said last, and that it is old");
    assert!(ledger.totals(tap.number()).balances());
}
