//! `banyan query`: about events that this test emits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use banyan_sensor::{Record, Sensor};
use serde_json::Value;

use crate::blocks::listed_block;
use crate::chapters::COMPARED;
use crate::workshop::Workshop;

#[derive(Record)]
struct Step {
    n: u64,
    residual: f64,
}

/// Emits events until it is dropped.
struct Emitter {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Emitter {
    fn start(sensor: &'static str) -> Emitter {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let step = Sensor::<Step>::new(sensor).unwrap();
            for n in (0..).take_while(|_| !told.load(Ordering::Relaxed)) {
                step.emit(&Step { n, residual: 0.5 });
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
        Emitter { stop, thread: Some(thread) }
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

/// Watches this process alone.
fn job() -> String {
    format!("children:{}", std::process::id())
}

#[test]
fn rows_come_of_programs_that_run_on_hosts_that_are_one_machine() {
    let (shop, _emitter, job) = (Workshop::new(), Emitter::start("query.rows"), job());
    let text = "select host, count() as events, max(residual) from query.rows group by host every 100ms";
    let common = ["query", "-w", "n[1-2]", "--launcher", "local", "--job", &job, "--rows", "3", "--timeout", "60s"];
    let out = shop.well(&[&common[..], &["--json", text]].concat());
    let rows: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(rows.len(), 3, "{out}");
    for row in rows {
        assert_eq!((&row["row"]["host"], &row["row"]["max(residual)"]), (&"n1".into(), &0.5.into()), "{out}");
        let events = row["row"]["events"].as_u64().unwrap();
        assert!((1..=110).contains(&events), "two names of a machine watch it once: {out}");
        assert!(row["begin"].as_u64().is_some_and(|begin| begin > 1_700_000_000_000_000_000), "{out}");
    }
    let table = shop.well(&[&common[..], &["select n, residual from query.rows where n % 2 = 0"]].concat());
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines.len() == 4 && lines[0].starts_with("time  "), "{table}");
    assert!(lines[0].split_whitespace().eq(["time", "n", "residual"]), "{table}");
    assert!(lines[1..].iter().all(|line| line.ends_with("0.5")), "{table}");
}

#[test]
fn the_chapter_shows_what_is_printed() {
    let (shop, _emitter, job) = (Workshop::new(), Emitter::start("query.chapter"), job());
    let text = "select host, max(residual), count() from query.chapter group by host every 100ms";
    let ran = shop.run(&["query", "--job", &job, "--rows", "1", "--timeout", "60s", "--ledger", text]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let head = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let shown = listed_block(COMPARED, "command-query.md", "text", "time ");
    assert_eq!(words(&head(&ran.out)), words(&head(&shown)), "{}", ran.out);
    let shown = listed_block(COMPARED, "command-query.md", "text", "events: ");
    let said = ran.out.lines().last().unwrap_or_default();
    let shape = |text: &str| words(text).into_iter().filter(|word| word.parse::<u64>().is_err()).collect::<Vec<_>>();
    assert_eq!(shape(said)[..5], shape(&shown)[..5], "events: emitted = delivered +, {said}");
}

#[test]
fn it_says_where_a_query_runs_without_running_it() {
    let shop = Workshop::new();
    let text = shop.well(&["query", "--explain", "select max(ms) from solver.step where level > 2 every 1s"]);
    assert!(text.contains("each host   selects solver.step where level > 2"), "{text}");
}
