//! What children of the tests do.

use std::io::{BufRead, Write};
use std::time::Duration;

use banyan_sensor::{Counter, Gauge, MessageStamp, Policy, Record, Sensor, Span, event, mark, witness};

use crate::harness::ROLE;

/// An event whose parts tell whether they belong together.
#[derive(Record, Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) number: u64,
    pub(crate) check: u64,
}

impl Step {
    pub(crate) fn new(number: u64) -> Step {
        Step { number, check: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) }
    }

    pub(crate) fn is_whole(&self) -> bool {
        *self == Step::new(self.number)
    }
}

/// A record with a text and a list.
#[derive(Record, Debug, PartialEq)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) numbers: Vec<u32>,
}

/// A record with padding.
#[derive(Record, Debug, PartialEq)]
pub(crate) struct Padded {
    pub(crate) flag: bool,
    pub(crate) number: f64,
}

/// Not a test of its own: children of the others run it.
#[test]
fn acts_its_role() {
    match std::env::var(ROLE).as_deref() {
        Ok("steps") => obey(&Sensor::<Step>::new("step").unwrap()),
        Ok("always") => obey(&Sensor::<Step>::options("step").always().build().unwrap()),
        Ok("newest") => obey(&Sensor::<Step>::options("step").policy(Policy::DropNewest).build().unwrap()),
        Ok("latest") => obey(&Sensor::<Step>::options("step").policy(Policy::LatestOnly).build().unwrap()),
        Ok("one_in_10") => obey(&Sensor::<Step>::options("step").policy(Policy::OneIn(10)).build().unwrap()),
        Ok("block") => {
            let policy = Policy::Block(Duration::from_millis(20));
            obey(&Sensor::<Step>::options("step").policy(policy).build().unwrap());
        }
        Ok("storm") => storm(1),
        Ok("storms") => storm(4),
        Ok("kinds") => kinds(),
        Ok("steered") => crate::steered::obey(),
        Ok("steady") => crate::steered::step_steadily(),
        Ok("whole") => crate::steered::watch_a_record(),
        _ => {}
    }
}

pub(crate) fn say(words: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{words}").unwrap();
    out.flush().unwrap();
}

/// Does what comes on standard input: emits steps, on this thread or on new ones, and forks.
fn obey(step: &Sensor<Step>) {
    say("ready");
    let mut number = 0;
    let mut emit = |count: u64| {
        (0..count).for_each(|_| {
            step.emit(&Step::new(number));
            number += 1;
        });
    };
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        match line.split_once(' ').unwrap_or((&line, "")) {
            ("emit", count) => emit(count.parse().unwrap()),
            ("thread", count) => {
                let count: u64 = count.parse().unwrap();
                let step = *step;
                std::thread::spawn(move || (0..count).for_each(|number| step.emit(&Step::new(number)))).join().unwrap();
            }
            ("fork", count) => crate::forking::fork_and_emit(step, count.parse().unwrap()),
            ("exec", _) => crate::forking::become_it_again(),
            ("send", _) => say(&format!("sent {}", u128::from_ne_bytes(MessageStamp::now().to_bytes()))),
            ("receive", message) => {
                witness(MessageStamp::from_bytes(message.parse::<u128>().unwrap().to_ne_bytes()));
            }
            ("status", _) => say(&format!("status {:?}", banyan_sensor::status())),
            _ => return,
        }
        say("done");
    }
}

/// Emits steps as fast as it can until it is killed.
fn storm(threads: usize) {
    let step = Sensor::<Step>::options("step").always().build().unwrap();
    let others: Vec<_> = (1..threads).map(|_| std::thread::spawn(move || emit_for_ever(step))).collect();
    say("ready");
    emit_for_ever(step);
    drop(others);
}

fn emit_for_ever(step: Sensor<Step>) {
    for number in 0.. {
        step.emit(&Step::new(number));
    }
}

/// One of each, as often as a line comes.
fn kinds() {
    let note = Sensor::<Note>::options("note").unit("1").description("words").build().unwrap();
    let padded = Sensor::<Padded>::new("padded").unwrap();
    let large = Sensor::<Note>::new("large").unwrap();
    let (counter, gauge) = (Counter::new("bytes", "B").unwrap(), Gauge::new("queue", "1").unwrap());
    let span = Span::new("solve").unwrap();
    event!("residual", 0.0);
    mark!("checkpoint", 0);
    say("ready");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let _inside = span.enter();
        note.emit(&Note { text: line.clone(), numbers: vec![1, 2, 3] });
        padded.emit(&Padded { flag: true, number: 0.5 });
        large.emit(&Note { text: "x".repeat(100_000), numbers: Vec::new() });
        event!("residual", 0.25);
        mark!("checkpoint", 17);
        counter.add(5);
        gauge.set(1.5);
        drop(_inside);
        say("done");
    }
}
