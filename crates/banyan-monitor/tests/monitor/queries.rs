//! Queries: windows, rows, and changes of them.

use std::collections::BTreeMap;

use banyan_monitor::{Happening, MonitorError, Row, Rows};
use banyan_ndr::Value;
use rustix::process::Signal;

use crate::program::Program;
use crate::setup::{PATIENCE, Stage, deadline, expect, rows_of, settled, wait_for_sensors};

fn number(row: &Row, column: &str) -> i128 {
    match row.get(column) {
        Some(Value::Int(number)) => *number,
        Some(Value::UInt(number)) => *number as i128,
        other => panic!("{column} of {row:?} is {other:?}"),
    }
}

fn text(row: &Row, column: &str) -> String {
    match row.get(column) {
        Some(Value::Str(text)) => text.clone(),
        other => panic!("{column} of {row:?} is {other:?}"),
    }
}

/// Takes rows until so many events are in them, by a column that counts.
fn take_events(rows: &Rows, column: &str, events: i128) -> Vec<Row> {
    let (mut taken, mut count) = (Vec::new(), 0);
    while count < events {
        let row = rows.recv_timeout(deadline()).unwrap_or_else(|error| panic!("{count} of {events}: {error}"));
        count += number(&row, column);
        taken.push(row);
    }
    assert_eq!(count, events);
    taken
}

