//! Events for tests: steps of a solver.

use banyan_ndr::{Record, typed};
use banyan_query::{Event, Process, Query, Row, Selector, evaluate};

#[derive(Record, Debug, Clone)]
pub(crate) struct Node {
    pub(crate) temp: f32,
}

#[derive(Record, Debug, Clone, Copy, PartialEq)]
#[repr(u8)]
pub(crate) enum State {
    Idle = 0,
    Busy = 1,
}

#[derive(Record, Debug, Clone)]
pub(crate) struct Step {
    pub(crate) n: u64,
    pub(crate) residual: f64,
    pub(crate) level: i32,
    pub(crate) flag: bool,
    pub(crate) state: State,
    pub(crate) node: Node,
    pub(crate) temps: [f32; 4],
    pub(crate) name: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) list: Vec<i16>,
}

impl Step {
    pub(crate) fn new(n: u64) -> Step {
        Step {
            n,
            residual: n as f64 / 2.0,
            level: n as i32 - 2,
            flag: n.is_multiple_of(2),
            state: if n.is_multiple_of(2) { State::Idle } else { State::Busy },
            node: Node { temp: 20.0 + n as f32 },
            temps: [0.0, 1.0, 2.0, n as f32],
            name: format!("step {n}"),
            bytes: (!n.is_multiple_of(3)).then_some(n * 100),
            list: (0..n as i16).collect(),
        }
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        body(self)
    }
}

pub(crate) fn body(record: &impl Record) -> Vec<u8> {
    let mut body = Vec::new();
    typed::encode_body_into(record, &mut body).unwrap();
    body
}

pub(crate) const PROCESS: Process<'static> = Process { host: "n1", job: Some("4711"), rank: Some(3), pid: 99 };

/// The rows of a query over steps, a second each.
pub(crate) fn rows(query: &str, steps: &[Step]) -> Vec<Row> {
    let query: Query = query.parse().unwrap_or_else(|error| panic!("{error}"));
    let selector = Selector::new(&query, "step", Step::format()).unwrap_or_else(|error| panic!("{error}"));
    let bodies: Vec<Vec<u8>> = steps.iter().map(Step::body).collect();
    let events = bodies.iter().enumerate().map(|(number, body)| {
        let time = number as i64 * 1_000_000_000;
        (&selector, Event { process: &PROCESS, thread: 5, sequence: number as u64, time, body })
    });
    evaluate(&query, events).unwrap()
}

/// The same, each as `column=value` in JSON.
pub(crate) fn lines(query: &str, steps: &[Step]) -> Vec<String> {
    let row = |row: &Row| {
        let json = row.to_json();
        json.split_once("\"row\":").unwrap().1.trim_end_matches('}').trim_start_matches('{').to_owned()
    };
    rows(query, steps).iter().map(row).collect()
}