pub(crate) fn windows_of_all_hosts_are_reduced_and_every_event_is_in_one() {
    let stage = Stage::new(3);
    let mut programs: Vec<Program> = (0..6).map(|rank| stage.program(rank as usize / 2, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 6);
    let text_of = "select host, max(n), sum(residual), count() as events from solver.step group by host every 100ms";
    let rows = observer.query(text_of).unwrap();
    programs.iter_mut().for_each(|program| program.tell("drip 2000"));
    programs.iter_mut().for_each(|program| assert_eq!(program.done(), 2000));
    let taken = take_events(&rows, "events", 12_000);
    let mut of_host = BTreeMap::<String, (i128, i128, f64)>::new();
    let mut last = i64::MIN;
    for row in &taken {
        assert_eq!(row.version, 1);
        let (begin, end) = (row.begin.unwrap(), row.end.unwrap());
        assert!(end - begin == 100_000_000 && begin % 100_000_000 == 0 && begin >= last);
        last = begin;
        let (host, Some(Value::F64(sum))) = (text(row, "host"), row.get("sum(residual)")) else { panic!("{row:?}") };
        let of = of_host.entry(host).or_default();
        *of = (of.0 + number(row, "events"), of.1.max(number(row, "max(n)")), of.2 + sum);
    }
    let expected = (4000, 1999, 2.0 * (0..2000).map(|n| f64::from(n) * 0.5).sum::<f64>());
    assert_eq!(of_host.len(), 3);
    assert!(of_host.values().all(|of| *of == expected), "{of_host:?}");
    let totals = settled(&observer, rows.number(), || ()).totals(rows.number());
    assert_eq!((totals.emitted, totals.delivered), (12_000, 12_000), "{totals}");
}

pub(crate) fn rows_come_in_order_and_what_is_filtered_is_counted() {
    let stage = Stage::new(2);
    let mut programs: Vec<Program> = (0..4).map(|rank| stage.program(rank as usize / 2, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 4);
    let rows = observer.query("select rank, n, residual * 2 as twice from solver.step where n % 10 = 3").unwrap();
    programs.iter_mut().for_each(|program| _ = program.does("drip 1000"));
    let mut last = i64::MIN;
    let mut of_rank = BTreeMap::<i128, Vec<i128>>::new();
    for _ in 0..400 {
        let row = rows.recv_timeout(deadline()).unwrap();
        assert!(row.begin.unwrap() >= last);
        last = row.begin.unwrap();
        assert_eq!(row.get("twice"), Some(&Value::F64(number(&row, "n") as f64)));
        of_rank.entry(number(&row, "rank")).or_default().push(number(&row, "n"));
    }
    let expected: Vec<i128> = (0..100).map(|n| n * 10 + 3).collect();
    assert_eq!(of_rank.len(), 4);
    assert!(of_rank.values().all(|of| *of == expected), "{of_rank:?}");
    let totals = settled(&observer, rows.number(), || ()).totals(rows.number());
    assert_eq!((totals.emitted, totals.delivered, totals.filtered), (4000, 400, 3600), "{totals}");
}

pub(crate) fn sliding_windows_are_put_together_at_the_observer() {
    let stage = Stage::new(2);
    let mut programs: Vec<Program> = (0..2).map(|rank| stage.program(rank as usize, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 2);
    let rows = observer.query("select count() as events from solver.step every 200ms sliding 100ms").unwrap();
    programs.iter_mut().for_each(|program| _ = program.does("drip 500"));
    // Each event is in two windows.
    let taken = take_events(&rows, "events", 2000);
    assert!(taken.iter().all(|row| row.end.unwrap() - row.begin.unwrap() == 200_000_000), "{taken:?}");
    let totals = settled(&observer, rows.number(), || ()).totals(rows.number());
    assert_eq!(totals.emitted, 1000, "{totals}");
}

pub(crate) fn a_query_that_does_not_fit_a_format_is_refused_by_name() {
    let stage = Stage::new(1);
    let mut program = stage.program(0, 0);
    program.does("note 1");
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.note", 1);
    let Err(MonitorError::Query(error)) = observer.query("select max(n) form solver.step") else { panic!() };
    assert_eq!(error.range(), 14..18);
    let rows = observer.query("select max(n), count() as events from solver.step, solver.note every 50ms").unwrap();
    let (query, sensor, why) = expect(&observer, "the refusal", |happening| match happening {
        Happening::Refused { query, sensor, why, .. } => Some((*query, sensor.clone(), why.clone())),
        _ => None,
    });
    assert_eq!((query, sensor.as_str()), (rows.number(), "solver.note"));
    assert!(why.contains("has no field n"), "{why}");
    program.does("emit 10");
    take_events(&rows, "events", 10);
}

pub(crate) fn a_query_is_replaced_three_times_while_programs_and_agents_are_killed_and_the_ledger_balances() {
    const STOPPED: usize = 1;
    const KILLED: usize = 5;
    const TEXTS: [&str; 4] = [
        "select count() as events from solver.step every 50ms",
        "select count() as events, max(n) from solver.step where n % 2 = 0 group by host every 30ms",
        "select 1 as events, n from solver.step where n % 5 = 0",
        "select count() as events from solver.step group by rank every 70ms",
    ];
    let stage = Stage::new(4);
    let mut programs: Vec<Program> = (0..8).map(|rank| stage.program(rank as usize / 2, rank)).collect();
    let observer = stage.observer();
    wait_for_sensors(&observer, "solver.step", 8);
    let rows = observer.query(TEXTS[0]).unwrap();
    let mut events = BTreeMap::<u32, i128>::new();
    for (version, text) in (1..).zip(TEXTS) {
        if version > 1 {
            assert_eq!(rows.replace(text).unwrap(), version);
        }
        let running = programs.iter_mut().enumerate().filter(|(rank, _)| version < 3 || *rank != KILLED);
        running.for_each(|(_, program)| program.tell("drip 1000"));
        loop {
            let row = rows.recv_timeout(deadline()).unwrap_or_else(|error| panic!("version {version}: {error}"));
            *events.entry(row.version).or_default() += number(&row, "events");
            if row.version == version {
                break;
            }
        }
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
    let ledger = settled(&observer, rows.number(), || {
        while let Some(row) = rows.try_recv().unwrap() {
            *events.entry(row.version).or_default() += number(&row, "events");
        }
    });
    while events.values().sum::<i128>() < ledger.delivered.values().copied().map(i128::from).sum() {
        let row = rows.recv_timeout(deadline()).unwrap();
        *events.entry(row.version).or_default() += number(&row, "events");
    }
    let totals = ledger.totals(rows.number());
    let delivered = ledger.delivered.iter().map(|((_, version), count)| (*version, i128::from(*count)));
    assert_eq!(events, delivered.collect(), "{totals}");
    assert_eq!(totals.dropped + totals.behind + totals.failed, 0, "{totals}");
    let mut emitted = BTreeMap::<u64, u64>::new();
    for row in rows_of(&ledger, rows.number()) {
        *emitted.entry(row.process.as_ref().unwrap().rank.unwrap()).or_default() += row.emitted;
    }
    assert!(emitted.iter().all(|(rank, count)| *rank == KILLED as u64 || *count == 4000), "{emitted:?}");
    assert_eq!(observer.ledger(PATIENCE).unwrap().unknown, Vec::<String>::new());
}
